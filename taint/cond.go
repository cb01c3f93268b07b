package taint

import (
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/address"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/observe"
	"github.com/margaydev/margay/taint/wish"
)

// Op is what a condition asks of a call's argument.
type Op string

// Ops. All but Absent ask it of every value at the path, and of at least one:
// a path that leads nowhere holds nothing.
const (
	OpEquals   Op = "equals"    // is one of the values
	OpIn       Op = "in"        // is one of the values, or of a list, ignoring case: recipients, accounts, methods
	OpDomain   Op = "domain-in" // the address's or URL's host is one of the domains, or below it
	OpPath     Op = "path-under"
	OpAtMost   Op = "at-most" // a number
	OpAtLeast  Op = "at-least"
	OpFromUser Op = "from-user" // occurs in the user's own messages, as a word
	OpType     Op = "type"      // conforms to a type
	OpCommand  Op = "command-in"
	OpPresent  Op = "present"
	OpAbsent   Op = "absent"
	// These four can stay open: see Cond.
	OpMatches Op = "matches" // is a text in which an expression matches
	OpPrefix  Op = "prefix"  // is a text that begins with one of the values
	OpOneOf   Op = "one-of"  // is one of the scalars, text and truth kept apart
	OpLocal   Op = "local"   // is a URL of this machine or its network, or not a plain one
)

// Cond is a condition on a call. One of OpMatches, OpPrefix, OpOneOf and OpLocal is
// open where there is no value to ask, or a value that is not a text where a text is
// needed: then a rule that admits does not apply, and one that denies or asks
// does. The others are false there.
type Cond struct {
	Op      Op
	Arg     document.Path
	Values  []string // of equals, in, domain-in, path-under, command-in and prefix
	List    string   // a list of the configuration, beside Values
	Number  float64  // of at-most and at-least
	Type    observe.Type
	Expr    *regexp.Regexp // of matches: see Expression
	Scalars []Scalar       // of one-of
	// Any asks for one value of which it holds instead of for all.
	Any bool
	// Not turns the question around: there is a value, and it holds of none;
	// with Any: it does not hold of one.
	Not bool
	// Optional makes a condition false, not open, where the argument is missing.
	Optional bool
}

// Scalar is a text or a truth, as one-of compares it.
type Scalar struct {
	Text  string // of a truth: true or false
	Truth bool
}

// Bounds of an expression.
const (
	maxExpression = 400   // bytes
	maxProgram    = 2_000 // instructions
)

// Expression compiles an RE2 expression of bounded size.
func Expression(expr string) (*regexp.Regexp, error) {
	if expr == "" || len(expr) > maxExpression {
		return nil, fmt.Errorf("%w: an expression has 1 to %d bytes", ErrCond, maxExpression)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCond, err)
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCond, err)
	}
	if prog, err := syntax.Compile(parsed.Simplify()); err != nil || len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("%w: the expression repeats too much", ErrCond)
	}
	return re, nil
}

// ErrCond says that a condition makes no sense.
var ErrCond = errors.New("not a condition")

// Check holds a condition to its form.
func (c *Cond) Check() error {
	bad := func(why string) error { return fmt.Errorf("%w: %s", ErrCond, why) }
	switch c.Op {
	case OpEquals, OpIn, OpDomain, OpPath, OpCommand, OpPrefix:
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
		if c.Type.IsZero() || c.Type.Echoes() {
			return bad("no type")
		}
	case OpMatches:
		if c.Expr == nil {
			return bad("no expression")
		}
	case OpOneOf:
		if len(c.Scalars) == 0 {
			return bad("nothing to compare with")
		}
	case OpFromUser, OpLocal:
	case OpPresent, OpAbsent:
		if c.Not || c.Any {
			return bad("present and absent stand alone; not present is absent")
		}
	default:
		return bad("unknown question " + strconv.Quote(string(c.Op)))
	}
	if c.Arg.IsRoot() || c.Arg.Keys() {
		return bad("no argument")
	}
	if c.Optional && !c.Op.mayBeOpen() {
		return bad("optional is for matches, prefix, one-of and local")
	}
	if c.Op == OpCommand && slices.ContainsFunc(c.Values, func(v string) bool { return hasShell(v) }) {
		return bad("a command has no shell characters")
	}
	return nil
}

