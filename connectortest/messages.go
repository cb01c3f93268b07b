package connectortest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Messages is Anthropic's Messages API.
func Messages() *API {
	return &API{
		Name: "anthropic-messages", Title: "Anthropic Messages (`/v1/messages`, `/v1/messages/count_tokens`)",
		Say:     "hello",
		Ask:     *messagesAsk(`{"role":"user","content":"«say»"}`, ""),
		Reply:   Script{Head: one1(messagesWhole(`{"type":"text","text":"all right"}`, "end_turn"))},
		Fields:  append(messagesTo(), messagesFrom()...),
		Check:   messagesCheck,
		Refusal: messagesRefusal,
		Uncovered: []string{
			"images and PDFs in base64: they are reported and pass; a URL in their place is looked at",
			"on the way to the server: signatures, redacted thinking and encrypted content, which are the server's own",
			"what the server's own tools do (web search, code execution): their calls and results are scanned when the answer reports them",
			"other paths (`/v1/messages/batches`, `/v1/files`, …): refused, unless `pass_paths` names them, and then nothing is looked at",
		},
	}
}

func messagesAsk(messages, more string) *Request {
	return &Request{
		Method: http.MethodPost, Path: "/v1/messages", Header: []Header{{"Anthropic-Version", "2023-06-01"}, {"Anthropic-Beta", "tools-2024-04-04,x-2025-01-01"}},
		Body: `{"model":"claude-x", "stream":«stream», "max_tokens":1024,"temperature":0.70,"messages":[` + messages + `]` + more + `}`,
	}
}

func messagesTo() []Field {
	const user = `{"role":"user","content":"hi"}`
	with := func(name string, q *Request) Field {
		return Field{Name: name, To: true, Request: q, Stream: messagesAnswer, Whole: messagesWholeAnswer}
	}
	msg := func(name, m string) Field { return with(name, messagesAsk(m, "")) }
	more := func(name, m string) Field { return with(name, messagesAsk(user, ","+m)) }
	bare := func(f Field) Field { f.Bare, f.ASCII = true, true; return f }
	refused := func(f Field) Field { f.Known, f.Unknown = Refused, Refused; return f }
	block := func(b string) string { return `{"role":"user","content":[` + b + `]}` }
	call := func(input string) string {
		return user + `,{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"toolu_1","name":"run","input":` + input + `}]}`
	}
	result := func(content string) string {
		return call(`{}`) + `,` + block(`{"type":"tool_result","tool_use_id":"toolu_1","content":`+content+`}`)
	}
	earlier := func(thinking string) string {
		return user + `,{"role":"assistant","content":[` + thinking + `{"type":"text","text":"so"}]},` + user
	}
	history := msg("thinking of an earlier turn", earlier(`{"type":"thinking","thinking":"«t»","signature":"c2lnbmVk"},`))
	history.Known, history.Unknown = LeftOut, LeftOut
	history.Request.Without = messagesAsk(earlier(""), "").Body
	count := *messagesAsk(`{"role":"user","content":"«t»"}`, "")
	count.Path = "/v1/messages/count_tokens"
	query := *messagesAsk(user, "")
	query.Path += "?beta=«%»"
	header := *messagesAsk(user, "")
	header.Header = append(header.Header, Header{"X-Custom", "«r»"})
	input := msg("input of a tool call in history", call("«j»")+`,`+block(`{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}`))
	input.Before, input.Behind = `{"cmd":"echo `, `","n":[1]}`
	return []Field{
		more("system", `"system":"«t»"`),
		more("system, text block", `"system":[{"type":"text","text":"be brief"},{"type":"text","text":"«t»","cache_control":{"type":"ephemeral"}}]`),
		msg("user message", `{"role":"user","content":"«t»"}`),
		msg("user message, escaped", `{"role":"user","content":"«T»"}`),
		msg("user message, text block", block(`{"type":"text","text":"«t»"},{"type":"text","text":"and more"}`)),
		msg("assistant message", user+`,{"role":"assistant","content":[{"type":"text","text":"«t»"}]},`+user),
		input,
		bare(refused(msg("key of a tool call's input in history", call(`{"«t»":1}`)+`,`+block(`{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}`)))),
		msg("tool result", result(`"«t»"`)),
		msg("tool result, text block", result(`[{"type":"text","text":"«t»"}]`)),
		msg("search result", result(`[{"type":"search_result","source":"https://x.example","title":"a","content":[{"type":"text","text":"«t»"}]}]`)),
		history,
		refused(msg("thinking of the turn that goes on", user+`,{"role":"assistant","content":[{"type":"thinking","thinking":"«t»","signature":"c2lnbmVk"},{"type":"tool_use","id":"toolu_1","name":"run","input":{}}]},`+block(`{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}`))),
		msg("document", block(`{"type":"document","title":"a","source":{"type":"text","media_type":"text/plain","data":"«t»"}}`)),
		msg("document's title", block(`{"type":"document","title":"«t»","source":{"type":"text","media_type":"text/plain","data":"x"}}`)),
		bare(msg("image's URL", block(`{"type":"image","source":{"type":"url","url":"«t»"}}`))),
		more("tool description", `"tools":[{"name":"run","description":"«t»","input_schema":{"type":"object"}}]`),
		more("default in a tool's schema", `"tools":[{"name":"run","input_schema":{"type":"object","properties":{"k":{"type":"string","default":"«t»"}}}}]`),
		bare(more("metadata", `"metadata":{"user_id":"«t»"}`)),
		more("stop sequence", `"stop_sequences":["END","«t»"]`),
		more("unknown field", `"x_new":{"y":["«t»",1.50,null]}`),
		{Name: "counting of tokens", To: true, Request: &count, Whole: messagesWholeAnswer},
		bare(refused(with("query", &query))),
		bare(refused(with("header", &header))),
	}
}

