package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire/body"
)

// turns splits the messages: a tool's result is a turn of its own, even if its
// message has several results, or text as well. The nodes of a turn are its
// blocks.
func (r *Request) turns() []body.Turn {
	d := &r.Doc
	var out []body.Turn
	for i := range r.Messages {
		m := r.Messages[i].Node
		content := r.content(i)
		if content == m || d.Nodes[max(content, 0)].Kind != strictjson.Array {
			out = append(out, body.Turn{Turn: flow.Turn{Role: r.Messages[i].Role, Parts: r.Below(m)}, Message: i})
			continue
		}
		own := body.Turn{Turn: flow.Turn{Role: r.author(m)}, Message: i}
		var results []body.Turn
		at := -1 // the place of own among the results
		for b := range d.All(content) {
			switch kind := r.kind(b); {
			case kind == "tool_result":
				id := d.Find(b, "tool_use_id")
				nested := r.PartsBut(d.Find(b, "content"), told)
				result := flow.Turn{Role: flow.RoleTool, Result: d.Text(id), Parts: r.Below(b, append(nested, id)...), Foreign: len(nested) > 0}
				results = append(results, body.Turn{Turn: result, Message: i, Nodes: []int{b}})
				continue
			case r.strange(m, kind):
				results = append(results, r.Strange(i, b))
				continue
			}
			if at < 0 {
				at = len(results)
			}
			own.Nodes = append(own.Nodes, b)
			r.say(&own.Turn, b)
		}
		if at >= 0 || len(results) == 0 {
			results = slices.Insert(results, max(at, 0), own)
		}
		out = append(out, results...)
	}
	return out
}

// told are the types of the blocks of a result that the tool itself wrote, and
// spoken those of the blocks that a message's author wrote: users also attach
// pictures.
var (
	told   = body.Set("text tool_reference")
	spoken = body.Set("text image")
)

// strange reports whether others than the author of a user's message wrote a
// block of it. The blocks that the API has for that are documents, search results,
// uploads and results of the server's tools; so is any that is not known.
func (r *Request) strange(message int, kind string) bool {
	return r.author(message) != flow.RoleAssistant && !spoken.Has([]byte(kind))
}

// say adds a block to a turn.
func (r *Request) say(t *flow.Turn, b int) {
	switch kind := r.kind(b); kind {
	case "tool_use":
		call := flow.TurnCall{ID: r.Get(b, "id"), Name: r.Get(b, "name"), Parts: r.Below(b)}
		if input := r.Doc.Find(b, "input"); input >= 0 {
			call.Arguments = string(r.Doc.Value(input))
		}
		t.Calls = append(t.Calls, call)
	case "thinking", "redacted_thinking": // it stays and goes with its turn
	default:
		t.Kept = t.Kept || kind == "compaction" // it sums up what came before
		t.Foreign = t.Foreign || kind != "text" && kind != "compaction" && !strings.HasSuffix(kind, "tool_use")
		t.Parts = append(t.Parts, r.Below(b)...)
	}
}

// content returns the node of a message's content, -1 for none. The content of
// the system text is the text itself.
func (r *Request) content(i int) int {
	m := r.Messages[i].Node
	if m == r.Doc.Find(0, "system") {
		return m
	}
	return r.Doc.Find(m, "content")
}

// Turns implements wire.Request.
func (r *Request) Turns() []flow.Turn { return body.Turns(r.turns()) }

// closed are the members that bring no content of the server's.
var closed = body.Set("model messages system tools tool_choice max_tokens temperature top_p top_k stop_sequences stream metadata thinking service_tier output_config")

// Closed implements wire.Request.
func (r *Request) Closed() bool { return r.Only(closed) }

// Tools implements wire.Request.
func (r *Request) Tools() []flow.OfferedTool {
	d := &r.Doc
	var out []flow.OfferedTool
	for t := range d.All(d.Find(0, "tools")) {
		kind := r.kind(t)
		out = append(out, flow.OfferedTool{Name: r.Get(t, "name"), Parts: r.All(t), Server: kind != "" && kind != "custom" && !local(kind)})
	}
	if d.Find(0, serversKey) >= 0 {
		out = append(out, flow.OfferedTool{Name: serversKey, Server: true})
	}
	return out
}

// serversKey names the MCP servers whose tools the server runs: the last of the
// tools.
const serversKey = "mcp_servers"

// local reports whether the client runs a tool that the API defines.
func local(kind string) bool {
	return slices.ContainsFunc([]string{"bash_", "text_editor_", "computer_", "memory_"}, func(p string) bool { return strings.HasPrefix(kind, p) })
}

