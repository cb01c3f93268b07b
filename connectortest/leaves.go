package connectortest

import (
	"bytes"
	"fmt"
	"slices"
)

// leaf is a place for a string in a message, which is not an object's key: that
// of the content of one that is there, or of a member that nobody knows.
type leaf struct {
	start, end     int
	before, behind string
}

// leaves finds the places of a message, which is JSON, events or lines of it: its
// strings, and one in each of its objects.
func leaves(raw []byte) (out []leaf) {
	for i := 0; i < len(raw); i++ {
		if raw[i] == '{' && i+1 < len(raw) && raw[i+1] == '"' {
			out = append(out, leaf{i + 1, i + 1, `"brand_new":{"of":["`, `"]},`})
		}
		if raw[i] != '"' {
			continue
		}
		start := i + 1
		for i++; i < len(raw) && raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		if rest := bytes.TrimLeft(raw[min(i+1, len(raw)):], " \t\r\n"); len(rest) > 0 && rest[0] != ':' {
			out = append(out, leaf{start: start, end: i})
		}
	}
	return out
}

// with puts a text in the place of a leaf.
func (l leaf) with(raw []byte, text string) []byte {
	return slices.Concat(raw[:l.start], []byte(l.before+text+l.behind), raw[l.end:])
}

// everyLeaf puts the registered secret in the place of every string of every
// message that the fields of an API have, on the way to the far side and from it:
// whatever the string is for, it does not pass. Types are strings, too, so that it
// goes through types and members that nobody knows. tried is the number of places.
func everyLeaf(api *API, link Link, secret string, thin int) (problems []string, tried int) {
	m := &matrix{api: api, link: link, known: secret, stands: map[string]string{}}
	p, seen := newPrints(secret), map[string]bool{}
	given := func(raw []byte, l leaf) bool {
		return slices.ContainsFunc(api.Envelope, func(key string) bool { return bytes.HasSuffix(raw[:l.start], []byte(`"`+key+`":"`)) })
	}
	try := func(field string, x *Exchange, mutated []byte, to bool) {
		if tried++; thin > 1 && tried%thin != 0 || seen[string(mutated)] || len(problems) >= most {
			return
		}
		seen[string(mutated)] = true
		x.Caller = fmt.Sprintf("%s-leaf-%d", api.Name, tried)
		res, err := link.Do(x)
		at := ""
		switch {
		case err != nil:
			at = err.Error()
		case to && res.Far != nil:
			at = p.leaks(append([]byte(res.Far.Path+"\n"), res.Far.Body...), nil)
		case !to:
			at = p.leaks(res.Body, m.split(&one{stream: x.Answer.Type != "application/json"}, res.Body))
		}
		if at != "" {
			problems = append(problems, fmt.Sprintf("%s: in %s: %s", field, veil(string(mutated), secret), at))
		}
	}
	for i := range api.Fields {
		f := &api.Fields[i]
		m.field = f
		before, behind := f.around()
		for _, mode := range []struct {
			stream bool
			script func(Place) Script
		}{{true, f.Stream}, {false, f.Whole}} {
			if mode.script == nil || f.To && (mode.stream || passing[f.Known]) || !f.To && passing[f.fate(known, mode.stream)] {
				continue
			}
			q := f.Request
			if q == nil {
				q = &api.Ask
			}
			o := &one{stream: mode.stream, at: Place{1, 0}, text: before + cleanASCII + behind, pieces: []string{before + cleanASCII + behind}}
			s := mode.script(o.at)
			x := m.request(q, o, "")
			m.answer(x, o, &s)
			if f.To {
				for _, l := range leaves(x.Body) {
					if given(x.Body, l) {
						continue
					}
					y := *x
					y.Body = l.with(x.Body, secret)
					try(f.Name, &y, y.Body, true)
				}
				continue
			}
			all := bytes.Join(x.Answer.Chunks, nil)
			for _, l := range leaves(all) {
				if given(all, l) {
					continue
				}
				y := *x
				y.Answer.Chunks = [][]byte{l.with(all, secret)}
				try(f.Name, &y, y.Answer.Chunks[0], false)
			}
		}
	}
	return problems, tried
}

// passing are the fates of fields whose messages pass, and are reported at most.
var passing = map[Fate]bool{Passes: true, Reported: true, Untried: true}
