// Package environ finds the credentials in environments and .env files, so
// that they can be protected without being listed by hand.
package environ

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variable is a named value and where it stands.
type Variable struct {
	Name, Value string
	Origin      string // "env:NAME" or "file:NAME:LINE"
}

// Process returns the variables of a process's environment, each in the form
// NAME=value.
func Process(env []string) []Variable {
	var out []Variable
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok && name != "" {
			out = append(out, Variable{Name: name, Value: value, Origin: "env:" + name})
		}
	}
	return out
}

// MaxFile bounds .env files, in bytes.
const MaxFile = 1 << 20

// templates end the names of files that hold no values but show which ones
// are wanted.
var templates = []string{".example", ".sample", ".template", ".dist", ".schema"}

// Files returns the .env files of a folder, by name: .env, .env.production
// and so on, without templates. Those that are larger than MaxFile or no
// files are returned apart.
func Files(dir string) (files, skipped []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil
	}
	for _, e := range entries {
		name := e.Name()
		if name != ".env" && !strings.HasPrefix(name, ".env.") && !strings.HasPrefix(name, ".envrc") && name != ".flaskenv" {
			continue
		}
		if slices.ContainsFunc(templates, func(t string) bool { return strings.HasSuffix(name, t) }) {
			continue
		}
		path := filepath.Join(dir, name)
		switch st, err := os.Stat(path); {
		case err != nil, st.IsDir():
		case !st.Mode().IsRegular() || st.Size() > MaxFile:
			skipped = append(skipped, path)
		default:
			files = append(files, path)
		}
	}
	return files, skipped
}

// Parse reads the assignments of a .env file: NAME=value, with or without
// export and spaces, comments, values bare or in single, double or back
// quotes, quoted ones over several lines too. In double quotes \n, \r, \t, \",
// \$ and \\ are undone. Expansions such as $OTHER are left as they stand. A
// line that is no assignment is skipped; a quote that never ends closes with
// its line, so that it can't hide what follows.
func Parse(file string, text []byte) []Variable {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	base := filepath.Base(file)
	var out []Variable
	for line := 1; s != ""; {
		head, rest, _ := strings.Cut(s, "\n")
		name, value, ok := assignment(head)
		used := 1
		if ok {
			v := value
			if q, body := quoted(value, s[len(head)-len(value):]); q {
				v = body.text
				used = 1 + body.lines
				for range body.lines {
					_, rest, _ = strings.Cut(rest, "\n")
				}
			} else {
				v = bare(v)
			}
			out = append(out, Variable{Name: name, Value: v, Origin: fmt.Sprintf("file:%s:%d", base, line)})
		}
		s = rest
		line += used
	}
	return out
}

// assignment splits a line into its name and what stands behind the sign.
func assignment(line string) (name, value string, ok bool) {
	line = strings.TrimLeft(line, " \t")
	if rest, found := strings.CutPrefix(line, "export"); found && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
		line = strings.TrimLeft(rest, " \t")
	}
	n := 0
	for n < len(line) && nameByte(line[n], n) {
		n++
	}
	if n == 0 {
		return "", "", false
	}
	value = strings.TrimLeft(line[n:], " \t")
	if value == "" || value[0] != '=' && (value[0] != ':' || n < len(line) && line[n] != ':') {
		return "", "", false
	}
	return line[:n], strings.TrimLeft(value[1:], " \t"), true
}

func nameByte(c byte, at int) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || at > 0 && (c >= '0' && c <= '9' || c == '.' || c == '-')
}

// bare ends an unquoted value at a comment.
func bare(v string) string {
	for i := range len(v) {
		if v[i] == '#' && (i == 0 || v[i-1] == ' ' || v[i-1] == '\t') {
			v = v[:i]
			break
		}
	}
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(v), "\"'`"))
}

type quotedText struct {
	text  string
	lines int // line ends inside
}

// quoted reads a value in quotes; text begins with it and goes on to the end
// of the file. It fails where the quote does not end.
func quoted(value, text string) (bool, quotedText) {
	if value == "" || !strings.Contains("\"'`", value[:1]) {
		return false, quotedText{}
	}
	q := text[0]
	var b strings.Builder
	lines := 0
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == q:
			return true, quotedText{b.String(), lines}
		case c == '\\' && q == '"' && i+1 < len(text):
			i++
			switch e := text[i]; e {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '$':
				b.WriteByte(e)
			default:
				b.WriteByte('\\')
				i--
			}
		default:
			if c == '\n' {
				lines++
			}
			b.WriteByte(c)
		}
	}
	return false, quotedText{}
}
