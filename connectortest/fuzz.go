package connectortest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// Fuzz puts a registered secret into any field of any of the APIs, between any
// texts, split anywhere. Whatever surrounds it, nothing of it may pass, and
// what arrives must be valid. What else happens to such texts is not judged:
// they may look like secrets themselves.
func Fuzz(f *testing.F, c Connector, apis ...*API) {
	known, link := open(f, c)
	f.Add(uint64(1), "it is ", ", yes")
	f.Add(uint64(2), "password = \"", "\"\n")
	f.Add(uint64(3), "é\u200b", "\\u0041☕")
	f.Add(uint64(4), "https://x.example/?k=", "&b=%41")
	f.Fuzz(func(t *testing.T, seed uint64, before, behind string) {
		rng := rand.New(rand.NewPCG(seed, 9)) //nolint:gosec // the choices are the same for each input
		api := *apis[rng.IntN(len(apis))]
		i := rng.IntN(len(api.Fields))
		field := api.Fields[i]
		if around, _ := field.around(); !field.Bare && !field.ASCII && !strings.HasPrefix(around, "{") {
			field.Before, field.Behind = clip(before), clip(behind)
			field.Bare = true
		}
		api.Fields = []Field{field}
		m := newMatrix(c, &api, 0, link, known)
		m.lenient, m.seed = true, rng.Uint64()
		m.once(rng)
		for _, p := range m.problems {
			t.Errorf("%s, %s: %s", api.Name, field.Name, p)
		}
	})
}

// clip makes fuzzed text one that may stand around a value.
func clip(s string) string {
	s = strings.ToValidUTF8(s, "")
	for n := min(len(s), 200); ; n-- {
		if utf8.ValidString(s[:n]) {
			return s[:n]
		}
	}
}

// once tries one combination.
func (m *matrix) once(rng *rand.Rand) {
	f := m.field
	o := &one{kind: known, at: Place{1, 0}, chunks: delivery(rng.IntN(3)), caller: fmt.Sprintf("fuzz-%x", m.seed), cut: "cut anyhow"}
	script := func(Place) Script { return m.api.Reply }
	switch {
	case f.Stream != nil && (f.Whole == nil || rng.IntN(4) > 0):
		o.stream, script = true, f.Stream
	case f.Whole != nil:
		script = f.Whole
	}
	if f.Most > 1 {
		o.at = Place{f.Most, rng.IntN(f.Most)}
	}
	o.fate = f.fate(known, o.stream)
	if o.fate == Untried || o.fate == Passes {
		return
	}
	if err := m.value(o); err != nil {
		m.report("%v", err)
		return
	}
	before, behind := f.around()
	o.text = before + o.value + behind
	s := script(o.at)
	if o.pieces = []string{""}; s.cuts() {
		o.pieces = pieces(o.text, rng.Uint64())
	}
	m.exchange(o, m.requests()[0], &s)
}
