package harness

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// server is an entry of a list of MCP servers, with its places in the file.
type server struct {
	path    []string
	local   bool   // it is a program to start
	remote  bool   // it has a URL
	address string // the URL, if it is a string
	url     span   // of its literal
	odd     string // why it can't be edited; empty if it can
	program string
	command span // of the program's literal
	args    []string
	argsAt  []span
	list    int                 // the offset behind the bracket of args; 0 for none
	flags   []string            // of margay mcp, where it is wrapped
	without func(string) string // how to write args if there are none
}

// Server is what became of one entry.
type Server struct {
	Name   string `json:"name"` // its path in the file, such as mcpServers.files
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"`
	// Flags are those of margay mcp that name the server and its pack.
	Flags []string `json:"flags,omitempty"`
}

// State is what became of a server.
type State string

// States.
const (
	Wrapped     State = "wrapped"     // runs through Margay from now on
	Already     State = "already"     // ran through Margay before
	Unwrapped   State = "unwrapped"   // runs by itself again
	Direct      State = "alone"       // ran by itself before
	Remote      State = "not-covered" // is reached by a URL
	Unsupported State = "not-read"    // is written in a way that Margay does not understand
)

// name is the server's path in the file, for a message.
func (s *server) name() string {
	var shown []string
	for _, p := range s.path {
		shown = append(shown, Shown(p))
	}
	return strings.Join(shown, ".")
}

// wrapped reports at which argument a server's own command starts, if it runs
// through Margay.
func (s *server) wrapped() (int, bool) {
	// The file may have been written on another system.
	if !Margay(s.program) {
		return 0, false
	}
	dash := slices.Index(s.args, "--")
	if dash < 1 || s.args[0] != "mcp" && !strings.HasPrefix(s.args[0], "-") || !slices.Contains(s.args[:dash], "mcp") || dash+1 == len(s.args) {
		return 0, false
	}
	return dash + 1, true
}

// Wrap returns the file's content b in which margay runs every server that is a
// program, and what became of each. flags go between margay and mcp, and those that
// named returns for a server's name and command between mcp and the command; named
// may be nil.
func (f *File) Wrap(b []byte, margay string, flags []string, named func(name string, command []string) []string) ([]byte, []Server, error) {
	return f.rewrite(b, func(s *server) ([]splice, State) {
		if !s.local {
			return f.route(s, f.Routes)
		}
		if _, ok := s.wrapped(); ok {
			return nil, Already
		}
		var head []string
		if named != nil {
			s.flags = named(s.path[len(s.path)-1], append([]string{s.program}, s.args...))
		}
		for _, a := range slices.Concat(flags, []string{"mcp"}, s.flags, []string{"--"}) {
			head = append(head, quoted(a))
		}
		head = append(head, string(s.command.of(b)))
		first := splice{s.command, quoted(margay)}
		text := strings.Join(head, ", ")
		if s.list == 0 {
			first.text += s.without("[" + text + "]")
			return []splice{first}, Wrapped
		}
		if len(s.args) > 0 {
			text += ","
			if next := b[s.list]; next != '\n' && next != '\r' {
				text += " "
			}
		}
		return []splice{first, {span{s.list, s.list}, text}}, Wrapped
	})
}

// Unwrap returns the file's content b in which every server runs by itself, and
// what became of each.
func (f *File) Unwrap(b []byte) ([]byte, []Server, error) {
	return f.rewrite(b, func(s *server) ([]splice, State) {
		if !s.local {
			back := map[string]string{}
			for from, to := range f.Routes {
				back[to] = from
			}
			edits, state := f.route(s, back)
			if state == Wrapped {
				state = Unwrapped
			} else if state == Already {
				state = Direct
			}
			return edits, state
		}
		own, ok := s.wrapped()
		if !ok {
			return nil, Direct
		}
		end := s.argsAt[own].end
		if rest := b[end:]; own+1 < len(s.args) {
			// Up to the comma, and the space that goes with it.
			i := bytes.IndexByte(rest, ',')
			if end += i + 1; end < len(b) && b[end] == ' ' {
				end++
			}
		}
		return []splice{{s.command, string(s.argsAt[own].of(b))}, {span{s.list, end}, ""}}, Unwrapped
	})
}

// route replaces the URL of a server by the one that belongs to it.
func (f *File) route(s *server, by map[string]string) ([]splice, State) {
	if to, ok := by[s.address]; ok && s.address != "" {
		return []splice{{s.url, quoted(to)}}, Wrapped
	}
	for _, to := range by {
		if to == s.address {
			return nil, Already
		}
	}
	return nil, Remote
}

func (f *File) rewrite(b []byte, how func(*server) ([]splice, State)) ([]byte, []Server, error) {
	found, err := f.format.read(b, f.servers)
	if err != nil {
		return nil, nil, err
	}
	var all []splice
	var out []Server
	for i := range found {
		s := &found[i]
		one := Server{Name: s.name()}
		switch {
		case s.odd != "":
			one.State, one.Detail = Unsupported, s.odd
		case !s.local && !s.remote:
			one.State, one.Detail = Unsupported, "it has neither a command nor a URL"
		default:
			var edits []splice
			edits, one.State = how(s)
			one.Flags = s.flags
			switch {
			case s.local:
				one.Detail = Shown(filepath.Base(s.program))
			case one.State == Wrapped:
				one.Detail = "its URL"
			case one.State == Remote:
				one.Detail = "its URL is not in mcp.servers"
			}
			all = append(all, edits...)
		}
		out = append(out, one)
	}
	slices.SortFunc(all, func(a, b splice) int { return a.start - b.start })
	after := apply(b, all)
	return after, out, f.same(b, after, f.unwrapped)
}

// same checks an edit: both files must mean the same without what Margay has in
// them, which without removes.
func (f *File) same(before, after []byte, without func(doc map[string]any)) error {
	var docs [2]map[string]any
	for i, b := range [][]byte{before, after} {
		doc, err := f.format.decode(b)
		if err != nil {
			return err
		}
		without(doc)
		docs[i] = doc
	}
	if !reflect.DeepEqual(docs[0], docs[1]) {
		return errors.New("the edit would change more than it should")
	}
	return nil
}

// unwrapped makes every server of what a file says run by itself.
func (f *File) unwrapped(doc map[string]any) {
	for _, path := range f.servers {
		f.plain(doc, path)
	}
}

func (f *File) plain(v any, path []string) {
	o, ok := v.(map[string]any)
	if !ok {
		return
	}
	if len(path) > 0 {
		for name, inner := range o {
			if path[0] == "*" || path[0] == name {
				f.plain(inner, path[1:])
			}
		}
		return
	}
	for _, one := range o {
		entry, ok := one.(map[string]any)
		if !ok {
			continue
		}
		var s server
		s.program, _ = entry["command"].(string)
		args, _ := entry["args"].([]any)
		for _, a := range args {
			text, _ := a.(string)
			s.args = append(s.args, text)
		}
		if own, ok := s.wrapped(); ok {
			entry["command"], entry["args"] = s.args[own], args[own+1:]
		}
		for _, key := range []string{"url", "serverUrl", "httpUrl"} {
			if at, ok := entry[key].(string); ok {
				if to, ok := f.Routes[at]; ok {
					entry[key] = to
				}
			}
		}
		if args, ok := entry["args"].([]any); ok && len(args) == 0 {
			delete(entry, "args") // an empty list means the same as none
		}
	}
}
