// Package observe describes what tools return: an Annotation cuts a result
// into regions with labels, by marks that a Scheme turns into labels of a
// lattice, and by types that a value must conform to in order to count as
// trusted. Wrap renders a result for a model as quoted data.
//
// Nothing here decides. A mistake gives a text a wrong label, and the
// guarantee of taint/clear then holds for that label.
package observe

import (
	"slices"
	"strconv"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/document"
)

// MaxRegions bounds the regions of a result; one with more has its tool's worst
// label.
const MaxRegions = 1 << 14

// Annotation says how a tool's results are cut into regions. The zero
// Annotation takes all for the worst.
type Annotation struct {
	// Formats are tried in order; text always holds. None: text.
	Formats []document.Format
	// Lines are the patterns of the format lines, tried in order.
	Lines []document.Line
	// Default marks the values that no field names.
	Default Mark
	// Structure marks what is between the values: brackets, names of fields
	// that the pack knows, and with them the number of records. Nil: Default.
	Structure *Mark
	Records   []Record
	Fields    []Field
}

// Record says where the structure of records names who wrote them and who
// may see them. Sources and Readers lead from the record on.
type Record struct {
	At      document.Path
	Sources []document.Path
	Readers []document.Path
	Type    Type // of the names; a name that does not conform is a stranger's
	// Public are values that say that everybody may see the record; one is
	// enough.
	Public []Is
}

// Is is a path at which there is one of some values.
type Is struct {
	At     document.Path
	Values []string
}

// Field marks the values at a path. Where the path leads to a list or an
// object, the mark is for all in it that no other field names; text in it that
// another field names has the join.
type Field struct {
	At   document.Path
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
	Format document.Format
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
	origin   *origin
}

// Observation is a tool's result with what its annotation needs to know.
type Observation struct {
	Scheme *Scheme
	Tool   string
	Text   string
	Args   *document.Tree // of the call; nil where they are not strict JSON
	Worst  label.Label
	// Trusts reports whether records of somebody are trusted.
	Trusts func(name string) bool
}

// Annotate cuts a result into regions. It never fails: what it can't tell has
// the tool's worst label.
func (a *Annotation) Annotate(o *Observation) Result {
	structure := a.Structure
	if structure == nil {
		structure = &a.Default
	}
	out := Result{Worst: o.Worst, Known: true}
	doc := (*document.Tree)(nil)
	for _, f := range a.Formats {
		if d, ok := document.Read(f, o.Text, a.Lines); ok {
			doc, out.Format = d, f
			break
		}
	}
	if len(a.Formats) == 0 {
		doc, _ = document.Read(document.FormatText, o.Text, nil)
		out.Format = document.FormatText
	}
	if doc == nil {
		out.Regions = whole(o.Text, o.Worst, o.Tool)
		return out
	}
	an := &annotator{o: o, scheme: o.Scheme, doc: doc, def: a.Default, structure: o.Scheme.Label(*structure), state: make([]nodeState, len(doc.Nodes))}
	an.run(a)
	if an.regions == nil || len(an.regions) > MaxRegions {
		an.regions = whole(o.Text, o.Worst, o.Tool)
	}
	out.Regions = an.regions
	return out
}

// whole is a text as one region.
func whole(s string, l label.Label, tool string) []flow.Region {
	return []flow.Region{{End: len(s), Label: l, From: flow.Provenance{Role: flow.RoleTool, Tool: tool}}}
}

// WorstOf is the join of all labels that an annotation may give without
// knowing the people.
func (a *Annotation) WorstOf(s *Scheme) label.Label {
	l := s.Label(a.Default)
	if a.Structure != nil {
		l = s.Lattice.Join(l, s.Label(*a.Structure))
	}
	for i := range a.Fields {
		l = s.Lattice.Join(l, s.Label(a.Fields[i].Mark))
	}
	return l
}

