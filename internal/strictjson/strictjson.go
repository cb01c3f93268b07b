// Package strictjson parses JSON (RFC 8259) into a flat tape of nodes over
// the raw bytes and refuses what parsers read differently: duplicate keys,
// keys that differ by case alone, invalid UTF-8 and lone surrogates. A
// difference between two parsers is a way around whoever uses the other one.
package strictjson

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Code says why a document was refused. Codes are stable.
type Code string

// Codes.
const (
	Syntax       Code = "syntax"
	DuplicateKey Code = "duplicate-key"
	CaseVariant  Code = "case-variant-key"
	InvalidUTF8  Code = "invalid-utf8"
	TooLarge     Code = "too-large"
	TooDeep      Code = "too-deep"
)

// Error is the refusal of a document. It never quotes its content.
type Error struct {
	Code   Code
	Offset int // of the byte at fault
	Detail string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d (%s)", e.Detail, e.Offset, e.Code)
}

// Limits bound a document. Zero values mean the defaults.
type Limits struct {
	MaxBytes int // 32 MiB
	MaxDepth int // 128
	MaxNodes int // 2 million
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = 32 << 20
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = 128
	}
	if l.MaxNodes <= 0 {
		l.MaxNodes = 2 << 20
	}
	return l
}

// Kind is the type of a node.
type Kind uint8

// Kinds.
const (
	Null Kind = iota
	False
	True
	Number
	String
	Array
	Object
)

// Node is a value. Its children follow it on the tape; Next is the node after
// them.
type Node struct {
	Kind             Kind
	Escaped          bool // a string with escapes
	KeyEscaped       bool
	Start, End       int // of the raw value; a string's quotes are included
	KeyStart, KeyEnd int // of its raw key without quotes; only in objects
	Parent           int // -1 for the root
	Next             int
	Index            int // in its array or object
}

// Doc is a parsed document. Parse makes it over again without allocating in
// the steady state. It is not safe for concurrent use.
type Doc struct {
	Raw   []byte
	Nodes []Node

	lim  Limits
	pos  int
	keys []keyRef // of the objects that are open
	buf  []byte
}

type keyRef struct {
	hash uint64
	node int
}

