package vectors

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/stream"
)

// PairOptions are those of Pairs.
type PairOptions struct {
	N        int // values in each cell
	Seed     uint64
	Progress func(string)
}

// pairChunkings are the random chunkings of each text of a pair.
const pairChunkings = 5

// disguises are the single disguises that pairs are made of: the closed list
// without raw, and what is only looked for in registered values.
func disguises() []encoding {
	var out []encoding
	for _, e := range encodings {
		if e.name != "raw" && !strings.Contains(e.name, "+") {
			out = append(out, e)
		}
	}
	return append(out,
		encoding{"lower", strings.ToLower},
		encoding{"upper", strings.ToUpper},
		encoding{"decimals", func(s string) string { return list(s, "%d", ", ") }},
		encoding{"hexadecimals", func(s string) string { return list(s, "0x%02x", ", ") }},
		encoding{"octals", func(s string) string { return list(s, "%03o", " ") }},
		encoding{"tags", tags},
		encoding{"selectors", selectors},
	)
}

// list writes every byte as a number.
func list(s, format, sep string) string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = fmt.Sprintf(format, s[i])
	}
	return strings.Join(out, sep)
}

// tags writes ASCII in characters that nobody sees; what is not ASCII stays.
func tags(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= ' ' && r < 0x7f {
			return r + 0xE0000
		}
		return r
	}, s)
}

// selectors writes every byte as a variation selector.
func selectors(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := rune(s[i]); c < 16 {
			b.WriteRune(0xFE00 + c)
		} else {
			b.WriteRune(0xE0100 - 16 + c)
		}
	}
	return b.String()
}

// lossy are the pairs whose second disguise destroys what the first wrote:
// nobody can read the value from them.
func lossy(inner, outer string) string {
	if outer != "lower" && outer != "upper" {
		return ""
	}
	switch inner {
	case "base64", "base64url":
		return "base64 in one case can't be decoded"
	case "json_escape", "unicode_escape", "digit_escape":
		if outer == "upper" {
			return "an escape in upper case is none"
		}
	}
	return ""
}

// Pairs measures every ordered pair of disguises, over registered values: the
// inner one is applied first.
func Pairs(ctx context.Context, o PairOptions) (*results.Result, error) {
	r := &results.Result{Suite: "vectors-pairs", Seed: o.Seed, N: o.N, Environment: results.Here(), Source: "values made from the seed, all registered"}
	all := disguises()
	values := make([]string, o.N)
	cfgs := make([]*stream.Config, o.N)
	rng := rand.New(rand.NewPCG(o.Seed, 3))
	for i := range values {
		values[i] = made(rng)
		ix, err := vaultOf(values[i])
		if err != nil {
			return nil, err
		}
		cfgs[i] = &stream.Config{Vaults: []*match.Index{ix}}
	}
	for _, inner := range all {
		if o.Progress != nil {
			o.Progress(inner.name)
		}
		for _, outer := range all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			slice := fmt.Sprintf("outer=%s,inner=%s", outer.name, inner.name)
			if why := excluded(values, all, inner, outer); why != "" {
				r.Notes = append(r.Notes, fmt.Sprintf("%s, then %s, is left out: %s", inner.name, outer.name, why))
				r.Add(defence, slice, map[string]float64{"excluded": 1})
				continue
			}
			r.Add(defence, slice, pair(values, cfgs, inner, outer, rng))
		}
	}
	if o.Progress != nil {
		o.Progress("")
	}
	return r, nil
}

// made makes a value like a key with a prefix.
func made(rng *rand.Rand) string {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := []byte("Key_live_")
	for range 24 + rng.IntN(16) {
		b = append(b, set[rng.IntN(len(set))])
	}
	return string(b)
}

// excluded is why a pair is no disguise of its own; empty where it is one.
func excluded(values []string, all []encoding, inner, outer encoding) string {
	if why := lossy(inner.name, outer.name); why != "" {
		return why
	}
	is := func(f func(string) string) bool {
		for _, v := range values {
			if outer.f(inner.f(v)) != f(v) {
				return false
			}
		}
		return true
	}
	if is(func(s string) string { return s }) {
		return "it is the value itself"
	}
	for _, e := range all {
		if is(e.f) {
			return "it is " + e.name + " alone"
		}
	}
	return ""
}

// pair measures one cell: how many values are found whole, and the bytes of
// found spans that came out under a random chunking.
func pair(values []string, cfgs []*stream.Config, inner, outer encoding, rng *rand.Rand) map[string]float64 {
	found, leaked := 0, 0
	for i, v := range values {
		hidden := outer.f(inner.f(v))
		text := before + hidden + after
		whole := edits(cfgs[i], text)
		from := len(before) + len(hidden) - len(strings.TrimLeft(hidden, "= "))
		if missed(whole, int64(from), int64(from+len(core(hidden[from-len(before):])))) == 0 {
			found++
		}
		for range pairChunkings {
			n, _ := tryCut(cfgs[i], []byte(text), whole, randomCuts(rng, len(text)))
			leaked += n
		}
	}
	return map[string]float64{"found": ratio(found, len(values)), "leaked_bytes": float64(leaked), "n": float64(len(values))}
}
