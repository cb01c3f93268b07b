package declassify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/rubric"
)

// TestKnownValues: a value that a family has seen is what it is in any argument and any
// spelling, and to nobody else.
func TestKnownValues(t *testing.T) {
	v := verifier(t, travel(), nil)
	for i, c := range []struct {
		family  flow.TrajectoryID
		tool    schema.Tool
		part    [2]string
		sent    string
		charged bool
	}{
		{"T1", airline(), [2]string{"passengers.0.dob", "1990-05-17"}, "1990-05-17", true},
		{"T1", stranger(), [2]string{"from", "born May 17th, 1990, in SFO"}, "born [REDACTED], in SFO", true},
		{"T1", broker(), [2]string{"note", "the seventeenth of May nineteen ninety"}, "the 1990", true},
		{"T1", broker(), [2]string{"passengers.0.name", "17/5/1990"}, "[REDACTED]", true},
		{"T2", stranger(), [2]string{"from", "born May 17th, 1990, in SFO"}, "born May 17th, 1990, in SFO", false},
		// Charged once, however it is written.
		{"T1", airline(), [2]string{"note", "born 17 May 1990"}, "born 1990", false},
		// One call may have a value twice.
		{"T3", stranger(), [2]string{"from", "17.05.1990"}, "[REDACTED]", true},
	} {
		one := candidate(c.family, c.tool, c.part[0], c.part[1])
		if c.family == "T3" {
			one.Parts = append(one.Parts, declassify.Part{Path: "passengers.0.dob", Text: "1990-05-17"})
			c.sent += "|[REDACTED]"
		}
		r := release(t, v, one)
		if sent(&r) != c.sent || (r.Entry.Charge > 0) != c.charged {
			t.Errorf("%d: sent %q, charged %v; want %q, %v (%v)", i, sent(&r), r.Entry.Charge, c.sent, c.charged, r.Reasons)
		}
	}
}

// TestKnownByMatch: what a clause is sure of in a text is known from then on.
func TestKnownByMatch(t *testing.T) {
	v := verifier(t, travel(), nil)
	release(t, v, candidate("T1", airline(), "note", "call +49-1555-1234"))
	if r := release(t, v, candidate("T1", stranger(), "from", "SFO, 0049 1555 1234")); strings.Contains(sent(&r), "1555") {
		t.Errorf("sent %q", sent(&r))
	}
	// A clause that is not sure teaches nothing.
	release(t, v, candidate("T1", airline(), "note", "for Ada Lovelace"))
	if r := release(t, v, candidate("T1", stranger(), "from", "a. lovelace")); sent(&r) != "a. lovelace" {
		t.Errorf("sent %q", sent(&r))
	}
}

// TestKnownProfile: values that are known in advance are charged from the first release
// on, and Learn adds more.
func TestKnownProfile(t *testing.T) {
	v := verifier(t, travel(), func(c *declassify.Config) {
		c.Profile = []known.Value{{Field: "legal-name", Text: "Ada King Lovelace"}, {Field: "shoe-size", Text: "size 38 wide"}}
	})
	if err := v.Learn(context.Background(), "T1", []known.Value{{Field: "phone", Text: "+44 20 7946 0000"}}); err != nil {
		t.Fatal(err)
	}
	r := release(t, v, candidate("T1", broker(), "from", "lovelace, a.; size 38 wide; 020 7946 0000; SFO"))
	if got := sent(&r); got != "[REDACTED].; [REDACTED]; [REDACTED]; SFO" {
		t.Errorf("sent %q", got)
	}
}

// TestPlantedGuesses: who writes what the model reads does not learn from it what is
// known.
func TestPlantedGuesses(t *testing.T) {
	v := verifier(t, travel(), nil)
	release(t, v, candidate("T1", airline(), "passengers.0.dob", "1990-05-17"))
	model := schema.Tool{Name: "model", Action: "travel-booking", Sink: "model", Class: flow.SemiTrusted, Channel: flow.ChannelModel, Args: []schema.Arg{{Path: "*"}}}
	guess := candidate("T1", model, "content", "17 May 1990, 18 May 1990")
	guess.Parts[0].Untrusted = true
	if r := release(t, v, guess); sent(&r) != "17 May 1990, 18 May 1990" {
		t.Errorf("a guess is confirmed: %q", sent(&r))
	}
	guess.Parts[0].Untrusted = false
	if r := release(t, v, guess); sent(&r) == "17 May 1990, 18 May 1990" {
		t.Error("the user's own words are not searched")
	}
}

