package app

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/store/sqlite"
)

const doctorHint = "margay doctor looks at all files"

// state is what lies in the state folder.
type state struct {
	keys  secret.Keys
	store mediator.Store
}

func (s *state) close() { _ = s.store.Close() }

// open opens keys and store, and makes them where there are none.
func (a *app) open(ctx context.Context, c *config.Config) (*state, error) {
	k, err := loadKeys(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.StorePath() == "memory" {
		return &state{k, memory.New()}, nil
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return nil, failure(doctorHint, "%w", err)
	}
	return &state{k, s}, nil
}

func loadKeys(ctx context.Context, c *config.Config) (secret.Keys, error) {
	if text, ok := os.LookupEnv(config.EnvKeys); ok {
		k, err := keys.FromText(text)
		if err != nil {
			return k, usage("unset "+config.EnvKeys+" to use key files", "%s: %w", config.EnvKeys, err)
		}
		return k, nil
	}
	if err := lostKey(ctx, c); err != nil {
		return secret.Keys{}, err
	}
	k, err := keys.Load(c.Keys())
	switch {
	case errors.Is(err, keys.ErrOpen):
		return k, failure("a key that others could read should be replaced: see SECURITY.md", "%w", err)
	case err != nil:
		return k, failure(doctorHint, "%w", err)
	}
	return k, nil
}

// lostKey refuses to make a new fingerprint key beside a store with secrets:
// they would look registered, and none would be recognised.
func lostKey(ctx context.Context, c *config.Config) error {
	path := keys.Paths(c.Keys())[0]
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Stat(c.StorePath()); err != nil {
		return nil
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return failure(doctorHint, "%w", err)
	}
	defer s.Close()
	for _, err := range s.Secrets(ctx) {
		if err != nil {
			return failure(doctorHint, "%w", err)
		}
		return failure("restore it from a backup, or move "+c.StorePath()+" away and register the secrets again",
			"the key %s is missing, and without it the registered secrets can't be recognised", path)
	}
	return nil
}

// withState runs f with the configuration and the state it names.
func (a *app) withState(ctx context.Context, f func(*config.Config, *state) error) error {
	c, err := a.load(nil)
	if err != nil {
		return err
	}
	st, err := a.open(ctx, c)
	if err != nil {
		return err
	}
	defer st.close()
	return f(c, st)
}

// rulesOf returns the recognisers that the configuration asks for; nil for
// none.
func rulesOf(c *config.Config) (*recognise.Set, error) {
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
