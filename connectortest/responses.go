package connectortest

import (
	"fmt"
	"net/http"
	"strings"
)

// Responses is OpenAI's Responses API.
func Responses() *API {
	return &API{
		Name: "openai-responses", Title: "OpenAI Responses (`/v1/responses` and what is below it)",
		Say:     "hello",
		Ask:     *responsesAsk(`{"role":"user","content":"«say»"}`, ""),
		Reply:   responsesWhole(),
		Fields:  append(responsesTo(), responsesFrom()...),
		Check:   responsesCheck,
		Refusal: openaiRefusal,
		Uncovered: []string{
			"alternatives among the logprobs that have letters alone but for signs around them, or twelve bytes: an answer with others goes on without its logprobs",
			"images, audio and files in base64: they are reported and pass; a URL in their place is looked at",
			"on the way to the server: encrypted reasoning, which is the server's own",
			"what the server's own tools do (web search, code interpreter, MCP servers of its own): their calls and results are scanned when the answer reports them",
			"conversations that the server keeps and the client only names (`conversation`, `previous_response_id`): what they hold was looked at when it was sent, if it was sent through Margay",
			"WebSocket connections, and other paths (`/v1/conversations`, `/v1/files`, `/v1/vector_stores`, …): refused, unless `pass_paths` names them, and then nothing is looked at",
		},
	}
}

func responsesAsk(input, more string) *Request {
	return &Request{Method: http.MethodPost, Path: "/v1/responses", Body: `{"model":"gpt-4o", "stream":«stream», "temperature":0.70,"input":[` + input + `]` + more + `}`}
}

func responsesTo() []Field {
	const user = `{"role":"user","content":"hi"}`
	with := func(name string, q *Request) Field {
		return Field{Name: name, To: true, Request: q, Stream: func(Place) Script { return responsesStream("message").flat() }, Whole: func(Place) Script { return responsesWhole() }}
	}
	in := func(name, m string) Field { return with(name, responsesAsk(m, "")) }
	more := func(name, m string) Field { return with(name, responsesAsk(user, ","+m)) }
	bare := func(f Field) Field { f.Bare, f.ASCII = true, true; return f }
	refused := func(f Field) Field { f.Known, f.Unknown = Refused, Refused; return bare(f) }
	args := func(f Field) Field { f.Before, f.Behind = `{"cmd":"echo `, `","n":[1]}`; return f }
	call := func(args string) string {
		return user + `,{"type":"function_call","call_id":"call_1","name":"run","arguments":"` + args + `"},`
	}
	path := func(q *Request, path string) *Request { c := *q; c.Path = path; return &c }
	header := *responsesAsk(user, "")
	header.Header = []Header{{"X-Custom", "«r»"}}
	return []Field{
		with("input, a string", &Request{Method: http.MethodPost, Path: "/v1/responses", Body: `{"model":"gpt-4o","stream":«stream»,"input":"«t»"}`}),
		more("instructions", `"instructions":"«t»"`),
		in("user message", `{"role":"user","content":"«t»"}`),
		in("user message, escaped", `{"role":"user","content":"«T»"}`),
		in("user message, text part", `{"type":"message","role":"user","content":[{"type":"input_text","text":"«t»"},{"type":"input_text","text":"and more"}]}`),
		in("developer message", `{"role":"developer","content":"«t»"},`+user),
		in("assistant message", user+`,{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"«t»","annotations":[]}]},`+user),
		args(in("arguments of a call in history", call("«t»")+`{"type":"function_call_output","call_id":"call_1","output":"done"}`)),
		in("output of a call", call("{}")+`{"type":"function_call_output","call_id":"call_1","output":"«t»"}`),
		in("output of a call, text part", call("{}")+`{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"«t»"}]}`),
		in("output of a custom tool", user+`,{"type":"custom_tool_call","call_id":"call_1","name":"run","input":"x"},{"type":"custom_tool_call_output","call_id":"call_1","output":"«t»"}`),
		in("input of a custom tool in history", user+`,{"type":"custom_tool_call","call_id":"call_1","name":"run","input":"«t»"},{"type":"custom_tool_call_output","call_id":"call_1","output":"x"}`),
		in("output of a shell call", user+`,{"type":"shell_call_output","call_id":"call_1","output":[{"stdout":"«t»","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`),
		in("summary of reasoning in history", user+`,{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"«t»"}]},`+user),
		bare(in("image's URL", `{"role":"user","content":[{"type":"input_image","image_url":"https://x.example/?k=«t»"}]}`)),
		more("tool description", `"tools":[{"type":"function","name":"run","description":"«t»","parameters":{"type":"object"}}]`),
		more("default in a tool's schema", `"tools":[{"type":"function","name":"run","parameters":{"type":"object","properties":{"k":{"type":"string","default":"«t»"}}}}]`),
		bare(more("header for an MCP server", `"tools":[{"type":"mcp","server_label":"files","server_url":"https://x.example","headers":{"Authorization":"«t»"}}]`)),
		more("variable of a prompt", `"prompt":{"id":"pmpt_1","variables":{"k":"«t»"}}`),
		more("metadata", `"metadata":{"note":"«t»"}`),
		more("format's schema", `"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object","description":"«t»"}}}`),
		more("unknown field", `"x_new":{"y":["«t»",1.50,null]}`),
		refused(more("object key", `"metadata":{"«t»":"v"}`)),
		bare(more("id of the response before", `"previous_response_id":"«t»"`)),
		func() Field {
			f := with("counting of tokens", path(responsesAsk(`{"role":"user","content":"«t»"}`, ""), "/v1/responses/input_tokens"))
			f.Stream, f.Whole = nil, func(Place) Script { return Script{Head: one1(`{"object":"response.input_tokens","input_tokens":9}`)} }
			return f
		}(),
		refused(with("query", path(responsesAsk(user, ""), "/v1/responses?include=«%»"))),
		refused(with("path of a kept response", &Request{Method: http.MethodGet, Path: "/v1/responses/«%»"})),
		refused(with("header", &header)),
	}
}

