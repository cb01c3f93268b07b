package keys

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLedgerKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "keys")
	k, err := Ledger(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Ledger(dir)
	if err != nil || !again.Equal(k) {
		t.Errorf("the key changed: %v", err)
	}
	st, err := os.Stat(LedgerPath(dir))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", st, err)
	}
	others, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range [][32]byte{others.Fingerprint, others.Pseudonym, others.Seal} {
		if string(k.Seed()) == string(o[:]) {
			t.Error("one key is there twice")
		}
	}
	text := base64.StdEncoding.EncodeToString(k.Seed())
	if got, err := LedgerFromText(text + "\n"); err != nil || !got.Equal(k) {
		t.Errorf("from text: %v", err)
	}
	for _, bad := range []string{"", "x", text[:20]} {
		if _, err := LedgerFromText(bad); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
	if err := os.Chmod(LedgerPath(dir), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Ledger(dir); !errors.Is(err, ErrExposed) {
		t.Errorf("open permissions: %v", err)
	}
}
