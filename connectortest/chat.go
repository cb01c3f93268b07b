package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Chat is OpenAI's Chat Completions API, with its older relatives.
func Chat() *API {
	return &API{
		Name: "openai-chat", Title: "OpenAI Chat Completions (`/v1/chat/completions`, `/v1/completions`, `/v1/embeddings`)",
		Say:     "hello",
		Ask:     Request{Method: http.MethodPost, Path: "/v1/chat/completions", Body: chatBody(`{"role":"user","content":"«say»"}`, "")},
		Reply:   Script{Head: one1(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"all right"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)},
		Fields:  append(chatTo(), chatFrom()...),
		Lane:    chatLane,
		Check:   chatCheck,
		Refusal: openaiRefusal,
		Uncovered: []string{
			"alternatives among the logprobs that have letters alone but for signs around them, or twelve bytes: an answer with others goes on without its logprobs",
			"images, audio and files in base64: they are reported and pass; a URL in their place is looked at",
			"the vectors of `/v1/embeddings`",
			"the numbers of a document, and object keys of up to three characters",
			"other paths (`/v1/audio`, `/v1/images`, `/v1/files`, `/v1/batches`, `/v1/realtime`, …): refused, unless `pass_paths` names them, and then nothing is looked at",
		},
	}
}

func chatBody(messages, more string) string {
	return `{"model":"gpt-4o", "stream":«stream», "n":«choices»,"temperature":0.70,"messages":[{"role":"system","content":"be brief"},` + messages + `]` + more + `}`
}

func one1(raw string) []Frame { return []Frame{{Raw: raw}} }

func frames(raws ...string) (out []Frame) {
	for _, r := range raws {
		out = append(out, Frame{Raw: r})
	}
	return out
}

func own(raws ...string) (out []Frame) {
	for _, r := range raws {
		out = append(out, Frame{Raw: r, Own: true})
	}
	return out
}

// chatTo are the fields on their way to the model.
func chatTo() []Field {
	const user = `{"role":"user","content":"hi"}`
	msg := func(name, m string) Field {
		return Field{Name: name, To: true, Request: &Request{Method: http.MethodPost, Path: "/v1/chat/completions", Body: chatBody(m, "")}, Stream: chatAnswer, Whole: chatWholeAnswer}
	}
	more := func(name, m string) Field {
		return Field{Name: name, To: true, Request: &Request{Method: http.MethodPost, Path: "/v1/chat/completions", Body: chatBody(user, ","+m)}, Whole: chatWholeAnswer}
	}
	bare := func(f Field) Field { f.Bare, f.ASCII = true, true; return f }
	refused := func(f Field) Field { f.Known, f.Unknown = Refused, Refused; return bare(f) }
	call := func(args string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"run","arguments":"` + args + `"}}]},{"role":"tool","tool_call_id":"call_1","content":"done"}`
	}
	other := func(name, method, path, body string, header ...Header) Field {
		return Field{Name: name, To: true, ASCII: true, Bare: true, Request: &Request{Method: method, Path: path, Header: header, Body: body}}
	}
	post, get := http.MethodPost, http.MethodGet
	ask := chatBody(user, "")
	return []Field{
		msg("system message", `{"role":"system","content":"«t»"},`+user),
		msg("developer message", `{"role":"developer","content":"«t»"},`+user),
		msg("user message", `{"role":"user","content":"«t»"}`),
		msg("user message, escaped", `{"role":"user","content":"«T»"}`),
		msg("user message, text part", `{"role":"user","content":[{"type":"text","text":"«t»"},{"type":"text","text":"and more"}]}`),
		msg("assistant message", user+`,{"role":"assistant","content":"«t»"},`+user),
		msg("tool result", user+`,`+call(`{}`)[:len(call(`{}`))-len(`"done"}`)]+`"«t»"}`),
		func() Field {
			f := msg("tool-call arguments in history", user+`,`+call("«t»"))
			f.Before, f.Behind = `{"cmd":"echo `, `"}`
			return f
		}(),
		msg("reasoning in history", user+`,{"role":"assistant","reasoning_content":"«t»","content":"so"},`+user),
		bare(msg("name of a message", `{"role":"user","name":"«t»","content":"hi"}`)),
		msg("image's URL", `{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/a?k=«t»"}}]}`),
		more("tool description", `"tools":[{"type":"function","function":{"name":"run","description":"«t»","parameters":{"type":"object"}}}]`),
		more("default in a tool's schema", `"tools":[{"type":"function","function":{"name":"run","parameters":{"type":"object","properties":{"k":{"type":"string","default":"«t»"}}}}}]`),
		more("metadata", `"metadata":{"note":"«t»"}`),
		bare(more("user", `"user":"«t»"`)),
		more("stop", `"stop":["END","«t»"]`),
		more("response schema", `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"description":"«t»"}}}`),
		more("predicted output", `"prediction":{"type":"content","content":"«t»"}`),
		more("unknown field", `"x_new":{"y":["«t»",1.50,null]}`),
		refused(more("object key", `"metadata":{"«t»":"v"}`)),
		refused(other("query", post, "/v1/chat/completions?k=«%»", ask)),
		refused(other("path", get, "/v1/models/«%»", "")),
		refused(other("header", post, "/v1/chat/completions", ask, Header{"X-Custom", "«r»"})),
		func() Field {
			f := other("prompt of completions", post, "/v1/completions", `{"model":"m","prompt":["a","«t»"],"suffix":"b"}`)
			f.Bare, f.ASCII = false, false
			return f
		}(),
		func() Field {
			f := other("input of embeddings", post, "/v1/embeddings", `{"model":"m","input":["a","«t»"]}`)
			f.Bare, f.ASCII = false, false
			return f
		}(),
	}
}

