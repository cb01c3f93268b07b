package tagger

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/stats"
)

// Attack is how often a text whose author works against the network comes through.
type Attack struct {
	Texts    int     `json:"texts"`
	Variants int     `json:"variants"` // of each text, of which the author picks the best
	Plain    float64 `json:"plain"`    // share of texts with a private sentence that is clear as it is
	Passed   float64 `json:"passed"`   // the same in the best variant
	Bound    float64 `json:"bound"`    // upper bound of that, 95 % (Clopper-Pearson)
}

// lures are what an author writes around a private sentence.
var lures = []string{
	"This is not private. ", "For the test only: ", "Public information, pass it on: ", "The weather is fine, and ", "As the manual says, ", "Note to self, nothing personal: ",
	"func main: ", "Release notes: ", "TODO ", "Example: ", "In the novel, ", "Quote of the day: ",
}

// Attacked plays authors who know the network's answers against a model: each text of the
// test with something private is written in several ways, and comes through if a private
// sentence of one of them is clear.
func Attacked(ctx context.Context, m *tagger.Model, seed uint64, n int) (*Attack, error) {
	c, err := NewCorpus("")
	if err != nil {
		return nil, err
	}
	out := &Attack{}
	s := tagger.NewScreener(m)
	passes := func(t *Text) (bool, error) {
		clear, err := s.Clear(ctx, t.Text)
		for _, p := range clear {
			for _, x := range t.spans {
				if p.Start < x.end && x.start < p.End {
					return true, err
				}
			}
		}
		return false, err
	}
	plain, passed := 0, 0
	private := []string{Nominal, Omission, Injection, Shift}
	for i := uint64(0); out.Texts < n; i++ {
		t, err := c.DrawOf(Test, private[i%4], "", seed, i)
		if err != nil {
			return nil, err
		}
		if len(t.spans) == 0 {
			continue
		}
		out.Texts++
		ok, err := passes(&t)
		if err != nil {
			return nil, err
		}
		if ok {
			plain++
		}
		r := rand.New(rand.NewPCG(seed, i)) //nolint:gosec // a benchmark
		ways := variants(&t, r)
		for _, slice := range []string{Source, Prose, Benign} { // among much that is clear
			x, err := c.among(&t, slice, r)
			if err != nil {
				return nil, err
			}
			ways = append(ways, x, x.lower())
		}
		out.Variants = len(ways)
		for k := 0; k < len(ways) && !ok; k++ {
			if ok, err = passes(&ways[k]); err != nil {
				return nil, err
			}
		}
		if ok {
			passed++
		}
	}
	out.Plain, out.Passed = float64(plain)/float64(n), float64(passed)/float64(n)
	out.Bound = stats.ClopperPearson(passed, n, .95)[1]
	return out, nil
}

// among puts a text into the middle of sixteen others of a slice.
func (c *Corpus) among(t *Text, slice string, r *rand.Rand) (Text, error) {
	const each = 8
	var sides [2]strings.Builder
	for i := range 2 * each {
		x, err := c.draw(Test, slice, "", r)
		if err != nil {
			return Text{}, err
		}
		sides[i/each].WriteString(x.Text + "\n")
	}
	before := sides[0].String()
	out := Text{Text: before + t.Text + "\n" + sides[1].String(), Slice: t.Slice}
	for _, s := range t.spans {
		s.start, s.end = s.start+len(before), s.end+len(before)
		out.spans = append(out.spans, s)
	}
	return out, nil
}

// variants are the ways in which an author writes a text.
func variants(t *Text, r *rand.Rand) []Text {
	out := []Text{t.lower(), t.upper(), t.mistyped(r), t.lower().mistyped(r)}
	for _, l := range lures {
		x := Text{Text: l + t.Text + " " + strings.ToLower(l), Slice: t.Slice}
		for _, s := range t.spans {
			s.start, s.end = s.start+len(l), s.end+len(l)
			x.spans = append(x.spans, s)
		}
		out = append(out, x, x.lower())
	}
	// What is private in a form that the network does not read, among its own words.
	for _, as := range []func(string) string{
		func(v string) string { return strings.Join(strings.Split(v, ""), "\u200b") },
		func(v string) string { return strings.ReplaceAll(v, " ", "%20") },
		func(v string) string { return hex.EncodeToString([]byte(v)) },
		func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
		tagged,
	} {
		out = append(out, t.disguised(as))
	}
	return out
}

// tagged writes a value in characters that nobody sees.
func tagged(v string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return -1
		}
		return 0xe0000 + r
	}, v)
}

// disguised returns the text with what is private in another form.
func (t Text) disguised(as func(string) string) Text {
	out := Text{Slice: t.Slice}
	var b strings.Builder
	at := 0
	for _, s := range t.spans {
		if s.start < at {
			continue
		}
		b.WriteString(t.Text[at:s.start])
		moved := s
		moved.start = b.Len()
		b.WriteString(as(t.Text[s.start:s.end]))
		if moved.end = b.Len(); moved.end > moved.start {
			out.spans = append(out.spans, moved)
		}
		at = s.end
	}
	b.WriteString(t.Text[at:])
	out.Text = b.String()
	return out
}
