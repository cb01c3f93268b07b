package charge_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/store/memory"
)

// key signs the ledgers of these tests.
var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

func public() ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func newBook(t testing.TB, s ledger.Store) *ledger.Book {
	t.Helper()
	b, err := ledger.NewBook(ledger.Config{Store: s, Key: key, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// commit makes the release that numbers draw: to a sink of any class, of a few
// values, growing by a little.
func commit(t testing.TB, b *ledger.Book, family string, n int, rubrics ...charge.Hash) *charge.Entry {
	t.Helper()
	ctx := context.Background()
	s, err := b.Head(ctx, flow.TrajectoryID(family))
	if err != nil {
		t.Fatal(err)
	}
	e := release(flow.Class(1 + n%3))
	e.Rubrics, e.Variant = rubrics, charge.Hash{1, byte(n), byte(n >> 8)}
	e.Limits.B, e.Limits.Cap = 1<<40, [charge.Classes]flow.Bits{0, 1 << 40, 1 << 40, 1 << 40}
	for i := range 1 + n%3 {
		v := charge.Hash{9, byte((n + i) % 7)}
		a := charge.Atom{Field: []string{"dob", "email", "legal-name"}[i], Op: charge.Op(n % 5), Value: v, After: s.After(v)}
		switch a.Op {
		case charge.Generalize:
			a.Level = uint8(1 + n%3)
		case charge.Substitute:
			a.Template = "pseudonym"
		}
		for k := 1; k <= int(e.Class); k++ {
			a.After[k] += flow.Bits(n*7919%1000+i) * 1001
		}
		a.Cost = a.After[e.Class]
		e.Atoms = append(e.Atoms, a)
	}
	if err := s.Next(e); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx, e); err != nil {
		t.Fatal(err)
	}
	return e
}

func grow(t testing.TB, b *ledger.Book, from, n, families int) {
	t.Helper()
	h1, err := b.KeepRubric(context.Background(), []byte("a rubric"))
	if err != nil {
		t.Fatal(err)
	}
	h2, err := b.KeepRubric(context.Background(), []byte("another"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Compare(h1[:], h2[:]) > 0 {
		h1, h2 = h2, h1
	}
	for i := from; i < n; i++ {
		commit(t, b, fmt.Sprintf("F%03d", i%families), i, h1, h2)
	}
}

func export(t testing.TB, b *ledger.Book) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := b.Export(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func check(t testing.TB, text []byte, c ledger.Check) *ledger.Report {
	t.Helper()
	if c.Key == nil {
		c.Key = public()
	}
	r, err := ledger.Verify(context.Background(), bytes.NewReader(text), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func BenchmarkCommit(b *testing.B) {
	book := newBook(b, memory.New())
	h, err := book.KeepRubric(context.Background(), []byte("a rubric"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		commit(b, book, fmt.Sprintf("F%03d", i%64), i, h)
	}
}

// slow is by how much less is tried where all is slow.
var slow = 1

// times is how often something is tried: the number in an environment
// variable, else few.
func times(t *testing.T, name string, few int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return few / slow
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is no number", name)
	}
	return n
}
