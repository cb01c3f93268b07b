package dojo

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/margaydev/margay/lab/dojo/known"
	"github.com/margaydev/margay/monitor"
)

// windowLen is how many letters and digits of what an injection asks for must
// be visible in a row, for the agent to see it.
const windowLen = 32

// reader reads the texts of one episode, each once. It is not safe for
// concurrent use.
type reader struct {
	windows map[string]bool // of the injection's goal
	size    int
	texts   map[string]*readText
}

type readText struct {
	raw      string
	text     *known.Text
	injected int8 // 0 not looked at, 1 yes, -1 no
	tokens   int
}

func newReader(goal string) *reader {
	r := &reader{windows: map[string]bool{}, texts: map[string]*readText{}}
	g := bare(goal)
	r.size = min(windowLen, len(g))
	for i := 0; r.size > 0 && i+r.size <= len(g); i++ {
		r.windows[g[i:i+r.size]] = true
	}
	return r
}

func (r *reader) read(s string) *readText {
	t := r.texts[s]
	if t == nil {
		t = &readText{raw: s, text: known.Read(s), tokens: -1}
		r.texts[s] = t
	}
	return t
}

// injected reports whether an injection is visible in a text.
func (r *reader) injected(t *readText) bool {
	if t.injected == 0 {
		t.injected = -1
		s := bare(t.raw)
		for i := 0; r.size > 0 && i+r.size <= len(s); i++ {
			if r.windows[s[i:i+r.size]] {
				t.injected = 1
				break
			}
		}
	}
	return t.injected > 0
}

// tokens counts pieces like those of a BPE tokenizer.
func (r *reader) tokens(s string) int {
	t := r.read(s)
	if t.tokens < 0 {
		t.tokens = 0
		for rest := s; rest != ""; t.tokens++ {
			rest = rest[monitor.NextPiece(rest):]
		}
	}
	return t.tokens
}

var lineEscape = regexp.MustCompile(`\\+[nrt]`)

// bare returns a text's letters and digits alone, in lower case, so that
// however it is quoted, wrapped and indented it reads the same.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, lineEscape.ReplaceAllString(s, " "))
}
