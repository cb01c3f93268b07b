package hook

import (
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/stream/cut"
)

// forms are a harness's answers: by an outcome and an event, such as "edit
// PreToolUse", or by an outcome at any event. An empty form is an answer that
// says nothing. The words behind $ stand for what value returns. Harnesses
// refuse members that they do not know, so every answer has its own.
type forms map[string]string

// answer writes what was decided about an event as its harness wants it. What
// the harness has no form for is blocked.
func (in *input) answer(d decision) Answer {
	at := func(o outcome) string { return string(o) + " " + in.name }
	for _, key := range [...]string{at(d.outcome), string(d.outcome), at(block), string(block)} {
		if form, ok := in.harness.answers[key]; ok {
			return in.fill(form, &d)
		}
	}
	return blocked(d.reason)
}

// asks reports whether the harness can ask a person at an event.
func (in *input) asks() bool {
	_, here := in.harness.answers[string(ask)+" "+in.name]
	_, anywhere := in.harness.answers[string(ask)]
	return here || anywhere
}

// fill puts values into a form. A member without one is left out; it is never
// the first of its object.
func (in *input) fill(form string, d *decision) Answer {
	if form == "" {
		return Answer{Exit: Done}
	}
	out := &cut.Released{}
	for {
		before, rest, found := strings.Cut(form, "$")
		if !found {
			out.Own([]byte(form + "\n"))
			return Answer{Exit: Done, Out: *out}
		}
		end := strings.IndexAny(rest, ",}")
		if v := in.value(rest[:end], d); v != nil {
			out.Own([]byte(before))
			out.Append(*v)
		} else {
			out.Own([]byte(before[:strings.LastIndexByte(before, ',')]))
		}
		form = rest[end:]
	}
}

// value is what a word of a form stands for; nil for nothing.
func (in *input) value(word string, d *decision) *cut.Released {
	text := d.reason
	switch word {
	case "value":
		return d.value
	case "mcp": // versions of Claude Code before updatedToolOutput know this
		if !in.mcp() {
			return nil
		}
		return d.value
	case "text":
		text += "\n" + plain(d.value.Bytes())
	case "action":
		if text = in.doc.Text(in.doc.Find(0, "action")); text == "" {
			return nil
		}
	}
	return cut.Own(strictjson.AppendQuote(nil, []byte(text)))
}

// blocked is an answer that blocks with a reason alone.
func blocked(reason string) Answer { return Answer{Exit: Block, Err: *cut.Own([]byte(reason + "\n"))} }

// plain is a JSON value as a person reads it: a string without its quotes.
func plain(v []byte) string {
	var d strictjson.Doc
	if d.Parse(v, strictjson.Limits{MaxBytes: 2 * MaxEvent}) == nil && d.Nodes[0].Kind == strictjson.String {
		return d.Text(0)
	}
	return string(v)
}
