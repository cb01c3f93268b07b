package mcpproxy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire/mcp"
)

// TestEndedAfterCancel: a server that ends owes no answer to a request that was
// cancelled, and nothing is recorded.
func TestEndedAfterCancel(t *testing.T) {
	p, store := newProxy(t, nil)
	l := &link{p: p, open: func(ctx context.Context) (*mediator.Session, error) {
		return p.cfg.Engine.Session(ctx, &mediator.SessionRequest{Sink: p.sink})
	}}
	var up mcp.Parser
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	} {
		if out := l.take(t.Context(), client, &up, []byte(m), false); out.forward == nil {
			t.Fatal("the message does not pass")
		}
	}
	if out := l.ended(t.Context(), reason("server-ended", "the server ended before it answered")); len(out) > 0 {
		t.Errorf("%d answers to a request that was cancelled", len(out))
	}
	if codes := decisions(t, store); len(codes) > 0 {
		t.Errorf("recorded: %v", codes)
	}
}

// Whatever the two sides do, a request that was passed on gets one answer, and
// what was refused gets none under an id that waits.
func TestOneAnswer(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(r *rapid.T) {
		p, _ := newProxy(t, func(c *Config, _ *mediator.Config) { c.MaxPending = 3 })
		l := &link{p: p, open: func(ctx context.Context) (*mediator.Session, error) {
			return p.cfg.Engine.Session(ctx, &mediator.SessionRequest{Sink: p.sink})
		}}
		var up, down mcp.Parser
		open := map[string]bool{} // requests that wait, and whether they were cancelled
		id := rapid.SampledFrom([]string{"1", "2", "3", `"1"`, `"x"`, "7"})
		shown := func(m *cut.Released) string {
			if m == nil {
				return ""
			}
			return string(m.Bytes())
		}
		tell := func(m *cut.Released, id string) bool {
			return strings.Contains(shown(m), `"id":`+id+`,"result"`) || strings.Contains(shown(m), `"id":`+id+`,"error"`)
		}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			n := id.Draw(r, "id")
			switch rapid.SampledFrom([]string{"ask", "answer", "cancel", "broken", "broken answer"}).Draw(r, "what") {
			case "ask":
				out := l.take(ctx, client, &up, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, n), false)
				_, used := open[n]
				if used && out.forward != nil {
					r.Fatalf("id %s was taken twice", n)
				}
				for _, reply := range out.replies {
					if used && tell(reply, n) {
						r.Fatalf("the refused request answers the one that waits: %s", shown(reply))
					}
				}
				if out.forward != nil {
					open[n] = false
				} else if len(out.replies) != 1 {
					r.Fatalf("%d answers to a refused request", len(out.replies))
				}
				if len(open) > 3 {
					// A cancelled one made room.
					dropped := false
					for k, cancelled := range open {
						if cancelled && !dropped {
							l.mu.Lock()
							_, still := l.calls.open[mcp.ID(k)]
							l.mu.Unlock()
							if !still {
								delete(open, k)
								dropped = true
							}
						}
					}
					if !dropped {
						r.Fatalf("%d requests wait", len(open))
					}
				}
			case "answer":
				out := l.take(ctx, server, &down, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, n), false)
				if _, waits := open[n]; waits != (out.forward != nil) {
					r.Fatalf("the answer to %s: waits %v, passed %v", n, waits, out.forward != nil)
				}
				delete(open, n)
			case "broken answer":
				out := l.take(ctx, server, &down, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"a":1,"a":2}}`, n), false)
				if _, waits := open[n]; waits != tell(out.forward, n) {
					r.Fatalf("the broken answer to %s: waits %v, got %s", n, waits, shown(out.forward))
				}
				delete(open, n)
			case "cancel":
				l.take(ctx, client, &up, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, n), false)
				if _, waits := open[n]; waits {
					open[n] = true
				}
			case "broken":
				if out := l.take(ctx, client, &up, []byte(`{"jsonrpc"`), false); len(out.replies) != 1 || out.forward != nil {
					r.Fatal("what is no message was not answered once")
				}
			}
		}
		rest := l.ended(ctx, reason("server-ended", "it ended"))
		for n, cancelled := range open {
			found := 0
			for _, m := range rest {
				if tell(m, n) {
					found++
				}
			}
			if !cancelled && found != 1 {
				r.Fatalf("request %s got %d answers at the end", n, found)
			}
		}
		if again := l.ended(ctx, reason("server-ended", "it ended")); len(again) > 0 {
			r.Fatal("requests are answered again")
		}
	})
}
