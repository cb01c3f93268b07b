package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"

	"github.com/margaydev/margay/flow"
)

// magic begins the body of every entry; its last byte is the version.
const magic = "mgle\x01"

// domain separates what an entry's signature is over from everything else
// that a key may sign.
const domain = "margay ledger entry v1\x00"

// AppendBody appends the canonical encoding of all of the entry but its
// signature. The entry must have passed Check.
func (e *Entry) AppendBody(b []byte) []byte {
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint64(b, e.Seq)
	b = appendText(b, string(e.Family))
	b = appendText(b, string(e.Trajectory))
	b = append(b, e.Prev[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMilli()))
	b = appendText(b, string(e.Channel))
	b = appendText(b, e.Sink)
	b = append(b, byte(e.Class))
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.Rubrics)))
	for i := range e.Rubrics {
		b = append(b, e.Rubrics[i][:]...)
	}
	b = append(b, e.Variant[:]...)
	b = appendBits(b, e.Limits.B)
	b = appendClasses(b, &e.Limits.Cap)
	for _, l := range e.Limits.Lambda[1:] {
		b = binary.BigEndian.AppendUint32(b, uint32(l))
	}
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.Atoms)))
	for i := range e.Atoms {
		a := &e.Atoms[i]
		b = appendText(b, a.Field)
		b = append(b, byte(a.Op), a.Level)
		b = appendText(b, a.Template)
		b = append(b, a.Value[:]...)
		b = appendBits(b, a.Cost)
		b = appendClasses(b, &a.After)
	}
	b = appendBits(b, e.Charge)
	b = appendBits(b, e.Total)
	b = appendClasses(b, &e.Caps)
	b = binary.BigEndian.AppendUint16(b, uint16(len(e.Models)))
	for _, m := range e.Models {
		b = appendText(b, m.Name)
		b = appendText(b, m.Version)
	}
	b = appendText(b, e.Decision)
	b = appendText(b, string(e.Outcome))
	return appendText(b, e.Answer)
}

// Append appends the canonical encoding: the body, then the signature.
func (e *Entry) Append(b []byte) []byte {
	return append(e.AppendBody(b), e.Sig[:]...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func appendBits(b []byte, v flow.Bits) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(v))
}

func appendClasses(b []byte, by *[Classes]flow.Bits) []byte {
	for _, v := range by[1:] {
		b = appendBits(b, v)
	}
	return b
}

func hashOf(body []byte) Hash { return sha256.Sum256(body) }

// Hash returns the entry's hash, which the next entry of its family names. It
// is over the body alone. The entry must have passed Check.
func (e *Entry) Hash() Hash { return hashOf(e.AppendBody(nil)) }

// SignedText returns what the signature of an entry with this hash is over.
func SignedText(h Hash) []byte { return append([]byte(domain), h[:]...) }

// Sign checks the entry and signs it.
func (e *Entry) Sign(key ed25519.PrivateKey) error {
	if err := e.Check(); err != nil {
		return err
	}
	copy(e.Sig[:], ed25519.Sign(key, SignedText(e.Hash())))
	return nil
}

// Verify reports whether the entry is signed by the owner of a key: an error
// that wraps Signature, or nil. The entry must have passed Check.
func (e *Entry) Verify(key ed25519.PublicKey) error { return verify(key, e.Hash(), &e.Sig) }

func verify(key ed25519.PublicKey, h Hash, sig *[64]byte) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, SignedText(h), sig[:]) {
		return Signature.broken("the entry is not signed by this ledger's key")
	}
	return nil
}
