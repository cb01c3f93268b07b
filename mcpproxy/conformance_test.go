package mcpproxy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/internal/sse"
)

// place is somewhere in a message where text may stand. @ is where.
type place struct {
	name    string
	server  bool   // the server sends it
	message string // of the side; a client's request has the id 1
	// request is what the client asked first, where message answers it; or
	// what the server asked, where a client's message answers that.
	request string
	names   bool // it can't be edited: a secret there stops the message
	encoded bool // it stands there in base64
}

const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}`

func answers(method, result string) (request, message string) {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{}}`, `{"jsonrpc":"2.0","id":1,"result":` + result + `}`
}

// places are the text-bearing places of the protocol, of both generations.
func places() []place {
	var out []place
	// What the client asks.
	for name, params := range map[string]string{
		"tools/call arguments":            `tools/call {"name":"t","arguments":{"a":"@"}}`,
		"tools/call arguments deep":       `tools/call {"name":"t","arguments":{"a":[{"b":{"c":["x","@"]}}]}}`,
		"tools/call _meta":                `tools/call {"name":"t","_meta":{"k":"@"}}`,
		"tools/call inputResponses":       `tools/call {"name":"t","arguments":{},"inputResponses":{"w":{"action":"accept","content":{"f":"@"}}}}`,
		"tools/call inputResponses model": `tools/call {"name":"t","inputResponses":{"w":{"role":"assistant","model":"m","content":{"type":"text","text":"@"}}}}`,
		"prompts/get arguments":           `prompts/get {"name":"p","arguments":{"a":"@"}}`,
		"resources/read uri":              `resources/read {"uri":"file:///x?k=@"}`,
		"completion argument":             `completion/complete {"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"n","value":"@"}}`,
		"completion context":              `completion/complete {"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"n","value":"v"},"context":{"arguments":{"a":"@"}}}`,
		"initialize clientInfo":           `initialize {"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":"@"}},"clientInfo":{"name":"c","version":"1"}}`,
		"unknown method":                  `vendor/thing {"unheard":{"of":"@"}}`,
	} {
		method, p, _ := strings.Cut(params, " ")
		out = append(out, place{name: name, message: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + p + `}`})
	}
	for name, params := range map[string]string{
		"tools/call name": `tools/call {"name":"@"}`, "tools/call key": `tools/call {"name":"t","_meta":{"@":1}}`,
		"cursor": `tools/list {"cursor":"@"}`, "requestState": `tools/call {"name":"t","requestState":"@"}`, "progressToken": `tools/call {"name":"t","_meta":{"progressToken":"@"}}`,
		"method": `@ {}`,
	} {
		method, p, _ := strings.Cut(params, " ")
		out = append(out, place{name: name, names: true, message: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + p + `}`})
	}
	out = append(out, place{name: "id", names: true, message: `{"jsonrpc":"2.0","id":"@","method":"ping"}`})
	// What the client answers, and says.
	for name, r := range map[string]string{
		"sampling result":    `sampling/createMessage {"role":"assistant","model":"m","content":{"type":"text","text":"@"}}`,
		"sampling tool use":  `sampling/createMessage {"role":"assistant","model":"m","content":[{"type":"tool_use","id":"i","name":"n","input":{"a":"@"}}]}`,
		"elicitation result": `elicitation/create {"action":"accept","content":{"field":"@"}}`,
		"roots":              `roots/list {"roots":[{"uri":"file:///home/@","name":"n"}]}`,
	} {
		method, res, _ := strings.Cut(r, " ")
		req, msg := answers(method, res)
		out = append(out, place{name: name, request: req, message: msg})
	}
	out = append(out,
		place{name: "client's error", request: `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, message: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"x":"@"}}}`},
		place{name: "cancelled", message: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"@"}}`},
		place{name: "client's progress", message: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"@"}}`},
	)
	// What the server answers.
	for name, r := range map[string]string{
		"result text":             `tools/call {"content":[{"type":"text","text":"say @ loud"}]}`,
		"result second text":      `tools/call {"content":[{"type":"text","text":"clean"},{"type":"text","text":"@"}]}`,
		"result structured":       `tools/call {"content":[{"type":"text","text":"{\"k\":\"@\"}"}],"structuredContent":{"k":"@"}}`,
		"result structured alone": `tools/call {"content":[],"structuredContent":{"k":["@"]}}`,
		"result embedded":         `tools/call {"content":[{"type":"resource","resource":{"uri":"u:v","text":"@"}}]}`,
		"result link":             `tools/call {"content":[{"type":"resource_link","uri":"https://h/?k=@","name":"n","description":"d"}]}`,
		"result link description": `tools/call {"content":[{"type":"resource_link","uri":"u:v","name":"n","description":"@"}]}`,
		"result not base64":       `tools/call {"content":[{"type":"image","data":"@ !","mimeType":"image/png"}]}`,
		"result _meta":            `tools/call {"content":[],"_meta":{"k":"@"}}`,
		"result error":            `tools/call {"content":[{"type":"text","text":"failed: @"}],"isError":true}`,
		"input required message":  `tools/call {"resultType":"input_required","inputRequests":{"w":{"method":"elicitation/create","params":{"mode":"form","message":"@","requestedSchema":{"type":"object"}}}}}`,
		"input required sampling": `tools/call {"resultType":"input_required","inputRequests":{"w":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"@"}}]}}}}`,
		"tools description":       `tools/list {"tools":[{"name":"t","description":"@","inputSchema":{"type":"object"}}]}`,
		"tools schema":            `tools/list {"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"p":{"type":"string","default":"@"}}}}]}`,
		"prompts description":     `prompts/list {"prompts":[{"name":"p","description":"@","arguments":[{"name":"a","description":"d"}]}]}`,
		"prompts argument":        `prompts/list {"prompts":[{"name":"p","arguments":[{"name":"a","description":"@"}]}]}`,
		"prompt text":             `prompts/get {"messages":[{"role":"user","content":{"type":"text","text":"@"}}]}`,
		"prompt embedded":         `prompts/get {"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"u:v","text":"@"}}}]}`,
		"resources name":          `resources/list {"resources":[{"uri":"u:v","name":"@"}]}`,
		"resources uri":           `resources/list {"resources":[{"uri":"u:@","name":"n"}]}`,
		"templates":               `resources/templates/list {"resourceTemplates":[{"uriTemplate":"u:{x}","name":"n","description":"@"}]}`,
		"resource text":           `resources/read {"contents":[{"uri":"u:v","mimeType":"text/plain","text":"@"}]}`,
		"completion values":       `completion/complete {"completion":{"values":["a","@"],"hasMore":false}}`,
		"instructions":            `initialize {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"},"instructions":"@"}`,
		"serverInfo":              `initialize {"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","title":"@","version":"1"}}`,
		"discover":                `server/discover {"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"@"}`,
		"unknown result":          `vendor/thing {"unheard":["of",{"x":"@"}]}`,
	} {
		method, res, _ := strings.Cut(r, " ")
		req, msg := answers(method, res)
		out = append(out, place{name: name, server: true, request: req, message: msg})
	}
	req, msg := answers("resources/read", `{"contents":[{"uri":"u:v","blob":"@"}]}`)
	out = append(out, place{name: "resource blob of text", server: true, request: req, message: msg, encoded: true})
	for name, r := range map[string]string{
		"tools name": `tools/list {"tools":[{"name":"@","inputSchema":{"type":"object"}}]}`, "nextCursor": `tools/list {"tools":[],"nextCursor":"@"}`,
		"schema key":            `tools/list {"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"@":{"type":"string"}}}}]}`,
		"server's requestState": `tools/call {"resultType":"input_required","inputRequests":{},"requestState":"@"}`,
	} {
		method, res, _ := strings.Cut(r, " ")
		req, msg := answers(method, res)
		out = append(out, place{name: name, server: true, names: true, request: req, message: msg})
	}
	// What the server says and asks.
	out = append(out,
		place{name: "error message", server: true, request: call, message: `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"can't open @"}}`},
		place{name: "error data", server: true, request: call, message: `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m","data":{"trace":["@"]}}}`},
	)
	for name, m := range map[string]string{
		"log text":          `"method":"notifications/message","params":{"level":"info","data":"@"}`,
		"log data":          `"method":"notifications/message","params":{"level":"info","data":{"k":{"l":"@"}}}`,
		"progress":          `"method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"@"}`,
		"updated":           `"method":"notifications/resources/updated","params":{"uri":"u:@"}`,
		"unknown":           `"method":"notifications/vendor","params":{"unheard":"@"}`,
		"sampling text":     `"id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"@"}}]}`,
		"sampling system":   `"id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"systemPrompt":"@","messages":[]}`,
		"sampling result":   `"id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"x","content":[{"type":"text","text":"@"}]}]}]}`,
		"elicitation":       `"id":1,"method":"elicitation/create","params":{"mode":"form","message":"@","requestedSchema":{"type":"object","properties":{}}}`,
		"elicitation field": `"id":1,"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"f":{"type":"string","description":"@"}}}}`,
		"elicitation url":   `"id":1,"method":"elicitation/create","params":{"mode":"url","message":"m","elicitationId":"e","url":"https://h/?k=@"}`,
	} {
		out = append(out, place{name: "server's " + name, server: true, message: `{"jsonrpc":"2.0",` + m + `}`})
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.name, b.name) })
	return out
}

