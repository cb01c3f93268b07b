// Package events reads and edits the events of model APIs' streams. A Reader
// turns one event into a wire.Chunk, knows where each of its texts came from,
// and puts edited texts back there. It keeps a few templates of earlier
// events: most events of a stream repeat one byte for byte around another
// text, and need no parsing.
//
// Each API's package has its own parser around a Reader. It says which member of
// an event is which text.
package events

import (
	"bytes"
	"errors"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
	"github.com/margaydev/margay/wire/body"
)

// Reader reads the events of one stream. It reuses its memory and is not safe
// for concurrent use. The zero Reader is ready.
type Reader struct {
	Limits wire.Limits
	Once   bool // it reads one event, and keeps no template
	Judged bool // deltas have what the server reports about their tokens
	Doc    strictjson.Doc
	Chunk  wire.Chunk // of the event that was read last
	// Pad and Number are the nodes of an event's random padding and of its
	// number; -1 for none.
	Pad, Number int
	// Seq is the number of an event; -1 for none.
	Seq int

	vocabulary *body.Vocabulary
	nodes      []int // by delta: its value, or one of those below
	whole      []int // nodes that are one text each, as they are written
	buf        []byte
	tokens     body.TokenReader
	templates  [Templates]template
	latest     int // the template that fitted last
}

// Nodes of deltas that have no value of their own.
const (
	inKey   = -1 // an object's key
	nowhere = -2 // a Mark
)

// Errors of Texts: an edit that can't be made must not be lost.
var (
	ErrKey   = errors.New("an object's key can't be edited")
	ErrPlace = errors.New("the edit is of a text that the event does not have")
	ErrValue = errors.New("the edited value would be read as another")
	ErrFixed = errors.New("a signed text can't be edited")
)

var done = []byte("[DONE]")

// IsDone reports whether the data of an event ends a stream of OpenAI's. It is
// the only data that is not JSON.
func IsDone(data []byte) bool { return bytes.Equal(bytes.TrimSpace(data), done) }

// AppendDone appends the event that ends such a stream.
func AppendDone(dst []byte) []byte { return sse.Append(dst, nil, done) }

// Start starts an event whose data may not be JSON.
func (r *Reader) Start() {
	c := &r.Chunk
	*c = wire.Chunk{Deltas: c.Deltas[:0], Names: c.Names[:0], Finished: c.Finished[:0], Ended: c.Ended[:0], Choices: c.Choices[:0]}
	r.nodes, r.whole, r.buf, r.Doc.Nodes = r.nodes[:0], r.whole[:0], r.buf[:0], r.Doc.Nodes[:0]
	r.Pad, r.Number, r.Seq = -1, -1, -1
	r.tokens.Reset()
}

// Read reads the data of the event that was started. Errors are of type
// *strictjson.Error. The texts of the chunk may point into data.
func (r *Reader) Read(data []byte, v *body.Vocabulary) error {
	r.vocabulary = v
	return r.Doc.ParseObject(data, r.Limits)
}

// Bytes returns the decoded text of a string.
func (r *Reader) Bytes(node int) []byte {
	if !r.Doc.Nodes[node].Escaped {
		return r.Doc.Bytes(node)
	}
	at := len(r.buf)
	r.buf = r.Doc.AppendBytes(r.buf, node)
	return r.buf[at:]
}

// Joined returns two pieces as one, in the Reader's memory.
func (r *Reader) Joined(a, b []byte) []byte {
	at := len(r.buf)
	r.buf = append(append(r.buf, a...), b...)
	return r.buf[at:]
}

// Name adds an identifier.
func (r *Reader) Name(name []byte) { r.Chunk.Names = append(r.Chunk.Names, name) }

// Padding adds the event's random padding, which is a name that changes.
func (r *Reader) Padding(node int) {
	r.Pad = node
	r.Name(r.Bytes(node))
}

