package watch

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// fakeProc is a /proc with the processes and connections that a test writes.
type fakeProc struct {
	t   *testing.T
	dir string
}

func newProc(t *testing.T) fakeProc {
	p := fakeProc{t, t.TempDir()}
	p.write("self/net/tcp", "")
	return p
}

func (p fakeProc) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p fakeProc) link(name, to string) {
	p.t.Helper()
	p.write(filepath.Join(filepath.Dir(name), ".keep"), "")
	if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

// process adds one, with the lines of its network namespace and its sockets.
func (p fakeProc) process(pid, parent int, exe, environ, space string, lines []string, inodes ...string) {
	at := fmt.Sprint(pid)
	p.write(at+"/stat", fmt.Sprintf("%d (a) b) S %d 1 1 0", pid, parent))
	p.write(at+"/environ", environ)
	p.write(at+"/comm", filepath.Base(exe)+"\n")
	p.link(at+"/exe", exe)
	p.link(at+"/ns/net", space)
	p.write(at+"/net/tcp", "  sl  local_address rem_address   st ...\n"+strings.Join(lines, "\n")+"\n")
	for i, inode := range inodes {
		p.link(fmt.Sprintf("%s/fd/%d", at, i+3), "socket:["+inode+"]")
	}
	p.link(at+"/fd/0", "/dev/null")
}

// line is one of /proc/net/tcp, on a machine of this byte order: 10.0.0.x:443.
func line(last int, state, inode string) string {
	return fmt.Sprintf("   0: 0100007F:9C40 %02X00000A:01BB %s 00000000:00000000 00:00000000 00000000  1000        0 %s 1 0000000000000000", last, state, inode)
}

const mark = "MARK=r1"

func (p fakeProc) watcher(addresses map[string][]netip.Addr) *Watcher {
	w := &Watcher{
		Proc: p.dir, PID: 100, Mark: mark, Self: "/bin/margay", Hosts: []Host{{"api.model.example", 443}, {"10.0.0.9", 443}},
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			if a, ok := addresses[name]; ok {
				return a, nil
			}
			return nil, errors.New("no such host")
		},
	}
	return w
}