// fill puts a value into a message.
func (p *place) fill(value string) string {
	if p.encoded {
		value = base64.StdEncoding.EncodeToString([]byte("the key is " + value + " indeed"))
	}
	return strings.ReplaceAll(p.message, "@", value)
}

// carrier brings a message of a side through a proxy, and returns what comes
// out at the other side and what comes back.
type carrier func(t *testing.T, p *Proxy, pl *place, message string) (through, back string)

// Every text-bearing place, over both transports: nothing of a secret passes,
// everything else is unchanged.
func TestConformance(t *testing.T) {
	known, found := random(11, 32), token(12)
	for transport, carry := range map[string]carrier{"stdio": overStdio, "http": overHTTP, "sse": overSSE} {
		for _, pl := range places() {
			if transport == "sse" && !pl.server {
				continue // a client sends no events
			}
			if transport == "http" && pl.server && pl.request == "" {
				continue // what nobody asked for comes in a stream
			}
			t.Run(transport+"/"+pl.name, func(t *testing.T) {
				for what, value := range map[string]string{"none": "nothing special", "registered": known, "recognised": found} {
					p, _ := newProxy(t, nil, known)
					message := pl.fill(value)
					if what == "none" && (pl.names || strings.Contains(pl.message, "uri") || strings.Contains(pl.message, "url")) {
						message = pl.fill("nothing-special")
					}
					through, back := carry(t, p, &pl, message)
					both := through + back
					if pl.name == "id" {
						both = through // its sender gets its own id back
					}
					switch {
					case what == "none" && through != message:
						t.Errorf("clean traffic: sent %s, came %s, back %s", message, through, back)
					case what == "none":
					case leaks(both, value):
						t.Errorf("%s: the secret passes", what)
					case pl.names && !pl.server && through != "", pl.names && !strings.Contains(through+back, `"error"`) && !strings.Contains(through+back, `"isError":true`):
						t.Errorf("%s: it is not refused: %s, back %s", what, through, back)
					case !pl.names && through == "":
						t.Errorf("%s: nothing passes; back came %s", what, back)
					case !pl.names && !unchanged(t, &pl, through, value):
						t.Errorf("%s: something else changed: %s", what, through)
					}
				}
			})
		}
	}
}

