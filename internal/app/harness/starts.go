package harness

import (
	"maps"
	"slices"
	"strings"
)

// Start is how an agent program starts or reaches an MCP server.
type Start struct {
	Name    string // in the agent's configuration
	Command []string
	Env     map[string]string
	Remote  bool // it has a URL and no command
	Odd     bool // it is written in a way that only its agent understands
}

// Starts returns the servers in the file's content b, by name. A server that runs
// through Margay is started by its own command.
func (f *File) Starts(b []byte) ([]Start, error) {
	doc, err := f.format.decode(b)
	if err != nil {
		return nil, err
	}
	f.unwrapped(doc)
	var out []Start
	for _, path := range f.servers {
		out = append(out, startsBelow(doc, path)...)
	}
	return out, nil
}

func startsBelow(v any, path []string) (out []Start) {
	o, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		switch {
		case len(path) == 0:
			if entry, ok := o[name].(map[string]any); ok {
				out = append(out, startOf(name, entry))
			}
		case path[0] == "*" || path[0] == name:
			out = append(out, startsBelow(o[name], path[1:])...)
		}
	}
	return out
}

func startOf(name string, entry map[string]any) Start {
	s := Start{Name: name, Env: map[string]string{}}
	program, ok := entry["command"].(string)
	if !ok {
		s.Remote = entry["command"] == nil
		s.Odd = !s.Remote
		return s
	}
	text := func(v any) string {
		t, ok := v.(string)
		s.Odd = s.Odd || !ok || strings.Contains(t, "${") // agents differ in what it stands for
		return t
	}
	s.Command = []string{text(program)}
	args, _ := entry["args"].([]any)
	for _, a := range args {
		s.Command = append(s.Command, text(a))
	}
	env, _ := entry["env"].(map[string]any)
	for k, v := range env {
		s.Env[k] = text(v)
	}
	return s
}
