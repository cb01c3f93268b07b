// Package state opens what an installation keeps: its keys and its store.
//
// Both are made when they are first needed, the keys readable by their owner
// alone. A store that has secrets and no fingerprint key is refused. With a new
// key its secrets would look protected, and none would be recognised. Keys
// without the store that they were used with are refused, too: see Lost.
package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/keys"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/mcpproxy/pin"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/places"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/secret/recognise/own"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

// Store is what a mediator needs, and the order in which its log grew.
type Store interface {
	secret.Store
	audit.Log
	mediator.Values
	mediator.Said
	places.Store
	pin.Store
	confirm.Store
	ledger.Store
	audit.Events
	// Arrived returns up to limit entries of the log in the order in which
	// they were added, behind the one with the number after, and the number
	// of the last of them.
	Arrived(ctx context.Context, after int64, limit int) ([]audit.Entry, int64, error)
	// LastArrival returns the number of the entry that was added last.
	LastArrival(ctx context.Context) (int64, error)
	// Writable writes to where all of this is kept, durably, and changes
	// nothing.
	Writable(ctx context.Context) error
	// Close releases the engine's resources.
	Close() error
}

// State is what lies in the state folder. Close releases it.
type State struct {
	Keys  secret.Keys
	Store Store
}

// Close releases the store.
func (s *State) Close() { _ = s.Store.Close() }

// Open opens keys and store, and makes missing ones. Errors are of type
// *problem.Error.
func Open(ctx context.Context, c *config.Config) (*State, error) {
	if _, fromEnv := os.LookupEnv(config.EnvKeys); c.Store == "" || c.KeyDir == "" && !fromEnv {
		if err := CheckFolder(c); err != nil {
			return nil, err
		}
	}
	if err := lostFile(c); err != nil {
		return nil, err
	}
	if c.StorePath() == "memory" {
		k, err := loadKeys(ctx, c)
		return &State{k, memory.New()}, err
	}
	if !missing(c.StorePath()) {
		k, err := loadKeys(ctx, c)
		if err != nil {
			return nil, err
		}
		s, err := openStore(ctx, c)
		return &State{k, s}, err
	}
	// The database comes first: keys without one show that it was lost.
	if !hasKeys(c) {
		if err := os.MkdirAll(c.Keys(), 0o700); err != nil {
			return nil, keyProblem(fmt.Errorf("keys: %w", err))
		}
	}
	s, err := openStore(ctx, c)
	if err != nil {
		return nil, err
	}
	k, err := loadKeys(ctx, c)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return &State{k, s}, nil
}

// openStore opens the database, or makes it.
func openStore(ctx context.Context, c *config.Config) (Store, error) {
	db, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return nil, problem.Unexpected(err)
	}
	s := &counted{db, countPath(c)}
	err = emptied(ctx, c, s)
	if err == nil && (c.NewState || missing(s.path)) {
		if err = s.count(ctx, 0); err != nil {
			err = problem.Failure("choose a folder that you may write to with --state-dir", "%w", err)
		}
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return s, nil
}

// CheckFolder returns an error if no folder for keys and database is known. Without
// a home it would be the working folder, where keys do not belong.
func CheckFolder(c *config.Config) error {
	if c.StateDir == "" && !filepath.IsAbs(c.State()) {
		return problem.Usage("set HOME, or name a folder with --state-dir", "there is no folder for keys and database: no home folder is known")
	}
	return nil
}

func loadKeys(ctx context.Context, c *config.Config) (secret.Keys, error) {
	if _, ok := os.LookupEnv(config.EnvKeys); ok {
		return keysFromEnv()
	}
	if err := MissingKey(ctx, c); err != nil {
		return secret.Keys{}, err
	}
	k, err := keys.Load(c.Keys())
	return k, keyProblem(err)
}

func keysFromEnv() (secret.Keys, error) {
	k, err := keys.FromText(os.Getenv(config.EnvKeys))
	if err != nil {
		return k, problem.Usage("unset "+config.EnvKeys+" to use key files", "%s: %w", config.EnvKeys, err)
	}
	return k, nil
}

// keyProblem adds what to do about a key that can't be read or made.
func keyProblem(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keys.ErrExposed):
		return problem.Failure("a key that others could read should be replaced: see SECURITY.md", "%w", err)
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(*os.LinkError)):
		return problem.Failure("choose a folder that you may write to with --state-dir", "%w", err)
	}
	return problem.Unexpected(err)
}

// MissingKey returns an error if the store has secrets and the fingerprint key
// that recognises them is missing. It changes nothing.
func MissingKey(ctx context.Context, c *config.Config) error {
	path := keys.Paths(c.Keys())[0]
	if !missing(path) {
		return nil
	}
	return withDatabase(ctx, c, func(s Store) error {
		return ifAny(s.Secrets(ctx), problem.Failure("restore it from a backup, or move "+c.StorePath()+" away, start with --new-state, and register the secrets again",
			"the key %s is missing, and without it the registered secrets can't be recognised", path))
	})
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// withDatabase calls f with the database, if there is one.
func withDatabase(ctx context.Context, c *config.Config, f func(Store) error) error {
	if _, err := os.Stat(c.StorePath()); err != nil {
		return nil
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return problem.Unexpected(err)
	}
	defer s.Close()
	return f(s)
}

// ifAny returns an error if a store yields anything.
func ifAny[T any](all iter.Seq2[T, error], found error) error {
	for _, err := range all {
		if err != nil {
			return problem.Unexpected(err)
		}
		return found
	}
	return nil
}

// Rules returns the recognisers that the configuration asks for; nil for none.
func Rules(c *config.Config) (*recognise.Set, error) {
	return rules(c, c.Discover, c.Personal, c.Secrets.StopWords)
}

// Importing returns recognisers for values that are about to be registered: all
// there are, without stop-words.
func Importing(c *config.Config) (*recognise.Set, error) { return rules(c, true, true, nil) }

func rules(c *config.Config, discover, personal bool, stop []string) (*recognise.Set, error) {
	if discover && personal && len(c.Secrets.Patterns)+len(stop) == 0 {
		return recognise.Default()
	}
	var rules []recognise.Rule
	if discover {
		found, err := recognise.Credentials()
		if err != nil {
			return nil, err
		}
		rules = append(found, recognise.Discovery()...)
		own.Silence(rules, stop)
	}
	if personal {
		rules = append(rules, recognise.Personal()...)
	}
	mine, err := own.Rules(c.Secrets.Patterns, c.Limits.Held)
	if err != nil {
		return nil, err
	}
	if rules = append(rules, mine...); len(rules) == 0 {
		return nil, nil
	}
	set, err := recognise.New(rules)
	if err != nil && len(mine) > 0 {
		err = problem.Usage("let fewer patterns begin with long texts", "secrets: %w", err)
	}
	return set, err
}
