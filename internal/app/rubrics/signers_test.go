package rubrics_test

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"testing"

	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/signed"
)

// TestSigners: who signed is told of what a trusted key signed, and no key is
// made to tell it.
func TestSigners(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, filepath.Join(dir, "keys"))
	if got, err := f.Signers(); err != nil || len(got) != 0 {
		t.Fatal(got, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "keys")); err == nil {
		t.Error("a key was made")
	}
	own, theirs, stranger := draw(t, "own", "a", "1"), draw(t, "theirs", "a", "1"), draw(t, "stranger", "a", "1")
	if _, err := publish(f, own); err != nil {
		t.Fatal(err)
	}
	pub, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, unknown, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Dir(), "theirs"+signed.KeyExt), signed.FormatKey(pub), 0o600); err != nil {
		t.Fatal(err)
	}
	for r, k := range map[*rubric.Rubric]ed25519.PrivateKey{theirs: key, stranger: unknown} {
		if _, err := f.Put(rubrics.Signed{Rubric: r, File: rubric.Sign(r, k)}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Signers()
	if err != nil || len(got) != 2 || !got[own.Hash()].Own || got[theirs.Hash()] != (rubrics.Signer{Key: signed.KeyID(pub)}) {
		t.Errorf("%+v, %v", got, err)
	}
}
