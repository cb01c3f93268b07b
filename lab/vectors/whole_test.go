package vectors

import (
	"os"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// TestWholeTokens: of the token around each vector's secret, no run of eight
// characters goes out. What the token is depends on no rule: it ends at quotes,
// white space, brackets, and what joins parameters.
func TestWholeTokens(t *testing.T) {
	testkit.Data(t, "gitleaks-vectors.jsonl.gz")
	pos, _, err := load(os.Getenv("MARGAY_DATA"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for i := range pos {
		v := &pos[i]
		if v.Rule == recognise.PrivateKeyID || strings.ContainsAny(v.secret, " \n\\:") {
			continue // of several tokens
		}
		text := before + v.V + after
		from, to := token(text, strings.LastIndex(text, v.secret), len(v.secret))
		es := edits(&stream.Config{Rules: rules, Path: v.Path}, text)
		run := 0
		for at := from; at < to && run < 8; at++ {
			if run++; missed(es, int64(at), int64(at+1)) == 0 {
				run = 0
			}
		}
		if run == 8 {
			kept = append(kept, v.Rule)
		}
	}
	if len(kept) > 0 {
		t.Errorf("of %d tokens eight characters in a row go out, of the rules %v", len(kept), kept)
	}
}

// token returns where the token around a part of a text starts and ends.
func token(text string, from, n int) (start, end int) {
	const ends = " \t\r\n\"'`<>(){}[],;|&\\"
	for start = from; start > 0 && !strings.ContainsRune(ends+"=:@", rune(text[start-1])); {
		start--
	}
	for end = from + n; end < len(text) && !strings.ContainsRune(ends+"@:", rune(text[end])); {
		end++
	}
	return start, end
}
