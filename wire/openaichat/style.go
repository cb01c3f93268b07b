package openaichat

import (
	"fmt"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/wire"
)

// style is how a stream writes its chunks, learnt from its first.
type style struct{ head []byte }

// styleOf learns the style of a stream from one of its chunks.
func styleOf(data []byte) style {
	var d strictjson.Doc
	s := style{}
	if d.Parse(data, wire.Limits{}) != nil || d.Nodes[0].Kind != strictjson.Object {
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

// content returns the data of a chunk that adds content to a choice.
func (s style) content(choice int, text string) []byte {
	b := append([]byte{'{'}, s.head...)
	b = fmt.Appendf(b, `"choices":[{"index":%d,"delta":{"content":`, choice)
	b = strictjson.AppendQuote(b, []byte(text))
	return append(b, `},"finish_reason":null}]}`...)
}

// finish returns the data of a chunk that ends a choice.
func (s style) finish(choice int, reason string) []byte {
	b := append([]byte{'{'}, s.head...)
	b = fmt.Appendf(b, `"choices":[{"index":%d,"delta":{},"finish_reason":`, choice)
	b = strictjson.AppendQuote(b, []byte(reason))
	return append(b, `}]}`...)
}
