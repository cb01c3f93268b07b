package mcpproxy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire/mcp"
)

// BenchmarkCall is a call and its result, both mediated.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{200, 4 << 10, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			p, _ := newProxy(b, nil, random(1, 32))
			req := &link{p: p}
			ctx := context.Background()
			s, err := p.cfg.Engine.Session(ctx, sessionRequest(p))
			if err != nil {
				b.Fatal(err)
			}
			req.open = opens(s)
			var up, down mcp.Parser
			text := strings.Repeat("the quick brown fox reads a file of logs and tells 42 lines of it ", size/66+1)[:size]
			i := 0
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				i++
				ask := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":{"path":"a"}}}`, i)
				answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%d %s"}]}}`, i, i, text)
				if out := req.take(ctx, client, &up, ask, false); out.forward == nil {
					b.Fatal("the call does not pass")
				}
				if out := req.take(ctx, server, &down, answer, false); out.forward == nil {
					b.Fatal("the result does not pass")
				}
			}
		})
	}
}

func sessionRequest(p *Proxy) *mediator.SessionRequest { return &mediator.SessionRequest{Sink: p.sink} }

func opens(s *mediator.Session) func(context.Context) (*mediator.Session, error) {
	return func(context.Context) (*mediator.Session, error) { return s, nil }
}
