// Package document reads what tools return, and the arguments they are called
// with, as trees of values over their texts: strict JSON, YAML as dumpers
// write it, Python literals, lines, and plain text. Ambiguous text is not
// parsed at all. Every value knows its place in the text, so that bytes can
// get labels. Paths lead to values.
package document

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
)

// Limits of everything that is read. They are part of the behaviour: a result
// beyond them has its tool's worst label, a call beyond them is denied.
const (
	MaxResult    = 8 << 20 // bytes of a result
	MaxNodes     = 1 << 17 // values in a result
	MaxArguments = 1 << 20 // bytes of a call's arguments
	MaxDepth     = 64      // nesting of a result or of arguments
)

// Format is how a tool writes its results.
type Format string

// Formats. All are read strictly: what does not hold to one is text.
const (
	FormatJSON   Format = "json"
	FormatYAML   Format = "yaml"   // block style, as dumpers write it
	FormatPython Format = "python" // a literal: str() of a dict, list, text or number
	FormatLines  Format = "lines"  // each line by patterns with named groups
	FormatText   Format = "text"   // one text
)

// Kind is what a value is.
type Kind uint8

// Kinds.
const (
	Text Kind = iota
	Number
	Boolean
	Null
	List
	Dict
)

// Node is a value of a document, in order; its children follow it up to next.
type Node struct {
	Kind             Kind
	Plain            bool // a scalar on one line without escapes: it is what it says
	Start, End       int  // of the value; of a quoted text what is inside
	KeyStart, KeyEnd int  // of the key's inside; equal where there is none
	Key, Value       string
	Parent, Next     int
}

// Tree is a document over its text.
type Tree struct {
	Text  string
	Nodes []Node
}

// add appends a node and returns its place.
func (t *Tree) add(n Node) int {
	t.Nodes = append(t.Nodes, n)
	return len(t.Nodes) - 1
}

// leaf appends a node without children.
func (t *Tree) leaf(n Node) {
	n.Next = len(t.Nodes) + 1
	t.add(n)
}

// close ends a container.
func (t *Tree) close(i, end int) { t.Nodes[i].End, t.Nodes[i].Next = end, len(t.Nodes) }

// Leaf reports whether a node is a scalar.
func (t *Tree) Leaf(i int) bool { return t.Nodes[i].Kind != List && t.Nodes[i].Kind != Dict }

// Read parses text in a format, or reports that it is not in it.
func Read(f Format, s string, lines []Line) (*Tree, bool) {
	switch f {
	case FormatJSON:
		return readJSON(s, MaxResult)
	case FormatYAML:
		return readYAML(s)
	case FormatPython:
		return readPython(s)
	case FormatLines:
		return readLines(s, lines)
	case FormatText:
		t := &Tree{Text: s}
		// What surrounds a value in a text alone is space.
		v := strings.TrimSpace(s)
		at := strings.Index(s, v)
		t.leaf(Node{Kind: Text, Plain: !strings.ContainsAny(v, "\r\n"), Start: at, End: at + len(v), Value: v, Parent: -1})
		return t, true
	}
	return nil, false
}

func readJSON(s string, most int) (*Tree, bool) {
	var d strictjson.Doc
	if err := d.Parse([]byte(s), strictjson.Limits{MaxBytes: most, MaxDepth: MaxDepth, MaxNodes: MaxNodes}); err != nil {
		return nil, false
	}
	t := &Tree{Text: s, Nodes: make([]Node, len(d.Nodes))}
	kinds := map[strictjson.Kind]Kind{
		strictjson.Null: Null, strictjson.False: Boolean, strictjson.True: Boolean, strictjson.Number: Number,
		strictjson.String: Text, strictjson.Array: List, strictjson.Object: Dict,
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		out := Node{Kind: kinds[n.Kind], Start: n.Start, End: n.End, Parent: n.Parent, Next: n.Next, Plain: true}
		if n.Parent >= 0 && d.Nodes[n.Parent].Kind == strictjson.Object {
			out.KeyStart, out.KeyEnd = n.KeyStart, n.KeyEnd
			if out.Key = s[n.KeyStart:n.KeyEnd]; n.KeyEscaped {
				out.Key = d.Key(i)
			}
		}
		switch out.Kind {
		case Text:
			out.Start, out.End, out.Plain = n.Start+1, n.End-1, !n.Escaped
			if out.Value = s[out.Start:out.End]; n.Escaped {
				out.Value = d.Text(i)
			}
		case Number, Boolean, Null:
			out.Value = s[n.Start:n.End]
		}
		t.Nodes[i] = out
	}
	return t, true
}