// rev is an event as the API writes it.
func rev(typ, rest string) string {
	return "event: " + typ + "\ndata: {\"type\":\"" + typ + `","sequence_number":«n»,` + rest + "}\n\n"
}

// responseObject is the response with a status and its output.
func responseObject(status string, output ...string) string {
	return `{"id":"resp_1","object":"response","created_at":1,"status":"` + status + `","background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"gpt-4o", "output":[` +
		strings.Join(output, ",") + `],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"store":true,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":null,"user":null,"metadata":{}}`
}

// outputItem is a kind of item: its JSON with a text and a status, and the
// events that tell the text.
type outputItem struct {
	begun, done string // the item; «t» is the text
	part        string // the type of events of its part, without its end
	partBegun   string
	partDone    string
	text        string // the type of events of its text
	index       string // what they have besides
	member      string // the text in the last of them
	delta       string // what deltas have besides the text
	own         bool
	plain       bool // its text is "all right"
}

func messageItem(id, text string) outputItem {
	part := func(text string) string {
		return `{"type":"output_text","annotations":[],"logprobs":[],"text":"` + text + `"}`
	}
	return outputItem{
		begun: `{"id":"` + id + `","type":"message","status":"in_progress","content":[],"role":"assistant"}`,
		done:  `{"id":"` + id + `","type":"message","status":"completed","content":[` + part(text) + `],"role":"assistant"}`,
		part:  "response.content_part", partBegun: part(""), partDone: part(text),
		text: "response.output_text", index: `,"content_index":0`, member: "text", delta: `,"logprobs":[]`,
	}
}

