package anthropic

import (
	"fmt"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// Refused implements wire.Conversation. A turn with thinking goes on only with
// the thinking as the server signed it; there the model is told in words.
func (r *Request) Refused(body []byte, said []string, calls []flow.RefusedCall) []byte {
	var d strictjson.Doc
	if d.Parse(body, wire.Limits{MaxBytes: max(len(body), 1)}) != nil {
		return nil
	}
	messages := d.Find(0, "messages")
	if messages < 0 || d.Nodes[messages].Kind != strictjson.Array || d.Nodes[messages].Next == messages+1 {
		return nil
	}
	var out []byte
	if t := d.Find(0, "thinking"); t >= 0 && d.Text(d.Find(t, "type")) != "disabled" {
		out = []byte(`,{"role":"user","content":[`)
		for i, c := range calls {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(strictjson.AppendQuote(append(out, `{"type":"text","text":`...), []byte(c.Told)), '}')
		}
	} else {
		out = []byte(`,{"role":"assistant","content":[`)
		if text := strings.TrimSpace(strings.Join(said, "\n")); text != "" {
			out = append(strictjson.AppendQuote(append(out, `{"type":"text","text":`...), []byte(text)), "},"...)
		}
		results := []byte(`]},{"role":"user","content":[`)
		for i, c := range calls {
			id := fmt.Sprintf("toolu_margay_%d", i)
			if i > 0 {
				out, results = append(out, ','), append(results, ',')
			}
			out = strictjson.AppendQuote(append(out, `{"type":"tool_use","id":"`+id+`","name":`...), []byte(c.Name))
			out = append(append(append(out, `,"input":`...), asValue(c.Arguments)...), '}')
			results = append(results, `{"type":"tool_result","tool_use_id":"`+id+`","is_error":true,"content":`...)
			results = append(strictjson.AppendQuote(results, []byte(c.Told)), '}')
		}
		out = append(out, results...)
	}
	end := d.Nodes[messages].End - 1
	sp := []strictjson.Splice{{Start: end, End: end, Text: append(out, "]}"...)}}
	return strictjson.Apply(nil, body, wire.Unforced(&d, sp, []byte(`{"type":"auto"}`)))
}
