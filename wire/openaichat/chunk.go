package openaichat

import (
	"bytes"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// chunkParser reads the chunks of one stream. It reuses its memory and is not
// safe for concurrent use.
type chunkParser struct {
	lim    wire.Limits
	told   bool // deltas tell what the server does about their tokens
	doc    strictjson.Doc
	chunk  wire.Chunk
	nodes  []int // by delta: its value, or one of those below
	values []int // nodes that are taken as one text, as they are written
	pad    int   // the node of the random padding; 0 for none
	text   []byte
	buf    []byte // decoded texts
	probs  bool   // the chunk has logprobs, which change with its text

	tokens    wire.TokenReader
	templates [4]template
	latest    int // the template that fitted last
}

// What stands for the node of a delta that has no value of its own.
const (
	inKey   = -1 // an object's key
	nowhere = -2 // the mark of a tool call that says nothing yet
)

var done = []byte("[DONE]")

// parse reads the data of one event. Errors are of type *strictjson.Error. The
// texts of the chunk may point into data.
func (p *chunkParser) parse(data []byte) (*wire.Chunk, error) {
	if c := p.recall(data); c != nil {
		return c, nil
	}
	c := &p.chunk
	*c = wire.Chunk{Deltas: c.Deltas[:0], Names: c.Names[:0], Finished: c.Finished[:0], Choices: c.Choices[:0]}
	p.nodes, p.values, p.buf, p.pad, p.probs = p.nodes[:0], p.values[:0], p.buf[:0], 0, false
	p.tokens.Reset()
	if bytes.Equal(bytes.TrimSpace(data), done) {
		c.Done = true
		return c, nil
	}
	if err := p.doc.Parse(data, p.lim); err != nil {
		return nil, err
	}
	d := &p.doc
	if d.Nodes[0].Kind != strictjson.Object {
		return nil, &strictjson.Error{Code: strictjson.Syntax, Detail: "a JSON object is expected"}
	}
	for i, end := 1, d.Nodes[0].Next; i < end; i = d.Nodes[i].Next {
		n := &d.Nodes[i]
		switch string(d.KeyBytes(i)) {
		case "choices":
			if n.Kind != strictjson.Array {
				break
			}
			for j := i + 1; j < n.Next; j = d.Nodes[j].Next {
				p.choice(j)
			}
			continue
		case "usage":
			c.Usage = n.Kind == strictjson.Object
		case "error":
			c.Error = n.Kind != strictjson.Null
		case "obfuscation":
			if n.Kind == strictjson.String {
				p.pad = i
				c.Names = append(c.Names, p.bytes(i))
				continue
			}
		}
		p.others(i, -1, flow.StreamKey{Choice: -1})
	}
	p.keys()
	p.learn(data)
	return c, nil
}

// bytes returns the decoded text of a string.
func (p *chunkParser) bytes(node int) []byte {
	if !p.doc.Nodes[node].Escaped {
		return p.doc.Bytes(node)
	}
	at := len(p.buf)
	p.buf = p.doc.AppendBytes(p.buf, node)
	return p.buf[at:]
}

// keys takes every key that the API does not know as text.
func (p *chunkParser) keys() {
	d := &p.doc
	for i := 0; i < len(d.Nodes); i++ {
		n := &d.Nodes[i]
		if n.KeyEnd-n.KeyStart >= 4 {
			if key := d.KeyBytes(i); len(key) >= 4 && !knownKey(key) {
				p.place(inKey, flow.StreamKey{Choice: -1, Path: "key"}, key)
			}
		}
		if slices.Contains(p.values, i) {
			i = n.Next - 1 // its keys are part of its text
		}
	}
}

func (p *chunkParser) choice(i int) {
	d, c := &p.doc, &p.chunk
	index, ok := d.Int(d.Find(i, "index"))
	if !ok {
		index = d.Nodes[i].Index
	}
	c.Choices = append(c.Choices, index)
	if d.Nodes[i].Kind != strictjson.Object {
		p.others(i, -1, flow.StreamKey{Choice: index})
		return
	}
	logprobs, first := -1, len(c.Deltas)
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		switch string(d.KeyBytes(j)) {
		case "delta", "message":
			if n.Kind == strictjson.Object {
				p.delta(j, index)
				continue
			}
		case "logprobs":
			// They repeat the text, and go out or not together with it.
			logprobs = j
			continue
		case telemetryKey:
			c.Telemetry, p.probs = true, true // no template: it changes with each
			continue
		case "finish_reason":
			if n.Kind == strictjson.String {
				c.Finished = append(c.Finished, wire.Finished{Choice: index, Reason: reason(p.bytes(j))})
			}
		case "text":
			if n.Kind == strictjson.String {
				p.add(j, flow.StreamKey{Choice: index, Field: flow.FieldContent})
				continue
			}
		}
		p.others(j, i, flow.StreamKey{Choice: index})
	}
	if logprobs >= 0 && d.Nodes[logprobs].Kind != strictjson.Null {
		p.probs = true
		p.text = p.text[:0]
		for _, delta := range c.Deltas[first:] {
			if delta.Key.Field == flow.FieldContent || delta.Key.Field == flow.FieldRefusal {
				p.text = append(p.text, delta.Text...)
			}
		}
		c.Logprobs = true
		if !wire.RepeatsText(d, logprobs, p.text) {
			c.Stray = true
		} else if p.told {
			p.tell(i, logprobs, first)
		}
	}
}

