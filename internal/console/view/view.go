// Package view is what pages make of texts and numbers that others wrote: what
// can't be seen is made visible, known secrets are replaced, and a text is cut
// at the marks on it.
package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/margaydev/margay/mediator"
)

// Visible is a text in which what can't be seen, or changes how the rest is
// seen, stands as a sign for it: ANSI escapes, marks of direction, zero-width
// characters. Line ends and tabs stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unseen(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the control's picture
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

func unseen(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Co, r) || r == '\u115f' || r == '\u3164' || r == '\uffa0'
}

// Pretty is a JSON text over several lines, where it is one.
func Pretty(s string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") != nil {
		return s
	}
	return b.String()
}

// Segment is a piece of a text that is marked alike.
type Segment struct {
	Text string
	Mark string // what was done; empty for nothing
	Kind string
	Held bool
}

// Segments cuts a text at its marks.
func Segments(d mediator.TextDetail) []Segment {
	cuts := []int{0, len(d.Text)}
	for _, list := range [][]mediator.SpanTrace{d.Spans, d.Held} {
		for _, s := range list {
			cuts = append(cuts, fit(d.Text, s.At), fit(d.Text, s.To))
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []Segment
	for i := 1; i < len(cuts); i++ {
		at, to := cuts[i-1], cuts[i]
		seg := Segment{Text: d.Text[at:to]}
		for _, s := range d.Spans {
			if fit(d.Text, s.At) <= at && to <= fit(d.Text, s.To) {
				seg.Mark, seg.Kind = s.Action, s.Kind
			}
		}
		for _, s := range d.Held {
			seg.Held = seg.Held || fit(d.Text, s.At) <= at && to <= fit(d.Text, s.To)
		}
		out = append(out, seg)
	}
	return out
}

// fit is a place in a text that does not part a character.
func fit(s string, at int) int {
	at = min(max(at, 0), len(s))
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	return at
}

// unmasked are fields that hold ids and digests, which mean nothing masked.
var unmasked = []string{"ID", "Finding", "CSRF", "Model", "Zone", "Revision", "Hash", "Signer"}

// Mask replaces known secrets in all texts of a model, in place where it is
// a pointer. Values of named string types are Margay's own words.
func Mask(v any, mask func(string) string) any {
	seen := map[string]string{}
	cached := func(s string) string {
		if len(s) < 8 {
			return s
		}
		if _, ok := seen[s]; !ok {
			seen[s] = mask(s)
		}
		return seen[s]
	}
	maskValue(reflect.ValueOf(v), cached)
	return v
}

var (
	stringType = reflect.TypeFor[string]()
	timeType   = reflect.TypeFor[time.Time]()
)

func maskValue(v reflect.Value, mask func(string) string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			maskValue(v.Elem(), mask)
		}
	case reflect.Slice:
		for i := range v.Len() {
			maskValue(v.Index(i), mask)
		}
	case reflect.Struct:
		if v.Type() == timeType {
			return
		}
		if d, ok := addressed[mediator.TextDetail](v); ok {
			// Marks are places in the text: where it changes they mean nothing.
			if text := mask(d.Text); text != d.Text {
				d.Text, d.Spans, d.Held = text, nil, nil
			}
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !slices.Contains(unmasked, f.Name) {
				maskValue(v.Field(i), mask)
			}
		}
	case reflect.String:
		if v.Type() == stringType && v.CanSet() {
			v.SetString(mask(v.String()))
		}
	default: // numbers; no model has maps but those of benchmarks
	}
}

func addressed[T any](v reflect.Value) (*T, bool) {
	if !v.CanAddr() {
		return nil, false
	}
	p, ok := v.Addr().Interface().(*T)
	return p, ok
}

// Number is a number in three digits or so.
func Number(x float64) string {
	switch a := max(x, -x); {
	case x == float64(int64(x)) && a < 1e9:
		return strconv.FormatInt(int64(x), 10)
	case a >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