// shelf is a Keeper in memory.
type shelf struct {
	values map[flow.TrajectoryID][]known.Value
	begun  map[flow.TrajectoryID]bool
	err    error
}

func (s *shelf) Known(_ context.Context, id flow.TrajectoryID, after int64) ([]known.Value, int64, bool, error) {
	all := s.values[id]
	return slices.Clone(all[after:]), int64(len(all)), s.begun[id], s.err
}

func (s *shelf) Learn(_ context.Context, id flow.TrajectoryID, values []known.Value, first bool) error {
	if s.err != nil {
		return s.err
	}
	s.values[id] = append(s.values[id], values...)
	s.begun[id] = s.begun[id] || first
	return nil
}

// TestKnownElsewhere: what one process has seen, the next one knows. Where that is lost,
// only typed arguments are released; where it can't be kept, nothing is.
func TestKnownElsewhere(t *testing.T) {
	w := travel()
	book, store := ledgerOf(t, w)
	kept := &shelf{values: map[flow.TrajectoryID][]known.Value{}, begun: map[flow.TrajectoryID]bool{}}
	fresh := func() *declassify.Verifier {
		return verifier(t, w, func(c *declassify.Config) { c.Ledger, c.History, c.Keeper = book, store, kept })
	}
	first, second := fresh(), fresh()
	text := candidate("T1", stranger(), "from", "17 May 1990 in SFO")
	if r := release(t, second, text); sent(&r) != "17 May 1990 in SFO" {
		t.Fatalf("sent %q", sent(&r))
	}
	release(t, first, candidate("T1", airline(), "passengers.0.dob", "1990-05-17"))
	for _, v := range []*declassify.Verifier{second, fresh()} {
		if r := release(t, v, text); sent(&r) != "[REDACTED] in SFO" {
			t.Errorf("sent %q", sent(&r))
		}
	}
	delete(kept.values, "T1")
	delete(kept.begun, "T1")
	lost := fresh()
	if r := release(t, lost, candidate("T1", stranger(), "from", "to SFO")); sent(&r) != "[REDACTED]" {
		t.Errorf("what was seen is lost, and %q is sent", sent(&r))
	}
	if r := release(t, lost, candidate("T1", airline(), "passengers.0.dob", "1990-05-17")); sent(&r) != "1990-05-17" {
		t.Errorf("typed arguments: sent %q, %v", sent(&r), r.Reasons)
	}
	kept.err = errors.New("disk full")
	if r := release(t, first, candidate("T1", airline(), "passengers.0.dob", "1991-06-18")); r.Released() {
		t.Error("a release whose values can't be kept is made")
	}
}

// TestKept: what must stay as it is is not changed, and such a release is refused
// without a charge.
func TestKept(t *testing.T) {
	v := verifier(t, travel(), nil)
	to := broker()
	to.Args = append(to.Args, schema.Arg{Path: "to", Field: "legal-name", Keep: true}, schema.Arg{Path: "cc", Keep: true})
	r := release(t, v, candidate("T1", to, "to", "Ada Lovelace"))
	if r.Released() || !hasRule(&r, rule.Utility) {
		t.Errorf("a recipient is destroyed: %q %v", sent(&r), r.Reasons)
	}
	r = release(t, v, candidate("T1", to, "cc", "+49-1555-1234"))
	if r.Released() || !hasRule(&r, rule.Needed) {
		t.Errorf("a recipient is destroyed: %q %v", sent(&r), r.Reasons)
	}
	if r = release(t, v, candidate("T1", to, "cc", "#general", "from", "+49-1555-1234")); sent(&r) != "#general|+49" {
		t.Errorf("sent %q", sent(&r))
	}
	fixed := candidate("T1", stranger(), "from", "born 1990-05-17")
	fixed.Parts[0].Fixed = true
	r = release(t, v, fixed)
	if r.Released() || !hasRule(&r, rule.Needed) || r.Entry != nil && r.Entry.Seq > 1 {
		t.Errorf("sent %q %v", sent(&r), r.Reasons)
	}
	if r = release(t, v, candidate("T1", broker(), "from", "SFO")); r.Entry.Seq != 2 {
		t.Errorf("refused releases have entries: the next is %d", r.Entry.Seq)
	}
}

