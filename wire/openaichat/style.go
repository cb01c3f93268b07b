package openaichat

import (
	"fmt"

	"github.com/margaydev/margay/internal/strictjson"
)

// Style is how a stream writes its chunks, learnt from its first.
type Style struct{ head []byte }

// StyleOf learns the style of a stream from one of its chunks.
func StyleOf(data []byte) Style {
	var d strictjson.Doc
	s := Style{}
	if d.Parse(data, Limits{}) != nil || d.Nodes[0].Kind != strictjson.Object {
		return s
	}
	d.Children(0, func(c int) bool {
		switch k := d.Key(c); k {
		case "id", "object", "created", "model", "system_fingerprint":
			s.head = strictjson.AppendQuote(s.head, []byte(k))
			s.head = append(s.head, ':')
			s.head = append(s.head, d.Value(c)...)
			s.head = append(s.head, ',')
		}
		return true
	})
	return s
}

// Content returns the data of a chunk that adds content to a choice.
func (s Style) Content(choice int, text string) []byte {
	b := append([]byte{'{'}, s.head...)
	b = fmt.Appendf(b, `"choices":[{"index":%d,"delta":{"content":`, choice)
	b = strictjson.AppendQuote(b, []byte(text))
	return append(b, `},"finish_reason":null}]}`...)
}

// Finish returns the data of a chunk that ends a choice.
func (s Style) Finish(choice int, reason string) []byte {
	b := append([]byte{'{'}, s.head...)
	b = fmt.Appendf(b, `"choices":[{"index":%d,"delta":{},"finish_reason":`, choice)
	b = strictjson.AppendQuote(b, []byte(reason))
	return append(b, `}]}`...)
}

// ErrorBody returns an error in the API's shape, for whole responses and for
// the data of an event.
func ErrorBody(message, typ, code string) []byte {
	b := []byte(`{"error":{"message":`)
	b = strictjson.AppendQuote(b, []byte(message))
	b = append(b, `,"type":`...)
	b = strictjson.AppendQuote(b, []byte(typ))
	b = append(b, `,"param":null,"code":`...)
	b = strictjson.AppendQuote(b, []byte(code))
	return append(b, `}}`...)
}
