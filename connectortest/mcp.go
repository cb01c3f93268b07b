package connectortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// MCP is the Model Context Protocol, in both generations. The client is an
// agent, the far side a server of tools. A request is one message of the
// client's and an answer one of the server's; a stream is one of events, as
// streamable HTTP has it; lines is for a connector whose messages are lines.
func MCP(lines bool) *API {
	api := &API{
		Name: "mcp", Title: "Model Context Protocol (stdio and streamable HTTP; 2025-11-25 and 2026-07-28)",
		Fields: append(mcpTo(), mcpFrom()...), Check: mcpCheck, Refusal: mcpRefusal, Either: true, Far: "the server",
		Uncovered: []string{
			"images, audio and binary resources: they are reported and pass; base64 of text is looked at",
			"what a server of tools does by itself: files, network, its own environment",
			"the older transport of HTTP with two endpoints (2024-11-05)",
		},
	}
	for i := range api.Fields {
		if f := &api.Fields[i]; lines && !f.To {
			sse := f.Stream
			f.Stream, f.Whole = nil, func(at Place) Script {
				_, message, _ := strings.Cut(sse(at).Head[0].Raw, "data: ")
				return Script{Head: one1(strings.TrimSpace(message))}
			}
		}
	}
	return api
}

// mcpMessage writes a request or a notification: a method and its params.
func mcpMessage(id, line string) string {
	method, params, _ := strings.Cut(line, " ")
	return `{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":` + params + `}`
}

// mcpAnswer writes an answer, and what it answers.
func mcpAnswer(line string) (question, answer string) {
	method, result, _ := strings.Cut(line, " ")
	return mcpMessage(`"id":1,`, method+" {}"), `{"jsonrpc":"2.0","id":1,"result":` + result + `}`
}

const mcpID = `"id":1,`

// bareURI says that a template holds the value in a URI or the like.
func bareURI(f Field) Field {
	f.Bare, f.ASCII = true, true
	return f
}

func mcpTo() []Field {
	var out []Field
	add := func(name, first, body string) *Field {
		out = append(out, Field{Name: name, To: true, Request: &Request{Body: body, First: first}, Whole: func(Place) Script { return Script{} }})
		return &out[len(out)-1]
	}
	for _, r := range [][2]string{
		{"arguments of a call", `tools/call {"name":"t","arguments":{"a":"«t»"}}`},
		{"arguments of a call, escaped", `tools/call {"name":"t","arguments":{"a":"«T»"}}`},
		{"arguments of a call, deep", `tools/call {"name":"t","arguments":{"a":[{"b":{"c":["x","«t»"],"n":1.50}}]}}`},
		{"_meta of a call", `tools/call {"name":"t","_meta":{"k":"«t»"}}`},
		{"input that a call required", `tools/call {"name":"t","arguments":{},"inputResponses":{"w":{"action":"accept","content":{"f":"«t»"}}}}`},
		{"sampling that a call required", `tools/call {"name":"t","inputResponses":{"w":{"role":"assistant","model":"m","content":{"type":"text","text":"«t»"}}}}`},
		{"arguments of a prompt", `prompts/get {"name":"p","arguments":{"a":"«t»"}}`},
		{"URI of a resource", `resources/read {"uri":"file:///x?k=«t»"}`},
		{"argument to complete", `completion/complete {"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"n","value":"«t»"}}`},
		{"context of a completion", `completion/complete {"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"n","value":"v"},"context":{"arguments":{"a":"«t»"}}}`},
		{"capabilities of the client", `initialize {"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":"«t»"}},"clientInfo":{"name":"c","version":"1"}}`},
		{"unknown method", `vendor/thing {"unheard":{"of":"«t»"}}`},
	} {
		f := add(r[0], "", mcpMessage(mcpID, r[1]))
		if strings.HasPrefix(r[0], "arguments of a call") {
			f.PrivateKey = Refused
		}
		if strings.Contains(r[1], `"uri":"file`) {
			*f = bareURI(*f)
		}
	}
	for _, r := range [][2]string{
		{"name of a tool", `tools/call {"name":"«t»"}`},
		{"object key", `tools/call {"name":"t","_meta":{"«t»":1}}`},
		{"cursor", `tools/list {"cursor":"«t»"}`},
		{"state of a request", `tools/call {"name":"t","requestState":"«t»"}`},
		{"token of progress", `tools/call {"name":"t","_meta":{"progressToken":"«t»"}}`},
		{"method", `«t» {}`},
	} {
		f := add(r[0], "", mcpMessage(mcpID, r[1]))
		*f = bareURI(*f)
		f.Known, f.Unknown = Refused, Refused
	}
	id := add("id", "", `{"jsonrpc":"2.0","id":"«t»","method":"ping"}`)
	*id = bareURI(*id)
	id.Known, id.Unknown, id.Echo, id.Note = Refused, Refused, true, "the refusal has it, for its sender"
	for _, r := range [][2]string{
		{"what sampling gave", `sampling/createMessage {"role":"assistant","model":"m","content":{"type":"text","text":"«t»"}}`},
		{"call that sampling gave", `sampling/createMessage {"role":"assistant","model":"m","content":[{"type":"tool_use","id":"i","name":"n","input":{"a":"«t»"}}]}`},
		{"what a person filled in", `elicitation/create {"action":"accept","content":{"field":"«t»"}}`},
		{"roots", `roots/list {"roots":[{"uri":"file:///home/«t»","name":"n"}]}`},
	} {
		question, answer := mcpAnswer(r[1])
		f := add(r[0], question, answer)
		if strings.Contains(r[1], "file:") {
			*f = bareURI(*f)
		}
	}
	add("error of the client", mcpMessage(mcpID, "elicitation/create {}"), `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"x":"«t»"}}}`)
	add("reason of a cancellation", "", mcpMessage("", `notifications/cancelled {"requestId":5,"reason":"«t»"}`))
	add("progress of the client", "", mcpMessage("", `notifications/progress {"progressToken":1,"progress":1,"message":"«t»"}`))
	return out
}

