package openairesponses

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

// turns joins the items of one answer: its reasoning, its texts and its calls are
// withheld together. The nodes of a turn are those of its items.
func (r *Request) turns() []body.Turn {
	d := &r.Doc
	var out []body.Turn
	for _, m := range r.Messages {
		typ := typeOf(d, m.Node)
		if m.Role != flow.RoleAssistant {
			others := r.others(m.Node, m.Role)
			t := body.Turn{Turn: flow.Turn{Role: m.Role, Parts: r.texts(m.Node, others...), Kept: string(typ) == "item_reference"}, Nodes: []int{m.Node}}
			if m.Role == flow.RoleTool {
				t.Result, t.Foreign = r.Get(m.Node, "call_id"), len(others) > 0
				others = nil // they go with the result
			}
			out = append(out, t)
			for _, part := range others {
				out = append(out, r.Strange(t.Message, part))
			}
			continue
		}
		if n := len(out); n == 0 || out[n-1].Role != flow.RoleAssistant {
			out = append(out, body.Turn{Turn: flow.Turn{Role: flow.RoleAssistant}})
		}
		t := &out[len(out)-1]
		t.Nodes = append(t.Nodes, m.Node)
		// It is a sealed summary of what came before.
		t.Kept = t.Kept || string(typ) == "compaction" || string(typ) == "compaction_summary"
		switch {
		case string(typ) == "reasoning": // it goes with its answer
		case isCall(typ) && !byServer(typ):
			t.Calls = append(t.Calls, r.call(m.Node, typ))
		default:
			t.Foreign = t.Foreign || !said.Has(typ) && (len(typ) > 0 || d.Find(m.Node, "role") < 0)
			t.Parts = append(t.Parts, r.texts(m.Node)...)
		}
	}
	return out
}

// Types of items that a model says, and of the parts that a tool and a user
// wrote themselves: users also attach pictures and sound. The parts of what a
// shell printed have none.
var (
	said    = body.Set("message compaction compaction_summary program")
	untyped = body.Words{"": {}}
	told    = body.Set("input_text output_text text")
	spoken  = body.Set("input_text text input_image input_audio")
)

// others are the parts of an item that others than its author wrote, such as
// files and screens, and those that are not known.
func (r *Request) others(item int, role flow.Role) []int {
	if role != flow.RoleTool {
		return r.PartsBut(r.Doc.Find(item, "content"), spoken)
	}
	output := r.Doc.Find(item, "output")
	if output >= 0 && r.Doc.Nodes[output].Kind == strictjson.Object {
		return []int{output}
	}
	return r.PartsBut(output, told, untyped)
}

// byServer reports whether the model's server answers a call itself: its item
// has the tool's result.
func byServer(typ []byte) bool { return answered.Has(typ) }

var answered = body.Set("web_search_call file_search_call code_interpreter_call image_generation_call mcp_call mcp_list_tools tool_search_call")

// call is a call that the client answers. Its name is the item's or, for calls
// without one such as a shell's, the type's.
func (r *Request) call(item int, typ []byte) flow.TurnCall {
	d := &r.Doc
	c := flow.TurnCall{ID: r.Get(item, "call_id"), Name: r.Get(item, "name"), Parts: r.Below(item)}
	if c.Name == "" {
		c.Name = string(bytes.TrimSuffix(typ, []byte("_call")))
	}
	for _, key := range [...]string{"arguments", "input", "action", "actions", "operation"} {
		switch a := d.Find(item, key); {
		case a < 0:
		case d.Nodes[a].Kind == strictjson.String:
			c.Arguments = d.Text(a)
		default:
			c.Arguments = string(d.Value(a))
		}
	}
	return c
}

// texts are the texts of an item, without its ids.
func (r *Request) texts(item int, without ...int) []int {
	return r.Below(item, append(without, r.Doc.Find(item, "id"), r.Doc.Find(item, "call_id"))...)
}

// Turns implements wire.Request.
func (r *Request) Turns() []flow.Turn { return body.Turns(r.turns()) }

