package state

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/store/sqlite"
)

// Book opens the ledger. Its key is made where there is none, unless entries
// are there that another has signed. Errors are of type *problem.Error.
func (s *State) Book(ctx context.Context, c *config.Config) (*ledger.Book, error) {
	key, err := s.LedgerKey(ctx, c)
	if err != nil {
		return nil, err
	}
	b, err := ledger.NewBook(ledger.Config{Store: s.Store, Key: key})
	if err != nil {
		return nil, problem.Failure(problem.Doctor, "%w", err)
	}
	return b, nil
}

// LedgerKey returns the key that the ledger is signed with, as Book has it.
func (s *State) LedgerKey(ctx context.Context, c *config.Config) (ed25519.PrivateKey, error) {
	if text := os.Getenv(config.EnvLedgerKey); text != "" {
		k, err := keys.LedgerFromText(text)
		if err != nil {
			return nil, problem.Usage("unset "+config.EnvLedgerKey+" to use a key file", "%s: %w", config.EnvLedgerKey, err)
		}
		return k, nil
	}
	if c.StorePath() == "memory" { // the key need not outlast what it signed
		_, k, err := ed25519.GenerateKey(rand.Reader)
		return k, err
	}
	if err := lostLedgerKey(ctx, c, s.Store); err != nil {
		return nil, err
	}
	k, err := keys.Ledger(c.Keys())
	if err != nil {
		return nil, keyProblem(err)
	}
	return k, nil
}

func lostLedgerKey(ctx context.Context, c *config.Config, s ledger.Store) error {
	path := keys.LedgerPath(c.Keys())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, err := range s.Heads(ctx) {
		if err != nil {
			return problem.Failure(problem.Doctor, "%w", err)
		}
		return problem.Failure("restore it from a backup, or move "+c.StorePath()+" away, which begins a new ledger",
			"the key %s is missing, and the ledger was signed with it", path)
	}
	return nil
}

// LostLedgerKey returns an error where the store has a ledger and the key file
// that it was signed with is missing. It changes nothing.
func LostLedgerKey(ctx context.Context, c *config.Config) error {
	if _, err := os.Stat(c.StorePath()); err != nil || os.Getenv(config.EnvLedgerKey) != "" {
		return nil
	}
	s, err := sqlite.Open(ctx, c.StorePath(), sqlite.Options{})
	if err != nil {
		return problem.Failure(problem.Doctor, "%w", err)
	}
	defer s.Close()
	return lostLedgerKey(ctx, c, s)
}

// LedgerPublic returns the ledger's public key, or nil where there is no key
// yet. It makes none.
func LedgerPublic(c *config.Config) (ed25519.PublicKey, error) {
	var key ed25519.PrivateKey
	var err error
	if text := os.Getenv(config.EnvLedgerKey); text != "" {
		key, err = keys.LedgerFromText(text)
	} else if _, missing := os.Lstat(keys.LedgerPath(c.Keys())); errors.Is(missing, fs.ErrNotExist) {
		return nil, nil
	} else {
		key, err = keys.Ledger(c.Keys())
	}
	if err != nil {
		return nil, keyProblem(err)
	}
	return key.Public().(ed25519.PublicKey), nil
}
