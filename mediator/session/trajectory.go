package session

import (
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/mediator/altered"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/plausible"
	"github.com/margaydev/margay/secret/recognise"
)

const (
	// maxDiscovered bounds the secrets that one trajectory discovers. A text
	// with one more is denied (TooMany): to forget the oldest instead would
	// let whoever fills a page with values choose which ones are forgotten.
	maxDiscovered = 4096
	// maxKnown bounds them and the values that are not worth knowing.
	maxKnown = 4 * maxDiscovered
	// maxCached bounds the texts that one trajectory remembers as mediated.
	maxCached = 4096
	// maxCachedBytes bounds what that takes.
	maxCachedBytes = 4 << 20
	// maxSealed bounds the pseudonyms that one trajectory remembers as kept.
	maxSealed = 4096
	// maxPrefixes bounds the prefixes remembered for each trajectory.
	maxPrefixes = 64
)

// Trajectory is what is remembered of one. It is safe for concurrent use.
type Trajectory struct {
	ID      flow.TrajectoryID
	Names   *secret.Pseudonymiser
	stores  []Scope // the caller's memories
	mu      sync.Mutex
	known   map[secret.Fingerprint]int // place in recs, from 1; 0 where it can't be recognised again
	recs    []secret.Record
	index   *match.Index // of the first indexed recs; nil if there are none
	indexed int
	cache   map[[32]byte]Mediated
	cached  int                             // bytes of it, roughly
	public  map[secret.Fingerprint]struct{} // values that were read under public names
	oldest  [][32]byte                      // keys of cache, in order of entry
	Owner   [32]byte                        // whose values its pseudonyms stand for
	sealed  *recent.Map[string, struct{}]   // pseudonyms whose values are kept

	Labels  *Labels
	Altered *altered.Memory // of calls that were made with a part replaced
	traced  int             // messages that observers know
	held    *account
}

// Mediated is the result for a text that went out before.
type Mediated struct {
	Text    string
	Changed bool
}

func (m Mediated) size() int { return entryBytes + len(m.Text) }

// newTrajectory starts one. Its values belong to its caller: the pseudonyms of
// an id are the same for everybody who names it.
func (r *Registry) newTrajectory(id flow.TrajectoryID, caller [32]byte) *Trajectory {
	t := &Trajectory{
		Owner: r.Keyed("margay values v1", caller[:], []byte(id)),
		ID:    id, Names: secret.NewPseudonymiser(&r.cfg.Keys, string(id)), stores: r.memories(caller),
		known: map[secret.Fingerprint]int{}, public: map[secret.Fingerprint]struct{}{}, cache: map[[32]byte]Mediated{}, Labels: &Labels{},
		sealed: recent.New[string, struct{}](maxSealed), held: r.traj.open(),
	}
	t.Labels.grew = t.held.add
	t.Altered = altered.New(func(name, args string) altered.Digest {
		return r.Keyed("margay call v1", []byte(name), []byte(Arguments(args)))
	}, t.held.add)
	if b := r.cfg.Labels; b != nil && r.cfg.Family != "" && id == r.cfg.Family {
		t.Labels = &b.Family
	}
	return t
}

// Discovered returns the index of the secrets discovered so far, and their
// number as its version. What another request has learnt since it was made is
// in neither.
func (t *Trajectory) Discovered() (*match.Index, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.index, t.indexed
}

// Acquit notes the values of a text that stand under the names of what is
// public, and reports whether there are any. A model that calls one of them a
// password has mistaken its name, and that name is all that a rule of discovery
// goes by. What is known as a secret stays one.
func (t *Trajectory) Acquit(keys *secret.Keys, text string) (some bool) {
	plausible.Public([]byte(text), func(value []byte) {
		some = true
		fp := keys.FingerprintOf(value)
		t.mu.Lock()
		defer t.mu.Unlock()
		if _, ok := t.public[fp]; !ok && len(t.public) < maxDiscovered {
			t.public[fp] = struct{}{}
			t.held.add(entryBytes)
		}
	})
	return some
}

// acquitted reports whether a value stood under a public name, and never under
// a secret's. Where there were too many secrets to tell, it reports false.
func (t *Trajectory) acquitted(fp secret.Fingerprint) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, public := t.public[fp]
	_, known := t.known[fp]
	return public && !known && len(t.known) < maxKnown
}

// Learn adds a value that was found in the trajectory's own content. Fresh
// reports whether the value can be recognised again and is not yet in the
// index of a version: another request may have learnt it meanwhile. Full says
// that there is no room for one more: it would not be recognised again.
func (t *Trajectory) Learn(keys *secret.Keys, kind secret.Kind, rule string, value []byte, version int, now time.Time) (fresh, full bool) {
	fp := keys.FingerprintOf(value)
	t.mu.Lock()
	defer t.mu.Unlock()
	sure := recognise.Sure(rule)
	at, ok := t.known[fp]
	if ok && (at > 0 || !sure) {
		return at > version, false
	}
	if !ok && len(t.known) < maxKnown {
		t.known[fp] = 0
		t.held.add(entryBytes)
	}
	rec, st, err := match.Prepare(keys, flow.NewID(), rule, kind, secret.SourceDiscovered, "trajectory", value, now)
	if err != nil || !WorthKnowing(value, st, sure) {
		return false, false
	}
	if len(t.recs) >= maxDiscovered {
		return false, true
	}
	t.recs = append(t.recs, rec)
	t.known[fp] = len(t.recs)
	t.held.add(entryBytes + 3*len(rec.Print)) // as a record, and about twice that in the index
	return true, false
}

// Reindex makes what was learnt count.
func (t *Trajectory) Reindex(keys *secret.Keys, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ix, err := match.NewIndex(keys, each(t.recs), now)
	if err == nil {
		t.index, t.indexed = ix, len(t.recs)
	}
	return err
}

// Recall returns what a text became when it was mediated before.
func (t *Trajectory) Recall(key [32]byte) (Mediated, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.cache[key]
	return m, ok
}

// Remember keeps what a text became, unless it is long.
func (t *Trajectory) Remember(key [32]byte, m Mediated) {
	if len(m.Text) > 1<<16 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.cache[key]; ok {
		return
	}
	was := t.cached
	for len(t.oldest) > 0 && (len(t.oldest) >= maxCached || t.cached+m.size() > maxCachedBytes) {
		t.cached -= t.cache[t.oldest[0]].size()
		delete(t.cache, t.oldest[0])
		t.oldest = t.oldest[1:]
	}
	t.cache[key] = m
	t.cached += m.size()
	t.oldest = append(t.oldest, key)
	t.held.add(t.cached - was)
}

// forget drops what is remembered of texts.
func (t *Trajectory) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.cache)
	t.held.add(-t.cached)
	t.oldest, t.cached = t.oldest[:0], 0
}

// TracedUpTo returns up to which message observers know the trajectory, and notes
// that they know all n.
func (t *Trajectory) TracedUpTo(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.traced
	if from > n { // the conversation was cut short or started anew
		from = 0
	}
	t.traced = n
	return from
}
