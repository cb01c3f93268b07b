package mediator

import (
	"bytes"
	"container/list"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/taint"
)

const (
	// maxDiscovered bounds the secrets that one trajectory discovers.
	maxDiscovered = 4096
	// maxCached bounds the texts that one trajectory remembers as mediated.
	maxCached = 4096
	// maxCachedBytes bounds their results that differ from them.
	maxCachedBytes = 4 << 20
	// maxSealed bounds the pseudonyms that one trajectory remembers as kept.
	maxSealed = 4096
	// maxPrefixes bounds the prefixes remembered for each trajectory.
	maxPrefixes = 64
)

// trajectory is what is remembered of one. It is safe for concurrent use.
type trajectory struct {
	id      flow.TrajectoryID
	names   *secret.Pseudonymiser
	stores  []scope // the caller's memories
	mu      sync.Mutex
	known   map[secret.Fingerprint]int // place in recs, from 1; 0 where it can't be recognised again
	recs    []secret.Record
	index   *secret.Index // of the first indexed recs; nil if there are none
	indexed int
	cache   map[[32]byte]mediated
	cached  int                             // bytes of it
	public  map[secret.Fingerprint]struct{} // values that were read under public names
	oldest  [][32]byte                      // keys of cache, in order of entry
	owner   [32]byte                        // whose values its pseudonyms stand for
	sealed  map[string]struct{}

	labels *labels
	quotes *taint.Quotes // of what models said to the caller; nil where labels are not looked at
	traced int           // messages that those who look on were told of
}

// mediated is the result for a text that went out before.
type mediated struct {
	text    string
	changed bool
}

// newTrajectory begins one. Its values belong to its caller: the pseudonyms of
// an id are the same for everybody who names it.
func (e *Engine) newTrajectory(id flow.TrajectoryID, caller [32]byte) *trajectory {
	return &trajectory{
		owner: keyed(e.cfg.Keys.Pseudonym[:], "margay values v1", caller[:], []byte(id)),
		id:    id, names: secret.NewPseudonymiser(&e.cfg.Keys, string(id)), stores: e.memories(caller),
		known: map[secret.Fingerprint]int{}, cache: map[[32]byte]mediated{}, labels: e.labelsOf(id), quotes: e.quotesOf(caller),
	}
}

// discovered returns the index of the secrets discovered so far, and their
// number as its version. What another request has learnt since it was made is
// in neither.
func (t *trajectory) discovered() (*secret.Index, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.index, t.indexed
}

// acquit notes the values of a text that stand under the names of what is
// public. A model that calls one of them a password has mistaken its name, and
// that name is all that a rule of discovery goes by. What is known as a secret
// stays one.
func (t *trajectory) acquit(keys *secret.Keys, text string) {
	recognise.Public([]byte(text), func(value []byte) {
		fp := keys.FingerprintOf(value)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.public == nil {
			t.public = map[secret.Fingerprint]struct{}{}
		}
		if len(t.public) < maxDiscovered {
			t.public[fp] = struct{}{}
		}
	})
}

// acquitted reports whether a value stood under a public name, and never under
// a secret's.
func (t *trajectory) acquitted(fp secret.Fingerprint) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, public := t.public[fp]
	_, known := t.known[fp]
	return public && !known
}

// learn adds a value that was found in the trajectory's own content. It
// reports whether the value can be recognised again and is not yet in the
// index of a version: another request may have learnt it meanwhile.
func (t *trajectory) learn(keys *secret.Keys, kind secret.Kind, rule string, value []byte, version int, now time.Time) bool {
	fp := keys.FingerprintOf(value)
	t.mu.Lock()
	defer t.mu.Unlock()
	sure := recognise.Sure(rule)
	if at, ok := t.known[fp]; ok && (at > 0 || !sure) {
		return at > version
	}
	if len(t.recs) >= maxDiscovered || len(t.known) >= 4*maxDiscovered {
		return false
	}
	t.known[fp] = 0
	rec, st, err := secret.Prepare(keys, flow.NewID(), rule, kind, secret.SourceDiscovered, "trajectory", value, now)
	if err != nil || !WorthKnowing(value, st, sure) {
		return false
	}
	t.recs = append(t.recs, rec)
	t.known[fp] = len(t.recs)
	return true
}

// WorthKnowing reports whether a discovered value is redacted wherever it
// stands. What ordinary text says, a word or two, never is: whoever gets
// "X_PASSWORD=administration" into a tool's result would redact it in other
// people's text. Where the rule is sure, the bar is at six digits, or at several
// words run together.
func WorthKnowing(value []byte, st secret.Strength, sure bool) bool {
	if ordinary(value) && st.Bits < spoken*float64(len(value)) {
		return false
	}
	if sure {
		return st.Bits >= 19 && (st.Disguised || bytes.ContainsAny(value, "0123456789"))
	}
	return st.Disguised && st.Bits >= 40
}

