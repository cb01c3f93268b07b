package session

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/margaydev/margay/flow"
)

// DefaultTrajectoryBytes bounds what all trajectories hold in memory.
const DefaultTrajectoryBytes = 256 << 20

// Rough sizes of what is held.
const (
	trajectoryBytes = 2048 // of one that knows nothing yet
	entryBytes      = 160  // of an entry of a map, besides its texts
)

// account counts the bytes that a trajectory holds, until it is forgotten.
type account struct {
	of   *trajectories
	mu   sync.Mutex
	own  int
	gone bool
}

// add counts what a trajectory holds from now on, and makes room for it.
func (a *account) add(n int) {
	a.mu.Lock()
	if a.gone {
		n = 0
	}
	a.own += n
	a.mu.Unlock()
	if a.of.bytes.Add(int64(n)) > a.of.maxBytes && n > 0 {
		a.of.mu.Lock()
		defer a.of.mu.Unlock()
		a.of.trim()
	}
}

// close counts nothing of a trajectory any more.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = true
	a.of.bytes.Add(-int64(a.own))
}

// trajectories finds trajectories by keyed hashes, forgetting the one used
// longest ago when there are too many or they hold too much. One that is
// forgotten starts anew with its next request, as after a restart: its texts are
// scanned again, and labels that are not known are the worst. It is safe for
// concurrent use.
type trajectories struct {
	max      int
	maxBytes int64
	keep     flow.TrajectoryID // is never forgotten; empty for none
	bytes    atomic.Int64      // that all hold

	mu    sync.Mutex
	byKey map[[32]byte]*list.Element
	used  list.List // of *entry, the latest in front
}

type entry struct {
	t    *Trajectory
	keys [][32]byte
}

// name makes a further key find a trajectory that another key finds. A server
// may give one name twice: then it is the later one's.
func (s *trajectories) name(key, name [32]byte, t *Trajectory) {
	s.mu.Lock()
	if el := s.byKey[name]; el != nil && el.Value.(*entry).t != t {
		en := el.Value.(*entry)
		en.keys = slices.DeleteFunc(en.keys, func(k [32]byte) bool { return k == name })
		delete(s.byKey, name)
	}
	s.mu.Unlock()
	s.byPrefix([][32]byte{name, key}, func() *Trajectory { return t })
}

// byPrefix returns the trajectory of the longest known prefix, or starts one,
// and remembers the conversation's prefixes for it.
func (s *trajectories) byPrefix(keys [][32]byte, start func() *Trajectory) *Trajectory {
	s.mu.Lock()
	defer s.mu.Unlock()
	var el *list.Element
	for i := len(keys) - 1; i >= 0 && el == nil; i-- {
		el = s.byKey[keys[i]]
	}
	if el == nil {
		el = s.used.PushFront(&entry{t: start()})
	}
	s.used.MoveToFront(el)
	en := el.Value.(*entry)
	if n := len(keys); n > maxPrefixes {
		keys = keys[n-maxPrefixes:]
	}
	for _, k := range keys {
		if _, ok := s.byKey[k]; !ok {
			s.byKey[k] = el
			en.keys = append(en.keys, k)
		}
	}
	for len(en.keys) > maxPrefixes {
		delete(s.byKey, en.keys[0])
		en.keys = en.keys[1:]
	}
	s.trim()
	return en.t
}

// open starts the account of a trajectory.
func (s *trajectories) open() *account {
	s.bytes.Add(trajectoryBytes)
	return &account{of: s, own: trajectoryBytes}
}

// trim forgets trajectories until the rest is within bounds, but for the one
// that was used last: each bounds itself.
func (s *trajectories) trim() {
	for n := s.used.Len(); n > 1 && (n > s.max || s.bytes.Load() > s.maxBytes); n-- {
		last := s.used.Back()
		en := last.Value.(*entry)
		if s.keep != "" && en.t.ID == s.keep {
			s.used.MoveToFront(last)
			continue
		}
		for _, k := range en.keys {
			delete(s.byKey, k)
		}
		s.used.Remove(last)
		en.t.held.close()
	}
}
