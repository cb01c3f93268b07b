// Package inline judges short programs of other languages that a shell command
// holds: whether they run commands or write files, or only compute. It errs on the
// strict side.
package inline

import (
	"regexp"
	"slices"
	"strings"
)

// Sed says what a program of sed's may do besides printing. One that can't be read
// runs something.
func Sed(text string) (runs, writes bool) {
	p := sedReader{s: text}
	for p.at < len(p.s) && !p.bad {
		p.command()
	}
	return p.runs || p.bad, p.writes
}

// sedReader reads a program of sed's, command by command.
type sedReader struct {
	s                 string
	at                int
	runs, writes, bad bool
}

func (p *sedReader) peek() byte {
	if p.at < len(p.s) {
		return p.s[p.at]
	}
	return '\n'
}

// skip leaves out characters of a set.
func (p *sedReader) skip(set string) {
	for p.at < len(p.s) && strings.IndexByte(set, p.s[p.at]) >= 0 {
		p.at++
	}
}

// until leaves out what comes before one of some characters.
func (p *sedReader) until(set string) {
	for p.at < len(p.s) && strings.IndexByte(set, p.s[p.at]) < 0 {
		p.at++
	}
}

// delimited leaves out a text up to its delimiter, which may be escaped.
func (p *sedReader) delimited(end byte) {
	for ; p.at < len(p.s); p.at++ {
		switch p.s[p.at] {
		case end:
			p.at++
			return
		case '\\':
			p.at++
		case '\n':
			p.bad = true
			return
		}
	}
	p.bad = true
}

// address leaves out an address, if there is one.
func (p *sedReader) address() {
	switch c := p.peek(); {
	case c >= '0' && c <= '9' || c == '$' || c == '+' || c == '~':
		p.at++
		p.skip("0123456789~+")
	case c == '/':
		p.at++
		p.delimited('/')
		p.skip("IM")
	case c == '\\' && p.at+1 < len(p.s):
		end := p.s[p.at+1]
		p.at += 2
		p.delimited(end)
		p.skip("IM")
	}
}

func (p *sedReader) command() {
	if p.skip(" \t\n;{}"); p.at >= len(p.s) {
		return
	}
	p.address()
	if p.skip(" \t"); p.peek() == ',' {
		p.at++
		p.skip(" \t")
		p.address()
	}
	if p.skip(" \t!"); p.at >= len(p.s) || p.bad {
		p.bad = p.bad || p.at > len(p.s)
		return
	}
	c := p.s[p.at]
	p.at++
	switch c {
	case '{', '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
	case 's', 'y':
		end := p.peek()
		if p.at++; end == '\n' || end == '\\' {
			p.bad = true
			return
		}
		p.delimited(end)
		p.delimited(end)
		if c == 's' {
			p.flags()
		}
	case 'a', 'i', 'c':
		for p.until("\n"); p.at > 0 && p.at < len(p.s) && p.s[p.at-1] == '\\'; p.until("\n") {
			p.at++
		}
	case 'r', 'R', '#', 'v':
		p.until("\n")
	case 'w', 'W':
		p.writes = true
		p.until("\n")
	case 'b', 't', 'T', ':':
		p.until("\n;}")
	case 'q', 'Q', 'l', 'L':
		p.skip(" 0123456789")
	default: // e, or something that is not known
		p.runs = true
	}
}

// flags leaves out those of a substitution.
func (p *sedReader) flags() {
	for ; p.at < len(p.s); p.at++ {
		switch c := p.s[p.at]; {
		case c == 'e':
			p.runs = true
		case c == 'w':
			p.writes = true
			p.until("\n")
			return
		case strings.IndexByte("gpiIM0123456789m", c) < 0:
			return
		}
	}
}

// UnknownSed reports whether a program of which a part is not known may be more
// than one substitution or an address.
func UnknownSed(s string) bool {
	return !(strings.HasPrefix(s, "s/") && strings.Count(s, "/") >= 3 && !strings.HasSuffix(s, "e")) && !strings.HasSuffix(s, "p") && !strings.HasSuffix(s, "d")
}

var awkWrites = regexp.MustCompile(`printf?\b[^;}\n]*>`)

// onlyOr reports whether each | of a text is one of ||.
func onlyOr(s string) bool { return !strings.Contains(strings.ReplaceAll(s, "||", ""), "|") }

// unquotedAwk leaves out the strings and regular expressions of a program.
func unquotedAwk(s string) string {
	var b strings.Builder
	for k := 0; k < len(s); k++ {
		c := s[k]
		if c != '"' && !(c == '/' && regexpStarts(b.String())) {
			b.WriteByte(c)
			continue
		}
		for k++; k < len(s) && s[k] != c; k++ {
			if s[k] == '\\' {
				k++
			}
		}
		b.WriteString(`""`)
	}
	return b.String()
}

// awkWord are words behind which a slash starts an expression.
var awkWord = regexp.MustCompile(`(?:^|[^\w$])(?:print|printf|return|in|case|do|else|exit|while|if)$`)

func regexpStarts(before string) bool {
	before = strings.TrimRight(before, " \t\n")
	return before == "" || strings.IndexByte("({,;~!&|}", before[len(before)-1]) >= 0 || awkWord.MatchString(before)
}

// Awk says what a program of awk's may do besides printing.
func Awk(program string) (runs, writes bool) {
	text := unquotedAwk(program)
	runs = strings.Contains(program, "system") || !onlyOr(text) || strings.Contains(program, "getline") || strings.Contains(program, "/inet") || strings.Contains(text, "@")
	return runs, awkWrites.MatchString(text)
}

