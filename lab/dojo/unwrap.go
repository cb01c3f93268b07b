package dojo

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/margaydev/margay/taint/observe"
)

// escaped is what Wrap writes for a character or a byte that could deceive.
var escaped = regexp.MustCompile(string(observe.EscapeOpen) + `(U\+|x)([0-9A-F]+)` + string(observe.EscapeEnd))

// unwrap returns the text of what observe.Wrap wrote.
func unwrap(s string) (text string, ok bool) {
	rest, opens := strings.CutPrefix(s, observe.WrapOpen)
	tool, rest, says := strings.Cut(rest, observe.WrapNotice)
	rest, ends := strings.CutSuffix(rest, observe.WrapEnd)
	text = escaped.ReplaceAllStringFunc(rest, unescape)
	return text, opens && says && ends && observe.Wrap(tool, text) == s
}

func unescape(code string) string {
	m := escaped.FindStringSubmatch(code)
	n, err := strconv.ParseUint(m[2], 16, 32)
	switch {
	case err != nil:
		return code
	case m[1] == "x":
		return string([]byte{byte(n)})
	default:
		return string(rune(n))
	}
}