// leaks reports whether a value, or a half of it, is in a text in one of the
// forms that it was sent in.
func leaks(text, value string) bool {
	half := value[len(value)/4 : len(value)*3/4]
	if strings.Contains(text, half) {
		return true
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("\"\\ ", r) }) {
		if b, err := base64.StdEncoding.DecodeString(word); err == nil && bytes.Contains(b, []byte(half)) {
			return true
		}
	}
	return false
}

// unchanged reports whether a message is as it was but for the place.
func unchanged(t *testing.T, pl *place, got, value string) bool {
	t.Helper()
	before, after, _ := strings.Cut(pl.message, "@")
	if pl.encoded || strings.Count(pl.message, "@") > 1 {
		var a, b any
		if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(pl.fill(value)), &b) != nil {
			return false
		}
		return shape(a) == shape(b) && copiesAgree(a)
	}
	return strings.HasPrefix(got, before) && strings.HasSuffix(got, after)
}

// shape is a value without its strings.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		out := "{"
		for _, k := range slices.Sorted(mapKeys(v)) {
			out += k + ":" + shape(v[k]) + ","
		}
		return out + "}"
	case []any:
		out := "["
		for _, x := range v {
			out += shape(x) + ","
		}
		return out + "]"
	case string:
		return "s"
	default:
		return fmt.Sprint(v)
	}
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// copiesAgree reports whether a result's text says what its structured content
// does, where it has both.
func copiesAgree(v any) bool {
	m, _ := v.(map[string]any)
	res, _ := m["result"].(map[string]any)
	structured, ok := res["structuredContent"]
	content, _ := res["content"].([]any)
	if !ok || len(content) == 0 {
		return true
	}
	text, _ := content[0].(map[string]any)["text"].(string)
	var copied any
	return json.Unmarshal([]byte(text), &copied) == nil && fmt.Sprint(copied) == fmt.Sprint(structured)
}