// outputItems are the kinds whose text a stream sends in pieces.
func outputItems() map[string]outputItem {
	items := map[string]outputItem{"text": messageItem("msg_1", "«t»")}
	plain := messageItem("msg_1", "all right")
	plain.plain = true
	items["message"] = plain
	refusal := items["text"]
	refusal.part, refusal.partBegun, refusal.partDone = "response.content_part", `{"type":"refusal","refusal":""}`, `{"type":"refusal","refusal":"«t»"}`
	refusal.done = `{"id":"msg_1","type":"message","status":"completed","content":[` + refusal.partDone + `],"role":"assistant"}`
	refusal.text, refusal.member, refusal.delta = "response.refusal", "refusal", ""
	items["refusal"] = refusal
	logprobs := items["text"]
	logprobs.delta = `,"logprobs":«L»`
	items["logprobs"] = logprobs
	items["summary"] = outputItem{
		begun: `{"id":"rs_1","type":"reasoning","summary":[]}`, done: `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"«t»"}]}`,
		part: "response.reasoning_summary_part", partBegun: `{"type":"summary_text","text":""}`, partDone: `{"type":"summary_text","text":"«t»"}`,
		text: "response.reasoning_summary_text", index: `,"summary_index":0`, member: "text",
	}
	items["reasoning"] = outputItem{
		begun: `{"id":"rs_1","type":"reasoning","summary":[],"content":[]}`, done: `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"«t»"}]}`,
		part: "response.content_part", partBegun: `{"type":"reasoning_text","text":""}`, partDone: `{"type":"reasoning_text","text":"«t»"}`,
		text: "response.reasoning_text", index: `,"content_index":0`, member: "text",
	}
	simple := func(name, item, text, member string, own bool) {
		items[name] = outputItem{
			begun: strings.NewReplacer("«t»", "", "«s»", "in_progress").Replace(item), done: strings.Replace(item, "«s»", "completed", 1),
			text: text, member: member, own: own,
		}
	}
	simple("function", `{"id":"fc_1","type":"function_call","status":"«s»","arguments":"«t»","call_id":"call_`+OwnID+`","name":"run"}`, "response.function_call_arguments", "arguments", true)
	simple("custom", `{"id":"ctc_1","type":"custom_tool_call","status":"«s»","call_id":"call_`+OwnID+`","input":"«t»","name":"run"}`, "response.custom_tool_call_input", "input", true)
	simple("mcp", `{"id":"mcp_1","type":"mcp_call","status":"«s»","approval_request_id":null,"arguments":"«t»","error":null,"name":"look","output":null,"server_label":"files"}`, "response.mcp_call_arguments", "arguments", false)
	simple("code", `{"id":"ci_1","type":"code_interpreter_call","status":"«s»","code":"«t»","container_id":"cntr_1","outputs":null}`, "response.code_interpreter_call_code", "code", false)
	return items
}

// responsesStream is a stream of three items, of which the second is of a kind.
func responsesStream(kind string) Script { return streamOf(outputItems()[kind]) }

func streamOf(it outputItem) Script {
	var s Script
	add := func(own bool, typ, rest string) { s.Head = append(s.Head, Frame{Raw: rev(typ, rest), Own: own}) }
	before, behind := messageItem("msg_0", "Let me see."), messageItem("msg_2", "So it is.")
	add(false, "response.created", `"response":`+responseObject("in_progress"))
	add(false, "response.in_progress", `"response":`+responseObject("in_progress"))
	item := func(i int, id string, it outputItem, pieces func(head string)) {
		at := fmt.Sprintf(`"output_index":%d`, i)
		head := `"item_id":"` + id + `",` + at + it.index
		add(it.own, "response.output_item.added", at+`,"item":`+it.begun)
		if it.part != "" {
			add(it.own, it.part+".added", head+`,"part":`+it.partBegun)
		}
		pieces(head)
		if it.part != "" {
			add(it.own, it.part+".done", head+`,"part":`+it.partDone)
		}
		add(it.own, "response.output_item.done", at+`,"item":`+it.done)
	}
	text := func(t string) func(string) {
		return func(head string) {
			add(false, "response.output_text.delta", head+`,"delta":"`+t+`","logprobs":[]`)
			add(false, "response.output_text.done", head+`,"text":"`+t+`","logprobs":[]`)
		}
	}
	item(0, "msg_0", before, text("Let me see."))
	s.Head = append(s.Head, Frame{Raw: ": keep-alive\n\n"})
	var tail []Frame
	id, _, _ := strings.Cut(strings.TrimPrefix(it.begun, `{"id":"`), `"`)
	item(1, id, it, func(head string) {
		if it.member == "" {
			return
		}
		piece := "«p»"
		if it.plain {
			piece = "all right"
		} else if strings.Contains(it.done, "«T»") {
			piece = "«P»"
		}
		s.Piece = []Frame{{Raw: rev(it.text+".delta", head+`,"delta":"`+piece+`"`+it.delta), Own: it.own}}
		tail, s.Head = s.Head, nil
		whole := strings.NewReplacer("p", "t", "P", "T").Replace(piece)
		if piece == "all right" {
			whole = piece
		}
		end := ""
		if it.delta != "" {
			end = `,"logprobs":[]`
		}
		add(it.own, it.text+".done", head+`,"`+it.member+`":"`+whole+`"`+end)
	})
	item(2, "msg_2", behind, text("So it is."))
	add(it.own, "response.completed", `"response":`+responseObject("completed", before.done, it.done, behind.done))
	if s.Piece != nil {
		s.Head, s.Tail = tail, s.Head
	}
	return s
}

