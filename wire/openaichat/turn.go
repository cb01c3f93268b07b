package openaichat

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// legacy is the id of a function_call, which has none.
const legacy = "function_call"

// Turns implements wire.Conversation: a turn is a message.
func (r *Request) Turns() []flow.Turn {
	d := &r.Doc
	out := make([]flow.Turn, len(r.messages))
	for i, m := range r.messages {
		t := &out[i]
		t.Role = r.MessageRole(i)
		t.Result = d.Text(d.Find(m, "tool_call_id"))
		if t.Role == "function" {
			t.Role, t.Result = flow.RoleTool, legacy
		}
		id := r.Below(d.Find(m, "tool_call_id"))
		t.Parts = slices.DeleteFunc(r.Below(m), func(p int) bool {
			return slices.Contains(id, p) || t.Role == flow.RoleAssistant && r.Part(p).Field == flow.FieldReasoning
		})
		r.calls(m, func(id string, fn, node int) {
			call := flow.TurnCall{ID: id, Name: d.Text(d.Find(fn, "name")), Parts: r.Below(node)}
			for _, key := range [...]string{"arguments", "input"} {
				if args := d.Find(fn, key); args >= 0 {
					call.Arguments = d.Text(args)
				}
			}
			t.Parts = slices.DeleteFunc(t.Parts, func(id int) bool { return slices.Contains(call.Parts, id) })
			t.Calls = append(t.Calls, call)
		})
	}
	return out
}

// calls calls f for each call of a message: its id, its function, and the node
// of all of it.
func (r *Request) calls(msg int, f func(id string, fn, node int)) {
	d := &r.Doc
	if tc := d.Find(msg, "tool_calls"); tc >= 0 {
		d.Children(tc, func(c int) bool {
			for _, kind := range [...]string{"function", "custom"} {
				if fn := d.Find(c, kind); fn >= 0 {
					f(d.Text(d.Find(c, "id")), fn, c)
				}
			}
			return true
		})
	}
	if fc := d.Find(msg, "function_call"); fc >= 0 && d.Nodes[fc].Kind == strictjson.Object {
		f(legacy, fc, fc)
	}
}

// Tools implements wire.Conversation.
func (r *Request) Tools() []flow.OfferedTool {
	d := &r.Doc
	var out []flow.OfferedTool
	if tools := d.Find(0, "tools"); tools >= 0 {
		d.Children(tools, func(t int) bool {
			tool := flow.OfferedTool{Parts: r.Below(t)}
			for _, kind := range [...]string{"function", "custom"} {
				if fn := d.Find(t, kind); fn >= 0 {
					tool.Name = d.Text(d.Find(fn, "name"))
				}
			}
			out = append(out, tool)
			return true
		})
	}
	if fns := d.Find(0, functionsKey); fns >= 0 {
		d.Children(fns, func(f int) bool {
			out = append(out, flow.OfferedTool{Name: d.Text(d.Find(f, "name")), Parts: r.Below(f)})
			return true
		})
	}
	if d.Find(0, searchKey) >= 0 {
		out = append(out, flow.OfferedTool{Name: searchKey, Server: true})
	}
	return out
}

// functionsKey has the tools as older clients write them, after those of tools.
const functionsKey = "functions"

// searchKey asks for a search that the server makes: the last of the tools.
const searchKey = "web_search_options"

// Withhold implements wire.Conversation.
func (r *Request) Withhold(w *flow.Withheld) []byte {
	d := &r.Doc
	tools := r.Tools()
	some := len(tools) > len(w.Hidden)
	return r.Members(0, func(key string, c int) []byte {
		switch key {
		case "messages":
			return r.shown(w)
		case "tools", functionsKey:
			before := 0
			if key == functionsKey {
				before = count(d, d.Find(0, "tools"))
			}
			offered := list(d, c, func(i, node int) []byte {
				if w.Hidden[before+i] {
					return nil
				}
				return r.Edited(node, w.Edits)
			})
			if len(offered) == len("[]") {
				return nil
			}
			return offered
		case "tool_choice", "parallel_tool_calls", "function_call":
			if !some || key != "parallel_tool_calls" && d.Nodes[c].Kind == strictjson.Object {
				return nil // the tool that it names may be hidden
			}
		case searchKey:
			if w.Hidden[len(tools)-1] {
				return nil
			}
		case "temperature":
			return []byte("0")
		case "n", "best_of":
			return []byte("1")
		}
		return r.Edited(c, w.Edits)
	}, wire.Member{Key: "temperature", Value: []byte("0")}, wire.Member{Key: "seed", Value: []byte("0")})
}

// shown returns the messages that the model sees.
func (r *Request) shown(w *flow.Withheld) []byte {
	d := &r.Doc
	return list(d, d.Find(0, "messages"), func(i, m int) []byte {
		var out []byte
		if text, ok := w.Before[i]; ok {
			out = append(strictjson.AppendQuote([]byte(`{"role":"assistant","content":`), []byte(text)), '}')
		}
		switch shown := r.turn(i, m, w); {
		case shown == nil:
			return out
		case out == nil:
			return shown
		default:
			return append(append(out, ','), shown...)
		}
	})
}

// turn returns a message as the model sees it, nil for not at all.
func (r *Request) turn(i, m int, w *flow.Withheld) []byte {
	d := &r.Doc
	text, hidden := w.Instead[i]
	switch {
	case w.Without[i]:
		return nil
	case !hidden:
		return r.Edited(m, w.Edits)
	}
	quoted := strictjson.AppendQuote(nil, []byte(text))
	role := flow.Role(d.Text(d.Find(m, "role")))
	return r.Members(m, func(key string, c int) []byte {
		switch key {
		case "role", "tool_call_id":
			return d.Value(c)
		case "name":
			if role == "function" {
				return d.Value(c)
			}
		case "content":
			return quoted
		}
		return nil
	}, wire.Member{Key: "content", Value: quoted})
}

func count(d *strictjson.Doc, node int) (n int) {
	if node >= 0 {
		d.Children(node, func(int) bool { n++; return true })
	}
	return n
}

// list writes an array anew, without the elements for which of returns nil.
func list(d *strictjson.Doc, node int, of func(i, child int) []byte) []byte {
	out, i := []byte{'['}, 0
	d.Children(node, func(c int) bool {
		if v := of(i, c); v != nil {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, v...)
		}
		i++
		return true
	})
	return append(out, ']')
}
