package mcpproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/margaydev/margay/connectortest"
	"github.com/margaydev/margay/connectortest/gatewaytest"
	"github.com/margaydev/margay/flow"
)

// What an agent remembers in the tools of a server.
func TestMemory(t *testing.T) {
	e, store := gatewaytest.Remembering(t)
	p, err := New(Config{Name: "test", Identity: "test", Key: [32]byte{9}, Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{flow.NewID(), flow.NewID()}
	do := func(t testing.TB, trajectory int, tool, args, result string) (got *connectortest.Arrived, body []byte) {
		t.Helper()
		far := &farSide{x: &connectortest.Exchange{Answer: connectortest.Answer{Type: "application/json", Chunks: [][]byte{[]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + result + `}]}}`)}}}}
		h, err := p.Handler(HTTPConfig{URL: &url.URL{Scheme: "http", Host: "far.example", Path: "/mcp"}, Transport: far})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp/test", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer agent")
		r.Header.Set("Margay-Trajectory", ids[trajectory])
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return far.got, w.Body.Bytes()
	}
	connectortest.Memory(t, connectortest.Agent{
		Kept:    func() []byte { return gatewaytest.Decisions(t, store) },
		Entries: func(channel string) int { return gatewaytest.Entries(t, store, channel) },
		Tells: func(t testing.TB, trajectory int, tool, text string) string {
			value, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			_, body := do(t, trajectory, tool, "{}", string(value))
			var got struct {
				Result struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(body, &got); err != nil || len(got.Result.Content) != 1 {
				t.Fatalf("%v %s", err, body)
			}
			return got.Result.Content[0].Text
		},
		Calls: func(t testing.TB, trajectory int, tool, args string) string {
			got, _ := do(t, trajectory, tool, args, `"well"`)
			if got == nil {
				return ""
			}
			var m struct {
				Params struct{ Arguments json.RawMessage }
			}
			if err := json.Unmarshal(got.Body, &m); err != nil {
				t.Fatal(err)
			}
			return string(m.Params.Arguments)
		},
	})
}
