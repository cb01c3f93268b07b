package known

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	someWords = 2   // content words of a free text that make a region its source,
	someShare = 0.2 // and their share of those that are not known without it
)

// Drawn says which of some texts an action draws on.
type Drawn struct {
	// Needed texts are the only ones with a value that the action has.
	Needed []bool
	// Any are texts, by their places, that have one value each: it is drawn from
	// one of them.
	Any [][]int
	// Computed: some value is in no text. What it is computed from can't be read
	// off the action.
	Computed bool
}

// Draws reports which of some texts a call draws on, given what is known
// without them: the texts that have a value of the call's arguments that is
// not known, each for itself. Where none has all of it, those are needed that
// have a part of it (of free text, two content words and a fifth of those that
// are not known; of a moment, its date or its time).
func Draws(args map[string]any, without, texts []*Text) Drawn {
	d := drawing{without: without, texts: texts, Drawn: Drawn{Needed: make([]bool, len(texts))}}
	d.value(args, "", args)
	return d.Drawn
}

// AnswerDraws is Draws for an answer, which is free text.
func AnswerDraws(text string, without, texts []*Text) Drawn {
	d := drawing{without: without, texts: texts, Drawn: Drawn{Needed: make([]bool, len(texts))}}
	d.scalar(text, true, nil, "")
	return d.Drawn
}

type drawing struct {
	without, texts []*Text
	Drawn
}

func (d *drawing) value(args map[string]any, key string, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			d.value(args, key, e)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			d.value(v, k, v[k])
		}
	case json.Number, float64:
		d.scalar(fmt.Sprint(v), false, nil, "")
	case string:
		d.scalar(v, false, args, key)
	}
}

func (d *drawing) scalar(v string, free bool, args map[string]any, key string) {
	if trimmed := strings.TrimSpace(v); strings.HasPrefix(trimmed, "<") && strings.HasSuffix(trimmed, ">") && !free {
		d.Computed = true
		return
	}
	if s := Seen(d.without); s.has(v, free) || s.ends(v, args, key) {
		return
	}
	switch at := d.where(func(t Seen) bool { return t.has(v, free) || t.ends(v, args, key) }); {
	case len(at) > 1:
		d.Any = append(d.Any, at)
	case len(at) == 1:
		d.Needed[at[0]] = true
	case !d.parts(v, free):
		d.Computed = true
	}
}

// where returns the places of the texts of which f holds.
func (d *drawing) where(f func(Seen) bool) (at []int) {
	for i, t := range d.texts {
		if f(Seen{t}) {
			at = append(at, i)
		}
	}
	return at
}

// take marks the texts of which f holds, and reports whether there are any.
func (d *drawing) take(f func(Seen) bool) bool {
	at := d.where(f)
	for _, i := range at {
		d.Needed[i] = true
	}
	return len(at) > 0
}

// parts marks texts that have a part of a value. It reports false where all
// together do not have enough of it.
func (d *drawing) parts(v string, free bool) bool {
	all := Seen(append(slices.Clone(d.without), d.texts...))
	if !all.has(v, free) {
		return false
	}
	if m, ok := parseMoment(v); ok && !free {
		for _, half := range []moment{{date: m.date, hasDate: true}, {minutes: m.minutes, hasTime: true}} {
			if half.hasDate && !m.hasDate || half.hasTime && !m.hasTime || Seen(d.without).moment(half) {
				continue
			}
			d.take(func(t Seen) bool { return t.moment(half) })
		}
		return true
	}
	var open []string
	for _, w := range contentWords(words(unescape(v))) {
		if !Seen(d.without).any(func(t *Text) bool { return len(t.at[w]) > 0 }) {
			open = append(open, w)
		}
	}
	return d.take(func(t Seen) bool {
		n := 0
		for _, w := range open {
			if len(t[0].at[w]) > 0 {
				n++
			}
		}
		return n >= min(someWords, len(open)) && float64(n) >= someShare*float64(len(open))
	})
}
