package body

import (
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Table is what an API says about the members of its objects, by their keys.
// What is in no list is text.
type Table struct {
	// Lists are of words with white space between them:
	//
	//   - typed: the members that have one of the words: a type, a role;
	//   - ids: the members with an identifier that the server makes;
	//   - keys: the API's own keys; any other of at least four bytes is text;
	//   - content, refusal, reasoning, arguments: the members with such a text;
	//   - media: the members with content that is not text;
	//   - vectors: the members with vectors in base64, which a server writes.
	Lists map[string]string
	// IsID reports whether a string has the form of the API's identifiers.
	IsID func(raw []byte) bool
	// Opaque says what content a string is that is not text, whatever its
	// key; empty for text. Nil is for none.
	Opaque func(d *strictjson.Doc, node int) string
	// Sealed reports whether a string is data that the server alone can read,
	// such as a signature. The server's is one of the Names; in a request it
	// goes back to where it came from and is left out. Nil is for none.
	Sealed func(d *strictjson.Doc, node int) bool
	// Repeats reports whether what a server says there only repeats a text,
	// so that it is scanned with that text. Nil is for none.
	Repeats func(d *strictjson.Doc, node int) bool
}

// Lists reads lists from a file: a name with a colon, and its words in the lines
// below. Lines that start with # are comments.
func Lists(file string) map[string]string {
	lists, name := map[string]string{}, ""
	for line := range strings.Lines(file) {
		if head, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok {
			name = head
		} else if !strings.HasPrefix(line, "#") {
			lists[name] += line
		}
	}
	return lists
}

// Vocabulary is a Table, ready for use. It is safe for concurrent use.
type Vocabulary struct {
	Table
	members map[string]member
	words   Words
}

// member is what the table says about a key.
type member struct {
	field                                  flow.Field
	fielded, typed, id, key, media, vector bool
}

// fields are the lists of members whose text has a kind of its own.
var fields = map[string]flow.Field{
	"content": flow.FieldContent, "refusal": flow.FieldRefusal, "reasoning": flow.FieldReasoning, "arguments": flow.FieldToolArguments,
}

// New makes a table ready for use.
func (t Table) New() *Vocabulary {
	v := &Vocabulary{Table: t, members: map[string]member{}, words: Set(t.Lists["words"])}
	for name, list := range t.Lists {
		for _, key := range strings.Fields(list) {
			m := v.members[key]
			m.typed, m.id, m.key = m.typed || name == "typed", m.id || name == "ids", m.key || name == "keys"
			m.media, m.vector = m.media || name == "media", m.vector || name == "vectors"
			if f, ok := fields[name]; ok {
				m.field, m.fielded = f, true
			}
			v.members[key] = m
		}
	}
	return v
}

// IsWord reports whether a string is a word of the API's own. The list need not
// be complete: any other word is text, and scanned.
func (v *Vocabulary) IsWord(raw []byte) bool { return v.words.Has(raw) }

// Foreign reports whether a key is text, because the API does not know it.
func (v *Vocabulary) Foreign(key []byte) bool { return len(key) >= 4 && !v.members[string(key)].key }

// Field returns the field of a member's text.
func (v *Vocabulary) Field(key []byte) (f flow.Field, ok bool) {
	m := v.members[string(key)]
	return m.field, m.fielded
}

// IsID reports whether a member of this key is an identifier.
func (v *Vocabulary) IsID(key, raw []byte) bool {
	return v.members[string(key)].id && v.Table.IsID(raw)
}

// Structural reports whether a server's string is a word or a vector.
func (v *Vocabulary) Structural(key, raw []byte) bool {
	return v.structural(v.members[string(key)], raw, true)
}

func (v *Vocabulary) structural(m member, raw []byte, server bool) bool {
	return m.typed && v.IsWord(raw) || m.vector && server && len(raw) > 256 && IsBase64(raw)
}

// Class is what a server's string is.
type Class uint8

// Classes.
const (
	Text   Class = iota
	Name         // an identifier, which edits would break
	NoText       // a word of the API's own, or content that is not text
)

// Class says what a server's string is. With model, the member "model" is a name.
func (v *Vocabulary) Class(d *strictjson.Doc, node int, model bool) Class {
	key, raw := d.KeyBytes(node), Content(d, node)
	m := v.members[string(key)]
	switch {
	case v.structural(m, raw, true) || v.opaque(d, node) != "":
		return NoText
	case m.id && v.Table.IsID(raw), model && string(key) == "model" && IsModel(raw), v.sealed(d, node):
		return Name
	}
	return Text
}

func (v *Vocabulary) opaque(d *strictjson.Doc, node int) string {
	if v.Opaque == nil {
		return ""
	}
	return v.Opaque(d, node)
}

func (v *Vocabulary) sealed(d *strictjson.Doc, node int) bool {
	return v.Sealed != nil && v.Sealed(d, node)
}

// Content is what a string is written as, between its quotes.
func Content(d *strictjson.Doc, node int) []byte {
	n := &d.Nodes[node]
	return d.Raw[n.Start+1 : n.End-1]
}

var _ wire.Body = (*Document)(nil)

// Words is a set of words.
type Words map[string]struct{}

// Set returns the words of a list, separated by white space.
func Set(list string) Words {
	s := Words{}
	for _, w := range strings.Fields(list) {
		s[w] = struct{}{}
	}
	return s
}

// Has reports whether a word is one of the set.
func (s Words) Has(word []byte) bool {
	_, ok := s[string(word)]
	return ok
}
