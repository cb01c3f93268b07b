package vectors

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// perKind is how much of each kind of ordinary text is read.
const perKind = 400 << 10

// corpus is ordinary text without secrets, taken from the Go distribution
// that is installed: Newton's Opticks (public domain, part of Go's test data),
// its documentation, and its source.
func corpus() (map[string][]byte, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("ordinary text is read from the Go distribution: %w", err)
	}
	root := strings.TrimSpace(string(out))
	c := map[string][]byte{}
	english, err := os.ReadFile(filepath.Join(root, "src", "testdata", "Isaac.Newton-Opticks.txt"))
	if err == nil {
		c["english"] = english[:min(len(english), perKind)]
	}
	read := func(kind string, want func(string) bool, dirs ...string) {
		for _, d := range dirs {
			_ = filepath.WalkDir(filepath.Join(root, d), func(p string, e fs.DirEntry, err error) error {
				if err != nil || len(c[kind]) >= perKind {
					return fs.SkipAll
				}
				if e.IsDir() && (e.Name() == "testdata" || e.Name() == "vendor" || e.Name() == "crypto") {
					return fs.SkipDir
				}
				if !e.IsDir() && want(p) {
					if b, err := os.ReadFile(p); err == nil {
						c[kind] = append(c[kind], b...)
					}
				}
				return nil
			})
		}
		c[kind] = c[kind][:min(len(c[kind]), perKind)]
	}
	read("markdown", func(p string) bool { return strings.HasSuffix(p, ".md") }, ".", "doc", "src")
	read("source", func(p string) bool { return strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") }, "src/net", "src/go", "src/encoding", "src/cmd/go")
	return c, nil
}

// registered makes an index of n random secrets.
func registered(n int, seed uint64) (*match.Index, error) {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	rng := rand.New(rand.NewPCG(seed, 3))
	value := make([]byte, 40)
	return match.NewIndex(&benchKeys, func(yield func(secret.Record, error) bool) {
		for i := range n {
			v := value[:20+rng.IntN(21)]
			for j := range v {
				v[j] = set[rng.IntN(len(set))]
			}
			rec, _, err := match.Prepare(&benchKeys, fmt.Sprintf("%026d", i), fmt.Sprintf("SECRET_%d", i), secret.KindSecret, secret.SourceRegistered, "bench", v, time.Unix(1, 0))
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}, time.Unix(1, 0))
}

// prose measures ordinary text: false positives, held bytes, and what the
// number of registered secrets costs.
func prose(ctx context.Context, r *results.Result, rules *recognise.Set, o Options) error {
	texts, err := corpus()
	if err != nil {
		r.Notes = append(r.Notes, "corpus=prose skipped: "+err.Error())
		return nil
	}
	ten, err := registered(10, o.Seed)
	if err != nil {
		return err
	}
	var all []byte
	kinds := make([]string, 0, len(texts))
	for k := range texts {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	cfg := &stream.Config{Rules: rules, Vaults: []*match.Index{ten}, HoldURLs: true}
	var held []int
	found, size := 0, 0
	for _, k := range kinds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h, f := flow(cfg, texts[k])
		r.Add(defence, "corpus="+k, figures(h, f, len(texts[k])))
		held, found, size = append(held, h...), found+f, size+len(texts[k])
		all = append(all, texts[k]...)
	}
	r.Add(defence, "corpus=prose", figures(held, found, size))
	return crowd(ctx, r, rules, ten, all, o)
}

func figures(held []int, found, size int) map[string]float64 {
	slices.Sort(held)
	return map[string]float64{
		"held_bytes_p50": float64(held[len(held)/2]), "held_bytes_p99": float64(held[len(held)*99/100]), "held_bytes_max": float64(held[len(held)-1]),
		"false_positives_per_100kb": float64(found) * 102400 / float64(size), "bytes": float64(size),
	}
}

// flow streams a text in pieces of about a token and notes what is held after
// each. Personal data is not a false positive: it is there.
func flow(cfg *stream.Config, text []byte) (held []int, found int) {
	e := cfg.NewEditor()
	var out []byte
	for i := 0; i < len(text); i += 4 {
		out = e.Write(out[:0], text[i:min(i+4, len(text))])
		held = append(held, e.Held())
	}
	e.Close(out[:0])
	for _, f := range e.Findings() {
		if f.Rule == stream.RuleVault || f.Class != recognise.ClassPersonal {
			found++
		}
	}
	return held, found
}

// crowd compares ten registered secrets with a million, in turn.
func crowd(ctx context.Context, r *results.Result, rules *recognise.Set, ten *match.Index, text []byte, o Options) error {
	n := o.Million
	if n < 0 {
		return nil
	}
	if n == 0 {
		n = 1000000
	}
	o.Progress(fmt.Sprintf("%d secrets", n))
	heap := heapMiB()
	many, err := registered(n, o.Seed+1)
	if err != nil {
		return err
	}
	used := heapMiB() - heap
	text = text[:min(len(text), 512<<10)]
	var took [2][]float64
	for range 7 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i, ix := range []*match.Index{ten, many} {
			cfg := &stream.Config{Rules: rules, Vaults: []*match.Index{ix}}
			s := cfg.NewScanner()
			start := time.Now()
			for at := 0; at < len(text); at += 4 {
				s.Write(text[at:min(at+4, len(text))])
			}
			took[i] = append(took[i], float64(time.Since(start).Nanoseconds())/float64(len(text)))
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	few, lots := took[0][3], took[1][3]
	r.Add(defence, "secrets=10", map[string]float64{"ns_per_byte": few})
	r.Add(defence, fmt.Sprintf("secrets=%d", n), map[string]float64{"ns_per_byte": lots, "ns_per_byte_ratio_to_10": lots / few, "heap_mib": used})
	runtime.KeepAlive(many)
	return nil
}

func heapMiB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