// Line is the pattern of a line of plain output.
type Line struct{ re *regexp.Regexp }

// ErrLine says that an expression can't be the pattern of a line.
var ErrLine = errors.New("not a line's pattern")

// NewLine compiles a pattern that a line must match from start to end. All
// that varies must stand in named groups, since the rest counts as structure.
func NewLine(expr string) (Line, error) {
	re, err := regexp.Compile(`\A(?:` + expr + `)\z`)
	if err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrLine, err)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return Line{}, fmt.Errorf("%w: %w", ErrLine, err)
	}
	if !fixed(parsed) {
		return Line{}, fmt.Errorf("%w: what varies must stand in named groups, and groups not in each other or repeated: %q", ErrLine, expr)
	}
	return Line{re}, nil
}

// fixed reports whether an expression matches one text outside its named
// groups.
func fixed(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpEmptyMatch:
		return re.Flags&syntax.FoldCase == 0
	case syntax.OpCapture:
		return re.Name != "" && !slices.ContainsFunc(re.Sub, captures)
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !fixed(s) })
	}
	return false
}

// captures reports whether an expression has a group.
func captures(re *syntax.Regexp) bool {
	return re.Op == syntax.OpCapture || slices.ContainsFunc(re.Sub, captures)
}

// readLines makes a list of the lines: an object of a line's named groups
// where a pattern matches it from start to end, and a text otherwise.
func readLines(s string, patterns []Line) (*Tree, bool) {
	t := &Tree{Text: s}
	root := t.add(Node{Kind: List, Parent: -1, End: len(s)})
	for at := 0; at < len(s); {
		if len(t.Nodes) > MaxNodes {
			return nil, false
		}
		end := len(s)
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			end = at + n
		}
		stop := end
		if stop > at && s[stop-1] == '\r' {
			stop--
		}
		t.line(root, at, stop, patterns)
		at = end + 1
	}
	t.close(root, len(s))
	return t, true
}

func (t *Tree) line(root, at, end int, patterns []Line) {
	line := t.Text[at:end]
	for _, l := range patterns {
		m := l.re.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		obj := t.add(Node{Kind: Dict, Parent: root, Start: at, End: end})
		last := 0
		for g, name := range l.re.SubexpNames() {
			from, to := m[2*g], m[2*g+1]
			if g == 0 || name == "" || from < last || t.has(obj, name) {
				continue
			}
			last = to
			t.leaf(Node{Kind: Text, Plain: true, Start: at + from, End: at + to, Key: name, Value: line[from:to], Parent: obj})
		}
		t.close(obj, end)
		return
	}
	t.leaf(Node{Kind: Text, Plain: true, Start: at, End: end, Value: line, Parent: root})
}

// has reports whether an object, which may be open, has a key.
func (t *Tree) has(obj int, key string) bool {
	return slices.ContainsFunc(t.Nodes[obj+1:], func(n Node) bool { return n.Parent == obj && n.Key == key })
}

// numeral is how numbers are written.
var numeral = regexp.MustCompile(`\A[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?\z`)

// IsNumber reports whether a text is a number.
func IsNumber(v string) bool { return numeral.MatchString(v) }
