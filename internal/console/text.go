package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
)

// Visible is visible for other pages of Margay's.
func Visible(s string) string { return visible(s) }

// visible is a text in which what can't be seen, or changes how the rest is
// seen, stands as a sign for it: ANSI escapes, marks of direction, zero-width
// characters. Line ends and tabs stay.
func visible(s string) string {
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

// pretty is a JSON text over several lines, where it is one.
func pretty(s string) string {
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

// segments cuts a text at its marks.
func segments(d mediator.TextDetail) []Segment {
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

// maskAll replaces known secrets in all texts of a model, in place where it is
// a pointer. Values of named string types are Margay's own words.
func maskAll(v any, mask func(string) string) any {
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

// functions are what templates call.
var functions = template.FuncMap{
	"visible":  visible,
	"pretty":   func(s string) string { return visible(pretty(s)) },
	"segments": segments,
	"chart":    chart,
	"dots":     dots,
	"percent":  func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" },
	"number":   number3,
	"milli":    func(n int) string { return strconv.FormatFloat(float64(n)/1000, 'f', 3, 64) },
	"bytes": func(n any) string {
		x, _ := strconv.ParseFloat(fmt.Sprint(n), 64)
		switch {
		case x >= 1<<20:
			return strconv.FormatFloat(x/(1<<20), 'f', 1, 64) + " MiB"
		case x >= 1<<10:
			return strconv.FormatFloat(x/(1<<10), 'f', 1, 64) + " KiB"
		}
		return fmt.Sprint(n) + " B"
	},
	"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
	"day":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	// lastday is the last day before a moment.
	"lastday": func(t time.Time) string { return t.UTC().Add(-1).Format("2006-01-02") },
	"short":   func(hash string) string { return hash[:min(len(hash), 12)] },
	"classes": func() []string {
		return []string{flow.Adversarial.String(), flow.SemiTrusted.String(), flow.RequiredService.String()}
	},
	"channels": func() []flow.Channel {
		return []flow.Channel{flow.ChannelTool, flow.ChannelModel, flow.ChannelMemory, flow.ChannelAgent}
	},
	"add":   func(a, b int) int { return a + b },
	"len64": func(a, b int64) int64 { return b - a },
	"dict": func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i+1 < len(kv); i += 2 {
			m[fmt.Sprint(kv[i])] = kv[i+1]
		}
		return m
	},
}

func number3(x float64) string {
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
