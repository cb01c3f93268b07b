package rubric

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric/document"
)

// Defaults of limits that a rubric does not set.
const (
	DefaultCapSemiTrusted = 4 * flow.Bit
	DefaultCapAdversarial = 1 * flow.Bit
)

func defaultWeights() [4]int64 { return [4]int64{0, 1000, 2000, 4000} }

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // of a document that came out of JSON
		panic(err)
	}
	return b
}

// Limits are the rubric's own, which those of a trajectory are fixed by.
func (r *Rubric) Limits() Limits { return r.limits }

// expiry is the end of the last day, so that a rubric holds on it.
func expiry(day string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return t, fmt.Errorf("%q is not a day of the calendar", day)
	}
	return t.AddDate(0, 0, 1), nil
}

func (r *Rubric) compileLimits() error {
	d := &r.doc.Limits
	var err error
	for _, one := range []struct {
		name string
		n    json.Number
		to   *flow.Bits
	}{{"budget", d.Budget, &r.limits.B}, {"margin", d.Margin, &r.limits.Margin}, {"presence", d.Presence, &r.presence}, {"equality", d.Equality, &r.equality}} {
		if *one.to, err = document.Bits(one.n); err != nil {
			return where(err, "limits", one.name)
		}
	}
	if s := r.doc.Screened; s != nil {
		if r.limits.Screened, err = document.Bits(s.Cap); err != nil {
			return where(err, "screened", "cap")
		}
	}
	r.limits.Lambda = defaultWeights()
	for name, n := range d.Weights {
		b, err := document.Bits(n)
		if err == nil && (b%1000 != 0 || b < flow.Bit) {
			err = errors.New("a weight is at least 1 and has at most three decimal places")
		}
		if err != nil {
			return where(err, "limits", "weights", name)
		}
		r.limits.Lambda[classNames[name]] = int64(b / 1000)
	}
	if !slices.IsSorted(r.limits.Lambda[:]) {
		return where(errors.New("weights don't fall from required-service over semi-trusted to adversarial"), "limits", "weights")
	}
	return nil
}

// compileCaps needs costs: by default what required services may learn is what
// the others may, and the identities that they need.
func (r *Rubric) compileCaps() error {
	c := &r.limits.Cap
	var err error
	get := func(k flow.Class, unset flow.Bits) {
		n, set := r.doc.Limits.Caps[k.String()]
		if c[k] = unset; err == nil && set {
			if c[k], err = document.Bits(n); err != nil {
				err = where(err, "limits", "caps", k.String())
			}
		}
	}
	get(flow.Adversarial, DefaultCapAdversarial)
	get(flow.SemiTrusted, max(DefaultCapSemiTrusted, c[flow.Adversarial]))
	first := c[flow.SemiTrusted]
	for _, n := range r.utility[flow.RequiredService] {
		first = first.Add(r.fields[n.Field].Chain.Cost(n.Level))
	}
	get(flow.RequiredService, first)
	if err == nil && (c[1] < c[2] || c[2] < c[3]) {
		err = where(errors.New("a class that is trusted less may not learn more"), "limits", "caps")
	}
	return err
}

func (r *Rubric) compileTemplates() error {
	for _, name := range slices.Sorted(maps.Keys(r.templates)) {
		t := r.templates[name]
		at := []string{"templates", name}
		if slices.Contains(reserved, name) {
			return where(fmt.Errorf("%s is reserved: give the template another name", name), at...)
		}
		for _, f := range r.names {
			if slices.Contains(r.fields[f].Levels, name) {
				return where(fmt.Errorf("%s has a level of this name", f), at...)
			}
		}
		rest := t.Text
		for _, key := range t.Context {
			if r.fields[key] != nil {
				return where(fmt.Errorf("%s is a secret field, so it can't be context", key), at...)
			}
			if !strings.Contains(t.Text, "{"+key+"}") {
				return where(fmt.Errorf("the text does not use {%s}", key), at...)
			}
			rest = strings.ReplaceAll(rest, "{"+key+"}", "")
		}
		if strings.ContainsAny(rest, "{}") {
			return where(errors.New("the text has braces for what is not in context"), at...)
		}
		if spans, ok := r.covers.Find("", rest); !ok || len(spans) > 0 {
			return where(errors.New("a clause of coverage matches the text itself"), at...)
		}
	}
	return nil
}
