// Package environ finds the credentials in environments and .env files, so
// that Margay protects them although nobody listed them by hand.
package environ

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variable is a named value and where it was found.
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

// templates end the names of files that show which values are needed, and hold
// none.
var templates = []string{".example", ".sample", ".template", ".dist", ".schema"}

// Files returns the .env files of a folder, by name: .env, .env.production
// and so on, without templates. skipped are those that are larger than MaxFile
// or not regular files.
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
// \$ and \\ are unescaped. Expansions such as $OTHER stay as they are. A line
// that is not an assignment is skipped; a quote that never ends closes with its
// line, so that it can't hide what follows.
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
			if text, lines, ok := quoted(value, s[len(head)-len(value):]); ok {
				value, used = text, 1+lines
				for range lines {
					_, rest, _ = strings.Cut(rest, "\n")
				}
			} else {
				value = bare(value)
			}
			out = append(out, Variable{Name: name, Value: value, Origin: fmt.Sprintf("file:%s:%d", base, line)})
		}
		s = rest
		line += used
	}
	return out
}

// assignment splits a line into its name and what follows the sign.
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

// escapes are the escape sequences in double quotes.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\\': '\\', '$': '$'}

// quoted reads a value in quotes, and counts its line ends; text starts with it
// and goes on to the end of the file. It reports false if the quote does not end.
func quoted(value, text string) (_ string, lines int, ok bool) {
	if value == "" || !strings.Contains("\"'`", value[:1]) {
		return "", 0, false
	}
	q := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == q:
			return b.String(), lines, true
		case c == '\\' && q == '"' && i+1 < len(text) && escapes[text[i+1]] != 0:
			i++
			b.WriteByte(escapes[text[i]])
		default:
			if c == '\n' {
				lines++
			}
			b.WriteByte(c)
		}
	}
	return "", 0, false
}