// Tools implements wire.Request.
func (r *Request) Tools() []flow.OfferedTool {
	d := &r.Doc
	var out []flow.OfferedTool
	for t := range d.All(d.Find(0, "tools")) {
		typ := r.Get(t, "type")
		tool := flow.OfferedTool{Name: r.Get(t, "name"), Parts: r.All(t)}
		switch typ {
		case "function", "custom":
		case "local_shell", "apply_patch", "computer", "computer_use_preview":
			tool.Name = typ
		case "shell": // it runs where the environment says, here if that says nothing
			at := d.Find(t, "environment")
			tool.Name, tool.Server = typ, at >= 0 && r.Get(at, "type") != "local"
		default:
			tool.Name, tool.Server = typ, true
		}
		out = append(out, tool)
	}
	return out
}

// Withhold implements wire.Request.
func (r *Request) Withhold(w *flow.Withheld) []byte {
	d, e := &r.Doc, r.Edit(w.Edits)
	turns := r.turns()
	r.WithholdInside(e, w, turns, func(text string) []byte { return strictjson.Appendf(nil, `{"type":"input_text","text":%q}`, text) })
	some := len(r.Tools()) > len(w.Hidden)
	return r.Members(0, func(key string, c int) []byte {
		text, hidden := w.Instead[0]
		switch {
		case key == "instructions" && hidden && len(turns) > 0 && r.Messages[0].Node == c:
			return strictjson.AppendQuote(nil, []byte(text))
		case key == "input" && d.Nodes[c].Kind == strictjson.Array:
			said := func(text string) []byte { return asSaid(flow.RoleAssistant, text) }
			return r.Shown(e, w, turns, d.Find(0, "instructions"), said, r.instead)
		case !some && (key == "tools" || key == "tool_choice" || key == "parallel_tool_calls" || key == "max_tool_calls"),
			key == "tool_choice" && d.Nodes[c].Kind == strictjson.Object: // the tool that it names may be hidden
			return nil
		case key == "tools":
			return r.Offered(e, w, c, 0)
		case key == "temperature":
			return []byte("0")
		}
		return e.Value(c)
	})
}

// asSaid is a message item of Margay's.
func asSaid(role flow.Role, text string) []byte {
	return strictjson.Appendf(nil, `{"type":"message","role":%q,"content":%q}`, string(role), text)
}

// instead is what the model sees for a turn that is hidden.
func (r *Request) instead(t *body.Turn, text string) []byte {
	if t.Role != flow.RoleTool {
		return asSaid(t.Role, text)
	}
	return r.Members(t.Nodes[0], func(key string, c int) []byte {
		switch key {
		case "type", "call_id":
			return r.Doc.Value(c)
		case "output":
			return strictjson.AppendQuote(nil, []byte(text))
		}
		return nil
	})
}

// Refused implements wire.Request. Refusals of calls of tools that are not
// functions are messages.
func (r *Request) Refused(raw []byte, texts []string, calls []flow.RefusedCall) []byte {
	e, ok := body.Edit(raw)
	if !ok {
		return nil
	}
	d := e.Doc
	input := d.Find(0, "input")
	if input < 0 {
		return nil
	}
	functions := map[string]bool{}
	for t := range d.All(d.Find(0, "tools")) {
		if string(typeOf(d, t)) == "function" {
			functions[d.Text(d.Find(t, "name"))] = true
		}
	}
	var made, results [][]byte
	if text := strings.Join(texts, "\n"); text != "" {
		made = append(made, asSaid(flow.RoleAssistant, text))
	}
	for i, c := range calls {
		if !functions[c.Name] {
			results = append(results, asSaid(flow.RoleUser, c.Result))
			continue
		}
		id := fmt.Sprintf("call_margay_%d", i)
		made = append(made, strictjson.Appendf(nil, `{"type":"function_call","call_id":%q,"name":%q,"arguments":%q}`, id, c.Name, c.Arguments))
		results = append(results, strictjson.Appendf(nil, `{"type":"function_call_output","call_id":%q,"output":%q}`, id, c.Result))
	}
	more := bytes.Join(append(made, results...), []byte{','})
	switch n := &d.Nodes[input]; {
	case n.Kind == strictjson.String:
		e.Put(input, strictjson.Appendf(nil, "[%s,%s]", asSaid(flow.RoleUser, d.Text(input)), more))
	case n.Kind == strictjson.Array && n.Next > input+1:
		e.Extend(input, more)
	default:
		return nil
	}
	e.Unforced(`"auto"`)
	return e.Bytes()
}
