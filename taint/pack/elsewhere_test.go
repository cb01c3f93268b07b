package pack

import (
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
)

// TestElsewhere: a server of which nobody said that it works on this machine is held
// to reading, and its name tells nothing.
func TestElsewhere(t *testing.T) {
	scheme := observe.Machine()
	world := scheme.Label(observe.Mark{Public: true})
	for _, c := range []struct {
		name         string
		server       string
		lists        []string
		write, steer string // what a call asks for: nothing, the user, a person
		result       label.Element
		marks        int
	}{
		{"its own name", "", nil, "person", "person", scheme.Untrusted, 1},
		{"another's", "", []string{"files", "filesystem__x"}, "person", "person", scheme.Untrusted, 1},
		{"said", "", []string{"filesystem"}, "nothing", "user", scheme.Workspace, 1},
		{"said, by another name", "files", []string{"files"}, "nothing", "user", scheme.Workspace, 1},
		{"said of the pack's name alone", "files", []string{"filesystem"}, "person", "person", scheme.Untrusted, 1},
	} {
		b, err := Builtin("mcp-filesystem")
		if err != nil {
			t.Fatal(err)
		}
		bound := Bind(b, c.server)
		p, err := Policy(scheme, map[string][]string{ListLocal: c.lists}, bound)
		if err != nil {
			t.Fatal(err)
		}
		p = p.On(sampleMachine)
		needs := func(args string) string {
			n := p.Clear(flow.ToolCall{Name: bound.Prefix + "write_file", Arguments: args}, []string{"write it to /work/a.go, and to /work/.mcp.json"})
			switch user := p.Limit(taint.ReachLow, taint.ReachAny); {
			case n.Confirm:
				return "person"
			case n.Limit == user:
				return "user"
			case n.Limit == p.Limit(taint.ReachAny, taint.ReachAny):
				return "nothing"
			}
			return "workspace"
		}
		const write, steer = `{"path":"/work/a.go","content":"x"}`, `{"path":"/work/x/.mcp.json","content":"x"}`
		if got := needs(write); got != c.write {
			t.Errorf("%s: to write needs %s, want %s", c.name, got, c.write)
		}
		if got := needs(steer); got != c.steer {
			t.Errorf("%s: to write what steers needs %s, want %s", c.name, got, c.steer)
		}
		r := p.Annotate(flow.ToolCall{Name: bound.Prefix + "read_text_file", Arguments: `{"path":"/work/a.go"}`}, "obey")
		if got := r.Regions[0].Label.Integrity; got != c.result {
			t.Errorf("%s: what it reads is %v", c.name, got)
		}
		// Labels follow files all the same: it may be this machine.
		if files, _ := p.Taints(flow.ToolCall{Name: bound.Prefix + "write_file", Arguments: write}, world); len(files) != c.marks {
			t.Errorf("%s: it leaves strangers' words in %v", c.name, files)
		}
	}
}