// tell gives the content of a choice what its logprobs and the telemetry tell.
func (p *chunkParser) tell(choice, logprobs, first int) {
	for k := first; k < len(p.chunk.Deltas); k++ {
		delta := &p.chunk.Deltas[k]
		if delta.Key.Field != flow.FieldContent || len(delta.Text) == 0 {
			continue
		}
		delta.Tokens = p.tokens.Read(&p.doc, p.doc.Find(logprobs, "content"))
		if t := p.doc.Find(choice, telemetryKey); t >= 0 && p.doc.Nodes[t].Kind == strictjson.Object {
			delta.Telemetry = p.doc.Value(t)
		}
		return
	}
}

// telemetryKey is the extension's member (docs/format/telemetry.md).
const telemetryKey = "margay_telemetry"

// reason avoids an allocation for the reasons that the API has.
func reason(b []byte) string {
	for _, s := range [...]string{"stop", "tool_calls", "length", "content_filter", "function_call"} {
		if string(b) == s {
			return s
		}
	}
	return string(b)
}

func (p *chunkParser) delta(i, choice int) {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		key := d.KeyBytes(j)
		k := flow.StreamKey{Choice: choice}
		switch string(key) {
		case "role":
			if n.Kind == strictjson.String && isWord(d.Raw[n.Start+1:n.End-1]) {
				continue
			}
		case "tool_calls":
			if n.Kind == strictjson.Array {
				for t := j + 1; t < n.Next; t = d.Nodes[t].Next {
					p.call(t, choice)
				}
				continue
			}
		case "function_call":
			if n.Kind == strictjson.Object {
				if k.Item = -1; !p.function(j, k) {
					p.mark(k)
				}
				continue
			}
		}
		if f, ok := fieldOf(string(key)); ok && n.Kind == strictjson.String {
			k.Field = f
			p.add(j, k)
			continue
		}
		p.others(j, i, k)
	}
}

func (p *chunkParser) call(i, choice int) {
	d := &p.doc
	k := flow.StreamKey{Choice: choice}
	if n, ok := d.Int(d.Find(i, "index")); ok {
		k.Item = n
	} else {
		k.Item = d.Nodes[i].Index
	}
	if d.Nodes[i].Kind != strictjson.Object {
		p.others(i, -1, k)
		return
	}
	said := false
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		if (d.KeyIs(j, "function") || d.KeyIs(j, "custom")) && d.Nodes[j].Kind == strictjson.Object {
			said = p.function(j, k) || said
			continue
		}
		p.others(j, i, k)
	}
	if !said {
		p.mark(k)
	}
}

// mark makes a chunk that says nothing of a call, such as one that opens it,
// wait for the call's decision.
func (p *chunkParser) mark(k flow.StreamKey) {
	k.Field = flow.FieldToolArguments
	p.place(nowhere, k, nil)
}

// function takes what a call says: the name of its tool, and its arguments,
// which some servers write as JSON and not as a string of it. It reports
// whether there was any of them.
func (p *chunkParser) function(i int, k flow.StreamKey) (said bool) {
	d := &p.doc
	for j := i + 1; j < d.Nodes[i].Next; j = d.Nodes[j].Next {
		n := &d.Nodes[j]
		f := k
		switch {
		case (d.KeyIs(j, "arguments") || d.KeyIs(j, "input")) && n.Kind != strictjson.Null:
			f.Field = flow.FieldToolArguments
		case d.KeyIs(j, "name") && n.Kind == strictjson.String:
			f.Field = flow.FieldToolName
		default:
			p.others(j, i, k)
			continue
		}
		p.add(j, f)
		said = true
	}
	return said
}

// others takes every string below node i as text of its own place.
func (p *chunkParser) others(i, base int, k flow.StreamKey) {
	d := &p.doc
	for j := i; j < d.Nodes[i].Next; j++ {
		n := &d.Nodes[j]
		if n.Kind != strictjson.String {
			continue
		}
		key, raw := d.KeyBytes(j), d.Raw[n.Start+1:n.End-1]
		if structural(key, raw) {
			continue
		}
		if isID(key, raw) || k.Choice < 0 && i == j && string(key) == "model" && wire.IsModel(raw) {
			p.chunk.Names = append(p.chunk.Names, raw)
			continue
		}
		o := k
		o.Field = flow.FieldOther
		o.Path = d.Path(j)
		if base >= 0 {
			o.Path = strings.TrimPrefix(o.Path, d.Path(base)+".")
		}
		p.add(j, o)
	}
}

// add takes a value as a text: a string's content, anything else as it is
// written.
func (p *chunkParser) add(node int, k flow.StreamKey) {
	if p.doc.Nodes[node].Kind == strictjson.String {
		p.place(node, k, p.bytes(node))
		return
	}
	p.values = append(p.values, node)
	p.place(node, k, p.doc.Value(node))
}

func (p *chunkParser) place(node int, k flow.StreamKey, text []byte) {
	p.chunk.Deltas = append(p.chunk.Deltas, flow.Delta{Key: k, Text: text})
	p.nodes = append(p.nodes, node)
}