// chatLane is the choice that a frame is of.
func chatLane(frame []byte) string {
	var d struct {
		Choices []struct{ Index int }
	}
	if json.Unmarshal(payload(frame), &d) != nil || len(d.Choices) == 0 {
		return ""
	}
	return fmt.Sprint(d.Choices[0].Index)
}

// chunk is an event of a choice.
func chunk(c int, delta, finish string) string {
	if finish != "null" {
		finish = `"` + finish + `"`
	}
	return fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[{"index":%d,"delta":%s,"finish_reason":%s}]}`+"\n\n", c, delta, finish)
}

// stream is an answer whose choice at.C says the frames given, among others.
func chatStream(at Place, head, piece []Frame, finish string) Script {
	s := Script{}
	for c := range at.N {
		s.Head = append(s.Head, Frame{Raw: chunk(c, `{"role":"assistant","content":""}`, "null")})
	}
	s.Head = append(append(s.Head, Frame{Raw: ": keep-alive\n\n"}), head...)
	s.Piece = piece
	for c := range at.N {
		if c != at.C {
			s.Piece = append(s.Piece, Frame{Raw: chunk(c, `{"content":"other words "}`, "null")})
		}
	}
	for c := range at.N {
		if c == at.C {
			s.Tail = append(s.Tail, Frame{Raw: chunk(c, `{}`, finish), Own: true})
			continue
		}
		s.Tail = append(s.Tail, Frame{Raw: chunk(c, `{}`, "stop")})
	}
	s.Tail = append(s.Tail, frames(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":7,"total_tokens":8}}`+"\n\n", "data: [DONE]\n\n")...)
	return s
}

