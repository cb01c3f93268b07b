package openairesponses

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// told is what the client was told so far: what a response that ends early
// has. It is not safe for concurrent use.
type told struct {
	parser eventParser
	next   int    // the number of the next event
	head   []byte // the response as it was last told
	items  map[int]*toldItem
	size   int // bytes kept
}

// toldItem is an item of the output.
type toldItem struct {
	whole []byte         // nil while it is open
	id    []byte         // of an open message
	parts map[int][]byte // its texts so far
}

// maxTold bounds what is kept of a stream. Of one that told more, only the
// response's own members are told again.
const maxTold = 1 << 20

func (t *told) reset(lim wire.Limits) {
	t.parser.reset(lim, false)
	t.next, t.head, t.items, t.size = 0, nil, nil, 0
}

// keep counts bytes that are kept, and reports whether they may be.
func (t *told) keep(n int) bool {
	if t.size += n; t.size > maxTold {
		t.items = nil
		return false
	}
	return true
}

// ahead is how an event begins that tells its type first, as the API's do.
var ahead = []byte(`{"type":"`)

// passes reports whether nothing of an event is kept.
func (t *told) passes(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, ahead)
	if !ok {
		return false
	}
	typ, _, ok := bytes.Cut(rest, []byte{'"'})
	if !ok {
		return false
	}
	switch string(typ) {
	case "response.output_text.delta", "response.output_item.added", "response.output_item.done":
		return false
	case "response.created", "response.in_progress", "response.queued":
		return len(t.head) > 0
	}
	return true
}

// read notes an event that goes out.
func (t *told) read(data []byte) {
	if t.passes(data) {
		t.next++
		return
	}
	p := &t.parser
	c, err := p.parse(data)
	if err != nil {
		return // it was read before
	}
	if t.next++; p.seq >= 0 {
		t.next = p.seq + 1
	}
	switch string(p.kind) {
	case "response.output_text.delta":
		it := t.items[p.item]
		if it == nil || it.parts == nil || len(c.Deltas) != 1 || !t.keep(len(c.Deltas[0].Text)) {
			return
		}
		it.parts[p.part] = append(it.parts[p.part], c.Deltas[0].Text...)
	case "response.created", "response.in_progress", "response.queued":
		if i := p.doc.Find(0, "response"); i >= 0 && p.doc.Nodes[i].Kind == strictjson.Object && len(data) <= maxTold {
			t.head = append(t.head[:0], p.doc.Value(i)...)
		}
	case "response.output_item.added":
		i := p.doc.Find(0, "item")
		if string(p.doc.Bytes(max(p.doc.Find(i, "type"), 0))) != "message" {
			return
		}
		t.put(p.item, &toldItem{id: bytes.Clone(p.doc.Bytes(max(p.doc.Find(i, "id"), 0))), parts: map[int][]byte{}})
	case "response.output_item.done":
		if i := p.doc.Find(0, "item"); i >= 0 && t.keep(len(p.doc.Value(i))) {
			t.put(p.item, &toldItem{whole: bytes.Clone(p.doc.Value(i))})
		}
	}
}

func (t *told) put(item int, it *toldItem) {
	if t.size > maxTold {
		return
	}
	if t.items == nil {
		t.items = map[int]*toldItem{}
	}
	t.items[item] = it
}

// incomplete returns the response as it is where it ends early.
func (t *told) incomplete() []byte {
	output := []byte{'['}
	for _, item := range slices.Sorted(maps.Keys(t.items)) {
		if len(output) > 1 {
			output = append(output, ',')
		}
		output = t.items[item].append(output)
	}
	output = append(output, ']')
	status, why := []byte(`"incomplete"`), []byte(`{"reason":"content_filter"}`)
	var d strictjson.Doc
	if len(t.head) == 0 || d.Parse(t.head, wire.Limits{}) != nil {
		out := []byte(`{"id":"resp_margay","object":"response","created_at":0,"status":"incomplete","error":null,"incomplete_details":`)
		out = append(append(append(out, why...), `,"instructions":null,"metadata":{},"model":"","output":`...), output...)
		return append(out, `,"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null}`...)
	}
	var sp []strictjson.Splice
	var more []byte
	for _, m := range [...]struct {
		key   string
		value []byte
	}{{"status", status}, {"incomplete_details", why}, {"output", output}} {
		if i := d.Find(0, m.key); i >= 0 {
			sp = append(sp, strictjson.Splice{Start: d.Nodes[i].Start, End: d.Nodes[i].End, Text: m.value})
			continue
		}
		more = append(append(append(append(more, ',', '"'), m.key...), '"', ':'), m.value...)
	}
	if d.Nodes[0].Next == 1 {
		more = more[1:] // it had no members
	}
	end := len(t.head) - 1
	sp = append(sp, strictjson.Splice{Start: end, End: end, Text: more})
	return splice(t.head, sp)
}

func (it *toldItem) append(dst []byte) []byte {
	if it.whole != nil {
		return append(dst, it.whole...)
	}
	var content []byte
	for _, n := range slices.Sorted(maps.Keys(it.parts)) {
		if len(content) > 0 {
			content = append(content, ',')
		}
		content = append(content, `{"type":"output_text","annotations":[],"logprobs":[],"text":`...)
		content = append(strictjson.AppendQuote(content, it.parts[n]), '}')
	}
	return appendMessage(dst, it.id, "incomplete", content)
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }
