package corpus

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/margaydev/margay/secret/recognise"
)

const size = 96 << 10

// A seed and a size give the same bytes; another seed gives others.
func TestTextsFollowTheSeed(t *testing.T) {
	for _, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			a, b, other := text(t, c, 1), text(t, c, 1), text(t, c, 2)
			if len(a) != size || !bytes.Equal(a, b) {
				t.Errorf("%d bytes, the same again: %v", len(a), bytes.Equal(a, b))
			}
			if bytes.Equal(a[size/2:], other[size/2:]) {
				t.Error("another seed gives the same text")
			}
			// Repeated sentences would compress far better than that.
			if r := compressed(t, a); r < 0.1 {
				t.Errorf("the text compresses to %.3f of its size", r)
			}
			long := 0
			for l := range bytes.Lines(a) {
				long = max(long, len(l))
			}
			if c.Name == "js" && long < 1000 {
				t.Errorf("the longest line has %d bytes", long)
			}
			if c.Name == "cjk" {
				if share := float64(utf8.RuneCount(a)) / size; share > 0.6 {
					t.Errorf("%.2f characters a byte", share)
				}
			}
		})
	}
}

func text(t *testing.T, c Corpus, seed uint64) []byte {
	t.Helper()
	b, err := c.Text(size, seed)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compressed(t *testing.T, b []byte) float64 {
	t.Helper()
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(z, bytes.NewReader(b)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return float64(out.Len()) / float64(len(b))
}

func TestAttacksHaveTheirSizes(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range Attacks() {
		a, err := h.Text(4096, 1)
		if err != nil || len(a) != 4096 || h.Unit == "" {
			t.Errorf("%s: %d bytes, %v", h.Name, len(a), err)
		}
		if b, _ := h.Text(4096, 1); !bytes.Equal(a, b) {
			t.Errorf("%s differs from run to run", h.Name)
		}
		if seen[h.Name] || strings.ContainsAny(h.Name, ",= ") {
			t.Errorf("%q can't stand in a slice, or is there twice", h.Name)
		}
		seen[h.Name] = true
	}
}

// What a rule's expression makes starts as a match does.
func TestPrefixes(t *testing.T) {
	h, err := Prefix(Expression{"aws", `\b(AKIA[A-Z2-7]{16})\b`})
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.Text(200, 1)
	if err != nil || !bytes.HasPrefix(b, []byte("AKIA")) || bytes.Count(b, []byte("AKIA")) < 9 {
		t.Errorf("%q, %v", b, err)
	}
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	var all []Expression
	for _, r := range rules.Rules() {
		if r.Regex == "" {
			continue
		}
		all = append(all, Expression{r.ID, r.Regex})
		h, err := Prefix(all[len(all)-1])
		if err != nil {
			t.Fatal(err)
		}
		if b, err := h.Text(4096, 1); err != nil || len(b) != 4096 {
			t.Errorf("%s: %d bytes, %v", r.ID, len(b), err)
		}
	}
	if h, err = Prefixes(all); err != nil {
		t.Fatal(err)
	}
	if b, err := h.Text(size, 1); err != nil || len(b) != size {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
