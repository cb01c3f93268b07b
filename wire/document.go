package wire

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Vocabulary tells an API's own words from text. Its functions must not keep
// what they are given.
type Vocabulary struct {
	// Word reports whether a string is a word of the API's own: a type, a
	// role, an object kind.
	Word func(key, raw []byte) bool
	// ID reports whether a string is an identifier that the server makes.
	ID func(key, raw []byte) bool
	// Key reports whether an object's key is one of the API's own.
	Key func(key []byte) bool
	// Field says what text a key has.
	Field func(key string) (flow.Field, bool)
	// Media reports whether a key holds content that is no text.
	Media func(key []byte) bool
	// Opaque says what content a string is that is no text, whatever its
	// key; empty for text. Nil is for none.
	Opaque func(d *strictjson.Doc, node int) string
	// Sealed reports whether a string is data that the server alone can read,
	// such as a signature. The server's is one of the Names; in a request it
	// goes back to where it came from and is left out. Nil is for none.
	Sealed func(d *strictjson.Doc, node int) bool
}

// Document is a JSON document of strings: what requests and answers have in
// common. It implements Body.
type Document struct {
	Doc strictjson.Doc
	// Vocabulary must be set before Walk.
	Vocabulary *Vocabulary
	// Server: the ids in it were made by the server. Those in a request may
	// be anything.
	Server bool
	// Whole are the nodes that are taken as one text, as they are written.
	Whole map[int]bool
	// Skip are the nodes that are not looked at.
	Skip map[int]bool

	parts []Part
	node  []int // by part: its node
	names []string
}

// Scope is what is known about the place of a node.
type Scope struct {
	Message, Choice int
	Role            flow.Role
	Field           flow.Field
	Tool            string
	Media           bool // inside content that is no text
	Fixed           bool // nothing in it can be edited
}

// Outside is the scope of what is in no message.
var Outside = Scope{Message: -1, Choice: -1}

// Parts returns the strings of the body in order.
func (d *Document) Parts() []Part { return d.parts }

// Part returns a part for changes.
func (d *Document) Part(id int) *Part { return &d.parts[id] }

// Names returns the identifiers that the server gave.
func (d *Document) Names() []string { return d.names }

// Raw returns the body as it came.
func (d *Document) Raw() []byte { return d.Doc.Raw }

// Node returns the node of a part.
func (d *Document) Node(id int) int { return d.node[id] }

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
func (d *Document) Path(p *Part) string {
	n := d.node[p.ID]
	if p.Key {
		return d.Doc.Path(d.Doc.Nodes[n].Parent) + "{}"
	}
	return d.Doc.Path(n)
}

// Rewrite returns the body with the texts of the given parts replaced. With
// no edits it is the body itself.
func (d *Document) Rewrite(edits map[int]string) []byte {
	return strictjson.Apply(nil, d.Doc.Raw, d.Splices(edits))
}

// Splices returns what Rewrite replaces, in order.
func (d *Document) Splices(edits map[int]string) []strictjson.Splice {
	var sp []strictjson.Splice
	for id, text := range edits {
		if id < 0 || id >= len(d.parts) || d.parts[id].Fixed || d.parts[id].Opaque != "" {
			continue
		}
		n := &d.Doc.Nodes[d.node[id]]
		sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: strictjson.AppendQuote(nil, []byte(text))})
	}
	slices.SortFunc(sp, func(a, b strictjson.Splice) int { return a.Start - b.Start })
	return sp
}

// Edited returns a node's value with the texts of parts replaced.
func (d *Document) Edited(node int, edits map[int]string) []byte {
	n := &d.Doc.Nodes[node]
	inside := map[int]string{}
	for id, text := range edits {
		if id >= 0 && id < len(d.node) && d.node[id] >= node && d.node[id] < n.Next {
			inside[id] = text
		}
	}
	sp := d.Splices(inside)
	for i := range sp {
		sp[i].Start, sp[i].End = sp[i].Start-n.Start, sp[i].End-n.Start
	}
	return strictjson.Apply(nil, d.Doc.Value(node), sp)
}

// Below returns the IDs of the parts below a node that are values.
func (d *Document) Below(node int) []int {
	if node < 0 {
		return nil
	}
	from, _ := slices.BinarySearch(d.node, node)
	var out []int
	for i := from; i < len(d.node) && d.node[i] < d.Doc.Nodes[node].Next; i++ {
		if !d.parts[i].Key {
			out = append(out, i)
		}
	}
	return out
}

// Members writes an object anew: each member as of has it, nil for left out,
// and then those of more that it had not.
func (d *Document) Members(node int, of func(key string, child int) []byte, more ...Member) []byte {
	out, had := []byte{'{'}, map[string]bool{}
	add := func(key string, value []byte) {
		if value == nil {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strictjson.AppendQuote(out, []byte(key)), ':'), value...)
	}
	d.Doc.Children(node, func(c int) bool {
		key := d.Doc.Key(c)
		had[key] = true
		add(key, of(key, c))
		return true
	})
	for _, m := range more {
		if !had[m.Key] {
			add(m.Key, m.Value)
		}
	}
	return append(out, '}')
}

