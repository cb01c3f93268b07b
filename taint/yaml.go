package taint

import (
	"strings"
	"unicode/utf8"
)

// readYAML reads the block style that dumpers write: mappings and sequences
// by indentation, plain, quoted and block scalars, [] and {}. Everything that
// a dumper doesn't write for plain data is refused, above all what another
// reader might take differently: comments, anchors, tags, flow collections,
// tabs, keys twice, text that looks like a key in a plain scalar.
func readYAML(s string) (*tree, bool) {
	if len(s) > MaxResult || !utf8.ValidString(s) || strings.ContainsAny(s, "\r\u0085\u2028\u2029\x00\ufeff") {
		return nil, false
	}
	y := &yamlReader{t: &tree{text: s}}
	y.pos = strings.Index(s, "---\n") + 4
	if !strings.HasPrefix(s, "---\n") {
		y.pos = 0
	}
	if !y.nextLine() || !y.block(-1, y.column(), node{parent: -1}, 0) {
		return nil, false
	}
	if y.nextLine() && strings.TrimSpace(s[y.pos:]) != "..." {
		return nil, false
	}
	return y.t, true
}

type yamlReader struct {
	t   *tree
	pos int
}

// column is where pos is in its line.
func (y *yamlReader) column() int { return y.pos - (strings.LastIndexByte(y.t.text[:y.pos], '\n') + 1) }

// eol is the end of pos's line.
func (y *yamlReader) eol() int {
	if n := strings.IndexByte(y.t.text[y.pos:], '\n'); n >= 0 {
		return y.pos + n
	}
	return len(y.t.text)
}

// rest is what is left of pos's line.
func (y *yamlReader) rest() string { return y.t.text[y.pos:y.eol()] }

// nextLine goes to the next thing that is no space, and reports whether there
// is one.
func (y *yamlReader) nextLine() bool {
	for y.pos < len(y.t.text) && (y.t.text[y.pos] == ' ' || y.t.text[y.pos] == '\n') {
		y.pos++
	}
	return y.pos < len(y.t.text)
}

// isItem reports whether a line's rest is an element of a sequence.
func isItem(rest string) bool { return rest == "-" || strings.HasPrefix(rest, "- ") }

// block reads the node at pos, which is at a column, below what stands at
// outer.
func (y *yamlReader) block(outer, column int, n node, depth int) bool {
	if depth > MaxDepth || len(y.t.nodes) >= MaxNodes || column <= outer {
		return false
	}
	n.start = y.pos
	rest := y.rest()
	if isItem(rest) {
		return y.sequence(column, n, depth)
	}
	if _, _, _, _, ok := y.key(); ok {
		return y.mapping(column, n, depth)
	}
	return y.scalar(outer, n)
}

// at reports whether the next line begins at a column; a document's end marker
// doesn't count.
func (y *yamlReader) at(column int) bool {
	save := y.pos
	if y.nextLine() && y.column() == column && y.rest() != "..." {
		return true
	}
	y.pos = save
	return false
}

func (y *yamlReader) sequence(column int, n node, depth int) bool {
	n.kind = list
	me := y.t.add(n)
	for {
		if !isItem(y.rest()) {
			return false
		}
		y.pos++
		if !y.inner(column, node{parent: me}, depth, false) {
			return false
		}
		end := y.pos
		if !y.at(column) || !isItem(y.rest()) {
			y.pos = end
			y.t.close(me, end)
			return y.ended(column)
		}
	}
}

// ended reports whether what follows a collection stands further out, or at
// its column where that is a sequence inside a mapping.
func (y *yamlReader) ended(column int) bool {
	save := y.pos
	defer func() { y.pos = save }()
	return !y.nextLine() || y.column() <= column
}

func (y *yamlReader) mapping(column int, n node, depth int) bool {
	n.kind = dict
	me := y.t.add(n)
	keys := map[string]bool{}
	for {
		key, kstart, kend, after, ok := y.key()
		if !ok || keys[key] {
			return false
		}
		keys[key] = true
		y.pos = after
		if !y.inner(column, node{parent: me, key: key, kstart: kstart, kend: kend}, depth, true) {
			return false
		}
		end := y.pos
		if !y.at(column) {
			y.t.close(me, end)
			return y.ended(column - 1)
		}
		if isItem(y.rest()) {
			return false
		}
	}
}

// inner reads what follows a dash or a colon: on the same line, or below. A
// mapping's sequences may stand at its own column.
func (y *yamlReader) inner(column int, n node, depth int, inMap bool) bool {
	rest := y.rest()
	if strings.TrimSpace(rest) != "" {
		if rest[0] != ' ' {
			return false
		}
		y.pos += len(rest) - len(strings.TrimLeft(rest, " "))
		if inMap {
			n.start = y.pos
			return y.scalar(column, n)
		}
		return y.block(column, y.column(), n, depth+1)
	}
	end := y.eol()
	y.pos = end
	save := y.pos
	if y.nextLine() {
		c := y.column()
		if c > column {
			return y.block(column, c, n, depth+1)
		}
		if inMap && c == column && isItem(y.rest()) {
			n.start = y.pos
			return depth < MaxDepth && y.sequence(c, n, depth+1)
		}
	}
	y.pos = save
	n.kind, n.start, n.end, n.plain, n.next = null, end, end, true, len(y.t.nodes)+1
	y.t.add(n)
	return true
}

