package mcpproxy

import (
	"context"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire/mcp"
)

// A call of which a part was replaced is not altered in silence: its result says
// what was replaced and how a person allows it. What is not altered is not spoken
// of.
func TestAlteredCallIsTold(t *testing.T) {
	value := "Xk9vQ4tR7wZ1" + "pLm2"
	for _, c := range []struct {
		name, content string
		altered       bool
		result        string
		told          bool
	}{
		{"altered", "API_KEY=" + value, true, `{"content":[{"type":"text","text":"ok"}]}`, true},
		{"altered, no text", "API_KEY=" + value, true, `{"content":[]}`, true},
		{"as it was", "all is well", false, `{"content":[{"type":"text","text":"ok"}]}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := newProxy(t, nil)
			l := &link{p: p, open: func(ctx context.Context) (*mediator.Session, error) {
				return p.cfg.Engine.Session(ctx, &mediator.SessionRequest{Sink: p.sink})
			}}
			var up, down mcp.Parser
			call := l.take(t.Context(), client, &up, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"content":"`+c.content+`"}}}`), false)
			if call.forward == nil || strings.Contains(string(call.forward.Bytes()), c.content) == c.altered {
				t.Fatalf("the call: %+v", call)
			}
			out := l.take(t.Context(), server, &down, []byte(`{"jsonrpc":"2.0","id":1,"result":`+c.result+`}`), false)
			if out.forward == nil {
				t.Fatal("the result does not pass")
			}
			text := string(out.forward.Bytes())
			if told := strings.Contains(text, "margay allow add 01") && strings.Contains(text, "api-key"); told != c.told || strings.Contains(text, value) {
				t.Errorf("told %v, want %v: %s", told, c.told, text)
			}
		})
	}
}
