package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/lab/reference/match"
	"github.com/margaydev/margay/lab/reference/recognise"
	referencestream "github.com/margaydev/margay/lab/reference/stream"
	"github.com/margaydev/margay/secret"
	product "github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// before is the engine as it was before it was rewritten, configured as margay is.
// It is slow, so it reads less: see sampleOf.
type before struct{}

const former = "reference"

func (before) name() string { return former }

func (before) secrets(asked []int) []int {
	if slices.Contains(asked, few) {
		return []int{few}
	}
	return nil
}

func (before) takes(int) bool { return true }

// beforeRules are the rules of the product's default set, compiled for the reference.
var beforeRules = sync.OnceValues(func() (*recognise.Set, error) {
	set, err := product.Default()
	if err != nil {
		return nil, err
	}
	var rules []product.Rule
	for _, r := range set.Rules() {
		rules = append(rules, *r)
	}
	return recognise.New(rules)
})

func (before) open(secrets *registered) (scan, error) {
	rules, err := beforeRules()
	if err != nil {
		return nil, err
	}
	ix, err := match.NewIndex(&keys, func(yield func(secret.Record, error) bool) {
		for i, v := range secrets.values() {
			rec, err := match.Prepare(&keys, id(i), label(i), secret.KindSecret, secret.SourceRegistered, v)
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}, time.Unix(1, 0))
	if err != nil {
		return nil, err
	}
	prompt := referencestream.Config{Product: &stream.Config{Decide: decide}, Rules: rules, Vaults: []*match.Index{ix}}
	answer := prompt
	answer.Product = &stream.Config{Decide: decide, HoldURLs: true}
	return func(text []byte, write int) int {
		cfg := &answer
		if write == whole {
			cfg, write = &prompt, max(len(text), 1)
		}
		s := cfg.NewScanner()
		var edits []stream.Edit
		for p := range slices.Chunk(text, write) {
			s.Write(p)
			edits = s.Edits(edits[:0])
		}
		s.Close()
		s.Edits(edits[:0])
		return len(s.Findings())
	}, nil
}

const (
	// sample is how many bytes of a text slow engines read at most, and sampled how
	// many of them stand together.
	sample  = 64 << 10
	sampled = 4 << 10
)

// sampleOf returns pieces of a text from its beginning to its end.
func sampleOf(text []byte) []byte {
	if len(text) <= sample {
		return text
	}
	out := make([]byte, 0, sample)
	for n := sample / sampled; len(out) < sample; {
		at := len(out) / sampled * (len(text) - sampled) / (n - 1)
		out = append(out, text[at:at+sampled]...)
	}
	return out
}

// cell is an engine on a text. The reference reads some of it, and margay the same
// beside it.
func (s *suite) cell(e engine, text []byte, slice string, write int, scan scan) (*cell, error) {
	c := &cell{defence: e.name(), slice: slice, text: text, write: write, scan: scan}
	if _, slow := e.(before); slow {
		ours, err := margay{}.open(s.vault[few])
		if err != nil {
			return nil, err
		}
		c.text = sampleOf(text)
		c.beside = &cell{text: c.text, write: write, scan: ours}
	}
	return c, nil
}
