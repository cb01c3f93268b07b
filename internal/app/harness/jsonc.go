package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxFile bounds a configuration file. Claude Code's own grows with its
// history.
const maxFile = 64 << 20

// maxDepth bounds how deep a configuration file nests.
const maxDepth = 64

// jsonc is JSON with comments and trailing commas.
type jsonc struct{}

// parse reads a whole document, which must be an object.
func (jsonc) parse(b []byte) (hujson.Value, *hujson.Object, error) {
	if err := shallow(b); err != nil {
		return hujson.Value{}, nil, err
	}
	v, err := hujson.Parse(b)
	if err != nil {
		return v, nil, errors.New("it is not JSON") // the library's error quotes the file
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return v, nil, errors.New("it is not an object")
	}
	return v, o, nil
}

// shallow refuses a file that nests so deep that reading it would exhaust the
// stack. Brackets in comments count, too: they are few.
func shallow(b []byte) error {
	if len(b) > maxFile {
		return fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			if depth++; depth > 16*maxDepth {
				return errors.New("it nests too deep")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// member returns a member of an object. A name that appears twice is an error:
// programs differ in which one they take.
func member(o *hujson.Object, name string) (*hujson.ObjectMember, error) {
	var found *hujson.ObjectMember
	for i := range o.Members {
		if n, ok := o.Members[i].Name.Value.(hujson.Literal); ok && n.String() == name {
			if found != nil {
				return nil, fmt.Errorf("the key %s appears twice", Shown(name))
			}
			found = &o.Members[i]
		}
	}
	return found, nil
}

func at(v *hujson.Value) span { return span{v.StartOffset, v.EndOffset} }

func (j jsonc) read(b []byte, paths [][]string) ([]server, error) {
	_, root, err := j.parse(b)
	if err != nil {
		return nil, err
	}
	var out []server
	for _, path := range paths {
		if out, err = j.below(out, root, nil, path); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// below adds the servers to which a path leads from an object.
func (j jsonc) below(out []server, o *hujson.Object, above, path []string) ([]server, error) {
	for i := range o.Members {
		name := o.Members[i].Name.Value.(hujson.Literal).String()
		v := &o.Members[i].Value
		inner, ok := v.Value.(*hujson.Object)
		if len(path) > 0 && (!ok || path[0] != "*" && path[0] != name) {
			continue
		}
		if _, err := member(o, name); err != nil {
			return nil, err
		}
		var err error
		if at := append(slices.Clone(above), name); len(path) > 0 {
			out, err = j.below(out, inner, at, path[1:])
		} else {
			out = append(out, server{})
			out[len(out)-1], err = j.server(at, v)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (j jsonc) server(path []string, v *hujson.Value) (server, error) {
	s := server{path: path}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		s.odd = "it is not an object"
		return s, nil
	}
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		m, err := member(o, key)
		if err != nil {
			return s, err
		}
		if m != nil {
			s.remote = true
			s.address, _ = text(&m.Value, "")
			s.url = at(&m.Value)
		}
	}
	m, err := member(o, "command")
	if err != nil || m == nil {
		return s, err
	}
	if s.program, s.odd = text(&m.Value, "its command"); s.odd != "" {
		return s, nil
	}
	s.command, s.local = at(&m.Value), true
	s.without = func(list string) string { return `, "args": ` + list }
	args, err := member(o, "args")
	if err != nil || args == nil {
		return s, err
	}
	list, ok := args.Value.Value.(*hujson.Array)
	if !ok {
		s.odd = "its args are not a list"
		return s, nil
	}
	s.list = args.Value.StartOffset + 1
	for i := range list.Elements {
		arg, odd := text(&list.Elements[i], "an argument")
		if odd != "" {
			s.odd = odd
			return s, nil
		}
		s.args, s.argsAt = append(s.args, arg), append(s.argsAt, at(&list.Elements[i]))
	}
	return s, nil
}

func text(v *hujson.Value, what string) (string, string) {
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return "", what + " is not text"
	}
	return l.String(), ""
}

func (j jsonc) decode(b []byte) (map[string]any, error) {
	v, _, err := j.parse(b)
	if err != nil {
		return nil, err
	}
	v = v.Clone()
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	out := map[string]any{}
	if err := d.Decode(&out); err != nil {
		return nil, errors.New("it is not JSON")
	}
	return out, nil
}

// quoted is text as a JSON string, which is a TOML string, too.
func quoted(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // strings always encode
	return strings.TrimSuffix(b.String(), "\n")
}

// Shown is a word of somebody's configuration, for a message. A word that does
// not look like a name or a path may hold a secret, and is not repeated.
func Shown(word string) string {
	if word == "" || len(word) > 200 {
		return "(not shown)"
	}
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(`/\._-@: ${}~+`, r) }) {
		if len(part) > 24 {
			return "(not shown)"
		}
		for _, r := range part {
			if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') {
				return "(not shown)"
			}
		}
	}
	return word
}
