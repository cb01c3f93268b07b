package declassify

import (
	"slices"

	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Unknown is the field of an atom without a believed label.
const Unknown = clause.Unknown

// Piece is an atom of a candidate while the release is decided: one span of it.
// Pieces are disjoint. A trusted clause lets the text between them pass.
type Piece struct {
	// Field is Unknown if the piece has no label, or a wrong one.
	Field string
	// Claim is the field that the evidence labels it with, believed or not;
	// empty for none.
	Claim string

	part, start, end int
	path             string
	text             string    // the value; of a pseudonym, its value
	token            string    // the pseudonym in its place, if any
	label            int       // of the evidence; -1: none
	why              rule.Rule // why the field is unknown

	// fields are those that the piece may be of; all if any is set.
	fields []string
	any    bool
	parsed bool     // the rubrics read a value of its field in it
	strict []string // fields of what clauses are sure of in it besides, each as often as it is there
	typed  bool     // the whole of a typed argument
	schema string   // its field
	plain  bool     // in a typed argument of no field
	lone   bool     // in a text whose rest may not pass
	match  bool     // a predicate matches in it
	sure   bool     // a clause is sure of its field
	canon  string   // the value that the family has seen, as it was then; empty for none
	named  bool     // it is a pseudonym

	nec   rubric.Necessity
	ops   []rubric.Op // admissible, in disclosure order
	op    int
	floor int  // utility allows no less than ops[floor]
	lost  bool // no operator is enough for the utility
	value charge.Hash
	kappa flow.Bits
	ambig bool // its fields are of several groups
}

// Reading is what is known of one part before any evidence.
type Reading struct {
	Arg     schema.Arg     // what the tool's schema says of it
	Names   []Pseudonym    // in it
	Matches []rubric.Match // of the clauses of coverage; of a typed argument, in its value
	seen    []known.Match  // of values that the family has seen
	planted bool           // known values are not looked for
	// Passes: text without a label or a match may pass.
	Passes bool
}

// Typed reports whether the part is, as a whole, a value of the schema's field.
func (r *Reading) Typed() bool { return r.Arg.Field != "" && !r.Arg.Free }

// cutter cuts a candidate into pieces.
type cutter struct {
	c        *Candidate
	rules    Rules
	known    *known.Finder
	screen   screen
	lost     bool // there are values that are not looked for
	class    flow.Class
	fields   []string
	readings []Reading
	pieces   []Piece
}

// read reads a part as an argument.
func (k *cutter) read(part int, arg schema.Arg) Reading {
	p := &k.c.Parts[part]
	r := Reading{Arg: arg, planted: k.planted(part)}
	if k.c.Names != nil {
		r.Names = k.c.Names.Find(p.Text)
	}
	if r.Typed() {
		r.Matches, r.seen = k.rules.Match(p.Path, r.value(p.Text)), k.known.Find(r.value(p.Text))
		return r
	}
	// A pseudonym of a field that the rubrics do not have is plain text.
	r.Names = slices.DeleteFunc(r.Names, func(n Pseudonym) bool {
		_, known := slices.BinarySearch(k.fields, n.Field)
		return !known
	})
	if r.Matches = k.rules.Match(p.Path, p.Text); !r.planted {
		r.seen = k.known.Find(p.Text)
		r.Matches = append(r.Matches, k.known.Hidden(p.Text)...)
	}
	r.Matches = slices.DeleteFunc(r.Matches, func(m rubric.Match) bool { return arg.Names(m.Field, p.Text, k.class) })
	// To a curious sink nothing passes by its path where a model screens it, unless
	// the sink is the model that the conversation is with.
	_, screens := k.rules.Screened(p.Path, k.class)
	open := k.screen.by == nil || k.class < flow.SemiTrusted || k.c.Tool.Channel == flow.ChannelModel
	r.Passes = !k.lost && (!arg.Free || (open || !screens) && k.rules.Residual(p.Path, k.class))
	return r
}

// planted reports whether a part is what others wrote for the model to read or, where
// values are hidden from it, what the model wrote for itself. Whoever wrote a value there
// must not learn from what becomes of it whether it is one of the family's.
func (k *cutter) planted(part int) bool {
	ch := k.c.Tool.Channel
	return k.c.Parts[part].Untrusted && (ch == flow.ChannelModel || ch == flow.ChannelMemory)
}

// whole returns the pseudonym that is all of a text; nil if there is none.
func (r *Reading) whole(text string) *Pseudonym {
	if len(r.Names) == 1 && r.Names[0].Start == 0 && r.Names[0].End == len(text) {
		return &r.Names[0]
	}
	return nil
}

// value is the value of a text; of a pseudonym, the value that it stands for.
func (r *Reading) value(text string) string {
	if n := r.whole(text); n != nil && n.Value != "" {
		return n.Value
	}
	return text
}

// cut cuts the parts by their readings and by labels, which evidence.Check has
// sorted by place.
func (k *cutter) cut(labels []evidence.Label, distrust map[int]rule.Rule) error {
	k.pieces, k.screen.parts = k.pieces[:0], nil
	at := 0
	for i := range k.readings {
		from := at
		for at < len(labels) && labels[at].Part == i {
			at++
		}
		switch r := &k.readings[i]; {
		case k.c.Parts[i].Text == "":
		case r.Typed():
			k.argument(i, r, labels, from, at, distrust)
		default:
			k.text(i, r, labels, from, at, distrust)
		}
		if len(k.pieces) > MaxAtoms {
			return rule.Candidate.Errorf("more than %d atoms", MaxAtoms)
		}
	}
	return nil
}

// text makes the pieces of free text, or of an argument of no field.
func (k *cutter) text(i int, r *Reading, labels []evidence.Label, from, to int, distrust map[int]rule.Rule) {
	p := &k.c.Parts[i]
	names := make([]span.Place, len(r.Names))
	for j := range r.Names {
		names[j] = span.Place{Start: r.Names[j].Start, End: r.Names[j].End}
	}
	theirs := slices.Clone(labels[from:to])
	for j := range theirs {
		if l := &theirs[j]; r.Arg.Names(l.Field, p.Text, k.class) {
			l.Field = evidence.None
		}
	}
	text := span.Text{Text: p.Text, Names: names, Labels: theirs, Matches: r.Matches, Only: k.rules.Only, Passes: r.Passes}
	spans := text.Cut()
	if !r.Passes {
		spans = k.screened(i, p.Text, spans)
	}
	for _, s := range spans {
		a := Piece{part: i, start: s.Start, end: s.End, path: p.Path, text: p.Text[s.Start:s.End], label: -1, plain: !r.Arg.Free, lone: !r.Passes && !k.screen.parts[i], match: s.Match, Field: Unknown, why: rule.Unlabelled}
		switch {
		case s.Name >= 0:
			n := &r.Names[s.Name]
			a.Field, a.named, a.fields = n.Field, true, []string{n.Field}
			a.token = a.text
			if n.Value != "" {
				a.text = n.Value
			}
		case s.Label >= 0:
			a.label = from + s.Label
			l := &labels[a.label]
			a.fields, a.any, a.Field, a.sure = append(slices.Clone(s.Only), s.Fire...), len(s.Only) == 0, l.Field, slices.Contains(s.Only, l.Field)
			a.canon, a.parsed, a.strict = r.canonical(s.Start, s.End, l.Field), k.rules.Mentions(l.Field, a.text), k.others(r.Matches, l.Field, s.Start, s.End)
			if !a.any && !slices.Contains(s.Only, l.Field) {
				a.why, a.Field = rule.Mislabelled, Unknown
			}
			a.trust(l, distrust)
		default:
			a.any = true
			if s.Match {
				a.why = rule.Coverage
			}
		}
		k.add(a)
	}
}

// argument makes the piece of a typed argument: the whole of it.
func (k *cutter) argument(i int, r *Reading, labels []evidence.Label, from, to int, distrust map[int]rule.Rule) {
	p, field := &k.c.Parts[i], r.Arg.Field
	a := Piece{part: i, end: len(p.Text), path: p.Path, text: r.value(p.Text), typed: true, schema: field, label: -1, Field: Unknown, why: rule.Unlabelled, fields: []string{field}}
	if n := r.whole(p.Text); n != nil {
		a.named = n.Field != field || n.Value == "" // not resolved here
		a.Field, a.fields, a.token = n.Field, append(a.fields, n.Field), p.Text
	} else {
		for j := from; j < to; j++ {
			l := &labels[j]
			if l.Field != evidence.None {
				a.fields = append(a.fields, l.Field) // every claim counts
			}
			if l.Start != 0 || l.End != len(p.Text) {
				continue
			}
			a.label = j
			switch l.Field {
			case field:
				a.Field = field
			case evidence.None:
				a.why = rule.Coverage
			default:
				a.why = rule.Mislabelled
			}
			a.trust(l, distrust)
		}
	}
	a.match, a.strict = len(r.Matches) > 0, k.others(r.Matches, field, 0, len(p.Text))
	for _, m := range r.Matches {
		if m.Field == rubric.AnyField {
			a.any = true
		} else {
			a.fields = append(a.fields, m.Field)
		}
	}
	if a.token == "" {
		a.canon = r.canonical(0, len(a.text), field)
	}
	k.add(a)
}

// others are the fields of what clauses are sure of within a place of another field.
func (k *cutter) others(all []rubric.Match, field string, start, end int) []string {
	return span.Beside(all, field, start, end, k.rules.Only, schema.MadeOf)
}

// canonical is the value of a field that was seen, of which a place has a spelling;
// empty for none.
func (r *Reading) canonical(start, end int, field string) string {
	for _, m := range r.seen {
		if m.Start == start && m.End == end && m.Field == field {
			return m.Value
		}
	}
	return ""
}

// trust notes a label's claim, and distrusts a label that a clause contradicted.
func (a *Piece) trust(l *evidence.Label, distrust map[int]rule.Rule) {
	a.Claim = l.Field
	if why, ok := distrust[a.label]; ok {
		a.Field, a.why = Unknown, why
	}
}

// add completes the fields of a piece.
func (k *cutter) add(a Piece) {
	if _, known := slices.BinarySearch(k.fields, a.Field); !known && a.Field != Unknown {
		a.Field, a.why = Unknown, rule.Undeclared
	}
	slices.Sort(a.fields)
	a.fields = slices.Compact(a.fields)
	if a.any {
		a.fields = append(slices.Clone(k.fields), a.fields...)
		slices.Sort(a.fields)
		a.fields = slices.Compact(a.fields)
	}
	k.pieces = append(k.pieces, a)
}
