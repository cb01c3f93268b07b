// Package tagger is a defender that reads: a small network, trained by
// margay-lab train tagger and shipped as data, finds what texts disclose of
// people that no clause of a rubric matches. Each token is a sum of hashed
// embeddings (its word, shape and parts); three convolutions read it with seven
// tokens to each side, and a maximum over its sentence.
//
// The network adds labels to those of the rubrics and removes none. It is an
// adviser: declassify.Verifier trusts it no more than any other. It runs in the
// process, takes time linear in the text, and says the same on every machine.
package tagger

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/defend/rules"
)

// Span is a stretch of a text that discloses something of a person.
type Span struct {
	Start, End int // bytes
	Field      string
	Relation   string  // explicit, or inferential: what it says has to be concluded
	Confidence float64 // probability that a token of it is private, the mean
}

// Sentence is a sentence of a text, or a line.
type Sentence struct {
	Start, End int     // bytes
	Clear      float64 // probability that nothing private is in it
}

// Reading is what the network says of a text. Both lists are in order and disjoint;
// what is between two sentences is space.
type Reading struct {
	Spans     []Span
	Sentences []Sentence
}

// unclear is the probability of being clear below which a sentence without a span
// is a span as a whole: something is private in it, the network can't say where.
const unclear = 0.2

// Read reads a text.
func (m *Model) Read(ctx context.Context, text string) (Reading, error) {
	var r Reading
	err := m.read(ctx, text, func(t []Token, said []guess, score float32) {
		s := Sentence{t[0].Start, t[len(t)-1].End, 1 - float64(m.cal.private(score))}
		r.Sentences = append(r.Sentences, s)
		had := len(r.Spans)
		r.Spans = m.spans(text, t, said, r.Spans)
		if last := len(t) - 1; t[last].Kind == Line && last > 0 {
			s.End = t[last-1].End
		}
		if len(r.Spans) == had && s.Clear < unclear && worded(text[s.Start:s.End]) {
			r.Spans = append(r.Spans, Span{s.Start, s.End, Private, "inferential", 1 - s.Clear})
		}
	})
	return r, err
}

// spans appends the spans of a sentence. A span holds a token that is private by
// the threshold of its class. It extends to both sides over tokens that reach half of the
// threshold, also across one mark. For fields in inProse a tenth is enough, within a clause.
// A token over the threshold of another field starts another span.
func (m *Model) spans(text string, t []Token, said []guess, out []Span) []Span {
	sure := func(i int) bool { return t[i].Kind != Line && said[i].private >= m.cal.Threshold[said[i].class] }
	near := func(i int, part float32) bool {
		return t[i].Kind != Line && said[i].private >= m.cal.Threshold[said[i].class]/part
	}
	likely := func(i int) bool {
		if t[i].Kind == Word && inProse[said[i].class] {
			return near(i, 10)
		}
		return near(i, 2)
	}
	for i := 0; i < len(t); {
		if !likely(i) {
			i++
			continue
		}
		s, class, end := Span{Start: t[i].Start}, 0, i
		sum, inferential := float32(0), 0
		k := i
		for ; k < len(t); k++ {
			if !likely(k) {
				if t[k].Kind == Mark && k == end && k+1 < len(t) && near(k+1, 2) {
					continue
				}
				break
			}
			if sure(k) {
				if class == 0 {
					class = said[k].class
				} else if class != said[k].class {
					break
				}
			}
			sum += said[k].private
			if end = k + 1; said[k].inferential {
				inferential++
			}
		}
		if s.End = t[end-1].End; class > 0 && worded(text[s.Start:s.End]) {
			s.Field, s.Relation, s.Confidence = fields[class-1], "explicit", min(1, float64(sum)/float64(end-i))
			if 2*inferential > end-i {
				s.Relation = "inferential"
			}
			out = append(out, s)
		}
		i = end
	}
	return out
}

// inProse marks the classes of fields that texts disclose in clauses rather than as values.
var inProse = func() (out [Classes]bool) {
	for i, f := range fields {
		out[i+1] = f == "diagnosis" || f == Private
	}
	return out
}()

