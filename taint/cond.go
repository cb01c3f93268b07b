package taint

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
)

// Op is what a condition asks of a call's argument.
type Op string

// Ops. All but Absent and Test ask it of every value at the path, and of at
// least one: a path that leads nowhere holds nothing.
const (
	OpEquals   Op = "equals"    // is one of the values
	OpIn       Op = "in"        // is one of the values, or of a list, ignoring case: recipients, accounts, methods
	OpDomain   Op = "domain-in" // the address's or URL's host is one of the domains, or below it
	OpPath     Op = "path-under"
	OpAtMost   Op = "at-most" // a number
	OpAtLeast  Op = "at-least"
	OpFromUser Op = "from-user" // stands in the user's own messages, as a word
	OpType     Op = "type"      // conforms to a type
	OpCommand  Op = "command-in"
	OpPresent  Op = "present"
	OpAbsent   Op = "absent"
	OpTest     Op = "test" // a compiled predicate
)

// Cond is a condition on a call.
type Cond struct {
	Op     Op
	Arg    Path
	Values []string // of equals, in, domain-in, path-under and command-in
	List   string   // a list of the configuration, beside Values
	Number float64  // of at-most and at-least
	Type   Type
	Test   Predicate
	// Not turns the question around: there is a value, and it holds of none.
	Not bool
}

// Predicate is a condition that somebody else compiled. It must be a pure
// function, bounded in what it costs. An error holds neither way: a rule that
// allows does not apply, one that denies or asks does.
type Predicate func(call flow.ToolCall, user []string) (bool, error)

// ErrCond says that a condition makes no sense.
var ErrCond = errors.New("not a condition")

// Check holds a condition to its form.
func (c *Cond) Check() error {
	bad := func(why string) error { return fmt.Errorf("%w: %s", ErrCond, why) }
	switch c.Op {
	case OpEquals, OpIn, OpDomain, OpPath, OpCommand:
		if len(c.Values) == 0 && c.List == "" {
			return bad("nothing to compare with")
		}
		if slices.Contains(c.Values, "") {
			return bad("an empty value")
		}
	case OpAtMost, OpAtLeast:
		if math.IsNaN(c.Number) || math.IsInf(c.Number, 0) {
			return bad("not a number")
		}
	case OpType:
		if c.Type.IsZero() || c.Type.kind == "echo" {
			return bad("no type")
		}
	case OpTest:
		if c.Test == nil {
			return bad("no predicate")
		}
		return nil
	case OpFromUser:
	case OpPresent, OpAbsent:
		if c.Not {
			return bad("ask for the other one of present and absent")
		}
	default:
		return bad("no such question: " + string(c.Op))
	}
	if len(c.Arg.steps) == 0 {
		return bad("no argument")
	}
	if c.Op == OpCommand && slices.ContainsFunc(c.Values, func(v string) bool { return hasShell(v) }) {
		return bad("a command has no shell characters")
	}
	return nil
}

// question is what conditions are asked about.
type question struct {
	args *tree
	call *flow.ToolCall
	user []string
}

// holds reports whether all conditions hold. Where one can't be told, unclear
// is the answer.
func (p *Policy) holds(conds []Cond, q *question, unclear bool) bool {
	for i := range conds {
		c := &conds[i]
		if c.Op != OpTest {
			if !p.asks(c, q) {
				return false
			}
			continue
		}
		got, err := c.Test(*q.call, q.user)
		if err != nil && !unclear || err == nil && got == c.Not {
			return false
		}
	}
	return true
}

// asks reports whether a condition on an argument holds.
func (p *Policy) asks(c *Cond, q *question) bool {
	values := c.Values
	if c.List != "" {
		values = slices.Concat(values, p.lists[c.List])
	}
	n, all := 0, true
	q.args.walk(c.Arg, 0, nil, func(i, _ int) {
		if q.args.nodes[i].kind == null {
			return
		}
		n++
		if c.Op != OpPresent && c.Op != OpAbsent {
			all = all && q.args.leaf(i) && scalarHolds(c, &q.args.nodes[i], values, q.user) != c.Not
		}
	})
	if c.Op == OpAbsent {
		return n == 0
	}
	return n > 0 && all
}

func scalarHolds(c *Cond, n *node, values, user []string) bool {
	v := n.value
	switch c.Op {
	case OpEquals:
		return slices.Contains(values, v)
	case OpIn:
		return slices.ContainsFunc(values, func(w string) bool { return strings.EqualFold(v, w) && isASCII(v) })
	case OpDomain:
		h, ok := host(v)
		return ok && slices.ContainsFunc(values, func(d string) bool {
			d = strings.ToLower(d)
			return h == d || strings.HasSuffix(h, "."+d)
		})
	case OpPath:
		return slices.ContainsFunc(values, func(dir string) bool { return under(v, dir) })
	case OpAtMost, OpAtLeast:
		x, err := strconv.ParseFloat(v, 64)
		if n.kind != number || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		if c.Op == OpAtMost {
			return x <= c.Number
		}
		return x >= c.Number
	case OpFromUser:
		return slices.ContainsFunc(user, func(s string) bool { return spoken(s, v) })
	case OpType:
		return c.Type.conforms(v, nil)
	case OpCommand:
		return n.kind == text && command(v, values)
	}
	return false
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || r < ' ' })
}

