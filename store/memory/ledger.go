package memory

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

var _ ledger.Store = (*Store)(nil)

// book is what a store keeps for a ledger. It grows as long as the store is
// there: entries are never removed.
type book struct {
	families map[flow.TrajectoryID]*chain
	rubrics  map[charge.Hash][]byte
	arrived  int64
}

type chain struct {
	head    charge.Head
	entries []charge.Stored
}

// AppendEntry implements ledger.Store.
func (s *Store) AppendEntry(ctx context.Context, prev charge.Hash, next charge.Head, encoded []byte) error {
	return s.do(ctx, func() error {
		c := s.book.families[next.Family]
		if c == nil {
			c = &chain{}
		}
		if c.head.Hash != prev || c.head.Seq+1 != next.Seq {
			return charge.ErrConflict
		}
		s.book.arrived++
		next.Arrival = s.book.arrived
		c.head = next
		c.entries = append(c.entries, charge.Stored{Arrival: next.Arrival, Bytes: bytes.Clone(encoded)})
		s.book.families[next.Family] = c
		return nil
	})
}

// Entries implements ledger.Store.
func (s *Store) Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	return locked(ctx, s, func() ([]charge.Stored, error) {
		c := s.book.families[family]
		if c == nil || after >= uint64(len(c.entries)) {
			return nil, nil
		}
		from := c.entries[after:]
		out := slices.Clone(from[:min(len(from), max(0, limit))])
		for i := range out {
			out[i].Bytes = bytes.Clone(out[i].Bytes)
		}
		return out, nil
	})
}

// Heads implements ledger.Store.
func (s *Store) Heads(ctx context.Context) iter.Seq2[charge.Head, error] {
	return snapshot(ctx, s, func() []charge.Head {
		heads := make([]charge.Head, 0, len(s.book.families))
		for _, c := range s.book.families {
			heads = append(heads, c.head)
		}
		slices.SortFunc(heads, func(a, b charge.Head) int { return strings.Compare(string(a.Family), string(b.Family)) })
		return heads
	})
}

// PutRubric implements ledger.Store.
func (s *Store) PutRubric(ctx context.Context, hash charge.Hash, canonical []byte) error {
	return s.do(ctx, func() error {
		s.book.rubrics[hash] = bytes.Clone(canonical)
		return nil
	})
}

// Rubric implements ledger.Store.
func (s *Store) Rubric(ctx context.Context, hash charge.Hash) ([]byte, error) {
	return get(ctx, s, s.book.rubrics, hash, charge.ErrNotFound, bytes.Clone)
}
