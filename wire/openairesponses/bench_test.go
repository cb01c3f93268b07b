package openairesponses

import (
	"fmt"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/wire"
)

// BenchmarkStream is what a token costs between an event and what goes out,
// besides its decision.
func BenchmarkStream(b *testing.B) {
	for name, format := range map[string]string{
		"text":      `{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_68f0a1b2c3d4819a9f0e1d2c3b4a5968","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"%s"}`,
		"arguments": `{"type":"response.function_call_arguments.delta","sequence_number":%d,"item_id":"fc_68f0a1b2c3d4819a9f0e1d2c3b4a5968","output_index":1,"delta":"{\"a\":","obfuscation":"%s"}`,
	} {
		b.Run(name, func(b *testing.B) {
			var events []*sse.Event
			for i := range 256 {
				data := fmt.Appendf(nil, format, i+4, "Xy7bPq2mKt"[:i%10])
				typ := "response.output_text.delta"
				if name != "text" {
					typ = "response.function_call_arguments.delta"
				}
				raw := append(append([]byte("event: "+typ+"\ndata: "), data...), "\n\n"...)
				events = append(events, &sse.Event{Raw: raw, Type: []byte(typ), Data: data})
			}
			s := &Stream{}
			s.Reset(wire.Limits{}, false)
			var out []byte
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				ev := events[i%len(events)]
				i++
				c, err := s.Parse(ev)
				if err != nil || len(c.Deltas) != 1 {
					b.Fatal(err)
				}
				if out, err = s.Append(out[:0], &flow.Outgoing{Raw: ev.Raw, Data: ev.Data}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
