package openairesponses

import (
	"fmt"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Refused implements wire.Conversation. Calls of tools that are no functions
// are told of in words.
func (r *Request) Refused(body []byte, said []string, calls []flow.RefusedCall) []byte {
	var d strictjson.Doc
	if d.Parse(body, wire.Limits{MaxBytes: max(len(body), 1)}) != nil {
		return nil
	}
	input := d.Find(0, "input")
	if input < 0 {
		return nil
	}
	functions := map[string]bool{}
	if tools := d.Find(0, "tools"); tools >= 0 {
		d.Children(tools, func(t int) bool {
			if d.Text(d.Find(t, "type")) == "function" {
				functions[d.Text(d.Find(t, "name"))] = true
			}
			return true
		})
	}
	out, outputs := []byte{'['}, []byte(nil)
	if text := strings.Join(said, "\n"); text != "" {
		out = element(out, asSaid(flow.RoleAssistant, text))
	}
	for i, c := range calls {
		if !functions[c.Name] {
			outputs = append(append(outputs, ','), asSaid(flow.RoleUser, c.Told)...)
			continue
		}
		id := fmt.Sprintf(`"call_margay_%d"`, i)
		item := strictjson.AppendQuote([]byte(`{"type":"function_call","call_id":`+id+`,"name":`), []byte(c.Name))
		out = element(out, append(strictjson.AppendQuote(append(item, `,"arguments":`...), []byte(c.Arguments)), '}'))
		outputs = append(outputs, `,{"type":"function_call_output","call_id":`+id+`,"output":`...)
		outputs = append(strictjson.AppendQuote(outputs, []byte(c.Told)), '}')
	}
	more := append(out[1:], outputs...)
	if len(out) == 1 {
		more = outputs[1:]
	}
	var sp []strictjson.Splice
	switch n := &d.Nodes[input]; {
	case n.Kind == strictjson.String:
		first := append([]byte{'['}, asSaid(flow.RoleUser, d.Text(input))...)
		sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: append(append(append(first, ','), more...), ']')})
	case n.Kind == strictjson.Array && n.Next > input+1:
		sp = append(sp, strictjson.Splice{Start: n.End - 1, End: n.End - 1, Text: append([]byte{','}, more...)})
	default:
		return nil
	}
	return strictjson.Apply(nil, body, wire.Unforced(&d, sp, []byte(`"auto"`)))
}
