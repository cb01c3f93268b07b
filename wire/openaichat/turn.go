package openaichat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

// Members of a request, and the id of a function_call, which has none.
const (
	functionsKey = "functions"          // the tools as older clients write them, after those of tools
	searchKey    = "web_search_options" // asks for the server's own search: the last of the tools
	legacy       = "function_call"
)

// Turns implements wire.Request.
func (r *Request) Turns() []flow.Turn { return body.Turns(r.turns()) }

// turns are the messages.
func (r *Request) turns() []body.Turn {
	var out []body.Turn
	for i, m := range r.Messages {
		t := body.Turn{Message: i, Nodes: []int{m.Node}}
		t.Role, t.Result = m.Role, r.Get(m.Node, "tool_call_id")
		if t.Role == "function" {
			t.Role, t.Result = flow.RoleTool, legacy
		}
		not := []int{r.Doc.Find(m.Node, "tool_call_id")}
		r.calls(m.Node, func(id string, fn, node int) {
			call := flow.TurnCall{ID: id, Name: r.Get(fn, "name"), Parts: r.Below(node)}
			for _, key := range [...]string{"arguments", "input"} {
				if args := r.Doc.Find(fn, key); args >= 0 {
					call.Arguments = r.Doc.Text(args)
				}
			}
			not = append(not, node)
			t.Calls = append(t.Calls, call)
		})
		others := r.others(m.Node, t.Role)
		t.Parts = slices.DeleteFunc(r.Below(m.Node, append(not, others...)...), func(p int) bool {
			return t.Role == flow.RoleAssistant && r.Part(p).Field == flow.FieldReasoning
		})
		apart := t.Role != flow.RoleAssistant && t.Role != flow.RoleTool
		t.Foreign = len(others) > 0 && !apart
		out = append(out, t)
		for _, part := range others {
			if apart {
				out = append(out, r.Strange(i, part))
			}
		}
	}
	return out
}

// Types of the parts of a content that the author of the message wrote: a tool,
// a model, and users, who also attach pictures and sound.
var (
	told   = body.Set("text")
	said   = body.Set("text refusal")
	spoken = body.Set("text image_url input_audio")
)

// others are the parts of a message that others than its author wrote, such as
// files, and those that are not known.
func (r *Request) others(msg int, role flow.Role) []int {
	own := spoken
	switch role {
	case flow.RoleTool:
		own = told
	case flow.RoleAssistant:
		own = said
	}
	return r.PartsBut(r.Doc.Find(msg, "content"), own)
}

// calls calls f for each call of a message: its id, its function, and the node
// of all of it.
func (r *Request) calls(msg int, f func(id string, fn, node int)) {
	d := &r.Doc
	for c := range d.All(d.Find(msg, "tool_calls")) {
		for _, kind := range [...]string{"function", "custom"} {
			if fn := d.Find(c, kind); fn >= 0 {
				f(r.Get(c, "id"), fn, c)
			}
		}
	}
	if fc := d.Find(msg, "function_call"); fc >= 0 && d.Nodes[fc].Kind == strictjson.Object {
		f(legacy, fc, fc)
	}
}

// closed are the members that bring no content of the server's.
var closed = body.Set("model messages tools tool_choice parallel_tool_calls functions function_call response_format temperature top_p n stop seed " +
	"stream stream_options max_tokens max_completion_tokens presence_penalty frequency_penalty logit_bias logprobs top_logprobs user store metadata " +
	"service_tier reasoning_effort verbosity prompt_cache_key prompt_cache_retention safety_identifier")

// Closed implements wire.Request. Models of this API that search the web have it in
// their names.
func (r *Request) Closed() bool { return r.Only(closed) && !strings.Contains(r.Model(), "search") }

