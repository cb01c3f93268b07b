package document

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/include"
)

// Version is the only format version that this program reads.
const Version = 1

// MaxBytes bounds a rubric's text, and its canonical bytes.
const MaxBytes = 4 << 20

// Schema is the JSON Schema of rubrics.
//
//go:embed schema.json
var Schema []byte

// schema is the JSON Schema, compiled once.
var schema = yamldoc.NewSchema(Schema)

// Read reads YAML, with the vocabularies that open reads; nil where a rubric may
// include none. Errors are of type *yamldoc.Error, with a position.
func Read(file string, b []byte, open include.Open) (*Document, error) {
	src, err := yamldoc.Read(file, b, MaxBytes, "a rubric", Version)
	if err != nil {
		return nil, err
	}
	if src, err = include.Expand(src, MaxBytes, open); err != nil {
		return nil, err
	}
	return build(src)
}

// ErrCanonical says that bytes are not the canonical ones of what they say.
var ErrCanonical = errors.New("these are not canonical bytes")

// ReadCanonical reads canonical bytes. It refuses all others with ErrCanonical,
// so that one rubric has one hash. Errors are of type *yamldoc.Error.
func ReadCanonical(file string, b []byte) (*Document, error) {
	if len(b) > MaxBytes {
		return nil, &yamldoc.Error{File: file, Detail: fmt.Sprintf("a rubric has at most %d bytes", MaxBytes)}
	}
	d, err := build(yamldoc.FromJSON(file, b))
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(d.canonical, b) {
		return nil, &yamldoc.Error{File: file, Detail: ErrCanonical.Error(), Err: ErrCanonical}
	}
	return d, nil
}

func build(src *yamldoc.Document) (*Document, error) {
	if err := src.Version(Version); err != nil {
		return nil, err
	}
	if err := src.Check(schema); err != nil {
		return nil, err
	}
	d := &Document{source: src}
	var doc any
	err := yamldoc.Unmarshal(src.JSON, &doc)
	if err == nil {
		d.canonical, err = canonicalJSON(doc)
	}
	if err == nil {
		err = yamldoc.Unmarshal(d.canonical, d)
	}
	if err != nil {
		return nil, src.Place(err)
	}
	return d, nil
}

// Canonical returns the bytes that the rubric is hashed, signed and stored as.
// They do not depend on how its YAML was formatted, and hold what it includes.
func (d *Document) Canonical() []byte { return slices.Clone(d.canonical) }

// Place is a mistake's *yamldoc.Error, with the position of the place that
// yamldoc.Where gave it; nil for nil.
func (d *Document) Place(err error) error { return d.source.Place(err) }

// At returns the position of a place in the rubric's YAML, with the file that it
// is in. The line is 0 where there is none.
func (d *Document) At(at ...string) (file string, line, column int) { return d.source.At(at...) }

// canonicalJSON writes a document as RFC 8785 does: members sorted, no space,
// the fewest escapes. Numbers are plain decimals with at most six places.
func canonicalJSON(doc any) ([]byte, error) {
	b, err := appendCanonical(nil, doc, 0)
	if err == nil && len(b) > MaxBytes {
		err = fmt.Errorf("a rubric has at most %d bytes", MaxBytes)
	}
	return b, err
}

func appendCanonical(b []byte, v any, depth int) ([]byte, error) {
	if depth > 32 {
		return nil, errors.New("it is nested too deeply")
	}
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case json.Number:
		n, err := decimal(v.String())
		return append(b, n...), err
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.New("a text is not valid UTF-8")
		}
		return appendString(b, v), nil
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendCanonical(b, e, depth+1); err != nil {
				return nil, yamldoc.Where(err, strconv.Itoa(i))
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			if !utf8.ValidString(k) {
				return nil, errors.New("a key is not valid UTF-8")
			}
			b = append(appendString(b, k), ':')
			if b, err = appendCanonical(b, v[k], depth+1); err != nil {
				return nil, yamldoc.Where(err, k)
			}
		}
		return append(b, '}'), nil
	default:
		return nil, fmt.Errorf("%T is not a type of JSON", v)
	}
}

func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		default:
			if e := strings.IndexByte("\b\t\n\f\r", c); e >= 0 {
				b = append(b, '\\', "btnfr"[e])
			} else {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
		}
	}
	return append(b, '"')
}

// decimal writes a number as a plain decimal.
func decimal(s string) (string, error) {
	if len(s) > 40 {
		return "", errors.New("a number is too long")
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 30 || e < -30 {
			return "", errors.New("a number is too large or too small")
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", errors.New("a number is malformed")
	}
	out := r.FloatString(6)
	if back, ok := new(big.Rat).SetString(out); !ok || back.Cmp(r) != 0 {
		return "", errors.New("a number has at most six decimal places")
	}
	out = strings.TrimRight(strings.TrimRight(out, "0"), ".")
	if out == "-0" || out == "" {
		out = "0"
	}
	return out, nil
}
