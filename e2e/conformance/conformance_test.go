package conformance_test

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
	"github.com/margaydev/margay/e2e/conformance"
)

// The suite's matrix, read by the official client libraries.
func TestConformance(t *testing.T) {
	for _, api := range []*connectortest.API{connectortest.Chat(), connectortest.Responses(), connectortest.Messages()} {
		t.Run(api.Name, func(t *testing.T) {
			connectortest.Run(t, connectortest.Connector{Open: gatewaytest.Open, Valid: conformance.Valid, Thin: 3}, api)
		})
	}
}

// The libraries notice what is wrong.
func TestValidCanFail(t *testing.T) {
	chat, responses, messages := connectortest.Chat(), connectortest.Responses(), connectortest.Messages()
	const delta = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"i\",\"output_index\":0,\"content_index\":0,\"delta\":\"a\",\"logprobs\":[]}\n\n"
	const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
	for name, c := range map[string]struct {
		api    *connectortest.API
		stream bool
		raw    string
	}{
		"chat: cut JSON":           {chat, true, strings.Replace(chunk, "]}", "", 1)},
		"chat: no end":             {chat, true, chunk},
		"chat: another id":         {chat, true, chunk + strings.Replace(chunk, `"id":"c"`, `"id":"d"`, 1)},
		"chat: error":              {chat, true, chunk + `data: {"error":{"message":"m"}}` + "\n\n"},
		"chat: whole":              {chat, false, `{"choices":`},
		"responses: no end":        {responses, true, delta},
		"responses: other text":    {responses, true, delta + "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[]}}\n\n"},
		"messages: cut JSON":       {messages, true, start[:len(start)-4] + "\n\n"},
		"messages: no end":         {messages, true, start},
		"messages: no such block":  {messages, true, start + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"},
		"messages: error":          {messages, true, start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"m\"}}\n\n"},
		"messages: whole, no JSON": {messages, false, `{"content":`},
	} {
		if conformance.Valid(c.api, c.stream, false, []byte(c.raw)) == nil {
			t.Errorf("%s: read without an error", name)
		}
	}
}