const (
	// phraseWords are as many words as ordinary text does not repeat by chance.
	phraseWords = 4
	// longWord is longer than nearly all words.
	longWord = 16
	// spoken is more than the bits a letter of what can be pronounced has.
	spoken = 2.5
)

// endings are those of the words that are longer.
var endings = regexp.MustCompile(`(?:tion|(?:al|ar|at|er|ic|it|on|or)i[sz]e|ly[sz]e|ment|ness|able|ible|it(?:y|ie)|ive|[nc]al|ical|ary|ory|ing|ed|ist|ism|ous|en[tc]e?|an[tc]e?|ly|logy|hood|ship|graphy)s?$`)

// ordinary reports whether a value is what ordinary text says: one word, or as
// few of them, joined by something, as a common phrase has.
func ordinary(value []byte) bool {
	words, capitals := 0, 0
	inWord := false
	for i, c := range value {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			if !inWord {
				words++
			}
			if inWord && c <= 'Z' && value[i-1] >= 'a' {
				capitals++
			}
			inWord = true
		case c == ' ', c == '-', c == '_', c == '.', c == '/', c == '\'', c == ',':
			inWord = false
		default:
			return false
		}
	}
	words += capitals
	return words > 1 && words < phraseWords && capitals < 3 || words == 1 && (len(value) < longWord || endings.Match(bytes.ToLower(value)))
}

// reindex makes what was learnt count.
func (t *trajectory) reindex(keys *secret.Keys, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	ix, err := secret.NewIndex(keys, each(t.recs), now)
	if err == nil {
		t.index, t.indexed = ix, len(t.recs)
	}
	return err
}

func (t *trajectory) recall(key [32]byte) (mediated, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, ok := t.cache[key]
	return m, ok
}

func (t *trajectory) remember(key [32]byte, m mediated) {
	if len(m.text) > 1<<16 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.cache[key]; ok {
		return
	}
	drop := 0
	for left := len(t.oldest); left > 0 && (left >= maxCached || t.cached+len(m.text) > maxCachedBytes); left-- {
		t.cached -= len(t.cache[t.oldest[drop]].text)
		delete(t.cache, t.oldest[drop])
		drop++
	}
	t.oldest = append(t.oldest[:0], t.oldest[drop:]...)
	t.cache[key] = m
	t.cached += len(m.text)
	t.oldest = append(t.oldest, key)
}

// forget drops what is remembered of texts.
func (t *trajectory) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.cache)
	t.oldest, t.cached = t.oldest[:0], 0
}

func (t *trajectory) isSealed(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.sealed[name]
	return ok
}

func (t *trajectory) markSealed(values map[string][]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed == nil || len(t.sealed) >= maxSealed {
		t.sealed = map[string]struct{}{}
	}
	for name := range values {
		t.sealed[name] = struct{}{}
	}
}

// trajectories finds trajectories by keyed hashes, forgetting the one used
// longest ago when there are too many. It is safe for concurrent use.
type trajectories struct {
	max   int
	mu    sync.Mutex
	byKey map[[32]byte]*list.Element
	used  list.List // of *entry, the latest in front
}

type entry struct {
	t    *trajectory
	keys [][32]byte
}

// name makes a further key find a trajectory that another key finds. A server
// may give one name twice: then it is the later one's.
func (s *trajectories) name(key, name [32]byte, t *trajectory) {
	s.mu.Lock()
	if el := s.byKey[name]; el != nil && el.Value.(*entry).t != t {
		en := el.Value.(*entry)
		en.keys = slices.DeleteFunc(en.keys, func(k [32]byte) bool { return k == name })
		delete(s.byKey, name)
	}
	s.mu.Unlock()
	s.byPrefix([][32]byte{name, key}, func() *trajectory { return t })
}

// byPrefix returns the trajectory of the longest known prefix, or begins one,
// and remembers the conversation's prefixes for it.
func (s *trajectories) byPrefix(keys [][32]byte, begin func() *trajectory) *trajectory {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[[32]byte]*list.Element{}
	}
	var el *list.Element
	for i := len(keys) - 1; i >= 0 && el == nil; i-- {
		el = s.byKey[keys[i]]
	}
	if el == nil {
		el = s.used.PushFront(&entry{t: begin()})
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
	for s.used.Len() > s.max {
		last := s.used.Back()
		for _, k := range last.Value.(*entry).keys {
			delete(s.byKey, k)
		}
		s.used.Remove(last)
	}
	return en.t
}
