package taint

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// readPython reads what Python's str() writes of dicts, lists, tuples, texts,
// numbers, True, False and None. Anything else is no literal.
func readPython(s string) (*tree, bool) {
	if len(s) > MaxResult || !utf8.ValidString(s) {
		return nil, false
	}
	p := &pythonReader{t: &tree{text: s}}
	p.space()
	if !p.value(-1, 0, 0, "", 0) {
		return nil, false
	}
	p.space()
	return p.t, p.pos == len(s)
}

type pythonReader struct {
	t   *tree
	pos int
}

func (p *pythonReader) space() {
	for p.pos < len(p.t.text) && (p.t.text[p.pos] == ' ' || p.t.text[p.pos] == '\n') {
		p.pos++
	}
}

func (p *pythonReader) take(c byte) bool {
	if p.pos < len(p.t.text) && p.t.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *pythonReader) value(parent, kstart, kend int, key string, depth int) bool {
	s := p.t.text
	if p.pos >= len(s) || depth > MaxDepth || len(p.t.nodes) >= MaxNodes {
		return false
	}
	n := node{parent: parent, kstart: kstart, kend: kend, key: key, start: p.pos}
	switch c := s[p.pos]; {
	case c == '{':
		n.kind = dict
		return p.container(n, '}', depth)
	case c == '[':
		n.kind = list
		return p.container(n, ']', depth)
	case c == '(':
		n.kind = list
		return p.container(n, ')', depth)
	case c == '\'' || c == '"':
		v, start, end, plain, ok := p.str()
		n.kind, n.value, n.start, n.end, n.plain = text, v, start, end, plain
		n.next = len(p.t.nodes) + 1
		p.t.add(n)
		return ok
	}
	end := p.pos
	for end < len(s) && strings.IndexByte(",]}): \n", s[end]) < 0 {
		end++
	}
	n.value, n.end, n.plain, n.next = s[p.pos:end], end, true, len(p.t.nodes)+1
	switch n.value {
	case "True", "False":
		n.kind = boolean
	case "None":
		n.kind = null
	default:
		n.kind = number
		if !expr("number").MatchString(n.value) {
			return false
		}
	}
	p.pos = end
	p.t.add(n)
	return true
}

func (p *pythonReader) container(n node, closing byte, depth int) bool {
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
		key, kstart, kend := "", 0, 0
		if n.kind == dict {
			var ok bool
			if p.pos >= len(p.t.text) || p.t.text[p.pos] != '\'' && p.t.text[p.pos] != '"' {
				return false
			}
			if key, kstart, kend, _, ok = p.str(); !ok || keys[key] {
				return false
			}
			keys[key] = true
			if p.space(); !p.take(':') {
				return false
			}
			p.space()
		}
		if !p.value(me, kstart, kend, key, depth+1) {
			return false
		}
	}
}

// str reads a text in quotes at pos.
func (p *pythonReader) str() (v string, start, end int, plain, ok bool) {
	s, quote := p.t.text, p.t.text[p.pos]
	p.pos++
	start, plain = p.pos, true
	var b strings.Builder
	for p.pos < len(s) {
		switch c := s[p.pos]; c {
		case quote:
			end = p.pos
			p.pos++
			if plain {
				return s[start:end], start, end, true, true
			}
			return b.String(), start, end, false, true
		case '\n':
			return "", start, start, false, false
		case '\\':
			if plain {
				b.WriteString(s[start:p.pos])
				plain = false
			}
			if !p.escape(&b) {
				return "", start, start, false, false
			}
		default:
			if !plain {
				b.WriteByte(c)
			}
			p.pos++
		}
	}
	return "", start, start, false, false
}

func (p *pythonReader) escape(b *strings.Builder) bool {
	s := p.t.text
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
