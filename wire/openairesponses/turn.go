package openairesponses

import (
	"bytes"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// turn is a turn with the items that it is made of.
type turn struct {
	flow.Turn
	items []int // among messages
}

// turns puts the items of one answer together: its reasoning, what it says and
// its calls stand and fall as one.
func (r *Request) turns() []turn {
	d := &r.Doc
	var out []turn
	for i := range r.messages {
		m := r.messages[i]
		if m.role != flow.RoleAssistant {
			t := turn{Turn: flow.Turn{Role: m.role, Parts: r.texts(m.node)}, items: []int{i}}
			t.Kept = d.Text(d.Find(m.node, "type")) == "item_reference"
			if m.role == flow.RoleTool {
				t.Result = d.Text(d.Find(m.node, "call_id"))
			}
			out = append(out, t)
			continue
		}
		if n := len(out); n == 0 || out[n-1].Role != flow.RoleAssistant {
			out = append(out, turn{Turn: flow.Turn{Role: flow.RoleAssistant}})
		}
		t := &out[len(out)-1]
		t.items = append(t.items, i)
		typ := d.Bytes(max(d.Find(m.node, "type"), 0))
		// It sums up what came before, sealed.
		t.Kept = t.Kept || string(typ) == "compaction" || string(typ) == "compaction_summary"
		switch {
		case string(typ) == "reasoning": // it goes with its answer
		case isCall(typ) && !byServer(typ):
			t.Calls = append(t.Calls, r.call(m.node, typ))
		case isCall(typ):
			t.Foreign = true
			t.Parts = append(t.Parts, r.texts(m.node)...)
		default:
			t.Parts = append(t.Parts, r.texts(m.node)...)
		}
	}
	return out
}

// byServer reports whether a call is one that the model's server answers
// itself: its item has what a tool told.
func byServer(typ []byte) bool {
	switch string(typ) {
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools", "tool_search_call":
		return true
	}
	return false
}

// call is a call that the client answers. Its name is the item's, or that of
// its type: a shell's command has none.
func (r *Request) call(item int, typ []byte) flow.TurnCall {
	d := &r.Doc
	c := flow.TurnCall{ID: d.Text(d.Find(item, "call_id")), Name: d.Text(d.Find(item, "name")), Parts: r.Below(item)}
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
func (r *Request) texts(item int) []int {
	d := &r.Doc
	var ids []int
	for _, key := range [...]string{"id", "call_id"} {
		ids = append(ids, r.Below(d.Find(item, key))...)
	}
	return slices.DeleteFunc(r.Below(item), func(p int) bool { return slices.Contains(ids, p) })
}

// Turns implements wire.Conversation.
func (r *Request) Turns() []flow.Turn {
	all := r.turns()
	out := make([]flow.Turn, len(all))
	for i := range all {
		out[i] = all[i].Turn
	}
	return out
}

// Tools implements wire.Conversation.
func (r *Request) Tools() []flow.OfferedTool {
	d := &r.Doc
	var out []flow.OfferedTool
	if tools := d.Find(0, "tools"); tools >= 0 {
		d.Children(tools, func(t int) bool {
			typ := d.Text(d.Find(t, "type"))
			tool := flow.OfferedTool{Name: d.Text(d.Find(t, "name")), Parts: r.Below(t)}
			switch typ {
			case "function", "custom":
			case "local_shell", "shell", "apply_patch", "computer", "computer_use_preview":
				tool.Name = typ
			default:
				tool.Name, tool.Server = typ, true
			}
			out = append(out, tool)
			return true
		})
	}
	return out
}

// Withhold implements wire.Conversation.
func (r *Request) Withhold(w *flow.Withheld) []byte {
	d := &r.Doc
	turns := r.turns()
	some := len(r.Tools()) > len(w.Hidden)
	instructions := d.Find(0, "instructions")
	return r.Members(0, func(key string, c int) []byte {
		switch key {
		case "instructions":
			if text, ok := w.Instead[0]; ok && len(turns) > 0 && r.messages[0].node == instructions {
				return strictjson.AppendQuote(nil, []byte(text))
			}
		case "input":
			if d.Nodes[c].Kind == strictjson.Array {
				return r.shown(w, turns)
			}
		case "tools":
			if !some {
				return nil
			}
			out, i := []byte{'['}, 0
			d.Children(c, func(t int) bool {
				if !w.Hidden[i] {
					out = element(out, r.Edited(t, w.Edits))
				}
				i++
				return true
			})
			return append(out, ']')
		case "tool_choice", "parallel_tool_calls", "max_tool_calls":
			if !some || key == "tool_choice" && d.Nodes[c].Kind == strictjson.Object {
				return nil // the tool that it names may be hidden
			}
		case "temperature":
			return []byte("0")
		}
		return r.Edited(c, w.Edits)
	})
}

func element(dst, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(dst, value...)
}

// asSaid is a message item of ours.
func asSaid(role flow.Role, text string) []byte {
	out := strictjson.AppendQuote([]byte(`{"type":"message","role":`), []byte(role))
	return append(strictjson.AppendQuote(append(out, `,"content":`...), []byte(text)), '}')
}

// shown returns the items that the model sees.
func (r *Request) shown(w *flow.Withheld, turns []turn) []byte {
	d := &r.Doc
	instructions := d.Find(0, "instructions")
	out := []byte{'['}
	for i := range turns {
		t := &turns[i]
		if text, ok := w.Before[i]; ok {
			out = element(out, asSaid(flow.RoleAssistant, text))
		}
		first := r.messages[t.items[0]].node
		text, hidden := w.Instead[i]
		switch {
		case first == instructions || w.Without[i]:
		case hidden && t.Role == flow.RoleTool:
			item := r.Members(first, func(key string, c int) []byte {
				switch key {
				case "type", "call_id":
					return d.Value(c)
				case "output":
					return strictjson.AppendQuote(nil, []byte(text))
				}
				return nil
			})
			out = element(out, item)
		case hidden:
			out = element(out, asSaid(t.Role, text))
		default:
			for _, m := range t.items {
				out = element(out, r.Edited(r.messages[m].node, w.Edits))
			}
		}
	}
	return append(out, ']')
}

var _ wire.Conversation = (*Request)(nil)
