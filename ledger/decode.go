package ledger

import (
	"encoding/binary"
	"time"

	"github.com/margaydev/margay/flow"
)

// MaxEntry bounds the encoding of an entry, in bytes.
const MaxEntry = 1 << 20

// Decode reads the canonical encoding of an entry. Whatever is not what Append
// writes is refused with an error that wraps Encoding or Shape, so an entry
// has one encoding and decoding it gives back the same bytes. Memory is
// bounded by a multiple of len(b), which may be MaxEntry at most.
func Decode(b []byte) (*Entry, error) {
	if len(b) > MaxEntry {
		return nil, Encoding.broken("an entry of %d bytes", len(b))
	}
	r := reader{b: b}
	if string(r.take(len(magic))) != magic {
		return nil, Encoding.broken("it does not begin like an entry of version 1")
	}
	e := &Entry{Seq: r.u64()}
	e.Family = flow.TrajectoryID(r.text())
	e.Trajectory = flow.TrajectoryID(r.text())
	r.hash(&e.Prev)
	if ms := r.u64(); ms < maxTime {
		e.At = time.UnixMilli(int64(ms)).UTC()
	} else {
		r.bad = true
	}
	e.Channel = flow.Channel(r.text())
	e.Sink = r.text()
	e.Class = flow.Class(r.u8())
	if n := r.count(MaxHashes, 32); n > 0 {
		e.Rubrics = make([]Hash, n)
	}
	for i := range e.Rubrics {
		r.hash(&e.Rubrics[i])
	}
	r.hash(&e.Variant)
	e.Limits.B = r.bits()
	r.classes(&e.Limits.Cap)
	for k := 1; k < Classes; k++ {
		e.Limits.Lambda[k] = int64(r.u32())
	}
	if n := r.count(MaxAtoms, 70); n > 0 {
		e.Atoms = make([]Atom, n)
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		a.Field = r.text()
		a.Op, a.Level = Op(r.u8()), r.u8()
		a.Template = r.text()
		r.hash(&a.Value)
		a.Cost = r.bits()
		r.classes(&a.After)
	}
	e.Charge, e.Total = r.bits(), r.bits()
	r.classes(&e.Caps)
	if n := r.count(MaxModels, 4); n > 0 {
		e.Models = make([]Model, n)
	}
	for i := range e.Models {
		e.Models[i] = Model{r.text(), r.text()}
	}
	e.Decision = r.text()
	e.Outcome = flow.Outcome(r.text())
	e.Answer = r.text()
	copy(e.Sig[:], r.take(len(e.Sig)))
	if r.bad || len(r.b) > 0 {
		return nil, Encoding.broken("it ends early or late, or a number is out of range")
	}
	return e, e.Check()
}

// body returns the part of an encoding that is hashed.
func body(encoded []byte) []byte { return encoded[:len(encoded)-64] }

// reader takes an encoding apart. After the first thing that does not fit it
// is bad, and returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) hash(h *Hash) { copy(h[:], r.take(len(h))) }

func (r *reader) text() string { return string(r.take(int(r.u16()))) }

// bits reads an amount; one that is below zero is refused by Check.
func (r *reader) bits() flow.Bits { return flow.Bits(r.u64()) }

func (r *reader) classes(by *[Classes]flow.Bits) {
	for k := 1; k < Classes; k++ {
		by[k] = r.bits()
	}
}

// count reads how many of something follow, each of so many bytes at least.
// What can't be there is refused before room is made for it.
func (r *reader) count(most, least int) int {
	n := int(r.u16())
	if n > most || n*least > len(r.b) {
		r.bad = true
		return 0
	}
	return n
}