func chatWhole(at Place, choice string) Script {
	var cs []string
	for c := range at.N {
		if c == at.C {
			cs = append(cs, fmt.Sprintf(`{"index":%d,%s}`, c, choice))
			continue
		}
		cs = append(cs, fmt.Sprintf(`{"index":%d,"message":{"role":"assistant","content":"other words"},"finish_reason":"stop"}`, c))
	}
	return Script{Head: one1(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o", "choices":[` + strings.Join(cs, ",") + `],"usage":{"prompt_tokens":1,"completion_tokens":7,"total_tokens":8}}`)}
}

func chatAnswer(Place) Script {
	return chatStream(Place{1, 0}, nil, frames(chunk(0, `{"content":"all right"}`, "null")), "stop").flat()
}

func chatWholeAnswer(Place) Script {
	return chatWhole(Place{1, 0}, `"message":{"role":"assistant","content":"all right"},"finish_reason":"stop"`)
}

// flat is the script with its pieces in its head: none varies.
func (s Script) flat() Script {
	s.Head, s.Piece = append(s.Head, s.Piece...), nil
	return s
}

// chatFrom are the fields on their way from the model.
func chatFrom() []Field {
	text := func(key string) Field {
		return Field{
			Name: key, Most: 2,
			Stream: func(at Place) Script {
				return chatStream(at, nil, frames(chunk(at.C, `{"`+key+`":"«p»"}`, "null")), "stop")
			},
			Whole: func(at Place) Script {
				return chatWhole(at, `"message":{"role":"assistant","`+key+`":"«t»"},"finish_reason":"stop"`)
			},
		}
	}
	content := text("content")
	escapes := Field{
		Name: "content, escaped", Most: 2,
		Stream: func(at Place) Script {
			return chatStream(at, nil, frames(chunk(at.C, `{"content":"«P»"}`, "null")), "stop")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":"«T»"},"finish_reason":"stop"`)
		},
	}
	logprobs := Field{
		Name: "content and its logprobs", Most: 2,
		Stream: func(at Place) Script {
			return chatStream(at, nil, frames(strings.Replace(chunk(at.C, `{"content":"«p»"}`, "null"), `"finish_reason"`, `"logprobs":«l»,"finish_reason"`, 1)), "stop")
		},
	}
	unknownField := Field{
		Name: "unknown field", Most: 2,
		Stream: func(at Place) Script {
			return chatStream(at, nil, frames(chunk(at.C, `{"x_new":[{"kind":1,"y":{"z":"«p»"}}]}`, "null")), "stop")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":null,"x_new":[{"kind":1,"y":{"z":"«t»"}}]},"finish_reason":"stop"`)
		},
	}
	return append([]Field{content, escapes, text("refusal"), text("reasoning_content"), text("reasoning"), logprobs, unknownField}, append(chatCalls(), chatOther()...)...)
}

// chatCalls are the fields of tool calls.
func chatCalls() []Field {
	args := func(name string, item int) Field {
		ids := [2]string{"call_a", "call_b"}
		ids[item] = "call_" + OwnID
		open := func(at Place, i int) Frame {
			return Frame{Raw: chunk(at.C, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"%s","type":"function","function":{"name":"run","arguments":""}}]}`, i, ids[i]), "null"), Own: true}
		}
		say := func(at Place, i int, args string) Frame {
			return Frame{Raw: chunk(at.C, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]}`, i, args), "null"), Own: true}
		}
		return Field{
			Name: name, Most: 2, Before: `{"cmd":"echo `, Behind: `","n":[1]}`, Pseudonym: Withheld,
			Stream: func(at Place) Script {
				s := chatStream(at, []Frame{open(at, 0)}, []Frame{say(at, 0, "«p»")}, "tool_calls")
				if item == 0 {
					s.Tail = append([]Frame{open(at, 1), say(at, 1, `{\"a\":`), say(at, 1, `1}`)}, s.Tail...)
					return s
				}
				s.Head = append(s.Head, say(at, 0, `{}`), open(at, 1))
				s.Piece[0] = say(at, 1, "«p»")
				return s
			},
			Whole: func(at Place) Script {
				texts := [2]string{`{}`, `{}`}
				texts[item] = "«t»"
				var cs []string
				for i := range 2 {
					cs = append(cs, fmt.Sprintf(`{"id":"%s","type":"function","function":{"name":"run","arguments":"%s"}}`, ids[i], texts[i]))
				}
				return chatWhole(at, `"message":{"role":"assistant","content":null,"tool_calls":[`+strings.Join(cs, ",")+`]},"finish_reason":"tool_calls"`)
			},
		}
	}
	legacy := Field{
		Name: "arguments of a function_call", Most: 2, Before: `{"cmd":"echo `, Behind: `"}`, Pseudonym: Withheld,
		Stream: func(at Place) Script {
			return chatStream(at, own(chunk(at.C, `{"function_call":{"name":"run","arguments":""}}`, "null")), own(chunk(at.C, `{"function_call":{"arguments":"«p»"}}`, "null")), "function_call")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":null,"function_call":{"name":"run","arguments":"«t»"}},"finish_reason":"function_call"`)
		},
	}
	custom := Field{
		Name: "input of a custom tool", Most: 2, Pseudonym: Withheld,
		Stream: func(at Place) Script {
			return chatStream(at, own(chunk(at.C, `{"tool_calls":[{"index":0,"id":"call_`+OwnID+`","type":"custom","custom":{"name":"run","input":""}}]}`, "null")),
				own(chunk(at.C, `{"tool_calls":[{"index":0,"custom":{"input":"«p»"}}]}`, "null")), "tool_calls")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_`+OwnID+`","type":"custom","custom":{"name":"run","input":"«t»"}}]},"finish_reason":"tool_calls"`)
		},
	}
	name := Field{
		Name: "name of a tool", Most: 2, Bare: true, ASCII: true, Pseudonym: Untried,
		Stream: func(at Place) Script {
			return chatStream(at, append(own(chunk(at.C, `{"tool_calls":[{"index":0,"id":"call_`+OwnID+`","type":"function","function":{"name":"«t»","arguments":""}}]}`, "null")),
				own(chunk(at.C, `{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`, "null"))...), nil, "tool_calls")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_`+OwnID+`","type":"function","function":{"name":"«t»","arguments":"{}"}}]},"finish_reason":"tool_calls"`)
		},
	}
	return []Field{args("arguments of a tool call", 0), args("arguments of a second tool call", 1), legacy, custom, name}
}

