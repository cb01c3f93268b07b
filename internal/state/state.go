// Package state opens what an installation keeps: its keys and its store.
//
// Both are made when they are first needed, the keys readable by their owner
// alone. A store with secrets whose fingerprint key is gone is refused rather
// than given a new key: its secrets would look protected, and none would be
// recognised.
package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

// Store is what a mediator needs, and the order in which its log grew.
type Store interface {
	mediator.Store
	mediator.Values
	mcpproxy.Pins
	confirm.Store
	ledger.Store
	mediator.Events
	// Arrived returns up to limit entries of the log in the order in which
	// they were added, behind the one with the number after, and the number
	// of the last of them.
	Arrived(ctx context.Context, after int64, limit int) ([]mediator.LogEntry, int64, error)
	// LastArrival returns the number of the entry that was added last.
	LastArrival(ctx context.Context) (int64, error)
}

// State is what lies in the state folder. Close releases it.
type State struct {
	Keys  secret.Keys
	Store Store
}

// Close releases the store.
func (s *State) Close() { _ = s.Store.Close() }

// Open opens keys and store, and makes them where there are none. Errors are
// of type *problem.Error.
func Open(ctx context.Context, c *config.Config) (*State, error) {
	if _, fromEnv := os.LookupEnv(config.EnvKeys); c.Store == "" || c.KeyDir == "" && !fromEnv {
		if err := Homeless(c); err != nil {
			return nil, err
		}
	}
	k, err := loadKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.StorePath() == "memory" {
		return &State{k, memory.New()}, nil
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return nil, problem.Failure(problem.Doctor, "%w", err)
	}
	return &State{k, s}, nil
}

// Homeless returns an error where there is no folder for what is kept: without
// a home it would be the working folder, where keys do not belong.
func Homeless(c *config.Config) error {
	if c.StateDir == "" && !filepath.IsAbs(c.State()) {
		return problem.Usage("set HOME, or name a folder with --state-dir", "there is no folder for keys and database: no home folder is known")
	}
	return nil
}

func loadKeys(ctx context.Context, c *config.Config) (secret.Keys, error) {
	if text, ok := os.LookupEnv(config.EnvKeys); ok {
		k, err := keys.FromText(text)
		if err != nil {
			return k, problem.Usage("unset "+config.EnvKeys+" to use key files", "%s: %w", config.EnvKeys, err)
		}
		return k, nil
	}
	if err := LostKey(ctx, c); err != nil {
		return secret.Keys{}, err
	}
	k, err := keys.Load(c.Keys())
	if err != nil {
		return k, keyProblem(err)
	}
	return k, nil
}

// keyProblem says what to do about a key that can't be read or made.
func keyProblem(err error) error {
	switch {
	case errors.Is(err, keys.ErrOpen):
		return problem.Failure("a key that others could read should be replaced: see SECURITY.md", "%w", err)
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.LinkError)):
		return problem.Failure("choose a folder that you may write to with --state-dir", "%w", err)
	}
	return problem.Failure(problem.Doctor, "%w", err)
}

// LostKey returns an error where the store has secrets and the fingerprint key
// that recognises them is missing. It changes nothing.
func LostKey(ctx context.Context, c *config.Config) error {
	path := keys.Paths(c.Keys())[0]
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(c.StorePath()); err != nil {
		return nil
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return problem.Failure(problem.Doctor, "%w", err)
	}
	defer s.Close()
	for _, err := range s.Secrets(ctx) {
		if err != nil {
			return problem.Failure(problem.Doctor, "%w", err)
		}
		return problem.Failure("restore it from a backup, or move "+c.StorePath()+" away and register the secrets again",
			"the key %s is missing, and without it the registered secrets can't be recognised", path)
	}
	return nil
}

// Rules returns the recognisers that the configuration asks for; nil for none.
func Rules(c *config.Config) (*recognise.Set, error) {
	if c.Discover && c.Personal {
		return recognise.Default()
	}
	var rules []recognise.Rule
	if c.Discover {
		found, err := recognise.Credentials()
		if err != nil {
			return nil, err
		}
		rules = append(found, recognise.Discovery()...)
	}
	if c.Personal {
		rules = append(rules, recognise.Personal()...)
	}
	if len(rules) == 0 {
		return nil, nil
	}
	return recognise.New(rules)
}
