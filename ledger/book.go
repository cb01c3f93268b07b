package ledger

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
)

// Errors that say what the caller must do.
var (
	// ErrConflict says that another entry was appended to the family first.
	// Nothing was changed: read the head again, and make the release anew.
	ErrConflict = errors.New("another release of this family was committed first")
	// ErrRubric says that an entry names a rubric whose bytes the store does
	// not have: keep them first, or an export could not be checked.
	ErrRubric = errors.New("the ledger has not kept the rubric")
	// ErrNotFound says that the store has no such rubric.
	ErrNotFound = errors.New("not in the ledger")

	errNoKey = errors.New("ledger: the book has no key to sign with")
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
	// Arrival counts the entries of the whole store from 1 in the order in
	// which they were committed. It is given by the store and not signed with
	// the entry; checkpoints bind it.
	Arrival int64
	Bytes   []byte // the canonical encoding
}

// Store keeps entries and rubrics. It never removes or changes one. All
// methods are safe for concurrent use, by several processes too where the
// engine is.
type Store interface {
	// AppendEntry appends an encoded entry to its family and makes next its
	// head, in one transaction and durably, if the head is prev by then; zero
	// for none. Otherwise it returns ErrConflict. The store gives
	// next.Arrival, whatever it is. After an error other than ErrConflict it
	// is not known whether the entry is there.
	AppendEntry(ctx context.Context, prev Hash, next Head, encoded []byte) error
	// Entries returns up to limit entries of a family in order, beginning
	// behind the one with the number after.
	Entries(ctx context.Context, family flow.TrajectoryID, after uint64, limit int) ([]Stored, error)
	// Heads yields the heads of all families in the order of their names, as
	// they were at one point in time.
	Heads(ctx context.Context) iter.Seq2[Head, error]
	// PutRubric keeps a rubric's canonical bytes by their SHA-256.
	PutRubric(ctx context.Context, hash Hash, canonical []byte) error
	// Rubric returns a rubric's canonical bytes, or ErrNotFound.
	Rubric(ctx context.Context, hash Hash) ([]byte, error)
}

// Config is what a Book needs.
type Config struct {
	Store Store
	// Key signs entries. Without one a Book can be read only.
	Key ed25519.PrivateKey
	// Public is the key that entries must be signed with; that of Key if it
	// is nil.
	Public ed25519.PublicKey
	// Now returns the time; time.Now if it is nil. It decides nothing.
	Now func() time.Time
}

// Book commits releases to a store. It is safe for concurrent use.
type Book struct {
	cfg Config

	mu     sync.Mutex
	states map[flow.TrajectoryID]*State // published: never changed again
	kept   map[Hash]bool                // rubrics that the store has
}

// maxStates bounds the families that a Book remembers. Others are read from
// the store again.
const maxStates = 4096

// NewBook returns a Book.
func NewBook(cfg Config) (*Book, error) {
	if cfg.Store == nil {
		return nil, errors.New("ledger: a book needs a store")
	}
	if cfg.Key != nil && len(cfg.Key) != ed25519.PrivateKeySize {
		return nil, errors.New("ledger: the key is no Ed25519 key")
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

// KeepRubric keeps a rubric's canonical bytes, so that entries may name their
// hash, which it returns.
func (b *Book) KeepRubric(ctx context.Context, canonical []byte) (Hash, error) {
	h := Hash(sha256.Sum256(canonical))
	if len(canonical) > MaxRubric {
		return h, fmt.Errorf("ledger: a rubric of %d bytes; at most %d can be exported", len(canonical), MaxRubric)
	}
	if b.hasRubric(h) {
		return h, nil
	}
	if err := b.cfg.Store.PutRubric(ctx, h, canonical); err != nil {
		return h, err
	}
	b.setKept(h)
	return h, nil
}

func (b *Book) hasRubric(h Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[h]
}

func (b *Book) setKept(h Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.kept) >= maxStates {
		clear(b.kept)
	}
	b.kept[h] = true
}

// Head returns the state of a family, which the caller may change. It may be
// older than the store if another process writes, and then Commit returns
// ErrConflict; the next call reads what is new. Whatever is read from the
// store is held to every rule, and the last entry's signature, which by the
// chain is one over all of them, is checked.
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
// error of f ends it.
func (b *Book) Replay(ctx context.Context, family flow.TrajectoryID, f func(before *State, e *Entry) error) (*State, error) {
	s := NewState(family)
	return s, b.replay(ctx, s, f)
}

// replay applies to s what the store has behind it.
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
			if err := s.apply(last, hashOf(body(got[i].Bytes))); err != nil {
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
	if err := verify(b.cfg.Public, s.Head, &last.Sig); err != nil {
		return fmt.Errorf("the store's ledger is not sound: family %s, entry %d: %w", s.Family, s.Seq, err)
	}
	return nil
}

// unsound tells of the entry behind a state.
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
	if len(b.states) >= maxStates {
		n := maxStates / 8
		for family := range b.states { // in any order
			if delete(b.states, family); n == 0 {
				break
			}
			n--
		}
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
// family, durably, if it still is the next. Only then may what it tells of be
// released. The entry's time is now, or that of the entry before if the clock
// went back. Errors wrap ErrConflict, ErrRubric or the rule that was broken;
// nothing was changed then. After another error the entry may be there, which
// wastes budget and tells nobody anything.
func (b *Book) Commit(ctx context.Context, e *Entry) error {
	if b.cfg.Key == nil {
		return errNoKey
	}
	s, err := b.state(ctx, e.Family)
	if err != nil {
		return err
	}
	if s.Seq+1 < e.Seq { // the caller knows more
		if s, err = b.refresh(ctx, s); err != nil {
			return err
		}
	}
	if e.Seq != s.Seq+1 || e.Prev != s.Head {
		return fmt.Errorf("ledger: entry %d of %s: %w", e.Seq, e.Family, ErrConflict)
	}
	for _, h := range e.Rubrics {
		if b.hasRubric(h) {
			continue
		}
		switch _, err := b.cfg.Store.Rubric(ctx, h); {
		case errors.Is(err, ErrNotFound):
			return fmt.Errorf("ledger: %w %s", ErrRubric, h)
		case err != nil:
			return err
		}
		b.setKept(h)
	}
	e.At = b.cfg.Now().UTC().Truncate(time.Millisecond)
	if e.At.Before(s.At) {
		e.At = s.At
	}
	if err := e.Check(); err != nil {
		return err
	}
	encoded := e.AppendBody(nil)
	next := s.Clone()
	if err := next.apply(e, hashOf(encoded)); err != nil {
		return err
	}
	copy(e.Sig[:], ed25519.Sign(b.cfg.Key, SignedText(next.Head)))
	encoded = append(encoded, e.Sig[:]...)
	err = b.cfg.Store.AppendEntry(ctx, e.Prev, Head{Family: e.Family, Seq: e.Seq, Hash: next.Head}, encoded)
	if err != nil {
		b.forget(s)
		return fmt.Errorf("ledger: entry %d of %s: %w", e.Seq, e.Family, err)
	}
	b.publish(next)
	return nil
}
