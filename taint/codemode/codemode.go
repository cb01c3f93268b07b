// Package codemode says which tools a program of Codex's code mode calls. There the
// model's tool exec takes JavaScript that calls other tools:
//
//	const r = await tools.exec_command({cmd: "git status"});
//	text(r.output);
//
// Read accepts a small part of the language, and refuses the rest. It runs nothing.
//
// If Read accepts a program, the program makes the calls that Read returns, or fewer
// where it fails, with the arguments that Read returns. That rests on two rules of
// the grammar. A program only declares names, calls tools and shows values: it
// assigns nothing, and calls no value. And every name is one that the program
// declared, but for tools, text, notify, JSON.stringify and Promise.all, which it
// can't declare.
package codemode

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Call is one call of a tool.
type Call struct {
	// Tool is the name after "tools.".
	Tool string
	// Arguments is a JSON object. A text, as tools of free form take it, is its
	// member "input".
	Arguments string
}

// Bounds of a program. One beyond them is refused.
const (
	MaxBytes = 256 << 10
	MaxCalls = 64
	maxDepth = 32
)

// ErrRefused says that a program is not in the part of the language that Read knows.
var ErrRefused = errors.New("codemode: the program does more than call tools and show what they return")

// Read returns the calls of a program, in the order of its text, or ErrRefused.
func Read(program string) (calls []Call, err error) {
	if len(program) > MaxBytes || !utf8.ValidString(program) {
		return nil, ErrRefused
	}
	p := &parser{s: program, names: map[string]*string{}}
	defer func() {
		r := recover()
		if refused, ok := r.(error); ok && errors.Is(refused, ErrRefused) {
			calls, err = nil, ErrRefused
		} else if r != nil {
			panic(r)
		}
	}()
	for p.space(); p.at < len(p.s); p.space() {
		p.statement()
	}
	return p.calls, nil
}

// parser reads a program from its start. It panics with ErrRefused.
type parser struct {
	s     string
	at    int
	depth int
	names map[string]*string // that the program declares; the text of one that is a constant
	calls []Call
}

func (p *parser) refuse() { panic(ErrRefused) }

var blank = regexp.MustCompile(`^(?:[ \t\r\n]+|//[^\n\r\x{2028}\x{2029}]*|/\*(?:[^*]|\*+[^*/])*\*+/)+`)

func (p *parser) space() { p.at += len(blank.FindString(p.s[p.at:])) }

// is reports whether a sign comes next, and takes it with the space behind it.
func (p *parser) is(sign string) bool {
	if !strings.HasPrefix(p.s[p.at:], sign) {
		return false
	}
	p.at += len(sign)
	p.space()
	return true
}

func (p *parser) need(signs ...string) {
	for _, s := range signs {
		if !p.is(s) {
			p.refuse()
		}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)

// name takes a name; empty for none.
func (p *parser) name() string {
	n := identifier.FindString(p.s[p.at:])
	if p.at += len(n); p.at < len(p.s) && (p.s[p.at] == '$' || p.s[p.at] == '\\' || p.s[p.at] >= utf8.RuneSelf) && n != "" {
		p.refuse() // the name goes on
	}
	p.space()
	return n
}

// word takes a word of the language, and reports whether it comes next.
func (p *parser) word(w string) bool {
	if identifier.FindString(p.s[p.at:]) != w {
		return false
	}
	p.name()
	return true
}

// given are the names that a program does not declare.
var given = []string{
	"tools", "text", "notify", "JSON", "Promise", "await", "async", "const", "let", "var", "for", "of", "undefined", "null", "true", "false", "this",
	"function", "return", "new", "eval", "arguments", "yield", "class", "if", "else", "while", "do", "try", "throw", "import", "export", "delete", "typeof", "void", "in", "with", "static",
}

func (p *parser) declare(n string, value *string) {
	if _, twice := p.names[n]; n == "" || twice || slices.Contains(given, n) {
		p.refuse()
	}
	p.names[n] = value
}

func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxDepth {
		p.refuse()
	}
	return func() { p.depth-- }
}

// statement takes a statement: a declaration, a call, or one that shows values.
func (p *parser) statement() {
	defer p.deeper()()
	switch {
	case p.is(";"):
		return
	case p.word("const") || p.word("let") || p.word("var"):
		p.declaration()
	case p.word("for"):
		// Names over which a loop runs stand for what was returned.
		p.need("(")
		if !p.word("const") && !p.word("let") {
			p.refuse()
		}
		n := p.name()
		if !p.word("of") {
			p.refuse()
		}
		p.values()
		p.need(")")
		p.inner([]string{n}, p.body)
		return
	default:
		p.shows()
	}
	if p.at < len(p.s) && !p.is(";") && p.s[p.at] != '}' && !strings.ContainsAny(p.before(), "\n\r") {
		p.refuse()
	}
}

