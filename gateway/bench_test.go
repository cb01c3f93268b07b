package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// pieces is a body that arrives n bytes at a time; with events, one event at
// a time.
type pieces struct {
	b      []byte
	n      int
	events bool
}

func (p *pieces) Read(dst []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := min(p.n, len(p.b))
	if p.events {
		n = bytes.Index(p.b, []byte("\n\n")) + 2
	}
	n = copy(dst, p.b[:n])
	p.b = p.b[n:]
	return n, nil
}

func (p *pieces) Close() error { return nil }

// BenchmarkEvents is what a token of a clean stream costs between the
// upstream's body and the client's: where each arrives alone, and where they
// come as fast as they are taken (a transport reads 4 KiB at a time).
func BenchmarkEvents(b *testing.B) {
	rules, err := recognise.Default()
	if err != nil {
		b.Fatal(err)
	}
	words := strings.SplitAfter("The committee met again in the long hall by the river and went through the papers one after another ", " ")
	const tokens = 400
	for name, in := range map[string]struct {
		choices             int
		alone               bool
		responses, messages bool
	}{
		"burst": {choices: 1}, "alone": {choices: 1, alone: true}, "burst of 3 choices": {choices: 3},
		"responses burst": {responses: true}, "responses alone": {responses: true, alone: true},
		"messages burst": {messages: true}, "messages alone": {messages: true, alone: true},
	} {
		b.Run(name, func(b *testing.B) {
			e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New(), Ephemeral: records(b, random(1, 32), random(2, 32))}})
			if err != nil {
				b.Fatal(err)
			}
			g, err := New(Config{Engine: e, Upstream: &url.URL{Scheme: "http", Host: "up.example", Path: "/v1"}})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			var raw bytes.Buffer
			api := g.apis.chat
			switch {
			case in.responses:
				api = g.apis.responses
				raw.WriteString(framed(eventsOfItems(func(s string) []string { return strings.SplitAfter(s, " ") },
					item{kind: "message", text: strings.Join(slices.Repeat(words[:len(words)-1], 1+tokens/len(words))[:tokens-9], "")})))
			case in.messages:
				api = g.apis.messages
				raw.WriteString(written(told("end_turn", textBlock(0, slices.Repeat(words[:len(words)-1], 1+tokens/len(words))[:tokens-6]...))...))
			default:
				for i := range tokens - 1 - in.choices {
					raw.WriteString("data: " + delta(i%in.choices, "content", words[i/in.choices%(len(words)-1)]) + "\n\n")
				}
				for c := range in.choices {
					raw.WriteString("data: " + finish(c, "stop") + "\n\n")
				}
				raw.WriteString("data: [DONE]\n\n")
			}
			req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://x/", nil)
			if err != nil {
				b.Fatal(err)
			}
			s, err := e.Session(context.Background(), &mediator.SessionRequest{})
			if err != nil {
				b.Fatal(err)
			}
			turn := s.Prompt(context.Background(), &mediator.Prompt{})
			w := httptest.NewRecorder()
			to := &final{Client: outlet.To(w)}
			b.ReportAllocs()
			for b.Loop() {
				w.Body.Reset()
				body := newEvents(g, &call{g: g, api: api, session: s, turn: turn, to: to}, &http.Response{Request: req}, &pieces{raw.Bytes(), 4 << 10, in.alone})
				if _, err := body.Read(nil); !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				if n := w.Body.Len(); n != raw.Len() {
					b.Fatalf("%d bytes, want %d", n, raw.Len())
				}
				_ = body.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tokens, "ns/token")
		})
	}
}

// whole is an upstream that answers at once.
type whole []byte

func (w whole) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(w)), ContentLength: int64(len(w)), Request: r,
	}, nil
}

// BenchmarkRequest is what a request costs that has a short answer: a short one, a
// long one, and another turn of a long one.
func BenchmarkRequest(b *testing.B) {
	long := strings.Repeat(`for i, v := range p.names {\n\tif v > limit {\n\t\treturn i, errors.New(\"no such name\")\n\t}\n}\n`, 12000)
	for name, body := range map[string]string{
		"short": `{"model":"m","messages":[{"role":"user","content":"Is committee %d there?"}]}`,
		"long":  `{"model":"m","messages":[{"role":"user","content":"%d ` + long + `"}]}`,
		"again": `{"model":"m","messages":[{"role":"user","content":"` + long + `"},{"role":"assistant","content":"It is."},{"role":"user","content":"Where is %d?"}]}`,
	} {
		b.Run(name, func(b *testing.B) { benchmarkRequest(b, body) })
	}
}

func benchmarkRequest(b *testing.B, body string) {
	rules, err := recognise.Default()
	if err != nil {
		b.Fatal(err)
	}
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New(), Ephemeral: records(b, random(1, 32), random(2, 32))}})
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Config{Engine: e, Upstream: &url.URL{Scheme: "http", Host: "up.example", Path: "/v1"}, Transport: whole(
		`{"id":"chatcmpl-0123456789abcdef","object":"chat.completion","created":1760000000,"model":"scripted-1","choices":[{"index":0,"message":{"role":"assistant","content":"The committee met in the hall by the river.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21}}`)})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(fmt.Sprintf(body, i)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
