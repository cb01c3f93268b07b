package rubric

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/rubric/document"
	"github.com/margaydev/margay/rubric/population"
	"github.com/margaydev/margay/rubric/predicate"
)

// Rubric is a compiled rubric. It is immutable and safe for concurrent use.
type Rubric struct {
	doc  *document.Document
	hash Hash

	expires   time.Time
	names     []string // of fields, sorted
	fields    map[string]*field
	covers    *predicate.Set
	residual  [4][]*regexp.Regexp
	screened  [4][]*regexp.Regexp
	doubt     flow.Bits // the error of the model that screens, as a share of a bit
	limits    Limits
	presence  flow.Bits
	equality  flow.Bits
	utility   [4][]Need
	templates map[string]document.Template
	ties      []*tie
}

// field is a secret field.
type field struct {
	dependency.Field

	root  *field // whose population it has; itself where it is not a view of another
	group string
	shape Hash
	needs [4]Necessity
	ops   [4][]Op // in disclosure order, Drop and Redact among them
	tie   *tie    // of a root: what its population is tied to, or nil
	memo  memo    // of a root: joint costs of views over its population
}

// Name returns the category that the rubric is for.
func (r *Rubric) Name() string { return r.doc.Rubric }

// Title returns what the rubric is for, in a line.
func (r *Rubric) Title() string { return r.doc.Title }

// Revision returns the rubric's revision, from 1.
func (r *Rubric) Revision() int { return r.doc.Revision }

// Expires returns the moment from which the rubric does not hold.
func (r *Rubric) Expires() time.Time { return r.expires }

// Signature returns what the rubric is for.
func (r *Rubric) Signature() document.Signature { return r.doc.Signature }

// LevelNames returns the names of a field's levels, the finest first.
func (r *Rubric) LevelNames(name string) []string {
	if f := r.fields[name]; f != nil {
		return slices.Clone(f.Levels)
	}
	return nil
}

// CellCount returns how many cells a level of a field has; 0 for an unknown
// level.
func (r *Rubric) CellCount(name string, level int) int {
	f := r.fields[name]
	if f == nil || level < 0 || level > len(f.Levels) {
		return 0
	}
	return f.Chain.Cells(level)
}

// String names the rubric for people.
func (r *Rubric) String() string {
	return r.doc.Rubric + " revision " + strconv.Itoa(r.doc.Revision) + " (" + r.hash.Short() + ")"
}

var classOrder = [...]flow.Class{flow.RequiredService, flow.SemiTrusted, flow.Adversarial}

