package verify

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/margaydev/margay/lab/reference/differ"
	"github.com/margaydev/margay/lab/reference/draw"
	"github.com/margaydev/margay/lab/vectors"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/stream"
)

// mode is one of differ.Modes, ready.
type mode struct {
	name string
	pair *differ.Pair
}

func modes(rules *differ.Rules) (out []mode, err error) {
	for _, m := range differ.Modes(rules) {
		p, err := m.Config.Pair()
		if err != nil {
			return nil, err
		}
		out = append(out, mode{m.Name, p})
	}
	return out, nil
}

// Vectors are n drawn pairs of a credential vector and an encoding, or all where n is
// 0, each with its secret registered and unknown, under every split in two.
func Vectors(rules *differ.Rules, pos vectors.Positives, n int, seed uint64) (Part, error) {
	order, same := distinct(pos, rand.New(rand.NewPCG(seed, 5)).Perm(pos.Len()))
	if n > 0 && n < len(order) {
		order = order[:n]
	}
	of := fmt.Sprintf("%d of %d distinct; %d more repeat one of those", len(order), pos.Len()-same, same)
	return Part{Name: "vectors", Of: of, Items: len(order), share: splits(pos, order), each: func(ctx context.Context, from int, yield func(item) bool) error {
		for k := from; k < len(order) && ctx.Err() == nil; k++ {
			v, where := pos.At(order[k]), fmt.Sprintf("vector %d", order[k])
			if !yield(func(ctx context.Context, r *Result) { vector(ctx, r, rules, &v, where) }) {
				break
			}
		}
		return ctx.Err()
	}}, nil
}

func vector(ctx context.Context, r *Result, rules *differ.Rules, v *vectors.Disguised, where string) {
	where += " of " + v.Rule + " in " + v.Encoding
	r.Texts++
	r.Bytes += int64(len(v.Text))
	for _, m := range []struct {
		name  string
		vault [][]differ.Known
	}{{"unknown", nil}, {"registered", [][]differ.Known{{{Value: v.Secret}}}}} {
		if len(v.Secret) > match.MaxLength && m.vault != nil {
			continue
		}
		pair, err := (&differ.Config{Rules: rules, Vaults: m.vault, Stream: stream.Config{Path: v.Path, HoldURLs: m.vault != nil}}).Pair()
		if err != nil {
			continue // too short to be registered
		}
		text := pair.Read([]byte(v.Text))
		r.Findings += int64(len(text.Found()))
		for at := 0; at < text.Len() && ctx.Err() == nil; at++ {
			r.Readings++
			if d := text.Under([]int{at}); d != nil {
				r.Differences = append(r.Differences, Found{Where: where, Mode: m.name, What: d.Error()})
				break
			}
		}
		r.Readings++
		if d := text.Holds(every(text.Len(), 4), r.holds("vectors, "+m.name)); d != nil {
			r.Differences = append(r.Differences, Found{Where: where, Mode: m.name, What: d.Error()})
		}
	}
}

// piece is how much of a file is one text.
const piece = 32 << 10

// Corpus are the files below a folder, at most so many bytes of them, in several modes
// and sizes of writes.
func Corpus(rules *differ.Rules, dir string, most int64, seed uint64) (Part, error) {
	ms, err := modes(rules)
	if err != nil {
		return Part{}, err
	}
	ms = ms[1:3] // those of the gateway and the mediator
	return Part{Name: "corpus", Of: fmt.Sprintf("%d bytes of %s", most, dir), share: byBytes(most), each: func(ctx context.Context, from int, yield func(item) bool) error {
		n, left := 0, most
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return err
			case !e.Type().IsRegular():
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			size := min(info.Size(), left)
			left -= size
			for off := int64(0); off < size; off += piece {
				if n++; n <= from {
					continue
				}
				k, length := uint64(n-1), min(piece, size-off)
				if !yield(func(ctx context.Context, r *Result) { file(ctx, r, ms, path, name, off, length, seed+k) }) {
					return fs.SkipAll
				}
			}
			if left <= 0 {
				return fs.SkipAll
			}
			return nil
		})
		return err
	}}, nil
}

