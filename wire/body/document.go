package body

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Document is a JSON document of strings: the part that requests and answers
// share. It implements wire.Body. It is not safe for concurrent use.
type Document struct {
	Doc strictjson.Doc
	// Vocabulary must be set before Walk.
	Vocabulary *Vocabulary
	// Server: the server made the ids in it. Those in a request may be
	// anything.
	Server bool

	whole map[int]bool // nodes that are one text each, as they are written
	parts []wire.Part
	node  []int // by part: its node
	names []string
}

// Scope is what is known about the place of a node.
type Scope struct {
	Message, Choice int
	Role            flow.Role
	Field           flow.Field
	Tool            string
	Media           bool // inside content that is not text
	Fixed           bool // nothing in it can be edited
}

// Outside is the scope of what is in no message.
var Outside = Scope{Message: -1, Choice: -1}

// Parts returns the strings of the body in order.
func (d *Document) Parts() []wire.Part { return d.parts }

// Part returns a part for changes.
func (d *Document) Part(id int) *wire.Part { return &d.parts[id] }

// Names returns the identifiers that the server gave.
func (d *Document) Names() []string { return d.names }

// Raw returns the body as it came.
func (d *Document) Raw() []byte { return d.Doc.Raw }

// Node returns the node of a part.
func (d *Document) Node(id int) int { return d.node[id] }

// Get returns the text of an object's member; empty for none.
func (d *Document) Get(object int, key string) string { return d.Doc.Text(d.Doc.Find(object, key)) }

// Is reports whether a node is a member with this key and of this kind.
func (d *Document) Is(node int, key string, kind strictjson.Kind) bool {
	return d.Doc.Nodes[node].Kind == kind && d.Doc.KeyIs(node, key)
}

// PartOf returns the ID of the part that a node's value is, -1 for none.
func (d *Document) PartOf(node int) int {
	i, ok := slices.BinarySearch(d.node, node)
	if !ok {
		return -1
	}
	for i+1 < len(d.node) && d.node[i+1] == node {
		i++ // a key's part stands before its value's
	}
	if d.parts[i].Key {
		return -1
	}
	return i
}

// Path returns where a part is, such as messages[3].content. Keys are named
// by the object that they are in.
func (d *Document) Path(p *wire.Part) string {
	n := d.node[p.ID]
	if p.Key {
		return d.Doc.Path(d.Doc.Nodes[n].Parent) + "{}"
	}
	return d.Doc.Path(n)
}

// Below returns the IDs of the parts below a node that are values, without
// those below some other nodes.
func (d *Document) Below(node int, without ...int) []int {
	return slices.DeleteFunc(d.All(node), func(i int) bool {
		inside := func(w int) bool { return w >= 0 && d.node[i] >= w && d.node[i] < d.Doc.Nodes[w].Next }
		return d.parts[i].Key || slices.ContainsFunc(without, inside)
	})
}

// All returns the IDs of the parts below a node, names of members among them.
func (d *Document) All(node int) (out []int) {
	if node < 0 {
		return nil
	}
	from, _ := slices.BinarySearch(d.node, node)
	for i := from; i < len(d.node) && d.node[i] < d.Doc.Nodes[node].Next; i++ {
		out = append(out, i)
	}
	return out
}

// Model returns the string "model" of the document.
func (d *Document) Model() string { return d.Get(0, "model") }

// Inside adds a text from inside a node's, such as from JSON that is written as
// a string. It can't be edited.
func (d *Document) Inside(node int, s Scope, text string) {
	s.Fixed = true
	d.add(node, &s, text, "", false)
}

func (d *Document) add(node int, s *Scope, text, opaque string, key bool) {
	d.parts = append(d.parts, wire.Part{
		ID: len(d.parts), Message: s.Message, Choice: s.Choice, Role: s.Role, Field: s.Field, Tool: s.Tool,
		Key: key, Fixed: key || s.Fixed, Opaque: opaque, Text: text,
	})
	d.node = append(d.node, node)
}

// TakeWhole makes Walk read a value as one text, as it is written: the arguments
// of a call that are JSON, and not JSON in a string.
func (d *Document) TakeWhole(node int) {
	if d.whole == nil {
		d.whole = map[int]bool{}
	}
	d.whole[node] = true
}

// Walk collects the strings below a node. The nodes must come in their order.
func (d *Document) Walk(n int, s Scope) {
	doc, v := &d.Doc, d.Vocabulary
	if d.Server && v.Repeats != nil && v.Repeats(doc, n) {
		return
	}
	var m member
	node := &doc.Nodes[n]
	if node.KeyEnd > node.KeyStart {
		key := doc.KeyBytes(n)
		m = v.members[string(key)]
		if m.fielded {
			s.Field = m.field
		}
		s.Media = s.Media || m.media
		if len(key) >= 4 && !m.key {
			d.add(n, &Scope{Message: s.Message, Choice: s.Choice, Role: s.Role}, doc.Key(n), "", true)
		}
	}
	if d.whole[n] {
		s.Field = flow.FieldToolArguments
		d.add(n, &s, string(doc.Value(n)), "", false)
		return
	}
	switch node.Kind {
	case strictjson.Object, strictjson.Array:
		if fn := doc.Find(n, "function"); fn >= 0 && doc.Nodes[fn].Kind == strictjson.Object {
			s.Tool = doc.Text(doc.Find(fn, "name"))
		}
		for c := n + 1; c < node.Next; c = doc.Nodes[c].Next {
			d.Walk(c, s)
		}
	case strictjson.String:
		d.str(n, &s, m)
	default:
	}
}

func (d *Document) str(n int, s *Scope, m member) {
	doc, v := &d.Doc, d.Vocabulary
	key, raw, opaque := doc.KeyBytes(n), Content(doc, n), ""
	switch {
	case v.structural(m, raw, d.Server):
		return
	case d.Server && (m.id && v.Table.IsID(raw) || string(key) == "model" && doc.Nodes[doc.Nodes[n].Parent].Parent < 0 && IsModel(raw)),
		v.sealed(doc, n):
		if d.Server {
			d.names = append(d.names, string(raw))
		}
		return
	}
	if opaque = v.opaque(doc, n); opaque == "" && s.Media {
		opaque = media(key, raw)
	}
	text := ""
	if opaque == "" {
		text = doc.Text(n)
	}
	d.add(n, s, text, opaque, false)
}
