package rubric

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/document"
	"github.com/margaydev/margay/rubric/signed"
)

// ErrConflict says that rubrics leave no operator for a field that one of them
// requires. It names two of them.
var ErrConflict = errors.New("rubrics leave no operator")

// maxFiles bounds a registry's folder, maxResolved what is remembered of
// resolutions, maxAlso the rubrics that a text may name.
const (
	maxFiles    = 4096
	maxResolved = 512
	maxAlso     = 16
)

// Config is what a registry needs.
type Config struct {
	// Keys are the public keys whose signatures count.
	Keys []ed25519.PublicKey
	// Now is the clock; time.Now where it is nil. One that goes backwards does
	// not make an expired rubric hold again.
	Now func() time.Time
}

// Registry holds the rubrics that may be relied on: verified, by hash. Of the
// rubrics of one name, the latest revision is found by what a release is. It
// is safe for concurrent use.
type Registry struct {
	config Config

	mu       sync.Mutex
	latest   time.Time // that the clock has shown
	byHash   map[Hash]*Rubric
	live     []*Rubric // of each name the latest revision
	resolved map[string]*Resolved
}

// NewRegistry makes an empty registry.
func NewRegistry(c Config) *Registry {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Registry{config: c, byHash: map[Hash]*Rubric{}, resolved: map[string]*Resolved{}}
}

// Load reads the signed rubrics in a folder. What is refused is not in the
// registry, and returned with the reason. An error is one of reading.
func Load(folder fs.FS, c Config) (*Registry, []*Refusal, error) {
	r := NewRegistry(c)
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, nil, fmt.Errorf("rubrics: %w", err)
	}
	var refused []*Refusal
	files := 0
	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != signed.Ext {
			continue
		}
		if files++; files > maxFiles {
			return nil, nil, fmt.Errorf("rubrics: more than %d files", maxFiles)
		}
		b, err := readSome(folder, e.Name())
		if err != nil {
			return nil, nil, fmt.Errorf("rubrics: %w", err)
		}
		var bad *Refusal
		if _, err := r.Add(e.Name(), b); errors.As(err, &bad) {
			refused = append(refused, bad)
		}
	}
	return r, refused, nil
}

func readSome(folder fs.FS, name string) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1024))
}

// Add verifies a signed rubric and registers it. Errors are of type *Refusal.
//
// One that has expired is refused, and remembered: releases that it would have
// narrowed are refused, too, until there is a later revision.
func (r *Registry) Add(file string, b []byte) (*Rubric, error) {
	one, err := Verify(file, b, r.config.Keys)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byHash[one.hash] = one
	r.live = nil
	for _, o := range r.byHash {
		if r.active(o) {
			r.live = append(r.live, o)
		}
	}
	clear(r.resolved)
	if !r.now().Before(one.expires) {
		return nil, refuse(file, fmt.Errorf("%w: on %s", ErrExpired, one.doc.Expires))
	}
	return one, nil
}

// now is the latest moment that the clock has shown. The lock is held.
func (r *Registry) now() time.Time {
	if t := r.config.Now(); t.After(r.latest) {
		r.latest = t
	}
	return r.latest
}

// Get returns a registered rubric. Errors are of type *Refusal.
func (r *Registry) Get(h Hash) (*Rubric, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.get(h)
}

func (r *Registry) get(h Hash) (*Rubric, error) {
	one := r.byHash[h]
	if one == nil {
		return nil, refuse("rubric "+h.Short(), ErrUnknown)
	}
	if !r.now().Before(one.expires) {
		return nil, refuse(one.String(), fmt.Errorf("%w: on %s", ErrExpired, one.doc.Expires))
	}
	return one, nil
}

// All returns the registered rubrics, by name, then by revision.
func (r *Registry) All() []*Rubric {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Collect(maps.Values(r.byHash))
	slices.SortFunc(out, func(a, b *Rubric) int {
		return cmp.Or(strings.Compare(a.doc.Rubric, b.doc.Rubric), cmp.Compare(a.doc.Revision, b.doc.Revision), bytes.Compare(a.hash[:], b.hash[:]))
	})
	return out
}

