package altered_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/altered"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

func digest(name, args string) altered.Digest { return sha256.Sum256([]byte(name + "\x00" + args)) }

// said is a conversation: calls as "args", whose results come next, and results
// alone as "=id".
func said(of ...string) (out []flow.Turn) {
	for i, args := range of {
		id := fmt.Sprint("id", i)
		if args[0] == '=' {
			out = append(out, flow.Turn{Role: flow.RoleTool, Result: args[1:]})
			continue
		}
		out = append(out, flow.Turn{Role: flow.RoleAssistant, Calls: []flow.TurnCall{{ID: id, Name: "run", Arguments: args}}}, flow.Turn{Role: flow.RoleTool, Result: id})
	}
	return out
}

// made is a call; value is what was replaced in it, 0 for nothing.
func made(args string, value byte, id string) altered.Call {
	c := altered.Call{Digest: digest("run", args)}
	if value != 0 {
		c.Finding = audit.Finding{ID: id, Rule: "r", Kind: secret.KindToken, Fingerprint: secret.Fingerprint{value}}
	}
	return c
}

// found are the findings of the results in a conversation that have one.
func found(m *altered.Memory, turns []flow.Turn) (out []string) {
	for _, r := range m.Results(turns) {
		out = append(out, fmt.Sprint(r.Turn, r.Finding.ID))
	}
	return out
}

func TestMemory(t *testing.T) {
	type step struct {
		before []string
		made   []altered.Call
	}
	for name, c := range map[string]struct {
		steps []step
		asked []flow.Turn
		want  []string
	}{
		"the result of the call": {[]step{{[]string{"a"}, []altered.Call{made("x", 1, "F")}}}, said("a", "x", "b"), []string{"3F"}},
		"old messages are gone":  {[]step{{[]string{"a", "b"}, []altered.Call{made("x", 1, "F")}}}, said("b", "x"), []string{"3F"}},
		"the call before too":    {[]step{{[]string{"a"}, []altered.Call{made("x", 1, "F")}}}, said("x"), nil},
		"nothing was replaced":   {[]step{{nil, []altered.Call{made("x", 0, "")}}}, said("x"), nil},
		"no result yet":          {[]step{{nil, []altered.Call{made("x", 1, "F")}}}, said("x")[:1], nil},
		"two of one answer":      {[]step{{nil, []altered.Call{made("x", 1, "F"), made("y", 2, "G")}}}, said("x", "y"), []string{"1F", "3G"}},
		"a second result":        {[]step{{nil, []altered.Call{made("x", 1, "F")}}}, append(said("x"), said("=id0")...), []string{"1F"}},
		"the model repeats what it reads": {
			[]step{{nil, []altered.Call{made("x", 1, "F")}}, {[]string{"x"}, []altered.Call{made("x", 0, "")}}},
			said("x", "x"),
			[]string{"1F"},
		},
		"and once more: which is which can't be told": {
			[]step{{[]string{"x"}, []altered.Call{made("x", 1, "F")}}, {[]string{"x", "x"}, []altered.Call{made("x", 0, "")}}},
			said("x", "x", "x"), nil,
		},
		"it wrote the mark before": {[]step{{[]string{"x", "x"}, []altered.Call{made("x", 1, "F")}}}, said("x", "x", "x"), nil},
		"it wrote the mark in the same answer": {
			[]step{{[]string{"x"}, []altered.Call{made("x", 0, ""), made("x", 1, "F")}}}, said("x", "x", "x"), nil,
		},
		"another value": {
			[]step{{nil, []altered.Call{made("x", 1, "F")}}, {nil, []altered.Call{made("x", 2, "G")}}}, said("x"), nil,
		},
		"another value, and the first again": {
			[]step{{nil, []altered.Call{made("x", 1, "F")}}, {nil, []altered.Call{made("x", 2, "G")}}, {nil, []altered.Call{made("x", 1, "H")}}}, said("x"), nil,
		},
		"the answer is asked for again": {
			[]step{{nil, []altered.Call{made("x", 1, "F")}}, {nil, []altered.Call{made("x", 1, "G")}}}, said("x"), []string{"1F"},
		},
	} {
		m := altered.New(digest, func(int) {})
		for _, s := range c.steps {
			m.Note(said(s.before...), s.made)
		}
		for range 2 {
			if got := found(m, c.asked); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// Clients may give two calls one id: one that both wait with is nobody's.
func TestSharedIDs(t *testing.T) {
	m := altered.New(digest, func(int) {})
	m.Note(nil, []altered.Call{made("x", 1, "F"), made("y", 0, "")})
	call := func(args string) flow.TurnCall { return flow.TurnCall{ID: "call_0", Name: "run", Arguments: args} }
	result := flow.Turn{Role: flow.RoleTool, Result: "call_0"}
	both := []flow.Turn{{Calls: []flow.TurnCall{call("x"), call("y")}}, result, result}
	if got := found(m, both); got != nil {
		t.Errorf("at once: %q", got)
	}
	apart := []flow.Turn{{Calls: []flow.TurnCall{call("x")}}, result, {Calls: []flow.TurnCall{call("y")}}, result}
	if got := found(m, apart); !slices.Equal(got, []string{"1F"}) {
		t.Errorf("one after the other: %q", got)
	}
}

// The memory is bounded, and counts what it takes.
func TestBound(t *testing.T) {
	bytes := 0
	m := altered.New(digest, func(n int) { bytes += n })
	var all []string
	for i := range 300 {
		args := fmt.Sprint("call ", i)
		m.Note(said(all...), []altered.Call{made(args, 1, args)})
		all = append(all, args)
	}
	if got := found(m, said(all...)); len(got) != 256 || got[0] != "89call 44" {
		t.Errorf("%d are known, from %q on", len(got), got[0])
	}
	if bytes != 256*512 {
		t.Errorf("it takes %d bytes", bytes)
	}
}

func TestFirst(t *testing.T) {
	all := []audit.Finding{{ID: "1", Action: flow.ActReport}, {ID: "2", Action: flow.ActAllow}, {ID: "3", Action: flow.ActRedact, Path: "p"}, {ID: "4", Action: flow.ActPseudonym}}
	if f := altered.First(all, audit.Finding{ID: "5"}); f.ID != "3" || f.Path != "" {
		t.Errorf("%+v", f)
	}
	if f := altered.First(all[:2], audit.Finding{}); f.ID != "" {
		t.Errorf("nothing was replaced, but %+v", f)
	}
	if f := altered.First(all[:2], audit.Finding{ID: "5"}); f.ID != "5" {
		t.Errorf("rubrics withheld 5, not %+v", f)
	}
}
