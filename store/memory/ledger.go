package memory

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
)

var _ ledger.Store = (*Store)(nil)

// book is what a store keeps for a ledger. It grows as long as the store is
// there: entries are never removed.
type book struct {
	families map[flow.TrajectoryID]*chain
	rubrics  map[ledger.Hash][]byte
	arrived  int64
}

type chain struct {
	head    ledger.Head
	entries []ledger.Stored
}

// AppendEntry implements ledger.Store.
func (s *Store) AppendEntry(ctx context.Context, prev ledger.Hash, next ledger.Head, encoded []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.book.families[next.Family]
	if c == nil {
		c = &chain{}
	}
	if c.head.Hash != prev || c.head.Seq+1 != next.Seq {
		return ledger.ErrConflict
	}
	if s.book.families == nil {
		s.book.families = map[flow.TrajectoryID]*chain{}
	}
	s.book.arrived++
	next.Arrival = s.book.arrived
	c.head = next
	c.entries = append(c.entries, ledger.Stored{Arrival: next.Arrival, Bytes: bytes.Clone(encoded)})
	s.book.families[next.Family] = c
	return nil
}

// Entries implements ledger.Store.
func (s *Store) Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]ledger.Stored, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
}

// Heads implements ledger.Store.
func (s *Store) Heads(ctx context.Context) iter.Seq2[ledger.Head, error] {
	return func(yield func(ledger.Head, error) bool) {
		s.mu.Lock()
		heads := make([]ledger.Head, 0, len(s.book.families))
		for _, c := range s.book.families {
			heads = append(heads, c.head)
		}
		s.mu.Unlock()
		slices.SortFunc(heads, func(a, b ledger.Head) int { return strings.Compare(string(a.Family), string(b.Family)) })
		for _, h := range heads {
			if err := ctx.Err(); err != nil {
				yield(ledger.Head{}, err)
				return
			}
			if !yield(h, nil) {
				return
			}
		}
	}
}

// PutRubric implements ledger.Store.
func (s *Store) PutRubric(ctx context.Context, hash ledger.Hash, canonical []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.book.rubrics == nil {
		s.book.rubrics = map[ledger.Hash][]byte{}
	}
	s.book.rubrics[hash] = bytes.Clone(canonical)
	return nil
}

// Rubric implements ledger.Store.
func (s *Store) Rubric(ctx context.Context, hash ledger.Hash) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.book.rubrics[hash]
	if !ok {
		return nil, ledger.ErrNotFound
	}
	return bytes.Clone(b), nil
}
