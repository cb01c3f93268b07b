// Package vectors measures recognisers and the safe cut: credential vectors
// embedded in prose, once with their secret registered and once unknown, in
// plain and in every encoding of a closed list, under every cut in two and
// under random chunkings.
package vectors

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// Options of a run.
type Options struct {
	Data     string // folder with gitleaks-vectors.jsonl.gz
	N        int    // positives drawn; 0 for all
	Seed     uint64
	Million  int // size of the large vault; 1,000,000 by default, negative for none
	Progress func(string)
}

const (
	defence   = "margay"
	chunkings = 50
	before    = "The review went on until the evening, and nobody objected. "
	after     = " That was all there was to say about it; we met again on Monday."
)

// vector is a line of the vectors' file.
type vector struct {
	Rule, V, Path string
	TP            bool
	secret        string // what the reference library finds
}

// Run measures.
func Run(ctx context.Context, o Options) (*results.Result, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	pos, neg, err := load(o.Data)
	if err != nil {
		return nil, err
	}
	r := &results.Result{
		Suite: "vectors", Seed: o.Seed, Environment: results.Here(),
		Source: "gitleaks-vectors.jsonl.gz; truth: secret group of gitleaks v8.30.1",
	}
	all := pos
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	if o.N > 0 && o.N < len(pos) {
		rng.Shuffle(len(pos), func(i, j int) { pos[i], pos[j] = pos[j], pos[i] })
		pos = pos[:o.N]
	}
	r.N = len(pos)
	r.Add(defence, "all,encoding=raw,known=no", plainRecall(rules, all, neg))
	for _, e := range encodings {
		for _, known := range []bool{true, false} {
			o.Progress(fmt.Sprintf("%s, known=%v", e.name, known))
			m, err := measure(ctx, rules, pos, e, known, o.Seed)
			if err != nil {
				return nil, err
			}
			r.Add(defence, fmt.Sprintf("encoding=%s,known=%s", e.name, yesNo(known)), m)
		}
	}
	o.Progress("prose")
	if err := prose(ctx, r, rules, o); err != nil {
		return nil, err
	}
	o.Progress("")
	return r, nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// load reads the vectors and asks the reference library for the truth.
func load(dir string) (pos, neg []vector, err error) {
	if dir == "" {
		return nil, nil, errors.New("no folder with outside data")
	}
	f, err := os.Open(filepath.Join(dir, "gitleaks-vectors.jsonl.gz"))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, err
	}
	zerolog.SetGlobalLevel(zerolog.Disabled)
	ref, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, nil, err
		}
		if !v.TP {
			neg = append(neg, v)
			continue
		}
		for _, found := range ref.Detect(detect.Fragment{Raw: v.V, FilePath: v.Path}) { //nolint:staticcheck // what replaces it exists in no release
			if found.RuleID == v.Rule && found.Secret != "" && strings.Contains(v.V, found.Secret) {
				v.secret = found.Secret
				pos = append(pos, v)
				break
			}
		}
	}
	return pos, neg, lines.Err()
}

// plainRecall is over all vectors, as they are: no encoding, no cuts.
func plainRecall(rules *recognise.Set, pos, neg []vector) map[string]float64 {
	hits, flagged := 0, 0
	for i := range pos {
		v := &pos[i]
		cfg := &stream.Config{Rules: rules, Path: v.Path}
		text := before + v.V + after
		if covered(text, v.secret, edits(cfg, text)) {
			hits++
		}
	}
	for i := range neg {
		for _, m := range rules.Find([]byte(neg[i].V), recognise.WithPath(neg[i].Path)) {
			if m.Rule.ID == neg[i].Rule {
				flagged++
				break
			}
		}
	}
	return map[string]float64{
		"recall": ratio(hits, len(pos)), "false_positive_rate": ratio(flagged, len(neg)), "positives": float64(len(pos)), "negatives": float64(len(neg)),
	}
}

func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

func edits(cfg *stream.Config, text string) []stream.Edit {
	s := cfg.NewScanner()
	s.Write([]byte(text))
	s.Close()
	return s.Edits(nil)
}

// covered reports whether the last occurrence of value in text is edited out,
// apart from padding at its end.
func covered(text, value string, es []stream.Edit) bool {
	from := int64(strings.LastIndex(text, value))
	return missed(es, from, from+int64(len(core(value)))) == 0
}

// core leaves out what is not a part of a value's disguise: padding, and the
// space that a separator at its end became.
func core(hidden string) string { return strings.TrimRight(hidden, "= ") }

// missed counts the bytes of [from, to) that no edit covers.
func missed(es []stream.Edit, from, to int64) int {
	n := 0
	for at := from; at < to; at++ {
		in := false
		for i := range es {
			in = in || es[i].Start <= at && at < es[i].End
		}
		if !in {
			n++
		}
	}
	return n
}

// tally is what one slice adds up.
type tally struct {
	sync.Mutex
	n, hits, leaked, missed, varied int
	bytes                           int64
	took                            time.Duration
}

