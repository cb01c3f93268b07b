package document

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// readPython reads what Python's str() writes of dicts, lists, tuples, texts,
// numbers, True, False and None. Anything else is not a literal.
func readPython(s string) (*Tree, bool) {
	if len(s) > MaxResult || !utf8.ValidString(s) {
		return nil, false
	}
	p := &pythonReader{t: &Tree{Text: s}}
	p.space()
	if !p.value(Node{Parent: -1}, 0) {
		return nil, false
	}
	p.space()
	return p.t, p.pos == len(s)
}

type pythonReader struct {
	t   *Tree
	pos int
}

func (p *pythonReader) space() {
	for p.pos < len(p.t.Text) && (p.t.Text[p.pos] == ' ' || p.t.Text[p.pos] == '\n') {
		p.pos++
	}
}

func (p *pythonReader) take(c byte) bool {
	if p.pos < len(p.t.Text) && p.t.Text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// value reads the value at pos into a node that has its parent and its key.
func (p *pythonReader) value(n Node, depth int) bool {
	s := p.t.Text
	if p.pos >= len(s) || depth > MaxDepth || len(p.t.Nodes) >= MaxNodes {
		return false
	}
	n.Start = p.pos
	switch s[p.pos] {
	case '{':
		n.Kind = Dict
		return p.container(n, '}', depth)
	case '[':
		n.Kind = List
		return p.container(n, ']', depth)
	case '(':
		n.Kind = List
		return p.container(n, ')', depth)
	case '\'', '"':
		ok := p.str(&n)
		p.t.leaf(n)
		return ok
	}
	end := p.pos
	for end < len(s) && strings.IndexByte(",]}): \n", s[end]) < 0 {
		end++
	}
	n.Value, n.End, n.Plain = s[p.pos:end], end, true
	switch n.Value {
	case "True", "False":
		n.Kind = Boolean
	case "None":
		n.Kind = Null
	default:
		n.Kind = Number
		if !IsNumber(n.Value) {
			return false
		}
	}
	p.pos = end
	p.t.leaf(n)
	return true
}

func (p *pythonReader) container(n Node, closing byte, depth int) bool {
	me := p.t.add(n)
	p.pos++
	keys := map[string]bool{}
	for first := true; ; first = false {
		p.space()
		if p.take(closing) {
			p.t.close(me, p.pos)
			return true
		}
		if !first {
			if !p.take(',') {
				return false
			}
			p.space()
			if closing == ')' && p.take(closing) { // (1,)
				p.t.close(me, p.pos)
				return true
			}
		}
		child := Node{Parent: me}
		if n.Kind == Dict {
			var key Node
			if p.pos >= len(p.t.Text) || p.t.Text[p.pos] != '\'' && p.t.Text[p.pos] != '"' || !p.str(&key) || keys[key.Value] {
				return false
			}
			child.Key, child.KeyStart, child.KeyEnd = key.Value, key.Start, key.End
			keys[key.Value] = true
			if p.space(); !p.take(':') {
				return false
			}
			p.space()
		}
		if !p.value(child, depth+1) {
			return false
		}
	}
}

// str reads a text in quotes at pos into a node.
func (p *pythonReader) str(n *Node) bool {
	s, quote := p.t.Text, p.t.Text[p.pos]
	p.pos++
	n.Kind, n.Start, n.Plain = Text, p.pos, true
	var b strings.Builder
	for p.pos < len(s) {
		switch c := s[p.pos]; c {
		case quote:
			n.End, n.Value = p.pos, b.String()
			if n.Plain {
				n.Value = s[n.Start:n.End]
			}
			p.pos++
			return true
		case '\n':
			return false
		case '\\':
			if n.Plain {
				b.WriteString(s[n.Start:p.pos])
				n.Plain = false
			}
			if !p.escape(&b) {
				return false
			}
		default:
			if !n.Plain {
				b.WriteByte(c)
			}
			p.pos++
		}
	}
	return false
}

func (p *pythonReader) escape(b *strings.Builder) bool {
	s := p.t.Text
	if p.pos+1 >= len(s) {
		return false
	}
	c := s[p.pos+1]
	p.pos += 2
	if i := strings.IndexByte(`\'"nrt`, c); i >= 0 {
		b.WriteByte("\\'\"\n\r\t"[i])
		return true
	}
	n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if n == 0 || p.pos+n > len(s) {
		return false
	}
	r, err := strconv.ParseUint(s[p.pos:p.pos+n], 16, 32)
	if err != nil || r > utf8.MaxRune {
		return false
	}
	p.pos += n
	b.WriteRune(rune(r))
	return true
}
