package charge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/margaydev/margay/flow"
)

// Text is one text of a release and the path of the argument that it is for.
type Text struct{ Path, Text string }

// Sealed are the texts of a release, bound to their keyed hash. They can be
// read again only with a receipt for that hash. It is immutable.
type Sealed struct {
	texts   []Text
	variant Hash
}

// Seal binds texts to their hash under a key. The caller MUST NOT pass the texts on
// by another way.
func Seal(key *[32]byte, texts []Text) Sealed {
	h := hmac.New(sha256.New, key[:])
	frame(h, "margay variant v1")
	for _, t := range texts {
		frame(h, t.Path)
		frame(h, t.Text)
	}
	return Sealed{slices.Clone(texts), Hash(h.Sum(nil))}
}

// frame hashes a string behind its length, so that no two lists of strings
// are hashed alike.
func frame(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}

// Variant returns the hash of the texts, for Entry.Variant.
func (s Sealed) Variant() Hash { return s.variant }

// Receipt proves that an entry is charged and durable. Only Book.Commit makes
// one; the zero Receipt opens nothing.
type Receipt struct {
	variant  Hash
	releases bool
}

// Open returns the texts that the entry was charged for. It returns false if
// the receipt is for other texts, for none, or for an entry that releases
// nothing: one that denies, or asks a person.
func (r Receipt) Open(s Sealed) ([]Text, bool) {
	if !r.releases || r.variant != s.variant {
		return nil, false
	}
	return slices.Clone(s.texts), true
}

func receipt(e *Entry) Receipt {
	return Receipt{e.Variant, e.Outcome == flow.Allow || e.Outcome == flow.Rewrite}
}
