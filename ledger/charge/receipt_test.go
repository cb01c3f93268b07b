package charge_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
)

// shelf is a store of these tests. What happens before an append can be
// changed.
type shelf struct {
	mu       sync.Mutex
	entries  map[flow.TrajectoryID][]charge.Stored
	heads    map[flow.TrajectoryID]charge.Hash
	appends  int
	asked    int   // for rubrics
	lost     bool  // rubrics
	fail     error // of an append
	rubrics  error
	reads    error
	atRubric func()
	atAppend func()
}

func newShelf() *shelf {
	return &shelf{entries: map[flow.TrajectoryID][]charge.Stored{}, heads: map[flow.TrajectoryID]charge.Hash{}}
}

func (s *shelf) AppendEntry(_ context.Context, prev charge.Hash, next charge.Head, encoded []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.appends++
	if s.atAppend != nil {
		s.atAppend()
	}
	if s.fail != nil {
		return s.fail
	}
	if s.heads[next.Family] != prev || next.Seq != uint64(len(s.entries[next.Family]))+1 {
		return charge.ErrConflict
	}
	s.heads[next.Family] = next.Hash
	s.entries[next.Family] = append(s.entries[next.Family], charge.Stored{Bytes: encoded})
	return nil
}

func (s *shelf) Entries(_ context.Context, f flow.TrajectoryID, after uint64, limit int) ([]charge.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads != nil {
		return nil, s.reads
	}
	all := s.entries[f]
	all = all[min(after, uint64(len(all))):]
	return slices.Clone(all[:min(limit, len(all))]), nil
}

func (s *shelf) Rubric(context.Context, charge.Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	if s.atRubric != nil {
		s.atRubric()
	}
	if s.lost {
		return nil, charge.ErrNotFound
	}
	return nil, s.rubrics
}

