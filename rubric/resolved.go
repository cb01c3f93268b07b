package rubric

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/rubric/domain"
	"github.com/margaydev/margay/rubric/fallback"
	"github.com/margaydev/margay/rubric/predicate"
)

// Errors of Resolved. None holds a value.
var (
	// ErrOutside says that a value is outside of its field's population: its
	// cost is TopRisk.
	ErrOutside = errors.New("the value is outside of the field's population")
	// ErrLevel says that a field has no such level, or none that all rubrics
	// agree on.
	ErrLevel = errors.New("the field has no such level")
	// ErrTemplate says that there is no such template, or that what it needs
	// is missing or not fit to be shown.
	ErrTemplate = errors.New("the template can't be filled")
)

// MinTopRisk is the least cost of top risk, more than any budget.
const MinTopRisk = 256 * flow.Bit

// maxContext bounds a value of a template's context, in bytes.
const maxContext = 200

// Resolved is what the rubrics of a release say together: operators
// intersected, costs at their maximum, limits at their minimum. It is
// immutable and safe for concurrent use.
type Resolved struct {
	rules    []*Rubric // sorted by hash
	fallback bool      // no rubric's signature matches
	names    []string
	ops      map[string][4][]Op
	needs    map[string][4]Necessity
	utility  [4][]Need
	groups   map[string]string
	agree    map[string]bool // whether all rubrics that have a field give it the same levels
	plain    bool            // whether all rubrics agree on all fields and groups
	limits   Limits
	top      flow.Bits
	now      func() time.Time
}

// Fallback holds where no rubric does: it admits only redact and drop, and one
// bit. It recognises secrets by their form alone.
func Fallback() *Resolved { return combine(nil, nil) }

// combine makes what rubrics say together: those whose signatures match, and
// those that are named besides. Without one that matches, what is named
// narrows the fallback.
func combine(matched, named []*Rubric) *Resolved {
	r := &Resolved{
		fallback: len(matched) == 0, ops: map[string][4][]Op{}, needs: map[string][4]Necessity{}, agree: map[string]bool{},
		plain: true, top: MinTopRisk, now: time.Now,
	}
	r.rules = slices.Concat(matched, named)
	slices.SortFunc(r.rules, func(a, b *Rubric) int { return strings.Compare(string(a.hash[:]), string(b.hash[:])) })
	r.rules = slices.CompactFunc(r.rules, func(a, b *Rubric) bool { return a.hash == b.hash })
	all := map[string]bool{}
	for _, one := range r.rules {
		for _, name := range one.names {
			all[name] = true
			r.top = max(r.top, one.fields[name].Chain.Cost(0))
		}
		for _, t := range one.ties {
			r.top = max(r.top, t.Whole())
		}
	}
	r.names = slices.Sorted(maps.Keys(all))
	for _, name := range r.names {
		r.combineField(name)
	}
	r.combineUtility()
	r.combineGroups()
	r.combineLimits()
	return r
}

// having yields the rubrics that have a field.
func (r *Resolved) having(name string) iter.Seq2[*Rubric, *field] {
	return func(yield func(*Rubric, *field) bool) {
		for _, one := range r.rules {
			if f := one.fields[name]; f != nil && !yield(one, f) {
				return
			}
		}
	}
}

// combineField intersects operators and takes the least necessity. A rubric
// that does not have the field admits nothing but redact and drop.
func (r *Resolved) combineField(name string) {
	var ops [4][]Op
	var needs [4]Necessity
	n, shapes := 0, map[Hash]bool{}
	for _, f := range r.having(name) {
		n++
		shapes[f.shape] = true
	}
	r.agree[name] = len(shapes) == 1
	// Where rubrics differ in what a field's values disclose of others, the audit
	// can't tell what showing one discloses.
	tied := r.sameTies(name)
	r.plain = r.plain && r.agree[name] && tied
	everywhere := !r.fallback && n == len(r.rules) && tied
	for _, class := range classOrder {
		ops[class] = []Op{{Kind: Drop}, {Kind: Redact}}
		if !everywhere {
			continue
		}
		needs[class] = Required
		for i, one := range r.rules {
			f := one.fields[name]
			needs[class] = min(needs[class], f.needs[class])
			if i == 0 {
				ops[class] = slices.Clone(f.ops[class])
			}
			ops[class] = slices.DeleteFunc(ops[class], func(o Op) bool {
				return !slices.Contains(f.ops[class], o) || o.Kind == Generalize && !r.agree[name] ||
					o.Kind == Substitute && o.Template != Pseudonym && one.templates[o.Template].Text != r.rules[0].templates[o.Template].Text
			})
		}
		if needs[class] == Unnecessary {
			ops[class] = slices.DeleteFunc(ops[class], func(o Op) bool { return o.Kind == Identity })
		}
	}
	r.ops[name], r.needs[name] = ops, needs
}