func mcpFrom() []Field {
	var out []Field
	add := func(name, request, message string) *Field {
		f := Field{
			Name: name, Request: &Request{Body: request},
			Stream: func(Place) Script { return Script{Head: one1("event: message\nid: 5\ndata: " + message + "\n\n")} },
		}
		if request != "" { // what nobody asked for comes in a stream
			f.Whole = func(Place) Script { return Script{Head: one1(message)} }
		}
		out = append(out, f)
		return &out[len(out)-1]
	}
	for _, r := range [][2]string{
		{"text of a result", `tools/call {"content":[{"type":"text","text":"«t»"}]}`},
		{"text of a result, escaped", `tools/call {"content":[{"type":"text","text":"«T»"}]}`},
		{"second text of a result", `tools/call {"content":[{"type":"text","text":"clean"},{"type":"text","text":"«t»"}]}`},
		{"structured result and its text", `tools/call {"content":[{"type":"text","text":"{\"k\":\"«r»\"}"}],"structuredContent":{"k":"«r»"}}`},
		{"structured result", `tools/call {"content":[],"structuredContent":{"k":["«t»",1.50]}}`},
		{"embedded resource", `tools/call {"content":[{"type":"resource","resource":{"uri":"u:v","text":"«t»"}}]}`},
		{"link to a resource", `tools/call {"content":[{"type":"resource_link","uri":"https://h/?k=«t»","name":"n","description":"d"}]}`},
		{"description of a link", `tools/call {"content":[{"type":"resource_link","uri":"u:v","name":"n","description":"«t»"}]}`},
		{"image that is none", `tools/call {"content":[{"type":"image","data":"«t»","mimeType":"image/png"}]}`},
		{"_meta of a result", `tools/call {"content":[],"_meta":{"k":"«t»"}}`},
		{"result that failed", `tools/call {"content":[{"type":"text","text":"«t»"}],"isError":true}`},
		{"question of a call", `tools/call {"resultType":"input_required","inputRequests":{"w":{"method":"elicitation/create","params":{"mode":"form","message":"«t»","requestedSchema":{"type":"object"}}}}}`},
		{"sampling that a call requires", `tools/call {"resultType":"input_required","inputRequests":{"w":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"«t»"}}]}}}}`},
		{"description of a tool", `tools/list {"tools":[{"name":"t","description":"«t»","inputSchema":{"type":"object"}}]}`},
		{"schema of a tool", `tools/list {"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"p":{"type":"string","default":"«t»"}}}}]}`},
		{"description of a prompt", `prompts/list {"prompts":[{"name":"p","description":"«t»","arguments":[{"name":"a","description":"d"}]}]}`},
		{"description of a prompt's argument", `prompts/list {"prompts":[{"name":"p","arguments":[{"name":"a","description":"«t»"}]}]}`},
		{"text of a prompt", `prompts/get {"messages":[{"role":"user","content":{"type":"text","text":"«t»"}}]}`},
		{"resource in a prompt", `prompts/get {"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"u:v","text":"«t»"}}}]}`},
		{"name of a resource", `resources/list {"resources":[{"uri":"u:v","name":"«t»"}]}`},
		{"URI of a resource", `resources/list {"resources":[{"uri":"u:«t»","name":"n"}]}`},
		{"description of a template", `resources/templates/list {"resourceTemplates":[{"uriTemplate":"u:{x}","name":"n","description":"«t»"}]}`},
		{"text of a resource", `resources/read {"contents":[{"uri":"u:v","mimeType":"text/plain","text":"«t»"}]}`},
		{"text of a resource, in base64", `resources/read {"contents":[{"uri":"u:v","blob":"«b»"}]}`},
		{"values of a completion", `completion/complete {"completion":{"values":["a","«t»"],"hasMore":false}}`},
		{"instructions", `initialize {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"},"instructions":"«t»"}`},
		{"title of the server", `initialize {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","title":"«t»","version":"1"}}`},
		{"result of discovery", `server/discover {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"«t»"}`},
		{"unknown result", `vendor/thing {"unheard":["of",{"x":"«t»"}]}`},
	} {
		question, answer := mcpAnswer(r[1])
		f := add(r[0], question, answer)
		f.Broken = strings.Contains(r[0], "that is none")
		if strings.Contains(r[1], "k=«") || strings.Contains(r[1], "u:«") || strings.Contains(r[1], "«r»") {
			*f = bareURI(*f)
		}
	}
	for _, r := range [][2]string{
		{"name of a tool", `tools/list {"tools":[{"name":"«t»","inputSchema":{"type":"object"}}]}`},
		{"cursor", `tools/list {"tools":[],"nextCursor":"«t»"}`},
		{"key of a schema", `tools/list {"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"«t»":{"type":"string"}}}}]}`},
		{"state of a request", `tools/call {"resultType":"input_required","inputRequests":{},"requestState":"«t»"}`},
	} {
		question, answer := mcpAnswer(r[1])
		f := add(r[0], question, answer)
		*f = bareURI(*f)
		f.Known, f.Unknown = Refused, Refused
	}
	call := mcpMessage(mcpID, `tools/call {"name":"t","arguments":{}}`)
	add("message of an error", call, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"«t»"}}`)
	add("data of an error", call, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m","data":{"trace":["«t»"]}}}`)
	for _, r := range [][3]string{
		{"text of a log", "", `notifications/message {"level":"info","data":"«t»"}`},
		{"data of a log", "", `notifications/message {"level":"info","data":{"k":{"l":"«t»"}}}`},
		{"progress", "", `notifications/progress {"progressToken":1,"progress":1,"message":"«t»"}`},
		{"resource that changed", "", `notifications/resources/updated {"uri":"u:«t»"}`},
		{"unknown notification", "", `notifications/vendor {"unheard":"«t»"}`},
		{"text to sample from", mcpID, `sampling/createMessage {"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"«t»"}}]}`},
		{"system prompt to sample from", mcpID, `sampling/createMessage {"maxTokens":1,"systemPrompt":"«t»","messages":[]}`},
		{"tool result to sample from", mcpID, `sampling/createMessage {"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"x","content":[{"type":"text","text":"«t»"}]}]}]}`},
		{"question to a person", mcpID, `elicitation/create {"mode":"form","message":"«t»","requestedSchema":{"type":"object","properties":{}}}`},
		{"field of a question to a person", mcpID, `elicitation/create {"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"string","description":"«t»"}}}}`},
		{"address of a question to a person", mcpID, `elicitation/create {"mode":"url","message":"m","elicitationId":"e","url":"https://h/?k=«t»"}`},
	} {
		f := add(r[0], "", mcpMessage(r[1], r[2]))
		if strings.Contains(r[2], "k=«") || strings.Contains(r[2], "u:«") {
			*f = bareURI(*f)
		}
	}
	return out
}

