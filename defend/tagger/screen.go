package tagger

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/flow"
)

// ClearFrom is the probability that nothing private is in a sentence from which on the
// sentence is clear.
const ClearFrom = 0.9

// doubt bounds the share of texts in which a private sentence is clear although an
// attacker wrote them, as a share of a bit: by margay-lab train tagger --attack.
const doubt = 420_000

// Screener implements declassify.Screener by a model. It is safe for concurrent use.
type Screener struct{ model *Model }

// NewScreener returns a screener that reads by a model.
func NewScreener(m *Model) *Screener { return &Screener{m} }

// Doubt implements declassify.Screener.
func (*Screener) Doubt() flow.Bits { return doubt }

// Clear returns the sentences that are clear, and that no span of the network is in.
func (s *Screener) Clear(ctx context.Context, text string) ([]span.Place, error) {
	r, err := s.model.Read(ctx, text)
	if err != nil {
		return nil, err
	}
	var out []span.Place
	k := 0
	among(r.Sentences)
	for _, x := range r.Sentences {
		for k < len(r.Spans) && r.Spans[k].End <= x.Start {
			k++
		}
		if x.Clear >= ClearFrom && !disguised(text[x.Start:x.End]) && (k == len(r.Spans) || r.Spans[k].Start >= x.End) {
			out = append(out, span.Place{Start: x.Start, End: x.End})
		}
	}
	return out, nil
}

const (
	usual  = 0.25 // share of private sentences in the texts that calibrate the network
	weight = 20   // sentences that this share counts for, besides the sentences of a text
	least  = 0.1  // least factor for the odds of being private
)

// among corrects each sentence's probability for the text around it (empirical Bayes). If
// the other sentences are clear, as in source code, private ones are rarer than in the
// texts that calibrated the network. The odds of being private are multiplied by the ratio
// of the prior odds, held between least and 1.
func among(all []Sentence) {
	odds := func(p float64) float64 { return p / (1 - p) }
	var sum float64
	for i := range all {
		sum += 1 - all[i].Clear
	}
	for i := range all {
		p := min(1-all[i].Clear, 0.9999)
		prior := (sum - p + weight*usual) / (float64(len(all)-1) + weight)
		o := odds(p) * max(least, min(1, odds(min(prior, 0.9999))/odds(usual)))
		all[i].Clear = 1 / (1 + o)
	}
}

// disguised reports whether a sentence may say something to others that the network
// does not read: in characters that nobody sees, or in an encoding.
func disguised(s string) bool {
	return strings.ContainsFunc(s, unseen) || percent.MatchString(s) || slices.ContainsFunc(runs.FindAllString(s, -1), encoded)
}

var (
	percent = regexp.MustCompile(`%20|%[2-7][0-9A-Fa-f].*%[2-7][0-9A-Fa-f]`)
	runs    = regexp.MustCompile(`[A-Za-z0-9]{10,}`)
)

// encoded reports whether a run spells a text in an encoding, or is no word of a language or
// a program: it has digits, and changes between them, small letters and capitals as often
// as random ones do, or nearly as often while few of its letters are in words.
func encoded(run string) bool {
	const (
		often = 3  // letters between changes, at most
		rare  = 5  // the same where letters are in no words
		long  = 20 // from which on one number in it is enough
	)
	if run = strings.TrimPrefix(run, "0x"); spellsText(run) {
		return true
	}
	numbers, changes := 0, 0
	kind := func(c byte) int {
		switch {
		case c >= '0' && c <= '9':
			return 0
		case c >= 'a' && c <= 'z':
			return 1
		}
		return 2
	}
	for i := range len(run) {
		k := kind(run[i])
		if k == 0 && (i == 0 || kind(run[i-1]) != 0) {
			numbers++
		}
		if i > 0 && k != kind(run[i-1]) && (k != 1 || kind(run[i-1]) != 2) { // Word is none
			changes++
		}
	}
	if numbers == 0 || numbers == 1 && len(run) < long || len(run) < 10 {
		return false
	}
	words := 0
	for _, w := range spoken.FindAllString(run, -1) {
		words += len(w)
	}
	return changes*often >= len(run) || changes*rare >= len(run) && 2*words < len(run)
}

// spoken matches a word as names of programs have them: no four consonants in a row, and no
// capital but the first.
var spoken = regexp.MustCompile(`[A-Za-z](?:[a-z]{0,2}[aeiouy])+[a-z]{0,2}`)

// spellsText reports whether a run is a text in hexadecimal, with one byte a character or
// two, or in base64 or base32.
func spellsText(run string) bool {
	if b, err := hex.DecodeString(run); err == nil {
		return says(bytes.ReplaceAll(b, []byte{0}, nil), 3, func(r rune) bool { return r >= ' ' && r != 0x7f })
	}
	// By chance, some names decode to letters; few of these lengths do.
	const long, short = 9, 6
	usual := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || r > 0x7f && unicode.IsGraphic(r) || strings.ContainsRune(" .,:;/@'()_+#=&!?$-\n", r)
	}
	for skip := range min(4, len(run)) { // a run may begin within a group of four
		if b, _ := base64.RawStdEncoding.DecodeString(run[skip:]); says(b, long, usual) {
			return true
		}
	}
	upper, least, some := strings.ToUpper(run), long, usual
	if strings.ContainsAny(run, "234567") && (upper == run || strings.ToLower(run) == run) { // few names have those digits alone
		least, some = short, unicode.IsGraphic
	}
	b, _ := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(upper)
	return !strings.ContainsAny(run, "0189") && says(b, least, some)
}

// says reports whether bytes are a text of some length with no characters but some.
func says(b []byte, least int, some func(rune) bool) bool {
	return len(b) >= least && utf8.Valid(b) && !bytes.ContainsFunc(b, func(r rune) bool { return !some(r) })
}

// unseen: the network reads it as a mark or not at all, and other readers don't.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
