package tagger

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/defend/tagger"
)

// Row is what was measured on one slice of the test's texts.
type Row struct {
	Slice   string             `json:"slice"`
	Texts   int                `json:"texts"`
	Metrics map[string]float64 `json:"metrics"`
}

// tally counts spans and sentences.
type tally struct {
	texts                                int
	spans, found, touched, field, relate int
	given, right                         int
	chars, shown                         int
	sentences, alarmed, private          int
	passed, let                          [2]int // private and other sentences called clear at 0.95, and at 0.99
	clean                                int    // texts without a span
	fields                               map[string]*tally
	curve                                [10]struct{ n, clear, p float64 }
}

func (t *tally) row(slice string) Row {
	r := Row{slice, t.texts, map[string]float64{}}
	put := func(name string, k, n int) {
		if n > 0 {
			r.Metrics[name] = math.Round(float64(k)/float64(n)*1e4) / 1e4
		}
	}
	r.Metrics["spans"] = float64(t.spans)
	put("recall", t.found, t.spans)        // half of its letters and digits are in spans
	put("touched", t.touched, t.spans)     // something of it is
	put("field_right", t.field, t.touched) // of these
	put("relation_right", t.relate, t.touched)
	put("precision", t.right, t.given)       // of spans given, touch a true one
	put("characters_kept", t.shown, t.chars) // of true spans, outside of given ones
	if t.sentences > 0 {
		r.Metrics["clear_sentences"] = float64(t.sentences - t.private)
		r.Metrics["private_sentences"] = float64(t.private)
		put("false_alarms", t.alarmed, t.sentences-t.private) // sentences with a span and nothing private
		for i, at := range []string{"95", "99"} {
			put("passed_at_"+at, t.passed[i], t.private)         // private, called clear
			put("clear_at_"+at, t.let[i], t.sentences-t.private) // of the others
		}
		put("texts_left_alone", t.clean, t.texts)
	}
	return r
}

func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// add counts one text.
func (t *tally) add(x *Text, got *tagger.Reading) {
	t.texts++
	if len(got.Spans) == 0 {
		t.clean++
	}
	for _, s := range x.spans {
		name := tagger.Fields()[s.class-1]
		if t.fields == nil {
			t.fields = map[string]*tally{}
		}
		if t.fields[name] == nil {
			t.fields[name] = &tally{}
		}
		for _, t := range []*tally{t, t.fields[name]} {
			in, field, relation := 0, false, false
			for _, g := range got.Spans {
				if from, to := max(g.Start, s.start), min(g.End, s.end); from < to {
					in += letters(x.Text[from:to])
					field = field || g.Field == name
					relation = relation || (g.Relation == "inferential") == s.inferred
				}
			}
			all := letters(x.Text[s.start:s.end])
			t.spans++
			t.chars += all
			t.shown += all - in
			if in > 0 {
				t.touched++
				if field {
					t.field++
				}
				if relation {
					t.relate++
				}
			}
			if 2*in >= all {
				t.found++
			}
		}
	}
	touches := func(from, to int) bool {
		return slices.ContainsFunc(x.spans, func(s span) bool { return from < s.end && s.start < to })
	}
	for _, g := range got.Spans {
		if t.given++; touches(g.Start, g.End) {
			t.right++
		}
	}
	for _, s := range got.Sentences {
		t.sentences++
		private := touches(s.Start, s.End)
		b := &t.curve[min(9, int(s.Clear*10))]
		b.n++
		b.p += s.Clear
		switch {
		case private:
			t.private++
			count(&t.passed, s.Clear)
		default:
			b.clear++
			count(&t.let, s.Clear)
			if slices.ContainsFunc(got.Spans, func(g tagger.Span) bool { return g.Start < s.End && s.Start < g.End }) {
				t.alarmed++
			}
		}
	}
}

func count(n *[2]int, clear float64) {
	for i, at := range []float64{0.95, 0.99} {
		if clear >= at {
			n[i]++
		}
	}
}

