package answer

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/stream"
)

// zones judges words of a text by a table and returns what goes on.
func zones(tokens []string, zone map[string]monitor.Zone, released int64) string {
	cfg := &stream.Config{Replace: func(dst []byte, f *stream.Finding, _ []byte) []byte {
		if f.Name == monitor.Yellow.String() {
			return append(dst, session.Mask...)
		}
		return stream.AppendRedaction(dst, f.Kind)
	}}
	r := &risk{judge: func(t *monitor.Token) monitor.Verdict {
		return monitor.Verdict{Zone: zone[strings.TrimSpace(t.Text)]}
	}}
	sc := cfg.NewScanner()
	text := strings.Join(tokens, "")
	for _, tok := range tokens {
		told := []flow.Token{{Text: tok}}
		cut := sc.Cut()
		if released >= 0 {
			cut = min(cut, released)
		}
		r.read(sc, cut, &flow.Delta{Text: []byte(tok), Tokens: told})
		if released < 0 {
			sc.Write([]byte(tok))
		}
	}
	if released >= 0 {
		sc.Write([]byte(text)) // all of it was held until now
	}
	sc.Close()
	return string(session.Apply(sc.Edits(nil), 0, []byte(text)))
}

func TestZones(t *testing.T) {
	z := map[string]monitor.Zone{"R": monitor.Red, "Y": monitor.Yellow, `R"`: monitor.Red, ":R": monitor.Red}
	for _, c := range []struct{ tokens, want string }{
		{"a| b| c", "a b c"},
		{"a| Y| c", "a [MASK] c"},
		{"a| Y|Y| c", "a [MASK][MASK] c"},
		{"a| R| c", "a [REDACTED:risk] c"},
		{"a| R|b|c| d", "a [REDACTED:risk] d"},    // the rest of the word
		{"a| x|R|b| d", "a x[REDACTED:risk] d"},   // its head went out
		{"a| R|R|Y| d", "a [REDACTED:risk] d"},    // one credential, one redaction
		{"a| R|b\"|c", "a [REDACTED:risk]\"c"},    // a quote ends it
		{"a| R|, b", "a [REDACTED:risk], b"},      // so does a comma
		{"a|  \n|R| c", "a  \n[REDACTED:risk] c"}, // space stays
		{"R|R", "[REDACTED:risk]"},                // nothing else
		{"a| R| R| c", "a [REDACTED:risk] [REDACTED:risk] c"},
	} {
		if got := zones(strings.Split(c.tokens, "|"), z, -1); got != c.want {
			t.Errorf("%s: %q, want %q", c.tokens, got, c.want)
		}
	}
	// What is still held of a word goes with it when the model fires.
	if got := zones([]string{"a", " x", "y", "R", " d"}, z, 0); got != "a [REDACTED:risk] d" {
		t.Errorf("held: %q", got)
	}
}
