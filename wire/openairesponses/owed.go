package openairesponses

import (
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// namesOf are the names by which requests go on with a response.
func namesOf(d *strictjson.Doc, response int) []wire.Name {
	var out []wire.Name
	if id := d.Text(d.Find(response, "id")); id != "" {
		out = append(out, wire.Name{Text: id})
	}
	if id := d.Text(d.Find(d.Find(response, "conversation"), "id")); id != "" {
		out = append(out, wire.Name{Text: id, Shared: true})
	}
	return out
}

// owedOf is a call that is not made.
func owedOf(d *strictjson.Doc, item int, text string) wire.Owed {
	return wire.Owed{Kind: d.Text(d.Find(item, "type")), ID: d.Text(d.Find(item, "call_id")), Text: text}
}

// Settle implements wire.Settler: the results come before what the request
// says. A click can't be answered in words, so that there is none for it.
func (r *Request) Settle(body []byte, calls []wire.Owed) []byte {
	var results []byte
	for i := range calls {
		if one := result(&calls[i]); one != nil {
			results = append(append(results, one...), ',')
		}
	}
	var d strictjson.Doc
	if len(results) == 0 || d.Parse(body, wire.Limits{MaxBytes: max(len(body), 1)}) != nil || d.Nodes[0].Kind != strictjson.Object {
		return body
	}
	input := d.Find(0, "input")
	if input < 0 {
		end := d.Nodes[0].End - 1
		text := append(append([]byte(`"input":[`), results[:len(results)-1]...), ']')
		if d.Nodes[0].Next > 1 {
			text = append([]byte{','}, text...)
		}
		out := splice(body, []strictjson.Splice{{Start: end, End: end, Text: text}})
		if d.Parse(out, wire.Limits{MaxBytes: len(out)}) != nil {
			return body // it has a key that differs from ours by case alone
		}
		return out
	}
	n := &d.Nodes[input]
	at := strictjson.Splice{Start: n.Start, End: n.End}
	switch n.Kind {
	case strictjson.Array:
		at.Start, at.End = n.Start+1, n.Start+1
		if at.Text = results; n.Next == input+1 {
			at.Text = results[:len(results)-1]
		}
	case strictjson.String:
		at.Text = append(append([]byte{'['}, results...), `{"role":"user","content":`...)
		at.Text = append(append(at.Text, d.Value(input)...), `}]`...)
	default:
		at.Text = append(append([]byte{'['}, results[:len(results)-1]...), ']')
	}
	return splice(body, []strictjson.Splice{at})
}

// result is the item that answers a call, nil for none.
func result(o *wire.Owed) []byte {
	id, text := strictjson.AppendQuote(nil, []byte(o.ID)), strictjson.AppendQuote(nil, []byte(o.Text))
	join := func(parts ...string) []byte {
		var out []byte
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	if o.ID == "" {
		return nil
	}
	switch o.Kind {
	case "function_call", "custom_tool_call":
		return join(`{"type":"`, o.Kind, `_output","call_id":`, string(id), `,"output":`, string(text), `}`)
	case "shell_call":
		return join(`{"type":"shell_call_output","call_id":`, string(id), `,"output":[{"stdout":"","stderr":`, string(text), `,"outcome":{"type":"exit","exit_code":1}}]}`)
	case "local_shell_call":
		return join(`{"type":"local_shell_call_output","id":`, string(id), `,"output":`, string(text), `}`)
	case "apply_patch_call":
		return join(`{"type":"apply_patch_call_output","call_id":`, string(id), `,"status":"failed","output":`, string(text), `}`)
	}
	return nil
}