// Add adds a value as a text: a string's content, or anything else as it is
// written.
func (r *Reader) Add(node int, k flow.StreamKey) *flow.Delta {
	if r.Doc.Nodes[node].Kind == strictjson.String {
		return r.place(node, k, r.Bytes(node))
	}
	r.whole = append(r.whole, node)
	return r.place(node, k, r.Doc.Value(node))
}

// Mark makes an event that has nothing of a call's text, such as the one that
// opens it, wait for the call's decision.
func (r *Reader) Mark(k flow.StreamKey) {
	k.Field = flow.FieldToolArguments
	r.place(nowhere, k, nil)
}

func (r *Reader) place(node int, k flow.StreamKey, text []byte) *flow.Delta {
	r.nodes = append(r.nodes, node)
	r.Chunk.Deltas = append(r.Chunk.Deltas, flow.Delta{Key: k, Text: text})
	return &r.Chunk.Deltas[len(r.Chunk.Deltas)-1]
}

// DeltaOf returns the place of the delta that a node is, -1 for none.
func (r *Reader) DeltaOf(node int) int { return slices.Index(r.nodes, node) }

// Strings adds every text below a node with the key that of returns, and the
// names among the other strings. With model, a member "model" is a name.
func (r *Reader) Strings(node int, model bool, of func(node int) flow.StreamKey) {
	d := &r.Doc
	for i := node; i < d.Nodes[node].Next; i++ {
		if r.vocabulary.Repeats != nil && r.vocabulary.Repeats(d, i) {
			i = d.Nodes[i].Next - 1
			continue
		}
		if d.Nodes[i].Kind != strictjson.String {
			continue
		}
		switch r.vocabulary.Class(d, i, model) {
		case body.Text:
			r.Add(i, of(i))
		case body.Name:
			r.Name(body.Content(d, i))
		default:
		}
	}
}

// Keys adds every key that the API does not know as a text. It comes last.
func (r *Reader) Keys() {
	d := &r.Doc
	for i := 0; i < len(d.Nodes); i++ {
		n := &d.Nodes[i]
		if n.KeyEnd-n.KeyStart >= 4 {
			if key := d.KeyBytes(i); r.vocabulary.Foreign(key) {
				r.place(inKey, flow.StreamKey{Choice: -1, Path: "key"}, key)
			}
		}
		if len(r.whole) > 0 && slices.Contains(r.whole, i) {
			i = n.Next - 1 // its keys are part of its text
		}
	}
}

// Tokens reads a list of tokens for a delta.
func (r *Reader) Tokens(list int) []flow.Token { return r.tokens.Read(&r.Doc, list) }

// Editor returns one for the event.
func (r *Reader) Editor() *body.Editor { return &body.Editor{Doc: &r.Doc} }

// Texts puts edited texts, by the places of their deltas, where they came from.
// It calls beside, unless nil, with the node of each.
func (r *Reader) Texts(e *body.Editor, texts map[int][]byte, beside func(node int)) error {
	for i, text := range texts {
		switch {
		case i < 0 || i >= len(r.nodes) || r.nodes[i] == nowhere:
			return ErrPlace
		case r.nodes[i] == inKey:
			return ErrKey
		case r.Chunk.Deltas[i].Fixed:
			return ErrFixed
		case r.Doc.Nodes[r.nodes[i]].Kind != strictjson.String && !body.IsOther(text, r.Limits):
			return ErrValue
		}
		e.PutText(r.nodes[i], text, r.Limits, "")
	}
	for i := range texts {
		if beside != nil {
			beside(r.nodes[i])
		}
	}
	return nil
}

// Replace returns an event with other data.
func Replace(ev *sse.Event, data []byte) *sse.Event {
	return &sse.Event{Raw: sse.Append(nil, ev.Raw, data), Type: ev.Type, ID: ev.ID, Data: data}
}

// Reason returns the text of a reason to finish, without allocation if it is one
// of the usual.
func Reason(b []byte, usual []string) string {
	for _, s := range usual {
		if string(b) == s {
			return s
		}
	}
	return string(b)
}