// before is the space before the place where the parser is.
func (p *parser) before() string {
	return p.s[len(strings.TrimRight(p.s[:p.at], " \t\r\n")):p.at]
}

// inner takes a part of a program that has names of its own.
func (p *parser) inner(names []string, part func()) {
	for _, n := range names {
		p.declare(n, nil)
	}
	part()
	for _, n := range names {
		delete(p.names, n)
	}
}

// body takes one statement that shows values, or a block of them. It calls nothing:
// it may run any number of times.
func (p *parser) body() {
	n := len(p.calls)
	if p.is("{") {
		for !p.is("}") {
			if p.shows(); !p.is(";") && (p.at >= len(p.s) || p.s[p.at] != '}') {
				p.refuse()
			}
		}
	} else {
		p.shows()
		p.is(";")
	}
	if len(p.calls) > n {
		p.refuse()
	}
}

func (p *parser) declaration() {
	names := p.bound("[", "]")
	p.need("=")
	var value *string
	if c := p.peek(); c == '"' || c == '\'' || c == '`' && p.plain() {
		if s := p.text(); len(names) == 1 {
			value = &s
		}
	} else {
		p.values()
	}
	for _, n := range names {
		p.declare(n, value)
	}
}

// bound takes one name, or names in brackets.
func (p *parser) bound(begin, end string) (names []string) {
	if !p.is(begin) {
		return []string{p.name()}
	}
	p.list(end, func() { names = append(names, p.name()) })
	return names
}

// plain reports whether a template has no values in it.
func (p *parser) plain() bool {
	for i := p.at + 1; i < len(p.s) && p.s[i] != '`'; i++ {
		if p.s[i] == '\\' {
			i++
		} else if strings.HasPrefix(p.s[i:], "${") {
			return false
		}
	}
	return true
}

func (p *parser) peek() byte {
	if p.at < len(p.s) {
		return p.s[p.at]
	}
	return 0
}

// shows takes text(…), notify(…), a call of a tool, or LIST.forEach(…).
func (p *parser) shows() {
	if p.word("text") || p.word("notify") {
		p.need("(")
		p.values()
		p.need(")")
		return
	}
	if identifier.FindString(p.s[p.at:]) == "await" || identifier.FindString(p.s[p.at:]) == "tools" {
		p.value()
		return
	}
	if _, ok := p.names[p.name()]; !ok {
		p.refuse()
	}
	p.need(".", "forEach", "(")
	names := p.bound("(", ")")
	p.need("=>")
	p.inner(names, p.body)
	p.need(")")
}

// values takes an expression: values, joined.
func (p *parser) values() {
	defer p.deeper()()
	for p.value(); ; p.value() {
		if p.is("===") || p.is("!==") || p.is("??") || p.is("||") || p.is("&&") || p.is("?") || p.is(":") {
			continue
		}
		if strings.HasPrefix(p.s[p.at:], "++") || !p.is("+") {
			return
		}
	}
}

// value takes a value that is shown, not called.
func (p *parser) value() {
	defer p.deeper()()
	switch c := p.peek(); {
	case c == '"' || c == '\'':
		p.text()
	case c == '`':
		p.template()
	case c >= '0' && c <= '9':
		p.number()
	case p.is("("):
		p.values()
		p.need(")")
	case p.is("["):
		p.list("]", p.values)
	case p.is("{"):
		p.list("}", func() {
			key := p.peek()
			if key == '"' || key == '\'' {
				p.text()
				p.need(":")
				p.values()
			} else if n := p.name(); p.is(":") {
				p.values()
			} else if _, ok := p.names[n]; !ok {
				p.refuse()
			}
		})
	case p.word("await"):
		if p.word("Promise") {
			p.need(".", "all", "(", "[")
			p.list("]", p.call)
			p.need(")")
			return
		}
		p.call()
	case p.word("JSON"):
		p.need(".", "stringify", "(")
		p.list(")", p.values)
		return
	case p.word("null") || p.word("true") || p.word("false") || p.word("undefined"):
	case identifier.FindString(p.s[p.at:]) == "tools":
		p.call()
	default:
		if _, ok := p.names[p.name()]; !ok {
			p.refuse()
		}
	}
	p.members()
}

// members takes what is read of a value.
func (p *parser) members() {
	for {
		switch {
		case p.is("?.") || p.is("."):
			if p.name() == "" {
				p.refuse()
			}
		case p.is("["):
			if c := p.peek(); c == '"' || c == '\'' {
				p.text()
			} else {
				p.number()
			}
			p.need("]")
		default:
			return
		}
	}
}

// list takes parts between commas up to a sign.
func (p *parser) list(end string, part func()) {
	for !p.is(end) {
		if part(); !p.is(",") {
			p.need(end)
			return
		}
	}
}

