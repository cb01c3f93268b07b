package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/mcpproxy"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
)

// TestConnectorsDecideAlike: a session of calls of a server's tools is decided alike by
// the gateway, the MCP proxy and the hook. ALIKE plays that many random sessions, 1,000 by default, and
// ALIKE_SEED draws others.
//
// The proxy and the hook see calls and results, and hold a call to all that was told
// before it. So does the gateway where it makes no step again. What a user said is seen
// by the gateway alone: these users name no place.
func TestConnectorsDecideAlike(t *testing.T) {
	n := 1000
	if s := os.Getenv("ALIKE"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	drawn, _ := strconv.ParseUint(os.Getenv("ALIKE_SEED"), 10, 64)
	kinds := map[string]int{}
	for seed := range n {
		steps := randomSession(rand.New(rand.NewPCG(1+drawn, uint64(seed))))
		byGateway, byProxy, byHook := throughGateway(t, alikePolicy(t, false), steps), throughProxy(t, alikePolicy(t, false), steps), throughHook(t, alikePolicy(t, false), steps)
		if byGateway != byProxy || byGateway != byHook {
			t.Fatalf("session %d: %+v\ngateway %s\nproxy   %s\nhook    %s", seed, steps, byGateway, byProxy, byHook)
		}
		for _, k := range strings.Fields(byGateway) {
			kinds[k]++
		}
	}
	t.Logf("%d sessions, decided alike: %v", n, kinds)
	if len(kinds) != 4 || kinds["made"] < n/4 || kinds["asked-yes"] < n/20 || kinds["asked-no"] < n/20 || kinds["refused"] < n/20 {
		t.Errorf("the sessions show little: %v", kinds)
	}
}

// TestConnectorsDiffer: the comparison finds a connector that has another policy.
func TestConnectorsDiffer(t *testing.T) {
	differ := 0
	for seed := range 40 {
		steps := randomSession(rand.New(rand.NewPCG(1, uint64(seed))))
		want := throughProxy(t, alikePolicy(t, false), steps)
		if throughGateway(t, alikePolicy(t, true), steps) != want && throughHook(t, alikePolicy(t, true), steps) != want {
			differ++
		}
	}
	if differ == 0 {
		t.Error("another policy shows in no session")
	}
}

// step is a call, what the tool returns, and what the user says if he is asked.
type alikeStep struct {
	tool, args, result string
	yes                bool
}

func randomSession(r *rand.Rand) (out []alikeStep) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 1 + r.IntN(7) {
		s := alikeStep{tool: pick("read", "read", "mine", "mine", "send", "pay", "wipe", "list", "list", "post", "add", "own", "strange"), yes: r.IntN(2) == 0}
		s.args = pick(`{}`, `{"q":"some words"}`, `{"q":"https://a.example/x"}`, `{"to":"bob","note":"hi"}`, `{"to":"eve","q":["x",{"y":1}]}`, `{"other":true}`)
		s.result = pick(`{"id":"a1"}`, `{"id":"a1","text":"some words"}`, "some words", `[{"n":1},{"n":2}]`, `{"ok":true}`, "", `{"iban":"x"}`)
		out = append(out, s)
	}
	return out
}