// file compares a piece of a file. A file that changes or goes away counts as far as it
// is read.
func file(ctx context.Context, r *Result, ms []mode, path, name string, off, length int64, seed uint64) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, off, length))
	if err != nil || len(b) == 0 {
		return
	}
	rng := rand.New(rand.NewPCG(seed, 6))
	r.Texts++
	r.Bytes += int64(len(b))
	for _, m := range ms {
		if ctx.Err() != nil {
			return
		}
		text := m.pair.Read(b)
		r.Findings += int64(len(text.Found()))
		check := func(d *differ.Difference) {
			r.Readings++
			if d != nil {
				r.Differences = append(r.Differences, Found{Where: name + " from " + strconv.FormatInt(off, 10), Mode: m.name, What: d.Error()})
			}
		}
		check(text.Under(nil))
		check(text.Under(every(len(b), []int{1, 7, 64, 1000, 4096}[rng.IntN(5)])))
		check(text.Holds(every(len(b), 4), r.holds("corpus, "+m.name)))
	}
}

// drawn is how many texts are one item.
const drawn = 8

// Drawn are drawn texts, at least so many bytes of them.
func Drawn(rules *differ.Rules, bytes int64, seed uint64) (Part, error) {
	ms, err := modes(rules)
	if err != nil {
		return Part{}, err
	}
	src, err := Source()
	if err != nil {
		return Part{}, err
	}
	return Part{Name: "drawn", Of: fmt.Sprintf("%d bytes", bytes), share: byBytes(bytes), each: func(ctx context.Context, from int, yield func(item) bool) error {
		// How long texts are depends on the seed alone, so that a run that goes on
		// stops where one that was not stopped does.
		total := int64(0)
		for k := 0; total < bytes && ctx.Err() == nil; k++ {
			d := src.Drawer(seed + uint64(k)<<20)
			texts := make([][]byte, drawn)
			for i := range texts {
				texts[i] = d.Text()
				total += int64(len(texts[i]))
			}
			if k < from {
				continue
			}
			if !yield(func(ctx context.Context, r *Result) {
				for i, text := range texts {
					r.Texts, r.Bytes = r.Texts+1, r.Bytes+int64(len(text))
					one(ctx, r, &ms[(k+i)%len(ms)], text, [][]int{d.Cuts(len(text)), d.Cuts(len(text)), d.Cuts(len(text))}, "drawn", fmt.Sprintf("text %d of item %d", i, k))
				}
			}) {
				break
			}
		}
		return ctx.Err()
	}}, nil
}

// one compares an invented text under splits. It counts under a name what is held.
func one(ctx context.Context, r *Result, m *mode, text []byte, splits [][]int, name, where string) {
	t := m.pair.Read(text)
	r.Findings += int64(len(t.Found()))
	for i, cuts := range splits {
		if ctx.Err() != nil {
			return
		}
		var diff *differ.Difference
		if r.Readings++; i == 0 {
			diff = t.Holds(cuts, r.holds(name+", "+m.name))
		} else {
			diff = t.Under(cuts)
		}
		if diff == nil {
			continue
		}
		small, cuts := differ.Shrink(text, cuts, func(text []byte, cuts []int) bool {
			return ctx.Err() == nil && m.pair.Read(text).Under(cuts) != nil
		})
		what := diff.Error()
		if d := m.pair.Read(small).Under(cuts); d != nil {
			what = d.Error()
		}
		r.Differences = append(r.Differences, Found{Where: where, Mode: m.name, What: what, Text: strconv.Quote(string(small)), Cuts: cuts})
		return
	}
}

// Source is what texts are drawn from: all rules, the registered values of the modes,
// and all encodings.
func Source() (*draw.Source, error) {
	rules, err := differ.All()
	if err != nil {
		return nil, err
	}
	var values []string
	for _, k := range slices.Concat(differ.Ten(), differ.Discovered()) {
		values = append(values, k.Value)
	}
	var encodings []func(string) string
	for _, e := range vectors.Encodings() {
		encodings = append(encodings, e.Encode)
	}
	return draw.NewSource(rules, values, encodings)
}

func every(n, size int) (cuts []int) {
	for at := size; at < n; at += size {
		cuts = append(cuts, at)
	}
	return cuts
}