// script plays one side over pipes: it waits for the other's lines.
func overStdio(t *testing.T, p *Proxy, pl *place, message string) (through, back string) {
	t.Helper()
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		_ = p.Stdio(context.Background(), Pipes{FromClient: fromClient, ToClient: toClient, FromServer: fromServer, ToServer: toServer})
		_ = toClient.Close()
		_ = fromClient.Close()
	})
	got := map[bool]*bytes.Buffer{true: {}, false: {}} // by whether the client got it
	lines := map[bool]chan string{true: make(chan string, 8), false: make(chan string, 8)}
	read := func(client bool, r io.Reader) {
		b := make([]byte, 1<<16)
		for {
			n, err := r.Read(b)
			if n > 0 {
				lines[client] <- string(b[:n])
			}
			if err != nil {
				close(lines[client])
				return
			}
		}
	}
	done.Go(func() { read(true, clientIn) })
	done.Go(func() { read(false, serverIn) })
	if pl.request != "" { // the other side asks first
		w, seen := io.Writer(clientOut), false
		if !pl.server {
			w, seen = serverOut, true
		}
		if _, err := io.WriteString(w, pl.request+"\n"); err != nil {
			t.Fatal(err)
		}
		<-lines[seen]
	}
	w := io.Writer(clientOut)
	if pl.server {
		w = serverOut
	}
	if _, err := io.WriteString(w, message+"\n"); err != nil {
		t.Fatal(err)
	}
	_ = clientOut.Close() // the server's input ends behind the message
	for l := range lines[false] {
		got[false].WriteString(l)
	}
	_ = serverOut.Close()
	for l := range lines[true] {
		got[true].WriteString(l)
	}
	done.Wait()
	one := func(client bool) string {
		for l := range strings.SplitSeq(strings.TrimSpace(got[client].String()), "\n") {
			if !strings.Contains(l, `"server-ended"`) {
				return l
			}
		}
		return ""
	}
	return one(pl.server), one(!pl.server)
}

func overHTTP(t *testing.T, p *Proxy, pl *place, message string) (through, back string) {
	t.Helper()
	return exchanged(t, p, pl, message, "application/json", func(m string) string { return m }, func(b string) string { return b })
}

func overSSE(t *testing.T, p *Proxy, pl *place, message string) (through, back string) {
	t.Helper()
	return exchanged(t, p, pl, message, "text/event-stream",
		func(m string) string { return "event: message\nid: 5\ndata: " + m + "\n\n" },
		func(b string) string {
			ev, err := sse.NewReader(strings.NewReader(b), 1<<20).Next()
			if err != nil {
				return ""
			}
			return string(ev.Data)
		})
}

// exchanged brings a message through a proxy over HTTP.
func exchanged(t *testing.T, p *Proxy, pl *place, message, typ string, frame, unframe func(string) string) (through, back string) {
	t.Helper()
	var received bytes.Buffer
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pl.server {
			w.Header().Set("Content-Type", typ)
			_, _ = io.WriteString(w, frame(message))
			return
		}
		_, _ = io.Copy(&received, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	h, err := p.Handler(HTTPConfig{URL: u})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	body := message
	method := http.MethodPost
	if pl.server {
		body = pl.request
		if body == "" {
			method = http.MethodGet
		}
	}
	r := httptest.NewRequest(method, "http://127.0.0.1/mcp/test", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if pl.server {
		return unframe(w.Body.String()), ""
	}
	return received.String(), w.Body.String()
}
