package ledger

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/margaydev/margay/ledger/charge"
)

const (
	exportMagic  = "mglx\x01"
	exportDomain = "margay ledger export v1\x00"
)

// Kinds of an export's records, in the order in which they come.
const (
	recFamily     = 1 // the head of a family, whose entries follow
	recEntry      = 2
	recRubric     = 3
	recCheckpoint = 4
	recSeal       = 5 // the last
)

// MaxRubric bounds a rubric's canonical bytes in an export.
const MaxRubric = 4 << 20

// maxRubrics bounds the rubrics that entries of an export name: Verify remembers
// them until it has read all.
const maxRubrics = 1 << 16

// exporter writes records and hashes them.
type exporter struct {
	w   *bufio.Writer
	sum hash.Hash
	buf []byte
}

func (x *exporter) write(b []byte) error {
	x.sum.Write(b)
	_, err := x.w.Write(b)
	return err
}

// record writes a record: its kind, its length and its content.
func (x *exporter) record(kind byte, content ...[]byte) error {
	x.buf = append(x.buf[:0], kind, 0, 0, 0, 0)
	for _, c := range content {
		x.buf = append(x.buf, c...)
	}
	binary.BigEndian.PutUint32(x.buf[1:], uint32(len(x.buf)-5))
	return x.write(x.buf)
}

// Export writes all entries as of one point in time, the rubrics that they
// name, and a signed checkpoint. It checks nothing: an unsound ledger can be
// exported, and Verify reports what is wrong with it.
func (b *Book) Export(ctx context.Context, w io.Writer) (*Checkpoint, error) {
	if b.cfg.Key == nil {
		return nil, charge.ErrNoKey
	}
	x := &exporter{w: bufio.NewWriterSize(w, 1<<16), sum: sha256.New()}
	if err := x.write(append([]byte(exportMagic), b.Public()...)); err != nil {
		return nil, err
	}
	r, named := newRoots(), map[charge.Hash]bool{}
	for h, err := range b.cfg.Store.Heads(ctx) {
		if err == nil {
			r.add(&h)
			err = b.exportFamily(ctx, x, &h, named)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, hash := range slices.SortedFunc(maps.Keys(named), func(a, b charge.Hash) int { return bytes.Compare(a[:], b[:]) }) {
		canonical, err := b.cfg.Store.Rubric(ctx, hash)
		if errors.Is(err, charge.ErrNotFound) {
			continue // Verify reports it
		}
		if err != nil {
			return nil, fmt.Errorf("ledger: rubric %s: %w", hash, err)
		}
		if err := x.record(recRubric, canonical); err != nil {
			return nil, err
		}
	}
	c := b.sign(r)
	if err := x.record(recCheckpoint, c.Append(nil)); err != nil {
		return nil, err
	}
	if err := x.record(recSeal, ed25519.Sign(b.cfg.Key, sealedText(x.sum))); err != nil {
		return nil, err
	}
	return c, x.w.Flush()
}

// sealedText is the text that the seal is over: all bytes before its record.
func sealedText(sum hash.Hash) []byte { return sum.Sum([]byte(exportDomain)) }

// exportFamily writes a family's entries up to a head.
func (b *Book) exportFamily(ctx context.Context, x *exporter, h *charge.Head, named map[charge.Hash]bool) error {
	if err := x.record(recFamily, appendHead(nil, h)); err != nil {
		return err
	}
	const page = 256
	for seq := uint64(0); seq < h.Seq; {
		got, err := b.cfg.Store.Entries(ctx, h.Family, seq, int(min(page, h.Seq-seq)))
		if err != nil {
			return err
		}
		if len(got) == 0 {
			return fmt.Errorf("ledger: the store has lost entry %d of family %s", seq+1, h.Family)
		}
		for i := range got {
			seq++
			if e, err := charge.Decode(got[i].Bytes); err == nil { // else Verify reports it
				seq = max(seq, e.Seq)
				for _, r := range e.Rubrics {
					named[r] = true
				}
			}
			arrival := binary.BigEndian.AppendUint64(nil, uint64(got[i].Arrival))
			if err := x.record(recEntry, arrival, got[i].Bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// RubricsOf finds the rubrics in an export and skips everything else. What it
// returns reads a rubric's canonical bytes by their SHA-256; the error wraps
// charge.ErrNotFound if the export has no such rubric, or can't be read as far
// as that. It checks nothing: Verify reports what is out of place.
func RubricsOf(r io.ReaderAt) func(charge.Hash) ([]byte, error) {
	places := map[charge.Hash]*io.SectionReader{}
	var h [5]byte
	for at := int64(len(exportMagic) + ed25519.PublicKeySize); len(places) < maxRubrics; {
		if _, err := r.ReadAt(h[:], at); err != nil || h[0] > recRubric {
			break
		}
		size := int64(binary.BigEndian.Uint32(h[1:]))
		at += int64(len(h))
		if h[0] == recRubric && size <= MaxRubric {
			sum, s := sha256.New(), io.NewSectionReader(r, at, size)
			_, _ = io.Copy(sum, s) // of fewer bytes, the hash is another
			places[charge.Hash(sum.Sum(nil))] = s
		}
		at += size
	}
	return func(h charge.Hash) ([]byte, error) {
		s := places[h]
		if s == nil {
			return nil, fmt.Errorf("the export does not have it: %w", charge.ErrNotFound)
		}
		b := make([]byte, s.Size())
		_, err := s.ReadAt(b, 0)
		return b, err
	}
}