// TestRecipient: who gets a call is no disclosure to the sink that delivers it, and
// anything else in its place is.
func TestRecipient(t *testing.T) {
	w := travel()
	v := verifier(t, w, nil)
	to := broker()
	to.Args = append(to.Args, schema.Arg{Path: "to", To: true, Keep: true})
	release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace", "passengers.0.dob", "1990-05-17"))
	for text, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "+49-1555-1234": "+49-1555-1234", "#general": "#general",
		"17 May 1990": "", "Ada Lovelace, who was born in May": "", "sk-abcdefgh1234": "",
	} {
		if r := release(t, v, candidate("T1", to, "to", text)); sent(&r) != want {
			t.Errorf("%q: sent %q (%v)", text, sent(&r), r.Reasons)
		}
	}
	hostile := stranger()
	hostile.Args = to.Args
	if r := release(t, v, candidate("T1", hostile, "to", "Ada Lovelace")); r.Released() {
		t.Errorf("an adversarial sink gets %q", sent(&r))
	}
}

// TestPlantedBesideOwn: a planted guess is not confirmed where the user's own words say
// the same, and these are searched all the same.
func TestPlantedBesideOwn(t *testing.T) {
	v := verifier(t, travel(), nil)
	release(t, v, candidate("T1", airline(), "passengers.0.dob", "1990-05-17"))
	model := schema.Tool{Name: "model", Action: "travel-booking", Sink: "model", Class: flow.SemiTrusted, Channel: flow.ChannelModel, Args: []schema.Arg{{Path: "*"}}}
	c := candidate("T1", model, "content", "17 May 1990", "content", "17 May 1990", "content", "18 May 1990")
	c.Parts[1].Untrusted, c.Parts[2].Untrusted = true, true
	if r := release(t, v, c); sent(&r) != "[REDACTED]|17 May 1990|18 May 1990" {
		t.Errorf("sent %q", sent(&r))
	}
}

// TestSeveralInOne: a typed argument that holds several known values costs all of them.
func TestSeveralInOne(t *testing.T) {
	w := travel()
	w.fields["address"] = &secretField{bits: []float64{30}, ops: [4][]rubric.Op{1: {named, identity}}, nec: [4]rubric.Necessity{1: rubric.Useful}}
	w.limits.B, w.limits.Cap[1] = 200*bit, 150*bit
	v := verifier(t, w, nil)
	release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace", "passengers.0.dob", "1990-05-17"))
	to := airline()
	to.Args = append(to.Args, schema.Arg{Path: "home", Field: "address"})
	r := release(t, v, candidate("T1", to, "home", "Ada Lovelace 17 May 1990"))
	if sent(&r) != "Ada Lovelace 17 May 1990" || r.Atoms[0].Cost < 57*bit {
		t.Errorf("sent %q for %v", sent(&r), r.Atoms)
	}
}

// TestLostIsRemembered: a value that can't be looked for stops prose in later processes,
// too.
func TestLostIsRemembered(t *testing.T) {
	w := travel()
	book, store := ledgerOf(t, w)
	kept := &shelf{values: map[flow.TrajectoryID][]known.Value{}, begun: map[flow.TrajectoryID]bool{}}
	for i := range 2 {
		v := verifier(t, w, func(c *declassify.Config) { c.Ledger, c.History, c.Keeper = book, store, kept })
		if i == 0 {
			release(t, v, candidate("T1", airline(), "passengers.0.name", strings.Repeat("Ada ", 200)))
		}
		if r := release(t, v, candidate("T1", stranger(), "from", "to SFO")); sent(&r) != "[REDACTED]" {
			t.Errorf("process %d sends %q", i, sent(&r))
		}
	}
}