// host is the host of a mail address or an http URL, in lower case. What
// clients read differently (user parts, backslashes, escapes, other letters
// than ASCII, numbers for hosts) has none.
func host(v string) (string, bool) {
	if !isASCII(v) || strings.ContainsAny(v, "\\ \"<>") {
		return "", false
	}
	if at := strings.IndexByte(v, '@'); at > 0 && !strings.Contains(v, "/") {
		v = v[at+1:]
		if strings.ContainsAny(v, "@:,;") {
			return "", false
		}
	} else {
		rest, ok := strings.CutPrefix(v, "https://")
		if !ok {
			if rest, ok = strings.CutPrefix(v, "http://"); !ok {
				return "", false
			}
		}
		if n := strings.IndexAny(rest, "/?#"); n >= 0 {
			rest = rest[:n]
		}
		if strings.ContainsAny(rest, "@%") {
			return "", false
		}
		h, port, hasPort := strings.Cut(rest, ":")
		if _, err := strconv.ParseUint(port, 10, 16); hasPort && err != nil {
			return "", false
		}
		v = h
	}
	v = strings.ToLower(strings.TrimSuffix(v, "."))
	if v == "" || strings.Contains(v, "..") || strings.ContainsFunc(v, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	}) {
		return "", false
	}
	return v, true
}

// under reports whether a path is a folder or in it. Both must be absolute and
// written plainly: no dots to go up, nothing that a shell expands. Links are
// not followed.
func under(v, dir string) bool {
	if !strings.HasPrefix(v, "/") || !strings.HasPrefix(dir, "/") || !isASCII(v) || strings.ContainsAny(v, "\\*?$`~{}[]") {
		return false
	}
	if slices.Contains(strings.Split(v, "/"), "..") {
		return false
	}
	v, dir = path.Clean(v), path.Clean(dir)
	return v == dir || dir == "/" || strings.HasPrefix(v, dir+"/")
}

// hasShell reports whether a command has characters that a shell acts on.
func hasShell(v string) bool {
	return !isASCII(v) || strings.ContainsAny(v, ";&|<>$`\\\"'(){}[]*?!#~^%=\n\r\t")
}

// command reports whether a shell command is one simple command that begins
// with the words of one of those given.
func command(v string, values []string) bool {
	if hasShell(v) {
		return false
	}
	words := strings.Fields(v)
	return slices.ContainsFunc(values, func(c string) bool {
		want := strings.Fields(c)
		return len(want) > 0 && len(words) >= len(want) && slices.Equal(words[:len(want)], want)
	})
}

// minSpoken is the least length of a value that counts as said by the user:
// shorter ones are in every text.
const minSpoken = 3

// spoken reports whether a value stands in a text as a word or words: as it is
// written, or ignoring case for addresses; not as a part of a longer word,
// address, path or number.
func spoken(s, v string) bool {
	if len(v) < minSpoken || strings.TrimSpace(v) != v || !utf8.ValidString(v) {
		return false
	}
	if expr("address").MatchString(v) {
		s, v = lower(s), lower(v)
	}
	for at := 0; ; {
		i := strings.Index(s[at:], v)
		if i < 0 {
			return false
		}
		i += at
		if boundary(s, i, i+len(v)) {
			return true
		}
		at = i + 1
	}
}

// lower folds ASCII letters, so that lengths stay.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// glue are characters that hold the parts of one value together.
const glue = "@._+-/\\:%=&?#~"

func boundary(s string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	after, n := utf8.DecodeRuneInString(s[to:])
	if from > 0 && (word(before) || strings.ContainsRune(glue, before) && before != ':' && before != '#' && before != '@') {
		return false
	}
	if from > 1 && before == '@' { // @bob is bob; x@bob is not
		if b, _ := utf8.DecodeLastRuneInString(s[:from-1]); word(b) || strings.ContainsRune(glue, b) {
			return false
		}
	}
	if from > 1 && before == ':' {
		if b, _ := utf8.DecodeLastRuneInString(s[:from-1]); b == '/' {
			return false
		}
	}
	if to == len(s) {
		return true
	}
	if word(after) {
		return false
	}
	if strings.ContainsRune(glue, after) {
		// A full stop ends a sentence only where nothing is joined to it.
		next, _ := utf8.DecodeRuneInString(s[to+n:])
		return to+n == len(s) || !word(next) && !strings.ContainsRune(glue, next)
	}
	return true
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
