package state

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"os"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/keys"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
)

// Book opens the ledger. It makes a missing key, unless another key has signed
// entries. Errors are of type *problem.Error.
func (s *State) Book(ctx context.Context, c *config.Config) (*ledger.Book, error) {
	key, err := s.LedgerKey(ctx, c)
	if err != nil {
		return nil, err
	}
	b, err := ledger.NewBook(ledger.Config{Store: s.Store, Key: key})
	return b, problem.Unexpected(err)
}

// LedgerKey returns the key that the ledger is signed with. It makes a missing
// one as Book does.
func (s *State) LedgerKey(ctx context.Context, c *config.Config) (ed25519.PrivateKey, error) {
	if k, err := ledgerKeyFromEnv(); k != nil || err != nil {
		return k, err
	}
	if c.StorePath() == "memory" { // the key need not outlast what it signed
		_, k, err := ed25519.GenerateKey(rand.Reader)
		return k, err
	}
	if err := missingLedgerKey(ctx, c, s.Store); err != nil {
		return nil, err
	}
	k, err := keys.Ledger(c.Keys())
	return k, keyProblem(err)
}

// LedgerPublic returns the ledger's public key, or nil if there is no key yet.
// It makes none.
func LedgerPublic(c *config.Config) (ed25519.PublicKey, error) {
	key, err := ledgerKeyFromEnv()
	if key == nil && err == nil {
		if missing(keys.LedgerPath(c.Keys())) {
			return nil, nil
		}
		key, err = keys.Ledger(c.Keys())
		err = keyProblem(err)
	}
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil
}

// ledgerKeyFromEnv returns the key that the environment has; nil for none.
func ledgerKeyFromEnv() (ed25519.PrivateKey, error) {
	text := os.Getenv(config.EnvLedgerKey)
	if text == "" {
		return nil, nil
	}
	k, err := keys.LedgerFromText(text)
	if err != nil {
		return nil, problem.Usage("unset "+config.EnvLedgerKey+" to use a key file", "%s: %w", config.EnvLedgerKey, err)
	}
	return k, nil
}

func missingLedgerKey(ctx context.Context, c *config.Config, s ledger.Store) error {
	path := keys.LedgerPath(c.Keys())
	if !missing(path) {
		return nil
	}
	return ifAny(s.Heads(ctx), problem.Failure("restore it from a backup, or move "+c.StorePath()+" away, which starts a new ledger",
		"the key %s is missing, and the ledger was signed with it", path))
}

// MissingLedgerKey returns an error if the store has a ledger and the key file
// that signed it is missing. It changes nothing.
func MissingLedgerKey(ctx context.Context, c *config.Config) error {
	if os.Getenv(config.EnvLedgerKey) != "" {
		return nil
	}
	return withDatabase(ctx, c, func(s Store) error { return missingLedgerKey(ctx, c, s) })
}
