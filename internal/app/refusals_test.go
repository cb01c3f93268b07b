package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator/audit"
)

// refusalWorld is a whole installation: the gateway's three APIs, MCP servers
// behind both transports, and hooks, all over one state.
type refusalWorld struct {
	t      *testing.T
	c      *config.Config
	server *serve.Server
	client *http.Client
	far    *httptest.Server
	hooks  string // the network address of the socket
	ends   []*pipes
	sums   []func() serve.Summary
	stop   func()
}

// pipes are the ends of a proxy over stdio.
type pipes struct {
	toProxy  io.WriteCloser
	toClient *bufio.Reader
	toServer io.WriteCloser
}

// say sends lines as the client, and returns the first line that comes back.
func (p *pipes) say(lines ...string) string {
	for _, l := range lines {
		if _, err := io.WriteString(p.toProxy, l+"\n"); err != nil {
			return err.Error()
		}
	}
	line, err := p.toClient.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return line
}

// pemKey is a text with the form of a private key.
func pemKey(r *rand.Rand, end string) string {
	var b strings.Builder
	b.WriteString("-----BEGIN " + "PRIVATE KEY-----" + end)
	for range 6 {
		for range 60 {
			b.WriteByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[r.IntN(62)])
		}
		b.WriteString(end)
	}
	return b.String() + "-----END " + "PRIVATE KEY-----" + end
}

// farSide answers as the request's header X-Far says.
func farSide(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h := w.Header()
	way, stream, _ := strings.Cut(r.Header.Get("X-Far"), " ")
	api := apiOf(r.URL.Path)
	if stream != "" {
		h.Set("Content-Type", "text/event-stream")
	} else {
		h.Set("Content-Type", "application/json")
	}
	switch way {
	case "redirect":
		h.Set("Location", "https://elsewhere.example/")
		w.WriteHeader(http.StatusFound)
	case "compressed":
		h.Set("Content-Encoding", "br")
		_, _ = w.Write([]byte("x"))
	case "type":
		h.Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte("x"))
	case "garbage":
		if stream != "" {
			_, _ = io.WriteString(w, "data: {\"a\":1,\"a\":2}\n\n")
			return
		}
		_, _ = io.WriteString(w, `{"a":1,"a":2}`)
	case "large":
		if stream != "" {
			_, _ = io.WriteString(w, "data: {\"a\":\""+strings.Repeat("x", 3000)+"\"}\n\n")
			return
		}
		_, _ = io.WriteString(w, `{"a":"`+strings.Repeat("x", 9000)+`"}`)
	case "gone":
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = c.Close()
		}
	case "broken":
		_, _ = io.WriteString(w, api.opening())
	case "call", "calls":
		name := regexp.MustCompile(`margay-[a-z-]+-[a-z0-9]{14}`).Find(body)
		_, _ = io.WriteString(w, api.calls(string(name), map[string]int{"call": 1, "calls": 2}[way], stream != ""))
	case "key":
		_, _ = io.WriteString(w, api.says(pemKey(rand.New(rand.NewPCG(1, 1)), `\n`), stream != ""))
	}
}

// refusalAPI is one of the gateway's APIs.
type refusalAPI string

func apiOf(path string) refusalAPI {
	return refusalAPI(path[strings.LastIndexByte(path, '/')+1:])
}

// ask is a request that streams or does not.
func (a refusalAPI) ask(text string, stream bool) string {
	if a == "responses" {
		return fmt.Sprintf(`{"model":"m","stream":%v,"input":%q}`, stream, text)
	}
	return fmt.Sprintf(`{"model":"m","stream":%v,"max_tokens":9,"messages":[{"role":"user","content":%q}]}`, stream, text)
}

// opening is what a stream begins with.
func (a refusalAPI) opening() string {
	switch a {
	case "messages":
		return "event: message_start\ndata: " + `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n"
	case "responses":
		return "event: response.created\ndata: " + `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}` + "\n\n"
	}
	return `data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n"
}

