package document

import (
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
)

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
