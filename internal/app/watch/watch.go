// Package watch looks at the TCP connections of the processes of a run, and
// reports those that lead to model APIs past the gateway.
//
// It samples: a connection that is seen is proof, and one that opens and closes
// between two samples is not seen. It reads /proc, and so sees connections on
// Linux alone. The processes of a run are the children of this process, theirs,
// and those with the run's mark in their environment, whoever their parent is by
// now. A process that took the mark out of its environment and whose parent ended
// before it was seen is missed.
package watch

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// Every is the time between two samples, and resolveEvery between two
	// resolutions of the hosts' names.
	Every        = 250 * time.Millisecond
	resolveEvery = time.Minute
	// maxTable bounds the bytes of a table of connections that one sample reads,
	// maxFiles the open files that it looks at, and maxAddresses the addresses of a
	// host that are kept. A sample that reaches one reports that it was cut short.
	maxTable     = 4 << 20
	maxFiles     = 20000
	maxAddresses = 256
	// maxSeen bounds the connections that are reported.
	maxSeen = 16
)

// Host is a host of a model API, by its name or address.
type Host struct {
	Name string
	Port uint16
}

// Known are hosts of model APIs that agents use without being told. Their
// addresses may belong to other hosts, too.
func Known() []Host {
	var out []Host
	for _, name := range []string{
		"api.openai.com", "chatgpt.com", "api.anthropic.com", "api.githubcopilot.com", "openrouter.ai",
		"api.mistral.ai", "api.groq.com", "api.x.ai", "api.deepseek.com",
	} {
		out = append(out, Host{name, 443})
	}
	return out
}

// Seen is a connection past the gateway.
type Seen struct {
	Host    string         `json:"host"`    // as it was given to Watcher
	Address netip.AddrPort `json:"address"` // one of the host's
	Program string         `json:"program"`
}

// Watcher samples connections from Start to Stop. The fields are set before.
type Watcher struct {
	Proc    string // where /proc is mounted; empty for no sampling
	PID     int    // of the gateway: its children are the run
	Mark    string // NAME=VALUE, in the environment of every process of the run
	Self    string // a program whose processes are gateways themselves
	Hosts   []Host
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)

	mu      sync.Mutex
	targets map[netip.AddrPort]string
	known   map[int]verdict // of all processes
	looked  map[string]int  // how many samples saw a socket
	seen    map[Seen]bool
	samples int
	cut     bool
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// Report is what a Watcher found.
type Report struct {
	Samples int    // none: nothing could be looked at
	Cut     bool   // a sample reached a bound, and did not look at all there was
	Seen    []Seen // the first of each host, address and program
}

// Start starts to sample, until Stop. Names are resolved beside it: until they
// are, only addresses are looked for.
func (w *Watcher) Start(ctx context.Context) {
	w.targets, w.known, w.seen = map[netip.AddrPort]string{}, map[int]verdict{}, map[Seen]bool{}
	ctx, w.stop = context.WithCancel(ctx)
	if _, err := os.Stat(filepath.Join(w.Proc, "self", "net", "tcp")); w.Proc == "" || err != nil {
		w.Proc = ""
		return
	}
	for _, h := range w.Hosts {
		if at, err := netip.ParseAddr(h.Name); err == nil {
			w.add(h, []netip.Addr{at})
		}
	}
	w.done.Go(func() { every(ctx, resolveEvery, func() { w.resolve(ctx) }) })
	w.done.Go(func() { every(ctx, Every, func() { w.sample(false) }) })
}

// every calls f at once and then again and again, until ctx ends.
func every(ctx context.Context, d time.Duration, f func()) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		f()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Stop takes a last sample and ends the watching.
func (w *Watcher) Stop() Report {
	w.stop()
	w.done.Wait()
	if w.Proc != "" {
		w.sample(true)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Report{Samples: w.samples, Cut: w.cut}
	for s := range w.seen {
		r.Seen = append(r.Seen, s)
	}
	slices.SortFunc(r.Seen, func(a, b Seen) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Program, b.Program))
	})
	return r
}

func (w *Watcher) resolve(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range w.Hosts {
		if _, err := netip.ParseAddr(h.Name); err == nil {
			continue
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			if found, err := w.Resolve(ctx, h.Name); err == nil {
				w.add(h, found)
			}
		})
	}
	all.Wait()
}

// Lookup resolves a name by the system's resolver.
func Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

func (w *Watcher) add(h Host, found []netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range found {
		if i >= maxAddresses || len(w.targets) >= maxAddresses*len(w.Hosts) {
			w.cut = true
			return
		}
		at := netip.AddrPortFrom(a.Unmap(), h.Port)
		if _, ok := w.targets[at]; !ok { // the first name that has it
			w.targets[at] = h.Name
		}
	}
}

// sample looks once at the processes of the run, and at the tables of connections
// if one has a socket that is new, at every eighth sample, and if all is set. The
// kernel takes milliseconds to write a table.
func (w *Watcher) sample(all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = all || w.samples%settled == 0
	w.samples++
	sockets, looked, files := map[string][]string{}, map[string]int{}, 0
	for _, pid := range w.processes() {
		dir := filepath.Join(w.Proc, strconv.Itoa(pid))
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil && exe == w.Self {
			continue
		}
		sockets[dir] = w.open(dir, &files)
		for _, link := range sockets[dir] {
			looked[link] = w.looked[link] + 1
			all = all || looked[link] <= settled
		}
	}
	w.looked = looked
	if !all {
		return
	}
	tables := map[string]map[string]netip.AddrPort{} // of each network namespace: the target by the socket
	for dir, links := range sockets {
		if len(links) == 0 {
			continue
		}
		space, _ := os.Readlink(filepath.Join(dir, "ns", "net"))
		table, ok := tables[space]
		if !ok {
			if table, ok = w.toTargets(dir); ok { // else it has just ended
				tables[space] = table
			}
		}
		for _, link := range links {
			if at, ok := table[link]; ok {
				w.note(Seen{Host: w.targets[at], Address: at, Program: program(dir)})
			}
		}
	}
}

// settled is the number of samples for which a socket is new: it may not be
// connected at first.
const settled = 8

func (w *Watcher) note(s Seen) {
	if len(w.seen) < maxSeen {
		w.seen[s] = true
	} else if !w.seen[s] {
		w.cut = true
	}
}

// open lists the sockets that a process has open.
func (w *Watcher) open(dir string, files *int) []string {
	var out []string
	entries, _ := os.ReadDir(filepath.Join(dir, "fd")) // it may have ended
	for _, f := range entries {
		if *files++; *files > maxFiles {
			w.cut = true
			return out
		}
		if link, err := os.Readlink(filepath.Join(dir, "fd", f.Name())); err == nil && strings.HasPrefix(link, "socket:") {
			out = append(out, link)
		}
	}
	return out
}
