package openaichat

import (
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
	"github.com/margaydev/margay/wire/events"
)

// chunkParser reads the chunks of one stream. It reuses its memory and is not
// safe for concurrent use.
type chunkParser struct {
	events.Reader
	text []byte
}

// parse reads the data of one event. Errors are of type *strictjson.Error. The
// texts of the chunk may point into data.
func (p *chunkParser) parse(data []byte) (*wire.Chunk, error) {
	if c, _ := p.Recall(nil, data); c != nil {
		return c, nil
	}
	p.Start()
	c, d := &p.Chunk, &p.Doc
	if c.Done = events.IsDone(data); c.Done {
		return c, nil
	}
	if err := p.Read(data, vocabulary); err != nil {
		return nil, err
	}
	for i := range d.All(0) {
		kind, key := d.Nodes[i].Kind, d.KeyBytes(i)
		switch {
		case string(key) == "choices" && kind == strictjson.Array:
			for j := range d.All(i) {
				p.choice(j)
			}
			continue
		case string(key) == "obfuscation" && kind == strictjson.String:
			p.Padding(i)
			continue
		case string(key) == "usage":
			c.Usage = kind == strictjson.Object
		case string(key) == "error":
			c.Error = kind != strictjson.Null
		}
		p.others(i, -1, flow.StreamKey{Choice: -1})
	}
	p.Keys()
	p.Learn(nil, data, false)
	return c, nil
}

func (p *chunkParser) choice(i int) {
	d, c := &p.Doc, &p.Chunk
	index := indexOf(d, i)
	c.Choices = append(c.Choices, index)
	if d.Nodes[i].Kind != strictjson.Object {
		p.others(i, -1, flow.StreamKey{Choice: index})
		return
	}
	logprobs, first := -1, len(c.Deltas)
	for j := range d.All(i) {
		key, text := d.KeyBytes(j), d.Nodes[j].Kind == strictjson.String
		switch {
		case (string(key) == "delta" || string(key) == "message") && d.Nodes[j].Kind == strictjson.Object:
			p.delta(j, index)
			continue
		case string(key) == "logprobs":
			// They repeat the text, and are released with it.
			logprobs = j
			continue
		case string(key) == telemetryKey:
			c.Telemetry = true
			continue
		case string(key) == "text" && text:
			p.Add(j, flow.StreamKey{Choice: index, Field: flow.FieldContent})
			continue
		case string(key) == "finish_reason" && text:
			c.Finished = append(c.Finished, wire.Finished{Choice: index, Reason: events.Reason(p.Bytes(j), reasons)})
		}
		p.others(j, i, flow.StreamKey{Choice: index})
	}
	if logprobs >= 0 && d.Nodes[logprobs].Kind != strictjson.Null {
		p.logprobs(i, logprobs, first)
	}
}

// reasons are those of the API to finish.
var reasons = []string{"stop", "tool_calls", "length", "content_filter", "function_call"}

// logprobs checks that the logprobs of a choice repeat its text, and adds what
// they and the telemetry report to its content.
func (p *chunkParser) logprobs(choice, logprobs, first int) {
	d, c := &p.Doc, &p.Chunk
	c.Logprobs = true
	p.text = p.text[:0]
	content := -1
	for k := first; k < len(c.Deltas); k++ {
		delta := &c.Deltas[k]
		if delta.Key.Field == flow.FieldContent || delta.Key.Field == flow.FieldRefusal {
			p.text = append(p.text, delta.Text...)
		}
		if content < 0 && delta.Key.Field == flow.FieldContent && len(delta.Text) > 0 {
			content = k
		}
	}
	if !body.RepeatsText(d, logprobs, p.text) {
		c.Stray = true
		return
	}
	if !p.Judged || content < 0 {
		return
	}
	c.Deltas[content].Tokens = p.Tokens(d.Find(logprobs, "content"))
	if t := d.Find(choice, telemetryKey); t >= 0 && d.Nodes[t].Kind == strictjson.Object {
		c.Deltas[content].Telemetry = d.Value(t)
	}
}

func (p *chunkParser) delta(i, choice int) {
	d := &p.Doc
	for j := range d.All(i) {
		kind, key := d.Nodes[j].Kind, d.KeyBytes(j)
		k := flow.StreamKey{Choice: choice}
		field, ok := vocabulary.Field(key)
		switch {
		case string(key) == "role" && kind == strictjson.String && vocabulary.IsWord(body.Content(d, j)):
		case string(key) == "tool_calls" && kind == strictjson.Array:
			for t := range d.All(j) {
				p.call(t, choice)
			}
		case string(key) == "function_call" && kind == strictjson.Object:
			if k.Item = -1; !p.function(j, k) {
				p.Mark(k)
			}
		case ok && kind == strictjson.String:
			k.Field = field
			p.Add(j, k)
		default:
			p.others(j, i, k)
		}
	}
}

func (p *chunkParser) call(i, choice int) {
	d := &p.Doc
	k := flow.StreamKey{Choice: choice, Item: indexOf(d, i)}
	if d.Nodes[i].Kind != strictjson.Object {
		p.others(i, -1, k)
		return
	}
	found := false
	for j := range d.All(i) {
		if (d.KeyIs(j, "function") || d.KeyIs(j, "custom")) && d.Nodes[j].Kind == strictjson.Object {
			found = p.function(j, k) || found
			continue
		}
		p.others(j, i, k)
	}
	if !found {
		p.Mark(k)
	}
}

// function takes the name of a call's tool and its arguments, which some servers
// write as JSON and not as JSON in a string. It reports whether it found any of
// them.
func (p *chunkParser) function(i int, k flow.StreamKey) (found bool) {
	d := &p.Doc
	for j := range d.All(i) {
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
		p.Add(j, f)
		found = true
	}
	return found
}

// others takes every string below node i as text of its own place.
func (p *chunkParser) others(i, base int, k flow.StreamKey) {
	d := &p.Doc
	p.Strings(i, k.Choice < 0 && d.Nodes[i].Kind == strictjson.String, func(j int) flow.StreamKey {
		o := k
		o.Field, o.Path = flow.FieldOther, d.Path(j)
		if base >= 0 {
			o.Path = strings.TrimPrefix(o.Path, d.Path(base)+".")
		}
		return o
	})
}