type annotator struct {
	o         *Observation
	scheme    *Scheme
	doc       *document.Tree
	def       Mark
	structure label.Label
	echoes    map[string]bool
	state     []nodeState
	regions   []flow.Region
	at        int
}

func (a *annotator) run(an *Annotation) {
	for i := range an.Records {
		r := &an.Records[i]
		a.doc.Walk(r.At, 0, nil, func(n, _ int) { a.state[n].origin = a.origin(r, n) })
	}
	for i := range an.Fields {
		f := &an.Fields[i]
		a.doc.Walk(f.At, 0, func(n, taken int) {
			s := &a.state[n]
			s.on = true
			if taken > 0 && f.At.Named(taken-1) {
				s.declared = true
			}
			if taken > 0 && f.At.Every(taken-1) && !f.Keys.IsZero() {
				s.key, s.keyLabel = &f.Keys, a.scheme.label(f.Mark, a.originOf(n))
			}
		}, func(n, _ int) { a.hit(n, f) })
	}
	for i := range an.Records {
		for _, paths := range [][]document.Path{an.Records[i].Sources, an.Records[i].Readers} {
			for _, p := range paths {
				a.declare(an.Records[i].At, p)
			}
		}
	}
	a.emit(0, "", nil, nil)
	a.until(len(a.doc.Text), a.structure, "")
}

// declare marks the names on the way to a record's people as known.
func (a *annotator) declare(at, p document.Path) {
	a.doc.Walk(at, 0, nil, func(n, _ int) {
		a.doc.Walk(p, n, func(m, taken int) {
			if taken > 0 && p.Named(taken-1) {
				a.state[m].on, a.state[m].declared = true, true
			}
		}, func(int, int) {})
	})
}

// hit takes a field's mark for a node; ambiguity joins.
func (a *annotator) hit(n int, f *Field) {
	s, d := &a.state[n], &a.doc.Nodes[n]
	l := a.scheme.label(f.Mark, a.originOf(n))
	if !f.Type.IsZero() {
		switch {
		case d.Kind == document.Null:
		case !a.doc.Leaf(n) && d.Next == n+1: // [] and {} hold nothing
		case !a.doc.Leaf(n) || !d.Plain || !f.Type.Conforms(d.Value, a.echo):
			l = a.scheme.Lattice.Join(l, a.o.Worst)
			s.untyped = true
		}
	} else {
		s.untyped = true
	}
	if s.hit {
		l = a.scheme.Lattice.Join(l, s.label)
	}
	s.hit, s.label = true, l
}

// echo reports whether a value is one of the call's arguments.
func (a *annotator) echo(v string) bool {
	if a.o.Args == nil {
		return false
	}
	if a.echoes == nil {
		a.echoes = map[string]bool{}
		for i := range a.o.Args.Nodes {
			if n := &a.o.Args.Nodes[i]; n.Kind == document.Text || n.Kind == document.Number {
				a.echoes[n.Value] = true
			}
		}
	}
	return a.echoes[v]
}

// origin reads who wrote a record and who may see it.
func (a *annotator) origin(r *Record, n int) *origin {
	o := &origin{}
	names := func(paths []document.Path) []string {
		var out []string
		for _, p := range paths {
			a.doc.Walk(p, n, nil, func(m, _ int) {
				d := &a.doc.Nodes[m]
				v, is := d.Value, a.doc.Leaf(m) && d.Plain
				if p.Keys() {
					v, is = d.Key, a.plainKey(d)
				} else if d.Kind == document.Null || !a.doc.Leaf(m) && d.Next == m+1 {
					return
				}
				name, ok := personName(v)
				if !is || !ok || !r.Type.IsZero() && !r.Type.Conforms(v, nil) {
					name = Stranger
				}
				out = append(out, name)
			})
		}
		return out
	}
	o.Sources, o.Readers = names(r.Sources), names(r.Readers)
	o.Trusted = len(o.Sources) > 0 && !slices.ContainsFunc(o.Sources, func(n string) bool { return !a.trusts(n) })
	o.Sources = slices.DeleteFunc(o.Sources, a.trusts)
	if slices.Contains(o.Readers, Stranger) {
		o.Readers = nil // who may see it is not known: the user alone
	}
	for _, is := range r.Public {
		a.doc.Walk(is.At, n, nil, func(m, _ int) {
			d := &a.doc.Nodes[m]
			o.Public = o.Public || a.doc.Leaf(m) && d.Plain && slices.Contains(is.Values, d.Value)
		})
	}
	return o
}