// ev is an event as Anthropic writes it.
func ev(typ, rest string) string {
	if rest != "" {
		rest = "," + rest
	}
	return "event: " + typ + "\ndata: {\"type\":\"" + typ + `"` + rest + "}\n\n"
}

const messageStart = `"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}`

func blockStart(i int, block string) string {
	return ev("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, i, block))
}

func blockDelta(i int, delta string) string {
	return ev("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, i, delta))
}

func blockStop(i int) string { return ev("content_block_stop", fmt.Sprintf(`"index":%d`, i)) }

// messagesStream is an answer in which the block that holds the value comes
// between others. begin, delta and end are its events at block 1.
func messagesStream(begin, delta, end []Frame, reason string) Script {
	s := Script{Head: frames(ev("message_start", messageStart), blockStart(0, `{"type":"text","text":""}`), ev("ping", ""),
		blockDelta(0, `{"type":"text_delta","text":"Let me see."}`), blockStop(0))}
	s.Head = append(s.Head, begin...)
	s.Piece = delta
	s.Tail = append(append(s.Tail, end...), frames(blockStart(2, `{"type":"text","text":""}`), blockDelta(2, `{"type":"text_delta","text":"So it is."}`), blockStop(2))...)
	s.Tail = append(s.Tail, Frame{Raw: ev("message_delta", `"delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":15}`), Own: true})
	s.Tail = append(s.Tail, Frame{Raw: ev("message_stop", "")})
	return s
}

func messagesWhole(blocks, reason string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x", "content":[` + blocks + `],"stop_reason":"` + reason + `","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":15}}`
}

func messagesAnswer(Place) Script {
	return messagesStream(frames(blockStart(1, `{"type":"text","text":""}`)), frames(blockDelta(1, `{"type":"text_delta","text":"all right"}`)), frames(blockStop(1)), "end_turn").flat()
}

func messagesWholeAnswer(Place) Script {
	return Script{Head: one1(messagesWhole(`{"type":"text","text":"all right"}`, "end_turn"))}
}

func messagesFrom() []Field {
	block := func(name, start, delta, stop, whole, reason string) Field {
		f := Field{Name: name}
		frame := func(s string) []Frame { return []Frame{{Raw: s, Own: reason == "tool_use"}} }
		if start != "" {
			f.Stream = func(Place) Script {
				begin := frame(blockStart(1, start))
				var piece []Frame
				if delta != "" {
					piece = frame(blockDelta(1, delta))
				}
				end := frame(blockStop(1))
				if stop != "" {
					end = append(frames(blockDelta(1, stop)), end...)
				}
				return messagesStream(begin, piece, end, reason)
			}
		}
		if whole != "" {
			f.Whole = func(Place) Script {
				return Script{Head: one1(messagesWhole(`{"type":"text","text":"Let me see."},`+whole+`,{"type":"text","text":"So it is."}`, reason))}
			}
		}
		return f
	}
	text := block("text", `{"type":"text","text":""}`, `{"type":"text_delta","text":"«p»"}`, "", `{"type":"text","text":"«t»"}`, "end_turn")
	escapes := block("text, escaped", `{"type":"text","text":""}`, `{"type":"text_delta","text":"«P»"}`, "", `{"type":"text","text":"«T»"}`, "end_turn")
	inStart := block("text in the start of a block", `{"type":"text","text":"«t»"}`, "", "", "", "end_turn")
	cited := block("cited text", `{"type":"text","text":"","citations":[]}`, `{"type":"text_delta","text":"as it says"}`,
		`{"type":"citations_delta","citation":{"type":"char_location","cited_text":"«t»","document_index":0,"document_title":"a","start_char_index":0,"end_char_index":9}}`,
		`{"type":"text","text":"as it says","citations":[{"type":"char_location","cited_text":"«t»","document_index":0,"document_title":"a","start_char_index":0,"end_char_index":9}]}`, "end_turn")
	const tool = `{"type":"tool_use","id":"toolu_` + OwnID + `","name":"run","input":{}}`
	input := block("input of a tool call", tool, `{"type":"input_json_delta","partial_json":"«p»"}`, "", `{"type":"tool_use","id":"toolu_`+OwnID+`","name":"run","input":«j»}`, "tool_use")
	input.Before, input.Behind, input.Pseudonym = `{"cmd":"echo `, `","n":[1]}`, Withheld
	inputEscaped := block("input of a tool call, escaped", tool, `{"type":"input_json_delta","partial_json":"«P»"}`, "", "", "tool_use")
	inputEscaped.Before, inputEscaped.Behind, inputEscaped.Pseudonym = `{"cmd":"echo `, `"}`, Withheld
	second := Field{Name: "input of a second tool call", Before: `{"cmd":"echo `, Behind: `"}`, Pseudonym: Withheld}
	second.Stream = func(Place) Script {
		return messagesStream(own(blockStart(1, strings.Replace(tool, OwnID, "1", 1)), blockDelta(1, `{"type":"input_json_delta","partial_json":"{\"a\":"}`), blockDelta(1, `{"type":"input_json_delta","partial_json":"1}"}`), blockStop(1), blockStart(2, tool)),
			own(blockDelta(2, `{"type":"input_json_delta","partial_json":"«p»"}`)), own(blockStop(2)), "tool_use").renumbered()
	}
	second.Whole = func(Place) Script {
		return Script{Head: one1(messagesWhole(`{"type":"tool_use","id":"toolu_1","name":"run","input":{"a":1}},{"type":"tool_use","id":"toolu_`+OwnID+`","name":"run","input":«j»}`, "tool_use"))}
	}
	name := block("name of a tool", `{"type":"tool_use","id":"toolu_1","name":"«t»","input":{}}`, `{"type":"input_json_delta","partial_json":"{}"}`, "", `{"type":"tool_use","id":"toolu_1","name":"«t»","input":{}}`, "tool_use")
	name.Bare, name.ASCII, name.Pseudonym = true, true, Untried
	server := block("input of a server's tool", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"«p»"}`, "", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":«j»}`, "end_turn")
	server.Before, server.Behind, server.Pseudonym = `{"query":"of `, `"}`, Untried
	search := block("result of a server's tool", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x.example","title":"«t»","encrypted_content":"YWJj","page_age":null}]}`, "", "",
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://x.example","title":"«t»","encrypted_content":"YWJj","page_age":null}]}`, "end_turn")
	thinking := block("thinking", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"«p»"}`, `{"type":"signature_delta","signature":"c2lnbmVk"}`, `{"type":"thinking","thinking":"«t»","signature":"c2lnbmVk"}`, "end_turn")
	thinking.Known, thinking.Unknown = Stopped, Stopped
	newField := block("unknown field", `{"type":"text","text":""}`, `{"type":"x_new_delta","x_new":{"y":"«p»"}}`, "", `{"type":"text","text":"a","x_new":{"y":["«t»"]}}`, "end_turn")
	return append([]Field{text, escapes, inStart, cited, input, inputEscaped, second, name, server, search, thinking, newField}, messagesOther()...)
}

// renumbered moves the last block up: the one before it is two.
func (s Script) renumbered() Script {
	for i := range s.Tail {
		if !s.Tail[i].Own {
			s.Tail[i].Raw = strings.Replace(s.Tail[i].Raw, `"index":2`, `"index":3`, 1)
		}
	}
	return s
}

func messagesOther() []Field {
	bare := func(f Field) Field { f.Bare, f.ASCII, f.Pseudonym = true, true, Untried; return f }
	failed := Field{
		Name: "message of an error", Pseudonym: Untried,
		Stream: func(at Place) Script {
			s := messagesAnswer(at)
			s.Head = append(s.Head[:4:4], Frame{Raw: ev("error", `"error":{"type":"overloaded_error","message":"«t»"}`)})
			s.Head[3].May = true
			s.Tail, s.Partial = nil, true
			return s
		},
		Whole: func(Place) Script {
			return Script{Status: http.StatusBadRequest, Head: one1(`{"type":"error","error":{"type":"invalid_request_error","message":"«t»"},"request_id":"req_1"}`)}
		},
	}
	edited := func(name, old, repl string, fate Fate) Field {
		f := Field{
			Name: name, Known: fate, Unknown: fate,
			Stream: func(at Place) Script {
				s := messagesAnswer(at)
				for _, fs := range [][]Frame{s.Head, s.Tail} {
					for i := range fs {
						fs[i].Raw = strings.Replace(fs[i].Raw, old, repl, 1)
					}
				}
				return s
			},
			Whole: func(at Place) Script {
				s := messagesWholeAnswer(at)
				s.Head[0].Raw = strings.Replace(s.Head[0].Raw, strings.Replace(old, "}", "", 1), strings.Replace(repl, "}", "", 1), 1)
				return s
			},
		}
		return bare(f)
	}
	callID := Field{
		Name: "id of a tool call", Known: Stopped, Unknown: Stopped,
		Stream: func(Place) Script {
			return messagesStream(frames(blockStart(1, `{"type":"tool_use","id":"«t»","name":"run","input":{}}`)), nil, frames(blockStop(1)), "tool_use")
		},
		Whole: func(Place) Script {
			return Script{Head: one1(messagesWhole(`{"type":"tool_use","id":"«t»","name":"run","input":{}}`, "tool_use"))}
		},
	}
	comment := Field{
		Name: "comment of an event", Known: LeftOut, Unknown: LeftOut,
		Stream: func(at Place) Script {
			s := messagesAnswer(at)
			s.Head = append(s.Head, Frame{Raw: ": «r»\n\n"})
			return s
		},
	}
	header := Field{
		Name: "header of the answer", Known: LeftOut, Unknown: LeftOut,
		Stream: func(at Place) Script {
			s := messagesAnswer(at)
			s.Header = []Header{{"X-Note", "«r»"}, {"Request-Id", "req_1"}}
			return s
		},
		Whole: func(at Place) Script {
			s := messagesWholeAnswer(at)
			s.Header = []Header{{"X-Note", "«r»"}, {"Request-Id", "req_1"}}
			return s
		},
	}
	return []Field{
		failed, edited("id of the answer", "msg_1", "«t»", Stopped), bare(callID),
		edited("stop sequence", `"stop_sequence":null},"usage"`, `"stop_sequence":"«t»"},"usage"`, Default),
		edited("object key", `"usage":{`, `"usage":{"«t»":1,`, Stopped), bare(comment), bare(header),
	}
}

// messagesRefusal holds a refusal to the shape of Anthropic's errors.
func messagesRefusal(r *Result) error {
	if r.Status < 400 {
		return fmt.Errorf("status %d", r.Status)
	}
	var e messagesError
	if err := strict(r.Body, &e); err != nil {
		return err
	}
	return e.check()
}

type messagesError struct {
	Type  string
	Error *struct{ Type, Message string }
}

func (e *messagesError) check() error {
	if e.Type != "error" || e.Error == nil || e.Error.Type == "" || e.Error.Message == "" {
		return errors.New("no error with type and message")
	}
	return nil
}