// calls is an answer with n calls whose arguments hold a text.
func (a refusalAPI) calls(text string, n int, stream bool) string {
	args := `{\"k\":\"` + text + `\"}`
	var whole, events []string
	for i := range n {
		switch a {
		case "messages":
			whole = append(whole, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"send","input":{"k":"%s"}}`, i, text))
			events = append(
				events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"toolu_%d","name":"send","input":{}}}`, i, i),
				fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"%s"}}`, i, args),
				fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i),
			)
		case "responses":
			item := fmt.Sprintf(`{"type":"function_call","id":"fc_%d","call_id":"c%d","name":"send","arguments":"%s","status":"completed"}`, i, i, args)
			whole = append(whole, item)
			events = append(
				events, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":"c%d","name":"send","arguments":"","status":"in_progress"}}`, i, i, i),
				fmt.Sprintf(`{"type":"response.function_call_arguments.delta","item_id":"fc_%d","output_index":%d,"delta":"%s"}`, i, i, args),
				fmt.Sprintf(`{"type":"response.function_call_arguments.done","item_id":"fc_%d","output_index":%d,"arguments":"%s"}`, i, i, args),
				fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item),
			)
		default:
			call := fmt.Sprintf(`{"index":%d,"id":"call_%d","type":"function","function":{"name":"send","arguments":"%s"}}`, i, i, args)
			whole = append(whole, call)
			events = append(events, `{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[`+call+`]}}]}`)
		}
	}
	return a.answer(strings.Join(whole, ","), events, true, stream)
}