// Parse reads raw, which must not change while the Doc is used. Errors are of
// type *Error.
func (d *Doc) Parse(raw []byte, lim Limits) error {
	d.Raw, d.Nodes, d.pos, d.keys, d.lim = raw, d.Nodes[:0], 0, d.keys[:0], lim.withDefaults()
	if len(raw) > d.lim.MaxBytes {
		return &Error{TooLarge, d.lim.MaxBytes, fmt.Sprintf("document is larger than %d bytes", d.lim.MaxBytes)}
	}
	if !utf8.Valid(raw) {
		at := 0
		for at < len(raw) {
			r, n := utf8.DecodeRune(raw[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return &Error{InvalidUTF8, at, "invalid UTF-8"}
	}
	if d.Nodes == nil {
		d.Nodes = make([]Node, 0, min(4+len(raw)/24, 1<<10))
	}
	d.space()
	if err := d.value(-1, 0, 0, 0, false, 0); err != nil {
		return err
	}
	d.space()
	if d.pos != len(raw) {
		return d.syntax("something follows the document")
	}
	return nil
}

func (d *Doc) syntax(detail string) error { return &Error{Syntax, d.pos, detail} }

func (d *Doc) space() {
	for d.pos < len(d.Raw) {
		switch d.Raw[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

func (d *Doc) value(parent, index, keyStart, keyEnd int, keyEscaped bool, depth int) error {
	if d.pos >= len(d.Raw) {
		return d.syntax("document ends where a value should be")
	}
	if depth > d.lim.MaxDepth {
		return &Error{TooDeep, d.pos, fmt.Sprintf("nested deeper than %d", d.lim.MaxDepth)}
	}
	if len(d.Nodes) >= d.lim.MaxNodes {
		return &Error{TooLarge, d.pos, fmt.Sprintf("more than %d values", d.lim.MaxNodes)}
	}
	me := len(d.Nodes)
	d.Nodes = append(d.Nodes, Node{
		Start: d.pos, KeyStart: keyStart, KeyEnd: keyEnd, KeyEscaped: keyEscaped, Parent: parent, Index: index,
	})
	var err error
	kind := Null
	switch c := d.Raw[d.pos]; {
	case c == '"':
		kind = String
		var escaped bool
		escaped, err = d.str()
		d.Nodes[me].Escaped = escaped
	case c == '{':
		kind = Object
		err = d.object(me, depth)
	case c == '[':
		kind = Array
		err = d.array(me, depth)
	case c == 't':
		kind = True
		err = d.word("true")
	case c == 'f':
		kind = False
		err = d.word("false")
	case c == 'n':
		err = d.word("null")
	case c == '-' || c >= '0' && c <= '9':
		kind = Number
		err = d.number()
	default:
		err = d.syntax("no value begins like this")
	}
	if err != nil {
		return err
	}
	n := &d.Nodes[me]
	n.Kind, n.End, n.Next = kind, d.pos, len(d.Nodes)
	return nil
}

func (d *Doc) word(w string) error {
	if len(d.Raw)-d.pos < len(w) || string(d.Raw[d.pos:d.pos+len(w)]) != w {
		return d.syntax("no value begins like this")
	}
	d.pos += len(w)
	return nil
}

func (d *Doc) digits() bool {
	from := d.pos
	for d.pos < len(d.Raw) && d.Raw[d.pos] >= '0' && d.Raw[d.pos] <= '9' {
		d.pos++
	}
	return d.pos > from
}

func (d *Doc) number() error {
	if d.Raw[d.pos] == '-' {
		d.pos++
	}
	if d.pos < len(d.Raw) && d.Raw[d.pos] == '0' {
		d.pos++
	} else if !d.digits() {
		return d.syntax("malformed number")
	}
	if d.pos < len(d.Raw) && d.Raw[d.pos] == '.' {
		d.pos++
		if !d.digits() {
			return d.syntax("malformed number")
		}
	}
	if d.pos < len(d.Raw) && d.Raw[d.pos]|0x20 == 'e' {
		d.pos++
		if d.pos < len(d.Raw) && (d.Raw[d.pos] == '+' || d.Raw[d.pos] == '-') {
			d.pos++
		}
		if !d.digits() {
			return d.syntax("malformed number")
		}
	}
	return nil
}

// str reads a string at pos.
func (d *Doc) str() (escaped bool, err error) {
	d.pos++
	raw := d.Raw
	for d.pos < len(raw) {
		switch c := raw[d.pos]; {
		case c == '"':
			d.pos++
			return escaped, nil
		case c < 0x20:
			return false, d.syntax("control character in a string")
		case c == '\\':
			escaped = true
			if err := d.escape(); err != nil {
				return false, err
			}
		default:
			d.pos++
		}
	}
	return false, d.syntax("document ends inside a string")
}

func (d *Doc) escape() error {
	at := d.pos
	d.pos++
	if d.pos >= len(d.Raw) {
		return d.syntax("document ends inside a string")
	}
	switch d.Raw[d.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		d.pos++
		return nil
	case 'u':
	default:
		return d.syntax("unknown escape")
	}
	r, ok := hex4(d.Raw, d.pos+1)
	if !ok {
		return d.syntax("malformed escape")
	}
	d.pos += 5
	switch {
	case r >= 0xDC00 && r <= 0xDFFF:
		return &Error{InvalidUTF8, at, "lone surrogate"}
	case r >= 0xD800 && r <= 0xDBFF:
		if d.pos+1 < len(d.Raw) && d.Raw[d.pos] == '\\' && d.Raw[d.pos+1] == 'u' {
			if low, ok := hex4(d.Raw, d.pos+2); ok && low >= 0xDC00 && low <= 0xDFFF {
				d.pos += 6
				return nil
			}
		}
		return &Error{InvalidUTF8, at, "lone surrogate"}
	}
	return nil
}

func hex4(raw []byte, at int) (rune, bool) {
	if at+4 > len(raw) {
		return 0, false
	}
	var r rune
	for _, c := range raw[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func (d *Doc) array(me, depth int) error {
	d.pos++
	d.space()
	if d.pos < len(d.Raw) && d.Raw[d.pos] == ']' {
		d.pos++
		return nil
	}
	for i := 0; ; i++ {
		d.space()
		if err := d.value(me, i, 0, 0, false, depth+1); err != nil {
			return err
		}
		more, err := d.more(']')
		if err != nil || !more {
			return err
		}
	}
}

// more reads a comma or the closing byte.
func (d *Doc) more(end byte) (bool, error) {
	d.space()
	if d.pos >= len(d.Raw) {
		return false, d.syntax("document ends too early")
	}
	switch d.Raw[d.pos] {
	case ',':
		d.pos++
		return true, nil
	case end:
		d.pos++
		return false, nil
	}
	return false, d.syntax("comma or closing bracket expected")
}

func (d *Doc) object(me, depth int) error {
	d.pos++
	base := len(d.keys)
	defer func() { d.keys = d.keys[:base] }()
	d.space()
	if d.pos < len(d.Raw) && d.Raw[d.pos] == '}' {
		d.pos++
		return nil
	}
	var big map[string]struct{}
	for i := 0; ; i++ {
		d.space()
		if d.pos >= len(d.Raw) || d.Raw[d.pos] != '"' {
			return d.syntax("key expected")
		}
		start := d.pos + 1
		escaped, err := d.str()
		if err != nil {
			return err
		}
		end := d.pos - 1
		if big, err = d.addKey(me, base, start, end, escaped, big); err != nil {
			return err
		}
		d.space()
		if d.pos >= len(d.Raw) || d.Raw[d.pos] != ':' {
			return d.syntax("colon expected")
		}
		d.pos++
		d.space()
		if err := d.value(me, i, start, end, escaped, depth+1); err != nil {
			return err
		}
		more, err := d.more('}')
		if err != nil || !more {
			return err
		}
	}
}

// manyKeys is from where on an object's keys are kept in a map.
const manyKeys = 24

func (d *Doc) addKey(me, base, start, end int, escaped bool, big map[string]struct{}) (map[string]struct{}, error) {
	folded := d.foldKey(start, end, escaped)
	if big == nil {
		h := hash(folded)
		for _, k := range d.keys[base:] {
			if k.hash == h {
				return nil, d.clash(me, start, end, escaped)
			}
		}
		d.keys = append(d.keys, keyRef{hash: h, node: start})
		if len(d.keys)-base < manyKeys {
			return nil, nil
		}
		big = map[string]struct{}{}
		for _, k := range d.keys[base:] {
			e := k.node
			esc := false
			for d.Raw[e] != '"' {
				if d.Raw[e] == '\\' {
					esc = true
					e++
				}
				e++
			}
			big[string(d.foldKey(k.node, e, esc))] = struct{}{}
		}
		return big, nil
	}
	if _, ok := big[string(folded)]; ok {
		return nil, d.clash(me, start, end, escaped)
	}
	big[string(folded)] = struct{}{}
	return big, nil
}

// clash tells a duplicate key from a case variant. A collision of hashes is
// refused as well; it takes an attacker to make one.
func (d *Doc) clash(me, start, end int, escaped bool) error {
	key := d.Raw[start:end]
	if escaped {
		key = unescape(nil, key)
	}
	for i := me + 1; i < len(d.Nodes); i++ {
		if d.Nodes[i].Parent == me && bytes.Equal(d.KeyBytes(i), key) {
			return &Error{DuplicateKey, start, "duplicate key"}
		}
	}
	return &Error{CaseVariant, start, "two keys of an object differ by case alone"}
}

// foldKey returns a key decoded and case-folded, valid until the next call.
func (d *Doc) foldKey(start, end int, escaped bool) []byte {
	key := d.Raw[start:end]
	d.buf = d.buf[:0]
	if escaped {
		key = unescape(nil, key)
	}
	for i := 0; i < len(key); {
		c := key[i]
		if c < utf8.RuneSelf {
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			d.buf = append(d.buf, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(key[i:])
		i += n
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		if least < utf8.RuneSelf && least >= 'A' && least <= 'Z' {
			least += 'a' - 'A' // K (Kelvin) and ſ fold to ASCII
		}
		d.buf = utf8.AppendRune(d.buf, least)
	}
	return d.buf
}

// hash is FNV-1a.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
