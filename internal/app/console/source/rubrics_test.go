package source

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator/disclose"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/mediation/mediationtest"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/rubric/signed"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

func pageOf(t *testing.T, c *config.Config) *RubricPage {
	t.Helper()
	held, err := mediation.OpenRulebook(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := Rubrics(c, held, nil, [32]byte{})
	if p == nil {
		t.Fatal("there is no page")
	}
	return p
}

// charging makes the release that is tried.
type charging struct{ disclose.Releaser }

// Try implements disclose.Trier.
func (c charging) Try(ctx context.Context, in declassify.Candidate) (declassify.Release, []declassify.Part, error) {
	r, err := c.Release(ctx, in)
	return r, r.Parts(), err
}

// The page has what the registry has: signatures, states, costs, refusals.
func TestRubricPage(t *testing.T) {
	c := mediationtest.Travel(t)
	if err := os.WriteFile(filepath.Join(rubrics.Of(c).Dir(), "bad"+signed.Ext), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mediation.OpenRulebook(c, slog.New(slog.DiscardHandler)); !errors.Is(err, rubrics.ErrRefused) {
		t.Errorf("releases are held to what is left of a registry: %v", err)
	}
	c.Declassify.Mode = "off" // it may still be looked at
	p := pageOf(t, c)
	list, err := p.Rubrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pub, err := rubrics.Of(c).Public()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Rubrics) != 1 || len(list.Refused) != 1 || list.Refused[0].Rule != "unsigned" || len(list.Targets) != 3 || !slices.Equal(list.Actions, []string{"travel-booking"}) {
		t.Fatalf("%+v", list)
	}
	row := list.Rubrics[0]
	if row.State != "in force" || !row.Own || row.Signer != signed.KeyID(pub) || row.Budget != 520 || row.Fields < 10 {
		t.Errorf("%+v", row)
	}
	one, err := p.Rubric(t.Context(), row.Hash)
	if err != nil || one == nil {
		t.Fatal(one, err)
	}
	i := slices.IndexFunc(one.FieldList, func(f console.RubricField) bool { return f.Field == "dob" })
	dob := one.FieldList[i]
	if !slices.Equal(dob.Needs, []string{"required", "useful", "unnecessary"}) || !slices.Equal(dob.Must, []string{"identity", "", ""}) {
		t.Errorf("%+v", dob)
	}
	last := console.RubricOperator{}
	for _, o := range dob.Operators {
		if o.Bits < last.Bits || len(o.Admitted) != 3 {
			t.Errorf("%+v costs less than %+v, which discloses less", o, last)
		}
		last = o
	}
	if last.Operator != "identity" || !slices.Equal(last.Admitted, []bool{true, false, false}) || last.Bits < 15 || last.Bits > 16 {
		t.Errorf("%+v", last)
	}
	if got, err := p.Rubric(t.Context(), strings.Repeat("0", 64)); got != nil || err != nil {
		t.Error(got, err)
	}
	// A model is masked in place: none shares what another has.
	list.Rubrics[0].Name, list.Targets[0].Args[0], one.Findings = "changed", "changed", nil
	if again, err := p.Rubrics(t.Context()); err != nil || again.Rubrics[0].Name == "changed" || again.Targets[0].Args[0] == "changed" {
		t.Error("a model is shared")
	}
}

// A trial is what a call would come to, each time as the first.
func TestTry(t *testing.T) {
	p := pageOf(t, mediationtest.Travel(t))
	const payload = `{"name": "Ada Lovelace", "dob": "1985-03-02", "seat": "12A"}`
	try := func(x console.Trial) *console.Tried {
		t.Helper()
		got, err := p.Try(t.Context(), &x)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var first *console.Tried
	for range 3 {
		got := try(console.Trial{Target: "tool:quote", Payload: payload})
		if got.Outcome != flow.Rewrite || strings.Contains(got.Variant, "Lovelace") || strings.Contains(got.Variant, "1985") || !strings.Contains(got.Variant, `"seat": "12A"`) || got.Sink != "broker" || got.Fallback || len(got.Rubrics) != 1 {
			t.Fatalf("%+v", got)
		}
		if first == nil {
			first = got
		}
		if got.Charge != first.Charge || got.Charge <= 0 || got.Charge > got.Budget || !slices.Equal(got.Told, first.Told) {
			t.Errorf("the first came to %v, this to %v", first.Charge, got.Charge)
		}
	}
	var shown []string
	for _, a := range first.Atoms {
		shown = append(shown, a.Path+" "+a.Field+" "+a.Operator)
	}
	if !slices.Contains(shown, "dob dob decade") {
		t.Errorf("%v", shown)
	}
	// A described sink, of the same kind, comes to the same.
	same := try(console.Trial{Action: "travel-booking", Sink: "broker", Class: "semi-trusted", Args: "name legal-name\ndob dob\nseat plain\n", Payload: payload})
	if same.Charge != first.Charge {
		t.Errorf("described %v, configured %v", same.Charge, first.Charge)
	}
	// Who is trusted less learns less.
	worst := try(console.Trial{Action: "travel-booking", Args: "name legal-name\ndob dob\n", Payload: payload})
	if worst.Class != "adversarial" || strings.Contains(worst.Variant, "1980") || strings.Contains(worst.Variant, "12A") {
		t.Errorf("%+v", worst)
	}
	// What the sink needs and can't be given is a denial, with reasons that
	// quote nothing, and no charge.
	denied := try(console.Trial{Target: "tool:book", Payload: `{"name": "Ada Lovelace", "dob": "long ago, quarklezoop"}`})
	if denied.Outcome != flow.Deny || len(denied.Reasons) == 0 || !slices.Contains(denied.Missing, "dob") || denied.Variant != "" || denied.Charge != 0 || strings.Contains(fmt.Sprint(denied), "quarklezoop") {
		t.Errorf("%+v", denied)
	}
	// No rubric: all is redacted. A model is told in text.
	if got := try(console.Trial{Action: "other", Payload: "call me on 555 0100"}); !got.Fallback || strings.Contains(got.Variant, "555") {
		t.Errorf("%+v", got)
	}
	if got := try(console.Trial{Target: "model", Payload: "Book for ada@example.com, please."}); got.Channel != "model" || strings.Contains(got.Variant, "ada@example.com") || !strings.HasPrefix(got.Variant, "Book for ") {
		t.Errorf("%+v", got)
	}
}

// With a trajectory, a trial is its next release: what it has told costs nothing
// again, and counts; the ledger stays as it is.
func TestTryNext(t *testing.T) {
	c := mediationtest.Travel(t)
	st := &state.State{Keys: secret.NewKeys(), Store: memory.New()}
	held, err := mediation.OpenRulebook(c, slog.New(slog.DiscardHandler))
	must(t, err)
	d, err := held.Declassify(t.Context(), c, st, nil)
	must(t, err)
	tool, ok := mediation.Tools(&c.Declassify)(flow.ToolCall{Name: "quote"})
	if !ok {
		t.Fatal("there is no such tool")
	}
	family := flow.TrajectoryID(flow.NewID())
	const ada, bob = `{"name": "Ada Lovelace", "dob": "1985-03-02"}`, `{"name": "Bob Marlowe", "dob": "1961-11-23"}`
	released, err := disclose.Try(t.Context(), another{charging{d.Verifier}, family}, tool, ada)
	must(t, err)
	p := pageOf(t, c)
	p.key = mediation.ValueKey(&st.Keys)
	p.books, err = OpenBooks(c, st)
	must(t, err)
	before, err := p.books.book.Head(t.Context(), family)
	must(t, err)
	if before.Seq != 1 || before.Total == 0 || !released.Release.Released() {
		t.Fatalf("%+v of %+v", before, released)
	}
	try := func(payload string, of flow.TrajectoryID) *console.Tried {
		t.Helper()
		got, err := p.Try(t.Context(), &console.Trial{Target: "tool:quote", Payload: payload, Trajectory: string(of)})
		must(t, err)
		return got
	}
	fresh, again, other := try(ada, ""), try(ada, family), try(bob, family)
	if fresh.Charge != bits(before.Total) || fresh.Before != 0 {
		t.Errorf("as the first: %+v", fresh)
	}
	if again.Charge != 0 || again.Before != bits(before.Total) || again.Variant != fresh.Variant || !slices.Equal(again.Told, fresh.Told) {
		t.Errorf("the same again: %+v", again)
	}
	if other.Before != bits(before.Total) || other.Outcome == flow.Allow || strings.Contains(other.Variant, "1961") {
		t.Errorf("of somebody else: %+v", other)
	}
	// What is spent decides: as the first, more of it may be shown.
	if alone := try(bob, ""); alone.Charge < other.Charge {
		t.Errorf("alone %v, after another %v", alone.Charge, other.Charge)
	}
	for i, told := range other.Told {
		if told.Bits < fresh.Told[i].Bits || told.Bits > told.Cap {
			t.Errorf("%+v after %+v", told, fresh.Told[i])
		}
	}
	if after, err := p.books.book.Head(t.Context(), family); err != nil || after.Seq != before.Seq || after.Total != before.Total {
		t.Errorf("the ledger stood at %+v, and stands at %+v: %v", before, after, err)
	}
	for _, id := range []string{flow.NewID(), "nonsense"} {
		_, err := p.Try(t.Context(), &console.Trial{Target: "tool:quote", Payload: ada, Trajectory: id})
		var wrong *console.Problem
		if !errors.As(err, &wrong) || wrong.Status != http.StatusNotFound || wrong.Hint == "" {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// What makes no sense is told.
func TestTryBadInput(t *testing.T) {
	p := pageOf(t, mediationtest.Travel(t))
	for name, x := range map[string]console.Trial{
		"a tool that is not there": {Target: "tool:none"},
		"no target":                {Target: "quote"},
		"a class":                  {Class: "friendly"},
		"a channel":                {Channel: "user"},
		"arguments":                {Args: "dob"},
		"too many":                 {Args: strings.Repeat("a dob\n", maxTrialArgs+1)},
		"a field twice":            {Payload: `{"dob":"1","dob":"2"}`},
	} {
		x.Payload += " "
		var problem *console.Problem
		if _, err := p.Try(t.Context(), &x); !errors.As(err, &problem) || problem.Status != http.StatusBadRequest || problem.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without a registry there is no page; with one, the page is there before
// releases are held to it.
func TestRubricPageWhereReleasesAreNotHeld(t *testing.T) {
	c := config.Default()
	c.StateDir, c.KeyDir = t.TempDir(), t.TempDir()
	if Rubrics(c, nil, nil, [32]byte{}) != nil {
		t.Error("a page of nothing")
	}
	c = mediationtest.Travel(t)
	c.Declassify.Mode = "off"
	p := Rubrics(c, nil, nil, [32]byte{})
	if list, err := p.Rubrics(t.Context()); err != nil || list.Mode != "off" || len(list.Rubrics) != 1 {
		t.Error(list, err)
	}
	if _, err := rubrics.Of(&config.Config{KeyDir: c.Keys(), Declassify: config.Declassify{Rubrics: t.TempDir()}}).Signers(); err != nil {
		t.Error(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
