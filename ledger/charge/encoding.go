package charge

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/margaydev/margay/flow"
)

// magic starts the body of every entry, before the version. Version 2 is that of
// families that models' judgement may release something in, and no others.
const (
	magic            = "mgle"
	version, screens = 1, 2
)

// domain separates the text that an entry's signature is over from everything
// else that a key may sign.
const domain = "margay ledger entry v1\x00"

// MaxEntry bounds the encoding of an entry, in bytes.
const MaxEntry = 1 << 20

// AppendBody appends the canonical encoding of all of the entry but its
// signature. The entry must have passed Check.
func (e *Entry) AppendBody(b []byte) []byte {
	c := codec{b: append(append(b, magic...), version)}
	if e.Limits.Screened > 0 {
		c.b[len(c.b)-1] = screens
	}
	c.entry(e, e.Limits.Screened > 0)
	return c.b
}

// Decode reads the canonical encoding of an entry: the body, then the
// signature. It refuses everything else with an error that wraps Encoding or
// Shape, so an entry has one encoding, and encoding it again gives the same
// bytes. Memory is bounded by a multiple of len(b), which may be MaxEntry at
// most.
func Decode(b []byte) (*Entry, error) {
	if len(b) > MaxEntry {
		return nil, Encoding.Errorf("the entry has %d bytes, more than %d", len(b), MaxEntry)
	}
	if len(b) <= len(magic) || !bytes.HasPrefix(b, []byte(magic)) || b[len(magic)] != version && b[len(magic)] != screens {
		return nil, Encoding.Errorf("it does not start like an entry of version 1 or 2")
	}
	e, c := &Entry{}, codec{b: b, at: len(magic) + 1, reads: true}
	screened := b[len(magic)] == screens
	c.entry(e, screened)
	c.bytes(e.Sig[:])
	if c.bad || c.at < len(b) || screened != (e.Limits.Screened > 0) {
		return nil, Encoding.Errorf("it ends early or late, or a number is out of range")
	}
	return e, e.Check()
}

// codec appends an entry to b, or reads it from b. The first field that does not
// fit makes it bad; all that follow are read as zero.
type codec struct {
	b     []byte
	at    int // where the next field is read: moving b would cost a write barrier
	reads bool
	bad   bool
}

// entry visits the fields in the order of the encoding. When it writes, it
// changes none.
func (c *codec) entry(e *Entry, screened bool) {
	number(c, 8, &e.Seq)
	text(c, &e.Family)
	text(c, &e.Trajectory)
	c.bytes(e.Prev[:])
	c.time(&e.At)
	text(c, &e.Channel)
	text(c, &e.Sink)
	number(c, 1, &e.Class)
	list(c, &e.Rubrics, MaxHashes, 32, func(h *Hash) { c.bytes(h[:]) })
	c.bytes(e.Variant[:])
	number(c, 8, &e.Limits.B)
	c.classes(&e.Limits.Cap)
	for k := 1; k < Classes; k++ {
		number(c, 4, &e.Limits.Lambda[k])
	}
	list(c, &e.Atoms, MaxAtoms, 70, func(a *Atom) {
		text(c, &a.Field)
		number(c, 1, &a.Op)
		number(c, 1, &a.Level)
		text(c, &a.Template)
		c.bytes(a.Value[:])
		number(c, 8, &a.Cost)
		c.classes(&a.After)
	})
	number(c, 8, &e.Charge)
	number(c, 8, &e.Total)
	c.classes(&e.Caps)
	list(c, &e.Models, MaxModels, 4, func(m *Model) {
		text(c, &m.Name)
		text(c, &m.Version)
	})
	text(c, &e.Decision)
	text(c, &e.Outcome)
	text(c, &e.Answer)
	if screened {
		number(c, 8, &e.Limits.Screened)
		number(c, 8, &e.Screened)
		number(c, 8, &e.Doubt)
	}
}

// take reads n bytes.
func (c *codec) take(n int) []byte {
	if c.bad || n > len(c.b)-c.at {
		c.bad = true
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at]
}

func (c *codec) bytes(b []byte) {
	if c.reads {
		copy(b, c.take(len(b)))
	} else {
		c.b = append(c.b, b...)
	}
}

// number is big-endian, in 1, 2, 4 or 8 bytes. Check refuses an amount that is
// below zero.
func number[T ~uint8 | ~uint16 | ~uint64 | ~int64](c *codec, size int, n *T) {
	if c.reads {
		*n = T(c.read(size))
	} else {
		c.write(size, uint64(*n))
	}
}

func (c *codec) read(size int) uint64 {
	switch b := c.take(size); len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (c *codec) write(size int, n uint64) {
	switch size {
	case 1:
		c.b = append(c.b, byte(n))
	case 2:
		c.b = binary.BigEndian.AppendUint16(c.b, uint16(n))
	case 4:
		c.b = binary.BigEndian.AppendUint32(c.b, uint32(n))
	case 8:
		c.b = binary.BigEndian.AppendUint64(c.b, n)
	}
}

// text follows its length.
func text[T ~string](c *codec, s *T) {
	n := uint16(len(*s))
	number(c, 2, &n)
	if c.reads {
		*s = T(c.take(int(n)))
	} else {
		c.b = append(c.b, *s...)
	}
}

func (c *codec) time(t *time.Time) {
	ms := uint64(t.UnixMilli())
	number(c, 8, &ms)
	switch {
	case !c.reads:
	case ms < maxTime:
		*t = time.UnixMilli(int64(ms)).UTC()
	default:
		c.bad = true
	}
}

func (c *codec) classes(by *[Classes]flow.Bits) {
	for k := 1; k < Classes; k++ {
		number(c, 8, &by[k])
	}
}

// list follows its length: at most so many elements, each of so many bytes at
// least. A longer list than there can be is refused before it takes memory.
func list[T any](c *codec, of *[]T, most, least int, each func(*T)) {
	n := uint16(len(*of))
	number(c, 2, &n)
	if c.reads {
		if int(n) > most || int(n)*least > len(c.b)-c.at {
			c.bad = true
			return
		}
		if n > 0 {
			*of = make([]T, n)
		}
	}
	for i := range *of {
		each(&(*of)[i])
	}
}

// Body returns the part of an entry's encoding that is hashed: all but the
// signature. The encoding must be one that Decode reads.
func Body(encoded []byte) []byte { return encoded[:len(encoded)-ed25519.SignatureSize] }

// HashOf returns the hash of an entry by the body of its encoding.
func HashOf(body []byte) Hash { return sha256.Sum256(body) }

// Hash returns the entry's hash, which the next entry of its family names. It
// is over the body alone. The entry must have passed Check.
func (e *Entry) Hash() Hash { return HashOf(e.AppendBody(nil)) }

// SignedText returns the text that the signature of an entry with this hash is
// over.
func SignedText(h Hash) []byte { return append([]byte(domain), h[:]...) }

// VerifyHash reports whether the entry with a hash is signed by the owner of a
// key: an error that wraps Signature, or nil.
func VerifyHash(key ed25519.PublicKey, h Hash, sig *[64]byte) error {
	if len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, SignedText(h), sig[:]) {
		return Signature.Errorf("the entry is not signed by this ledger's key")
	}
	return nil
}
