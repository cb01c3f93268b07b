package tagger

import (
	"context"
	"encoding/base32"
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
	padding, err := c.paddings(seed)
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
		for i := range padding {
			x := t.within(padding[i])
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

// paddings returns clear texts of the test to hide a private one in. Each is so long that
// the screener's prior reaches its bound.
func (c *Corpus) paddings(seed uint64) ([]string, error) {
	const bytes = 12_000
	var out []string
	for _, slice := range []string{Source, Prose} {
		var b strings.Builder
		for i := uint64(0); b.Len() < bytes; i++ {
			x, err := c.DrawOf(Test, slice, "", seed, 1<<40|i)
			if err != nil {
				return nil, err
			}
			b.WriteString(x.Text + "\n")
		}
		out = append(out, b.String())
	}
	return out, nil
}

// within returns the text in the middle of another.
func (t Text) within(padding string) Text {
	at := len(padding)/2 + 1 + strings.IndexByte(padding[len(padding)/2:], '\n')
	out := Text{Text: padding[:at] + t.Text + "\n" + padding[at:], Slice: t.Slice}
	for _, s := range t.spans {
		s.start, s.end = s.start+at, s.end+at
		out.spans = append(out.spans, s)
	}
	return out
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
		func(v string) string { return base32.StdEncoding.EncodeToString([]byte(v)) },
		masked,
		tagged,
	} {
		out = append(out, t.disguised(as))
	}
	return out
}

// masked writes a value so that only who knows the mask can read it.
func masked(v string) string {
	b := []byte(v)
	for i := range b {
		b[i] ^= 0xa7 + byte(i)*0x1d
	}
	return hex.EncodeToString(b)
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
