package document

import (
	"strings"
	"unicode/utf8"
)

// readYAML reads the block style that dumpers write: mappings and sequences
// by indentation, plain, quoted and block scalars, [] and {}. Everything that
// a dumper doesn't write for plain data is refused, above all what another
// reader might take differently: comments, anchors, tags, flow collections,
// tabs, keys twice, text that looks like a key in a plain scalar.
func readYAML(s string) (*Tree, bool) {
	if len(s) > MaxResult || !utf8.ValidString(s) || strings.ContainsAny(s, "\r\u0085\u2028\u2029\x00\ufeff") {
		return nil, false
	}
	y := &yamlReader{t: &Tree{Text: s}}
	y.pos = strings.Index(s, "---\n") + 4
	if !strings.HasPrefix(s, "---\n") {
		y.pos = 0
	}
	if !y.nextLine() || !y.block(-1, y.column(), Node{Parent: -1}, 0) {
		return nil, false
	}
	if y.nextLine() && strings.TrimSpace(s[y.pos:]) != "..." {
		return nil, false
	}
	return y.t, true
}

type yamlReader struct {
	t   *Tree
	pos int
}

// column is where pos is in its line.
func (y *yamlReader) column() int { return y.pos - (strings.LastIndexByte(y.t.Text[:y.pos], '\n') + 1) }

// eol is the end of pos's line.
func (y *yamlReader) eol() int {
	if n := strings.IndexByte(y.t.Text[y.pos:], '\n'); n >= 0 {
		return y.pos + n
	}
	return len(y.t.Text)
}

// rest is what is left of pos's line.
func (y *yamlReader) rest() string { return y.t.Text[y.pos:y.eol()] }

// nextLine goes to the next character that is not a space, and reports whether there
// is one.
func (y *yamlReader) nextLine() bool {
	for y.pos < len(y.t.Text) && (y.t.Text[y.pos] == ' ' || y.t.Text[y.pos] == '\n') {
		y.pos++
	}
	return y.pos < len(y.t.Text)
}

// isItem reports whether a line's rest is an element of a sequence.
func isItem(rest string) bool { return rest == "-" || strings.HasPrefix(rest, "- ") }

// block reads the node at pos, which is at a column, below what is at
// outer.
func (y *yamlReader) block(outer, column int, n Node, depth int) bool {
	if depth > MaxDepth || len(y.t.Nodes) >= MaxNodes || column <= outer {
		return false
	}
	n.Start = y.pos
	rest := y.rest()
	if isItem(rest) {
		return y.sequence(column, n, depth)
	}
	if _, _, ok := y.key(); ok {
		return y.mapping(column, n, depth)
	}
	return y.scalar(outer, n)
}

// at reports whether the next line starts at a column; a document's end marker
// doesn't count.
func (y *yamlReader) at(column int) bool {
	save := y.pos
	if y.nextLine() && y.column() == column && y.rest() != "..." {
		return true
	}
	y.pos = save
	return false
}