// says is an answer with a text.
func (a refusalAPI) says(text string, stream bool) string {
	switch a {
	case "messages":
		return a.answer(`{"type":"text","text":"`+text+`"}`, []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`, `{"type":"content_block_stop","index":0}`,
		}, false, stream)
	case "responses":
		item := `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}`
		return a.answer(item, []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"in_progress","content":[]}}`,
			`{"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}`,
			`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"` + text + `"}`,
			`{"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"` + text + `"}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		}, false, stream)
	}
	return a.answer(`"`+text+`"`, []string{`{"id":"x","choices":[{"index":0,"delta":{"content":"` + text + `"}}]}`}, false, stream)
}

// answer frames an answer.
func (a refusalAPI) answer(whole string, events []string, calls, stream bool) string {
	var all, typed string
	for _, e := range events {
		name, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
		typed += "event: " + name + "\ndata: " + e + "\n\n"
	}
	switch a {
	case "messages":
		if !stream {
			return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + whole + `],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`
		}
		return a.opening() + typed + "event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}` + "\n\nevent: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n"
	case "responses":
		done := `{"id":"resp_1","object":"response","status":"completed","output":[` + whole + `]}`
		if !stream {
			return done
		}
		return a.opening() + typed + "event: response.completed\ndata: " + `{"type":"response.completed","response":` + done + "}\n\n"
	}
	if !stream {
		message := `{"role":"assistant","content":` + whole + `}`
		if calls {
			message = `{"role":"assistant","content":null,"tool_calls":[` + whole + `]}`
		}
		return `{"id":"x","choices":[{"index":0,"message":` + message + `,"finish_reason":"stop"}]}`
	}
	for _, e := range events {
		all += "data: " + e + "\n\n"
	}
	return all + `data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
}

// newRefusalWorld starts it. Taint: calls are held to labels, too.
func newRefusalWorld(t *testing.T, taint string) *refusalWorld {
	t.Helper()
	w := &refusalWorld{t: t, client: &http.Client{Transport: &http.Transport{}}, far: httptest.NewServer(http.HandlerFunc(farSide))}
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w.c = config.Default()
	w.c.StateDir, w.c.Upstream, w.c.Anthropic = t.TempDir(), w.far.URL+"/v1", w.far.URL
	w.c.Limits.Body, w.c.Limits.Event, w.c.Taint.Mode = 8<<10, 2<<10, taint
	w.c.Policy.Generate = map[string]string{"private-key": "block"}
	w.c.MCP.Servers = map[string]config.MCPServer{"far": {URL: w.far.URL + "/mcp"}}
	must(t, w.c.Check())
	st, err := state.Open(t.Context(), w.c)
	must(t, err)
	ln, err := serve.Listen(w.c, "127.0.0.1:0")
	must(t, err)
	hooks, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	w.hooks = hooks.Addr().String()
	log := slog.New(slog.DiscardHandler)
	w.server, err = serve.New(w.c, st, serve.Options{Listener: ln, Log: log, Grace: time.Second, Hooks: hooks, Console: true})
	must(t, err)
	w.sums = append(w.sums, w.server.Summary)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.server.Serve(ctx) }()
	var proxies sync.WaitGroup
	recorder := serve.Record(w.c, st, nil, log)
	for range 4 {
		proxy, sum, err := serve.NewServerProxy(w.c, st, serve.ServerOptions{Name: "pipe", Identity: "pipe", Log: log, Trace: serve.TraceOf(w.c, recorder)})
		must(t, err)
		w.sums = append(w.sums, sum)
		fromClient, toProxy := io.Pipe()
		clientEnd, toClient := io.Pipe()
		fromServer, serverEnd := io.Pipe()
		serverIn, toServer := io.Pipe()
		proxies.Go(func() { _, _ = io.Copy(io.Discard, serverIn) })
		proxies.Go(func() {
			_ = proxy.Stdio(ctx, mcpproxy.Pipes{FromClient: fromClient, ToClient: toClient, FromServer: fromServer, ToServer: toServer})
			_ = toClient.Close()
		})
		w.ends = append(w.ends, &pipes{toProxy, bufio.NewReaderSize(clientEnd, 1<<20), serverEnd})
	}
	w.stop = func() {
		for _, p := range w.ends {
			_, _ = p.toProxy.Close(), p.toServer.Close()
		}
		proxies.Wait()
		recorder.Close()
		w.client.CloseIdleConnections()
		cancel()
		must(t, <-done)
		st.Close()
		w.far.Close()
	}
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// send sends a request and returns all that the client reads.
func (w *refusalWorld) send(method, path, body string, headers ...string) string {
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.server.Base()+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Margay-Decision")) + " " + string(b)
}

// refusalKind is one way to be refused: n refusals, and what the client reads.
type refusalKind struct {
	n  int
	do func(w *refusalWorld, r *rand.Rand, worker int) string
}

// refusalKinds are all of them, by name.
func refusalKinds() map[string]refusalKind {
	out := map[string]refusalKind{}
	token := "gh" + "p_" + strings.Repeat("aB3dE5gH", 4) + "jK7m"
	for _, a := range []string{"chat/completions", "responses", "messages"} {
		api, path := apiOf(a), "/v1/"+a
		for _, stream := range []bool{false, true} {
			body, mark := api.ask("hello", stream), ""
			if stream {
				mark = " stream"
			}
			add := func(what string, n int, method, path, body string, headers ...string) {
				out[a+mark+" "+what] = refusalKind{n, func(w *refusalWorld, _ *rand.Rand, _ int) string { return w.send(method, path, body, headers...) }}
			}
			add("not JSON", 1, "POST", path, body[:len(body)-2])
			add("twice", 1, "POST", path, `{"model":"m",`+body[1:])
			add("too large", 1, "POST", path, api.ask(strings.Repeat("x", 9000), stream))
			add("content type", 1, "POST", path, body, "Content-Type", "text/plain")
			add("encoding", 1, "POST", path, body, "Content-Encoding", "br")
			add("gzip", 1, "POST", path, body, "Content-Encoding", "gzip")
			add("verb", 1, "PUT", path, body)
			add("path", 1, "POST", path+"/else", body)
			add("no API", 1, "POST", "/v2/x", body)
			add("trajectory", 1, "POST", path, body, "Margay-Trajectory", "mine")
			add("origin", 1, "POST", path, body, "Origin", "https://evil.example")
			add("query", 1, "POST", path+"?k="+token, body)
			for _, way := range []string{"redirect", "compressed", "garbage", "large", "gone", "key", "call"} {
				add(way, 1, "POST", path, api.ask("my key is "+token, stream), "X-Far", way+mark)
			}
			add("calls", 2, "POST", path, api.ask("my key is "+token, stream), "X-Far", "calls"+mark)
			if stream {
				add("broken", 1, "POST", path, body, "X-Far", "broken"+mark)
			} else {
				add("type", 1, "POST", path, body, "X-Far", "type")
			}
		}
	}
	maps.Copy(out, mcpRefusals())
	maps.Copy(out, hookRefusals(token))
	return out
}

// mcpMessages are messages of clients that are refused, whatever carries them.
func mcpMessages() map[string]string {
	return map[string]string{
		"not JSON":  `{"jsonrpc":"2.0",`,
		"twice":     `{"jsonrpc":"2.0","id":7,"id":7,"method":"ping"}`,
		"batch":     `[{"jsonrpc":"2.0","id":8,"method":"ping"}]`,
		"too large": `{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"` + strings.Repeat("x", 9000) + `"}}`,
		"key":       `{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"write","arguments":{"t":"` + pemKey(rand.New(rand.NewPCG(2, 2)), `\n`) + `"}}}`,
	}
}

func mcpRefusals() map[string]refusalKind {
	out := map[string]refusalKind{}
	for what, m := range mcpMessages() {
		out["stdio "+what] = refusalKind{1, func(w *refusalWorld, _ *rand.Rand, worker int) string { return w.ends[worker].say(m) }}
		out["mcp "+what] = refusalKind{1, func(w *refusalWorld, _ *rand.Rand, _ int) string { return w.send("POST", "/mcp/far", m) }}
	}
	n := 0
	var mu sync.Mutex
	out["stdio id in use"] = refusalKind{1, func(w *refusalWorld, _ *rand.Rand, worker int) string {
		mu.Lock()
		n++
		m := fmt.Sprintf(`{"jsonrpc":"2.0","id":"u%d","method":"ping"}`, n)
		done := fmt.Sprintf(`{"jsonrpc":"2.0","id":"u%d","result":{}}`+"\n", n)
		mu.Unlock()
		got := w.ends[worker].say(m, m)
		_, _ = io.WriteString(w.ends[worker].toServer, done)
		_, _ = w.ends[worker].toClient.ReadString('\n')
		return got
	}}
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	add := func(what, method, path, body string, headers ...string) {
		out["mcp "+what] = refusalKind{1, func(w *refusalWorld, _ *rand.Rand, _ int) string { return w.send(method, path, body, headers...) }}
	}
	add("origin", "POST", "/mcp/far", ping, "Origin", "https://evil.example")
	add("trajectory", "POST", "/mcp/far", ping, "Margay-Trajectory", "mine")
	add("verb", "PUT", "/mcp/far", ping)
	add("content type", "POST", "/mcp/far", ping, "Content-Type", "text/plain")
	add("encoding", "POST", "/mcp/far", ping, "Content-Encoding", "gzip")
	add("server", "POST", "/mcp/nowhere", ping)
	for _, way := range []string{"redirect", "compressed", "garbage", "large", "gone", "type"} {
		add(way, "POST", "/mcp/far", ping, "X-Far", way)
	}
	return out
}

func hookRefusals(token string) map[string]refusalKind {
	out := map[string]refusalKind{}
	for _, e := range [][3]string{
		{"claude-code", "not JSON", `{"hook_event_name":`},
		{"codex", "no name", `{"session_id":"s"}`},
		{"cursor", "twice", `{"hook_event_name":"stop","hook_event_name":"stop"}`},
		{"nobody", "unknown harness", `{"hook_event_name":"Stop"}`},
		{"codex", "unknown event", `{"hook_event_name":"New","session_id":"s","text":"some text"}`},
		{"claude-code", "unknown event", `{"hook_event_name":"New","session_id":"s","text":"some text"}`},
		{"claude-code", "prompt", `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"use ` + token + `"}`},
		{"codex", "permission", `{"hook_event_name":"PermissionRequest","session_id":"s","tool_name":"Bash","tool_input":{"command":"echo ` + token + `"}}`},
		{"cursor", "command", `{"hook_event_name":"beforeShellExecution","conversation_id":"c","command":"echo ` + token + `"}`},
		{"claude-code", "key", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Write","tool_input":{"content":"` + pemKey(rand.New(rand.NewPCG(3, 3)), `\n`) + `"}}`},
	} {
		out["hook "+e[0]+" "+e[1]] = refusalKind{1, func(w *refusalWorld, _ *rand.Rand, _ int) string {
			conn, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", w.hooks)
			if err != nil {
				return err.Error()
			}
			a, err := hook.Ask(w.t.Context(), conn, e[0], []byte(e[2]))
			return fmt.Sprint(err, " ", string(a.Out.Bytes()), string(a.Err.Bytes()))
		}}
	}
	return out
}

