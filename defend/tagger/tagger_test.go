package tagger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

func model(t testing.TB) *Model {
	t.Helper()
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func read(t testing.TB, text string) Reading {
	t.Helper()
	r, err := model(t).Read(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// digest is what the card has of a reading.
func digest(r Reading) string {
	sum := sha256.Sum256(fmt.Append(nil, r))
	return hex.EncodeToString(sum[:])
}

// The card is that of the weights, and this machine reads as the one did that
// wrote it.
func TestCard(t *testing.T) {
	b, err := os.ReadFile("weights.json")
	if err != nil {
		t.Fatal(err)
	}
	var card struct {
		Command, Weights, Fold string
		Size                   int
		Probe                  struct{ Text, Reading string }
	}
	if err := json.Unmarshal(b, &card); err != nil {
		t.Fatal(err)
	}
	if card.Weights != model(t).Hash() || card.Size != len(shipped) || card.Command == "" || card.Fold != "" {
		t.Errorf("the card is of weights %s of %d bytes; these are %s of %d", card.Weights, card.Size, model(t).Hash(), len(shipped))
	}
	if len(shipped) > 3<<20 {
		t.Errorf("%d bytes are more than 3 MB", len(shipped))
	}
	if got := digest(read(t, card.Probe.Text)); got != card.Probe.Reading {
		t.Errorf("the probe reads as %s, on the card as %s", got, card.Probe.Reading)
	}
}

func TestLoadRefuses(t *testing.T) {
	resealed := func(at int, to byte) []byte {
		b := bytes.Clone(shipped)
		b[at] = to
		sum := sha256.Sum256(b[len(magic)+sha256.Size:])
		copy(b[len(magic):], sum[:])
		return b
	}
	flipped := bytes.Clone(shipped)
	flipped[len(flipped)/2] ^= 1
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"the magic alone":       []byte(magic),
		"a byte less":           shipped[:len(shipped)-1],
		"a byte more":           append(bytes.Clone(shipped), 0),
		"another version":       append([]byte("margay tagger 2\n"), shipped[len(magic):]...),
		"a flipped bit":         flipped,
		"no number":             resealed(len(magic)+sha256.Size+Buckets*Dim+3, 0x7f),
		"a falling calibration": resealed(len(shipped)-5, 0xbf), // the last probability is below none
	} {
		if _, err := Load(b); err == nil {
			t.Errorf("%s is loaded", name)
		}
	}
	if m, err := Load(bytes.Clone(shipped)); err != nil || m.Hash() != model(t).Hash() {
		t.Errorf("the weights are refused: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(magic), 0, byte(0))
	f.Add([]byte(nil), len(magic)+3, byte(1))
	f.Add([]byte(nil), len(shipped)-3, byte(0xff))
	f.Fuzz(func(t *testing.T, b []byte, at int, to byte) {
		if m, err := Load(b); (m == nil) == (err == nil) {
			t.Error("neither a model nor an error")
		}
		if at < len(magic)+sha256.Size || at >= len(shipped) {
			return
		}
		b = bytes.Clone(shipped) // with its hash, so that the rest is read
		b[at] = to
		sum := sha256.Sum256(b[len(magic)+sha256.Size:])
		copy(b[len(magic):], sum[:])
		m, err := Load(b)
		if err != nil {
			return
		}
		again, err := Encode(signed(m.rows), &m.scale, &m.senses, &m.dense, &m.cal)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("written again it is another file: %v", err)
		}
		sound(t, m, "Maria Lopez, born 3 March 1980, has asthma.")
	})
}

func signed(b []byte) []int8 {
	out := make([]int8, len(b))
	for i := range b {
		out[i] = int8(b[i])
	}
	return out
}

// sound holds a reading to what Reading promises.
func sound(t *testing.T, m *Model, text string) {
	t.Helper()
	r, err := m.Read(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	at, word := 0, false
	for _, s := range r.Sentences {
		if s.Start < at || s.End <= s.Start || s.End > len(text) || !(s.Clear >= 0 && s.Clear <= 1) || strings.ContainsFunc(text[at:s.Start], func(r rune) bool { return !unicode.IsSpace(r) }) {
			t.Errorf("%q: sentence %+v after %d", text, s, at)
		}
		at = s.End
	}
	if strings.TrimSpace(text[at:]) != "" {
		t.Errorf("%q: nothing is said of the rest from %d on", text, at)
	}
	at = 0
	for _, s := range r.Spans {
		word = s.Start >= at && s.End > s.Start && s.End <= len(text) && worded(text[s.Start:s.End])
		if !word || s.Field == "" || s.Relation == "" || !(s.Confidence >= 0 && s.Confidence <= 1) {
			t.Errorf("%q: span %+v after %d", text, s, at)
		}
		if utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]) {
			t.Errorf("%q: span %+v cuts a character", text, s)
		}
		at = s.End
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "Maria Lopez, born 3 March 1980.", "a\xff\xc3", "\n\r\n é e\u0301 漢字 ﷽ J. o'b 12:30", strings.Repeat("x", 300), strings.Repeat("Ana ", 700), "İıǅ'’'a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, model(t), text) })
}

// What is more than the network's reach away changes nothing, wherever blocks end.
func TestBlocks(t *testing.T) {
	m := model(t)
	lines := strings.Repeat("The build is green.\n", 8)
	text := "Call Maria Lopez, born 3 March 1980, her number is +44 79 4821 3907.\nShe has asthma.\n"
	want := read(t, lines+text+lines)
	if len(want.Spans) == 0 {
		t.Fatal("nothing is found")
	}
	for n := 1; n < 240; n += 7 {
		pad := strings.Repeat("ok then\n", n)
		r, err := m.Read(context.Background(), pad+lines+text+lines)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Spans {
			r.Spans[i].Start -= len(pad)
			r.Spans[i].End -= len(pad)
		}
		if !slices.Equal(r.Spans, want.Spans) {
			t.Fatalf("after %d lines: %+v, without them %+v", n, r.Spans, want.Spans)
		}
	}
}

func TestReadIsConcurrent(t *testing.T) {
	texts := []string{"Maria Lopez, born 3 March 1980.", strings.Repeat("Ask Tom Baker about his divorce. ", 90), "x := 1"}
	var wg sync.WaitGroup
	for i := range 12 {
		text := texts[i%3]
		want := read(t, text)
		wg.Go(func() {
			if got := read(t, text); digest(got) != digest(want) {
				t.Error("it is read otherwise")
			}
		})
	}
	wg.Wait()
}

func TestReadEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := model(t).Read(ctx, "a"); err == nil {
		t.Error("it goes on after its context ended")
	}
}

// half are Rules that know a half of a name.
type half struct{ declassify.Rules }

func (half) Necessity(string, flow.Class) rubric.Necessity { return rubric.Useful }
func (half) Match(_, text string) (out []rubric.Match) {
	if i := strings.Index(text, "Maria"); i >= 0 {
		out = append(out, rubric.Match{Start: i, End: i + 5, Field: "legal-name", Clause: "list"})
	}
	return out
}

func TestEvidence(t *testing.T) {
	req := &declassify.Request{
		Tool:  &schema.Tool{Class: flow.SemiTrusted, Args: []schema.Arg{{Path: "to", Field: "email"}}},
		Parts: []declassify.Part{{Path: "to", Text: "a@b.example"}, {Path: "note", Text: "Passenger: Maria Lopez, born 3 March 1980, phone +44 79 4821 3907"}, {Path: "empty"}},
		Rules: half{},
		Plan: func(ls []evidence.Label) ([]evidence.Proposal, string, error) {
			out := make([]evidence.Proposal, len(ls))
			for i := range out {
				out[i] = evidence.Proposal{Atom: i, Op: "redact"}
			}
			return out, "v", nil
		},
	}
	d := New(model(t))
	raw, err := d.Evidence(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := evidence.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := evidence.Check([]string{req.Parts[0].Text, req.Parts[1].Text, ""}, ev.Atoms, ev.Operators); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	var ask []evidence.Challenge
	for i, l := range ev.Atoms {
		got[req.Parts[l.Part].Text[l.Start:l.End]] = l.Field + " " + l.Provenance
		ask = append(ask, evidence.Challenge{Atom: i, Part: l.Part, Start: l.Start, End: l.End, Field: l.Field})
	}
	for text, want := range map[string]string{"a@b.example": "email rubric", "Maria": "legal-name rubric", "Lopez": "legal-name model"} {
		if got[text] != want {
			t.Errorf("%q is %q, want %q; all: %v", text, got[text], want, got)
		}
	}
	raw, err = d.Answers(context.Background(), req, append(ask, evidence.Challenge{Part: 9}))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := evidence.ParseAnswers(raw, len(ask)+1)
	if err != nil || slices.Contains(answers[:len(ask)], false) || answers[len(ask)] {
		t.Errorf("%v %v", answers, err)
	}
}

// More labels than a statement may have are one for the whole part.
func TestEvidenceIsNotFlooded(t *testing.T) {
	text := strings.Repeat("Passenger: Maria Lopez, born 3 March 1980, phone +44 79 4821 3907\n", evidence.MaxLabels/2)
	labels, err := New(model(t)).labels(context.Background(), &declassify.Request{
		Tool: &schema.Tool{Class: flow.SemiTrusted}, Rules: half{},
		Parts: []declassify.Part{{Path: "a", Text: "plain"}, {Path: "b", Text: text}},
	})
	if err != nil || len(labels[0]) != 0 || len(labels[1]) != 1 || labels[1][0].End != len(text)-1 {
		t.Errorf("%d and %d labels, %v", len(labels[0]), len(labels[1]), err)
	}
}

var thousand = strings.Repeat("Hello team, Maria Lopez (born 3 March 1980) asked whether the report of last week is ready; call her at +44 79 4821 3907. ", 9)[:1000]

func TestReadAllocatesLittle(t *testing.T) {
	m := model(t)
	if n := testing.AllocsPerRun(20, func() { _, _ = m.Read(context.Background(), thousand) }); n > 60 {
		t.Errorf("%.0f allocations for 1,000 characters", n)
	}
}

func BenchmarkRead(b *testing.B) {
	m := model(b)
	for name, text := range map[string]string{"300": thousand[:300], "1000": thousand, "64k": strings.Repeat(thousand, 64)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			best := time.Hour // what other processes take is not in it
			for b.Loop() {
				began := time.Now()
				if _, err := m.Read(context.Background(), text); err != nil {
					b.Fatal(err)
				}
				best = min(best, time.Since(began))
			}
			b.ReportMetric(float64(best.Nanoseconds())/float64(len(text)), "best-µs/1000chars")
			if per := best * 1000 / time.Duration(len(text)); per > 3*time.Millisecond {
				b.Errorf("%v for 1,000 characters, more than 3 ms", per)
			}
		})
	}
}