// kinds reads templates with nothing private, by kind, each by itself.
func kinds(ctx context.Context, c *Corpus, m *tagger.Model, o *Options) ([]Row, error) {
	var names []string
	tallies := map[string]*tally{}
	for i := range c.templates {
		x := &c.templates[i]
		if x.Slice != Benign || x.Part != Test {
			continue
		}
		name := "benign,kind=" + x.Kind
		if x.Kind == Benign {
			name = "benign,kind=" + x.Category
		}
		t := tallies[name]
		if t == nil {
			t = &tally{}
			names, tallies[name] = append(names, name), t
		}
		for n := range uint64(max(1, o.Texts/25)) {
			w := &writer{Grammar: c.Grammar, r: rand.New(rand.NewPCG(o.Seed<<32|uint64(i), n)), part: Test}
			w.write(x.Text)
			if w.err != nil {
				return nil, w.err
			}
			if err := read(ctx, m, &Text{Text: w.b.String()}, t); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(names)
	var rows []Row
	for _, n := range names {
		rows = append(rows, tallies[n].row(n))
	}
	return rows, nil
}

// Bin is a part of the calibration curve: sentences that were called clear with
// such a probability, and how many of them were.
type Bin struct {
	Sentences int     `json:"sentences"`
	Said      float64 `json:"said"`
	Clear     float64 `json:"clear"`
}

// measure reads the test's texts by the model.
func measure(ctx context.Context, c *Corpus, m *tagger.Model, o *Options) (rows []Row, curve []Bin, calibration float64, _ error) {
	var all tally
	slice := func(name, slice, category string) error {
		var t tally
		for i := range uint64(o.Texts) {
			x, err := c.DrawOf(Test, slice, category, o.Seed, i)
			if err == nil {
				err = read(ctx, m, &x, &t, &all)
			}
			if err != nil {
				return err
			}
		}
		rows = append(rows, t.row(name))
		return nil
	}
	for _, w := range weights {
		if o.Brief {
			break
		}
		if err := slice(w.slice, w.slice, ""); err != nil {
			return nil, nil, 0, err
		}
	}
	unseen := []string{testCategory, testAuthor}
	if o.Fold != "" {
		unseen[0] = leftOut
	}
	var mixed tally
	for _, category := range unseen {
		for _, s := range []string{Nominal, Omission, Benign} {
			if err := slice(fmt.Sprintf("%s,category=%s", s, category), s, category); err != nil {
				return nil, nil, 0, err
			}
		}
	}
	for i := range uint64(4 * o.Texts) { // in the corpus's own shares
		x, err := c.Draw(Test, o.Seed, i)
		if err == nil {
			err = read(ctx, m, &x, &mixed)
		}
		if err != nil {
			return nil, nil, 0, err
		}
	}
	rows = append(rows, mixed.row("mixed"))
	for _, f := range tagger.Fields() {
		if t := all.fields[f]; t != nil {
			rows = append(rows, t.row("field="+f))
		}
	}
	if !o.Brief {
		more, err := apart(ctx, c, m, o)
		if err != nil {
			return nil, nil, 0, err
		}
		rows = append(rows, more...)
	}
	var n float64
	for _, b := range mixed.curve {
		if b.n > 0 {
			curve = append(curve, Bin{int(b.n), round4(b.p / b.n), round4(b.clear / b.n)})
			calibration += math.Abs(b.p - b.clear)
			n += b.n
		}
	}
	return rows, curve, round4(calibration / n), nil
}

// apart reads templates with nothing private by kind, and whole files of sources.
func apart(ctx context.Context, c *Corpus, m *tagger.Model, o *Options) ([]Row, error) {
	rows, err := kinds(ctx, c, m, o)
	if err != nil {
		return nil, err
	}
	files := tally{}
	for _, src := range c.code[Test] {
		if err := read(ctx, m, &Text{Text: anonymous(src)}, &files); err != nil {
			return nil, err
		}
	}
	return append(rows, files.row("source files")), nil
}

// anonymous is a source file without the lines that may name its authors.
func anonymous(src string) string {
	lines := strings.Split(src, "\n")
	return strings.Join(slices.DeleteFunc(lines, named), "\n")
}

func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func read(ctx context.Context, m *tagger.Model, x *Text, into ...*tally) error {
	got, err := m.Read(ctx, x.Text)
	for _, t := range into {
		t.add(x, &got)
	}
	return err
}