// decisionID is how the client is told of a decision.
var decisionID = regexp.MustCompile(`(?:explain |decision |"decision":\s*"|^\d+ )([0-9A-HJKMNP-TV-Z]{26})\b`)

// TestClaimsRefusals: each refusal, by every connector and of every kind, is a
// decision with an id that the client reads. The log, the report, the counts by
// the minute and the summary agree with what clients read about the ids and how
// many there were.
func TestClaimsRefusals(t *testing.T) {
	total := 2000
	if testing.Short() {
		total /= 5
	}
	for _, taint := range []string{"off", "on"} {
		t.Run("taint "+taint, func(t *testing.T) {
			w := newRefusalWorld(t, taint)
			told := w.refuse(total/2, 7)
			w.stop()
			sum := 0
			for _, n := range told {
				sum += n
			}
			denied := 0
			for _, s := range w.sums {
				denied += s().Denied
			}
			if denied != sum {
				t.Errorf("clients were refused %d times, the summaries say %d", sum, denied)
			}
			logged := w.logged()
			if most := slices.Max(slices.Collect(maps.Values(told))); !testing.Short() && (most < 10 || len(logged) > total/2) {
				t.Errorf("%d decisions, of which one counts %d: no flood was counted", len(logged), most)
			}
			agree(t, "the log", told, logged)
			for id := range logged {
				if told[id] == 0 {
					t.Logf("%s", w.margay("explain", id))
				}
			}
			reported, all := w.reported()
			agree(t, "the report", told, reported)
			if all != sum {
				t.Errorf("clients were refused %d times, the report's totals say %d", sum, all)
			}
			if n := w.tallied(); n != sum {
				t.Errorf("clients were refused %d times, the counts by the minute say %d", sum, n)
			}
		})
	}
}