var perlSubstitution = regexp.MustCompile(`^\s*s([/|#!,])[^\n` + "`" + `]*([/|#!,])[gimsx]*\s*;?\s*$`)

// Perl reports whether a program of Perl's is one substitution that runs nothing.
func Perl(text string) bool {
	m := perlSubstitution.FindStringSubmatch(text)
	return m != nil && m[1] == m[2] && !strings.Contains(text[strings.LastIndex(text, m[1]):], "e") && !strings.Contains(text, "?{") && !strings.Contains(text, "@") && !strings.Contains(text, "${") && !strings.Contains(text, "$(")
}

// What a few lines of Python or JavaScript may say that only compute: they import
// what can't act, and name nothing that acts.
var (
	pythonImport  = regexp.MustCompile(`(?m)(?:^|[;\n])\s*(?:from\s+([\w.]+)\s+import\s+[\w*, ()]+|import\s+([^\n;]+))`)
	pythonModules = []string{"json", "re", "math", "datetime", "time", "collections", "itertools", "functools", "statistics", "random", "string", "textwrap", "hashlib", "base64", "struct", "decimal", "fractions", "uuid", "enum", "dataclasses", "typing", "csv", "pprint", "operator", "bisect", "heapq", "copy", "difflib", "unicodedata", "zlib", "binascii", "calendar", "ast", "html", "colorsys", "sys", "tomllib"}
	pythonActs    = regexp.MustCompile(`\b(exec|eval|compile|__\w+__|globals|locals|vars|getattr|setattr|delattr|open|input|breakpoint|help|os|subprocess|socket|urllib|requests|http|shutil|pathlib|Path|ctypes|importlib|builtins|pickle|marshal|pty|popen|system|spawn\w*|fork|modules|settrace|setprofile|write|writelines|unlink|remove|rmtree|rename|mkdir|load_module|_getframe|meta_path|path_hooks|displayhook|excepthook|argv0|addaudithook|stdout\s*=|stdin\s*=|lambda_|codecs|runpy|code|site|imp|gc|inspect|types|traceback|multiprocessing|threading|asyncio|signal|tempfile|glob|zipfile|tarfile|sqlite3|smtplib|ftplib|telnetlib|webbrowser|xmlrpc|platform|logging|configparser|shelve|dbm|mmap|fcntl|resource|pwd|grp|termios|tty|curses|readline|cmd|atexit|weakref)\b`)
	pythonReads   = regexp.MustCompile(`\bopen\(\s*(?:'\w[\w/-]*(?:\.\w+)?'|"\w[\w/-]*(?:\.\w+)?"|sys\.argv\[\d\])\s*(?:,\s*(?:'r'|"r"|'rb'|"rb"|encoding=['"][\w-]+['"])\s*)*\)`)
	scriptActs    = regexp.MustCompile(`\b(require|import|eval|Function|process|fetch|XMLHttpRequest|WebSocket|globalThis|global|constructor|prototype|__proto__|Reflect|Proxy|module|exports|setTimeout|setInterval|setImmediate|queueMicrotask|Worker|WebAssembly|Deno|Bun|this|child_process|binding|dlopen|mainModule|Buffer|Atomics|SharedArrayBuffer|navigator|document|window|self)\b`)
)

// plainEscapes leaves out the escapes of a line's end and of a tab, which spell no
// name. What is left of others is for the caller to refuse.
func plainEscapes(s string) string {
	if strings.Contains(s, `\\`) {
		return s
	}
	return strings.NewReplacer(`\n`, " ", `\t`, " ").Replace(s)
}

// Python reports whether a program only computes and reads files of its folder.
func Python(text string) bool {
	for _, m := range pythonImport.FindAllStringSubmatch(text, -1) {
		names := m[1]
		if names == "" {
			names = m[2]
		}
		for _, n := range strings.Split(names, ",") {
			n, _, _ = strings.Cut(strings.TrimSpace(n), " as ")
			if n = strings.TrimSpace(n); !slices.Contains(pythonModules, n) && n != "collections.abc" {
				return false
			}
		}
	}
	left := pythonImport.ReplaceAllString(text, "\n")
	left = pythonReads.ReplaceAllString(left, "FILE")
	left = plainEscapes(left)
	return !strings.Contains(left, "import") && !strings.Contains(text, "sys.path") && !strings.Contains(text, "sys.modules") && !pythonActs.MatchString(left) && !strings.ContainsAny(left, "\\`")
}

var scriptReads = regexp.MustCompile(`require\(\s*['"](?:node:)?fs['"]\s*\)\.readFileSync\(\s*(?:'\w[\w/-]*(?:\.\w+)?'|"\w[\w/-]*(?:\.\w+)?"|0)\s*(?:,\s*['"]utf-?8['"]\s*)?\)|require\(\s*['"]\./[\w./-]+\.json['"]\s*\)|process\.stdin\.(?:on\(\s*(?:"(?:data|end)"|'(?:data|end)')\s*,|resume\(\)|setEncoding\((?:"utf-?8"|'utf-?8')\))|process\.(?:version|versions\.\w+|platform|arch|memoryUsage\(\))`)

// scriptIndex matches an index that is a number, and an empty list.
var scriptIndex = regexp.MustCompile(`\[[0-9]*\]`)

// JavaScript reports whether a program only computes and reads files of its folder.
func JavaScript(text string) bool {
	left := plainEscapes(scriptIndex.ReplaceAllString(scriptReads.ReplaceAllString(text, "FILE"), ".0"))
	return !scriptActs.MatchString(left) && !strings.ContainsAny(left, "\\`[")
}