// combineUtility takes every need, at the finest level that one asks for.
func (r *Resolved) combineUtility() {
	if r.fallback {
		return
	}
	for _, class := range classOrder {
		var all []Need
		for _, one := range r.rules {
			all = append(all, one.utility[class]...)
		}
		slices.SortFunc(all, func(a, b Need) int { return cmp.Or(strings.Compare(a.Field, b.Field), cmp.Compare(a.Level, b.Level)) })
		r.utility[class] = slices.CompactFunc(all, func(a, b Need) bool { return a.Field == b.Field })
	}
}

// combineGroups joins the components of all rubrics.
func (r *Resolved) combineGroups() {
	r.groups = map[string]string{}
	for _, name := range r.names {
		r.groups[name] = name
	}
	for changed := true; changed; {
		changed = false
		for _, one := range r.rules {
			for _, name := range one.names {
				g := one.fields[name].group
				least := min(r.groups[name], r.groups[g])
				if r.groups[name] != least || r.groups[g] != least {
					r.groups[name], r.groups[g], changed = least, least, true
				}
			}
		}
	}
	for name, g := range r.groups {
		for _, f := range r.having(name) {
			r.plain = r.plain && f.group == g
		}
	}
}

// sameTies reports whether a field depends on others alike in all rubrics that
// have it.
func (r *Resolved) sameTies(name string) bool {
	var first *field
	for _, f := range r.having(name) {
		if first == nil {
			first = f
		}
		if !sameTie(first.root.tie, f.root.tie) {
			return false
		}
	}
	return true
}

func sameTie(a, b *tie) bool {
	if a == nil || b == nil {
		return a == b
	}
	return dependency.Same(a.Component, b.Component)
}

func (r *Resolved) combineLimits() {
	r.limits = Limits{B: flow.MaxBits, Cap: [4]flow.Bits{0, flow.MaxBits, flow.MaxBits, flow.MaxBits}, Margin: flow.MaxBits, Screened: flow.MaxBits}
	if r.fallback {
		r.limits = Limits{B: flow.Bit, Cap: [4]flow.Bits{0, flow.Bit, flow.Bit, flow.Bit}, Lambda: defaultWeights()}
	}
	for _, one := range r.rules {
		l := &one.limits
		r.limits.B, r.limits.Margin = min(r.limits.B, l.B), min(r.limits.Margin, l.Margin)
		r.limits.Screened = min(r.limits.Screened, l.Screened)
		for k := range l.Cap {
			r.limits.Cap[k], r.limits.Lambda[k] = min(r.limits.Cap[k], l.Cap[k]), max(r.limits.Lambda[k], l.Lambda[k])
		}
	}
}

// Hashes names the rubrics, sorted; none for the fallback alone.
func (r *Resolved) Hashes() []Hash {
	out := make([]Hash, len(r.rules))
	for i, one := range r.rules {
		out[i] = one.hash
	}
	return out
}

// Rubrics returns the rubrics, sorted by hash.
func (r *Resolved) Rubrics() []*Rubric { return slices.Clone(r.rules) }

// IsFallback reports whether no rubric's signature matches the release.
func (r *Resolved) IsFallback() bool { return r.fallback }

// Fields returns the secret fields, sorted.
func (r *Resolved) Fields() []string { return slices.Clone(r.names) }

// LevelNames returns the names of a field's levels, the finest first, by the
// rubric that has the most.
func (r *Resolved) LevelNames(name string) (names []string) {
	for _, f := range r.having(name) {
		if len(f.Levels) > len(names) {
			names = f.Levels
		}
	}
	return slices.Clone(names)
}

// Match returns what the coverage predicates match in the text at a path, in
// order. A text that is longer than what is searched is AnyField as a whole, and
// so is every match of the fallback.
func (r *Resolved) Match(path, text string) []Match {
	var out []Match
	if r.fallback {
		// It may be of any field, since none is declared: it is redacted or dropped.
		if !fallback.Find(path, text, func(start, end int, clause string) { out = append(out, Match{start, end, AnyField, clause}) }) {
			out = []Match{{0, len(text), AnyField, TooLong}}
		}
	}
	known := map[Match]bool{} // of several rubrics
	for _, one := range r.rules {
		spans, ok := one.covers.Find(path, text)
		if !ok {
			return []Match{{0, len(text), AnyField, TooLong}}
		}
		for _, s := range spans {
			m := Match{s.Start, s.End, one.doc.Coverage[s.Clause].Field, one.doc.Coverage[s.Clause].ID}
			if len(r.rules) > 1 {
				if known[m] {
					continue
				}
				known[m] = true
			}
			out = append(out, m)
		}
	}
	if len(r.rules) > 1 || r.fallback {
		slices.SortStableFunc(out, func(a, b Match) int { return a.Start - b.Start })
	}
	return out
}

