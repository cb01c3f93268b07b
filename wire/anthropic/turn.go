package anthropic

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// turn is a turn with the blocks that it is made of; none stands for all of
// its message.
type turn struct {
	flow.Turn
	message int
	blocks  []int
}

// turns cuts the messages: a tool's result is a turn of its own, also where a
// message brings several of them, or text besides.
func (r *Request) turns() []turn {
	d := &r.Doc
	var out []turn
	for i := range r.messages {
		m := r.messages[i].node
		content := r.content(i)
		if r.messages[i].role == flow.RoleSystem && content == m || d.Nodes[max(content, 0)].Kind != strictjson.Array {
			out = append(out, turn{Turn: flow.Turn{Role: r.messages[i].role, Parts: r.Below(m)}, message: i})
			continue
		}
		role := flow.Role(d.Text(d.Find(m, "role")))
		own := turn{Turn: flow.Turn{Role: role}, message: i}
		var results []turn
		at := -1 // where own stands among the results
		d.Children(content, func(b int) bool {
			if r.kind(b) == "tool_result" {
				id := d.Find(b, "tool_use_id")
				parts := r.Below(b)
				if id >= 0 {
					ids := r.Below(id)
					parts = slices.DeleteFunc(parts, func(p int) bool { return slices.Contains(ids, p) })
				}
				results = append(results, turn{Turn: flow.Turn{Role: flow.RoleTool, Result: d.Text(id), Parts: parts}, message: i, blocks: []int{b}})
				return true
			}
			if at < 0 {
				at = len(results)
			}
			own.blocks = append(own.blocks, b)
			if k := r.kind(b); k == "tool_use" {
				call := flow.TurnCall{ID: d.Text(d.Find(b, "id")), Name: d.Text(d.Find(b, "name")), Parts: r.Below(b)}
				if input := d.Find(b, "input"); input >= 0 {
					call.Arguments = string(d.Value(input))
				}
				own.Calls = append(own.Calls, call)
				return true
			}
			if k := r.kind(b); k == "thinking" || k == "redacted_thinking" {
				return true // it stays and goes with its turn
			}
			own.Kept = own.Kept || r.kind(b) == "compaction" // it sums up what came before
			own.Foreign = own.Foreign || strings.HasSuffix(r.kind(b), "_tool_result")
			own.Parts = append(own.Parts, r.Below(b)...)
			return true
		})
		if at >= 0 || len(results) == 0 {
			results = slices.Insert(results, max(at, 0), own)
		}
		out = append(out, results...)
	}
	return out
}

// content returns the node of a message's content, -1 for none.
func (r *Request) content(i int) int {
	m := r.messages[i].node
	if r.messages[i].role == flow.RoleSystem && m == r.Doc.Find(0, "system") {
		return m
	}
	return r.Doc.Find(m, "content")
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
			kind := r.kind(t)
			out = append(out, flow.OfferedTool{Name: d.Text(d.Find(t, "name")), Parts: r.Below(t), Server: kind != "" && kind != "custom" && !local(kind)})
			return true
		})
	}
	if d.Find(0, serversKey) >= 0 {
		out = append(out, flow.OfferedTool{Name: serversKey, Server: true})
	}
	return out
}

// serversKey names the MCP servers whose tools the server runs: the last of the
// tools.
const serversKey = "mcp_servers"

// local reports whether a tool that the API defines is run by the client.
func local(kind string) bool {
	for _, p := range [...]string{"bash_", "text_editor_", "computer_", "memory_"} {
		if strings.HasPrefix(kind, p) {
			return true
		}
	}
	return false
}

// Withhold implements wire.Conversation.
func (r *Request) Withhold(w *flow.Withheld) []byte {
	d := &r.Doc
	system, messages := d.Find(0, "system"), d.Find(0, "messages")
	tools := len(r.Tools())
	some := tools > len(w.Hidden)
	turns := r.turns()
	var more []wire.Member
	if t := d.Find(0, "thinking"); t < 0 || d.Text(d.Find(t, "type")) == "disabled" {
		more = append(more, wire.Member{Key: "temperature", Value: []byte("0")}) // with thinking it must be 1
	}
	return r.Members(0, func(key string, c int) []byte {
		switch {
		case c == system:
			for i := range turns {
				if turns[i].message != 0 {
					break
				}
				if text, ok := w.Instead[i]; ok {
					return strictjson.AppendQuote(nil, []byte(text))
				}
			}
		case c == messages:
			return r.shown(w, turns)
		case key == "tools":
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
			if len(out) == 1 {
				return nil
			}
			return append(out, ']')
		case key == serversKey && w.Hidden[tools-1]:
			return nil
		case key == "tool_choice":
			if kind := r.kind(c); !some || kind == "tool" {
				return nil // the tool that it names may be hidden
			}
		case key == "temperature" && len(more) > 0:
			return []byte("0")
		}
		return r.Edited(c, w.Edits)
	}, more...)
}

func element(dst, value []byte) []byte {
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	return append(dst, value...)
}

// shown returns the messages that the model sees.
func (r *Request) shown(w *flow.Withheld, turns []turn) []byte {
	d := &r.Doc
	out := []byte{'['}
	for i := 0; i < len(turns); {
		from := i
		whole := true
		for ; i < len(turns) && turns[i].message == turns[from].message; i++ {
			_, hidden := w.Instead[i]
			_, before := w.Before[i]
			whole = whole && !hidden && !w.Without[i] && (!before || i == from)
		}
		m := r.messages[turns[from].message].node
		if text, ok := w.Before[from]; ok {
			out = element(out, append(strictjson.AppendQuote([]byte(`{"role":"assistant","content":[{"type":"text","text":`), []byte(text)), "}]}"...))
		}
		switch {
		case m == d.Find(0, "system"):
		case whole:
			out = element(out, r.Edited(m, w.Edits))
		default:
			if content := r.blocks(w, turns, from, i); len(content) > len("[]") {
				message := append(append([]byte(`{"role":`), d.Value(d.Find(m, "role"))...), `,"content":`...)
				out = element(out, append(append(message, content...), '}'))
			}
		}
	}
	return append(out, ']')
}

// blocks returns the content of a message some of whose turns are withheld.
func (r *Request) blocks(w *flow.Withheld, turns []turn, from, to int) []byte {
	d := &r.Doc
	out := []byte{'['}
	for i := from; i < to; i++ {
		t := &turns[i]
		text, hidden := w.Instead[i]
		quoted := strictjson.AppendQuote(nil, []byte(text))
		switch {
		case w.Without[i]:
		case hidden && t.Result != "":
			b := append(append([]byte(`{"type":"tool_result","tool_use_id":`), d.Value(d.Find(t.blocks[0], "tool_use_id"))...), `,"content":`...)
			out = element(out, append(append(b, quoted...), '}'))
		case hidden:
			out = element(out, append(append([]byte(`{"type":"text","text":`), quoted...), '}'))
		default:
			for _, b := range t.blocks {
				out = element(out, r.Edited(b, w.Edits))
			}
		}
	}
	return append(out, ']')
}
