package charge

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
)

// Errors that the caller must handle.
var (
	// ErrConflict says that another entry was appended to the family first.
	// Nothing changed: read the head again, and make a new release.
	ErrConflict = errors.New("another release of this family was committed first")
	// ErrRubric says that an entry names a rubric that the store does not
	// have: keep it first, or an export can't be checked.
	ErrRubric = errors.New("the ledger has not kept the rubric")
	// ErrNotFound says that the store has no such rubric.
	ErrNotFound = errors.New("not in the ledger")
	// ErrNoKey says that a book is read-only.
	ErrNoKey = errors.New("ledger: the book has no key to sign with")
)

// Head is the end of a family's chain.
type Head struct {
	Family  flow.TrajectoryID
	Seq     uint64 // of the last entry
	Hash    Hash   // of the last entry
	Arrival int64  // of the last entry
}

// Stored is an entry as a store has it.
type Stored struct {
	// Arrival counts the entries of the whole store from 1 in the order of
	// their commits. The store assigns it. The entry's signature does not cover
	// it; checkpoints do.
	Arrival int64
	Bytes   []byte // the canonical encoding
}

// Store keeps entries, and the rubrics that they name. It never removes or
// changes one. All methods are safe for concurrent use, also by several
// processes if the engine is.
type Store interface {
	// AppendEntry appends an encoded entry to its family and makes next its
	// head, in one transaction and durably, if the head still is prev; zero for
	// none. Otherwise it returns ErrConflict. The store assigns next.Arrival.
	// After any other error it is not known whether the entry was appended.
	AppendEntry(ctx context.Context, prev Hash, next Head, encoded []byte) error
	// Entries returns up to limit entries of a family in order, starting behind
	// the one with the number after.
	Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]Stored, error)
	// Rubric returns a rubric's canonical bytes by their SHA-256, or
	// ErrNotFound.
	Rubric(ctx context.Context, hash Hash) ([]byte, error)
}

// Config is what a Book needs.
type Config struct {
	Store Store
	// Key signs entries. A Book without one is read-only.
	Key ed25519.PrivateKey
	// Public is the key that entries must be signed with; that of Key if it
	// is nil.
	Public ed25519.PublicKey
	// Now returns the time; time.Now if it is nil. It decides nothing.
	Now func() time.Time
}

// Book charges releases to the families of a store. It is safe for concurrent use.
type Book struct {
	cfg Config

	mu     sync.Mutex
	states map[flow.TrajectoryID]*State // published: never changed again
	kept   map[Hash]bool                // rubrics that the store is known to have
}

// Bounds of the families, and of the rubrics in the store, that a Book
// remembers. It reads the others from the store again.
const (
	maxStates = 4096
	maxKept   = 4096
)