func (r *Rubric) compile() (err error) {
	if r.expires, err = expiry(r.doc.Expires); err != nil {
		return where(err, "expires")
	}
	r.templates = r.doc.Templates
	r.fields = map[string]*field{}
	r.names = slices.Sorted(maps.Keys(r.doc.Fields))
	for _, step := range []func() error{
		r.compileLimits, r.compileFields, r.compileCoverage, r.compileNecessity, r.compileTemplates, r.compileOperators, r.compileUtility,
		r.compileTies, r.compileCaps, r.monotone,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// reserved are the operators that every field has: no level or template has
// such a name.
var reserved = []string{"identity", Pseudonym, "redact", "drop"}

// compileFields makes the populations and levels. Fields that are views of one
// population need it fine enough for all of them.
func (r *Rubric) compileFields() error {
	uses := map[string][]population.By{}
	for _, name := range r.names {
		d := r.doc.Fields[name]
		root := name
		if d.Of != "" {
			if o, ok := r.doc.Fields[d.Of]; !ok || o.Of != "" {
				return where(fmt.Errorf("%q is not a field with a population of its own", d.Of), "fields", name, "of")
			}
			root = d.Of
			uses[root] = append(uses[root], d.Reads)
		}
		for i := range d.Levels {
			uses[root] = append(uses[root], d.Levels[i].By)
		}
	}
	for _, name := range r.names {
		if d := r.doc.Fields[name]; d.Of == "" {
			pop, err := population.New(d.Population, uses[name])
			if err != nil {
				return where(err, "fields", name, "population")
			}
			f := &field{Field: dependency.Field{Name: name, Population: pop}}
			f.root = f
			r.fields[name] = f
		}
	}
	for _, name := range r.names {
		d := r.doc.Fields[name]
		f := r.fields[name]
		if f == nil {
			root := r.fields[d.Of]
			f = &field{Field: dependency.Field{Name: name, Population: root.Population}, root: root}
			r.fields[name] = f
		}
		var levels []population.Level
		for i, l := range d.Levels {
			bits, err := document.Bits(l.Bits)
			if err == nil && slices.Contains(f.Levels, l.Name) {
				err = fmt.Errorf("the level %q comes twice", l.Name)
			}
			if err == nil && slices.Contains(reserved, l.Name) {
				err = fmt.Errorf("%s is reserved: give the level another name", l.Name)
			}
			if err != nil {
				return where(err, "fields", name, "levels", strconv.Itoa(i))
			}
			f.Levels = append(f.Levels, l.Name)
			levels = append(levels, population.Level{Name: l.Name, By: l.By, Bits: bits, As: l.As, Rest: l.Rest})
		}
		var err error
		if f.Chain, err = f.Population.Chain(d.Reads, levels); err != nil {
			return where(err, "fields", name)
		}
		f.shape = r.shape(name)
	}
	return nil
}

// shape hashes what a field's levels mean.
func (r *Rubric) shape(name string) Hash {
	d := r.doc.Fields[name]
	parts := []any{name, d.Of}
	for _, n := range []string{name, d.Of} {
		if f, ok := r.doc.Fields[n]; ok {
			parts = append(parts, f.Population, f.Reads, f.Levels)
		}
	}
	return sha256.Sum256(mustJSON(parts))
}

// field returns a declared field.
func (r *Rubric) field(name string) (*field, error) {
	if f := r.fields[name]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("unknown field %q; the fields are %s", name, strings.Join(r.names, ", "))
}

func (r *Rubric) compileCoverage() error {
	var clauses []predicate.Clause
	seen := map[string]bool{}
	for i := range r.doc.Coverage {
		c := &r.doc.Coverage[i]
		at := []string{"coverage", strconv.Itoa(i)}
		if _, err := r.field(c.Field); err != nil {
			return where(err, append(at, "field")...)
		}
		if seen[c.ID] {
			return where(fmt.Errorf("the clause %q comes twice", c.ID), append(at, "id")...)
		}
		seen[c.ID] = true
		p := predicate.Clause{ID: c.ID, Path: c.Path, Text: c.Text, Entity: c.Entity, Lexicon: c.Lexicon.List}
		if c.Lexicon.Values {
			spec := r.doc.Fields[c.Field].Population
			if spec != nil {
				p.Lexicon = spec.Values()
			}
			if p.Lexicon == nil {
				return where(fmt.Errorf("the population of %s is not a table of values", c.Field), append(at, "lexicon")...)
			}
		}
		clauses = append(clauses, p)
	}
	for _, name := range r.names {
		if !slices.ContainsFunc(r.doc.Coverage, func(c document.Clause) bool { return c.Field == name }) {
			return where(fmt.Errorf("nothing finds %s: it has no clause of coverage", name), "fields", name)
		}
	}
	var err error
	if r.covers, err = predicate.New(clauses); err != nil {
		return where(err, "coverage")
	}
	if err := paths(&r.residual, r.doc.Residual, "residual"); err != nil || r.doc.Screened == nil {
		return err
	}
	if r.doubt, err = document.Bits(r.doc.Screened.Error); err != nil {
		return where(err, "screened", "error")
	}
	return paths(&r.screened, r.doc.Screened.Paths, "screened", "paths")
}

// paths compiles expressions on paths, by class.
func paths(to *[4][]*regexp.Regexp, by map[string][]string, at ...string) error {
	for class, list := range by {
		for i, s := range list {
			re, err := regexp.Compile(s)
			if err != nil {
				return where(err, append(at, class, strconv.Itoa(i))...)
			}
			to[classNames[class]] = append(to[classNames[class]], re)
		}
	}
	return nil
}

func (r *Rubric) compileNecessity() error {
	for _, name := range slices.Sorted(maps.Keys(r.doc.Necessity)) {
		f, err := r.field(name)
		if err != nil {
			return where(err, "necessity", name)
		}
		for class, word := range r.doc.Necessity[name] {
			f.needs[classNames[class]] = Necessity(slices.Index(necessities, word)) //nolint:gosec // the schema has no other words
		}
	}
	return nil
}

// op reads an operator's name: identity, a level, or a template.
func (r *Rubric) op(f *field, name string) (Op, error) {
	if name == "identity" {
		return Op{Kind: Identity}, nil
	}
	if i := slices.Index(f.Levels, name); i >= 0 {
		return Op{Kind: Generalize, Level: i + 1}, nil
	}
	if _, ok := r.templates[name]; ok || name == Pseudonym {
		return Op{Kind: Substitute, Template: name}, nil
	}
	switch name {
	case "redact":
		return Op{Kind: Redact}, nil
	case "drop":
		return Op{Kind: Drop}, nil
	}
	known := slices.Concat([]string{"identity"}, f.Levels, []string{Pseudonym}, slices.Sorted(maps.Keys(r.templates)))
	return Op{}, fmt.Errorf("unknown operator %q on %s; known ones are %s", name, f.Name, strings.Join(known, ", "))
}

func (r *Rubric) compileOperators() error {
	for _, name := range r.names {
		for _, class := range classOrder {
			r.fields[name].ops[class] = []Op{{Kind: Drop}, {Kind: Redact}}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.doc.Operators)) {
		f, err := r.field(name)
		if err != nil {
			return where(err, "operators", name)
		}
		for _, class := range slices.Sorted(maps.Keys(r.doc.Operators[name])) {
			k := classNames[class]
			for i, word := range r.doc.Operators[name][class] {
				op, err := r.op(f, word)
				if err == nil && op.Kind == Identity && f.needs[k] == Unnecessary {
					err = fmt.Errorf("%s is unnecessary for %s sinks, so never shown as it is", name, class)
				}
				if err != nil {
					return where(err, "operators", name, class, strconv.Itoa(i))
				}
				if !slices.Contains(f.ops[k], op) {
					f.ops[k] = append(f.ops[k], op)
				}
			}
			slices.SortFunc(f.ops[k], Op.Compare)
		}
	}
	return nil
}

func (r *Rubric) compileUtility() error {
	for _, class := range slices.Sorted(maps.Keys(r.doc.Utility)) {
		k := classNames[class]
		for _, name := range slices.Sorted(maps.Keys(r.doc.Utility[class])) {
			at := []string{"utility", class, name}
			f, err := r.field(name)
			if err != nil {
				return where(err, at...)
			}
			n := Need{Field: name}
			if word := r.doc.Utility[class][name]; word != "identity" {
				if n.Level = slices.Index(f.Levels, word) + 1; n.Level == 0 {
					return where(fmt.Errorf("unknown level %q of %s; its levels are %s", word, name, strings.Join(f.Levels, ", ")), at...)
				}
			}
			if !serves(f.ops[k], n.Level) {
				return where(fmt.Errorf("%s must survive, and no operator for %s sinks keeps it", name, class), at...)
			}
			if f.needs[k] == Unnecessary {
				return where(fmt.Errorf("%s must survive, and is unnecessary for %s sinks", name, class), at...)
			}
			r.utility[k] = append(r.utility[k], n)
		}
	}
	return nil
}

// serves reports whether an operator leaves a field at a level or finer.
func serves(ops []Op, level int) bool {
	return slices.ContainsFunc(ops, func(o Op) bool {
		return o.Kind == Identity || o.Kind == Generalize && o.Level <= level
	})
}

// cost of an operator on a field, which has the level.
func (r *Rubric) cost(f *field, op Op) flow.Bits {
	switch op.Kind {
	case Drop:
		return 0
	case Redact:
		return r.presence
	case Substitute:
		if op.Template == Pseudonym {
			return r.presence.Add(r.equality)
		}
		return r.presence
	case Generalize:
		return f.Chain.Cost(op.Level)
	default:
		return f.Chain.Cost(0)
	}
}

// tie is a component of fields that depend on each other, with what views of
// them disclose.
type tie struct {
	*dependency.Component

	memo memo // by the levels that are seen
}

// compileTies makes the components of the dependencies, and names each group
// after the first of its fields.
func (r *Rubric) compileTies() error {
	components, err := dependency.New(r.doc.Dependencies, func(name string) (*dependency.Field, error) {
		f, err := r.field(name)
		if err != nil {
			return nil, err
		}
		if f.root != f {
			return nil, fmt.Errorf("%s is a view of %s: declare the dependency of that", name, f.root.Name)
		}
		return &f.Field, nil
	})
	if err != nil {
		return where(err, "dependencies")
	}
	for _, c := range components {
		t := &tie{Component: c}
		r.ties = append(r.ties, t)
		for _, name := range c.Fields() {
			r.fields[name].tie = t
		}
	}
	same := func(a, b *field) bool {
		return a.root == b.root || a.root.tie != nil && a.root.tie == b.root.tie
	}
	for _, name := range r.names {
		f := r.fields[name]
		first := slices.IndexFunc(r.names, func(o string) bool { return same(r.fields[o], f) })
		f.group = r.names[first]
	}
	return nil
}

// monotone checks that costs don't fall along the disclosure order of all that
// can be done with a field, admissible or not.
func (r *Rubric) monotone() error {
	for _, name := range r.names {
		f := r.fields[name]
		ops := []Op{{Kind: Drop}, {Kind: Redact}, {Kind: Substitute, Template: Pseudonym}, {Kind: Identity}}
		for l := range f.Levels {
			ops = append(ops, Op{Kind: Generalize, Level: l + 1})
		}
		for t := range r.templates {
			ops = append(ops, Op{Kind: Substitute, Template: t})
		}
		slices.SortFunc(ops, Op.Compare)
		for i := 1; i < len(ops); i++ {
			if a, b := r.cost(f, ops[i-1]), r.cost(f, ops[i]); a > b {
				return where(fmt.Errorf("costs are not monotone: %s of %s costs %s, and %s, which shows more, %s", ops[i-1], name, a, ops[i], b), "fields", name)
			}
		}
	}
	return nil
}
