package state

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/keys"
)

// Check returns what Open, and after it the ledger, would refuse. It makes
// nothing. Errors are of type *problem.Error.
func Check(ctx context.Context, c *config.Config) error {
	_, fromEnv := os.LookupEnv(config.EnvKeys)
	if c.Store == "" || c.KeyDir == "" && !fromEnv {
		if err := CheckFolder(c); err != nil {
			return err
		}
	}
	if err := checkKeys(ctx, c, fromEnv); err != nil {
		return err
	}
	if err := Lost(ctx, c); err != nil || c.StorePath() == "memory" {
		return err
	}
	if err := canMake(filepath.Dir(c.StorePath())); err != nil {
		return keyProblem(fmt.Errorf("database: %w", err))
	}
	if err := withDatabase(ctx, c, func(Store) error { return nil }); err != nil {
		return err
	}
	if c.Declassify.Mode != "on" || c.Observe {
		return nil
	}
	if err := MissingLedgerKey(ctx, c); err != nil {
		return err
	}
	_, err := LedgerPublic(c)
	return err
}

// checkKeys reads the keys that are there.
func checkKeys(ctx context.Context, c *config.Config, fromEnv bool) error {
	if fromEnv {
		_, err := keysFromEnv()
		return err
	}
	if err := MissingKey(ctx, c); err != nil {
		return err
	}
	if err := canMake(c.Keys()); err != nil {
		return keyProblem(fmt.Errorf("keys: %w", err))
	}
	for _, path := range keys.Paths(c.Keys()) {
		var k [ed25519.SeedSize]byte
		if err := keys.Read(path, &k); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return keyProblem(err)
		}
	}
	return nil
}

// canMake returns an error if a folder can't be there: something else on the way
// has its name.
func canMake(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err == nil && !st.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		if err == nil || dir == filepath.Dir(dir) {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
}
