// Package keys keeps an installation's three keys in files that only their
// owner can read. The files are described in docs/format/keys.md.
package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/margaydev/margay/secret"
)

// version is the first line of every key file.
const version = "margay-key-v1"

// names are the files of the keys, in the order of secret.Keys.
var names = [...]string{"fingerprint.key", "pseudonym.key", "seal.key"}

// ErrExposed says that others may read a key file.
var ErrExposed = errors.New("the key may be read by other users")

// Load reads the keys in dir, and makes those that are missing. Two processes
// that start at once agree on them.
//
// Errors wrap ErrExposed if others may read a file.
func Load(dir string) (secret.Keys, error) {
	k := secret.NewKeys()
	for i, key := range []*[32]byte{&k.Fingerprint, &k.Pseudonym, &k.Seal} {
		if err := load(filepath.Join(dir, names[i]), key); err != nil {
			return secret.Keys{}, err
		}
	}
	return k, nil
}

// load reads the key at path. If there is no file, it makes one of key, which is
// fresh.
func load(path string, key *[32]byte) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
		if err := create(path, key); err != nil {
			return err
		}
	}
	return Read(path, key)
}

// Paths returns the key files in dir.
func Paths(dir string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = filepath.Join(dir, n)
	}
	return out
}

// create writes a key if there is no file yet. A link makes the file appear
// whole, and fails if another process was first.
func create(path string, key *[32]byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(version + "\n" + base64.StdEncoding.EncodeToString(key[:]) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keys: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name in a folder durable, if the system can.
func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	_ = d.Sync() // not on Windows
	return d.Close()
}

// FromText reads all three keys, in the order of secret.Keys, from one line of
// base64. Errors do not quote it.
func FromText(text string) (secret.Keys, error) {
	var k secret.Keys
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != len(k.Fingerprint)+len(k.Pseudonym)+len(k.Seal) {
		return k, errors.New("keys: the text is not 96 bytes in base64")
	}
	n := copy(k.Fingerprint[:], raw)
	n += copy(k.Pseudonym[:], raw[n:])
	copy(k.Seal[:], raw[n:])
	return k, nil
}

// Read reads one key file.
func Read(path string, key *[32]byte) error {
	st, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("keys: %s is not a regular file", path)
	}
	if Exposed(st) {
		return fmt.Errorf("%w: chmod 600 %s", ErrExposed, path)
	}
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	head, rest, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
	if head != version || err != nil || len(raw) != len(key) {
		return fmt.Errorf("keys: %s is not a %s file: restore it from a backup, or move it away (what was registered under it must then be registered again)", path, version)
	}
	copy(key[:], raw)
	return nil
}

// LedgerPath returns the file of the key that signs the ledger.
func LedgerPath(dir string) string { return filepath.Join(dir, "ledger.key") }

// Ledger reads the key in dir that signs the ledger, and makes it if it is
// missing. It is independent of the other keys. Errors are those of Load.
func Ledger(dir string) (ed25519.PrivateKey, error) { return signing(LedgerPath(dir)) }

// RubricPath returns the file of the key that signs rubrics.
func RubricPath(dir string) string { return filepath.Join(dir, "rubric.key") }

// Rubric reads the key in dir that signs this user's rubrics, and makes it if it
// is missing. It is independent of the other keys. Errors are those of Load.
func Rubric(dir string) (ed25519.PrivateKey, error) { return signing(RubricPath(dir)) }

func signing(path string) (ed25519.PrivateKey, error) {
	var seed [ed25519.SeedSize]byte
	_, _ = rand.Read(seed[:]) // never fails
	if err := load(path, &seed); err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed[:]), nil
}

// LedgerFromText reads the key that signs the ledger from one line of base64.
// Errors do not quote it.
func LedgerFromText(text string) (ed25519.PrivateKey, error) {
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("keys: the text is not 32 bytes in base64")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}
