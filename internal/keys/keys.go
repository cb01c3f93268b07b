// Package keys keeps an installation's three keys in files that only their
// owner can read. The files are described in docs/format/keys.md.
package keys

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/margaydev/margay/secret"
)

// version begins every key file.
const version = "margay-key-v1"

// names are the files of the keys, in the order of secret.Keys.
var names = [...]string{"fingerprint.key", "pseudonym.key", "seal.key"}

// ErrOpen says that others may read a key file.
var ErrOpen = errors.New("the key may be read by other users")

// Load reads the keys in dir, making those that are missing. Two processes
// that start at once agree on them.
//
// Errors wrap ErrOpen where others may read a file.
func Load(dir string) (secret.Keys, error) {
	var k secret.Keys
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return k, fmt.Errorf("keys: %w", err)
	}
	fresh := secret.NewKeys()
	fields := func(k *secret.Keys) [3]*[32]byte {
		return [3]*[32]byte{&k.Fingerprint, &k.Pseudonym, &k.Seal}
	}
	for i, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			if err := create(path, fields(&fresh)[i]); err != nil {
				return k, err
			}
		}
		if err := Read(path, fields(&k)[i]); err != nil {
			return k, err
		}
	}
	return k, nil
}

// Paths returns the key files in dir.
func Paths(dir string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = filepath.Join(dir, n)
	}
	return out
}

// create writes a key where no file is yet. A link makes the file appear
// whole, and fails where another process was first.
func create(path string, key *[32]byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	text := version + "\n" + base64.StdEncoding.EncodeToString(key[:]) + "\n"
	if _, err := tmp.WriteString(text); err != nil {
		_ = tmp.Close()
		return fmt.Errorf("keys: %w", err)
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keys: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a new name in a folder durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	_ = d.Sync() // Windows has no such thing
	return d.Close()
}

// FromText reads all three keys from one line of base64, as FormatText writes
// it. Errors do not quote it.
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

// FormatText writes keys for FromText.
func FormatText(k *secret.Keys) string {
	raw := append(append(append([]byte{}, k.Fingerprint[:]...), k.Pseudonym[:]...), k.Seal[:]...)
	return base64.StdEncoding.EncodeToString(raw)
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
		return fmt.Errorf("%w: chmod 600 %s", ErrOpen, path)
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