// call takes a call of a tool.
func (p *parser) call() {
	if !p.word("tools") {
		p.refuse()
	}
	p.need(".")
	c := Call{Tool: p.name(), Arguments: "{}"}
	p.need("(")
	if !p.is(")") {
		if p.peek() == '{' {
			c.Arguments = string(p.literal())
		} else {
			c.Arguments = fmt.Sprintf(`{"input":%s}`, encoded(p.constant()))
		}
		p.is(",")
		p.need(")")
	}
	if p.calls = append(p.calls, c); c.Tool == "" || len(p.calls) > MaxCalls {
		p.refuse()
	}
}

// constant takes a text, or the name of one.
func (p *parser) constant() string {
	if c := p.peek(); c == '"' || c == '\'' || c == '`' {
		return p.text()
	}
	s := p.names[p.name()]
	if s == nil {
		p.refuse()
	}
	return *s
}

func encoded(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a text can be encoded
		panic(err)
	}
	return b
}

// literal takes a value that is the same whenever the program runs, as JSON.
func (p *parser) literal() []byte {
	defer p.deeper()()
	switch c := p.peek(); {
	case c == '-' || c >= '0' && c <= '9':
		return []byte(p.number())
	case p.is("["):
		out := []byte{'['}
		p.list("]", func() { out = append(append(out, p.literal()...), ',') })
		return append([]byte(strings.TrimSuffix(string(out), ",")), ']')
	case p.is("{"):
		out, seen := []byte{'{'}, map[string]bool{"__proto__": true}
		p.list("}", func() {
			var key string
			var value []byte
			if c := p.peek(); c == '"' || c == '\'' {
				key = p.text()
				p.need(":")
				value = p.literal()
			} else if key = p.name(); p.is(":") {
				value = p.literal()
			} else if s := p.names[key]; s != nil {
				value = encoded(*s)
			}
			if seen[key] || key == "" || value == nil {
				p.refuse()
			}
			seen[key] = true
			out = append(append(append(append(out, encoded(key)...), ':'), value...), ',')
		})
		return append([]byte(strings.TrimSuffix(string(out), ",")), '}')
	case p.word("true"):
		return []byte("true")
	case p.word("false"):
		return []byte("false")
	case p.word("null"):
		return []byte("null")
	}
	return encoded(p.constant())
}

var number = regexp.MustCompile(`^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?`)

func (p *parser) number() string {
	n := number.FindString(p.s[p.at:])
	p.at += len(n)
	if c := p.peek(); n == "" || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
		p.refuse()
	}
	p.space()
	return n
}

// template takes a template with values in it.
func (p *parser) template() {
	for p.at++; ; {
		switch c := p.peek(); {
		case p.at >= len(p.s):
			p.refuse()
		case c == '`':
			p.at++
			p.space()
			return
		case c == '\\':
			p.escape()
		case strings.HasPrefix(p.s[p.at:], "${"):
			p.at += 2
			p.space()
			p.values()
			if p.peek() != '}' {
				p.refuse()
			}
			p.at++
		default:
			p.at++
		}
	}
}

// text takes a text. One between ` has no values in it.
func (p *parser) text() string {
	var b strings.Builder
	quote := p.peek()
	for p.at++; ; {
		if p.at >= len(p.s) {
			p.refuse()
		}
		switch c := p.s[p.at]; {
		case c == quote:
			p.at++
			p.space()
			return b.String()
		case c == '\\':
			b.WriteString(p.escape())
		case c == '\r', c == '\n' && quote != '`', c == '$' && quote == '`' && strings.HasPrefix(p.s[p.at:], "${"):
			p.refuse()
		default:
			b.WriteByte(c)
			p.at++
		}
	}
}

var (
	unicodeEscape = regexp.MustCompile(`^\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\})`)
	plainEscapes  = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", '\\': "\\", '\'': "'", '"': `"`, '`': "`", '$': "$", '/': "/", '\n': ""}
)

// escape takes an escape. One that stands for half of a character is refused.
func (p *parser) escape() string {
	if m := unicodeEscape.FindStringSubmatch(p.s[p.at:]); m != nil {
		n, err := strconv.ParseUint(m[1]+m[2]+m[3], 16, 32)
		if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			p.refuse()
		}
		p.at += len(m[0])
		return string(rune(n))
	}
	if p.at+1 >= len(p.s) {
		p.refuse()
	}
	c := p.s[p.at+1]
	s, ok := plainEscapes[c]
	if !ok && !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' && c != 'x' && c != 'u' || strings.IndexByte(" .,:;!?()[]{}<>|&*+-=#@%^~_", c) >= 0) {
		p.refuse() // an old octal escape, or what depends on more
	}
	if p.at += 2; !ok {
		s = string(c)
	}
	return s
}
