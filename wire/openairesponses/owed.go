package openairesponses

import (
	"bytes"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// namesOf are the names by which requests continue a response.
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

// Settle implements wire.Request: the results come before the request's own
// input. Text can't answer a click, so a click gets no result.
func (r *Request) Settle(raw []byte, calls []wire.Owed) []byte {
	var all [][]byte
	for i := range calls {
		if one := result(&calls[i]); one != nil {
			all = append(all, one)
		}
	}
	e, ok := body.Edit(raw)
	if len(all) == 0 || !ok || e.Doc.Nodes[0].Kind != strictjson.Object {
		return raw
	}
	results := bytes.Join(all, []byte{','})
	input := e.Doc.Find(0, "input")
	if input < 0 {
		e.Extend(0, strictjson.Appendf(nil, `"input":[%s]`, results))
		out, _ := checked(e, raw)
		return out
	}
	switch n := &e.Doc.Nodes[input]; {
	case n.Kind == strictjson.Array && n.Next > input+1:
		e.Splice(n.Start+1, n.Start+1, append(results, ','))
	case n.Kind == strictjson.Array:
		e.Splice(n.Start+1, n.Start+1, results)
	case n.Kind == strictjson.String:
		e.Put(input, strictjson.Appendf(nil, `[%s,{"role":"user","content":%s}]`, results, e.Doc.Value(input)))
	default:
		e.Put(input, strictjson.Appendf(nil, `[%s]`, results))
	}
	return e.Bytes()
}

// result is the item that answers a call, nil for none.
func result(o *wire.Owed) []byte {
	format := results[o.Kind]
	if o.ID == "" || format == "" {
		return nil
	}
	return strictjson.Appendf(nil, format, o.ID, o.Text)
}

var results = map[string]string{
	"function_call":    `{"type":"function_call_output","call_id":%q,"output":%q}`,
	"custom_tool_call": `{"type":"custom_tool_call_output","call_id":%q,"output":%q}`,
	"shell_call":       `{"type":"shell_call_output","call_id":%q,"output":[{"stdout":"","stderr":%q,"outcome":{"type":"exit","exit_code":1}}]}`,
	"local_shell_call": `{"type":"local_shell_call_output","id":%q,"output":%q}`,
	"apply_patch_call": `{"type":"apply_patch_call_output","call_id":%q,"status":"failed","output":%q}`,
}
