package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
)

// Scope is within what names mean something.
type Scope struct {
	sink  string // of the memory
	Names *secret.Pseudonymiser
	Owner [32]byte // under whom the values are kept
}

// memories are the scopes of a caller's memories. A run is one person's,
// whatever credentials its processes bring along, and so is what it keeps.
func (r *Registry) memories(caller [32]byte) []Scope {
	if r.cfg.Family != "" {
		caller = [32]byte{}
	}
	out := make([]Scope, 0, len(r.cfg.Memories))
	for _, sink := range r.cfg.Memories {
		owner := r.Keyed("margay memory v1", caller[:], []byte(sink))
		out = append(out, Scope{sink, secret.NewPseudonymiser(&r.cfg.Keys, "memory/"+hex.EncodeToString(owner[:])), owner})
	}
	return out
}

// Memory is the Scope of one memory; nil where it is not among those that are
// known, which then gets names that mean nothing later.
func (t *Trajectory) Memory(sink string) *Scope {
	if i := slices.IndexFunc(t.stores, func(m Scope) bool { return m.sink == sink }); i >= 0 {
		return &t.stores[i]
	}
	return nil
}

// NameAt is a place where a name stands that was given out, and whose value it
// is kept as.
type NameAt struct {
	secret.PseudonymAt
	Owner [32]byte
}

// NamesIn returns the names in a text that were given out in this trajectory,
// or by any to a memory of the caller's, in order.
func (t *Trajectory) NamesIn(text string) []NameAt {
	var out []NameAt
	for _, at := range t.Names.FindAll(text) {
		owner := t.Owner
		for i := 0; i < len(t.stores) && !at.Valid; i++ {
			_, at.Valid = t.stores[i].Names.Verify(at.Name)
			owner = t.stores[i].Owner
		}
		if at.Valid {
			out = append(out, NameAt{at, owner})
		}
	}
	return out
}

// covers reports whether a text is a name, with at most slack bytes around it:
// a detector that finds one has found nothing.
func (t *Trajectory) covers(text []byte, slack int) bool {
	return t.Names.Covers(text, slack) || slices.ContainsFunc(t.stores, func(m Scope) bool { return m.Names.Covers(text, slack) })
}

// Seal keeps the values that became pseudonyms, before these go anywhere. What
// was kept once in the trajectory is not kept again.
func (s *Session) Seal(ctx context.Context) error {
	defer clear(s.replaced)
	if s.cfg.Values == nil || len(s.replaced) == 0 {
		return nil
	}
	fresh := maps.Clone(s.replaced)
	maps.DeleteFunc(fresh, func(name string, _ []byte) bool { _, ok := s.sealed.Get(name); return ok })
	if err := s.put(ctx, s.cfg.Values, s.Owner, fresh); err != nil {
		s.forget() // or the texts would be recalled and their values never kept
		return err
	}
	for name := range fresh {
		was := s.sealed.Len()
		s.sealed.Put(name, struct{}{})
		s.held.add((s.sealed.Len() - was) * (entryBytes + len(name)))
	}
	return nil
}

// put keeps values under their names, sealed.
func (s *Session) put(ctx context.Context, store Values, owner [32]byte, values map[string][]byte) error {
	if len(values) == 0 {
		return nil
	}
	sealed := make(map[string][]byte, len(values))
	for name, raw := range values {
		var err error
		if sealed[name], err = s.cfg.Keys.SealValue(raw, sealContext(owner, name)); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
	}
	return store.PutValues(ctx, owner, sealed, s.Now)
}

// sealContext binds a sealed value to its place: moved to another trajectory,
// memory, caller or pseudonym it does not open.
func sealContext(owner [32]byte, name string) string {
	return hex.EncodeToString(owner[:]) + "/" + name
}

// Replace notes a value that becomes a pseudonym, to be sealed.
func (s *Session) Replace(name string, raw []byte) {
	if s.replaced == nil {
		s.replaced = map[string][]byte{}
	}
	s.replaced[name] = append([]byte(nil), raw...)
}

// Value is what a name stands for; empty where that was not kept.
func (s *Session) Value(ctx context.Context, at *NameAt) string {
	if raw, ok := s.replaced[at.Name]; ok {
		return string(raw)
	}
	store := s.cfg.Values
	if at.Owner != s.Owner {
		store = s.kept()
	}
	if store == nil {
		return ""
	}
	sealed, err := store.Value(ctx, at.Owner, at.Name)
	if err != nil {
		return ""
	}
	raw, _ := s.cfg.Keys.OpenValue(sealed, sealContext(at.Owner, at.Name)) // nothing where it does not open
	return string(raw)
}

// kept is where the values of memories' names are; nil for nowhere.
func (s *Session) kept() Values { return cmp.Or(s.cfg.Kept, s.cfg.Values) }

// Keep keeps values under names of a memory's, sealed, before it gets the names.
func (s *Session) Keep(ctx context.Context, memory *Scope, values map[string][]byte) error {
	if store := s.kept(); store != nil {
		return s.put(ctx, store, memory.Owner, values)
	}
	return nil
}

// WorthKnowing reports whether a discovered value is redacted wherever it
// stands. What ordinary text says, a word or two, never is: whoever gets
// "X_PASSWORD=administration" into a tool's result would redact it in other
// people's text. Where the rule is sure, the bar is at six digits, or at several
// words run together.
func WorthKnowing(value []byte, st match.Strength, sure bool) bool {
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