// responsesWhole is a whole answer with these items among others.
func responsesWhole(items ...string) Script {
	all := append([]string{messageItem("msg_0", "Let me see.").done}, items...)
	return Script{Head: one1(responseObject("completed", append(all, messageItem("msg_2", "So it is.").done)...))}
}

func responsesFrom() []Field {
	kind := func(name, kind string) Field {
		return Field{
			Name:   name,
			Stream: func(Place) Script { return responsesStream(kind) },
			Whole:  func(Place) Script { return responsesWhole(outputItems()[kind].done) },
		}
	}
	args := func(f Field) Field { f.Before, f.Behind = `{"cmd":"echo `, `","n":[1]}`; return f }
	withheld := func(f Field) Field { f.Pseudonym = Withheld; return f }
	escapes := Field{
		Name: "output text, escaped",
		Stream: func(Place) Script {
			it := outputItems()["text"]
			it.done, it.partDone = strings.Replace(it.done, "«t»", "«T»", 1), strings.Replace(it.partDone, "«t»", "«T»", 1)
			return streamOf(it)
		},
		Whole: func(Place) Script { return responsesWhole(messageItem("msg_1", "«T»").done) },
	}
	logprobs := kind("output text and its logprobs", "logprobs")
	logprobs.Whole = nil
	// atOnce is an item that a stream sends whole.
	atOnce := func(name, item string) Field {
		it := outputItem{begun: item, done: item, own: strings.Contains(item, OwnID)}
		return Field{
			Name: name, Pseudonym: Untried,
			Stream: func(Place) Script {
				it := it
				it.begun = strings.Replace(strings.Replace(item, "«t»", "", 1), "completed", "in_progress", 1)
				return streamOf(it)
			},
			Whole: func(Place) Script { return responsesWhole(it.done) },
		}
	}
	shell := atOnce("command of a shell call", `{"id":"sh_1","type":"shell_call","status":"completed","call_id":"call_`+OwnID+`","action":{"commands":["«t»"],"timeout_ms":null}}`)
	shell.Pseudonym = Withheld
	annotation := Field{
		Name: "title of a citation", Pseudonym: Untried,
		Stream: func(Place) Script {
			const note = `{"type":"url_citation","url":"https://x.example","title":"«t»","start_index":0,"end_index":3}`
			it := outputItems()["message"]
			it.done, it.partDone = strings.Replace(it.done, `"annotations":[]`, `"annotations":[`+note+`]`, 1), strings.Replace(it.partDone, `"annotations":[]`, `"annotations":[`+note+`]`, 1)
			s := streamOf(it)
			s.Tail = append(frames(rev("response.output_text.annotation.added", `"item_id":"msg_1","output_index":1,"content_index":0,"annotation_index":0,"annotation":`+note)), s.Tail...)
			return s.flat()
		},
		Whole: func(Place) Script {
			return responsesWhole(strings.Replace(messageItem("msg_1", "all right").done, `"annotations":[]`, `"annotations":[{"type":"url_citation","url":"https://x.example","title":"«t»","start_index":0,"end_index":3}]`, 1))
		},
	}
	return append([]Field{
		kind("output text", "text"), escapes, logprobs, kind("refusal", "refusal"), kind("summary of reasoning", "summary"), kind("reasoning", "reasoning"),
		withheld(args(kind("arguments of a call", "function"))), withheld(kind("input of a custom tool", "custom")), args(kind("arguments of a server's MCP call", "mcp")), kind("code of the code interpreter", "code"),
		shell, annotation,
		atOnce("query of a web search", `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"«t»"}}`),
		atOnce("text of a file search", `{"id":"fs_1","type":"file_search_call","status":"completed","queries":["x"],"results":[{"file_id":"file_1","filename":"a.txt","score":0.5,"text":"«t»","attributes":{}}]}`),
		atOnce("output of a server's MCP call", `{"id":"mcp_1","type":"mcp_call","status":"completed","approval_request_id":null,"arguments":"{}","error":null,"name":"look","output":"«t»","server_label":"files"}`),
		atOnce("unknown field", `{"id":"x_1","type":"x_new","status":"completed","y":{"z":["«t»"]}}`),
	}, responsesOther()...)
}

