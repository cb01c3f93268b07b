package rubrics

import (
	"crypto/ed25519"
	"path/filepath"

	"github.com/margaydev/margay/rubric"
)

// Signer is whose key a rubric was signed with.
type Signer struct {
	Key string // its id, as rubric.KeyID writes it
	Own bool   // it is the user's own
}

// Signers tells who signed the rubrics in the folder, by their hashes. What is
// not signed by a trusted key is not among them. Expired ones are.
func (f Folder) Signers() (map[rubric.Hash]Signer, error) {
	trusted, err := f.Trusted()
	if err != nil {
		return nil, err
	}
	own := ""
	if f.hasKey() {
		pub, err := f.Public()
		if err != nil {
			return nil, err
		}
		own = rubric.KeyID(pub)
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "*"+rubric.Ext))
	if err != nil {
		return nil, err
	}
	out := map[rubric.Hash]Signer{}
	for _, name := range files {
		b, err := readSome(name, rubric.MaxBytes+1024)
		if err != nil {
			return nil, err
		}
		for _, k := range trusted {
			if r, err := rubric.Verify(name, b, []ed25519.PublicKey{k}); err == nil {
				out[r.Hash()] = Signer{rubric.KeyID(k), rubric.KeyID(k) == own}
			}
		}
	}
	return out, nil
}
