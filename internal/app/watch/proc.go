package watch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// verdict is whether a process is of the run, and how often that was judged.
type verdict struct {
	ours  bool
	times int
}

// settled reports whether a process need not be judged again. One that is being
// started has no environment for a moment, and its parent may just have ended.
func (v verdict) settled() bool { return v.ours || v.times >= 2 }

// processes lists those of the run.
func (w *Watcher) processes() []int {
	entries, err := os.ReadDir(w.Proc)
	if err != nil {
		w.cut = true
		return nil
	}
	now := make(map[int]verdict, len(entries))
	var out, fresh []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == w.PID {
			continue
		}
		v := w.known[pid]
		if !v.settled() {
			v.times++
			fresh = append(fresh, pid)
		}
		now[pid] = v
	}
	for changed := true; changed; { // parents need not come before their children
		changed = false
		for _, pid := range fresh {
			if !now[pid].ours && (w.child(pid, now) || w.marked(pid)) {
				now[pid], changed = verdict{ours: true}, true
			}
		}
	}
	w.known = now
	for pid, v := range now {
		if v.ours {
			out = append(out, pid)
		}
	}
	return out
}

// child reports whether the parent of a process is of the run.
func (w *Watcher) child(pid int, all map[int]verdict) bool {
	b, err := os.ReadFile(filepath.Join(w.Proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // a name may hold anything
	if len(fields) < 2 {
		return false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return err == nil && (parent == w.PID || all[parent].ours)
}

// marked reports whether a process has the run's mark in its environment.
func (w *Watcher) marked(pid int) bool {
	f, err := os.Open(filepath.Join(w.Proc, strconv.Itoa(pid), "environ"))
	if err != nil {
		return false // it has ended, or belongs to somebody else
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, maxTable))
	return bytes.Contains(append([]byte{0}, b...), []byte("\x00"+w.Mark+"\x00"))
}

// program names the program of a process.
func program(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return "a process"
	}
	return strings.TrimSpace(string(b))
}

// connected are the states of a connection that reached the other side, as the kernel
// writes them; one that is being made (02, 03) did not.
var connected = []string{"01", "04", "05", "08", "09", "0B"}

// toTargets reads the connections to targets in the network namespace of a
// process, by the name that its open files have for them.
func (w *Watcher) toTargets(dir string) (out map[string]netip.AddrPort, ok bool) {
	out = map[string]netip.AddrPort{}
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(dir, "net", table))
		if err != nil {
			continue // it has ended, or there is no IPv6
		}
		ok = true
		left := &io.LimitedReader{R: f, N: maxTable}
		for sc := bufio.NewScanner(left); sc.Scan(); {
			remote, inode, ok := connection(sc.Text())
			if _, target := w.targets[remote]; ok && target {
				out["socket:["+inode+"]"] = remote
			}
		}
		w.cut = w.cut || left.N == 0
		_ = f.Close()
	}
	return out, ok
}

// connection reads a line of /proc/net/tcp or tcp6.
func connection(line string) (remote netip.AddrPort, inode string, ok bool) {
	f := strings.Fields(line)
	if len(f) < 10 || f[9] == "0" || !slices.Contains(connected, f[3]) {
		return remote, "", false
	}
	host, port, _ := strings.Cut(f[2], ":")
	p, err := strconv.ParseUint(port, 16, 16)
	b, herr := hex.DecodeString(host)
	if err != nil || herr != nil || len(b)%4 != 0 {
		return remote, "", false
	}
	for i := 0; i < len(b); i += 4 { // words of the machine, written as numbers
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(p)), f[9], ok
}