// refuse is refused some times, and returns the decisions that clients read and
// how often each.
func (w *refusalWorld) refuse(times int, seed uint64) map[string]int {
	kinds := refusalKinds()
	names := slices.Sorted(maps.Keys(kinds))
	told := map[string]int{}
	often := []string{"chat/completions not JSON", "responses stream gone", "mcp twice", "stdio batch", "hook codex no name"}
	var mu sync.Mutex
	var all sync.WaitGroup
	for worker := range w.ends {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for i := worker; i < times; i += len(w.ends) {
				// Each kind once, then most often a few of them.
				name := names[r.IntN(len(names))]
				switch {
				case i < len(names):
					name = names[i]
				case r.IntN(4) > 0:
					name = often[r.IntN(len(often))]
				}
				k := kinds[name]
				got := k.do(w, r, worker)
				ids := map[string]bool{}
				for _, m := range decisionID.FindAllStringSubmatch(got, -1) {
					ids[m[1]] = true
				}
				mu.Lock()
				if len(ids) != k.n {
					w.t.Errorf("%s: the client reads of %d decisions, want %d: %.600s", name, len(ids), k.n, got)
				}
				for id := range ids {
					told[id]++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return told
}

func agree(t *testing.T, what string, told, has map[string]int) {
	t.Helper()
	for id, n := range told {
		if has[id] != n {
			t.Errorf("clients read %d times of %s, %s has it %d times", n, id, what, has[id])
		}
	}
	for id, n := range has {
		if told[id] == 0 {
			t.Errorf("%s has a refusal %s, ×%d, of which no client read", what, id, n)
		}
	}
}

// margay runs a command in the world's state.
func (w *refusalWorld) margay(args ...string) []byte {
	w.t.Helper()
	var out, errs bytes.Buffer
	if code := Main(append([]string{"--state-dir", w.c.StateDir}, args...), strings.NewReader(""), &out, &errs); code != 0 {
		w.t.Fatalf("margay %s: %d, %s", args[0], code, errs.String())
	}
	return out.Bytes()
}

// logged are the refusals that margay log shows.
func (w *refusalWorld) logged() map[string]int {
	out := map[string]int{}
	for line := range bytes.Lines(w.margay("log", "--json", "--lines", "0")) {
		var en audit.Entry
		must(w.t, json.Unmarshal(line, &en))
		if en.Outcome == flow.Deny {
			out[en.ID] += en.N()
		}
	}
	return out
}

// reported are the refusals of a report, and its total of them.
func (w *refusalWorld) reported() (map[string]int, int) {
	var d struct {
		Totals []struct {
			Outcome flow.Outcome
			N       int
		}
		Trajectories []struct {
			Decisions []struct {
				ID      string
				Outcome flow.Outcome
				Count   int
			}
		}
		LeftOut []string `json:"left_out"`
	}
	out, total := map[string]int{}, 0
	b := w.margay("report", "--json", "--since", "1h")
	must(w.t, json.NewDecoder(bytes.NewReader(b)).Decode(&d))
	for _, t := range d.Totals {
		if t.Outcome == flow.Deny {
			total += t.N
		}
	}
	for _, t := range d.Trajectories {
		for _, e := range t.Decisions {
			if e.Outcome == flow.Deny {
				out[e.ID] += max(e.Count, 1)
			}
		}
	}
	return out, total
}

// tallied is how many refusals observers counted.
func (w *refusalWorld) tallied() int {
	st, err := state.Open(w.t.Context(), w.c)
	must(w.t, err)
	defer st.Close()
	all, err := st.Store.Tallies(w.t.Context(), time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	must(w.t, err)
	n := 0
	for _, x := range all {
		if x.Outcome == flow.Deny {
			n += x.N
		}
	}
	return n
}