// Tools implements wire.Request.
func (r *Request) Tools() []flow.OfferedTool {
	d := &r.Doc
	var out []flow.OfferedTool
	for t := range d.All(d.Find(0, "tools")) {
		tool := flow.OfferedTool{Parts: r.All(t), Name: r.Get(t, "type"), Server: true}
		for _, kind := range [...]string{"function", "custom"} {
			if fn := d.Find(t, kind); fn >= 0 {
				tool.Name, tool.Server = r.Get(fn, "name"), false
			}
		}
		out = append(out, tool)
	}
	for f := range d.All(d.Find(0, functionsKey)) {
		out = append(out, flow.OfferedTool{Name: r.Get(f, "name"), Parts: r.All(f)})
	}
	if d.Find(0, searchKey) >= 0 {
		out = append(out, flow.OfferedTool{Name: searchKey, Server: true})
	}
	return out
}

// Withhold implements wire.Request.
func (r *Request) Withhold(w *flow.Withheld) []byte {
	d, e := &r.Doc, r.Edit(w.Edits)
	tools, turns := len(r.Tools()), r.turns()
	some := tools > len(w.Hidden)
	r.WithholdInside(e, w, turns, func(text string) []byte { return strictjson.Appendf(nil, `{"type":"text","text":%q}`, text) })
	return r.Members(0, func(key string, c int) []byte {
		chooses := key == "tool_choice" || key == "function_call"
		switch {
		case key == "messages" && d.Nodes[c].Kind == strictjson.Array:
			return r.Shown(e, w, turns, -1, asSaid, r.instead)
		case key == "messages":
			return r.List(c, e.Value)
		case key == "tools":
			return r.Offered(e, w, c, 0)
		case key == functionsKey:
			return r.Offered(e, w, c, len(slices.Collect(d.All(d.Find(0, "tools")))))
		case key == searchKey && w.Hidden[tools-1],
			!some && (chooses || key == "parallel_tool_calls"),
			chooses && d.Nodes[c].Kind == strictjson.Object: // the tool that it names may be hidden
			return nil
		case key == "temperature":
			return []byte("0")
		case key == "n", key == "best_of":
			return []byte("1")
		}
		return e.Value(c)
	}, body.Member{Key: "temperature", Value: "0"}, body.Member{Key: "seed", Value: "0"})
}

// asSaid is an answer of the assistant's.
func asSaid(text string) []byte {
	return strictjson.Appendf(nil, `{"role":"assistant","content":%q}`, text)
}

// instead is what the model sees for a message that is hidden.
func (r *Request) instead(t *body.Turn, text string) []byte {
	m, content := t.Nodes[0], string(strictjson.AppendQuote(nil, []byte(text)))
	return r.Members(m, func(key string, c int) []byte {
		switch {
		case key == "role", key == "tool_call_id", key == "name" && r.Get(m, "role") == "function":
			return r.Doc.Value(c)
		case key == "content":
			return []byte(content)
		}
		return nil
	}, body.Member{Key: "content", Value: content})
}

// Refused implements wire.Request.
func (r *Request) Refused(raw []byte, words []string, calls []flow.RefusedCall) []byte {
	return body.Follow(raw, `"auto"`, func(d *strictjson.Doc) []byte {
		if n, ok := d.Int(d.Find(0, "n")); ok && n != 1 {
			return nil // there were several answers
		}
		content := []byte("null")
		if text := strings.Join(words, "\n"); text != "" {
			content = strictjson.AppendQuote(nil, []byte(text))
		}
		made, results := []byte{'['}, []byte(nil)
		for i, c := range calls {
			id := fmt.Sprintf("call_margay_%d", i)
			made = body.Element(made, strictjson.Appendf(nil, `{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, id, c.Name, c.Arguments))
			results = strictjson.Appendf(results, `,{"role":"tool","tool_call_id":%q,"content":%q}`, id, c.Result)
		}
		return strictjson.Appendf(nil, `{"role":"assistant","content":%s,"tool_calls":%s]}%s`, content, made, results)
	})
}
