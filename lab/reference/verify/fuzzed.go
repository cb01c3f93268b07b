package verify

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/margaydev/margay/lab/engine/corpus"
	"github.com/margaydev/margay/lab/reference/differ"
	"github.com/margaydev/margay/lab/reference/draw"
	"github.com/margaydev/margay/lab/vectors"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/stream"
)

// pool is how much of each kind of ordinary text is fuzzed.
const pool = 1 << 20

// fuzzer makes texts: credential vectors in all encodings, ordinary text of all kinds and
// drawn texts, changed at random. It does not change.
type fuzzer struct {
	rules    *differ.Rules
	modes    []mode
	src      *draw.Source
	vectors  vectors.Positives
	ordinary [][]byte
}

// fuzzed is a text with the vector that it was made from, if it was from one.
type fuzzed struct {
	text []byte
	of   *vectors.Disguised
}

func newFuzzer(rules *differ.Rules, pos vectors.Positives, seed uint64) (*fuzzer, error) {
	z := &fuzzer{rules: rules, vectors: pos}
	var err error
	if z.modes, err = modes(rules); err != nil {
		return nil, err
	}
	if z.src, err = Source(); err != nil {
		return nil, err
	}
	for _, c := range corpus.All() {
		text, err := c.Text(pool, seed)
		if err != nil {
			return nil, err
		}
		z.ordinary = append(z.ordinary, text)
	}
	return z, nil
}

// Fuzzed are texts with random changes, at least so many bytes of them. A text depends on
// the seed, the vectors and the Go distribution alone.
func Fuzzed(rules *differ.Rules, pos vectors.Positives, bytes int64, seed uint64) (Part, error) {
	z, err := newFuzzer(rules, pos, seed)
	if err != nil {
		return Part{}, err
	}
	return Part{Name: "fuzzed", Of: fmt.Sprintf("%d bytes", bytes), share: byBytes(bytes), each: func(ctx context.Context, from int, yield func(item) bool) error {
		// As for drawn texts: where it ends depends on the seed alone.
		total := int64(0)
		for k := 0; total < bytes && ctx.Err() == nil; k++ {
			b := z.batch(seed, k)
			for i := range b.texts {
				total += int64(len(b.texts[i].text))
			}
			if k >= from && !yield(func(ctx context.Context, r *Result) { z.compareAll(ctx, r, b, k) }) {
				break
			}
		}
		return ctx.Err()
	}}, nil
}

// fuzzedBatch are the texts of an item, and what their splits are drawn from.
type fuzzedBatch struct {
	texts []fuzzed
	d     *draw.Drawer
	rng   *rand.Rand
}

func (z *fuzzer) batch(seed uint64, k int) *fuzzedBatch {
	s := ^(seed + uint64(k)<<20)
	b := &fuzzedBatch{make([]fuzzed, drawn), z.src.Drawer(s), rand.New(rand.NewPCG(s, 18))}
	for i := range b.texts {
		b.texts[i] = z.text(b.d, b.rng)
	}
	return b
}

func (z *fuzzer) compareAll(ctx context.Context, r *Result, b *fuzzedBatch, k int) {
	for i := range b.texts {
		z.compare(ctx, r, &b.texts[i], &z.modes[(k+i)%len(z.modes)], b, fmt.Sprintf("text %d of item %d", i, k))
	}
}

func (z *fuzzer) text(d *draw.Drawer, rng *rand.Rand) (f fuzzed) {
	base, of := z.base(d, rng)
	f.of = of
	f.text = d.Mutate(base, func() []byte {
		b, _ := z.base(d, rng)
		return b
	})
	return f
}

// base is a text before it is changed.
func (z *fuzzer) base(d *draw.Drawer, rng *rand.Rand) ([]byte, *vectors.Disguised) {
	switch k := rng.IntN(10); {
	case k < 4:
		v := z.vectors.At(rng.IntN(z.vectors.Len()))
		return []byte(v.Text), &v
	case k < 7:
		of := z.ordinary[rng.IntN(len(z.ordinary))]
		n := 40 + rng.IntN(1500)
		at := rng.IntN(len(of) - n)
		return of[at : at+n], nil
	}
	return d.Text(), nil
}

// compare compares a text whole and in writes of drawn sizes. Every second text of a
// vector is read with the vector's secret registered, under its path.
func (z *fuzzer) compare(ctx context.Context, r *Result, f *fuzzed, m *mode, b *fuzzedBatch, where string) {
	if f.of != nil && b.rng.IntN(2) == 0 && len(f.of.Secret) <= match.MaxLength {
		p, err := (&differ.Config{Rules: z.rules, Vaults: [][]differ.Known{{{Value: f.of.Secret}}}, Stream: stream.Config{Path: f.of.Path, HoldURLs: true}}).Pair()
		if err == nil { // else the secret is too short
			m = &mode{"registered", p}
			where += fmt.Sprintf(", of %s under the path %q", f.of.Rule, f.of.Path)
		}
	}
	n := len(f.text)
	r.Texts, r.Bytes = r.Texts+1, r.Bytes+int64(n)
	one(ctx, r, m, f.text, [][]int{b.d.Cuts(n), nil, b.d.Cuts(n), b.d.Cuts(n)}, "fuzzed", where)
}