func (y *yamlReader) sequence(column int, n Node, depth int) bool {
	n.Kind = List
	me := y.t.add(n)
	for {
		if !isItem(y.rest()) {
			return false
		}
		y.pos++
		if !y.inner(column, Node{Parent: me}, depth, false) {
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

// ended reports whether what follows a collection is further out, or at
// its column where that is a sequence inside a mapping.
func (y *yamlReader) ended(column int) bool {
	save := y.pos
	defer func() { y.pos = save }()
	return !y.nextLine() || y.column() <= column
}

func (y *yamlReader) mapping(column int, n Node, depth int) bool {
	n.Kind = Dict
	me := y.t.add(n)
	keys := map[string]bool{}
	for {
		child, after, ok := y.key()
		if !ok || keys[child.Key] {
			return false
		}
		keys[child.Key] = true
		y.pos, child.Parent = after, me
		if !y.inner(column, child, depth, true) {
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
// mapping's sequences may be at its own column.
func (y *yamlReader) inner(column int, n Node, depth int, inMap bool) bool {
	rest := y.rest()
	if strings.TrimSpace(rest) != "" {
		if rest[0] != ' ' {
			return false
		}
		y.pos += len(rest) - len(strings.TrimLeft(rest, " "))
		if inMap {
			n.Start = y.pos
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
			n.Start = y.pos
			return depth < MaxDepth && y.sequence(c, n, depth+1)
		}
	}
	y.pos = save
	n.Kind, n.Start, n.End, n.Plain = Null, end, end, true
	y.t.leaf(n)
	return true
}

// key reads a key with its colon at pos into a node, without going on. after is
// what follows the colon.
func (y *yamlReader) key() (n Node, after int, ok bool) {
	rest := y.rest()
	if rest == "" {
		return n, 0, false
	}
	switch rest[0] {
	case '\'', '"':
		end := strings.IndexByte(rest[1:], rest[0]) + 1
		if end < 1 || strings.IndexByte(rest[:end], '\\') >= 0 || !strings.HasPrefix(rest[end+1:], ":") {
			return n, 0, false
		}
		n.Key, n.KeyStart, n.KeyEnd = rest[1:end], y.pos+1, y.pos+end
		after = n.KeyEnd + 2
	default:
		end := strings.Index(rest, ": ")
		if end < 0 {
			if end = len(rest) - 1; rest[end] != ':' {
				return n, 0, false
			}
		}
		n.Key, n.KeyStart, n.KeyEnd, after = rest[:end], y.pos, y.pos+end, y.pos+end+1
		if !plainStart(n.Key) || strings.Contains(n.Key, " #") || strings.ContainsRune(n.Key, '\t') {
			return n, 0, false
		}
	}
	return n, after, n.Key != "" && n.Key != "<<" && (after == y.eol() || y.t.Text[after] == ' ')
}

// plainStart reports whether a plain scalar may begin so.
func plainStart(s string) bool {
	if s == "" || strings.IndexByte("[]{},#&*!|>'\"%@`", s[0]) >= 0 {
		return false
	}
	return !(strings.IndexByte("-?:", s[0]) >= 0 && (len(s) == 1 || s[1] == ' ')) && !strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "...")
}

// scalar reads a scalar at pos that is below column outer.
func (y *yamlReader) scalar(outer int, n Node) bool {
	rest := y.rest()
	n.Kind, n.Start = Text, y.pos
	ok := false
	switch {
	case rest == "[]" || rest == "{}":
		if n.Kind = List; rest == "{}" {
			n.Kind = Dict
		}
		y.pos += 2
		n.End, ok = y.pos, true
	case rest[0] == '\'' || rest[0] == '"':
		ok = y.quoted(outer, &n)
	case rest[0] == '|' || rest[0] == '>':
		ok = y.literal(outer, &n)
	default:
		ok = y.plain(outer, &n)
	}
	y.t.leaf(n)
	return ok
}

func (y *yamlReader) plain(outer int, n *Node) bool {
	for first := true; ; first = false {
		line := strings.TrimRight(y.rest(), " ")
		if first && !plainStart(line) || strings.Contains(line, ": ") || strings.HasSuffix(line, ":") || strings.Contains(line, " #") ||
			!first && (isItem(line) || line[0] == '#') || strings.ContainsRune(line, '\t') {
			return false
		}
		n.End = y.pos + len(line)
		y.pos = y.eol()
		if y.pos == len(y.t.Text) {
			break
		}
		next := y.t.Text[y.pos+1:]
		trimmed := strings.TrimLeft(next, " ")
		indent := len(next) - len(trimmed)
		if trimmed == "" || trimmed[0] == '\n' || indent <= outer || indent == 0 {
			break
		}
		y.pos += 1 + indent
	}
	n.Value = y.t.Text[n.Start:n.End]
	n.Plain = !strings.ContainsRune(n.Value, '\n')
	switch {
	case n.Value == "null" || n.Value == "~":
		n.Kind = Null
	case n.Value == "true" || n.Value == "false":
		n.Kind = Boolean
	case IsNumber(n.Value):
		n.Kind = Number
	}
	return true
}

// quoted reads a scalar in quotes, which may go on below.
func (y *yamlReader) quoted(outer int, n *Node) bool {
	s, quote := y.t.Text, y.t.Text[y.pos]
	n.Plain = true
	y.pos++
	n.Start = y.pos
	for y.pos < len(s) {
		c := s[y.pos]
		switch {
		case c == quote && quote == '\'' && y.pos+1 < len(s) && s[y.pos+1] == quote:
			n.Plain = false
			y.pos += 2
			continue
		case c == quote:
			n.End, n.Value = y.pos, s[n.Start:y.pos]
			y.pos++
			return strings.TrimRight(y.rest(), " ") == ""
		case c == '\\' && quote == '"':
			n.Plain = false
			y.pos++
		case c == '\n':
			n.Plain = false
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
func (y *yamlReader) literal(outer int, n *Node) bool {
	switch strings.TrimRight(y.rest()[1:], " ") {
	case "", "-", "+":
	default:
		return false
	}
	y.pos = min(y.eol()+1, len(y.t.Text))
	n.Start, n.End = y.pos, y.pos
	indent := -1
	for y.pos < len(y.t.Text) {
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
			n.End = y.eol()
		}
		y.pos = min(y.eol()+1, len(y.t.Text))
	}
	n.Value = y.t.Text[n.Start:n.End]
	// The line break belongs to what follows.
	y.pos = n.End
	return true
}
