package evidence

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/strictjson"
)

// Parse reads a statement strictly: every member of the format once, and no
// other. It never panics, and its errors wrap the rule that was broken.
func Parse(raw []byte) (*Statement, error) {
	if len(raw) > MaxSize {
		return nil, TooLarge.Errorf("%d bytes, at most %d", len(raw), MaxSize)
	}
	if !utf8.Valid(raw) {
		return nil, UTF8.Errorf("it is not valid UTF-8")
	}
	var ev Statement
	if err := read(raw, strictjson.Limits{MaxBytes: MaxSize, MaxDepth: 8, MaxNodes: 1 << 17}, &ev); err != nil {
		return nil, err
	}
	switch {
	case ev.Version != 1:
		return nil, Schema.Errorf("unknown version %d; expected version 1", ev.Version)
	case len(ev.Atoms) > MaxLabels || len(ev.Operators) > MaxLabels:
		return nil, TooMany.Errorf("more than %d", MaxLabels)
	case len(ev.Context.Rubrics) > maxRubrics:
		return nil, Schema.Errorf("more than %d rubrics", maxRubrics)
	}
	return &ev, nil
}

// read reads a document into the struct that out points to. The names of its
// members are in the json tags of the fields. A oneof tag lists the accepted
// values.
func read(raw []byte, l strictjson.Limits, out any) error {
	var d strictjson.Doc
	if err := d.Parse(raw, l); err != nil {
		return Syntax.Errorf("%w", err)
	}
	return (*reader)(&d).value(0, reflect.ValueOf(out).Elem(), "")
}

// reader reads the nodes of a document into values of the same shape.
type reader strictjson.Doc

func (r *reader) fail(i int, what string) error {
	return Schema.Errorf("byte %d: %s", r.Nodes[i].Start, what)
}

// expected names what a value of a kind is read from.
var expected = map[reflect.Kind]string{
	reflect.Struct: "an object", reflect.Slice: "an array", reflect.String: "a string", reflect.Int: "a whole number", reflect.Bool: "true or false",
}

// value reads node i. The names are the accepted values of a string; any if
// there are none.
func (r *reader) value(i int, v reflect.Value, names string) error {
	d := (*strictjson.Doc)(r)
	switch kind, is := d.Nodes[i].Kind, v.Kind(); {
	case is == reflect.Struct && kind == strictjson.Object:
		return r.object(i, v)
	case is == reflect.Slice && kind == strictjson.Array:
		for c := range d.All(i) {
			v.Grow(1)
			v.SetLen(v.Len() + 1)
			if err := r.value(c, v.Index(v.Len()-1), ""); err != nil {
				return err
			}
		}
		return nil
	case is == reflect.String && kind == strictjson.String:
		v.SetString(d.Text(i))
		if v.Len() > maxName {
			return r.fail(i, "a name is too long")
		}
		if names != "" && !slices.Contains(strings.Fields(names), v.String()) {
			return r.fail(i, "expected one of "+names)
		}
		return nil
	case is == reflect.Bool && (kind == strictjson.True || kind == strictjson.False):
		v.SetBool(kind == strictjson.True)
		return nil
	case is == reflect.Int:
		if n, ok := d.Int(i); ok {
			v.SetInt(int64(n))
			return nil
		}
	}
	return r.fail(i, "expected "+expected[v.Kind()])
}

// object reads the members of node i. Only those tagged omitempty may be
// missing.
func (r *reader) object(i int, v reflect.Value) error {
	d := (*strictjson.Doc)(r)
	fields, needed := map[string]int{}, map[string]bool{}
	for k := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(k).Tag.Get("json"), ",")
		fields[name] = k
		if options == "" {
			needed[name] = true
		}
	}
	for c := range d.All(i) {
		k, ok := fields[d.Key(c)]
		if !ok {
			return r.fail(c, "an unknown member")
		}
		if err := r.value(c, v.Field(k), v.Type().Field(k).Tag.Get("oneof")); err != nil {
			return err
		}
		delete(needed, d.Key(c))
	}
	if len(needed) > 0 {
		return r.fail(i, "a member is missing")
	}
	return nil
}

// Check holds labels and proposals to the texts of a candidate, and sorts both
// by place.
func Check(texts []string, labels []Label, proposals []Proposal) error {
	order := make([]int, len(labels))
	for i := range labels {
		order[i] = i
		l := &labels[i]
		if l.Part < 0 || l.Part >= len(texts) {
			return Offset.Errorf("atom %d is of part %d, of %d", i, l.Part, len(texts))
		}
		text := texts[l.Part]
		if l.Start < 0 || l.Start >= l.End || l.End > len(text) || !boundary(text, l.Start) || !boundary(text, l.End) {
			return Offset.Errorf("atom %d is not a span of its text", i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &labels[i], &labels[j]
		return cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(a.Start, b.Start))
	})
	sorted, place := make([]Label, len(labels)), make([]int, len(labels))
	for k, i := range order {
		sorted[k], place[i] = labels[i], k
		if k > 0 && sorted[k-1].Part == sorted[k].Part && sorted[k].Start < sorted[k-1].End {
			return Overlap.Errorf("atoms %d and %d overlap", order[k-1], i)
		}
	}
	if len(proposals) != len(labels) {
		return Operator.Errorf("%d operators for %d atoms", len(proposals), len(labels))
	}
	ops := make([]Proposal, len(labels))
	for i, p := range proposals {
		if _, ok := p.Of(); !ok || p.Atom < 0 || p.Atom >= len(labels) || ops[place[p.Atom]].Op != "" {
			return Operator.Errorf("operator %d is unknown, or its atom is, or has one already", i)
		}
		p.Atom = place[p.Atom]
		ops[p.Atom] = p
	}
	copy(labels, sorted)
	copy(proposals, ops)
	return nil
}

func boundary(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// Bind holds a statement to the release that it is for.
func (ev *Statement) Bind(c *Context) error {
	e := &ev.Context
	switch {
	case e.Prev != c.Prev:
		return Previous.Errorf("it does not follow the head of this chain")
	case e.Action != c.Action, e.Channel != c.Channel, e.Sink != c.Sink, e.Class != c.Class, !slices.Equal(e.Rubrics, c.Rubrics):
		return Other.Errorf("it is for another release")
	}
	return nil
}

// Call asks an adviser, with a deadline. Its panic is a failure. Only the fact is
// reported, since the value of a panic or an error may quote a secret. The
// adviser must heed its context: it runs on a goroutine that ends with it.
func Call(ctx context.Context, limit time.Duration, f func(context.Context) ([]byte, error)) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if recover() != nil {
				done <- result{nil, Failed.Errorf("it panicked")}
			}
		}()
		raw, err := f(ctx)
		done <- result{raw, err}
	}()
	select {
	case got := <-done:
		if got.err != nil {
			if ctx.Err() != nil {
				return nil, Late.Errorf("after %v", limit)
			}
			return nil, Failed.Errorf("it returned an error")
		}
		return got.raw, nil
	case <-ctx.Done():
		return nil, Late.Errorf("after %v", limit)
	}
}
