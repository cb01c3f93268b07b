package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/keys"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/secret"
)

// A database that is lost, or replaced by an empty one, would look like a first
// start: nothing is registered, and nothing is recognised. Keys show that it is
// none. Beside the database a file has the number of registered secrets; both
// are made before the first key.

// countVersion starts the file.
const countVersion = "margay-registered-v1 "

// countPath is the file with the number of registered secrets.
func countPath(c *config.Config) string { return c.StorePath() + ".registered" }

// Registered returns how many secrets were registered when that last changed;
// known is false if nothing says so.
func Registered(c *config.Config) (n int, known bool, err error) {
	b, err := os.ReadFile(filepath.Clean(countPath(c)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return 0, false, nil
	}
	if err == nil {
		text, ok := strings.CutPrefix(strings.TrimSuffix(string(b), "\n"), countVersion)
		if n, err = strconv.Atoi(text); !ok || err != nil || n < 0 {
			err = fmt.Errorf("%s is not a file of margay's", countPath(c))
		}
	}
	if err != nil {
		return 0, false, problem.Failure(lostHint, "how many secrets are registered is not known: %w", err)
	}
	return n, true, nil
}

const lostHint = "restore it from a backup; margay secrets list --new-state starts anew, with nothing registered"

// Lost returns an error if there are keys, and the database is gone that they were
// used with. It changes nothing. NewState accepts the loss.
func Lost(ctx context.Context, c *config.Config) error {
	if err := lostFile(c); err != nil || c.NewState || c.StorePath() == "memory" {
		return err
	}
	return withDatabase(ctx, c, func(s Store) error { return emptied(ctx, c, s) })
}

// hasKeys reports whether there are keys of an earlier start.
func hasKeys(c *config.Config) bool {
	_, fromEnv := os.LookupEnv(config.EnvKeys)
	return fromEnv || !missing(keys.Paths(c.Keys())[0])
}

// lostFile looks for the file of the database.
func lostFile(c *config.Config) error {
	if c.NewState || c.StorePath() == "memory" {
		return nil
	}
	n, _, err := Registered(c)
	if err != nil || n == 0 && !hasKeys(c) {
		return err
	}
	if st, err := os.Stat(c.StorePath()); errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode().IsRegular() && st.Size() == 0 {
		if !hasKeys(c) {
			return problem.Failure(lostHint, "the database %s and its keys are missing, and it had registered secrets (%d): they would not be protected", c.StorePath(), n)
		}
		return problem.Failure(lostHint, "the database %s is missing or empty, and there are keys: what was registered would not be protected", c.StorePath())
	}
	return nil
}

// emptied returns an error if a database has no secrets and should have some, or if
// it has nothing at all and nobody made it.
func emptied(ctx context.Context, c *config.Config, s Store) error {
	if c.NewState {
		return nil
	}
	n, known, err := Registered(c)
	if err != nil || known && n == 0 || !known && !hasKeys(c) {
		return err
	}
	any := errors.New("there is some")
	if err := ifAny(s.Secrets(ctx), any); err != nil {
		return unless(err, any)
	}
	if known {
		return problem.Failure(lostHint, "the database %s has none of the %d secrets that were registered: it was lost or replaced", c.StorePath(), n)
	}
	if err := ifAny(s.Heads(ctx), any); err != nil {
		return unless(err, any)
	}
	last, err := s.LastArrival(ctx)
	allows, aerr := s.Allows(ctx)
	switch err := errors.Join(err, aerr); {
	case err != nil:
		return problem.Unexpected(err)
	case last > 0 || len(allows) > 0:
		return nil
	}
	return problem.Failure(lostHint, "the database %s is empty, and there are keys: what was registered would not be protected", c.StorePath())
}

// unless returns err if it is not the one expected.
func unless(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// counted is a store that keeps the number of registered secrets beside it. The
// number is never above that of the store for longer than a call.
type counted struct {
	Store
	path string
}

// count writes the number, less what is about to be removed.
func (s *counted) count(ctx context.Context, less int) error {
	n := -less
	for _, err := range s.Secrets(ctx) {
		if err != nil {
			return err
		}
		n++
	}
	tmp, err := os.CreateTemp(filepath.Dir(s.path), ".registered-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(countVersion + strconv.Itoa(max(n, 0)) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	return err
}

// PutSecrets implements secret.Store.
func (s *counted) PutSecrets(ctx context.Context, recs []secret.Record) error {
	if err := s.Store.PutSecrets(ctx, recs); err != nil {
		return err
	}
	return s.count(ctx, 0)
}

// DeleteSecret implements secret.Store.
func (s *counted) DeleteSecret(ctx context.Context, id string) error {
	if err := s.count(ctx, 1); err != nil {
		return err
	}
	return errors.Join(s.Store.DeleteSecret(ctx, id), s.count(ctx, 0))
}
