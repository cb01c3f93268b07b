package declassify_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/store/memory"
)

func TestRelease(t *testing.T) {
	v := verifier(t, travel(), nil)
	book := candidate("T1", airline(), "passengers.0.name", "Ada Lovelace", "passengers.0.dob", "1990-05-17", "from", "SFO")
	for i, c := range []struct {
		name    string
		c       declassify.Candidate
		outcome flow.Outcome
		sent    string
		charge  flow.Bits
	}{
		{"nothing is private", candidate("T1", broker(), "from", "SFO"), flow.Allow, "SFO", 0},
		{"the airline needs both", book, flow.Allow, "Ada Lovelace|1990-05-17|SFO", 27_200_000},
		{"again is free", book, flow.Allow, "Ada Lovelace|1990-05-17|SFO", 0},
		// 3.5 bits that class 2 learns, weighed by λ2 − λ1.
		{"a curious sink gets the year", candidate("T1", broker(), "passengers.0.dob", "1990-05-17"), flow.Rewrite, "1990", 3_500_000},
		{"and no name", candidate("T1", broker(), "passengers.0.name", "Ada Lovelace"), flow.Rewrite, "[REDACTED]", 1000},
		{"an adversary gets nothing", candidate("T1", stranger(), "passengers.0.dob", "1990-05-17"), flow.Rewrite, "[REDACTED]", 2000},
		{"a key in a note", candidate("T1", broker(), "note", "use sk-abcdefgh1234 please"), flow.Rewrite, "use [REDACTED] please", 2000},
	} {
		r := release(t, v, c.c)
		if r.Outcome != c.outcome || sent(&r) != c.sent {
			t.Fatalf("%d %s: %s, %q, %v", i, c.name, r.Outcome, sent(&r), r.Reasons)
		}
		if r.Entry.Charge != c.charge {
			t.Errorf("%d %s: charged %v, want %v", i, c.name, r.Entry.Charge, c.charge)
		}
	}
}