// thinks reports whether a request asks for thinking.
func thinks(d *strictjson.Doc) bool {
	t := d.Find(0, "thinking")
	return t >= 0 && d.Text(d.Find(t, "type")) != "disabled"
}

// Withhold implements wire.Request.
func (r *Request) Withhold(w *flow.Withheld) []byte {
	d, e := &r.Doc, r.Edit(w.Edits)
	tools := len(r.Tools())
	some := tools > len(w.Hidden)
	turns := r.turns()
	var more []body.Member
	if !thinks(d) {
		more = append(more, body.Member{Key: "temperature", Value: "0"}) // with thinking it must be 1
	}
	return r.Members(0, func(key string, c int) []byte {
		switch {
		case key == "system":
			for i := 0; i < len(turns) && turns[i].Message == 0; i++ {
				if text, ok := w.Instead[i]; ok {
					return strictjson.AppendQuote(nil, []byte(text))
				}
			}
		case key == "messages":
			return r.shown(e, w, turns)
		case !some && (key == "tools" || key == "tool_choice"), key == serversKey && w.Hidden[tools-1],
			key == "tool_choice" && r.kind(c) == "tool": // the tool that it names may be hidden
			return nil
		case key == "tools":
			return r.Offered(e, w, c, 0)
		case key == "temperature" && len(more) > 0:
			return []byte("0")
		}
		return e.Value(c)
	}, more...)
}

// shown returns the messages that the model sees.
func (r *Request) shown(e *body.Editor, w *flow.Withheld, turns []body.Turn) []byte {
	d := &r.Doc
	out := []byte{'['}
	for i := 0; i < len(turns); {
		from := i
		whole := true
		for ; i < len(turns) && turns[i].Message == turns[from].Message; i++ {
			_, hidden := w.Instead[i]
			_, before := w.Before[i]
			whole = whole && !hidden && !w.Without[i] && (!before || i == from)
		}
		m := r.Messages[turns[from].Message].Node
		if text, ok := w.Before[from]; ok {
			out = body.Element(out, strictjson.Appendf(nil, `{"role":"assistant","content":[%s]}`, textBlock(text)))
		}
		switch {
		case m == d.Find(0, "system"):
		case whole:
			out = body.Element(out, e.Value(m))
		default:
			if content := r.blocks(e, w, turns, from, i); len(content) > len("[]") {
				role := []byte(`""`)
				if at := d.Find(m, "role"); at >= 0 {
					role = d.Value(at)
				}
				out = body.Element(out, strictjson.Appendf(nil, `{"role":%s,"content":%s}`, role, content))
			}
		}
	}
	return append(out, ']')
}

// blocks returns the content of a message some of whose turns are withheld.
func (r *Request) blocks(e *body.Editor, w *flow.Withheld, turns []body.Turn, from, to int) []byte {
	out := []byte{'['}
	for i := from; i < to; i++ {
		t := &turns[i]
		text, hidden := w.Instead[i]
		switch {
		case w.Without[i]:
		case hidden && t.Result != "":
			id := r.Doc.Value(r.Doc.Find(t.Nodes[0], "tool_use_id"))
			out = body.Element(out, strictjson.Appendf(nil, `{"type":"tool_result","tool_use_id":%s,"content":%q}`, id, text))
		case hidden:
			out = body.Element(out, textBlock(text))
		default:
			for _, b := range t.Nodes {
				out = body.Element(out, e.Value(b))
			}
		}
	}
	return append(out, ']')
}

// Refused implements wire.Request. A turn with thinking continues only with the
// thinking as the server signed it, so the model gets the refusals as text there.
func (r *Request) Refused(raw []byte, texts []string, calls []flow.RefusedCall) []byte {
	return body.Follow(raw, `{"type":"auto"}`, func(d *strictjson.Doc) []byte {
		made, results := []byte{'['}, []byte{'['}
		if text := strings.TrimSpace(strings.Join(texts, "\n")); text != "" {
			made = body.Element(made, textBlock(text))
		}
		words := thinks(d)
		for i, c := range calls {
			if words {
				results = body.Element(results, textBlock(c.Result))
				continue
			}
			id := fmt.Sprintf("toolu_margay_%d", i)
			made = body.Element(made, strictjson.Appendf(nil, `{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, c.Name, asValue(c.Arguments)))
			results = body.Element(results, strictjson.Appendf(nil, `{"type":"tool_result","tool_use_id":%q,"is_error":true,"content":%q}`, id, c.Result))
		}
		answer := strictjson.Appendf(nil, `{"role":"user","content":%s]}`, results)
		if words {
			return answer
		}
		return strictjson.Appendf(nil, `{"role":"assistant","content":%s]},%s`, made, answer)
	})
}
