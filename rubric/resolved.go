package rubric

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
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

// TopRiskLeast is the least that top risk costs, more than any budget.
const TopRiskLeast = 256 * flow.Bit

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
}

// Fallback is what holds where no rubric does: redact and drop alone, and one
// bit. It knows what is secret by its form alone.
func Fallback() *Resolved { return combine(nil, nil) }

// combine makes what rubrics say together: those whose signatures match, and
// those that are named besides. Without one that matches, what is named
// narrows the fallback.
func combine(matched, named []*Rubric) *Resolved {
	r := &Resolved{
		fallback: len(matched) == 0, ops: map[string][4][]Op{}, needs: map[string][4]Necessity{}, agree: map[string]bool{},
		plain: true, top: TopRiskLeast,
	}
	r.rules = slices.Concat(matched, named)
	slices.SortFunc(r.rules, func(a, b *Rubric) int { return strings.Compare(string(a.hash[:]), string(b.hash[:])) })
	r.rules = slices.CompactFunc(r.rules, func(a, b *Rubric) bool { return a.hash == b.hash })
	all := map[string]bool{}
	for _, one := range r.rules {
		for _, name := range one.names {
			all[name] = true
			r.top = max(r.top, one.fields[name].chain.Cost(0))
		}
		for _, t := range one.ties {
			r.top = max(r.top, t.whole)
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

// combineField intersects operators and takes the least necessity. A rubric
// that does not have the field admits nothing but redact and drop.
func (r *Resolved) combineField(name string) {
	var ops [4][]Op
	var needs [4]Necessity
	shapes := map[Hash]bool{}
	everywhere := !r.fallback
	for _, one := range r.rules {
		if f := one.fields[name]; f != nil {
			shapes[f.shape] = true
		} else {
			everywhere = false
		}
	}
	r.agree[name] = len(shapes) == 1
	r.plain = r.plain && r.agree[name]
	// Where rubrics differ in what a field's values tell of others, it can't
	// be audited what showing one tells.
	tied := r.sameTies(name)
	r.plain = r.plain && tied
	everywhere = everywhere && tied
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
		least := map[string]int{}
		for _, one := range r.rules {
			for _, n := range one.utility[class] {
				if old, ok := least[n.Field]; !ok || n.Level < old {
					least[n.Field] = n.Level
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(least)) {
			r.utility[class] = append(r.utility[class], Need{name, least[name]})
		}
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
	for _, one := range r.rules {
		for name, g := range r.groups {
			if f := one.fields[name]; f != nil && f.group != g {
				r.plain = false
			}
		}
	}
}

// sameTies reports whether a field depends on others alike in all rubrics that
// have it.
func (r *Resolved) sameTies(name string) bool {
	var first *field
	for _, one := range r.rules {
		f := one.fields[name]
		switch {
		case f == nil:
		case first == nil:
			first = f
		case !sameTie(first.root.tie, f.root.tie):
			return false
		}
	}
	return true
}

func sameTie(a, b *tie) bool {
	if a == nil || b == nil {
		return a == b
	}
	return string(mustJSON(a.graph)) == string(mustJSON(b.graph))
}

func (r *Resolved) combineLimits() {
	r.limits = Limits{B: flow.MaxBits, Cap: [4]flow.Bits{0, flow.MaxBits, flow.MaxBits, flow.MaxBits}, Margin: flow.MaxBits}
	if r.fallback {
		r.limits = Limits{B: flow.Bit, Cap: [4]flow.Bits{0, flow.Bit, flow.Bit, flow.Bit}, Lambda: defaultWeights()}
	}
	for _, one := range r.rules {
		l := &one.limits
		r.limits.B, r.limits.Margin = min(r.limits.B, l.B), min(r.limits.Margin, l.Margin)
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

// Match returns what the coverage predicates match in the text at a path, in
// order. Of a text that is longer than what is looked at the whole is
// AnyField, and so is what the fallback's match.
func (r *Resolved) Match(path, text string) []Match {
	var out []Match
	if r.fallback {
		out = fallbackMatch(path, text)
	}
	known := map[Match]bool{} // of several rubrics
	for _, one := range r.rules {
		spans, ok := one.covers.Find(path, text)
		if !ok {
			return []Match{{0, len(text), AnyField, "too-long"}}
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
	if r.fallback || len(path) > 1024 {
		return false
	}
	for _, one := range r.rules {
		ok := false
		for _, re := range one.residual[class.Known()] {
			ok = ok || re.MatchString(path)
		}
		if !ok {
			return false
		}
	}
	return true
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
	for _, one := range r.rules {
		if f := one.fields[field]; f != nil {
			return f
		}
	}
	return nil
}

// Generalize returns a value's name at a level; level 0 is the value itself,
// if it is in the population. Errors wrap ErrOutside or ErrLevel.
func (r *Resolved) Generalize(field string, level int, value string) (string, error) {
	if level == 0 && !r.agree[field] {
		return r.inAll(field, value)
	}
	f := r.one(field)
	if f == nil {
		return "", ErrLevel
	}
	return f.generalize(level, value)
}

// inAll returns a value that is in every rubric's population.
func (r *Resolved) inAll(field, value string) (string, error) {
	err := ErrLevel
	for _, one := range r.rules {
		if f := one.fields[field]; f != nil {
			if _, err = f.generalize(0, value); err != nil {
				return "", err
			}
		}
	}
	return value, err
}

// Fill fills a template from non-secret task fields. Errors wrap ErrTemplate.
func (r *Resolved) Fill(template string, context map[string]string) (string, error) {
	if r.fallback || len(r.rules) == 0 {
		return "", fmt.Errorf("%w: there is no rubric", ErrTemplate)
	}
	t, ok := r.rules[0].templates[template]
	for _, one := range r.rules {
		if o, has := one.templates[template]; !ok || !has || o.Text != t.Text {
			return "", fmt.Errorf("%w: there is no template %q", ErrTemplate, template)
		}
	}
	pairs := make([]string, 0, 2*len(t.Context))
	for _, key := range t.Context {
		v, ok := context[key]
		if !ok || v == "" || len(v) > maxContext || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			return "", fmt.Errorf("%w: %s is missing, too long or no line of text", ErrTemplate, key)
		}
		pairs = append(pairs, "{"+key+"}", v)
	}
	out := strings.NewReplacer(pairs...).Replace(t.Text)
	// What the context says is no secret field, or the task's fields are not
	// what they are said to be.
	if len(r.Match("", out)) > 0 {
		return "", fmt.Errorf("%w: what it says of the task looks like a secret field", ErrTemplate)
	}
	return out, nil
}

// Cost is what an operator on a field tells at most, over all values of the
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
	for _, one := range r.rules {
		f := one.fields[field]
		if f == nil {
			continue
		}
		known = true
		switch {
		case op.Kind > Identity, op.Kind == Generalize && (op.Level < 1 || op.Level > len(f.levels) || !r.agree[field]):
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

// TopRisk is the cost of what can't be told, at least that of every field.
func (r *Resolved) TopRisk() flow.Bits { return r.top }

// Joint is what views of one value, with its parts and dependent fields, tell
// together at most: exact where the population can be enumerated, and
// otherwise a sound bound. It is TopRisk where a field or level is unknown, or
// where rubrics differ in what depends on what.
func (r *Resolved) Joint(views []View) flow.Bits {
	if len(views) == 0 {
		return 0
	}
	for _, v := range views {
		f := r.one(v.Field)
		if f == nil || v.Level < 0 || v.Level > len(f.levels) {
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
func (r *Resolved) Group(field string) string {
	if g, ok := r.groups[field]; ok {
		return g
	}
	return field
}

// Graph is the dependency graph for the audit; it may be empty. A component
// that several rubrics have is in it once; one in which they differ is not,
// since its fields are never shown.
func (r *Resolved) Graph() Graph {
	var g Graph
	r.eachTie(func(t *tie) {
		g.Variables = append(g.Variables, t.graph.Variables...)
		g.Factors = append(g.Factors, t.graph.Factors...)
	})
	return g
}

// eachTie visits the components in which the rubrics agree.
func (r *Resolved) eachTie(visit func(t *tie)) {
	seen := map[string]bool{}
	for _, one := range r.rules {
		for _, t := range one.ties {
			name := t.fields[0].name
			if seen[name] || slices.ContainsFunc(t.fields, func(f *field) bool { return !r.sameTies(f.name) || !r.agree[f.name] }) {
				continue
			}
			seen[name] = true
			visit(t)
		}
	}
}

// Observe says what showing a value at a level leaves of the graph's
// variables; nothing where the graph does not have the field. Level 0 is the
// value itself. Errors are as of Generalize.
func (r *Resolved) Observe(field string, level int, value string) ([]Seen, error) {
	f := r.one(field)
	if f == nil {
		return nil, ErrLevel
	}
	return f.observe(level, value)
}

// Cells says what a view at a level may leave of the graph's variable of a
// field: for each kind of cell, how many members of each state are in it. It
// is nil where the graph does not have the field, and where rubrics differ in
// its levels.
func (r *Resolved) Cells(field string, level int) [][]float64 {
	f := r.one(field)
	if f == nil || f.root.tie == nil || level < 0 || level > len(f.levels) {
		return nil
	}
	return f.root.tie.states[slices.Index(f.root.tie.fields, f.root)].Kinds(f.chain, level)
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
	for _, one := range r.rules {
		if f := one.fields[field]; f != nil {
			return f.chain.Normal(value)
		}
	}
	return strings.Join(strings.Fields(strings.ToLower(value)), " ")
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
