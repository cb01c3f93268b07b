package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// decisionID matches the id of a decision, which is new each time.
var decisionID = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)

// Whatever a stream says, and however its bytes arrive: no secret gets out, the
// client can read it, and what goes out depends on neither reads nor cuts.
func TestMessagesUnderAnyChunking(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	value := random(81, 24)
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: memory.New(), Ephemeral: records(t, value)}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Config{Engine: e, Upstream: &url.URL{Scheme: "http", Host: "up.example", Path: "/v1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://x/", nil)
	if err != nil {
		t.Fatal(err)
	}
	through := func(t *rapid.T, raw string, size int) string {
		s, err := e.Session(context.Background(), &mediator.SessionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		body := newEvents(g, &call{
			g: g, api: g.apis.messages, session: s, turn: s.Prompt(context.Background(), &mediator.Prompt{}), to: &final{Client: outlet.To(w)},
		}, &http.Response{Request: req}, &pieces{b: []byte(raw), n: size})
		defer body.Close()
		if _, err := body.Read(nil); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return decisionID.ReplaceAllString(w.Body.String(), "ID")
	}
	rapid.Check(t, func(t *rapid.T) {
		var blocks, plain []string // the events, and what the text blocks say
		thinks := false
		for i := range rapid.IntRange(1, 4).Draw(t, "blocks") {
			words := rapid.SliceOfN(rapid.SampledFrom([]string{"a ", "word", value, value[:5], value[19:], "\n", "é", `"`}), 0, 6).Draw(t, "words")
			text := strings.Join(words, "")
			cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
			for cut < len(text) && cut > 0 && text[cut]&0xc0 == 0x80 {
				cut--
			}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				blocks = append(blocks, callBlock(i, "f", `{"k":`, quote(text), `}`)...)
			case 1:
				if rapid.Bool().Draw(t, "thinks") {
					thinks = thinks || strings.Contains(text, value)
					blocks = append(blocks, thinkingBlock(i, text[:cut], text[cut:])...)
					break
				}
				fallthrough
			default:
				plain = append(plain, strings.ReplaceAll(text, value, "[REDACTED:api-key]"))
				blocks = append(blocks, textBlock(i, text[:cut], text[cut:])...)
			}
		}
		raw := written(told("tool_use", blocks)...)
		first := through(t, raw, rapid.IntRange(1, 40).Draw(t, "small"))
		if strings.Contains(first, value) {
			t.Fatal("the secret got out")
		}
		m, err := testkit.ReadMessage(first)
		if err != nil {
			t.Fatalf("the stream is invalid: %v\n%s", err, first)
		}
		if thinks != (m.Stop == "refusal") {
			t.Fatalf("it stopped with %s", m.Stop)
		}
		if !strings.Contains(raw, value[:5]) && !strings.Contains(raw, value[19:]) && first != raw {
			t.Fatal("a clean stream changed")
		}
		for _, again := range []string{through(t, raw, 1<<20), through(t, raw, rapid.IntRange(40, 4000).Draw(t, "large"))} {
			if again != first {
				t.Fatalf("read in other pieces it is\n%s\nand not\n%s", again, first)
			}
		}
		if thinks {
			return
		}
		for _, b := range m.Blocks {
			if b.Type == "text" {
				if b.Text != plain[0] {
					t.Fatalf("it says %q, want %q", b.Text, plain[0])
				}
				plain = plain[1:]
			}
		}
	})
}