func worded(s string) bool { return strings.ContainsFunc(s, inWord) }

// Defender implements declassify.Defender and declassify.Challenged by a model. It is
// safe for concurrent use.
type Defender struct{ model *Model }

// New returns a defender that reads by a model.
func New(m *Model) *Defender { return &Defender{m} }

// Evidence labels a candidate: what the rubrics find, and what the network finds
// besides.
func (d *Defender) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	parts, err := d.labels(ctx, r)
	if err != nil {
		return nil, err
	}
	return rules.Planned(r, evidence.Statement{Context: r.Context, Atoms: slices.Concat(parts...)})
}

// Answers reads the texts of labels again, and stretches without a label alone.
func (d *Defender) Answers(ctx context.Context, r *declassify.Request, cs []evidence.Challenge) ([]byte, error) {
	return rules.Answered(cs, func(c *evidence.Challenge) ([]evidence.Label, error) {
		known := rules.Labels(r, c.Part)
		if c.Part < 0 || c.Part >= len(r.Parts) {
			return nil, nil
		}
		if c.Atom >= 0 {
			found, err := d.found(ctx, r, c.Part, known)
			return append(known, found...), err
		}
		if arg := r.Tool.Arg(r.Parts[c.Part].Path); arg.Field != "" && !arg.Free {
			return known, ctx.Err()
		}
		alone, err := d.model.Read(ctx, r.Parts[c.Part].Text[c.Start:c.End])
		for i := range alone.Spans {
			s := &alone.Spans[i]
			known = add(known, r, c.Part, s, s.Start+c.Start, s.End+c.Start)
		}
		return known, err
	})
}

// labels are those of each part. If there are more than a statement may have, all of
// a part in which the network found something is one label, so that nobody hides a
// span behind many others.
func (d *Defender) labels(ctx context.Context, r *declassify.Request) ([][]evidence.Label, error) {
	known, all, total := make([]int, len(r.Parts)), make([][]evidence.Label, len(r.Parts)), 0
	for i := range r.Parts {
		all[i] = rules.Labels(r, i)
		found, err := d.found(ctx, r, i, all[i])
		if err != nil {
			return nil, err
		}
		known[i], all[i] = len(all[i]), append(all[i], found...)
		total += len(all[i])
	}
	if total > evidence.MaxLabels {
		for i := range all {
			if len(all[i]) > known[i] {
				all[i] = add(nil, r, i, &Span{Field: Private, Relation: "explicit"}, 0, len(r.Parts[i].Text))
			}
		}
	}
	return all, nil
}

// found are labels for what of the network's spans in a part is outside of the
// labels that are known.
func (d *Defender) found(ctx context.Context, r *declassify.Request, part int, known []evidence.Label) (out []evidence.Label, _ error) {
	if arg := r.Tool.Arg(r.Parts[part].Path); arg.Field != "" && !arg.Free {
		return nil, ctx.Err()
	}
	got, err := d.model.Read(ctx, r.Parts[part].Text)
	if err != nil {
		return nil, err
	}
	k := 0 // known labels that end before the span; both lists are in order
	for _, s := range got.Spans {
		for k < len(known) && known[k].End <= s.Start {
			k++
		}
		at := s.Start
		for j := k; j < len(known) && known[j].Start < s.End; j++ {
			out = add(out, r, part, &s, at, known[j].Start)
			at = known[j].End
		}
		out = add(out, r, part, &s, at, s.End)
	}
	return out, nil
}

// add appends a label for the words of a span between two offsets, if there are any.
func add(out []evidence.Label, r *declassify.Request, part int, s *Span, start, end int) []evidence.Label {
	if start >= end || !worded(r.Parts[part].Text[start:end]) {
		return out
	}
	text := r.Parts[part].Text[start:end]
	start += len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	end -= len(text) - len(strings.TrimRightFunc(text, unicode.IsSpace))
	return append(out, evidence.Label{
		Part: part, Start: start, End: end, Role: "text", Field: s.Field, Relation: s.Relation,
		Necessity: r.Rules.Necessity(s.Field, r.Tool.Class).String(), Provenance: "model",
	})
}