// Active reports whether releases are held to a rubric: whether no later
// revision of it is registered.
func (r *Registry) Active(one *Rubric) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active(one)
}

func (r *Registry) active(one *Rubric) bool {
	for _, o := range r.byHash {
		if o.doc.Rubric == one.doc.Rubric && o.doc.Revision > one.doc.Revision {
			return false
		}
	}
	return true
}

// Resolve finds what holds for a release: the rubrics whose signature its
// trusted metadata matches, narrowed by those that the text names; the
// fallback where there is none.
//
// It is an error, and the release must not be made, where a rubric that
// matches or is named has expired or is not registered (a *Refusal), or where
// rubrics leave no operator for a field that one of them requires
// (ErrConflict).
func (r *Registry) Resolve(q Query) (*Resolved, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(q.Also) > maxAlso {
		return nil, refuse("rubrics that the text names", fmt.Errorf("there are more than %d of them", maxAlso))
	}
	var matched, named []*Rubric
	for _, one := range r.live {
		if !one.Applies(q) {
			continue
		}
		if _, err := r.get(one.hash); err != nil {
			return nil, err
		}
		matched = append(matched, one)
	}
	for _, h := range q.Also {
		one, err := r.get(h)
		if err != nil {
			return nil, err
		}
		named = append(named, one)
	}
	key := keyOf(matched) + "+" + keyOf(named)
	out := r.resolved[key]
	if out == nil {
		out = combine(matched, named)
		out.now = r.config.Now
		if len(r.resolved) >= maxResolved {
			clear(r.resolved)
		}
		r.resolved[key] = out
	}
	if err := out.Conflict(q.Class); err != nil {
		return nil, err
	}
	return out, nil
}

func keyOf(rules []*Rubric) string {
	hashes := make([]string, len(rules))
	for i, one := range rules {
		hashes[i] = string(one.hash[:])
	}
	slices.Sort(hashes)
	return strings.Join(hashes, "")
}

// Combine makes what rubrics say together where all of them match: what lint
// checks of signatures that overlap.
func Combine(rules ...*Rubric) *Resolved { return combine(rules, nil) }

// Conflict is the error that Resolve returns for sinks of a class, where a rubric
// requires a field and no operator is left.
func (r *Resolved) Conflict(class flow.Class) error {
	class = class.Known()
	if r.fallback {
		return nil
	}
	for _, one := range r.rules {
		for _, n := range one.utility[class] {
			if !serves(r.ops[n.Field][class], n.Level) || !r.agree[n.Field] && n.Level > 0 {
				return r.between(one, n.Field, class, func(o *Rubric) bool {
					f := o.fields[n.Field]
					return f == nil || !serves(f.ops[class], n.Level) || f.needs[class] == Unnecessary || f.shape != one.fields[n.Field].shape
				})
			}
		}
		for _, name := range one.names {
			if one.fields[name].needs[class] == Required && !shows(r.ops[name][class]) && shows(one.fields[name].ops[class]) {
				return r.between(one, name, class, func(o *Rubric) bool {
					f := o.fields[name]
					return f == nil || !shows(f.ops[class]) || f.shape != one.fields[name].shape
				})
			}
		}
	}
	return nil
}

func shows(ops []Op) bool { return len(ops) > 0 && ops[len(ops)-1].Kind >= Substitute }

// between names the rubric that requires a field and one that does not leave
// it.
func (r *Resolved) between(a *Rubric, field string, class flow.Class, against func(*Rubric) bool) error {
	b := a
	others := slices.DeleteFunc(slices.Clone(r.rules), func(o *Rubric) bool { return o == a })
	if len(others) > 0 {
		b = others[max(slices.IndexFunc(others, against), 0)]
	}
	return fmt.Errorf("%w: %s requires %s for %s sinks, and %s does not leave it", ErrConflict, a, field, class, b)
}

// Applies reports whether the rubric's signature matches a release, by its
// trusted metadata alone.
func (r *Rubric) Applies(q Query) bool {
	return r.doc.Signature.Matches(&document.Release{
		Action: q.Action, Tool: q.Tool, Sink: q.Sink, Channel: q.Channel, Class: q.Class.Known().String(), Fields: q.Fields,
	})
}
