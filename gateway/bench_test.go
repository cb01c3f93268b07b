package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// BenchmarkEvents is what a token of a clean stream costs between the
// upstream's body and the client's.
func BenchmarkEvents(b *testing.B) {
	rules, err := recognise.Default()
	if err != nil {
		b.Fatal(err)
	}
	e, err := mediator.New(mediator.Config{Rules: rules, Keys: keys, Store: memory.New()})
	if err != nil {
		b.Fatal(err)
	}
	u, err := url.Parse("http://up.example/v1")
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Config{Engine: e, Upstream: u})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	var raw bytes.Buffer
	const tokens = 1000
	words := strings.SplitAfter("The committee met again in the long hall by the river and went through the papers one after another ", " ")
	for i := range tokens - 2 {
		raw.WriteString("data: " + delta(0, "content", words[i%(len(words)-1)]) + "\n\n")
	}
	raw.WriteString("data: " + finish(0, "stop") + "\n\ndata: [DONE]\n\n")
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://x/", nil)
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 8<<10)
	b.ReportAllocs()
	b.SetBytes(int64(raw.Len()))
	for b.Loop() {
		s, err := e.Session(context.Background(), &mediator.SessionRequest{})
		if err != nil {
			b.Fatal(err)
		}
		body := newEvents(g, &call{g: g, session: s}, &http.Response{Request: req, Body: io.NopCloser(bytes.NewReader(raw.Bytes()))})
		n := 0
		for {
			k, err := body.Read(buf)
			n += k
			if err != nil {
				break
			}
		}
		if n != raw.Len() {
			b.Fatalf("%d bytes, want %d", n, raw.Len())
		}
		_ = body.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
}
