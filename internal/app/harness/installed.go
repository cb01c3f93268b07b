package harness

import (
	"maps"
	"slices"
	"strings"
)

// Hooks are those of Margay's in a file that run one program.
type Hooks struct {
	Program string // as the file names it
	Events  []string
}

// Installed returns margay's hooks in the content b of a file of hooks, and the
// events at which the file does not ask margay. Without any hook of margay's,
// both are empty.
func (f *File) Installed(b []byte) (found []Hooks, missing []string, err error) {
	doc, err := f.format.decode(b)
	if err != nil {
		return nil, nil, err
	}
	events, _ := doc["hooks"].(map[string]any)
	by := map[string][]string{}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		list, _ := events[event].([]any)
		for _, e := range list {
			if name := programOf(f.Program, commandIn(e)); name != "" && !slices.Contains(by[name], event) {
				by[name] = append(by[name], event)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		found = append(found, Hooks{name, by[name]})
	}
	for _, e := range hookForms[f.Program].events {
		event, _, _ := strings.Cut(e, " ")
		if len(found) > 0 && !slices.ContainsFunc(found, func(h Hooks) bool { return slices.Contains(h.Events, event) }) {
			missing = append(missing, event)
		}
	}
	return found, missing, nil
}

// Covered is an MCP server that runs through Margay.
type Covered struct {
	Name    string // as in Server
	Margay  string // the program that the file names; empty for a server with a URL
	Program string // the server's own; for a server with a URL, the address of margay serve
}

// Covered returns the servers in the file's content b that run through Margay.
func (f *File) Covered(b []byte) ([]Covered, error) {
	all, err := f.format.read(b, f.servers)
	if err != nil {
		return nil, err
	}
	var out []Covered
	for i := range all {
		s := &all[i]
		switch own, ok := s.wrapped(); {
		case s.odd != "":
		case s.local && ok:
			out = append(out, Covered{s.name(), s.program, s.args[own]})
		case s.local:
		case s.address != "" && slices.Contains(slices.Collect(maps.Values(f.Routes)), s.address):
			out = append(out, Covered{s.name(), "", s.address})
		}
	}
	return out, nil
}
