package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
)

// written is a stream of the Messages API: each event's data begins with its
// type.
func written(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		typ, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		b.WriteString("event: " + typ + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

const (
	mStart = `{"type":"message_start","message":{"id":"msg_01AbCdEfGhIjKlMn","type":"message","role":"assistant","model":"claude-m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":3,"service_tier":"standard"}}}`
	mPing  = `{"type":"ping"}`
	mStop  = `{"type":"message_stop"}`
)

func bStart(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func bDelta(i int, typ, field, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, i, typ, field, quote(text))
}

func bStop(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func mDelta(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":15}}`, reason)
}

func textBlock(i int, pieces ...string) []string {
	out := []string{bStart(i, `{"type":"text","text":""}`)}
	for _, p := range pieces {
		out = append(out, bDelta(i, "text_delta", "text", p))
	}
	return append(out, bStop(i))
}

func thinkingBlock(i int, pieces ...string) []string {
	out := []string{bStart(i, `{"type":"thinking","thinking":"","signature":""}`)}
	for _, p := range pieces {
		out = append(out, bDelta(i, "thinking_delta", "thinking", p))
	}
	return append(out, bDelta(i, "signature_delta", "signature", strings.Repeat("Eq9+c/", 60)), bStop(i))
}

func callBlock(i int, name string, pieces ...string) []string {
	out := []string{bStart(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, i, name))}
	for _, p := range append([]string{""}, pieces...) {
		out = append(out, bDelta(i, "input_json_delta", "partial_json", p))
	}
	return append(out, bStop(i))
}

// told is a whole stream of blocks.
func told(reason string, blocks ...[]string) []string {
	out := []string{mStart, mPing}
	for _, b := range blocks {
		out = append(out, b...)
	}
	return append(out, mDelta(reason), mStop)
}

func (u *upstream) tells(events ...string) {
	u.answer = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, written(e))
			w.(http.Flusher).Flush()
		}
	}
}

const askMessage = `{"model":"claude-m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}`

func message(t testing.TB, stream string) *testkit.Message {
	t.Helper()
	m, err := testkit.ReadMessage(stream)
	if err != nil {
		t.Fatalf("the stream is invalid: %v\n%s", err, stream)
	}
	return m
}

func TestCleanMessageIsIdentical(t *testing.T) {
	r := newRig(t, nil, random(61, 24))
	events := told(
		"tool_use", thinkingBlock(0, "Let me ", "think ☕"), textBlock(1, "I will ", "look \"it\" up.\n"),
		[]string{
			bStart(2, `{"type":"server_tool_use","id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","name":"web_search","input":{}}`),
			bDelta(2, "input_json_delta", "partial_json", `{"query":`), bDelta(2, "input_json_delta", "partial_json", ` "weather in Oslo"}`), bStop(2),
			bStart(3, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_014hJH82Qum7Td6UV8gDXThB","content":[{"type":"web_search_result","title":"Oslo","url":"https://weather.example/oslo","encrypted_content":"`+strings.Repeat("EvIBCi", 70)+`","page_age":null}]}`), bStop(3),
		},
		callBlock(4, "get_weather", `{"location":`, ` "Oslo`, `"}`), callBlock(5, "get_time"),
		[]string{
			bStart(6, `{"type":"redacted_thinking","data":"`+strings.Repeat("EmwKAh", 50)+`"}`), bStop(6),
			bStart(7, `{"type":"text","text":"","citations":[]}`), bDelta(7, "text_delta", "text", "cited"),
			`{"type":"content_block_delta","index":7,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"the text","document_index":0,"document_title":"T","start_char_index":0,"end_char_index":8}}}`, bStop(7),
			bStart(8, `{"type":"something_new","notes":["a note"]}`), `{"type":"content_block_delta","index":8,"delta":{"type":"new_delta","notes":"more"}}`, bStop(8),
		},
	)
	r.up.tells(events...)
	status, got := r.post(t, "/v1/messages", askMessage, "Anthropic-Version", "2023-06-01", "X-Api-Key", "sk-ant-caller")
	if status != http.StatusOK || got != written(events...) {
		t.Errorf("status %d, the stream changed:\n%s", status, got)
	}
	message(t, got)
}

// A known secret is found wherever it stands, however it is cut.
func TestNoMessageLeaks(t *testing.T) {
	value := random(62, 24)
	r := newRig(t, nil, value)
	for cut := range len(value) + 1 {
		a, b := value[:cut], value[cut:]
		r.up.tells(told("tool_use", textBlock(0, "key: "+a, b+" end"), callBlock(1, "send", `{"k":"`+a, b+`"}`))...)
		_, got := r.post(t, "/v1/messages", askMessage)
		m := message(t, got)
		if strings.Contains(got, value) || m.Blocks[0].Text != "key: [REDACTED:api-key] end" || m.Blocks[1].Input != `{"k":"[REDACTED:api-key]"}` || m.Stop != "tool_use" {
			t.Fatalf("cut at %d: %+v", cut, m)
		}
		r.up.tells(told("end_turn", thinkingBlock(0, "the key is "+a, b+" I think"), textBlock(1, "done"))...)
		_, got = r.post(t, "/v1/messages", askMessage)
		m = message(t, got)
		if strings.Contains(m.Blocks[0].Text, value) || !strings.HasPrefix("the key is ", m.Blocks[0].Text) || m.Stop != "refusal" || len(m.Blocks) != 1 || m.Blocks[0].Signature != "" {
			t.Fatalf("thinking cut at %d: %+v", cut, m)
		}
	}
}