type mcpDocument struct {
	Version string `json:"jsonrpc"`
	ID      json.RawMessage
	Method  string
	Result  json.RawMessage
	Error   *struct {
		Code    *int
		Message *string
	}
}

// check holds a message to JSON-RPC: it is a request, a notification, an
// answer or an error, and one of them.
func (d *mcpDocument) check() error {
	switch kinds := d.Method != ""; {
	case d.Version != "2.0":
		return errors.New("no JSON-RPC 2.0")
	case kinds && (d.Result != nil || d.Error != nil), !kinds && (d.Result == nil) == (d.Error == nil):
		return errors.New("neither a request nor an answer")
	case !kinds && d.ID == nil:
		return errors.New("an answer without an id")
	case d.Error != nil && (d.Error.Code == nil || d.Error.Message == nil):
		return errors.New("an error without its code or its message")
	}
	return nil
}

// mcpCheck reads what the client got: nothing, one message, or events of one
// each.
func mcpCheck(stream, _ bool, raw []byte) error {
	bodies := [][]byte{raw}
	if stream {
		evs, err := sseStream(raw)
		if err != nil {
			return err
		}
		bodies = nil
		for _, e := range evs {
			bodies = append(bodies, []byte(e.data))
		}
	}
	for i, b := range bodies {
		if len(b) == 0 {
			continue
		}
		var d mcpDocument
		if err := strict(b, &d); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if err := d.check(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// mcpRefusal says whether a client learns that its request was not made, or
// that its answer is not to be had: by an error, or by a result of a call that
// failed, which a model can read.
func mcpRefusal(r *Result) error {
	var d mcpDocument
	if err := strict(payload(r.Body), &d); err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return err
	}
	var failed struct{ IsError bool }
	if d.Error == nil && (json.Unmarshal(d.Result, &failed) != nil || !failed.IsError) {
		return errors.New("it is neither an error nor a result that failed")
	}
	return nil
}
