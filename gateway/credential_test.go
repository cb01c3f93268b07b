package gateway

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// piecesOf cuts a text anywhere.
func piecesOf(rng *rand.Rand, text string) (out []string) {
	for len(text) > 0 {
		n := min(1+rng.IntN(9), len(text))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// TestWholeCredentials: of credentials that are longer than their rules know, in
// texts and in arguments of calls, through every API, however the stream is cut,
// no run of eight characters reaches the client, and the text around them does.
func TestWholeCredentials(t *testing.T) {
	rng := rand.New(rand.NewPCG(140, 1))
	id := "2345678901"
	jwt := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" + ".eyJzdWIiOiJtYXJnYXktMTciLCJpc3MiOiJ0ZXN0In0." + random(141, 43)
	r := newRig(t, nil)
	for name, value := range map[string]string{
		"legacy slack":  "xo" + "xa-2-" + id + "-" + id + "-" + id + "-" + random(142, 32),
		"jwt in base64": base64.RawURLEncoding.EncodeToString([]byte(jwt)),
		"longer github": "gh" + "p_" + random(143, 90),
		"registry":      "dc" + "kr_pat_" + random(146, 60),
		"long and open": "glpat-" + random(147, 20) + random(148, 5000),
	} {
		text := "The first words. " + value + " and the last ones."
		args := `{"k":` + quote(text) + `}`
		for range 4 {
			for place, got := range map[string]string{
				"chat":           fmt.Sprint(joined(t, r.streamed(t, "/v1/chat/completions", ask, chatOf(rng, text, "")))),
				"chat call":      fmt.Sprint(joined(t, r.streamed(t, "/v1/chat/completions", ask, chatOf(rng, "", args)))),
				"messages":       fmt.Sprint(*message(t, r.streamed(t, "/v1/messages", askMessage, told("end_turn", textBlock(0, piecesOf(rng, text)...))))),
				"messages call":  fmt.Sprint(*message(t, r.streamed(t, "/v1/messages", askMessage, told("tool_use", callBlock(0, "f", piecesOf(rng, args)...))))),
				"responses":      fmt.Sprint(hear(t, r.streamed(t, responses, helloSSE, itemsOf(rng, item{kind: "message", text: text})))),
				"responses call": fmt.Sprint(hear(t, r.streamed(t, responses, helloSSE, itemsOf(rng, item{kind: "function_call", text: args, name: "f"})))),
			} {
				if n := longest(got, value); n >= 8 {
					t.Errorf("%s, %s: %d characters in a row came out", name, place, n)
				}
				if !strings.Contains(got, "REDACTED") || !strings.Contains(place, "call") && !strings.Contains(got, "] and the last ones.") {
					t.Errorf("%s, %s: the answer is not what it should be", name, place)
				}
			}
		}
	}
}

func itemsOf(rng *rand.Rand, it item) []string {
	return eventsOfItems(func(s string) []string { return piecesOf(rng, s) }, it)
}

func chatOf(rng *rand.Rand, text, args string) (out []string) {
	for _, p := range piecesOf(rng, text) {
		out = append(out, delta(0, "content", p))
	}
	for i, p := range piecesOf(rng, args) {
		name := ""
		if i == 0 {
			name = "f"
		}
		out = append(out, callDelta(0, 0, name, p))
	}
	return append(out, finish(0, "stop"))
}

// streamed posts a body that is answered with the events, and returns the stream.
func (r *rig) streamed(t *testing.T, path, body string, events []string) string {
	t.Helper()
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		switch path {
		case "/v1/chat/completions":
			stream(w, events...)
		default:
			typed(w, events...)
		}
	}
	_, got := r.post(t, path, body)
	return got
}