// key reads a key with its colon at pos, without going on.
func (y *yamlReader) key() (key string, start, end, after int, ok bool) {
	rest := y.rest()
	if rest == "" {
		return "", 0, 0, 0, false
	}
	switch rest[0] {
	case '\'', '"':
		n := strings.IndexByte(rest[1:], rest[0]) + 1
		if n < 1 || strings.IndexByte(rest[:n], '\\') >= 0 || !strings.HasPrefix(rest[n+1:], ":") {
			return "", 0, 0, 0, false
		}
		key, start, end = rest[1:n], y.pos+1, y.pos+n
		after = end + 2
	default:
		n := strings.Index(rest, ": ")
		if n < 0 {
			if n = len(rest) - 1; rest[n] != ':' {
				return "", 0, 0, 0, false
			}
		}
		key, start, end, after = rest[:n], y.pos, y.pos+n, y.pos+n+1
		if !plainStart(key) || strings.Contains(key, " #") || strings.ContainsRune(key, '\t') {
			return "", 0, 0, 0, false
		}
	}
	return key, start, end, after, key != "" && key != "<<" && (after == y.eol() || y.t.text[after] == ' ')
}

// plainStart reports whether a plain scalar may begin so.
func plainStart(s string) bool {
	if s == "" || strings.IndexByte("[]{},#&*!|>'\"%@`", s[0]) >= 0 {
		return false
	}
	return !(strings.IndexByte("-?:", s[0]) >= 0 && (len(s) == 1 || s[1] == ' ')) && !strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "...")
}

// scalar reads a scalar at pos that stands below column outer.
func (y *yamlReader) scalar(outer int, n node) bool {
	rest := y.rest()
	n.kind, n.start, n.next = text, y.pos, len(y.t.nodes)+1
	ok := false
	switch {
	case rest == "[]" || rest == "{}":
		if n.kind = list; rest == "{}" {
			n.kind = dict
		}
		y.pos += 2
		n.end, ok = y.pos, true
	case rest[0] == '\'' || rest[0] == '"':
		ok = y.quoted(outer, &n)
	case rest[0] == '|' || rest[0] == '>':
		ok = y.literal(outer, &n)
	default:
		ok = y.plain(outer, &n)
	}
	y.t.add(n)
	return ok
}

func (y *yamlReader) plain(outer int, n *node) bool {
	for first := true; ; first = false {
		line := strings.TrimRight(y.rest(), " ")
		if first && !plainStart(line) || strings.Contains(line, ": ") || strings.HasSuffix(line, ":") || strings.Contains(line, " #") ||
			!first && (isItem(line) || line[0] == '#') || strings.ContainsRune(line, '\t') {
			return false
		}
		n.end = y.pos + len(line)
		y.pos = y.eol()
		if y.pos == len(y.t.text) {
			break
		}
		next := y.t.text[y.pos+1:]
		trimmed := strings.TrimLeft(next, " ")
		indent := len(next) - len(trimmed)
		if trimmed == "" || trimmed[0] == '\n' || indent <= outer || indent == 0 {
			break
		}
		y.pos += 1 + indent
	}
	n.value = y.t.text[n.start:n.end]
	n.plain = !strings.ContainsRune(n.value, '\n')
	switch {
	case n.value == "null" || n.value == "~":
		n.kind = null
	case n.value == "true" || n.value == "false":
		n.kind = boolean
	case expr("number").MatchString(n.value):
		n.kind = number
	}
	return true
}

// quoted reads a scalar in quotes, which may go on below.
func (y *yamlReader) quoted(outer int, n *node) bool {
	s, quote := y.t.text, y.t.text[y.pos]
	n.plain = true
	y.pos++
	n.start = y.pos
	for y.pos < len(s) {
		c := s[y.pos]
		switch {
		case c == quote && quote == '\'' && y.pos+1 < len(s) && s[y.pos+1] == quote:
			n.plain = false
			y.pos += 2
			continue
		case c == quote:
			n.end, n.value = y.pos, s[n.start:y.pos]
			y.pos++
			return strings.TrimRight(y.rest(), " ") == ""
		case c == '\\' && quote == '"':
			n.plain = false
			y.pos++
		case c == '\n':
			n.plain = false
			next := s[y.pos+1:]
			trimmed := strings.TrimLeft(next, " ")
			if trimmed != "" && trimmed[0] != '\n' && len(next)-len(trimmed) <= outer {
				return false
			}
		}
		y.pos++
	}
	return false
}

// literal reads a block scalar.
func (y *yamlReader) literal(outer int, n *node) bool {
	switch strings.TrimRight(y.rest()[1:], " ") {
	case "", "-", "+":
	default:
		return false
	}
	y.pos = min(y.eol()+1, len(y.t.text))
	n.start, n.end = y.pos, y.pos
	indent := -1
	for y.pos < len(y.t.text) {
		line := y.rest()
		trimmed := strings.TrimLeft(line, " ")
		in := len(line) - len(trimmed)
		if trimmed != "" {
			if in <= outer || indent >= 0 && in < indent {
				break
			}
			if indent < 0 {
				indent = in
			}
			n.end = y.eol()
		}
		y.pos = min(y.eol()+1, len(y.t.text))
	}
	n.value = y.t.text[n.start:n.end]
	// The line break belongs to what follows.
	y.pos = n.end
	return true
}
