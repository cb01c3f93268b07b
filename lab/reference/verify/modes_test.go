package verify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/lab/engine/corpus"
	"github.com/margaydev/margay/lab/reference/differ"
	"github.com/margaydev/margay/lab/vectors"
	"github.com/margaydev/margay/stream"
)

// TestFuzzed compares texts with random changes, in every mode and with registered
// vectors.
func TestFuzzed(t *testing.T) {
	size := int64(60_000)
	if testing.Short() {
		size = 5_000
	}
	p, err := Fuzzed(rules(t), positives(t), size, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, Options{Seed: 1}, p).Parts["fuzzed"].Result
	if r.Bytes < size || len(r.Holds) != 5 || r.Readings != int64(4*r.Texts) || r.Findings < int64(r.Texts) {
		t.Errorf("%d bytes in %d texts, %d readings, %d findings, modes %v", r.Bytes, r.Texts, r.Readings, r.Findings, r.Holds)
	}
}

// TestOrdinary compares ordinary text of all kinds, and reads exactly what was asked for.
func TestOrdinary(t *testing.T) {
	size := int64(140_000)
	if testing.Short() {
		size = 7_000
	}
	parts, err := Ordinary(rules(t), size, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := run(t, Options{Seed: 1}, parts...)
	total := int64(0)
	for name, p := range s.Parts {
		total += p.Result.Bytes
		if !p.Done || p.Result.Readings != int64(6*p.Result.Texts) || len(p.Result.Holds) != 2 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if total != size || len(s.Parts) != len(corpus.All()) {
		t.Errorf("%d bytes in %d parts", total, len(s.Parts))
	}
}

// TestSeesDifferences: engines that differ are reported by the new kinds of text, with a
// text that shows it, and the part is not done.
func TestSeesDifferences(t *testing.T) {
	// The product gives up, and the reference knows nothing of that.
	pair, err := (&differ.Config{Rules: rules(t), Stream: stream.Config{Gone: func() bool { return true }}}).Pair()
	if err != nil {
		t.Fatal(err)
	}
	src, err := Source()
	if err != nil {
		t.Fatal(err)
	}
	z := &fuzzer{rules: rules(t), modes: []mode{{"gone", pair}}, src: src, ordinary: [][]byte{[]byte(strings.Repeat("a line of text\n", 200))}}
	b := &fuzzedBatch{d: src.Drawer(3), rng: rand.New(rand.NewPCG(3, 3))}
	r := &Result{}
	z.compare(t.Context(), r, &fuzzed{text: []byte("the token is ghp_q7Zt4mWc9LxB2nVk8RfD3hJs6YpG1aQe09Xz.")}, &z.modes[0], b, "here")
	if len(r.Differences) != 1 || r.Differences[0].Where != "here" || r.Differences[0].Text == "" || len(r.Differences[0].Text) > 8 {
		t.Fatalf("%+v", r.Differences)
	}
}

// TestDistinct: of texts that are the same, with the same secret and path, one is read,
// and the work is that of all its splits.
func TestDistinct(t *testing.T) {
	pos := positives(t)
	order := rand.New(rand.NewPCG(1, 1)).Perm(pos.Len())[:4000]
	kept, same := distinct(pos, order)
	if len(kept)+same != len(order) || same == 0 {
		t.Fatalf("%d kept, %d the same", len(kept), same)
	}
	all := func(is []int) map[string]bool {
		out := map[string]bool{}
		for _, i := range is {
			v := pos.At(i)
			out[fmt.Sprintf("%q %q %q", v.Path, v.Secret, v.Text)] = true
		}
		return out
	}
	if a, b := len(all(order)), len(all(kept)); a != b || b != len(kept) {
		t.Errorf("%d texts, %d are kept", a, b)
	}
	share := splits(pos, kept)
	if a, b, c := share(&Progress{}), share(&Progress{Next: len(kept) / 2}), share(&Progress{Next: len(kept)}); a != 0 || b < 0.3 || b > 0.7 || c != 1 {
		t.Errorf("%g, %g, %g", a, b, c)
	}
}

// TestFuzzedTexts: which texts are fuzzed depends on the seed and their number alone, so
// that a run that goes on reads what one would that was not stopped. All kinds of bases
// are among them.
func TestFuzzedTexts(t *testing.T) {
	z, err := newFuzzer(rules(t), positives(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(seed uint64, k int) string { return fmt.Sprintf("%q", z.batch(seed, k).texts[0].text) }
	if once := texts(1, 7); once != texts(1, 7) || once == texts(1, 8) || once == texts(2, 7) {
		t.Error("the texts are not of their seed and number")
	}
	of, n := 0, 0
	for k := range 25 {
		for _, f := range z.batch(1, k).texts {
			if n++; f.of != nil {
				of++
			}
		}
	}
	if of < n/4 || of > n/2 {
		t.Errorf("%d of %d texts are of vectors", of, n)
	}
	items := func(from int) (n int) {
		p, err := Fuzzed(rules(t), positives(t), 40_000, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.each(t.Context(), from, func(item) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n, m := items(0), items(2); n != m+2 {
		t.Errorf("%d items, and %d after the first two", n, m)
	}
}

// positives are the vectors, loaded once.
func positives(t *testing.T) vectors.Positives {
	t.Helper()
	testkit.Data(t, "gitleaks-vectors.jsonl.gz")
	pos, err := loadPositives()
	if err != nil {
		t.Fatal(err)
	}
	return pos
}

var loadPositives = sync.OnceValues(func() (vectors.Positives, error) { return vectors.LoadPositives(testkit.Dir()) })
