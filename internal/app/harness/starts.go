package harness

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// Start is how an agent program starts or reaches an MCP server.
type Start struct {
	Name    string // in the agent's configuration
	Command []string
	Env     map[string]string
	Wrapped bool // it runs through Margay; Command is its own
	Remote  bool // it has a URL and no command
	Odd     bool // it is written in a way that only its agent understands
}

// Starts returns the servers in the file's content b, by name.
func (f *File) Starts(b []byte) ([]Start, error) {
	doc, err := f.format.decode(b)
	if err != nil {
		return nil, err
	}
	var out []Start
	for _, path := range f.servers {
		out = append(out, f.startsBelow(doc, path)...)
	}
	return out, nil
}

// Each reads the files that exist and are not empty, each once. It calls failed for
// one that can't be read, or that look returns an error for.
func Each(files []File, look func(*File, []byte) error, failed func(*File, error)) {
	seen := map[string]bool{}
	for i := range files {
		f := &files[i]
		if seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		was, err := f.Read()
		if err == nil && (!was.Exists || len(bytes.TrimSpace(was.Bytes)) == 0) {
			continue
		}
		if err == nil {
			err = look(f, was.Bytes)
		}
		if err != nil {
			failed(f, err)
		}
	}
}

func (f *File) startsBelow(v any, path []string) (out []Start) {
	o, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		switch {
		case len(path) == 0:
			if entry, ok := o[name].(map[string]any); ok {
				out = append(out, f.startOf(name, entry))
			}
		case path[0] == "*" || path[0] == name:
			out = append(out, f.startsBelow(o[name], path[1:])...)
		}
	}
	return out
}

func (f *File) startOf(name string, entry map[string]any) Start {
	s := Start{Name: name, Env: map[string]string{}}
	program, ok := entry["command"].(string)
	if !ok {
		s.Remote = entry["command"] == nil
		s.Odd = !s.Remote
		for _, key := range []string{"url", "serverUrl", "httpUrl"} {
			at, _ := entry[key].(string)
			s.Wrapped = s.Wrapped || at != "" && slices.Contains(slices.Collect(maps.Values(f.Routes)), at)
		}
		return s
	}
	text := func(v any) string {
		t, ok := v.(string)
		s.Odd = s.Odd || !ok || strings.Contains(t, "${") // agents differ in what it stands for
		return t
	}
	s.Command = []string{program}
	args, _ := entry["args"].([]any)
	for _, a := range args {
		word, ok := a.(string)
		s.Odd = s.Odd || !ok
		s.Command = append(s.Command, word)
	}
	var own int
	if own, s.Wrapped = (&server{program: program, args: s.Command[1:]}).wrapped(); s.Wrapped {
		s.Command = s.Command[1+own:]
	}
	for _, word := range s.Command {
		text(word)
	}
	env, _ := entry["env"].(map[string]any)
	for k, v := range env {
		s.Env[k] = text(v)
	}
	return s
}
