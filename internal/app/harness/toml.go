package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	gotoml "github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// toml is TOML 1.0.
type toml struct{}

func (toml) decode(b []byte) (map[string]any, error) {
	out := map[string]any{}
	if err := shallow(b); err != nil {
		return nil, err
	}
	if err := gotoml.Unmarshal(b, &out); err != nil {
		return nil, errors.New("it is not TOML") // the library's error quotes the file
	}
	return out, nil
}

func (t toml) read(b []byte, paths [][]string) ([]server, error) {
	// The strict reader comes first: the one below knows positions, but not
	// rules such as that a key appears once.
	if _, err := t.decode(b); err != nil {
		return nil, err
	}
	r := tomlReader{b: b, at: paths[0]}
	var p unstable.Parser
	p.Reset(b)
	var table []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = keys(e.Key())
			if s := r.of(table); s != nil && len(table) == len(r.at)+1 && e.Kind == unstable.ArrayTable {
				s.odd = "it is a list"
			}
		case unstable.KeyValue:
			r.pair(table, e)
		default:
		}
	}
	if p.Error() != nil {
		return nil, errors.New("it is not TOML")
	}
	out := make([]server, len(r.found))
	for i, s := range r.found {
		out[i] = *s
	}
	return out, nil
}

// tomlReader collects servers, wherever their keys are.
type tomlReader struct {
	b     []byte
	at    []string
	found []*server
}

// of returns the server that a path leads into.
func (r *tomlReader) of(path []string) *server {
	if len(path) <= len(r.at) || !slices.Equal(path[:len(r.at)], r.at) {
		return nil
	}
	path = path[:len(r.at)+1]
	for _, s := range r.found {
		if slices.Equal(s.path, path) {
			return s
		}
	}
	s := &server{path: slices.Clone(path)}
	r.found = append(r.found, s)
	return s
}

// pair reads a key and its value, and the pairs of an inline table one by one.
func (r *tomlReader) pair(above []string, e *unstable.Node) {
	path := append(slices.Clone(above), keys(e.Key())...)
	if v := e.Value(); v.Kind == unstable.InlineTable && len(path) <= len(r.at)+1 {
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				r.pair(path, it.Node())
			}
		}
		return
	}
	s := r.of(path)
	if s == nil || len(path) != len(r.at)+2 {
		return
	}
	switch v := e.Value(); path[len(path)-1] {
	case "url":
		s.remote = true
		if v.Kind == unstable.String {
			s.address, s.url = string(v.Data), span{int(v.Raw.Offset), int(v.Raw.Offset + v.Raw.Length)}
		}
	case "command":
		if v.Kind != unstable.String {
			s.odd = "its command is not text"
			return
		}
		s.program, s.local = string(v.Data), true
		s.command = span{int(v.Raw.Offset), int(v.Raw.Offset + v.Raw.Length)}
		s.without = r.beside(e)
	case "args":
		r.args(s, e)
	}
}

func (r *tomlReader) args(s *server, e *unstable.Node) {
	v := e.Value()
	if v.Kind != unstable.Array {
		s.odd = "its args are not a list"
		return
	}
	// The list's bracket is the first one behind the key.
	i := lastKey(e).end
	for i < len(r.b) && r.b[i] != '[' {
		i++
	}
	s.list = i + 1
	for it := v.Children(); it.Next(); {
		n := it.Node()
		if n.Kind == unstable.Comment {
			continue
		}
		if n.Kind != unstable.String {
			s.odd = "an argument is not text"
			return
		}
		s.args = append(s.args, string(n.Data))
		s.argsAt = append(s.argsAt, span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
	}
}

// beside returns how to write a list of arguments behind a command: on a line
// of its own, or in the same inline table.
func (r *tomlReader) beside(e *unstable.Node) func(string) string {
	key := lastKey(e)
	line := key.start
	for line > 0 && r.b[line-1] != '\n' {
		line--
	}
	before := string(r.b[line:key.start])
	if strings.ContainsAny(before, "{=") {
		return func(list string) string { return ", args = " + list }
	}
	end := "\n"
	if i := slices.Index(r.b, '\n'); i > 0 && r.b[i-1] == '\r' {
		end = "\r\n"
	}
	return func(list string) string { return fmt.Sprintf("%s%sargs = %s", end, before, list) }
}

func lastKey(e *unstable.Node) span {
	var out span
	for it := e.Key(); it.Next(); {
		raw := it.Node().Raw
		out = span{int(raw.Offset), int(raw.Offset + raw.Length)}
	}
	return out
}

func keys(it unstable.Iterator) []string {
	var out []string
	for it.Next() {
		out = append(out, string(it.Node().Data))
	}
	return out
}
