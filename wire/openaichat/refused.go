package openaichat

import (
	"fmt"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Refused implements wire.Conversation.
func (r *Request) Refused(body []byte, said []string, calls []flow.RefusedCall) []byte {
	var d strictjson.Doc
	if d.Parse(body, wire.Limits{MaxBytes: max(len(body), 1)}) != nil {
		return nil
	}
	messages := d.Find(0, "messages")
	if messages < 0 || d.Nodes[messages].Kind != strictjson.Array || d.Nodes[messages].Next == messages+1 {
		return nil
	}
	if n, ok := d.Int(d.Find(0, "n")); ok && n != 1 {
		return nil // there were several answers
	}
	content := []byte("null")
	if text := strings.Join(said, "\n"); text != "" {
		content = strictjson.AppendQuote(nil, []byte(text))
	}
	out := append(append([]byte(`,{"role":"assistant","content":`), content...), `,"tool_calls":[`...)
	var results []byte
	for i, c := range calls {
		id := fmt.Sprintf("call_margay_%d", i)
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"id":"`+id+`","type":"function","function":{"name":`...)
		out = strictjson.AppendQuote(out, []byte(c.Name))
		out = append(strictjson.AppendQuote(append(out, `,"arguments":`...), []byte(c.Arguments)), "}}"...)
		results = append(results, `,{"role":"tool","tool_call_id":"`+id+`","content":`...)
		results = append(strictjson.AppendQuote(results, []byte(c.Told)), '}')
	}
	end := d.Nodes[messages].End - 1
	sp := []strictjson.Splice{{Start: end, End: end, Text: append(append(out, "]}"...), results...)}}
	return strictjson.Apply(nil, body, wire.Unforced(&d, sp, []byte(`"auto"`)))
}
