package places

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/effect"
)

// TestTools: what is said of a tool is seen by all books of a store, counts for one
// definition, and gives way to what is said later.
func TestTools(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	one, two := book(s), book(s)
	say := func(name, definition string, p effect.Profile) {
		t.Helper()
		if err := one.Say(ctx, Tool{Name: name, Definition: definition, Profile: p}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(name, definition string, p effect.Profile, ok bool) {
		t.Helper()
		for _, b := range []*Book{one, two} {
			m, err := b.Now(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			if got, known := m.Profile(name, definition); got != p || known != ok {
				t.Errorf("%s, %q: %+v, %v", name, definition, got, known)
			}
		}
	}
	reads, pays := effect.Profile{Own: true}, effect.Profile{Effect: effect.Spend}
	want("mcp__bank__pay", "", effect.Profile{}, false)
	say("mcp__bank__pay", "", reads)
	say("mcp__bank__pay", "", pays)
	say("pay", "d1", reads)
	say("mcp__bank__list", "", reads)
	want("mcp__bank__pay", "", pays, true)
	want("bank__pay", "", effect.Profile{}, false)
	want("mcp__bank__pay", "d1", effect.Profile{}, false)
	want("pay", "d1", reads, true)
	want("pay", "", effect.Profile{}, false)
	if m, err := two.Now(ctx, ""); err != nil || m.Holds("") || m.Tainted("") {
		t.Errorf("tools are taken for files, %v", err)
	}
	if gone, err := two.Endorse(ctx, "/"); len(gone) > 0 || err != nil {
		t.Errorf("endorsed %v, %v", gone, err)
	}
	if ok, err := two.Unsay(ctx, "mcp__bank"); !ok || err != nil {
		t.Errorf("a server is forgotten: %v, %v", ok, err)
	}
	want("mcp__bank__pay", "", effect.Profile{}, false)
	want("mcp__bank__list", "", effect.Profile{}, false)
	want("pay", "d1", reads, true)
	if ok, err := two.Unsay(ctx, "nothing"); ok || err != nil {
		t.Errorf("nothing is forgotten: %v, %v", ok, err)
	}
	all, err := two.All(ctx)
	if err != nil || len(all) != 1 || all[0].Tool == nil || all[0].Tool.Profile != reads {
		t.Errorf("all: %+v, %v", all, err)
	}
	for _, name := range []string{"", "mcp____", strings.Repeat("x", 600)} {
		if err := one.Say(ctx, Tool{Name: name}); name != "mcp____" && !errors.Is(err, ErrTool) {
			t.Errorf("%.10q: %v", name, err)
		}
	}
}
