package replay

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/internal/app/recorded"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/pack"
)

// Packs that are no names of packs.
const (
	PacksDefault = "default" // those that the session names, or else those of margay serve
	PacksNone    = "none"    // no tool is known
)

// engines makes configurations of the engine. It is safe for concurrent use.
type engines struct {
	packs   []string // PacksDefault, PacksNone or names and files
	trusted bool     // take the sessions' trusted folders

	subagents Subagents
	suggest   func(tool string, says []string) effect.Profile

	mu       sync.Mutex
	loaded   map[string]*pack.Pack
	policies map[string]*taint.Policy
}

func newEngines(packs []string, trusted bool) *engines {
	if len(packs) == 0 {
		packs = []string{PacksDefault}
	}
	return &engines{packs: packs, trusted: trusted, loaded: map[string]*pack.Pack{}, policies: map[string]*taint.Policy{}}
}

// engineFor turns a session into what the engine is configured with. Nothing
// else reads the session's packs, trusted folders and working directory.
func (e *engines) engineFor(ctx context.Context, s *Session, u *user) (*mediator.Taint, *places.Book, error) {
	p, err := e.policy(e.names(s))
	if err != nil {
		return nil, nil, err
	}
	book := recorded.Machine(s, &keys, e.trusted, u.labels.Project)
	if err := book.Trust(ctx, u.trusts...); err != nil {
		return nil, nil, err
	}
	for _, t := range u.said {
		if err := book.Say(ctx, t); err != nil {
			return nil, nil, err
		}
	}
	return &mediator.Taint{
		Policy: p, Key: taint.Key{1}, Machine: book, Suggest: e.suggest,
		// As margay serve has it: two underscores name a tool of a server.
		Foreign: func(tool string) bool { return strings.Contains(tool, "__") },
	}, book, nil
}

// names are the names of the packs that a session is held to.
func (e *engines) names(s *Session) []string {
	switch {
	case slices.Equal(e.packs, []string{PacksNone}):
		return nil
	case !slices.Equal(e.packs, []string{PacksDefault}):
		return e.packs
	case len(s.Packs) > 0:
		return s.Packs
	}
	return slices.DeleteFunc(pack.Names(), func(n string) bool {
		p, err := pack.Builtin(n)
		return err == nil && p.Kind == pack.Suite // only by name
	})
}

func (e *engines) policy(names []string) (*taint.Policy, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprintf("%q", names)
	if p := e.policies[key]; p != nil {
		return p, nil
	}
	var bindings []pack.Binding
	for _, n := range names {
		p, err := e.load(n)
		if err != nil {
			return nil, err
		}
		bindings = append(bindings, pack.Bind(p, ""))
	}
	p, err := pack.Policy(observe.Machine(), nil, bindings...)
	if err == nil {
		e.policies[key] = p
	}
	return p, err
}

// load loads a pack by its name, or one from a file.
func (e *engines) load(name string) (*pack.Pack, error) {
	if p := e.loaded[name]; p != nil {
		return p, nil
	}
	p, err := load(name)
	if err == nil {
		e.loaded[name] = p
	}
	return p, err
}

func load(name string) (*pack.Pack, error) {
	if !strings.ContainsAny(name, "/.") {
		return pack.Builtin(name)
	}
	b, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return nil, err // it names the file
	}
	return pack.Load(name, b)
}

// CheckPacks returns why packs can't be used; nil if they can.
func CheckPacks(names []string) error {
	for _, n := range names {
		if n == PacksDefault || n == PacksNone {
			if len(names) > 1 {
				return fmt.Errorf("%s stands alone", n)
			}
			continue
		}
		if _, err := load(n); err != nil {
			return err
		}
	}
	return nil
}