func bookOf(t testing.TB, s charge.Store) *charge.Book {
	t.Helper()
	b, err := charge.NewBook(charge.Config{Store: s, Key: key, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// nextOf is a release that a book would take.
func nextOf(t testing.TB, b *charge.Book, family flow.TrajectoryID) *charge.Entry {
	t.Helper()
	s, err := b.Head(context.Background(), family)
	if err != nil {
		t.Fatal(err)
	}
	e := release(1, atom(1, 1, s.After(charge.Hash{1})[1]+1))
	if err := s.Next(e); err != nil {
		t.Fatal(err)
	}
	return e
}

var texts = []charge.Text{{Path: "to", Text: "ada"}, {Path: "", Text: "1985"}}

// The variant is the HMAC that the format has, written anew.
func TestVariant(t *testing.T) {
	key := [32]byte{5}
	h := hmac.New(sha256.New, key[:])
	for _, s := range []string{"margay variant v1", "to", "ada", "", "1985"} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	if got := charge.Seal(&key, texts).Variant(); !slices.Equal(got[:], h.Sum(nil)) {
		t.Errorf("the variant is %s", got)
	}
}

// A receipt opens the texts that were charged, and no others.
func TestReceipt(t *testing.T) {
	key := [32]byte{5}
	b := bookOf(t, newShelf())
	mine := slices.Clone(texts)
	sealed := charge.Seal(&key, mine)
	mine[0].Text = "bob" // what is sealed stays as it was
	e := nextOf(t, b, "F")
	e.Variant = sealed.Variant()
	r, err := b.Commit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := r.Open(sealed)
	if !ok || !reflect.DeepEqual(got, texts) {
		t.Errorf("%v, %v", got, ok)
	}
	got[0].Text = "bob"
	if again, _ := r.Open(sealed); !reflect.DeepEqual(again, texts) {
		t.Error("who opens can change what is sealed")
	}
	if s, err := b.Head(t.Context(), "F"); err != nil || s.Seq != 1 || s.Head != e.Hash() {
		t.Errorf("the head is %d, %v, %v", s.Seq, s.Head, err)
	}
	other := [32]byte{6}
	for name, s := range map[string]charge.Sealed{
		"other texts": charge.Seal(&key, mine), "another key": charge.Seal(&other, texts), "nothing": {},
		"fewer": charge.Seal(&key, texts[:1]), "cut elsewhere": charge.Seal(&key, []charge.Text{{Path: "toa", Text: "da"}, texts[1]}),
	} {
		if got, ok := r.Open(s); ok || got != nil {
			t.Errorf("%s: opened", name)
		}
	}
	var none charge.Receipt
	for _, s := range []charge.Sealed{sealed, {}} {
		if _, ok := none.Open(s); ok {
			t.Error("the zero receipt opens something")
		}
	}
}

// Only what is released can be opened: the receipt of a denial, or of a
// question, opens nothing.
func TestReceiptByOutcome(t *testing.T) {
	key := [32]byte{5}
	for outcome, opens := range map[flow.Outcome]bool{flow.Allow: true, flow.Rewrite: true, flow.Confirm: false, flow.Deny: false} {
		b := bookOf(t, newShelf())
		sealed := charge.Seal(&key, texts)
		e := release(1)
		e.Variant, e.Outcome = sealed.Variant(), outcome
		if err := charge.NewState("F").Next(e); err != nil {
			t.Fatal(err)
		}
		r, err := b.Commit(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Open(sealed); ok != opens {
			t.Errorf("%s: opens: %v", outcome, ok)
		}
	}
}

// A receipt is for what was signed and appended, whatever becomes of the entry
// meanwhile.
func TestReceiptOfTheEntryAsAppended(t *testing.T) {
	key := [32]byte{5}
	mine, other := charge.Seal(&key, texts), charge.Seal(&key, texts[:1])
	s := newShelf()
	b := bookOf(t, s)
	e := nextOf(t, b, "F")
	e.Variant, e.Outcome = mine.Variant(), flow.Confirm
	if err := charge.NewState("F").Next(e); err != nil {
		t.Fatal(err)
	}
	s.atAppend = func() { e.Variant, e.Outcome = other.Variant(), flow.Allow }
	r, err := b.Commit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range []charge.Sealed{mine, other} {
		if _, ok := r.Open(sealed); ok {
			t.Error("the receipt of a question opens texts")
		}
	}
}

// There is no receipt where nothing was charged, or where nobody knows.
func TestNoReceipt(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		spoil func(s *shelf, e *charge.Entry, cancel func())
		want  error
		asks  bool // the store to append
	}{
		"conflict":             {func(_ *shelf, e *charge.Entry, _ func()) { e.Prev[0] ^= 1 }, charge.ErrConflict, false},
		"an old head":          {func(_ *shelf, e *charge.Entry, _ func()) { e.Seq-- }, charge.ErrConflict, false},
		"a head to come":       {func(_ *shelf, e *charge.Entry, _ func()) { e.Seq++ }, charge.ErrConflict, false},
		"over the budget":      {func(_ *shelf, e *charge.Entry, _ func()) { e.Charge++; e.Total++ }, charge.Charge, false},
		"no shape":             {func(_ *shelf, e *charge.Entry, _ func()) { e.Sink = "" }, charge.Shape, false},
		"no rubric":            {func(s *shelf, _ *charge.Entry, _ func()) { s.lost = true }, charge.ErrRubric, false},
		"no answer of rubrics": {func(s *shelf, _ *charge.Entry, _ func()) { s.rubrics = broken }, broken, false},
		"a failing store":      {func(s *shelf, _ *charge.Entry, _ func()) { s.fail = broken }, broken, true},
		"another was faster":   {func(s *shelf, _ *charge.Entry, _ func()) { s.fail = charge.ErrConflict }, charge.ErrConflict, true},
		"cancelled before":     {func(_ *shelf, _ *charge.Entry, cancel func()) { cancel() }, context.Canceled, false},
		"cancelled meanwhile":  {func(s *shelf, _ *charge.Entry, cancel func()) { s.atRubric = cancel }, context.Canceled, false},
	} {
		s := newShelf()
		b := bookOf(t, s)
		e := nextOf(t, b, "F")
		e.Rubrics = []charge.Hash{{9}} // none that the book knows of
		if _, err := b.Commit(t.Context(), nextOf(t, b, "F")); err != nil {
			t.Fatal(err)
		}
		e = nextOf(t, b, "F")
		e.Rubrics = []charge.Hash{{9}}
		was := s.appends
		ctx, cancel := context.WithCancel(t.Context())
		c.spoil(s, e, cancel)
		r, err := b.Commit(ctx, e)
		cancel()
		if !errors.Is(err, c.want) || r != (charge.Receipt{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if asked := s.appends > was; asked != c.asks {
			t.Errorf("%s: the store was asked to append: %v", name, asked)
		}
		s.fail, s.rubrics, s.lost, s.atRubric = nil, nil, false, nil
		if head, err := b.Head(t.Context(), "F"); err != nil || head.Seq != 1 || head.Total != 1 {
			t.Errorf("%s: the head is %+v, %v", name, head, err)
		}
		if _, err := b.Commit(t.Context(), nextOf(t, b, "F")); err != nil {
			t.Errorf("%s: nothing can be charged any more: %v", name, err)
		}
	}
}

// A book can be read without a private key, and then charges nothing.
func TestReader(t *testing.T) {
	s := newShelf()
	b := bookOf(t, s)
	if _, err := b.Commit(t.Context(), nextOf(t, b, "F")); err != nil {
		t.Fatal(err)
	}
	reader, err := charge.NewBook(charge.Config{Store: s, Public: public()})
	if err != nil {
		t.Fatal(err)
	}
	if head, err := reader.Head(t.Context(), "F"); err != nil || head.Seq != 1 || !reader.Public().Equal(public()) {
		t.Errorf("%+v, %v", head, err)
	}
	if r, err := reader.Commit(t.Context(), nextOf(t, reader, "F")); !errors.Is(err, charge.ErrNoKey) || r != (charge.Receipt{}) {
		t.Errorf("%+v, %v", r, err)
	}
	for name, c := range map[string]charge.Config{
		"no store": {Key: key}, "no key": {Store: s}, "half a key": {Store: s, Key: key[:32]}, "half a public key": {Store: s, Key: key, Public: public()[:16]},
		"a short key beside a public one": {Store: s, Key: key[:63], Public: public()},
	} {
		if b, err := charge.NewBook(c); err == nil || b != nil {
			t.Errorf("%s: a book", name)
		}
	}
	clock, err := charge.NewBook(charge.Config{Store: newShelf(), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	e := nextOf(t, clock, "F")
	if _, err := clock.Commit(t.Context(), e); err != nil || time.Since(e.At) > time.Minute || time.Since(e.At) < 0 {
		t.Errorf("committed at %v, %v", e.At, err)
	}
}

// Whatever the length of a chain, all of it is read, and held to its rules.
func TestReadsAll(t *testing.T) {
	s := newShelf()
	b := bookOf(t, s)
	for n := uint64(1); n <= 515; n++ {
		e := nextOf(t, b, "F")
		if _, err := b.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if n%256 > 3 && n%256 < 254 && n > 3 {
			continue
		}
		got, err := bookOf(t, s).Head(t.Context(), "F")
		if err != nil || got.Seq != n || got.Head != e.Hash() || got.Total != flow.Bits(n) {
			t.Fatalf("after %d entries: %+v, %v", n, got, err)
		}
	}
	i := uint64(0)
	state, err := bookOf(t, s).Replay(t.Context(), "F", func(before *charge.State, e *charge.Entry) error {
		if i++; e.Seq != i || before.Seq != i-1 || before.Total != flow.Bits(i-1) {
			t.Errorf("entry %d behind %d", e.Seq, before.Seq)
		}
		return nil
	})
	if err != nil || state.Seq != 515 || i != 515 {
		t.Errorf("%d entries, %v", i, err)
	}
	stop := errors.New("stop")
	if _, err := b.Replay(t.Context(), "F", func(_ *charge.State, e *charge.Entry) error {
		if e.Seq == 300 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
	s.reads = errors.New("broken")
	if _, err := bookOf(t, s).Head(t.Context(), "F"); !errors.Is(err, s.reads) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Head(ctx, "F"); !errors.Is(err, context.Canceled) {
		t.Errorf("a head for nobody: %v", err)
	}
}

// Two books on one store: who is behind reads what the other did when an entry
// shows that there is more, and loses no race unnoticed.
func TestTwoBooks(t *testing.T) {
	s := newShelf()
	a, b := bookOf(t, s), bookOf(t, s)
	if _, err := b.Head(t.Context(), "F"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := a.Commit(t.Context(), nextOf(t, a, "F")); err != nil {
			t.Fatal(err)
		}
	}
	if head, err := b.Head(t.Context(), "F"); err != nil || head.Seq != 0 {
		t.Fatalf("a book reads anew what it remembers: %+v, %v", head, err)
	}
	e := nextOf(t, a, "F")
	if _, err := b.Commit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if head, err := b.Head(t.Context(), "F"); err != nil || head.Seq != 4 {
		t.Fatalf("%+v, %v", head, err)
	}
	stale := nextOf(t, a, "F") // a stands at 3
	if r, err := a.Commit(t.Context(), stale); !errors.Is(err, charge.ErrConflict) || r != (charge.Receipt{}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if head, err := a.Head(t.Context(), "F"); err != nil || head.Seq != 4 {
		t.Errorf("after a conflict a book knows of %+v, %v", head, err)
	}
	s.reads = errors.New("broken")
	e = nextOf(t, a, "F")
	e.Seq = 9
	if _, err := b.Commit(t.Context(), e); !errors.Is(err, s.reads) {
		t.Error(err)
	}
}

// What a book remembers is bounded, and it asks for a rubric once.
func TestRemembers(t *testing.T) {
	s := newShelf()
	b := bookOf(t, s)
	for range 3 {
		if _, err := b.Commit(t.Context(), nextOf(t, b, "F")); err != nil {
			t.Fatal(err)
		}
	}
	if s.asked != 1 {
		t.Errorf("asked for a rubric %d times", s.asked)
	}
	for i := range charge.MaxStates + 10 {
		if _, err := b.Head(t.Context(), flow.TrajectoryID(string(rune('a'+i%26))+time.Duration(i).String())); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := b.Remembered(); n != charge.MaxStates {
		t.Errorf("%d families are remembered", n)
	}
	b = bookOf(t, newShelf())
	most := 0
	for i := range charge.MaxKept/64 + 2 {
		e := nextOf(t, b, "R")
		e.Rubrics = nil
		for k := range 64 {
			e.Rubrics = append(e.Rubrics, charge.Hash{byte(i >> 8), byte(i), byte(k), 1})
		}
		if _, err := b.Commit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		_, n := b.Remembered()
		most = max(most, n)
	}
	if most != charge.MaxKept {
		t.Errorf("%d rubrics were remembered", most)
	}
}
