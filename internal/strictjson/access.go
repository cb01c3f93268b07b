package strictjson

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// All yields the children of node i in order; none where i is -1.
func (d *Doc) All(i int) iter.Seq[int] {
	return func(yield func(child int) bool) {
		if i < 0 || d.Nodes[i].Kind != Object && d.Nodes[i].Kind != Array {
			return
		}
		for c, end := i+1, d.Nodes[i].Next; c < end; c = d.Nodes[c].Next {
			if !yield(c) {
				return
			}
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

// ReadContent reads the content of a string literal from the start of b to the
// quote that ends it. It returns the content's length, -1 if it is invalid, and
// its decoded text, which is in b or behind buf's end. It also returns the buffer
// with what was appended.
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
			d := Doc{Raw: b, pos: -1} // the opening quote is before b
			if _, err := d.str(); err != nil || !utf8.Valid(b[:d.pos-1]) {
				return -1, nil, buf
			}
			at := len(buf)
			buf = unescape(buf, b[:d.pos-1])
			return d.pos - 1, buf[at:], buf
		case c < ' ':
			return -1, nil, buf
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return -1, nil, buf
}

// Text returns the decoded text of string i.
func (d *Doc) Text(i int) string {
	if i < 0 {
		return ""
	}
	n := &d.Nodes[i]
	if n.Kind != String || !n.Escaped {
		return string(d.Bytes(i))
	}
	raw := d.Raw[n.Start+1 : n.End-1]
	var out strings.Builder // a text may be long: it is copied once
	var buf [utf8.UTFMax]byte
	for out.Grow(len(raw)); ; {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			out.Write(raw)
			return out.String()
		}
		end := at + escape(raw[at:])
		out.Write(raw[:at])
		out.Write(unescape(buf[:0], raw[at:end]))
		raw = raw[end:]
	}
}

// escape returns the length of the escape that raw begins with. A pair of surrogates
// is one.
func escape(raw []byte) int {
	if raw[1] != 'u' {
		return 2
	}
	if r, _ := hex4(raw, 2); utf16.IsSurrogate(r) {
		return 12
	}
	return 6
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

// unescape appends the decoded content of a valid string literal.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			n := bytes.IndexByte(raw[i:], '\\')
			if n < 0 {
				return append(dst, raw[i:]...)
			}
			dst = append(dst, raw[i:i+n]...)
			i += n
		}
		i++
		if raw[i] != 'u' {
			dst = append(dst, unescaped[raw[i]])
			continue
		}
		r, _ := hex4(raw, i+1)
		i += 4
		if utf16.IsSurrogate(r) {
			low, _ := hex4(raw, i+3)
			i += 6
			r = utf16.DecodeRune(r, low)
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// unescaped are the bytes that the one-letter escapes stand for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// asIs are the bytes that a string has unescaped.
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
		r, n := utf8.DecodeRune(text[i:])
		i += n
		if r >= utf8.RuneSelf {
			dst = utf8.AppendRune(dst, r)
		} else if at := strings.IndexByte("\"\\\n\r\t", byte(r)); at >= 0 {
			dst = append(dst, '\\', `"\nrt`[at])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		}
	}
	return append(dst, '"')
}

// Appendf appends a format: %q is a string or bytes as a JSON string, %s is JSON
// as it is written, and %d is an int. It panics if the arguments do not fit the
// format.
func Appendf(dst []byte, format string, args ...any) []byte {
	for {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return append(dst, format...)
		}
		dst = append(dst, format[:at]...)
		switch arg := args[0].(type) {
		case int:
			dst = strconv.AppendInt(dst, int64(arg), 10)
		case string:
			dst = appendVerb(dst, format[at+1], []byte(arg))
		case []byte:
			dst = appendVerb(dst, format[at+1], arg)
		default:
			panic("strictjson: an argument of Appendf is neither text nor int")
		}
		format, args = format[at+2:], args[1:]
	}
}

func appendVerb(dst []byte, verb byte, text []byte) []byte {
	if verb == 'q' {
		return AppendQuote(dst, text)
	}
	return append(dst, text...)
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
