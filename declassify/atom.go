package declassify

import (
	"slices"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// Unknown is the field of an atom that nobody could label.
const Unknown = "unknown"

// atom is one span of a candidate. Atoms are disjoint, and what lies between
// them is what a trusted clause lets pass.
type atom struct {
	part, start, end int
	path             string
	text             string // the value: of a pseudonym, what it stands for
	field            string // Unknown where it is not labelled rightly
	token            string // the pseudonym that stands there
	label            int    // of the evidence; -1: none
	claim            string // its field, believed or not
	why              Rule   // why the field is unknown

	// fields are those that it may be of; all of them if any is set.
	fields []string
	any    bool
	strict []string // those that a clause says are no other, in a typed argument
	typed  bool     // the whole of a typed argument
	schema string   // its field
	plain  bool     // in a typed argument of no field
	lone   bool     // in a text of which nothing else may pass
	match  bool     // a predicate matches in it
	named  bool     // a pseudonym stands there

	nec   rubric.Necessity
	ops   []rubric.Op // admissible, in disclosure order
	op    int
	floor int  // utility allows no less than ops[floor]
	lost  bool // no operator is enough for the utility
	value ledger.Hash
	kappa flow.Bits
	ambig bool // its fields are of several groups
}

// span is a stretch of a free text on its way to being an atom.
type span struct {
	start, end int
	label      int // -1: none
	name       *Pseudonym
	match      bool
	only       []string // fields of predicates that match all of it and exclude others
	fire       []string // fields of predicates that match within it
}

// exclusive is what Rules may have besides: whether a predicate excludes other
// fields of what it matches.
type exclusive interface{ Only(m rubric.Match) bool }

// cutter cuts a candidate into atoms.
type cutter struct {
	c      *Candidate
	rules  Rules
	class  flow.Class
	only   func(rubric.Match) bool
	fields []string
	atoms  []atom
	skip   func(Rule) bool // what a benchmark leaves out
}

// cut cuts a candidate under labels that check has passed, sorted by place.
func (k *cutter) cut(labels []Label, distrust map[int]Rule) error {
	k.atoms = k.atoms[:0]
	at := 0
	for i := range k.c.Parts {
		from := at
		for at < len(labels) && labels[at].Part == i {
			at++
		}
		if k.c.Parts[i].Text == "" {
			continue
		}
		k.partOf(i, labels, from, at, distrust)
		if len(k.atoms) > MaxAtoms {
			return CandidateRule.broken("more than %d atoms", MaxAtoms)
		}
	}
	return nil
}

func (k *cutter) partOf(i int, labels []Label, from, to int, distrust map[int]Rule) {
	p := &k.c.Parts[i]
	arg := k.c.Tool.Arg(p.Path)
	var names []Pseudonym
	if k.c.Names != nil {
		names = k.c.Names.Find(p.Text)
	}
	if arg.Field != "" && !arg.Free && !k.skip(Structural) {
		k.argument(i, &arg, names, labels, from, to, distrust)
		return
	}
	var matches []rubric.Match
	if !k.skip(Coverage) {
		matches = k.rules.Match(p.Path, p.Text)
	}
	// A pseudonym of a kind that the rubrics do not have is text like any other.
	names = slices.DeleteFunc(names, func(n Pseudonym) bool {
		_, known := slices.BinarySearch(k.fields, n.Field)
		return !known
	})
	passes := !arg.Free || k.rules.Residual(p.Path, k.class) || k.skip(Unlabelled)
	for _, s := range spans(p.Text, names, labels, from, to, matches, passes, k.only) {
		a := atom{part: i, start: s.start, end: s.end, path: p.Path, text: p.Text[s.start:s.end], label: s.label, plain: !arg.Free, lone: !passes, match: s.match, field: Unknown, why: Unlabelled}
		switch {
		case s.name != nil:
			a.field, a.named, a.fields = s.name.Field, true, []string{s.name.Field}
			a.token = a.text
			if s.name.Value != "" {
				a.text = s.name.Value
			}
		case s.label >= 0:
			l := &labels[s.label]
			a.fields, a.any, a.field = append(slices.Clone(s.only), s.fire...), len(s.only) == 0, l.Field
			if !a.any && !slices.Contains(s.only, l.Field) {
				a.why, a.field = Mislabelled, Unknown
			}
			k.trust(&a, l, distrust)
		default:
			a.any = true
			if s.match {
				a.why = Coverage
			}
		}
		k.add(a)
	}
}

// argument makes the atom of a typed argument: the whole of it.
func (k *cutter) argument(i int, arg *Arg, names []Pseudonym, labels []Label, from, to int, distrust map[int]Rule) {
	p := &k.c.Parts[i]
	a := atom{part: i, end: len(p.Text), path: p.Path, text: p.Text, typed: true, schema: arg.Field, label: -1, field: Unknown, why: Unlabelled, fields: []string{arg.Field}}
	if len(names) == 1 && names[0].Start == 0 && names[0].End == len(p.Text) {
		n := &names[0]
		a.named = n.Field != arg.Field || n.Value == "" // not turned back here
		a.field, a.fields, a.token = n.Field, append(a.fields, n.Field), p.Text
		if n.Value != "" {
			a.text = n.Value
		}
	} else {
		for j := from; j < to; j++ {
			l := &labels[j]
			if l.Field != None {
				a.fields = append(a.fields, l.Field) // all that is claimed counts
			}
			if l.Start != 0 || l.End != len(p.Text) {
				continue
			}
			a.label = j
			switch l.Field {
			case arg.Field:
				a.field = arg.Field
			case None:
				a.why = Coverage
			default:
				a.why = Mislabelled
			}
			k.trust(&a, l, distrust)
		}
	}
	for _, m := range k.rules.Match(p.Path, a.text) {
		a.match = true
		if m.Field == rubric.AnyField {
			a.any = true
			continue
		}
		a.fields = append(a.fields, m.Field)
		if m.Field != arg.Field && k.only(m) {
			a.strict = append(a.strict, m.Field)
		}
	}
	k.add(a)
}

// trust takes a label's word away where it contradicts the rubrics or was
// found out.
func (k *cutter) trust(a *atom, l *Label, distrust map[int]Rule) {
	a.claim = l.Field
	if why, ok := distrust[a.label]; ok {
		a.field, a.why = Unknown, why
	}
}

// add completes an atom: its fields, its necessity, what may be done with it.
func (k *cutter) add(a atom) {
	if _, known := slices.BinarySearch(k.fields, a.field); !known && a.field != Unknown {
		a.field, a.why = Unknown, Undeclared
	}
	slices.Sort(a.fields)
	a.fields = slices.Compact(a.fields)
	if a.any {
		a.fields = append(slices.Clone(k.fields), a.fields...)
		slices.Sort(a.fields)
		a.fields = slices.Compact(a.fields)
	}
	a.admissible(k)
	k.atoms = append(k.atoms, a)
}

var least = []rubric.Op{{Kind: rubric.Drop}, {Kind: rubric.Redact}}

// admissible finds what may be done with an atom: what the rubrics admit for
// every field that it may be of.
func (a *atom) admissible(k *cutter) {
	a.nec = rubric.Unnecessary
	if a.field == Unknown && k.skip(Unlabelled) && a.claim != "" && a.claim != None {
		a.field = a.claim
	}
	if a.field == Unknown {
		a.ops = least
		return
	}
	a.nec = k.rules.Necessity(a.field, k.class)
	untrusted := k.c.Parts[a.part].Untrusted
	of := k.rules.Operators(a.field, k.class)
	a.ops = make([]rubric.Op, 0, len(of))
	for _, op := range of {
		switch {
		case op.Kind <= rubric.Redact: // always
		case op.Kind == rubric.Substitute && op.Template == rubric.Pseudonym && (k.c.Names == nil || untrusted && a.token == ""):
			continue // a name that stands there was given out before, and confirms nothing
		case a.named && op != pseudonym:
			continue
		case !k.all(a, op):
			continue
		}
		a.ops = append(a.ops, op)
	}
	if len(a.ops) < 2 || a.ops[0] != least[0] || a.ops[1] != least[1] {
		a.ops = least // rules that are not what they should be
	}
	first := a.fields[0]
	for _, f := range a.fields[1:] {
		if k.rules.Group(f) != k.rules.Group(first) {
			a.ambig = true
		}
	}
}

var pseudonym = rubric.Op{Kind: rubric.Substitute, Template: rubric.Pseudonym}

// all reports whether an operator is admissible for every field that an atom
// may be of.
func (k *cutter) all(a *atom, op rubric.Op) bool {
	if op.Kind == rubric.Generalize && !a.any {
		// What is shown is a cell of the field's own hierarchy, in the
		// rubrics' words: nothing else that the text holds.
		return true
	}
	fields := a.fields
	if a.typed && !a.any {
		// The schema says what it is, and what fires besides only costs,
		// unless a clause is as sure that it is something else.
		fields = a.strict
	}
	for _, f := range fields {
		if f != a.field && !slices.Contains(k.rules.Operators(f, k.class), op) {
			return false
		}
	}
	return true
}

// spans cuts a free text: labels and pseudonyms as they are, and matches that
// no label covers, with all labels that they touch, as spans without label.
// What is between them is a span without label unless it passes.
func spans(text string, names []Pseudonym, labels []Label, from, to int, matches []rubric.Match, passes bool, only func(rubric.Match) bool) []span {
	out := make([]span, 0, len(names)+to-from+len(matches))
	for i := range names {
		out = append(out, span{start: names[i].Start, end: names[i].End, label: -1, name: &names[i]})
	}
	for j := from; j < to; j++ {
		l := &labels[j]
		if l.Field == None || touching(out[:len(names)], l.Start, l.End) {
			continue // none is no atom; a pseudonym is known better
		}
		out = append(out, span{start: l.Start, end: l.End, label: j})
	}
	slices.SortFunc(out, func(a, b span) int { return a.start - b.start })
	for _, m := range matches {
		m.Start, m.End = widen(text, m.Start, m.End)
		if m.Start < m.End {
			out = cover(out, m, only)
		}
	}
	if passes {
		return out
	}
	return fill(out, len(text))
}

// widen moves the ends of a match to whole characters within the text.
func widen(text string, start, end int) (int, int) {
	start, end = max(start, 0), min(end, len(text))
	for start > 0 && start < len(text) && !utf8.RuneStart(text[start]) {
		start--
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return start, end
}

func touching(s []span, start, end int) bool {
	return slices.ContainsFunc(s, func(x span) bool { return x.start < end && start < x.end })
}

// cover puts a match among spans: into the one that holds it, or as a span of
// its own that swallows all that it touches.
func cover(out []span, m rubric.Match, only func(rubric.Match) bool) []span {
	i, _ := slices.BinarySearchFunc(out, m.Start, func(s span, at int) int {
		if s.end <= at {
			return -1
		}
		return 1
	})
	j := i
	for j < len(out) && out[j].start < m.End {
		j++
	}
	if j == i+1 && out[i].start <= m.Start && m.End <= out[i].end {
		s := &out[i]
		s.match = true
		if m.Field == rubric.AnyField {
			return out
		}
		s.fire = append(s.fire, m.Field)
		if s.start == m.Start && s.end == m.End && only(m) {
			s.only = append(s.only, m.Field)
		}
		return out
	}
	s := span{start: m.Start, end: m.End, label: -1, match: true}
	if j > i {
		s.start, s.end = min(s.start, out[i].start), max(s.end, out[j-1].end)
	}
	return slices.Replace(out, i, j, s)
}

// fill makes all that is between labelled spans one span each.
func fill(in []span, n int) []span {
	out := make([]span, 0, 2*len(in)+1)
	gap := func(start, end int, match bool) {
		if start >= end {
			return
		}
		if k := len(out) - 1; k >= 0 && out[k].label < 0 && out[k].name == nil && out[k].end == start {
			out[k].end, out[k].match = end, out[k].match || match
			return
		}
		out = append(out, span{start: start, end: end, label: -1, match: match})
	}
	at := 0
	for _, s := range in {
		gap(at, s.start, false)
		if s.label < 0 && s.name == nil {
			gap(s.start, s.end, s.match)
		} else {
			out = append(out, s)
		}
		at = s.end
	}
	gap(at, n, false)
	return out
}
