// Package openaichat reads and edits the bodies of OpenAI's Chat Completions
// API and its older relatives (completions, embeddings): requests, whole
// responses, and the chunks of a stream.
//
// Every string of a body is text unless the API gives it another meaning, so
// a field that this package has not heard of is still looked at. Edits are
// surgical: they replace string literals and leave every other byte alone.
package openaichat

import (
	"bytes"
	"sort"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

// Limits bound bodies and chunks.
type Limits = strictjson.Limits

// Part is a string of a body.
type Part struct {
	ID      int // stable within its document
	Message int // index of the message; -1 outside messages
	Choice  int // index of the choice; -1 outside choices
	Role    flow.Role
	Field   flow.Field
	Tool    string // the tool's name, where the part belongs to a call
	Key     bool   // an object's key: it can't be edited
	Opaque  string // "image", "audio" or "file": content that is no text; Text is empty
	Text    string // decoded
}

// document is what requests and responses share.
type document struct {
	doc   strictjson.Doc
	parts []Part
	node  []int // by part: its node
	// server: the ids in it were made by the server. Those in a request may
	// be anything.
	server bool
	names  []string
	values map[int]bool // nodes that are taken as one text, as they are written
}

// Parts returns the strings of the body in order.
func (d *document) Parts() []Part { return d.parts }

// Raw returns the body as it came.
func (d *document) Raw() []byte { return d.doc.Raw }

// Path returns where a part is, such as messages[3].content. Keys are named
// by the object that they are in.
func (d *document) Path(p *Part) string {
	n := d.node[p.ID]
	if p.Key {
		return d.doc.Path(d.doc.Nodes[n].Parent) + "{}"
	}
	return d.doc.Path(n)
}

// Rewrite returns the body with the texts of the given parts replaced. With
// no edits it is the body itself.
func (d *document) Rewrite(edits map[int]string) []byte {
	return strictjson.Apply(nil, d.doc.Raw, d.splices(edits))
}

func (d *document) splices(edits map[int]string) []strictjson.Splice {
	var sp []strictjson.Splice
	for id, text := range edits {
		if id < 0 || id >= len(d.parts) || d.parts[id].Key || d.parts[id].Opaque != "" {
			continue
		}
		n := &d.doc.Nodes[d.node[id]]
		sp = append(sp, strictjson.Splice{Start: n.Start, End: n.End, Text: strictjson.AppendQuote(nil, []byte(text))})
	}
	sort.Slice(sp, func(i, j int) bool { return sp[i].Start < sp[j].Start })
	return sp
}

// scope is what is known about the place of a node.
type scope struct {
	message, choice int
	role            flow.Role
	field           flow.Field
	tool            string
	media           bool // inside an image, audio or file part
}

func (d *document) add(node int, s *scope, text string, opaque string, key bool) {
	d.parts = append(d.parts, Part{
		ID: len(d.parts), Message: s.message, Choice: s.choice, Role: s.role, Field: s.field, Tool: s.tool,
		Key: key, Opaque: opaque, Text: text,
	})
	d.node = append(d.node, node)
}

// walk collects the strings below a node.
func (d *document) walk(n int, s scope) {
	doc := &d.doc
	node := &doc.Nodes[n]
	if node.KeyEnd > node.KeyStart {
		key := doc.KeyBytes(n)
		if f, ok := fieldOf(string(key)); ok {
			s.field = f
		}
		switch string(key) {
		case "image_url", "input_audio", "file", "audio":
			s.media = true
		}
		if len(key) >= 4 && !knownKey(key) {
			d.add(n, &scope{message: s.message, choice: s.choice, role: s.role}, doc.Key(n), "", true)
		}
	}
	if d.values[n] {
		s.field = flow.FieldToolArguments
		d.add(n, &s, string(doc.Value(n)), "", false)
		return
	}
	switch node.Kind {
	case strictjson.Object:
		if name := doc.Find(n, "function"); name >= 0 && doc.Nodes[name].Kind == strictjson.Object {
			s.tool = doc.Text(doc.Find(name, "name"))
		}
		doc.Children(n, func(c int) bool { d.walk(c, s); return true })
	case strictjson.Array:
		doc.Children(n, func(c int) bool { d.walk(c, s); return true })
	case strictjson.String:
		d.str(n, s)
	default:
	}
}

func (d *document) str(n int, s scope) {
	doc := &d.doc
	node := &doc.Nodes[n]
	key, raw := doc.KeyBytes(n), doc.Raw[node.Start+1:node.End-1]
	if structural(key, raw) && (d.server || isWord(raw)) {
		return
	}
	if d.server && (isID(key, raw) || string(key) == "model" && doc.Nodes[node.Parent].Parent < 0 && isModel(raw)) {
		d.names = append(d.names, string(raw))
		return
	}
	if opaque := media(key, raw, s.media); opaque != "" {
		d.add(n, &s, "", opaque, false)
		return
	}
	d.add(n, &s, string(doc.Bytes(n)), "", false)
}

// media tells base64 content of media parts from text. A plain URL is text:
// it may carry a secret.
func media(key, raw []byte, inside bool) string {
	switch {
	case inside && isDataURI(raw):
		if bytes.HasPrefix(raw, []byte("data:image/")) {
			return "image"
		}
		return "file"
	case inside && len(raw) > 64 && isBase64(raw) && (string(key) == "data" || string(key) == "file_data" || string(key) == "b64_json"):
		if string(key) == "data" {
			return "audio"
		}
		return "file"
	}
	return ""
}

// isDataURI reports whether a string is a data URI of base64 and nothing else.
func isDataURI(raw []byte) bool {
	if !bytes.HasPrefix(raw, []byte("data:")) {
		return false
	}
	head, body, ok := bytes.Cut(raw, []byte(","))
	return ok && len(head) <= 128 && bytes.HasSuffix(head, []byte(";base64")) && isBase64(body)
}

// isBase64 reports whether a string can be base64 of one alphabet. Anything
// else is text, whatever the field says.
func isBase64(b []byte) bool {
	body := bytes.TrimRight(b, "=")
	if len(b)-len(body) > 2 || len(body)%4 == 1 {
		return false
	}
	for _, c := range body {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}

// structural reports whether a string is a word of the API's own: a type, a
// role, an object kind.
func structural(key, raw []byte) bool {
	switch string(key) {
	case "type", "role", "object", "finish_reason", "detail", "format", "encoding_format", "service_tier", "reasoning_effort", "tool_choice", "verbosity":
		return isWord(raw)
	case "embedding":
		return len(raw) > 256 && isBase64(raw) // a vector; numbers are no strings anyway
	}
	return false
}

// isID reports whether a string is an id that the server makes.
func isID(key, raw []byte) bool {
	switch string(key) {
	case "id", "tool_call_id", "system_fingerprint":
		return isName(raw, 64)
	}
	return false
}

// isModel reports whether a string can be the name of a model.
func isModel(raw []byte) bool {
	for name := range bytes.SplitSeq(raw, []byte("/")) {
		if !isName(name, 96) {
			return false
		}
	}
	return len(raw) <= 96
}

// isWord reports whether a string is a word of the API itself. The list need
// not be complete: another word is text, and looked at.
func isWord(b []byte) bool {
	switch string(b) {
	case "assistant", "system", "developer", "user", "tool", "function",
		"stop", "length", "tool_calls", "content_filter", "function_call",
		"chat.completion.chunk", "chat.completion", "text_completion", "list", "model", "embedding",
		"text", "image_url", "input_audio", "file", "refusal", "custom", "url_citation",
		"json_object", "json_schema", "object", "string", "number", "integer", "boolean", "array", "null",
		"auto", "none", "required", "default", "flex", "priority", "minimal", "low", "medium", "high", "float", "base64":
		return true
	}
	return false
}

func isName(b []byte, most int) bool {
	if len(b) > most {
		return false
	}
	for _, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':') {
			return false
		}
	}
	return true
}