func (a *annotator) trusts(name string) bool { return a.o.Trusts != nil && a.o.Trusts(name) }

// originOf is the origin of the innermost record around a node.
func (a *annotator) originOf(n int) *origin {
	for ; n >= 0; n = a.doc.Nodes[n].Parent {
		if o := a.state[n].origin; o != nil {
			return o
		}
	}
	return nil
}

// emit makes the regions of a node. Inherited is the mark of a field that
// names what it is in.
func (a *annotator) emit(n int, path string, o *origin, inherited *label.Label) {
	s, d := &a.state[n], &a.doc.Nodes[n]
	if s.origin != nil {
		o = s.origin
	}
	l := a.scheme.label(a.def, o)
	switch {
	case s.hit && inherited != nil && s.untyped:
		l = a.scheme.Lattice.Join(s.label, *inherited)
	case s.hit:
		l = s.label
	case inherited != nil:
		l = *inherited
	}
	if !a.doc.Leaf(n) && d.Next == n+1 && s.on && !s.untyped && a.scheme.Lattice.FlowsTo(a.structure, l) {
		l = a.structure // an empty list is structure
	}
	if a.doc.Leaf(n) || !a.within(n) {
		a.region(d.Start, d.End, l, path)
		return
	}
	if s.hit && s.untyped {
		inherited = &l
	}
	i := 0
	for c := n + 1; c < d.Next; c = a.doc.Nodes[c].Next {
		child, cs := &a.doc.Nodes[c], &a.state[c]
		at := path + "[" + strconv.Itoa(i) + "]"
		if d.Kind == document.Dict {
			switch {
			case cs.declared:
				at = join(path, child.Key)
			case cs.key != nil && a.plainKey(child) && cs.key.Conforms(child.Key, a.echo):
				at = join(path, "*")
				a.region(child.KeyStart, child.KeyEnd, a.scheme.Lattice.Join(cs.keyLabel, a.structure), at)
			default:
				// A key that the pack doesn't know is data.
				at = join(path, "?")
				kl := a.scheme.label(a.def, o)
				if inherited != nil {
					kl = *inherited
				}
				a.region(child.KeyStart, child.KeyEnd, a.scheme.Lattice.Join(kl, a.structure), at)
			}
		}
		a.emit(c, at, o, inherited)
		i++
	}
}

// plainKey reports whether a key is written as it reads.
func (a *annotator) plainKey(n *document.Node) bool { return a.doc.Text[n.KeyStart:n.KeyEnd] == n.Key }

// within reports whether a field leads into a container, or it is the root.
func (a *annotator) within(n int) bool {
	if a.doc.Nodes[n].Next == n+1 {
		return false
	}
	for c := n + 1; c < a.doc.Nodes[n].Next; c = a.doc.Nodes[c].Next {
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
	if end <= a.at && !(end == 0 && len(a.doc.Text) == 0 && len(a.regions) == 0) {
		return
	}
	if n := len(a.regions); n > 0 && a.regions[n-1].Label == l && a.regions[n-1].From.Field == path {
		a.regions[n-1].End = end
	} else {
		a.regions = append(a.regions, flow.Region{Start: a.at, End: end, Label: l, From: flow.Provenance{Role: flow.RoleTool, Tool: a.o.Tool, Field: path}})
	}
	a.at = end
}
