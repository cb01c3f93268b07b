// Package view prepares for pages what others wrote: it makes invisible
// characters visible, replaces known secrets, cuts a text at its marks, and
// joins the steps of a trajectory to what its model was shown.
package view

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/margaydev/margay/mediator/audit"
)

// Pretty indents a text if it is JSON.
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
func Segments(d audit.TextDetail) []Segment {
	cuts := []int{0, len(d.Text)}
	for _, list := range [][]audit.Span{d.Spans, d.Held} {
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

// fit moves a place in a text to the start of its character.
func fit(s string, at int) int {
	at = min(max(at, 0), len(s))
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 {
		at--
	}
	return at
}

// Region is a part of what a model is shown, with its label.
type Region struct {
	audit.Region
	Withheld bool `json:"withheld"` // the latest step was made without it
}

// Regions joins steps, the latest last, to what the model was shown last.
// followed is the label that its answer followed from.
func Regions(steps []audit.Event) (shown []Region, followed string) {
	for i := range steps {
		if s := steps[i].Payload.Step; s != nil {
			// The step describes all messages from this one on anew.
			shown = slices.DeleteFunc(shown, func(r Region) bool { return r.Message >= s.From || r.Message >= s.Messages })
			for k := range shown {
				shown[k].Withheld = false
			}
			for _, r := range s.Regions {
				shown = append(shown, Region{Region: r})
			}
			followed = s.Context
		}
		if w := steps[i].Payload.Withheld; w != nil {
			for k := range shown {
				at := shown[k].Message
				shown[k].Withheld = !shown[k].Bottom && (slices.Contains(w.Messages, at) || slices.Contains(w.Gone, at))
			}
			followed = w.Context
		}
	}
	return shown, followed
}

// unmasked are fields that hold ids and digests, which mean nothing masked.
var unmasked = []string{"ID", "Finding", "CSRF", "Model", "Zone", "Revision", "Hash", "Signer"}

// Mask replaces known secrets in all texts that v points to. Values of named
// string types are Margay's own words.
func Mask(v any, mask func(string) string) {
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
		if v.CanAddr() {
			// Marks are places in the text: where it changes they mean nothing.
			if d, ok := v.Addr().Interface().(*audit.TextDetail); ok && mask(d.Text) != d.Text {
				d.Text, d.Spans, d.Held = mask(d.Text), nil, nil
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