// Residual reports whether free text that no predicate matches may pass: where
// every rubric lets it.
func (r *Resolved) Residual(path string, class flow.Class) bool {
	if r.fallback || len(path) > predicate.MaxPath {
		return false
	}
	return !slices.ContainsFunc(r.rules, func(one *Rubric) bool { return !anyOf(one.residual[class.Known()], path) })
}

func anyOf(list []*regexp.Regexp, path string) bool {
	return slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.MatchString(path) })
}

// Screened reports whether other free text may pass where the defender's model finds
// nothing private: where each rubric says so. Doubt is the worst bound of the model's
// error under attack, as a share of a bit.
func (r *Resolved) Screened(path string, class flow.Class) (doubt flow.Bits, ok bool) {
	if r.fallback || len(path) > predicate.MaxPath {
		return 0, false
	}
	for _, one := range r.rules {
		if !anyOf(one.screened[class.Known()], path) {
			return 0, false
		}
		doubt = max(doubt, one.doubt)
	}
	return doubt, true
}

// Screens reports whether Screened does so for some paths, as far as that can be told
// without one: where each rubric has expressions for the class.
func (r *Resolved) Screens(class flow.Class) (doubt flow.Bits, ok bool) {
	for _, one := range r.rules {
		if len(one.screened[class.Known()]) == 0 {
			return 0, false
		}
		doubt = max(doubt, one.doubt)
	}
	return doubt, !r.fallback && len(r.rules) > 0
}

// Necessity says how much sinks of a class need a field; unnecessary where
// nothing is said.
func (r *Resolved) Necessity(field string, class flow.Class) Necessity {
	return r.needs[field][class.Known()]
}

// Operators returns what may be done with a field, in disclosure order. Drop
// and Redact are always among it; nothing else for an unknown field.
func (r *Resolved) Operators(field string, class flow.Class) []Op {
	if ops, ok := r.ops[field]; ok {
		return slices.Clone(ops[class.Known()])
	}
	return []Op{{Kind: Drop}, {Kind: Redact}}
}

// one returns a rubric that has the field, if all that have it agree on its
// levels.
func (r *Resolved) one(field string) *field {
	if !r.agree[field] {
		return nil
	}
	for _, f := range r.having(field) {
		return f
	}
	return nil
}

// inAll returns a value that is in every rubric's population.
func (r *Resolved) inAll(field, value string) (string, error) {
	err := ErrLevel
	for _, f := range r.having(field) {
		if _, err = f.generalize(0, value); err != nil {
			return "", err
		}
	}
	return value, err
}

// Fill fills a template from non-secret task fields. Errors wrap ErrTemplate.
func (r *Resolved) Fill(template string, context map[string]string) (string, error) {
	if r.fallback || len(r.rules) == 0 {
		return "", fmt.Errorf("%w: no rubric holds", ErrTemplate)
	}
	t, ok := r.rules[0].templates[template]
	for _, one := range r.rules {
		if o, has := one.templates[template]; !ok || !has || o.Text != t.Text {
			return "", fmt.Errorf("%w: unknown template %q", ErrTemplate, template)
		}
	}
	pairs := make([]string, 0, 2*len(t.Context))
	for _, key := range t.Context {
		v, ok := context[key]
		if !ok || v == "" || len(v) > maxContext || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return "", fmt.Errorf("%w: %s is missing, too long or not a line of text", ErrTemplate, key)
		}
		pairs = append(pairs, "{"+key+"}", v)
	}
	out := strings.NewReplacer(pairs...).Replace(t.Text)
	// The context holds no secret field, or the task's fields are not what the
	// caller says they are.
	if len(r.Match("", out)) > 0 {
		return "", fmt.Errorf("%w: what it says of the task looks like a secret field", ErrTemplate)
	}
	return out, nil
}

// Cost is what an operator on a field discloses at most, over all values of the
// population, to the Bayes-optimal adversary. It is TopRisk for an unknown
// field or level.
func (r *Resolved) Cost(field string, op Op) flow.Bits {
	var cost flow.Bits
	if op.Kind <= Redact {
		for _, one := range r.rules {
			cost = max(cost, one.cost(nil, op))
		}
		return cost
	}
	known := false
	for one, f := range r.having(field) {
		known = true
		switch {
		case op.Kind > Identity, op.Kind == Generalize && (op.Level < 1 || op.Level > len(f.Levels) || !r.agree[field]):
			return r.top
		case op.Kind == Substitute && op.Template != Pseudonym && one.templates[op.Template].Text == "":
			return r.top
		}
		cost = max(cost, one.cost(f, op))
	}
	if !known {
		return r.top
	}
	return cost
}

