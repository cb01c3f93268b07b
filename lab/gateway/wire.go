package gateway

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
)

// wire is a model API as the fake upstream speaks it.
type wire struct {
	name, path, body string
	lines            int // of an event
	// answer returns an answer's first events, what writes a token's, and its
	// last. Its events have the fields that the real ones have; a token is JSON.
	answer func(id uint64) (begin string, token func(dst []byte, i int, text []byte) []byte, end string)
}

var (
	chat = &wire{
		name: "chat", path: "/chat/completions", lines: 2,
		body: `{"model":"m","stream":true,"messages":[{"role":"system","content":"You help."},{"role":"user","content":"Tell me about committee number %d."}]}`,
		answer: func(id uint64) (string, func([]byte, int, []byte) []byte, string) {
			head := fmt.Sprintf(`data: {"id":"chatcmpl-%016x","object":"chat.completion.chunk","created":1760000000,"model":"scripted-1","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":{`, id)
			return "", func(dst []byte, _ int, text []byte) []byte {
				dst = append(append(append(dst, head...), `"content":`...), text...)
				return append(dst, "},\"logprobs\":null,\"finish_reason\":null}]}\n\n"...)
			}, head + "},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
		},
	}
	messages = &wire{
		name: "messages", path: "/messages", lines: 3,
		body: `{"model":"m","stream":true,"max_tokens":1000,"system":"You help.","messages":[{"role":"user","content":"Tell me about committee number %d."}]}`,
		answer: func(id uint64) (string, func([]byte, int, []byte) []byte, string) {
			return event("message_start", `"message":{"id":"msg_%016x","type":"message","role":"assistant","model":"scripted-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"output_tokens":1}}`, id) +
					event("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`),
				func(dst []byte, _ int, text []byte) []byte {
					dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"...)
					return append(append(dst, text...), "}}\n\n"...)
				},
				event("content_block_stop", `"index":0`) +
					event("message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":400}`) + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
		},
	}
	// The copies of the whole text at the end are left out: the answer is cut
	// short, which no client minds who counts tokens.
	responses = &wire{
		name: "responses", path: "/responses", lines: 3,
		body: `{"model":"m","stream":true,"instructions":"You help.","input":"Tell me about committee number %d."}`,
		answer: func(id uint64) (string, func([]byte, int, []byte) []byte, string) {
			return event("response.created", `"sequence_number":0,"response":{"id":"resp_%016x","object":"response","created_at":1760000000,"status":"in_progress","model":"scripted-1","output":[]}`, id) +
					event("response.output_item.added", `"sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`) +
					event("response.content_part.added", `"sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`),
				func(dst []byte, i int, text []byte) []byte {
					dst = strictjson.Appendf(dst, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":", i+3)
					return fmt.Appendf(append(dst, text...), ",\"logprobs\":[],\"obfuscation\":\"%014x\"}\n\n", rand.Uint64()>>8)
				},
				event("response.incomplete", `"sequence_number":403,"response":{"id":"resp_%016x","object":"response","created_at":1760000000,"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"model":"scripted-1","output":[]}`, id)
		},
	}
)

func event(typ, members string, args ...any) string {
	return fmt.Sprintf("event: "+typ+"\ndata: {\"type\":\""+typ+"\","+members+"}\n\n", args...)
}

func wireOf(path string) *wire {
	for _, w := range []*wire{messages, responses} {
		if strings.HasSuffix(path, w.path) {
			return w
		}
	}
	return chat
}

// tiny is a request whose answer comes whole, and is one sentence.
const tiny = `{"model":"m","messages":[{"role":"user","content":"Is committee %d there?"}]}`

// whole is the answer to it.
func whole(id uint64, text []byte) []byte {
	return fmt.Appendf(nil, `{"id":"chatcmpl-%016x","object":"chat.completion","created":1760000000,"model":"scripted-1","choices":[{"index":0,"message":{"role":"assistant","content":%s,"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21},"system_fingerprint":"fp_44709d6fcb"}`, id, text)
}
