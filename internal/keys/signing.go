package keys

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ledgerName is the file of the key that signs the ledger.
const ledgerName = "ledger.key"

// LedgerPath returns the file of the key that signs the ledger.
func LedgerPath(dir string) string { return filepath.Join(dir, ledgerName) }

// Ledger reads the key in dir that signs the ledger, making it if it is
// missing. It has nothing to do with the other keys. Errors are those of Load.
func Ledger(dir string) (ed25519.PrivateKey, error) { return signing(LedgerPath(dir)) }

// rubricName is the file of the key that signs rubrics.
const rubricName = "rubric.key"

// RubricPath returns the file of the key that signs rubrics.
func RubricPath(dir string) string { return filepath.Join(dir, rubricName) }

// Rubric reads the key in dir that signs this user's rubrics, making it if it
// is missing. It has nothing to do with the other keys. Errors are those of
// Load.
func Rubric(dir string) (ed25519.PrivateKey, error) { return signing(RubricPath(dir)) }

func signing(path string) (ed25519.PrivateKey, error) {
	var seed [ed25519.SeedSize]byte
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		_, _ = rand.Read(seed[:]) // never fails
		if err := create(path, &seed); err != nil {
			return nil, err
		}
	}
	if err := Read(path, &seed); err != nil {
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