// NewBook returns a Book.
func NewBook(cfg Config) (*Book, error) {
	if cfg.Store == nil {
		return nil, errors.New("ledger: a book needs a store")
	}
	if cfg.Key != nil && len(cfg.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("ledger: the key is not an Ed25519 key")
	}
	if cfg.Public == nil && cfg.Key != nil {
		cfg.Public, _ = cfg.Key.Public().(ed25519.PublicKey)
	}
	if len(cfg.Public) != ed25519.PublicKeySize {
		return nil, errors.New("ledger: a book needs an Ed25519 key")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Book{cfg: cfg, states: map[flow.TrajectoryID]*State{}, kept: map[Hash]bool{}}, nil
}

// Public returns the key that entries are signed with.
func (b *Book) Public() ed25519.PublicKey { return b.cfg.Public }

// Head returns the state of a family, which the caller may change. It may be
// older than the store if another process writes; then Commit returns
// ErrConflict, and the next call reads the new entries. Head holds everything
// that it reads to every rule. It checks the last entry's signature, which
// covers all entries by their chain.
func (b *Book) Head(ctx context.Context, family flow.TrajectoryID) (*State, error) {
	s, err := b.state(ctx, family)
	if err != nil {
		return nil, err
	}
	return s.Clone(), nil
}

func (b *Book) state(ctx context.Context, family flow.TrajectoryID) (*State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	s := b.states[family]
	b.mu.Unlock()
	if s != nil {
		return s, nil
	}
	return b.refresh(ctx, NewState(family))
}

// refresh brings a state up to date with the store and publishes it.
func (b *Book) refresh(ctx context.Context, from *State) (*State, error) {
	s := from.Clone()
	if err := b.replay(ctx, s, nil); err != nil {
		return nil, err
	}
	b.publish(s)
	return s, nil
}

// Replay calls f with every entry of a family and the state before it, and
// returns the state after all. It holds entries to the rules as Head does. An
// error from f ends it.
func (b *Book) Replay(ctx context.Context, family flow.TrajectoryID, f func(before *State, e *Entry) error) (*State, error) {
	s := NewState(family)
	return s, b.replay(ctx, s, f)
}

// replay applies to s the entries that follow it in the store.
func (b *Book) replay(ctx context.Context, s *State, f func(*State, *Entry) error) error {
	const page = 256
	var last *Entry
	for {
		got, err := b.cfg.Store.Entries(ctx, s.Family, s.Seq, page)
		if err != nil {
			return err
		}
		for i := range got {
			if last, err = Decode(got[i].Bytes); err != nil {
				return unsound(s, err)
			}
			before := s
			if f != nil {
				before = s.Clone()
			}
			if err := s.ApplyDecoded(last, HashOf(Body(got[i].Bytes))); err != nil {
				return unsound(s, err)
			}
			if f != nil {
				if err := f(before, last); err != nil {
					return err
				}
			}
		}
		if len(got) < page {
			break
		}
	}
	if last == nil {
		return nil
	}
	if err := VerifyHash(b.cfg.Public, s.Head, &last.Sig); err != nil {
		return fmt.Errorf("the store's ledger is not sound: family %s, entry %d: %w", s.Family, s.Seq, err)
	}
	return nil
}

// unsound reports the entry behind a state.
func unsound(s *State, err error) error {
	return fmt.Errorf("the store's ledger is not sound: family %s, entry %d: %w", s.Family, s.Seq+1, err)
}

// publish makes s what is remembered of its family, unless that is newer.
func (b *Book) publish(s *State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.states[s.Family]; old != nil && old.Seq > s.Seq {
		return
	}
	for other := range b.states { // in any order; they are read again if needed
		if len(b.states) < maxStates {
			break
		}
		delete(b.states, other)
	}
	b.states[s.Family] = s
}

// forget drops what is remembered of a family, if it is s.
func (b *Book) forget(s *State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.states[s.Family] == s {
		delete(b.states, s.Family)
	}
}

// Commit signs an entry that State.Next has filled in and appends it to its
// family, durably, if it still is the next. The receipt proves that: a release
// needs one. The entry's time is now, or that of the entry before if the clock
// went back. Errors wrap ErrConflict, ErrRubric, the broken rule, or the error
// of a context that ended before; nothing was charged then. After an error of
// the store the entry may have been appended, which wastes budget and discloses
// nothing.
func (b *Book) Commit(ctx context.Context, e *Entry) (Receipt, error) {
	if b.cfg.Key == nil {
		return Receipt{}, ErrNoKey
	}
	s, err := b.state(ctx, e.Family)
	if err != nil {
		return Receipt{}, err
	}
	if s.Seq+1 < e.Seq { // the caller has a newer state
		if s, err = b.refresh(ctx, s); err != nil {
			return Receipt{}, err
		}
	}
	if e.Seq != s.Seq+1 || e.Prev != s.Head {
		return Receipt{}, fmt.Errorf("ledger: entry %d of %s: %w", e.Seq, e.Family, ErrConflict)
	}
	if err := b.keeps(ctx, e.Rubrics); err != nil {
		return Receipt{}, err
	}
	e.At = b.cfg.Now().UTC().Truncate(time.Millisecond)
	if e.At.Before(s.At) {
		e.At = s.At
	}
	if err := e.Check(); err != nil {
		return Receipt{}, err
	}
	encoded := e.AppendBody(nil)
	next := s.Clone()
	if err := next.ApplyDecoded(e, HashOf(encoded)); err != nil {
		return Receipt{}, err
	}
	copy(e.Sig[:], ed25519.Sign(b.cfg.Key, SignedText(next.Head)))
	encoded = append(encoded, e.Sig[:]...)
	if err := ctx.Err(); err != nil { // the caller no longer waits
		return Receipt{}, err
	}
	head := Head{Family: e.Family, Seq: e.Seq, Hash: next.Head}
	signed := receipt(e) // before the append: another goroutine may change e meanwhile
	if err := b.cfg.Store.AppendEntry(ctx, e.Prev, head, encoded); err != nil {
		b.forget(s)
		return Receipt{}, fmt.Errorf("ledger: entry %d of %s: %w", e.Seq, e.Family, err)
	}
	b.publish(next)
	return signed, nil
}

// keeps reports, as an error, a rubric that the store does not have.
func (b *Book) keeps(ctx context.Context, rubrics []Hash) error {
	for _, h := range rubrics {
		b.mu.Lock()
		kept := b.kept[h]
		b.mu.Unlock()
		if kept {
			continue
		}
		switch _, err := b.cfg.Store.Rubric(ctx, h); {
		case errors.Is(err, ErrNotFound):
			return fmt.Errorf("ledger: %w %s", ErrRubric, h)
		case err != nil:
			return err
		}
		b.mu.Lock()
		if len(b.kept) >= maxKept {
			clear(b.kept)
		}
		b.kept[h] = true
		b.mu.Unlock()
	}
	return nil
}