// chatOther are the fields outside the choices.
func chatOther() []Field {
	completion := Field{
		Name: "text of completions", Most: 2, Request: &Request{Method: http.MethodPost, Path: "/v1/completions", Body: `{"model":"m","prompt":"hi","n":«choices»,"stream":«stream»}`},
		Pseudonym: Untried,
		Stream: func(at Place) Script {
			c := func(c int, text, finish string) string {
				return fmt.Sprintf(`data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"text":"%s","index":%d,"logprobs":null,"finish_reason":%s}]}`+"\n\n", text, c, finish)
			}
			s := Script{Piece: frames(c(at.C, "«p»", "null"))}
			for o := range at.N {
				if o != at.C {
					s.Piece = append(s.Piece, Frame{Raw: c(o, "other words ", "null")})
				}
				s.Tail = append(s.Tail, Frame{Raw: c(o, "", `"stop"`)})
			}
			s.Tail = append(s.Tail, Frame{Raw: "data: [DONE]\n\n"})
			return s
		},
		Whole: func(at Place) Script {
			var cs []string
			for c := range at.N {
				text := "other words"
				if c == at.C {
					text = "«t»"
				}
				cs = append(cs, fmt.Sprintf(`{"text":"%s","index":%d,"logprobs":null,"finish_reason":"stop"}`, text, c))
			}
			return Script{Head: one1(`{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[` + strings.Join(cs, ",") + `]}`)}
		},
	}
	failed := Field{
		Name: "message of an error", Pseudonym: Untried,
		Stream: func(at Place) Script {
			s := chatStream(at, []Frame{{Raw: chunk(0, `{"content":"so far"}`, "null"), May: true}}, frames(`data: {"error":{"message":"«p»","type":"server_error","param":null,"code":"x_y"}}`+"\n\n"), "stop")
			s.Head, s.Piece = append(s.Head, Frame{Raw: strings.Replace(s.Piece[0].Raw, "«p»", "«t»", 1)}), nil
			s.Tail, s.Partial = nil, true
			return s
		},
		Whole: func(Place) Script {
			return Script{Status: http.StatusBadRequest, Head: one1(`{"error":{"message":"«t»","type":"invalid_request_error","param":null,"code":null}}`)}
		},
	}
	ids := Field{
		Name: "id of the answer", Bare: true, ASCII: true, Known: Stopped, Unknown: Stopped, InWhole: Refused, Pseudonym: Untried,
		Stream: func(at Place) Script {
			s := chatAnswer(at)
			for _, fs := range [][]Frame{s.Head, s.Tail} {
				for i := range fs {
					fs[i].Raw = strings.Replace(fs[i].Raw, "chatcmpl-1", "«t»", 1)
				}
			}
			return s
		},
		Whole: func(at Place) Script {
			s := chatWholeAnswer(at)
			s.Head = one1(strings.Replace(s.Head[0].Raw, "chatcmpl-1", "«t»", 1))
			return s
		},
	}
	callID := Field{
		Name: "id of a tool call", Bare: true, ASCII: true, Known: Stopped, Unknown: Stopped, InWhole: Refused, Pseudonym: Untried,
		Stream: func(at Place) Script {
			return chatStream(at, frames(chunk(at.C, `{"tool_calls":[{"index":0,"id":"«t»","type":"function","function":{"name":"run","arguments":"{}"}}]}`, "null")), nil, "tool_calls")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":null,"tool_calls":[{"id":"«t»","type":"function","function":{"name":"run","arguments":"{}"}}]},"finish_reason":"tool_calls"`)
		},
	}
	key := Field{
		Name: "object key", Bare: true, ASCII: true, Known: Stopped, Unknown: Stopped, InWhole: Refused, Pseudonym: Untried,
		Stream: func(at Place) Script {
			return chatStream(at, frames(chunk(at.C, `{"x_new":{"«t»":1}}`, "null")), nil, "stop")
		},
		Whole: func(at Place) Script {
			return chatWhole(at, `"message":{"role":"assistant","content":null,"x_new":{"«t»":1}},"finish_reason":"stop"`)
		},
	}
	comment := Field{
		Name: "comment of an event", Bare: true, ASCII: true, Known: LeftOut, Unknown: LeftOut, Pseudonym: Untried,
		Stream: func(at Place) Script { return chatStream(at, frames(": «r»\n\n"), nil, "stop") },
	}
	line := Field{
		Name: "id line of an event", Bare: true, ASCII: true, Known: Stopped, Unknown: Stopped, Pseudonym: Untried,
		Stream: func(at Place) Script {
			return chatStream(at, frames("id: «r»\n"+chunk(0, `{"content":"more"}`, "null")), nil, "stop")
		},
	}
	header := Field{
		Name: "header of the answer", Bare: true, ASCII: true, Known: LeftOut, Unknown: LeftOut, Pseudonym: Untried,
		Stream: func(at Place) Script {
			s := chatAnswer(at)
			s.Header = []Header{{"X-Note", "«r»"}, {"X-Request-Id", "req_1"}}
			return s
		},
		Whole: func(at Place) Script {
			s := chatWholeAnswer(at)
			s.Header = []Header{{"X-Note", "«r»"}, {"X-Request-Id", "req_1"}}
			return s
		},
	}
	return []Field{completion, failed, ids, callID, key, comment, line, header}
}

// openaiRefusal holds a refusal to the shape of OpenAI's errors.
func openaiRefusal(r *Result) error {
	if r.Status < 400 {
		return fmt.Errorf("status %d", r.Status)
	}
	var e struct {
		Error *struct {
			Message, Type, Code *string
			Param               json.RawMessage
		}
	}
	if err := strict(r.Body, &e); err != nil {
		return err
	}
	if e.Error == nil || e.Error.Message == nil || e.Error.Type == nil || e.Error.Code == nil || *e.Error.Message == "" {
		return errors.New("no error with message, type and code")
	}
	return nil
}
