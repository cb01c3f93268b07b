package taint

import (
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Annotation says how a tool's results are cut into regions. The zero
// Annotation takes all for the worst.
type Annotation struct {
	// Formats are tried in order; text always holds. None: text.
	Formats []Format
	// Lines are the patterns of the format lines, tried in order.
	Lines []Line
	// Default marks the values that no field names.
	Default Mark
	// Structure marks what is between the values: brackets, names of fields
	// that the pack knows, and with them the number of records. Nil: Default.
	Structure *Mark
	Records   []Record
	Fields    []Field
	// Cases replace Default and Structure where a call's arguments are so.
	// The first whose conditions hold counts.
	Cases []Case
}

// Case is what holds for some calls of a tool.
type Case struct {
	When      []Cond
	Default   Mark
	Structure *Mark
}

// Record says what the structure of records tells of who wrote them and who
// may see them. Sources and Readers lead from the record on.
type Record struct {
	At      Path
	Sources []Path
	Readers []Path
	Type    Type // of the names; a name that does not conform is a stranger's
	// Public are values that say that everybody may see the record; one is
	// enough.
	Public []Is
}

// Is is a path at which there is one of some values.
type Is struct {
	At     Path
	Values []string
}

// Field marks the values at a path. Where the path leads to a list or an
// object, the mark is for all in it that no other field names; text in it that
// another field names has the join.
type Field struct {
	At   Path
	Mark Mark
	// Type is what the value must be for the mark to hold; zero: any text.
	Type Type
	// Keys is the type of the keys of the objects that the path's .* leads
	// through; zero: they are data like others.
	Keys Type
}

// Result is an annotated result.
type Result struct {
	Regions []flow.Region // in order; together they are the whole text
	// Worst is the join of all labels that the tool may give.
	Worst label.Label
	// Format is what the result was read as; empty where it was in none of
	// the formats that the pack expects.
	Format Format
	Known  bool // a pack knows the tool
}

// nodeState is what annotation knows of a node.
type nodeState struct {
	on       bool // a field leads to or through it
	declared bool // its key is named by a field
	hit      bool
	untyped  bool // hit by a field without type: its parts have the mark, too
	label    label.Label
	key      *Type // of its key, which is data
	keyLabel label.Label
	origin   *Origin
}

// Annotate cuts the result of a call into regions. It never fails: what it
// can't tell has the tool's worst label.
func (p *Policy) Annotate(call flow.ToolCall, result string) Result {
	t, args := p.tool(call)
	if t == nil {
		return Result{Regions: whole(result, p.scheme.Worst(), call.Name), Worst: p.scheme.Worst()}
	}
	a := &t.Result
	def, structure := a.Default, a.Structure
	for _, c := range a.Cases {
		if args != nil && p.holds(c.When, &question{args: args, call: &call}, false) {
			def, structure = c.Default, c.Structure
			break
		}
	}
	if structure == nil {
		structure = &def
	}
	worst := p.worst(t)
	out := Result{Worst: worst, Known: true}
	doc := (*tree)(nil)
	for _, f := range a.Formats {
		if d, ok := read(f, result, a.Lines); ok {
			doc, out.Format = d, f
			break
		}
	}
	if len(a.Formats) == 0 {
		doc, _ = read(FormatText, result, nil)
		out.Format = FormatText
	}
	if doc == nil {
		out.Regions = whole(result, worst, call.Name)
		return out
	}
	an := &annotator{p: p, doc: doc, tool: call.Name, worst: worst, def: def, state: make([]nodeState, len(doc.nodes))}
	an.structure = p.scheme.label(*structure, nil)
	an.args = args
	an.run(a)
	if an.regions == nil || len(an.regions) > MaxRegions {
		an.regions = whole(result, worst, call.Name)
	}
	out.Regions = an.regions
	return out
}

// whole is a text as one region.
func whole(s string, l label.Label, tool string) []flow.Region {
	return []flow.Region{{End: len(s), Label: l, From: flow.Provenance{Role: flow.RoleTool, Tool: tool}}}
}

// worst is the join of all labels that a tool's annotation may give without
// knowing the people.
func (p *Policy) worst(t *Tool) label.Label {
	join := func(l label.Label, m *Mark) label.Label {
		if m == nil {
			return l
		}
		return p.scheme.Lattice.Join(l, p.scheme.label(*m, nil))
	}
	a := &t.Result
	l := join(p.scheme.label(a.Default, nil), a.Structure)
	for i := range a.Cases {
		l = join(join(l, &a.Cases[i].Default), a.Cases[i].Structure)
	}
	for i := range a.Fields {
		l = join(l, &a.Fields[i].Mark)
	}
	return l
}

type annotator struct {
	p         *Policy
	doc       *tree
	tool      string
	worst     label.Label
	def       Mark
	structure label.Label
	args      *tree
	echoes    map[string]bool
	state     []nodeState
	regions   []flow.Region
	at        int
}

func (a *annotator) run(an *Annotation) {
	for i := range an.Records {
		r := &an.Records[i]
		a.doc.walk(r.At, 0, nil, func(n, _ int) { a.state[n].origin = a.origin(r, n) })
	}
	for i := range an.Fields {
		f := &an.Fields[i]
		a.doc.walk(f.At, 0, func(n, taken int) {
			s := &a.state[n]
			s.on = true
			if taken > 0 && f.At.steps[taken-1].kind == stepName {
				s.declared = true
			}
			if taken > 0 && f.At.steps[taken-1].kind == stepAny && !f.Keys.IsZero() {
				s.key, s.keyLabel = &f.Keys, a.p.scheme.label(f.Mark, a.originOf(n))
			}
		}, func(n, _ int) { a.hit(n, f) })
	}
	for i := range an.Records {
		for _, paths := range [][]Path{an.Records[i].Sources, an.Records[i].Readers} {
			for _, p := range paths {
				a.declare(an.Records[i].At, p)
			}
		}
	}
	a.emit(0, "", nil, nil)
	a.until(len(a.doc.text), a.structure, "")
}

// declare marks the names on the way to a record's people as known.
func (a *annotator) declare(at, p Path) {
	a.doc.walk(at, 0, nil, func(n, _ int) {
		a.doc.walk(p, n, func(m, taken int) {
			if taken > 0 && p.steps[taken-1].kind == stepName {
				a.state[m].on, a.state[m].declared = true, true
			}
		}, func(int, int) {})
	})
}

// hit takes a field's mark for a node; ambiguity joins.
func (a *annotator) hit(n int, f *Field) {
	s, d := &a.state[n], &a.doc.nodes[n]
	l := a.p.scheme.label(f.Mark, a.originOf(n))
	if !f.Type.IsZero() {
		switch {
		case d.kind == null:
		case !a.doc.leaf(n) && d.next == n+1: // [] and {} hold nothing
		case !a.doc.leaf(n) || !d.plain || !f.Type.conforms(d.value, a.echo):
			l = a.p.scheme.Lattice.Join(l, a.worst)
			s.untyped = true
		}
	} else {
		s.untyped = true
	}
	if s.hit {
		l = a.p.scheme.Lattice.Join(l, s.label)
	}
	s.hit, s.label = true, l
}

// echo reports whether a value is one of the call's arguments.
func (a *annotator) echo(v string) bool {
	if a.args == nil {
		return false
	}
	if a.echoes == nil {
		a.echoes = map[string]bool{}
		for i := range a.args.nodes {
			if n := &a.args.nodes[i]; n.kind == text || n.kind == number {
				a.echoes[n.value] = true
			}
		}
	}
	return a.echoes[v]
}

// origin reads who wrote a record and who may see it.
func (a *annotator) origin(r *Record, n int) *Origin {
	o := &Origin{}
	names := func(paths []Path) []string {
		var out []string
		for _, p := range paths {
			a.doc.walk(p, n, nil, func(m, _ int) {
				d := &a.doc.nodes[m]
				v, is := d.value, a.doc.leaf(m) && d.plain
				if p.keys() {
					v, is = d.key, a.plainKey(d)
				} else if d.kind == null || !a.doc.leaf(m) && d.next == m+1 {
					return
				}
				name, ok := personName(v)
				if !is || !ok || !r.Type.IsZero() && !r.Type.conforms(v, nil) {
					name = Stranger
				}
				out = append(out, name)
			})
		}
		return out
	}
	o.Sources, o.Readers = names(r.Sources), names(r.Readers)
	o.Trusted = len(o.Sources) > 0 && !slices.ContainsFunc(o.Sources, func(n string) bool { return !a.p.trusts(n) })
	o.Sources = slices.DeleteFunc(o.Sources, a.p.trusts)
	if slices.Contains(o.Readers, Stranger) {
		o.Readers = nil // who may see it is not known: the user alone
	}
	for _, is := range r.Public {
		a.doc.walk(is.At, n, nil, func(m, _ int) {
			d := &a.doc.nodes[m]
			o.Public = o.Public || a.doc.leaf(m) && d.plain && slices.Contains(is.Values, d.value)
		})
	}
	return o
}

// originOf is the origin of the innermost record around a node.
func (a *annotator) originOf(n int) *Origin {
	for ; n >= 0; n = a.doc.nodes[n].parent {
		if o := a.state[n].origin; o != nil {
			return o
		}
	}
	return nil
}

// emit makes the regions of a node. Inherited is the mark of a field that
// names what it is in.
func (a *annotator) emit(n int, path string, o *Origin, inherited *label.Label) {
	s, d := &a.state[n], &a.doc.nodes[n]
	if s.origin != nil {
		o = s.origin
	}
	l := a.p.scheme.label(a.def, o)
	switch {
	case s.hit && inherited != nil && s.untyped:
		l = a.p.scheme.Lattice.Join(s.label, *inherited)
	case s.hit:
		l = s.label
	case inherited != nil:
		l = *inherited
	}
	if !a.doc.leaf(n) && d.next == n+1 && s.on && !s.untyped && a.p.scheme.Lattice.FlowsTo(a.structure, l) {
		l = a.structure // an empty list is structure
	}
	if a.doc.leaf(n) || !a.within(n) {
		a.region(d.start, d.end, l, path)
		return
	}
	if s.hit && s.untyped {
		inherited = &l
	}
	i := 0
	for c := n + 1; c < d.next; c = a.doc.nodes[c].next {
		child, cs := &a.doc.nodes[c], &a.state[c]
		at := path + "[" + strconv.Itoa(i) + "]"
		if d.kind == dict {
			switch {
			case cs.declared:
				at = join(path, child.key)
			case cs.key != nil && a.plainKey(child) && cs.key.conforms(child.key, a.echo):
				at = join(path, "*")
				a.region(child.kstart, child.kend, a.p.scheme.Lattice.Join(cs.keyLabel, a.structure), at)
			default:
				// A key that the pack doesn't know is data.
				at = join(path, "?")
				kl := a.p.scheme.label(a.def, o)
				if inherited != nil {
					kl = *inherited
				}
				a.region(child.kstart, child.kend, a.p.scheme.Lattice.Join(kl, a.structure), at)
			}
		}
		a.emit(c, at, o, inherited)
		i++
	}
}

// plainKey reports whether a key is written as it reads.
func (a *annotator) plainKey(n *node) bool { return a.doc.text[n.kstart:n.kend] == n.key }

// within reports whether a field leads into a container, or it is the root.
func (a *annotator) within(n int) bool {
	if a.doc.nodes[n].next == n+1 {
		return false
	}
	for c := n + 1; c < a.doc.nodes[n].next; c = a.doc.nodes[c].next {
		if a.state[c].on || a.state[c].origin != nil {
			return true
		}
	}
	return false
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// region adds one, and what is before it as structure.
func (a *annotator) region(start, end int, l label.Label, path string) {
	a.until(start, a.structure, "")
	a.until(end, l, path)
}

// until adds a region up to an offset.
func (a *annotator) until(end int, l label.Label, path string) {
	if end <= a.at && !(end == 0 && len(a.doc.text) == 0 && len(a.regions) == 0) {
		return
	}
	if n := len(a.regions); n > 0 && a.regions[n-1].Label == l && a.regions[n-1].From.Field == path {
		a.regions[n-1].End = end
	} else {
		a.regions = append(a.regions, flow.Region{Start: a.at, End: end, Label: l, From: flow.Provenance{Role: flow.RoleTool, Tool: a.tool, Field: path}})
	}
	a.at = end
}
