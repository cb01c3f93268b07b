package strictjson

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Children calls f for each child of node i until f returns false.
func (d *Doc) Children(i int, f func(child int) bool) {
	if k := d.Nodes[i].Kind; k != Object && k != Array {
		return
	}
	for c, end := i+1, d.Nodes[i].Next; c < end; c = d.Nodes[c].Next {
		if !f(c) {
			return
		}
	}
}

// Find returns the child of object i with this key, or -1. Keys are compared
// decoded.
func (d *Doc) Find(i int, key string) int {
	if i < 0 || d.Nodes[i].Kind != Object {
		return -1
	}
	for c, end := i+1, d.Nodes[i].Next; c < end; c = d.Nodes[c].Next {
		if d.KeyIs(c, key) {
			return c
		}
	}
	return -1
}

// KeyIs reports whether node i has this key.
func (d *Doc) KeyIs(i int, key string) bool {
	n := &d.Nodes[i]
	if !n.KeyEscaped {
		return string(d.Raw[n.KeyStart:n.KeyEnd]) == key && d.Nodes[max(n.Parent, 0)].Kind == Object
	}
	return string(d.KeyBytes(i)) == key
}

// Key returns the decoded key of node i.
func (d *Doc) Key(i int) string { return string(d.KeyBytes(i)) }

// KeyBytes returns the decoded key of node i. It aliases Raw where the key has
// no escapes.
func (d *Doc) KeyBytes(i int) []byte {
	n := &d.Nodes[i]
	if n.KeyEscaped {
		return unescape(nil, d.Raw[n.KeyStart:n.KeyEnd])
	}
	return d.Raw[n.KeyStart:n.KeyEnd]
}

// Value returns the raw bytes of node i.
func (d *Doc) Value(i int) []byte { return d.Raw[d.Nodes[i].Start:d.Nodes[i].End] }

// Bytes returns the decoded text of string i. It aliases Raw where the string
// has no escapes.
func (d *Doc) Bytes(i int) []byte {
	n := &d.Nodes[i]
	if n.Kind != String {
		return nil
	}
	raw := d.Raw[n.Start+1 : n.End-1]
	if !n.Escaped {
		return raw
	}
	return unescape(make([]byte, 0, len(raw)), raw)
}

// AppendBytes appends the decoded text of string i.
func (d *Doc) AppendBytes(dst []byte, i int) []byte {
	n := &d.Nodes[i]
	if n.Kind != String {
		return dst
	}
	return unescape(dst, d.Raw[n.Start+1:n.End-1])
}

// Content returns the length of a string literal's content, which raw begins
// with: up to the quote that ends it. It is for bytes that are known to be
// UTF-8.
func Content(raw []byte) (n int, ok bool) {
	d := Doc{Raw: raw, pos: -1} // the opening quote is before raw
	_, err := d.str()
	return d.pos - 1, err == nil
}

// ReadContent reads a string literal's content, which b begins with: up to the
// quote that ends it. It returns the content's length, -1 if b begins with none
// that is valid, and its decoded text, which is in b or behind buf's end. The
// buffer comes back with what was appended.
func ReadContent(buf, b []byte) (n int, text, out []byte) {
	ascii := true
	for i, c := range b {
		switch {
		case c == '"':
			if !ascii && !utf8.Valid(b[:i]) {
				return -1, nil, buf
			}
			return i, b[:i], buf
		case c == '\\':
			n, ok := Content(b)
			if !ok || !utf8.Valid(b[:n]) {
				return -1, nil, buf
			}
			at := len(buf)
			buf = unescape(buf, b[:n])
			return n, buf[at:], buf
		case c < ' ':
			return -1, nil, buf
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return -1, nil, buf
}

// AppendUnescaped appends the decoded content of a valid string literal.
func AppendUnescaped(dst, content []byte) []byte { return unescape(dst, content) }

// Text returns the decoded text of string i.
func (d *Doc) Text(i int) string {
	if i < 0 {
		return ""
	}
	return string(d.Bytes(i))
}

// Int returns a number that is a small non-negative integer.
func (d *Doc) Int(i int) (int, bool) {
	if i < 0 || d.Nodes[i].Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseUint(string(d.Value(i)), 10, 31)
	return int(n), err == nil
}

// Path returns where node i is, such as messages[3].content.
func (d *Doc) Path(i int) string {
	if d.Nodes[i].Parent < 0 {
		return ""
	}
	p := d.Nodes[i].Parent
	above := d.Path(p)
	if d.Nodes[p].Kind == Array {
		return above + "[" + strconv.Itoa(d.Nodes[i].Index) + "]"
	}
	if above != "" {
		above += "."
	}
	return above + d.Key(i)
}

// unescape appends the decoded content of a valid string.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(raw, i+1)
			i += 4
			if r >= 0xD800 && r <= 0xDBFF {
				low, _ := hex4(raw, i+3)
				i += 6
				r = (r-0xD800)<<10 | (low - 0xDC00) + 0x10000
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, raw[i])
		}
	}
	return dst
}

// asIs are the bytes that stand for themselves in a string.
var asIs = func() (t [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// AppendQuote appends text as a JSON string. Invalid UTF-8 becomes the
// replacement character.
func AppendQuote(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && asIs[text[i]] {
			i++
		}
		if dst = append(dst, text[from:i]...); i == len(text) {
			break
		}
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\r':
				dst = append(dst, '\\', 'r')
			case c == '\t':
				dst = append(dst, '\\', 't')
			case c < 0x20 || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			default:
				dst = append(dst, c)
			}
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		i += n
		dst = utf8.AppendRune(dst, r)
	}
	return append(dst, '"')
}

// Splice is a replacement of the raw bytes [Start, End).
type Splice struct {
	Start, End int
	Text       []byte
}

// Apply appends raw with the splices, which are in order and do not overlap.
func Apply(dst, raw []byte, splices []Splice) []byte {
	n := len(raw)
	for _, s := range splices {
		n += len(s.Text) - (s.End - s.Start)
	}
	dst = slices.Grow(dst, n)
	at := 0
	for _, s := range splices {
		dst = append(dst, raw[at:s.Start]...)
		dst = append(dst, s.Text...)
		at = s.End
	}
	return append(dst, raw[at:]...)
}