// alikePolicy is the policy of all three. Another one reads mail without a stranger.
func alikePolicy(t *testing.T, another bool) *taint.Policy {
	t.Helper()
	q, err := document.ParsePath("q")
	if err != nil {
		t.Fatal(err)
	}
	trusted, any := observe.Mark{Trusted: true, Public: true}, []string{"q", "to", "note"}
	reach := effect.Reach
	read := observe.Annotation{}
	if another {
		read.Default = trusted
	}
	p, err := taint.New(taint.Config{Scheme: observe.Machine(), Tools: []taint.Tool{
		{Name: "mcp__srv__read", Args: any, Result: read, Rules: []taint.Rule{{Source: taint.ReachAny, Reader: taint.ReachAny}}},
		{Name: "mcp__srv__mine", Args: any, Result: observe.Annotation{Default: trusted}, Rules: []taint.Rule{{Source: taint.ReachAny, Reader: taint.ReachAny}}},
		{Name: "mcp__srv__send", Args: any, Rules: []taint.Rule{{Reader: taint.ReachHigh}}},
		{Name: "mcp__srv__post", Args: any, Result: observe.Annotation{Default: trusted}, Rules: []taint.Rule{{Spec: &act.Spec{Effect: &reach, To: []document.Path{q}}}}},
		{Name: "mcp__srv__pay", Args: any, Result: observe.Annotation{Default: trusted}, Rules: []taint.Rule{{Reader: taint.ReachAny, Confirm: true}}},
		{Name: "mcp__srv__wipe", Rules: []taint.Rule{{Deny: true, Why: "never"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]effect.Profile{"mcp__srv__list": {}, "mcp__srv__own": {Own: true}, "mcp__srv__add": {Effect: effect.Edit}}
	return p.On(&act.Machine{Profile: func(tool, _ string) (effect.Profile, bool) { pr, ok := said[tool]; return pr, ok }})
}

// alike is an engine, and what its user was asked.
type alike struct {
	engine *mediator.Engine
	desk   *confirm.Desk
	store  *memory.Store

	mu    sync.Mutex
	yes   bool // what he answers
	asked bool
}

// newAlike makes an engine. With answers, the user answers at the desk at once.
func newAlike(t *testing.T, p *taint.Policy, answers bool) *alike {
	t.Helper()
	rules, err := recognise.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &alike{store: memory.New()}
	keys := secret.NewKeys()
	a.desk = confirm.New(confirm.Config{Store: a.store, Sealer: &keys, Poll: time.Millisecond, Asked: func(q *confirm.Question) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.asked = true
		answer := confirm.Deny
		if a.yes {
			answer = confirm.Once
		}
		if answers {
			if err := a.desk.Answer(context.Background(), q.ID, answer, "test"); err != nil {
				t.Error(err)
			}
		}
	}})
	a.engine, err = mediator.New(mediator.Config{
		Config: session.Config{Rules: rules, Keys: keys, Store: a.store},
		Taint:  &mediator.Taint{Policy: p, Desk: a.desk, NoReplay: true, MaxTold: -1, Foreign: func(string) bool { return false }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// begin prepares for a step.
func (a *alike) begin(s *alikeStep) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.yes, a.asked = s.yes, false
}

// verdict is what became of a call.
func (a *alike) verdict(made bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.asked && made:
		return "asked-yes "
	case a.asked:
		return "asked-no "
	case made:
		return "made "
	}
	return "refused "
}

func throughGateway(t *testing.T, p *taint.Policy, steps []alikeStep) (out string) {
	t.Helper()
	a := newAlike(t, p, true)
	var next alikeStep
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []any{map[string]any{
			"index": 0, "finish_reason": "tool_calls", "message": map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
				map[string]any{"id": "call", "type": "function", "function": map[string]any{"name": "mcp__srv__" + next.tool, "arguments": next.args}},
			}},
		}}})
	}))
	defer upstream.Close()
	target, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	h, err := gateway.New(gateway.Config{Engine: a.engine, Upstream: target, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(h)
	defer front.Close()
	var tools []any
	for _, name := range []string{"read", "mine", "send", "post", "pay", "wipe", "list", "own", "add", "strange"} {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": "mcp__srv__" + name}})
	}
	messages := []any{map[string]any{"role": "user", "content": "Do the task."}}
	for i := range steps {
		next = steps[i]
		a.begin(&next)
		body, err := json.Marshal(map[string]any{"model": "m", "messages": messages, "tools": tools})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/v1/chat/completions", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var answer struct {
			Choices []struct {
				Message struct {
					Content   *string           `json:"content"`
					ToolCalls []json.RawMessage `json:"tool_calls"`
				} `json:"message"`
			} `json:"choices"`
		}
		if err == nil {
			err = json.Unmarshal(got, &answer)
		}
		if err != nil || len(answer.Choices) != 1 {
			t.Fatalf("%s, %v", got, err)
		}
		m := answer.Choices[0].Message
		made := len(m.ToolCalls) > 0
		if out += a.verdict(made); !made {
			messages = append(messages, map[string]any{"role": "assistant", "content": m.Content})
			continue
		}
		id := fmt.Sprintf("call-%d", i)
		messages = append(
			messages,
			map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"id": id, "type": "function", "function": map[string]any{"name": "mcp__srv__" + next.tool, "arguments": next.args},
			}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": next.result},
		)
	}
	return out
}

func throughProxy(t *testing.T, p *taint.Policy, steps []alikeStep) (out string) {
	t.Helper()
	a := newAlike(t, p, true)
	proxy, err := mcpproxy.New(mcpproxy.Config{Engine: a.engine, Name: "srv", Identity: "srv", Trust: flow.TrustLocal})
	if err != nil {
		t.Fatal(err)
	}
	fromClient, client := io.Pipe()
	atClient, toClient := io.Pipe()
	fromServer, server := io.Pipe()
	atServer, toServer := io.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		_ = proxy.Stdio(context.Background(), mcpproxy.Pipes{FromClient: fromClient, ToClient: toClient, FromServer: fromServer, ToServer: toServer, Trajectory: flow.TrajectoryID(flow.NewID())})
		_ = toClient.Close()
	})
	lines := func(r io.Reader) <-chan string {
		c := make(chan string, 100)
		done.Go(func() {
			defer close(c)
			for in := bufio.NewScanner(r); in.Scan(); {
				c <- in.Text()
			}
		})
		return c
	}
	answers, calls := lines(atClient), lines(atServer)
	defer func() {
		_, _ = server.Close(), client.Close()
		done.Wait()
	}()
	for i := range steps {
		s := &steps[i]
		a.begin(s)
		fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i, s.tool, s.args)
		select {
		case <-answers:
			out += a.verdict(false)
		case <-calls:
			out += a.verdict(true)
			text, err := json.Marshal(s.result)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(server, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", i, text)
			<-answers
		}
	}
	return out
}

func throughHook(t *testing.T, p *taint.Policy, steps []alikeStep) (out string) {
	t.Helper()
	a := newAlike(t, p, false)
	h := hook.New(hook.Config{Engine: a.engine, Key: [32]byte{9}})
	handle := func(event string, more map[string]any) string {
		more["session_id"], more["hook_event_name"] = "s", event
		raw, err := json.Marshal(more)
		if err != nil {
			t.Fatal(err)
		}
		answer := h.Handle(t.Context(), "claude-code", raw)
		return string(answer.Out.Bytes()) + string(answer.Err.Bytes())
	}
	handle("SessionStart", map[string]any{"source": "startup"})
	for i := range steps {
		s := &steps[i]
		a.begin(s)
		call := func() map[string]any {
			return map[string]any{"tool_name": "mcp__srv__" + s.tool, "tool_input": json.RawMessage(s.args)}
		}
		said := handle("PreToolUse", call())
		made := !strings.Contains(said, `"deny"`)
		if strings.Contains(said, `"ask"`) {
			made = s.yes
		}
		if out += a.verdict(made); made {
			with := call()
			with["tool_response"] = []any{map[string]any{"type": "text", "text": s.result}}
			handle("PostToolUse", with)
		}
	}
	return out
}
