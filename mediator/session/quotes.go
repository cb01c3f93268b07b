package session

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/quote"
)

// Said keeps sealed rows by a keyed hash of whose they are, in order: keyed hashes of
// what models said to a caller under labels, and values that a family saw. It is
// bounded and discards the oldest rows first. All methods are safe for concurrent use.
type Said interface {
	// PutSaid adds rows of a caller's, all or none.
	PutSaid(ctx context.Context, caller [32]byte, rows [][]byte) error
	// Said returns a caller's rows after the one with a number, and the number
	// of the last; 0 is before all.
	Said(ctx context.Context, caller [32]byte, after int64) (rows [][]byte, last int64, err error)
}

// Quotes is what models said to one caller, in whatever conversation and process.
// It is safe for concurrent use.
type Quotes struct {
	*quote.Quotes

	mu   sync.Mutex
	last int64 // row of the store that was read
}

// maxQuoting bounds the callers whose quotes are in memory, some 4 MiB each. The
// others' are read from the store.
const maxQuoting = 32

// quotes brings what is known of a caller's quotes up to date with the store,
// which other processes write, too.
func (r *Registry) quotes(ctx context.Context, caller [32]byte) (*Quotes, error) {
	b := r.cfg.Labels
	if b == nil {
		return nil, nil //nolint:nilnil // labels are not looked at
	}
	q, ok := b.quotes.Get(caller)
	if !ok {
		key := r.Keyed("margay said v1", caller[:])
		q = &Quotes{Quotes: quote.New(b.Policy.Scheme().Lattice, binary.LittleEndian.Uint64(key[:]))}
	}
	q = b.quotes.Use(caller, q)
	q.mu.Lock()
	defer q.mu.Unlock()
	rows, last, err := r.cfg.Store.Said(ctx, caller, q.last)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	for _, sealed := range rows {
		row, err := r.cfg.Keys.OpenValue(sealed, saidContext(caller))
		if err != nil {
			return nil, fmt.Errorf("what models said: %w", err)
		}
		q.restore(b.Policy, row)
	}
	q.last = last
	return q, nil
}

// saidContext binds a sealed row to its caller.
func saidContext(caller [32]byte) string { return "margay said v1/" + hex.EncodeToString(caller[:]) }

// rowBlocks are the blocks of one row: 1 KiB of the store.
const rowBlocks = 128

// restore reads a row: the blocks' number, they, and their label. A label that
// the policy does not know any more is the worst.
func (q *Quotes) restore(p *taint.Policy, row []byte) {
	if len(row) == 0 || len(row) < 1+8*int(row[0]) {
		return
	}
	blocks := make([]uint64, row[0])
	for i := range blocks {
		blocks[i] = binary.LittleEndian.Uint64(row[1+8*i:])
	}
	scheme := p.Scheme()
	l, err := scheme.Lattice.Parse(string(row[1+8*len(blocks):]))
	if err != nil {
		l = scheme.Worst()
	}
	q.Restore(l, blocks)
}

// Quote notes what a model says under a label to the session's caller, but for
// what it repeats of own. SaveQuotes makes it durable.
func (s *Session) Quote(texts []string, l label.Label, own []string) {
	if s.Quotes == nil {
		return
	}
	under := s.cfg.Labels.Policy.Scheme().Lattice.Format(l)
	for _, text := range texts {
		for blocks := range slices.Chunk(s.Quotes.Remember(text, l, own), rowBlocks) {
			row := []byte{byte(len(blocks))}
			for _, h := range blocks {
				row = binary.LittleEndian.AppendUint64(row, h)
			}
			s.said = append(s.said, append(row, under...))
		}
	}
}

// SaveQuotes writes to the store what Quote noted, also if the client has left:
// some of it may have gone out.
func (s *Session) SaveQuotes(ctx context.Context) error {
	rows := make([][]byte, len(s.said))
	for i, row := range s.said {
		var err error
		if rows[i], err = s.cfg.Keys.SealValue(row, saidContext(s.caller)); err != nil {
			return fmt.Errorf("seal: %w", err)
		}
	}
	if s.said = nil; len(rows) == 0 {
		return nil
	}
	if err := s.cfg.Store.PutSaid(context.WithoutCancel(ctx), s.caller, rows); err != nil && !s.Passes() {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}