// Who is of the run, and which of its connections count.
func TestSample(t *testing.T) {
	lines := []string{
		line(1, "01", "11"), line(2, "01", "12"), line(1, "02", "13"), line(1, "01", "14"), line(9, "08", "15"),
		line(1, "01", "16"), line(1, "01", "17"), line(1, "06", "0"), line(1, "01", "18"), line(1, "01", "19"), "garbage", "1: x:y z:w 01 a b c d e 20",
	}
	p := newProc(t)
	p.process(100, 1, "/bin/margay", "", "n", lines, "11")               // the gateway's own
	p.process(101, 100, "/bin/sh", "A=b\x00"+mark+"\x00", "n", lines)    // the agent
	p.process(120, 110, "/bin/codex", "A=b\x00", "n", lines, "14")       // its child's child, without the mark
	p.process(110, 101, "/bin/npx", "", "n", lines, "12", "13", "10")    // to a host of no model; one that is not made yet
	p.process(130, 1, "/bin/daemon", mark+"\x00", "n", lines, "15")      // its parent has ended
	p.process(140, 1, "/bin/browser", "X"+mark+"\x00", "n", lines, "16") // not of the run
	p.process(141, 1, "/bin/other", mark+"2\x00", "n", lines, "19")      // of another run
	p.process(150, 101, "/bin/margay", mark+"\x00", "n", lines, "17")    // margay mcp, a hook, a run in the run
	p.process(160, 101, "/bin/jailed", mark+"\x00", "other", []string{line(1, "01", "18")}, "18")
	w := p.watcher(map[string][]netip.Addr{"api.model.example": {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:10.0.0.3")}})
	synctest.Test(t, func(t *testing.T) {
		w.Start(t.Context())
		synctest.Wait()
		r := w.Stop()
		var got []string
		for _, s := range r.Seen {
			got = append(got, s.Host+" "+s.Address.String()+" "+s.Program)
		}
		want := []string{"api.model.example 10.0.0.1:443 codex", "api.model.example 10.0.0.1:443 jailed", "10.0.0.9 10.0.0.9:443 daemon"}
		if !slices.Equal(got, want) || r.Cut || r.Samples < 2 {
			t.Errorf("%d samples, cut %v:\n%s", r.Samples, r.Cut, strings.Join(got, "\n"))
		}
	})
}

// A process that was of the run stays so when its parent and its mark are gone;
// one that comes later is found; addresses that a name gets later count.
func TestSampleGoesOn(t *testing.T) {
	p := newProc(t)
	p.process(101, 100, "/bin/agent", mark+"\x00", "n", []string{line(4, "01", "11")}, "11")
	p.process(102, 101, "/bin/worker", "", "n", []string{line(4, "01", "11")})
	table := map[string][]netip.Addr{}
	w := p.watcher(table)
	synctest.Test(t, func(t *testing.T) {
		w.Start(t.Context())
		synctest.Wait()
		p.write("102/stat", "102 (worker) S 1 1 1 0")
		p.link("102/fd/3", "socket:[12]")
		p.write("102/net/tcp", line(4, "01", "11")+"\n"+line(9, "01", "12")+"\n")
		p.write("101/net/tcp", line(4, "01", "11")+"\n"+line(9, "01", "12")+"\n")
		table["api.model.example"] = []netip.Addr{netip.MustParseAddr("10.0.0.4")}
		w.resolve(t.Context())
		r := w.Stop()
		if len(r.Seen) != 2 || r.Seen[0].Program != "agent" || r.Seen[1].Program != "worker" {
			t.Errorf("%+v", r)
		}
	})
}

// A process that was looked at while it was being started, when it had no
// environment and its parent had just ended, is judged again.
func TestProcessBeingStarted(t *testing.T) {
	p := newProc(t)
	p.process(110, 1, "/bin/agent", "", "n", []string{line(9, "01", "11")}, "11")
	w := p.watcher(nil)
	synctest.Test(t, func(t *testing.T) {
		w.Start(t.Context())
		synctest.Wait()
		p.write("110/environ", mark+"\x00")
		if r := w.Stop(); len(r.Seen) != 1 {
			t.Errorf("%+v", r)
		}
	})
}

// A bound that is reached is reported.
func TestBounds(t *testing.T) {
	for name, fill := range map[string]func(fakeProc, *Watcher){
		"table": func(p fakeProc, _ *Watcher) {
			p.write("101/net/tcp", strings.Repeat(line(7, "01", "1")+"\n", maxTable/100))
		},
		"addresses": func(_ fakeProc, w *Watcher) {
			w.Resolve = func(context.Context, string) ([]netip.Addr, error) {
				return make([]netip.Addr, maxAddresses+1), nil
			}
		},
		"seen": func(p fakeProc, _ *Watcher) {
			for i := range maxSeen {
				p.process(200+i, 100, fmt.Sprintf("/bin/p%d", i), "", "n", nil, "11")
			}
		},
	} {
		p := newProc(t)
		p.process(101, 100, "/bin/agent", "", "n", []string{line(9, "01", "11")}, "11")
		w := p.watcher(nil)
		fill(p, w)
		for i := range maxSeen {
			if name == "seen" {
				p.write(fmt.Sprintf("%d/net/tcp", 200+i), line(9, "01", "11"))
			}
		}
		synctest.Test(t, func(t *testing.T) {
			w.Start(t.Context())
			synctest.Wait()
			if r := w.Stop(); !r.Cut || len(r.Seen) > maxSeen {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
}

// Where there is no /proc nothing is claimed to have been looked at.
func TestNoProc(t *testing.T) {
	w := fakeProc{t, filepath.Join(t.TempDir(), "none")}.watcher(nil)
	w.Start(t.Context())
	if r := w.Stop(); r.Samples != 0 || len(r.Seen) != 0 {
		t.Errorf("%+v", r)
	}
}

// The forms of addresses that the kernel writes.
func TestConnection(t *testing.T) {
	for text, want := range map[string]string{
		"0: 0100007F:1 0100007F:1F90 01 a b c d e 7":                                        "127.0.0.1:8080",
		"0: 0:1 0000000000000000FFFF00000100007F:01BB 01 a b c d e 7":                       "127.0.0.1:443",
		"0: 0:1 B80D0120000000000000000001000000:01BB 01 a b c d e 7":                       "[2001:db8::1]:443",
		"0: 0:1 0100007F:1F90 0A a b c d e 7":                                               "",
		"0: 0:1 0100007F:1F90 01 a b c d e 0":                                               "",
		"0: 0:1 0100007:1F90 01 a b c d e 7":                                                "",
		"0: 0:1 0100007F:1F901 01 a b c d e 7":                                              "",
		"0: 0:1 0100007F0100007F:1F90 01 a b c d e 7":                                       "",
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid": "",
	} {
		at, inode, ok := connection(text)
		if ok != (want != "") || ok && (at.String() != want || inode != "7") {
			t.Errorf("%s: %v %s %v", text, at, inode, ok)
		}
	}
}