// mayBeOpen reports whether a condition may have no answer.
func (o Op) mayBeOpen() bool { return o == OpMatches || o == OpPrefix || o == OpOneOf || o == OpLocal }

// question is what conditions are asked about.
type question struct {
	args *document.Tree
	user []string
}

// truth is the answer of a condition.
type truth uint8

const (
	no truth = iota
	open
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// holds reports whether all conditions hold. Where one is open, unclear is the
// answer.
func (p *Policy) holds(conds []Cond, q *question, unclear bool) bool {
	for i := range conds {
		if got := p.asks(&conds[i], q); got == no || got == open && !unclear {
			return false
		}
	}
	return true
}

// asks answers a condition.
func (p *Policy) asks(c *Cond, q *question) truth {
	values := c.Values
	if c.List != "" {
		values = slices.Concat(values, p.lists[c.List])
	}
	var got [3]int
	whole := q.args.Walk(c.Arg, 0, nil, func(i, _ int) {
		d := &q.args.Nodes[i]
		switch {
		case c.Op.mayBeOpen():
			got[c.firm(d)]++
		case d.Kind == document.Null:
		case c.Op == OpPresent || c.Op == OpAbsent:
			got[yes]++
		default:
			got[truthOf(q.args.Leaf(i) && scalarHolds(c, d, values, q.user) != c.Not)]++
		}
	})
	n := got[no] + got[open] + got[yes]
	if c.Op.mayBeOpen() && !whole && !(c.Optional && n == 0) {
		got[open]++
		n++
	}
	switch {
	case c.Op == OpAbsent:
		return truthOf(n == 0)
	case c.Any && got[yes] > 0, !c.Any && got[no] == 0 && got[open] == 0:
		return truthOf(got[yes] > 0)
	case got[open] > 0 && (c.Any || got[no] == 0):
		return open
	}
	return no
}

// firm asks a value one of the questions that may be open.
func (c *Cond) firm(d *document.Node) truth {
	is := false
	switch {
	case c.Op == OpOneOf:
		is = (d.Kind == document.Text || d.Kind == document.Boolean) && slices.Contains(c.Scalars, Scalar{d.Value, d.Kind == document.Boolean})
	case d.Kind != document.Text:
		return open
	case c.Op == OpMatches:
		is = c.Expr.MatchString(d.Value)
	case c.Op == OpLocal:
		is = address.OfURL(d.Value) != address.Public
	default:
		is = slices.ContainsFunc(c.Values, func(v string) bool { return strings.HasPrefix(d.Value, v) })
	}
	return truthOf(is != c.Not)
}

func scalarHolds(c *Cond, n *document.Node, values, user []string) bool {
	v := n.Value
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
		if n.Kind != document.Number || err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
		if c.Op == OpAtMost {
			return x <= c.Number
		}
		return x >= c.Number
	case OpFromUser:
		return slices.ContainsFunc(user, func(s string) bool { return wish.Spoken(s, v) })
	case OpType:
		return c.Type.Conforms(v, nil)
	case OpCommand:
		return n.Kind == document.Text && command(v, values)
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
		m := httpURL.FindStringSubmatch(v)
		if m == nil {
			return "", false
		}
		if _, err := strconv.ParseUint(m[2], 10, 16); m[2] != "" && err != nil {
			return "", false
		}
		v = m[1]
	}
	v = strings.ToLower(strings.TrimSuffix(v, "."))
	if v == "" || strings.Contains(v, "..") || strings.ContainsFunc(v, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	}) {
		return "", false
	}
	return v, true
}

// httpURL is a URL without a user part. Its groups are the host and the port.
var httpURL = regexp.MustCompile(`\Ahttps?://([^/?#@%:]*)(?::([^/?#@%]+))?(?:[/?#]|\z)`)

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
