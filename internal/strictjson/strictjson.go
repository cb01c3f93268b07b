// Package strictjson parses JSON (RFC 8259) into a flat tape of nodes over
// the raw bytes and refuses what parsers read differently: duplicate keys,
// keys that differ by case alone, invalid UTF-8 and lone surrogates. If two
// parsers differ, a sender can hide a text from one of them.
package strictjson

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf16"
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
	return Limits{cmp.Or(l.MaxBytes, 32<<20), cmp.Or(l.MaxDepth, 128), cmp.Or(l.MaxNodes, 2<<20)}
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

// Doc is a parsed document. Parse reuses its memory, and does not allocate in the
// steady state. It is not safe for concurrent use.
type Doc struct {
	Raw   []byte
	Nodes []Node

	lim  Limits
	pos  int
	keys []uint64 // hashes of the keys of the objects that are open
	buf  []byte
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
		return d.syntax("data after the document")
	}
	return nil
}

// ParseObject reads raw like Parse, and refuses anything but an object.
func (d *Doc) ParseObject(raw []byte, lim Limits) error {
	if err := d.Parse(raw, lim); err != nil {
		return err
	}
	if d.Nodes[0].Kind != Object {
		return &Error{Code: Syntax, Detail: "a JSON object is expected"}
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
		return d.syntax("document ends before a value")
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
		d.Nodes[me].Escaped, err = d.str()
	case c == '{':
		kind, err = Object, d.object(me, depth)
	case c == '[':
		kind, err = Array, d.array(me, depth)
	case c == 't':
		kind, err = True, d.word("true")
	case c == 'f':
		kind, err = False, d.word("false")
	case c == 'n':
		err = d.word("null")
	case c == '-' || c >= '0' && c <= '9':
		kind, err = Number, d.number()
	default:
		err = d.syntax("no value starts like this")
	}
	if err != nil {
		return err
	}
	n := &d.Nodes[me]
	n.Kind, n.End, n.Next = kind, d.pos, len(d.Nodes)
	return nil
}

func (d *Doc) word(w string) error {
	if !bytes.HasPrefix(d.Raw[d.pos:], []byte(w)) {
		return d.syntax("no value starts like this")
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

// skip reads one byte if it is next.
func (d *Doc) skip(c byte) bool {
	if d.pos >= len(d.Raw) || d.Raw[d.pos] != c {
		return false
	}
	d.pos++
	return true
}

func (d *Doc) number() error {
	d.skip('-')
	ok := d.skip('0') || d.digits()
	if ok && d.skip('.') {
		ok = d.digits()
	}
	if ok && (d.skip('e') || d.skip('E')) {
		_ = d.skip('+') || d.skip('-')
		ok = d.digits()
	}
	if !ok {
		return d.syntax("malformed number")
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
	if !utf16.IsSurrogate(r) {
		return nil
	}
	low, ok := hex4(d.Raw, d.pos+2)
	if !ok || !bytes.HasPrefix(d.Raw[d.pos:], []byte(`\u`)) || utf16.DecodeRune(r, low) == utf8.RuneError {
		return &Error{InvalidUTF8, at, "lone surrogate"}
	}
	d.pos += 6
	return nil
}

func hex4(raw []byte, at int) (rune, bool) {
	if at+4 > len(raw) {
		return 0, false
	}
	var b [2]byte
	_, err := hex.Decode(b[:], raw[at:at+4])
	return rune(b[0])<<8 | rune(b[1]), err == nil
}

func (d *Doc) array(me, depth int) error {
	d.pos++
	d.space()
	if d.skip(']') {
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
	switch {
	case d.pos >= len(d.Raw):
		return false, d.syntax("document ends too early")
	case d.skip(','):
		return true, nil
	case d.skip(end):
		return false, nil
	}
	return false, d.syntax("comma or closing bracket expected")
}

func (d *Doc) object(me, depth int) error {
	d.pos++
	base := len(d.keys)
	defer func() { d.keys = d.keys[:base] }()
	d.space()
	if d.skip('}') {
		return nil
	}
	var big map[uint64]struct{}
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
		if !d.skip(':') {
			return d.syntax("colon expected")
		}
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

// manyKeys is how many keys of an object are looked through one by one. Those
// of a larger object are kept in a set.
const manyKeys = 24

// addKey adds the hash of a key to those of its object, and refuses one that is
// there already. A collision of hashes is refused as well; it takes an attacker
// to make one.
func (d *Doc) addKey(me, base, start, end int, escaped bool, big map[uint64]struct{}) (map[uint64]struct{}, error) {
	h := hash(d.foldKey(start, end, escaped))
	if big == nil {
		if slices.Contains(d.keys[base:], h) {
			return nil, d.clash(me, start, end, escaped)
		}
		d.keys = append(d.keys, h)
		if len(d.keys)-base < manyKeys {
			return nil, nil
		}
		big = map[uint64]struct{}{}
		for _, k := range d.keys[base:] {
			big[k] = struct{}{}
		}
		return big, nil
	}
	if _, ok := big[h]; ok {
		return nil, d.clash(me, start, end, escaped)
	}
	big[h] = struct{}{}
	return big, nil
}

// clash tells a duplicate key from a case variant.
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