// measure is one encoding, known or not.
func measure(ctx context.Context, rules *recognise.Set, pos []vector, e encoding, known bool, seed uint64) (map[string]float64, error) {
	var t tally
	var wg sync.WaitGroup
	work := make(chan int)
	errs := make(chan error, runtime.NumCPU())
	for range runtime.NumCPU() {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range work {
				if err := t.vector(rules, &pos[i], e, known, seed+uint64(i)); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		}()
	}
	for i := range pos {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	wg.Wait()
	select {
	case err := <-errs:
		return nil, err
	default:
	}
	m := map[string]float64{
		"recall": ratio(t.hits, t.n), "leaked_bytes": float64(t.leaked), "missed_bytes": float64(t.missed),
		"split_invariant": 1, "ns_per_byte": float64(t.took.Nanoseconds()) / float64(max(t.bytes, 1)), "n": float64(t.n),
	}
	if t.varied > 0 {
		m["split_invariant"] = 0
	}
	return m, ctx.Err()
}

var benchKeys = secret.Keys{Fingerprint: [32]byte{7}, Pseudonym: [32]byte{8}, Seal: [32]byte{9}}

// vector measures one vector.
func (t *tally) vector(rules *recognise.Set, v *vector, e encoding, known bool, seed uint64) error {
	hidden := e.f(v.secret)
	text := before + strings.Replace(v.V, v.secret, hidden, 1) + after
	cfg := &stream.Config{Rules: rules, Path: v.Path}
	if known {
		ix, err := vaultOf(v.secret)
		if errors.Is(err, match.ErrTooLong) {
			return nil // reported by n
		}
		if err != nil {
			return err
		}
		cfg.Vaults = []*match.Index{ix}
	}
	start := time.Now()
	whole := edits(cfg, text)
	took := time.Since(start)
	from := int64(strings.LastIndex(text, hidden))
	gone := missed(whole, from, from+int64(len(core(hidden))))
	leaked, varied := cuts(cfg, []byte(text), whole, seed)
	t.Lock()
	defer t.Unlock()
	t.n++
	if gone == 0 {
		t.hits++
	}
	t.missed += gone
	t.leaked += leaked
	t.varied += varied
	t.bytes += int64(len(text))
	t.took += took
	return nil
}

// vaultOf is an index of one value.
func vaultOf(value string) (*match.Index, error) {
	rec, _, err := match.Prepare(&benchKeys, "00000000000000000000000001", "vector", secret.KindSecret, secret.SourceRegistered, "bench", []byte(value), time.Unix(1, 0))
	if err != nil {
		return nil, err
	}
	return match.NewIndex(&benchKeys, one(rec), time.Unix(1, 0))
}

func one(r secret.Record) func(func(secret.Record, error) bool) {
	return func(yield func(secret.Record, error) bool) { yield(r, nil) }
}

// cuts streams a text under every cut in two and under random chunkings. It
// counts the bytes of spans (known from the whole text) that came out at any
// time, and the ways of cutting that changed the edits.
func cuts(cfg *stream.Config, text []byte, whole []stream.Edit, seed uint64) (leaked, varied int) {
	rng := rand.New(rand.NewPCG(seed, 2))
	try := func(at []int) {
		l, same := tryCut(cfg, text, whole, at)
		leaked += l
		if !same {
			varied++
		}
	}
	for i := 1; i < len(text); i++ {
		try([]int{i})
	}
	for range chunkings {
		try(randomCuts(rng, len(text)))
	}
	return leaked, varied
}

// randomCuts are cuts of a text of n bytes into short pieces.
func randomCuts(rng *rand.Rand, n int) (at []int) {
	for i := 1 + rng.IntN(12); i < n; i += 1 + rng.IntN(12) {
		at = append(at, i)
	}
	return at
}

// tryCut streams a text in pieces. It counts the bytes of whole's spans that
// came out at any time, and reports whether the edits are the same.
func tryCut(cfg *stream.Config, text []byte, whole []stream.Edit, at []int) (leaked int, alike bool) {
	s := cfg.NewScanner()
	var got []stream.Edit
	from := 0
	for _, c := range append(at, len(text)) {
		s.Write(text[from:c])
		from = c
		got = s.Edits(got)
		leaked += escaped(whole, got, s.Cut())
	}
	s.Close()
	got = s.Edits(got)
	return leaked + escaped(whole, got, s.Cut()), same(whole, got)
}

// escaped counts the bytes of whole's spans before cut that got does not edit.
func escaped(whole, got []stream.Edit, cut int64) int {
	n := 0
	for _, w := range whole {
		if w.Start < cut {
			n += missed(got, w.Start, min(w.End, cut))
		}
	}
	return n
}

// same compares edits; those that go on where the last one ended are joined.
func same(a, b []stream.Edit) bool {
	a, b = join(a), join(b)
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Start != b[i].Start || a[i].End != b[i].End || string(a[i].Text) != string(b[i].Text) {
			return false
		}
	}
	return true
}

func join(es []stream.Edit) []stream.Edit {
	var out []stream.Edit
	for _, e := range es {
		if n := len(out); n > 0 && len(e.Text) == 0 && out[n-1].End == e.Start {
			out[n-1].End = e.End
			continue
		}
		out = append(out, e)
	}
	return out
}
