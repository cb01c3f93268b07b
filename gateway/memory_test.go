package gateway_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/gateway"
	"github.com/margaydev/margay/store/memory"
)

// What an agent remembers, streamed and not.
func TestMemory(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed=%v", streamed), func(t *testing.T) {
			var store *memory.Store
			link := connectortest.HTTP(func(t testing.TB, _ []string, far http.RoundTripper) (http.Handler, func() []byte) {
				e, s := gatewaytest.Remembering(t)
				store = s
				var log gatewaytest.Log
				g, err := gateway.New(gateway.Config{
					Engine: e, Upstream: &url.URL{Scheme: "http", Host: "far.example", Path: "/v1"}, Transport: far,
					Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(g.Close)
				return g, func() []byte { return append(gatewaytest.Decisions(t, s), log.Bytes()...) }
			})(t, nil)
			connectortest.Memory(t, chatAgent(link, streamed, func(channel string) int { return gatewaytest.Entries(t, store, channel) }))
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// chatAgent is an agent that talks to a model over the Chat Completions API.
func chatAgent(link connectortest.Link, streamed bool, entries func(string) int) connectortest.Agent {
	ids := []string{flow.NewID(), flow.NewID()}
	do := func(t testing.TB, trajectory int, messages, message, finish string) *connectortest.Result {
		t.Helper()
		answer := connectortest.Answer{Type: "application/json", Chunks: [][]byte{[]byte(`{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":` + message + `,"finish_reason":"` + finish + `"}]}`)}}
		if streamed {
			message = strings.Replace(message, `[{"id"`, `[{"index":0,"id"`, 1)
			answer = connectortest.Answer{Type: "text/event-stream", Chunks: [][]byte{
				[]byte(`data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":` + message + `,"finish_reason":null}]}` + "\n\n"),
				[]byte(`data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + finish + `"}]}` + "\n\ndata: [DONE]\n\n"),
			}}
		}
		r, err := link.Do(&connectortest.Exchange{
			Caller: "agent", Method: http.MethodPost, Path: "/v1/chat/completions", Answer: answer,
			Header: []connectortest.Header{{Name: "Margay-Trajectory", Value: ids[trajectory]}},
			Body:   fmt.Appendf(nil, `{"model":"m","stream":%v,"messages":[{"role":"user","content":"go on"}%s]}`, streamed, messages),
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Far == nil {
			t.Fatalf("refused: %s", r.Body)
		}
		return r
	}
	return connectortest.Agent{
		Kept: link.Kept, Entries: entries,
		Tells: func(t testing.TB, trajectory int, tool, text string) string {
			r := do(t, trajectory, `,{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"`+tool+`","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":`+quoted(text)+`}`, `{"role":"assistant","content":"well"}`, "stop")
			var got struct{ Messages []struct{ Content string } }
			if err := json.Unmarshal(r.Far.Body, &got); err != nil || len(got.Messages) != 3 {
				t.Fatalf("%v %s", err, r.Far.Body)
			}
			return got.Messages[2].Content
		},
		Calls: func(t testing.TB, trajectory int, tool, args string) string {
			r := do(t, trajectory, "", `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"`+tool+`","arguments":`+quoted(args)+`}}]}`, "tool_calls")
			var out strings.Builder
			for line := range strings.Lines(string(r.Body)) {
				type said struct {
					Calls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
				var got struct {
					Choices []struct{ Message, Delta said }
				}
				if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &got) != nil {
					continue
				}
				for _, c := range got.Choices {
					for _, x := range append(c.Message.Calls, c.Delta.Calls...) {
						out.WriteString(x.Function.Arguments)
					}
				}
			}
			return out.String()
		},
	}
}