// Member is a member of an object.
type Member struct {
	Key   string
	Value []byte // JSON
}

// Model returns the string "model" of the document.
func (d *Document) Model() string { return d.Doc.Text(d.Doc.Find(0, "model")) }

// Inside adds a text that is inside of a node's, such as in JSON that is
// written as a string. It can't be edited.
func (d *Document) Inside(node int, s Scope, text string) {
	s.Fixed = true
	d.add(node, &s, text, "", false)
}

func (d *Document) add(node int, s *Scope, text, opaque string, key bool) {
	d.parts = append(d.parts, Part{
		ID: len(d.parts), Message: s.Message, Choice: s.Choice, Role: s.Role, Field: s.Field, Tool: s.Tool,
		Key: key, Fixed: key || s.Fixed, Opaque: opaque, Text: text,
	})
	d.node = append(d.node, node)
}

// Walk collects the strings below a node. Nodes must be walked in their order.
func (d *Document) Walk(n int, s Scope) {
	if d.Skip[n] {
		return
	}
	doc := &d.Doc
	node := &doc.Nodes[n]
	if node.KeyEnd > node.KeyStart {
		key := doc.KeyBytes(n)
		if f, ok := d.Vocabulary.Field(string(key)); ok {
			s.Field = f
		}
		s.Media = s.Media || d.Vocabulary.Media(key)
		if len(key) >= 4 && !d.Vocabulary.Key(key) {
			d.add(n, &Scope{Message: s.Message, Choice: s.Choice, Role: s.Role}, doc.Key(n), "", true)
		}
	}
	if d.Whole[n] {
		s.Field = flow.FieldToolArguments
		d.add(n, &s, string(doc.Value(n)), "", false)
		return
	}
	switch node.Kind {
	case strictjson.Object:
		if fn := doc.Find(n, "function"); fn >= 0 && doc.Nodes[fn].Kind == strictjson.Object {
			s.Tool = doc.Text(doc.Find(fn, "name"))
		}
		doc.Children(n, func(c int) bool { d.Walk(c, s); return true })
	case strictjson.Array:
		doc.Children(n, func(c int) bool { d.Walk(c, s); return true })
	case strictjson.String:
		d.str(n, s)
	default:
	}
}

func (d *Document) str(n int, s Scope) {
	doc, v := &d.Doc, d.Vocabulary
	node := &doc.Nodes[n]
	key, raw := doc.KeyBytes(n), doc.Raw[node.Start+1:node.End-1]
	if v.Word(key, raw) {
		return
	}
	if d.Server && (v.ID(key, raw) || string(key) == "model" && doc.Nodes[node.Parent].Parent < 0 && IsModel(raw)) {
		d.names = append(d.names, string(raw))
		return
	}
	if v.Sealed != nil && v.Sealed(doc, n) {
		if d.Server {
			d.names = append(d.names, string(raw))
		}
		return
	}
	if v.Opaque != nil {
		if opaque := v.Opaque(doc, n); opaque != "" {
			d.add(n, &s, "", opaque, false)
			return
		}
	}
	if s.Media {
		if opaque := media(key, raw); opaque != "" {
			d.add(n, &s, "", opaque, false)
			return
		}
	}
	d.add(n, &s, string(doc.Bytes(n)), "", false)
}

// media tells base64 content of media parts from text. A plain URL is text:
// it may carry a secret.
func media(key, raw []byte) string {
	switch {
	case isDataURI(raw):
		if bytes.HasPrefix(raw, []byte("data:image/")) {
			return "image"
		}
		return "file"
	case len(raw) > 64 && IsBase64(raw):
		switch string(key) {
		case "data":
			return "audio"
		case "file_data", "b64_json":
			return "file"
		}
	}
	return ""
}

// isDataURI reports whether a string is a data URI of base64 and nothing else.
func isDataURI(raw []byte) bool {
	if !bytes.HasPrefix(raw, []byte("data:")) {
		return false
	}
	head, body, ok := bytes.Cut(raw, []byte(","))
	return ok && len(head) <= 128 && bytes.HasSuffix(head, []byte(";base64")) && IsBase64(body)
}

// IsBase64 reports whether a string can be base64 of one alphabet. Anything
// else is text, whatever the field says.
func IsBase64(b []byte) bool {
	body := bytes.TrimRight(b, "=")
	if len(b)-len(body) > 2 || len(body)%4 == 1 {
		return false
	}
	for _, c := range body {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}

// IsModel reports whether a string can be the name of a model.
func IsModel(raw []byte) bool {
	for name := range bytes.SplitSeq(raw, []byte("/")) {
		if !IsName(name, 96) {
			return false
		}
	}
	return len(raw) <= 96
}

// IsName reports whether a string of at most so many bytes can be an
// identifier.
func IsName(b []byte, most int) bool {
	if len(b) > most {
		return false
	}
	for _, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':') {
			return false
		}
	}
	return true
}