func responsesOther() []Field {
	bare := func(f Field) Field { f.Bare, f.ASCII, f.Pseudonym = true, true, Untried; return f }
	edited := func(name, old, repl string, fate, whole Fate) Field {
		return bare(Field{
			Name: name, Known: fate, Unknown: fate, InWhole: whole,
			Stream: func(Place) Script {
				s := responsesStream("message").flat()
				for _, fs := range [][]Frame{s.Head, s.Tail} {
					for i := range fs {
						fs[i].Raw = strings.Replace(fs[i].Raw, old, repl, 1)
					}
				}
				return s
			},
			Whole: func(Place) Script {
				s := responsesWhole()
				s.Head[0].Raw = strings.Replace(s.Head[0].Raw, old, repl, 1)
				return s
			},
		})
	}
	text := func(f Field) Field { f.Bare, f.ASCII = false, false; return f }
	failed := Field{
		Name: "message of an error", Pseudonym: Untried,
		Stream: func(Place) Script {
			s := responsesStream("message").flat()
			s.Head = append(s.Head[:9:9], Frame{Raw: rev("error", `"code":"server_error","message":"«t»","param":null`)})
			s.Tail, s.Partial = nil, true
			return s
		},
		Whole: func(Place) Script {
			return Script{Status: http.StatusBadRequest, Head: one1(`{"error":{"message":"«t»","type":"invalid_request_error","param":null,"code":null}}`)}
		},
	}
	comment := Field{
		Name: "comment of an event", Known: LeftOut, Unknown: LeftOut,
		Stream: func(Place) Script {
			s := responsesStream("message").flat()
			s.Head = append(s.Head, Frame{Raw: ": «r»\n\n"})
			return s
		},
	}
	header := Field{
		Name: "header of the answer", Known: LeftOut, Unknown: LeftOut,
		Stream: func(Place) Script {
			s := responsesStream("message").flat()
			s.Header = []Header{{"X-Note", "«r»"}, {"X-Request-Id", "req_1"}}
			return s
		},
		Whole: func(Place) Script {
			s := responsesWhole()
			s.Header = []Header{{"X-Note", "«r»"}, {"X-Request-Id", "req_1"}}
			return s
		},
	}
	name := edited("name of a tool that it may call", `"tools":[]`, `"tools":[{"type":"function","name":"«t»","description":null,"parameters":{"type":"object","properties":{}},"strict":true}]`, Default, Default)
	return []Field{
		failed, text(edited("instructions repeated", `"instructions":null`, `"instructions":"«t»"`, Default, Default)),
		text(edited("metadata repeated", `"metadata":{}`, `"metadata":{"note":"«t»"}`, Default, Default)), name,
		edited("id of the response", "resp_1", "«t»", Stopped, Refused), edited("object key", `"metadata":{}`, `"metadata":{"«t»":"v"}`, Stopped, Refused),
		bare(comment), bare(header),
	}
}
