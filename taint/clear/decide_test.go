package clear

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

var (
	untrusted = label.Label{Integrity: label.Untrusted}
	private   = label.Label{Confidentiality: label.Private}
	worst     = label.Label{Integrity: label.Untrusted, Confidentiality: label.Private}
	toPrivate = Needs{Limit: Limit{Label: private}}
)

// lines is a canonical form of arguments for tests: NAME=VALUE lines in order.
func lines(args string, without []string) ([]byte, bool) {
	if strings.HasPrefix(args, "?") {
		return nil, false
	}
	var out []string
	for _, l := range strings.Fields(args) {
		if name, _, _ := strings.Cut(l, "="); !slices.Contains(without, name) {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return []byte(strings.Join(out, "\n")), true
}

var digests = Digests{Key: Key{1}, Canonical: lines}

func send(args string) flow.ToolCall {
	return flow.ToolCall{ID: "1", Name: "send", Arguments: args}
}

// TestDecide: each way in which a call is decided.
func TestDecide(t *testing.T) {
	grant, err := digests.Grant("t", send("to=bob body=x"), untrusted, []string{"body", "body"})
	if err != nil || !slices.Equal(grant.Free, []string{"body"}) || grant.Trajectory != "t" || grant.Tool != "send" || grant.Label != untrusted {
		t.Fatalf("%+v, %v", grant, err)
	}
	ask := Needs{Limit: Limit{AnySource: true, AnyReader: true}, Confirm: true}
	kinds := func(under label.Label, kinds ...string) Grant { return Grant{Label: under, Kinds: kinds} }
	does := func(n Needs, kinds ...string) Needs { n.Kinds = kinds; return n }
	deny := Needs{Limit: Limit{AnySource: true, AnyReader: true}, Deny: true}
	for name, c := range map[string]struct {
		from    Basis
		call    flow.ToolCall
		needs   Needs
		grants  []Grant
		outcome flow.Outcome
		fits    bool
		granted bool
		high    bool
		level   string
	}{
		"below":                     {BasisOf(private), send(""), toPrivate, nil, flow.Allow, true, false, false, "(trusted, private)"},
		"the bottom":                {BasisOf(label.Label{}), send(""), Needs{}, nil, flow.Allow, true, false, false, "(trusted, public)"},
		"too high":                  {BasisOf(untrusted), send(""), toPrivate, nil, flow.Confirm, false, false, true, "(trusted, private)"},
		"the bottom alone":          {BasisOf(private), send(""), Needs{}, nil, flow.Confirm, false, false, true, "(trusted, public)"},
		"anything":                  {BasisOf(worst), send(""), Needs{Limit: unlimited}, nil, flow.Allow, true, false, false, "(any, any)"},
		"always asks":               {BasisOf(label.Label{}), send(""), ask, nil, flow.Confirm, true, false, false, "(any, any)"},
		"never":                     {BasisOf(label.Label{}), send(""), deny, nil, flow.Deny, true, false, false, "(any, any)"},
		"never, with a grant":       {BasisOf(untrusted), send("to=bob"), deny, []Grant{grant}, flow.Deny, true, false, false, "(any, any)"},
		"granted":                   {BasisOf(untrusted), send("body=y to=bob"), toPrivate, []Grant{{}, grant}, flow.Allow, true, true, false, "(trusted, private)"},
		"granted under less":        {BasisOf(label.Label{}), send("to=bob"), Needs{Confirm: true}, []Grant{grant}, flow.Allow, true, true, false, "(trusted, public)"},
		"granted under another":     {BasisOf(private), send("to=bob"), Needs{}, []Grant{grant}, flow.Confirm, false, false, true, "(trusted, public)"},
		"granted for another":       {BasisOf(untrusted), send("to=eve"), toPrivate, []Grant{grant}, flow.Confirm, false, false, true, "(trusted, private)"},
		"granted for another tool":  {BasisOf(untrusted), flow.ToolCall{Name: "post", Arguments: "to=bob"}, toPrivate, []Grant{grant}, flow.Confirm, false, false, true, "(trusted, private)"},
		"nothing needs a grant":     {BasisOf(private), send("to=bob"), toPrivate, []Grant{grant}, flow.Allow, true, false, false, "(trusted, private)"},
		"no arguments for a grant":  {BasisOf(untrusted), send("?"), toPrivate, []Grant{grant}, flow.Confirm, false, false, true, "(trusted, private)"},
		"of a granted kind":         {BasisOf(untrusted), send("to=eve"), does(toPrivate, "a"), []Grant{kinds(untrusted, "a", "b")}, flow.Allow, true, true, false, "(trusted, private)"},
		"asks, of a granted kind":   {BasisOf(private), send("to=eve"), does(ask, "a"), []Grant{kinds(private, "a")}, flow.Allow, true, true, false, "(any, any)"},
		"of two granted kinds":      {BasisOf(untrusted), send("to=eve"), does(toPrivate, "a", "b"), []Grant{kinds(untrusted, "a"), kinds(untrusted, "b")}, flow.Allow, true, true, false, "(trusted, private)"},
		"of one more kind":          {BasisOf(untrusted), send("to=eve"), does(toPrivate, "a", "b"), []Grant{kinds(untrusted, "a")}, flow.Confirm, false, false, true, "(trusted, private)"},
		"of one that has no kind":   {BasisOf(untrusted), send("to=eve"), does(toPrivate, "a", ""), []Grant{kinds(untrusted, "a", "")}, flow.Confirm, false, false, true, "(trusted, private)"},
		"of no kind":                {BasisOf(untrusted), send("to=eve"), toPrivate, []Grant{kinds(untrusted, "a", "")}, flow.Confirm, false, false, true, "(trusted, private)"},
		"a kind granted below":      {BasisOf(untrusted), send("to=eve"), does(toPrivate, "a"), []Grant{kinds(private, "a")}, flow.Confirm, false, false, true, "(trusted, private)"},
		"a kind, never":             {BasisOf(untrusted), send("to=eve"), does(deny, "a"), []Grant{kinds(untrusted, "a")}, flow.Deny, true, false, false, "(any, any)"},
		"a kind, not known":         {Basis{}, send("to=eve"), does(toPrivate, "a"), []Grant{kinds(untrusted, "a")}, flow.Confirm, false, false, true, "(trusted, private)"},
		"not known":                 {Basis{}, send(""), toPrivate, nil, flow.Confirm, false, false, true, "(trusted, private)"},
		"not known, any source":     {Basis{}, send(""), Needs{Limit: Limit{AnySource: true}}, nil, flow.Confirm, false, false, true, "(any, public)"},
		"not known, any reader":     {Basis{}, send(""), Needs{Limit: Limit{AnyReader: true}}, nil, flow.Confirm, false, false, true, "(trusted, any)"},
		"not known, for anything":   {Basis{}, send(""), Needs{Limit: unlimited}, nil, flow.Allow, true, false, false, "(any, any)"},
		"not known, with a grant":   {Basis{}, send("to=bob"), toPrivate, []Grant{grant}, flow.Confirm, false, false, true, "(trusted, private)"},
		"joined to what is unknown": {Basis{}.With(label.FourPoint, private), send(""), toPrivate, nil, flow.Confirm, false, false, true, "(trusted, private)"},
		"joined":                    {BasisOf(private).With(label.FourPoint, untrusted), send(""), toPrivate, nil, flow.Confirm, false, false, true, "(trusted, private)"},
	} {
		r := Decide(&Step{Lattice: label.FourPoint, From: c.from, Calls: []Proposal{{c.call, c.needs}}, Grants: c.grants, Digests: digests})
		v := r.Verdicts[0]
		if v.Outcome != c.outcome || v.Fits != c.fits || v.Granted != c.granted || r.High != c.high || r.Level.Format(label.FourPoint) != c.level || v.Call != c.call {
			t.Errorf("%s: %+v, high %v, level %s", name, v, r.High, r.Level.Format(label.FourPoint))
		}
		cleared, ok := v.Cleared()
		call, is := cleared.Call()
		if ok != (c.outcome == flow.Allow) || is != ok || ok && call != c.call {
			t.Errorf("%s: cleared is %v, %+v", name, ok, call)
		}
	}
}

// TestDecideAll: calls of one step are decided one by one, and the level is the
// meet of what all need that are not denied.
func TestDecideAll(t *testing.T) {
	r := Decide(&Step{Lattice: label.FourPoint, From: BasisOf(untrusted), Calls: []Proposal{
		{send("a"), Needs{Limit: unlimited}},
		{send("b"), Needs{Deny: true}},
		{send("c"), toPrivate},
		{send("d"), Needs{Limit: Limit{AnyReader: true}}},
	}})
	var got []flow.Outcome
	for i := range r.Verdicts {
		got = append(got, r.Verdicts[i].Outcome)
	}
	if !slices.Equal(got, []flow.Outcome{flow.Allow, flow.Deny, flow.Confirm, flow.Confirm}) || !r.High {
		t.Errorf("%v, %v", got, r.High)
	}
	if l := r.Level.Format(label.FourPoint); l != "(any, any) and (trusted, any) and (trusted, private)" {
		t.Errorf("level %s", l)
	}
	if r := Decide(&Step{Lattice: label.FourPoint}); r.High || len(r.Verdicts) != 0 || !r.Level.Admits(label.FourPoint, worst) {
		t.Errorf("of no calls: %+v", r)
	}
}

// TestCleared: what clears a call, and that nothing else does.
func TestCleared(t *testing.T) {
	decide := func(n Needs) *Verdict {
		r := Decide(&Step{Lattice: label.FourPoint, From: BasisOf(untrusted), Calls: []Proposal{{send("to=bob x=1"), n}}})
		return &r.Verdicts[0]
	}
	yes, err := digests.Digest(send("x=1  to=bob"))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := digests.Digest(send("to=eve x=1"))
	allowed, asked, denied := decide(Needs{Limit: unlimited}), decide(Needs{}), decide(Needs{Deny: true})
	for name, c := range map[string]struct {
		v    *Verdict
		yes  Digest
		want bool
	}{
		"a yes":                 {asked, yes, true},
		"a yes that none asked": {allowed, yes, true},
		"a yes to another":      {asked, other, false},
		"no yes":                {asked, Digest{}, false},
		"denied":                {denied, yes, false},
		"nothing decided":       {&Verdict{Call: send("to=bob x=1"), call: send("to=bob x=1"), Outcome: flow.Confirm}, yes, false},
		"made a denial":         {&Verdict{call: asked.call, decided: flow.Confirm, Outcome: flow.Deny}, yes, false},
		"made laxer":            {&Verdict{call: denied.call, decided: flow.Deny, Outcome: flow.Confirm}, yes, false},
	} {
		got, ok := c.v.Confirmed(digests, c.yes)
		call, is := got.Call()
		if ok != c.want || is != ok || ok && call != send("to=bob x=1") || !ok && got != (Cleared{}) {
			t.Errorf("%s: %v, %+v", name, ok, call)
		}
	}
	if _, ok := asked.Confirmed(Digests{Key: Key{2}, Canonical: lines}, yes); ok {
		t.Error("a yes under another key counts")
	}
	if _, ok := asked.Confirmed(Digests{Key: Key{1}}, Digest{}); ok {
		t.Error("a yes without a canonical form counts")
	}
	for name, v := range map[string]*Verdict{
		"asked": asked, "denied": denied, "nothing decided": {Outcome: flow.Allow, call: send("")},
		"made laxer":    {Outcome: flow.Allow, decided: flow.Confirm, call: send("")},
		"made stricter": {Outcome: flow.Confirm, decided: flow.Allow, call: send("")},
	} {
		if got, ok := v.Cleared(); ok || got != (Cleared{}) {
			t.Errorf("%s is cleared", name)
		}
	}
	// Call is for reading: another one that is put there is not cleared.
	allowed.Call = send("to=eve")
	c, ok := allowed.Cleared()
	if call, _ := c.Call(); !ok || call != send("to=bob x=1") {
		t.Errorf("cleared %+v", call)
	}
	if !c.Covers(send("to=bob x=1")) || c.Covers(send("to=eve")) || c.Covers(flow.ToolCall{ID: "2", Name: "send", Arguments: "to=bob x=1"}) || c.Covers(flow.ToolCall{ID: "1", Name: "post", Arguments: "to=bob x=1"}) {
		t.Error("it covers another call, or not its own")
	}
	if _, ok := (Cleared{}).Call(); ok || (Cleared{}).Covers(flow.ToolCall{}) {
		t.Error("no call is cleared")
	}
}

// TestDigests: a digest is the HMAC of the documented text, and stands for one
// call alone.
func TestDigests(t *testing.T) {
	mac := hmac.New(sha256.New, digests.Key[:])
	mac.Write([]byte("margay taint call 1\x00\"send\"\x00[]\x00a=1\nb=2"))
	got, err := digests.Digest(send("b=2 a=1"))
	if err != nil || got != Digest(mac.Sum(nil)) {
		t.Errorf("the digest is %x, %v", got, err)
	}
	mac = hmac.New(sha256.New, digests.Key[:])
	mac.Write([]byte("margay taint grant 1\x00\"send\"\x00[\"b\" \"c\"]\x00a=1"))
	g, err := digests.Grant("", send("b=2 a=1"), worst, []string{"c", "b"})
	if err != nil || g.Fixed != Digest(mac.Sum(nil)) {
		t.Errorf("a grant is for %x, %v", g.Fixed, err)
	}
	// The order in which free names were kept counts for nothing.
	g.Free = []string{"c", "b"}
	if !g.Covers(label.FourPoint, digests, send("a=1 c=4"), untrusted) || g.Covers(label.FourPoint, digests, send("a=2"), untrusted) || !slices.Equal(g.Free, []string{"c", "b"}) {
		t.Errorf("%+v", g)
	}
	for _, d := range []Digests{digests, {Key: Key{1}}} {
		if _, err := d.Digest(send("?")); !errors.Is(err, ErrCall) {
			t.Errorf("%v", err)
		}
		if _, err := d.Grant("", send("?"), worst, nil); !errors.Is(err, ErrCall) {
			t.Errorf("%v", err)
		}
	}
	if g := (Grant{Tool: "send"}); g.Covers(label.FourPoint, digests, send("?"), label.Label{}) {
		t.Error("a grant of nothing covers a call that has no digest")
	}
}

// TestGrantKeepsItsList: the caller's list of free arguments stays as it is, and
// what becomes of it later changes no grant.
func TestGrantKeepsItsList(t *testing.T) {
	free := []string{"c", "b"}
	g, err := digests.Grant("", send("b=2 a=1"), worst, free)
	if err != nil || free[0] != "c" || free[1] != "b" {
		t.Fatalf("the list is %v, %v", free, err)
	}
	free[0], free[1] = "a", "a"
	if g.Free[0] != "b" || g.Free[1] != "c" || !g.Covers(label.FourPoint, digests, send("a=1 b=3"), worst) {
		t.Errorf("the grant leaves %v open", g.Free)
	}
}

// above is a history with its regions that a limit does not admit changed.
func changed(t *rapid.T, h *History, l Limit) *History {
	out := &History{Lattice: h.Lattice, Messages: slices.Clone(h.Messages), Tools: slices.Clone(h.Tools)}
	for i := range out.Messages {
		m := &out.Messages[i]
		var b strings.Builder
		regions := slices.Clone(m.Regions)
		for j := range regions {
			r := &regions[j]
			text := m.Text[r.Start:r.End]
			if !l.Admits(h.Lattice, r.Label) {
				text = rapid.StringMatching(`[x-z]{0,4}`).Draw(t, "instead")
			}
			r.Start = b.Len()
			b.WriteString(text)
			r.End = b.Len()
		}
		m.Regions, m.Text = regions, b.String()
	}
	for i := range out.Tools {
		if !l.Admits(h.Lattice, out.Tools[i].Label) {
			out.Tools[i].Name = rapid.StringMatching(`[x-z]{1,4}`).Draw(t, "tool instead")
		}
	}
	return out
}

// history draws one of any shape.
func (w *world) history(t *rapid.T) *History {
	h := &History{Lattice: w.lattice}
	for i := range rapid.IntRange(1, 6).Draw(t, "messages") {
		var parts []part
		for range rapid.IntRange(1, 3).Draw(t, "regions") {
			parts = append(parts, part{rapid.StringMatching(`[a-c]{0,3}`).Draw(t, "text"), w.draw(t, "label")})
		}
		role := rapid.SampledFrom([]flow.Role{flow.RoleUser, flow.RoleAssistant, flow.RoleTool, flow.RoleSystem}).Draw(t, "role")
		kind := KindText
		switch role {
		case flow.RoleTool:
			kind = KindResult
		case flow.RoleAssistant:
			kind = rapid.SampledFrom([]Kind{KindText, KindCall}).Draw(t, "kind")
		}
		m := message(role, kind, parts...)
		m.Worst = w.draw(t, "worst")
		if kind != KindText {
			m.Call = rapid.SampledFrom([]string{"", "1", "2", fmt.Sprint("call", i)}).Draw(t, "call")
		}
		h.Messages = append(h.Messages, m)
	}
	for range rapid.IntRange(0, 2).Draw(t, "tools") {
		h.Tools = append(h.Tools, Description{Name: rapid.StringMatching(`[a-c]{1,3}`).Draw(t, "name"), Label: w.draw(t, "label")})
	}
	return h
}

// TestNoDependence is the guarantee from end to end: a model that is any
// function of what it is shown makes a call; if the call is cleared, it is the
// same call, byte for byte, whatever stands above the call's limit.
func TestNoDependence(t *testing.T) {
	for name, w := range worlds(t) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			h, limit := w.history(t), w.limit(t, "limit")
			level := Everything()
			if rapid.Bool().Draw(t, "redacted") {
				level = At(w.limit(t, "level")).Meet(At(limit))
				if rapid.Bool().Draw(t, "elsewhere") {
					level = At(w.limit(t, "level"))
				}
			}
			step := func(h *History) (flow.ToolCall, Ruling) {
				v := h.Redact(level)
				c := flow.ToolCall{Name: "x", Arguments: render(h, v)}
				return c, Decide(&Step{Lattice: w.lattice, From: v.Basis(), Calls: []Proposal{{c, Needs{Limit: limit}}}})
			}
			call, r := step(h)
			_, ok := r.Verdicts[0].Cleared()
			again, ruled := step(changed(t, h, limit))
			if _, ok2 := ruled.Verdicts[0].Cleared(); ok2 != ok {
				t.Fatalf("whether it is cleared depends on what is above")
			}
			if ok && call != again {
				t.Fatalf("a cleared call depends on what is above %s:\n%q\n%q", limit.Format(w.lattice), call.Arguments, again.Arguments)
			}
		}))
	}
}
