// Package known decides what a scripted agent may know: whether the texts
// that it is shown have the arguments of a call.
//
// A value counts when it occurs in a text after normalising case,
// punctuation, and the formats of numbers, dates and times; an end time also
// where its start and a duration do, be it that of an event that is shown with start
// and end. Free text (four content words or more)
// counts when at least 80 % of its content words occur. A value that occurs
// nowhere, not even in what is hidden, is computed, and counts only if every
// tool result so far is shown completely. What a schema says of a call's
// parameters (defaults, enumerations) is shown with the tool. True, false and
// null always count; a value in angle brackets means a text that the agent
// would have to compose, and is computed.
//
// The functions are pure and safe for concurrent use.
package known

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	freeWords = 4   // content words from which on a value is free text
	freeShare = 0.8 // of them that must occur
)

// Seen are texts that are shown, each for itself: no value is read across
// two of them.
type Seen []*Text

// Context is what there is to know at a step.
type Context struct {
	Shown Seen // what the agent is shown
	// Full is all that there is, what is hidden included.
	Full Seen
	// Complete says that every tool result so far is shown completely.
	Complete bool
}

// Call reports whether all arguments of a call can be had, and names the
// first that can't.
func (c *Context) Call(args map[string]any) (missing string, ok bool) {
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if at, ok := c.value(args, key, key, args[key]); !ok {
			return at, false
		}
	}
	return "", true
}

func (c *Context) value(args map[string]any, key, path string, v any) (missing string, ok bool) {
	switch v := v.(type) {
	case nil, bool:
		return "", true
	case []any:
		for i, e := range v {
			if at, ok := c.value(args, key, fmt.Sprintf("%s[%d]", path, i), e); !ok {
				return at, false
			}
		}
		return "", true
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if at, ok := c.value(v, k, path+"."+k, v[k]); !ok {
				return at, false
			}
		}
		return "", true
	case json.Number:
		return path, c.scalar(v.String(), false, nil, "")
	case string:
		return path, c.scalar(v, false, args, key)
	}
	return path, false
}

// Answer reports whether a final answer can be had. It is free text from its
// first word on.
func (c *Context) Answer(text string) bool { return c.scalar(text, true, nil, "") }

func (c *Context) scalar(v string, free bool, args map[string]any, key string) bool {
	if trimmed := strings.TrimSpace(v); strings.HasPrefix(trimmed, "<") && strings.HasSuffix(trimmed, ">") && !free {
		return c.Complete
	}
	if c.Shown.has(v, free) || c.Shown.ends(v, args, key) {
		return true
	}
	return c.Complete && !c.Full.has(v, free)
}

// has reports whether a value occurs.
func (s Seen) has(v string, free bool) bool {
	m, isMoment := parseMoment(v)
	if isMoment && s.moment(m) {
		return true
	}
	seq := words(unescape(v))
	if s.any(func(t *Text) bool { return t.has(seq) }) {
		return true
	}
	content := contentWords(seq)
	if len(content) == 0 {
		return len(seq) == 0
	}
	// An address or a date has parts, and is not free text.
	if !free && (isMoment || len(content) < freeWords || len(strings.Fields(v)) < freeWords) {
		return false
	}
	found := 0
	for _, w := range content {
		if s.any(func(t *Text) bool { return len(t.at[w]) > 0 }) {
			found++
		}
	}
	return float64(found) >= freeShare*float64(len(content))
}

func (s Seen) moment(m moment) bool {
	return (!m.hasDate || s.any(func(t *Text) bool {
		return t.dates[m.date] || t.dates[date{0, m.date.month, m.date.day}]
	})) && (!m.hasTime || s.any(func(t *Text) bool { return t.times[m.minutes] }))
}

func (s Seen) any(f func(*Text) bool) bool { return slices.ContainsFunc(s, f) }

// ends reports whether a value is an end time whose start, another argument
// of the call, occurs and lies a named duration before it.
func (s Seen) ends(v string, args map[string]any, key string) bool {
	if !strings.Contains(key, "end") {
		return false
	}
	from, _ := args[strings.Replace(key, "end", "start", 1)].(string)
	start, ok := parseMoment(from)
	end, ok2 := parseMoment(v)
	if !ok || !ok2 || !start.hasTime || !end.hasTime || start.date != end.date || !s.moment(start) {
		return false
	}
	return s.any(func(t *Text) bool { return t.durations[end.minutes-start.minutes] })
}

// contentWords returns the distinct words that say something.
func contentWords(seq []string) []string {
	var out []string
	for _, w := range seq {
		if !functionWords[w] {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var functionWords = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`a an the and or but if of in on at to for from by with as is are was were be been am
		it its this that these those i you he she we they me my your his her our their us them not no do does did so
		will would can could should shall may might have has had there here than then too very just about into over s t`) {
		out[w] = true
	}
	return out
}()
