package taint

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
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

// Formats returns all formats.
func Formats() []Format {
	return []Format{FormatJSON, FormatYAML, FormatPython, FormatLines, FormatText}
}

type nodeKind uint8

const (
	text nodeKind = iota
	number
	boolean
	null
	list
	dict
)

// node is a value of a document, in order; its children follow it up to next.
type node struct {
	kind         nodeKind
	plain        bool // a scalar on one line without escapes: it is what it says
	start, end   int  // of the value; of a quoted text what is inside
	kstart, kend int  // of the key's inside; equal where there is none
	key, value   string
	parent, next int
}

// tree is a document over its text.
type tree struct {
	text  string
	nodes []node
}

// add appends a node and returns its place.
func (t *tree) add(n node) int {
	t.nodes = append(t.nodes, n)
	return len(t.nodes) - 1
}

// close ends a container.
func (t *tree) close(i, end int) { t.nodes[i].end, t.nodes[i].next = end, len(t.nodes) }

// leaf reports whether a node is a scalar.
func (t *tree) leaf(i int) bool { return t.nodes[i].kind != list && t.nodes[i].kind != dict }

// read parses text in a format, or reports that it is not in it.
func read(f Format, s string, lines []Line) (*tree, bool) {
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
		t := &tree{text: s}
		// What surrounds a value in a text alone is space.
		v := strings.TrimSpace(s)
		at := strings.Index(s, v)
		t.add(node{kind: text, plain: !strings.ContainsAny(v, "\r\n"), start: at, end: at + len(v), value: v, parent: -1, next: 1})
		return t, true
	}
	return nil, false
}

func readJSON(s string, most int) (*tree, bool) {
	var d strictjson.Doc
	if err := d.Parse([]byte(s), strictjson.Limits{MaxBytes: most, MaxDepth: MaxDepth, MaxNodes: MaxNodes}); err != nil {
		return nil, false
	}
	t := &tree{text: s, nodes: make([]node, len(d.Nodes))}
	kinds := map[strictjson.Kind]nodeKind{
		strictjson.Null: null, strictjson.False: boolean, strictjson.True: boolean, strictjson.Number: number,
		strictjson.String: text, strictjson.Array: list, strictjson.Object: dict,
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		out := node{kind: kinds[n.Kind], start: n.Start, end: n.End, parent: n.Parent, next: n.Next, plain: true}
		if n.Parent >= 0 && d.Nodes[n.Parent].Kind == strictjson.Object {
			out.kstart, out.kend = n.KeyStart, n.KeyEnd
			if out.key = s[n.KeyStart:n.KeyEnd]; n.KeyEscaped {
				out.key = d.Key(i)
			}
		}
		switch out.kind {
		case text:
			out.start, out.end, out.plain = n.Start+1, n.End-1, !n.Escaped
			if out.value = s[out.start:out.end]; n.Escaped {
				out.value = d.Text(i)
			}
		case number, boolean, null:
			out.value = s[n.Start:n.End]
		}
		t.nodes[i] = out
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
func readLines(s string, patterns []Line) (*tree, bool) {
	t := &tree{text: s}
	root := t.add(node{kind: list, parent: -1, end: len(s)})
	for at := 0; at < len(s); {
		if len(t.nodes) > MaxNodes {
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

func (t *tree) line(root, at, end int, patterns []Line) {
	line := t.text[at:end]
	for _, l := range patterns {
		m := l.re.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		obj := t.add(node{kind: dict, parent: root, start: at, end: end})
		last := 0
		for g, name := range l.re.SubexpNames() {
			from, to := m[2*g], m[2*g+1]
			if g == 0 || name == "" || from < last || t.has(obj, name) {
				continue
			}
			last = to
			t.add(node{kind: text, plain: true, start: at + from, end: at + to, key: name, value: line[from:to], parent: obj, next: len(t.nodes) + 1})
		}
		t.close(obj, end)
		return
	}
	t.add(node{kind: text, plain: true, start: at, end: end, value: line, parent: root, next: len(t.nodes) + 1})
}

// has reports whether an object, which may be open, has a key.
func (t *tree) has(obj int, key string) bool {
	return slices.ContainsFunc(t.nodes[obj+1:], func(n node) bool { return n.parent == obj && n.key == key })
}
