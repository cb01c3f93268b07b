// Package conformance reads what a gateway's clients receive as the official
// client libraries do: their decoders of events, their accumulators, their
// types of whole answers.
package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicstream "github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/openai/openai-go/v3"
	openaistream "github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/margaydev/margay/connectortest"
)

// Valid is connectortest.Connector.Valid: it returns what the library of an API
// finds wrong with an answer. A stream that was ended before its time may end in
// an error, if it is the API's own.
func Valid(api *connectortest.API, stream, partial bool, raw []byte) error {
	switch api.Name {
	case "openai-chat":
		return chat(stream, partial, raw)
	case "openai-responses":
		return whole(stream, partial, raw)
	case "anthropic-messages":
		return messages(stream, partial, raw)
	}
	return nil
}

func response(raw []byte) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(raw))}
}

func chat(stream, partial bool, raw []byte) error {
	if !stream {
		if bytes.Contains(raw, []byte(`"object":"text_completion"`)) {
			var c openai.Completion
			return json.Unmarshal(raw, &c)
		}
		var c openai.ChatCompletion
		return json.Unmarshal(raw, &c)
	}
	if bytes.Contains(raw, []byte(`"object":"text_completion"`)) {
		s := openaistream.NewStream[openai.Completion](openaistream.NewDecoder(response(raw)), nil) //nolint:bodyclose // it has none but the bytes
		for s.Next() {
			if len(s.Current().Choices) == 0 {
				return errors.New("a completion without choices")
			}
		}
		return s.Err()
	}
	s := openaistream.NewStream[openai.ChatCompletionChunk](openaistream.NewDecoder(response(raw)), nil) //nolint:bodyclose // it has none but the bytes
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		if c := s.Current(); !acc.AddChunk(c) {
			return fmt.Errorf("the accumulator does not take the chunk %s", c.RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		var told *openaistream.StreamError
		if partial && errors.As(err, &told) {
			return nil
		}
		return err
	}
	for _, c := range acc.Choices {
		if c.FinishReason == "" {
			return fmt.Errorf("choice %d has not finished", c.Index)
		}
		for i, t := range c.Message.ToolCalls {
			if t.ID == "" || t.Function.Name == "" && t.Custom.Name == "" && !strings.Contains(string(raw), `"custom"`) {
				return fmt.Errorf("tool call %d of choice %d is none", i, c.Index)
			}
		}
	}
	return nil
}

// whole reads a response: what its pieces add up to is what its end says.
func whole(stream, partial bool, raw []byte) error {
	if !stream {
		var r responses.Response
		return json.Unmarshal(raw, &r)
	}
	s := openaistream.NewStream[responses.ResponseStreamEventUnion](openaistream.NewDecoder(response(raw)), nil) //nolint:bodyclose // it has none but the bytes
	text, ended := "", false
	for s.Next() {
		switch e := s.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			ended = true
			if got := e.Response.OutputText(); got != text {
				return fmt.Errorf("the response's text is %q and its pieces make %q", got, text)
			}
		case responses.ResponseIncompleteEvent:
			ended = partial
		case responses.ResponseErrorEvent:
			ended = partial && e.Message != ""
		case nil:
			return fmt.Errorf("no event of the API: %s", s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		var told *openaistream.StreamError
		if partial && errors.As(err, &told) {
			return nil
		}
		return err
	}
	if !ended {
		return errors.New("the response has not ended")
	}
	return nil
}

func messages(stream, partial bool, raw []byte) error {
	if !stream {
		var m anthropic.Message
		return json.Unmarshal(raw, &m)
	}
	s := anthropicstream.NewStream[anthropic.MessageStreamEventUnion](anthropicstream.NewDecoder(response(raw)), nil) //nolint:bodyclose // it has none but the bytes
	var m anthropic.Message
	for s.Next() {
		if err := m.Accumulate(s.Current()); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		if partial && strings.Contains(err.Error(), `"type":"error"`) {
			return nil
		}
		return err
	}
	if m.StopReason == "" {
		return errors.New("the message has not stopped")
	}
	for i, b := range m.Content {
		if b.Type == "tool_use" && !json.Valid(b.Input) {
			return fmt.Errorf("the input of block %d is not JSON", i)
		}
	}
	return nil
}