// TopRisk is the cost of a release whose cost is unknown, at least that of every
// field.
func (r *Resolved) TopRisk() flow.Bits { return r.top }

// Joint is what views of one value, with its parts and dependent fields, disclose
// together at most: exact where the population can be enumerated, and
// otherwise a sound bound. It is TopRisk where a field or level is unknown, or
// where rubrics differ in what depends on what.
func (r *Resolved) Joint(views []View) flow.Bits {
	if len(views) == 0 {
		return 0
	}
	for _, v := range views {
		f := r.one(v.Field)
		if f == nil || v.Level < 0 || v.Level > len(f.Levels) {
			return r.top
		}
	}
	if !r.plain && len(views) > 1 {
		return r.top
	}
	var cost flow.Bits
	for _, one := range r.rules {
		known := slices.DeleteFunc(slices.Clone(views), func(v View) bool { return one.fields[v.Field] == nil })
		if len(known) < len(views) && len(known) > 0 && len(views) > 1 {
			return r.top
		}
		cost = max(cost, one.joint(known))
	}
	return cost
}

// Group names a field's dependency component; fields of one group share the
// value's identity.
func (r *Resolved) Group(field string) string { return cmp.Or(r.groups[field], field) }

// Graph is the dependency graph for the audit; it may be empty. A component
// that several rubrics have is in it once; one in which they differ is not,
// since its fields are never shown.
func (r *Resolved) Graph() dependency.Graph {
	var g dependency.Graph
	seen := map[string]bool{}
	for _, one := range r.rules {
		for _, t := range one.ties {
			names := t.Fields()
			if seen[names[0]] || slices.ContainsFunc(names, func(name string) bool { return !r.sameTies(name) || !r.agree[name] }) {
				continue
			}
			seen[names[0]] = true
			g.Variables = append(g.Variables, t.Graph().Variables...)
			g.Factors = append(g.Factors, t.Graph().Factors...)
		}
	}
	return g
}

// Root names the field that a field is a view of, which is the one that the
// graph has; itself where it is none.
func (r *Resolved) Root(field string) string {
	if f := r.one(field); f != nil {
		return f.root.Name
	}
	return field
}

// Observe says what showing a value at a level leaves of the graph's
// variables; nothing where the graph does not have the field. Level 0 is the
// value itself. Errors are as of Generalize.
func (r *Resolved) Observe(field string, level int, value string) ([]dependency.Seen, error) {
	f := r.one(field)
	switch {
	case f == nil:
		return nil, ErrLevel
	case f.root.tie == nil:
		return nil, nil
	case level < 0 || level > len(f.Levels):
		return nil, ErrLevel
	}
	seen, err := f.root.tie.Left(f.root.Name, f.Chain, level, value)
	if err != nil {
		return nil, ErrOutside
	}
	return []dependency.Seen{seen}, nil
}

// Cells says what a view at a level may leave of the graph's variable of a
// field: for each kind of cell, how many members of each state are in it. It
// is nil where the graph does not have the field, and where rubrics differ in
// its levels.
func (r *Resolved) Cells(field string, level int) [][]float64 {
	f := r.one(field)
	if f == nil || f.root.tie == nil || level < 0 || level > len(f.Levels) {
		return nil
	}
	return f.root.tie.Kinds(f.root.Name, f.Chain, level)
}

// Only reports whether the clause that made a match says that it is of its
// field and no other, in every rubric that has the clause.
func (r *Resolved) Only(m Match) bool {
	found := false
	for _, one := range r.rules {
		for i := range one.doc.Coverage {
			if c := &one.doc.Coverage[i]; c.ID == m.Clause && c.Field == m.Field {
				if !c.Only {
					return false
				}
				found = true
			}
		}
	}
	return found
}

// Normal returns a value's normal form, by which it is recognised as the same
// value however it is written. One that is not understood is folded.
func (r *Resolved) Normal(field, value string) string {
	for _, f := range r.having(field) {
		return f.Chain.Normal(value, r.now())
	}
	return domain.Fold(value)
}

// Shape names the meaning of a field's levels: where two Resolved differ in
// it, their levels can't be compared. It is zero where the rubrics of one
// differ themselves.
func (r *Resolved) Shape(field string) Hash {
	if f := r.one(field); f != nil {
		return f.shape
	}
	return Hash{}
}

// Limits are the least of all rubrics' limits, and the greatest weights.
func (r *Resolved) Limits() Limits { return r.limits }

// Utility says which fields must survive, and at which level, for sinks of a
// class.
func (r *Resolved) Utility(class flow.Class) []Need { return slices.Clone(r.utility[class.Known()]) }