// What does not fit is made to disclose less; what the sink needs is not.
func TestEscalation(t *testing.T) {
	w := travel()
	w.limits.Cap[2] = 3 * bit // a year is 3.5 bits
	v := verifier(t, w, nil)
	r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "1990-05-17", "note", "call +1-555-1234"))
	if r.Outcome != flow.Rewrite || sent(&r) != "[REDACTED]|call +1" {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
	w = travel()
	w.limits.B = 20 * bit
	c := candidate("T1", airline(), "passengers.0.name", "Ada Lovelace", "passengers.0.dob", "1990-05-17")
	r = release(t, verifier(t, w, nil), c)
	if r.Outcome != flow.Deny || !hasRule(&r, rule.Budget) || strings.Join(r.Missing, " ") != "dob legal-name" || r.Parts() != nil {
		t.Fatalf("%s %q %v %v", r.Outcome, sent(&r), r.Reasons, r.Missing)
	}
	v = verifier(t, w, func(cfg *declassify.Config) { cfg.Ask = true })
	if r = release(t, v, c); r.Outcome != flow.Confirm {
		t.Fatalf("%s %v", r.Outcome, r.Reasons)
	}
	c.Waived, c.Answer = []string{"dob"}, "A1"
	if r = release(t, v, c); r.Outcome != flow.Rewrite || sent(&r) != "Ada Lovelace|[REDACTED]" || r.Entry.Answer != "A1" {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
}

// Without labels only what is residual passes, and what the sink needs can't
// be sent.
func TestWithoutLabels(t *testing.T) {
	v := verifier(t, travel(), func(cfg *declassify.Config) { cfg.Defender = nil })
	r := release(t, v, candidate("T1", broker(), "from", "SFO", "passengers.0.dob", "1990-05-17", "note", "born 1990-05-17, flies"))
	if r.Outcome != flow.Rewrite || sent(&r) != "SFO|[REDACTED]|born [REDACTED], flies" || !hasRule(&r, rule.Unlabelled) || !hasRule(&r, rule.Coverage) {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
	r = release(t, v, candidate("T1", airline(), "passengers.0.dob", "1990-05-17"))
	if r.Outcome != flow.Deny || !hasRule(&r, rule.Utility) {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
	w := travel()
	w.residual = false
	v = verifier(t, w, nil)
	r = release(t, v, candidate("T1", broker(), "note", "born 1990-05-17, flies"))
	if r.Outcome != flow.Rewrite || sent(&r) != "[REDACTED][REDACTED][REDACTED]" {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
}

// Where nothing else of a text passes, a cell of a hierarchy serves no curious
// sink: what it may learn is left to what its schema asks for.
func TestLoneMentionsSpendNothing(t *testing.T) {
	for _, c := range []struct {
		residual bool
		want     string
		year     string
	}{{true, "born 1990, flies", "[REDACTED]"}, {false, "[REDACTED][REDACTED][REDACTED]", "1985"}} {
		w := travel()
		w.residual = c.residual
		v := verifier(t, w, nil)
		if r := release(t, v, candidate("T1", broker(), "note", "born 1990-05-17, flies")); sent(&r) != c.want {
			t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
		}
		// A year is 3.5 of 4 bits: one of them fits.
		if r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "1985-03-02")); sent(&r) != c.year {
			t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
		}
	}
}

// The model goes on with a name, and is not shown a cell that would spend what
// sinks that ask for one may learn; a planted value gets no name.
func TestTheModelGetsNames(t *testing.T) {
	v, known := verifier(t, travel(), nil), names{}
	model := schema.Tool{Name: "model", Action: "prompt", Sink: "model", Class: flow.SemiTrusted, Channel: flow.ChannelModel, Args: []schema.Arg{{Path: "messages.*", Free: true}}}
	c := candidate("T1", model, "messages.0", "I was born 1990-05-17")
	c.Names = known
	r := release(t, v, c)
	if !strings.HasPrefix(sent(&r), "I was born margay-dob-") || len(r.Named) != 1 || r.Entry.Caps[flow.SemiTrusted] > bit/10 {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
	c = candidate("T1", broker(), "passengers.0.dob", r.Named[0].Name)
	c.Names = known
	if r = release(t, v, c); sent(&r) != "1990" {
		t.Errorf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
}

// A value outside of its population is top risk.
func TestOutsideOfThePopulation(t *testing.T) {
	v := verifier(t, travel(), nil)
	r := release(t, v, candidate("T1", broker(), "passengers.0.dob", "in May"))
	if r.Outcome != flow.Rewrite || sent(&r) != "[REDACTED]" {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
	r = release(t, v, candidate("T1", airline(), "passengers.0.dob", "in May"))
	if r.Outcome != flow.Deny || !hasRule(&r, rule.Utility) {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
}

func TestPseudonyms(t *testing.T) {
	v := verifier(t, travel(), nil)
	known := names{}
	model := schema.Tool{Name: "model", Action: "prompt", Sink: "model", Class: flow.SemiTrusted, Channel: flow.ChannelModel, Args: []schema.Arg{{Path: "messages.*", Free: true}}}
	with := func(c declassify.Candidate) declassify.Candidate {
		c.Names = known
		return c
	}
	r := release(t, v, with(candidate("T1", model, "messages.0", "I am Ada Lovelace, key sk-abcdefgh1234")))
	if r.Outcome != flow.Rewrite || strings.Contains(sent(&r), "Ada") || strings.Contains(sent(&r), "sk-") || len(r.Named) != 2 {
		t.Fatalf("%s %q %v", r.Outcome, sent(&r), r.Reasons)
	}
	name, key := r.Named[0].Name, r.Named[1].Name
	if r.Named[0].Value != "Ada Lovelace" || !strings.Contains(sent(&r), name) {
		t.Fatalf("%v", r.Named)
	}
	for _, c := range []struct {
		tool             schema.Tool
		path, text, want string
	}{
		{airline(), "passengers.0.name", name, "Ada Lovelace"},                       // its rubric admits it there
		{airline(), "note", "for " + name, "for " + name},                            // not in free text
		{broker(), "passengers.0.name", name, name},                                  // nor for that sink
		{airline(), "from", key, key},                                                // nor as another argument
		{broker(), "note", "margay-api-key-0000000000", "margay-api-key-0000000000"}, // nobody's
	} {
		r = release(t, v, with(candidate("T1", c.tool, c.path, c.text)))
		if !r.Released() || sent(&r) != c.want {
			t.Errorf("%s %s: %s %q %v", c.tool.Name, c.path, r.Outcome, sent(&r), r.Reasons)
		}
	}
	// The airline's argument of one field is not given a value of another.
	r = release(t, v, with(candidate("T1", airline(), "passengers.0.dob", name)))
	if r.Released() {
		t.Errorf("a name went out as a date: %q", sent(&r))
	}
	// What comes from outside never gets the pseudonym of a value.
	c := with(candidate("T1", model, "messages.0", "Is it Ada Lovelace?"))
	c.Parts[0].Untrusted = true
	if r = release(t, v, c); sent(&r) != "Is it [REDACTED]?" {
		t.Errorf("a planted guess became %q", sent(&r))
	}
	// Turning one back is charged.
	v = verifier(t, travel(), nil)
	if r = release(t, v, with(candidate("T2", airline(), "passengers.0.name", name))); r.Entry.Charge != 12*bit {
		t.Errorf("turning a name back costs %v", r.Entry.Charge)
	}
}

// A task's rubric fixes what all releases may come to; those of a release
// tighten it.
func TestLimits(t *testing.T) {
	w := travel()
	w.limits.B = 10 * bit
	task := charge.Hash(sha256.Sum256(terms.Fallback())) // one that the ledger keeps
	v := verifier(t, w, func(cfg *declassify.Config) {
		cfg.Start = func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
			return travel().limits, rubric.Hash(task), nil
		}
	})
	r := release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace"))
	if r.Outcome != flow.Deny || !hasRule(&r, rule.Budget) {
		t.Fatalf("%s %v", r.Outcome, r.Reasons)
	}
	// The first entry names it, in its place, and no other does.
	for i, names := range []bool{true, false} {
		r = release(t, v, candidate("T1", airline(), "note", "an aisle"))
		if !r.Released() || slices.Contains(r.Entry.Rubrics, task) != names || len(r.Entry.Rubrics) != len(w.Hashes())+map[bool]int{true: 1}[names] {
			t.Errorf("entry %d: %s names %v %v", i+1, r.Outcome, r.Entry, r.Reasons)
		}
	}
	small := travel().limits
	small.B = 13 * bit
	v = verifier(t, travel(), func(cfg *declassify.Config) {
		cfg.Start = func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
			return small, rubric.Hash{}, nil
		}
	})
	r = release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace"))
	if !r.Released() || r.Entry.Limits.B != small.B {
		t.Fatalf("%s %v %v", r.Outcome, r.Reasons, r.Entry)
	}
	r = release(t, v, candidate("T1", airline(), "passengers.0.dob", "1990-05-17"))
	if r.Outcome != flow.Deny || !hasRule(&r, rule.Budget) {
		t.Fatalf("the rubric of a later release widened the task's: %s %v", r.Outcome, r.Reasons)
	}
}

// jointly is a world whose levels are no chain: two of them together tell more
// than the finer one.
type jointly struct{ *world }

func (w jointly) Joint(views []rubric.View) flow.Bits {
	sum := flow.Bits(0)
	for _, v := range views {
		op := rubric.Op{Kind: rubric.Generalize, Level: v.Level}
		if v.Level == 0 {
			return w.Cost(v.Field, identity)
		}
		sum += w.Cost(v.Field, op)
	}
	return sum
}

// What a value is charged is what all views of it tell together.
func TestViewsOfAValueTellTogether(t *testing.T) {
	w := travel()
	w.limits.Cap[2] = 30 * bit
	phone := w.fields["phone"]
	v := verifier(t, w, func(cfg *declassify.Config) {
		cfg.Resolve = func(rubric.Query) (declassify.Rules, error) { return jointly{w}, nil }
	})
	c := candidate("T1", broker(), "note", "+1-555-1234")
	if r := release(t, v, c); r.Entry.Charge != 4*bit || sent(&r) != "+1" {
		t.Fatalf("%v %q", r.Entry.Charge, sent(&r))
	}
	phone.ops[2] = []rubric.Op{gen(1)} // 14 bits, and 2 that are known
	if r := release(t, v, c); r.Entry.Charge != 28*bit || r.Entry.Total != 32*bit {
		t.Fatalf("%v %v", r.Entry.Charge, r.Entry.Total)
	}
	// What worse sinks were shown, better ones may know, too.
	phone.ops[3], phone.nec[3], w.limits.Cap[3] = []rubric.Op{gen(2)}, rubric.Useful, 10*bit
	v = verifier(t, w, func(cfg *declassify.Config) {
		cfg.Resolve = func(rubric.Query) (declassify.Rules, error) { return jointly{w}, nil }
	})
	worse := candidate("T2", stranger(), "note", "+1-555-1234")
	if r := release(t, v, worse); sent(&r) != "+1" || r.Entry.Caps != [4]flow.Bits{0, 2 * bit, 2 * bit, 2 * bit} {
		t.Fatalf("%q %v", sent(&r), r.Entry)
	}
	c.Trajectory = "T2"
	if r := release(t, v, c); sent(&r) != "+1-555" || r.Entry.Caps != [4]flow.Bits{0, 16 * bit, 16 * bit, 2 * bit} {
		t.Fatalf("%q %v", sent(&r), r.Entry)
	}
}

// After a restart what was shown is read from the ledger; where that can't be,
// what is shown from then on adds up.
func TestRestart(t *testing.T) {
	for _, remembers := range []bool{true, false} {
		w := travel()
		book, store := ledgerOf(t, w)
		cfg := declassify.Config{
			Resolve: func(rubric.Query) (declassify.Rules, error) { return w, nil },
			Ledger:  book, History: store, Defender: labeller{}, Key: [32]byte{1},
		}
		want := flow.Bits(0)
		if !remembers {
			cfg.History = nil
			want = 12 * bit
		}
		for i := range 2 {
			v, err := declassify.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := release(t, v, candidate("T1", airline(), "passengers.0.name", "Ada Lovelace"))
			if i == 1 && r.Entry.Charge != want {
				t.Errorf("remembers %v: charged %v, want %v", remembers, r.Entry.Charge, want)
			}
		}
	}
}

// A clock that goes backwards changes nothing: an entry is never before the
// last.
func TestClockGoesBackwards(t *testing.T) {
	w := travel()
	store := memory.New()
	at := time.UnixMilli(1760000000000)
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Now: func() time.Time {
		at = at.Add(-time.Hour)
		return at
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.KeepRubric(t.Context(), w.canonical()); err != nil {
		t.Fatal(err)
	}
	v := verifier(t, w, func(cfg *declassify.Config) { cfg.Ledger, cfg.History = book, store })
	var last time.Time
	for range 3 {
		r := release(t, v, candidate("T1", broker(), "from", "SFO"))
		if !r.Released() || r.Entry.At.Before(last) {
			t.Fatalf("%s %v", r.Outcome, r.Entry)
		}
		last = r.Entry.At
	}
}

// Entries hold no text of a candidate.
func TestEntriesHoldNoPlaintext(t *testing.T) {
	w := travel()
	book, store := ledgerOf(t, w)
	v := verifier(t, w, func(cfg *declassify.Config) { cfg.Ledger, cfg.History = book, store })
	for _, tool := range []schema.Tool{airline(), broker(), stranger()} {
		release(t, v, candidate("T1", tool, "passengers.0.name", "Ada Lovelace", "passengers.0.dob", "1990-05-17", "note", "sk-abcdefgh1234 +1-555-1234", "other", "Zanzibar"))
	}
	stored, err := store.Entries(t.Context(), "T1", 0, 10)
	if err != nil || len(stored) != 3 {
		t.Fatal(len(stored), err)
	}
	for i := range stored {
		for _, s := range []string{"Ada", "Lovelace", "1990", "sk-", "555", "Zanzibar"} {
			if strings.Contains(string(stored[i].Bytes), s) {
				t.Errorf("entry %d holds %q", i+1, s)
			}
		}
	}
}

// The dependency graph may tell more than is charged; then less is disclosed,
// whatever the values are.
func TestAudit(t *testing.T) {
	w := travel()
	w.fields["city"] = &secretField{
		pattern: `\b[A-Z]{3}-\d\d\b`, re: regexp.MustCompile(`\b[A-Z]{3}-\d\d\b`), only: true, bits: []float64{2, 1},
		nec: [4]rubric.Necessity{0, rubric.Useful, rubric.Useful, rubric.Useful},
		ops: [4][]rubric.Op{1: {gen(1)}, 2: {gen(1)}, 3: {gen(1)}},
	}
	// Who lives in a city of the second kind was born in the second of two
	// halves of 16 dates each: the city tells four times what it costs.
	w.graph = dependency.Graph{
		Variables: []dependency.Variable{{Name: "city", States: 2}, {Name: "dob", States: 16}},
		Factors: []dependency.Factor{
			{Vars: []string{"city"}, Low: []float64{0.5, 0.5}},
			{Vars: []string{"city", "dob"}, Of: "dob", Low: append(slices.Repeat([]float64{1.0 / 16}, 16), append([]float64{1}, make([]float64, 15)...)...)},
		},
	}
	w.cells = map[string][][][]float64{"city": {{{1, 0}, {0, 1}}, {{1, 0}, {0, 1}}}}
	for _, c := range []struct {
		margin flow.Bits
		want   string
	}{{0, "[REDACTED]"}, {4 * bit, "SFO"}} {
		w.limits.Margin = c.margin
		v := verifier(t, w, nil)
		for _, city := range []string{"SFO-01", "BOS-02"} {
			r := release(t, v, candidate(flow.TrajectoryID(city), broker(), "note", city))
			if want := strings.Replace(c.want, "SFO", city[:3], 1); sent(&r) != want {
				t.Errorf("margin %v: %s %q %v", c.margin, r.Outcome, sent(&r), r.Reasons)
			}
		}
	}
}

// What is useful to a required service goes out in the finest form that fits,
// where its schema asks for it, and in the coarsest in free text.
func TestUseful(t *testing.T) {
	for _, c := range []struct {
		b    flow.Bits
		path string
		want string
	}{{40, "phone", "+1-555-1234"}, {20, "phone", "+1-555"}, {1, "phone", "[REDACTED]"}, {40, "note", "+1"}} {
		w := travel()
		w.limits.B = c.b * bit
		tool := airline()
		tool.Args = append(tool.Args, schema.Arg{Path: "phone", Field: "phone"})
		r := release(t, verifier(t, w, nil), candidate("T1", tool, c.path, "+1-555-1234"))
		if sent(&r) != c.want {
			t.Errorf("%v bits, %s: %s %q %v", c.b, c.path, r.Outcome, sent(&r), r.Reasons)
		}
	}
}