func fieldOf(key string) (flow.Field, bool) {
	switch key {
	case "content", "text", "prompt", "input":
		return flow.FieldContent, true
	case "refusal":
		return flow.FieldRefusal, true
	case "reasoning_content", "reasoning", "thinking":
		return flow.FieldReasoning, true
	case "arguments":
		return flow.FieldToolArguments, true
	}
	return flow.FieldOther, false
}

// knownKey reports whether a key is one of the API's own and so no text.
func knownKey(key []byte) bool {
	switch string(key) {
	case "messages", "content", "role", "type", "text", "tool_calls", "function", "arguments", "name", "tool_call_id", "description", "parameters",
		"properties", "required", "model", "stream", "tools", "choices", "message", "delta", "index", "finish_reason", "usage", "object", "created",
		"items", "enum", "temperature", "max_tokens", "logprobs", "top_logprobs", "refusal", "strict", "additionalProperties",
		"system_fingerprint", "service_tier", "obfuscation", "reasoning_content", "function_call", "prompt_tokens", "completion_tokens", "total_tokens",
		"prompt_tokens_details", "completion_tokens_details", "cached_tokens", "audio_tokens", "reasoning_tokens", "accepted_prediction_tokens",
		"rejected_prediction_tokens", "annotations", "native_finish_reason", "stop_reason", "token_ids", "prompt_token_ids", "prompt_logprobs":
		return true
	}
	return false
}
