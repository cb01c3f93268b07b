package answer

import (
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/stream"
)

// zones judges words of a text by a table and returns what goes on. A token that
// ends with an upper-case P is one of a phrase.
func zones(tokens []string, zone map[string]monitor.Zone, released int64, acts bool) string {
	cfg := &stream.Config{Replace: func(dst []byte, f *stream.Finding, _ []byte) []byte {
		if f.Name == monitor.Yellow.String() {
			return append(dst, session.Mask...)
		}
		return stream.AppendRedaction(dst, f.Kind)
	}}
	phrase := false
	r := &risk{acts: acts, phrase: func() bool { return phrase }, judge: func(t *monitor.Token) monitor.Verdict {
		phrase = strings.HasSuffix(t.Text, "P") || phrase && t.Text == " "
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
	z := map[string]monitor.Zone{"R": monitor.Red, "RP": monitor.Red, "Y": monitor.Yellow, `R"`: monitor.Red, ":R": monitor.Red}
	for _, c := range []struct{ tokens, want string }{
		{"a| b| c", "a b c"},
		{"a| Y| c", "a [MASK] c"},
		{"a| Y|Y| c", "a [MASK] c"},
		{"a| Y|b| Y| c", "a [MASK] [MASK] c"}, // the rest of the word
		{"a| x|Y|b| d", "a x[MASK] d"},        // its head went out
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
		tokens := strings.Split(c.tokens, "|")
		if got := zones(tokens, z, -1, false); got != c.want {
			t.Errorf("%s: %q, want %q", c.tokens, got, c.want)
		}
		// A word that waits for its end goes whole.
		want := strings.Replace(c.want, " x[", " [", 1)
		if got := zones(tokens, z, -1, true); got != want {
			t.Errorf("%s, held: %q, want %q", c.tokens, got, want)
		}
	}
	// The worst of a word holds for it.
	if got := zones([]string{"a", " Y", "R", "Y", " c"}, z, -1, true); got != "a [REDACTED:risk] c" {
		t.Errorf("masked, then redacted: %q", got)
	}
	// The words of a phrase are one.
	for tokens, want := range map[string]string{
		"a:| b| cP|R| d": "a: [REDACTED:risk] d", "a:| b| cP| xP|R| yP| d": "a: [REDACTED:risk] d",
		"a:| b| cP|RP| |xP| d": "a: [REDACTED:risk] d",
		"a:| b| cP| x|R| d":    "a: b cP [REDACTED:risk] d", "a:| b|\ncP|R| d": "a: b\n[REDACTED:risk] d",
	} {
		if got := zones(strings.Split(tokens, "|"), z, -1, true); got != want {
			t.Errorf("%q: %q, want %q", tokens, got, want)
		}
	}
	// What is still held of a word goes with it when the model fires.
	if got := zones([]string{"a", " x", "y", "R", " d"}, z, 0, false); got != "a [REDACTED:risk] d" {
		t.Errorf("held: %q", got)
	}
}

// TestWordsWait: where verdicts act, a word goes out when it is complete, and what is
// too long for a word as it comes; where they don't, nothing waits.
func TestWordsWait(t *testing.T) {
	green := func(*monitor.Token) monitor.Verdict { return monitor.Verdict{} }
	for _, acts := range []bool{true, false} {
		sc := (&stream.Config{}).NewScanner()
		r := &risk{judge: green, phrase: func() bool { return false }, acts: acts}
		text := ""
		for _, c := range []struct {
			token string
			waits int
		}{{"one", 3}, {" tw", 2}, {"o", 3}, {",", 0}, {" ", 0}, {strings.Repeat("x", maxWord-1), maxWord - 1}, {"yyy", maxWord}, {"\n", 0}} {
			r.read(sc, sc.Cut(), &flow.Delta{Text: []byte(c.token), Tokens: []flow.Token{{Text: c.token}}})
			sc.Write([]byte(c.token))
			text += c.token
			want := len(text)
			if acts {
				want -= c.waits
			}
			if got := int(sc.Cut()); got != want {
				t.Errorf("acts %v, behind %.5q: %d bytes are out, want %d", acts, c.token, got, want)
			}
		}
		r.read(sc, sc.Cut(), &flow.Delta{Text: []byte("end"), Tokens: []flow.Token{{Text: "end"}}})
		sc.Write([]byte("end"))
		if sc.Close(); int(sc.Cut()) != len(text)+3 {
			t.Error("the end waits")
		}
	}
}
