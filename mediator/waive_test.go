package mediator_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/store/memory"
)

var questionRE = regexp.MustCompile(`question ([0-9A-Z]{26})`)

// asking is an engine with a desk, and the desk.
func asking(t testing.TB, text string, limit time.Duration) (*mediator.Engine, *confirm.Desk, *memory.Store) {
	t.Helper()
	store := memory.New()
	desk := confirm.New(confirm.Config{Store: store, Sealer: &keys, Limit: limit, Poll: time.Millisecond})
	return tripOn(t, store, text, func(c *mediator.Config) { c.Declassify.Desk = desk }, nil), desk, store
}

const vague = `{"passengers":[{"name":"Maria Silva","dob":"in May"}],"notes":"aisle"}`

// What the sink needs and may not be shown can be done without where a person
// says so, for that release, once.
func TestWaive(t *testing.T) {
	e, desk, store := asking(t, tripRubric, time.Hour)
	id := flow.NewID()
	book := func(trajectory, args string) (string, mediator.Result, string) {
		out, r := asks(t, remembering(t, e, "", trajectory), "book", args)
		why := ""
		if n := len(r.Decision.Reasons); n > 0 {
			why = r.Decision.Reasons[n-1].Detail
		}
		return out, r, why
	}
	_, r, why := book(id, vague)
	asked := questionRE.FindStringSubmatch(why)
	if !r.Denied() || asked == nil || !strings.Contains(why, "without dob") || !strings.Contains(why, "make the same call again") {
		t.Fatalf("%s %q", r.Decision.Outcome, why)
	}
	// Asked again it is the same question.
	if _, r, why := book(id, vague); !r.Denied() || !strings.Contains(why, asked[1]) {
		t.Errorf("again: %q", why)
	}
	rows, err := desk.Rows(t.Context(), true, 9)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d questions, %v", len(rows), err)
	}
	q, err := desk.Open(&rows[0])
	if err != nil || q.Call.Name != "book" || q.Call.Arguments != "" || q.Sink != "book" || !strings.Contains(q.Needs, "without dob") {
		t.Errorf("%+v %v", q, err)
	}
	for _, s := range []string{"Maria", "Silva", "May", "aisle"} {
		if strings.Contains(q.Needs+q.Label, s) {
			t.Errorf("the question says %q", s)
		}
	}
	if err := desk.Answer(t.Context(), asked[1], confirm.Trajectory, "test"); err == nil {
		t.Error("it was granted for the trajectory")
	}
	if err := desk.Answer(t.Context(), asked[1], confirm.Once, "test"); err != nil {
		t.Fatal(err)
	}
	// A yes is for nothing else.
	other := flow.NewID()
	for _, c := range [][2]string{
		{other, vague},
		{id, strings.Replace(vague, "aisle", "window", 1)},
		{id, strings.Replace(vague, "in May", "in June", 1)},
		{id, strings.Replace(vague, "Maria Silva", "somebody", 1)},
	} {
		if out, r, _ := book(c[0], c[1]); !r.Denied() {
			t.Errorf("%s went out as %s", c[1], out)
		}
	}
	out, r, _ := book(id, vague)
	if r.Denied() || out != strings.Replace(vague, "in May", "[REDACTED]", 1) {
		t.Errorf("%s %s %v", r.Decision.Outcome, out, r.Decision.Reasons)
	}
	got, err := store.Entries(t.Context(), flow.TrajectoryID(id), 0, 9)
	if err != nil || len(got) != 1 {
		t.Fatalf("%d entries %v", len(got), err)
	}
	if en, err := charge.Decode(got[0].Bytes); err != nil || en.Answer != asked[1] {
		t.Errorf("the entry has the answer %q", en.Answer)
	}
	// It is used.
	if _, r, why := book(id, vague); !r.Denied() || !strings.Contains(why, "question ") || strings.Contains(why, asked[1]) {
		t.Errorf("a second time: %q", why)
	}
	log, _ := logged(t, store)
	if !strings.Contains(log, "agreed to do without dob") || strings.Contains(log, "Maria") || strings.Contains(log, "in May") {
		t.Error("the log does not have the answer, or has a value")
	}
}

// A no, no answer in time, and no desk deny.
func TestNotWaived(t *testing.T) {
	e, desk, _ := asking(t, tripRubric, time.Hour)
	id := flow.NewID()
	call := func(e *mediator.Engine) string {
		_, r := asks(t, remembering(t, e, "", id), "book", vague)
		if !r.Denied() {
			t.Fatal("it went out")
		}
		return r.Decision.Reasons[len(r.Decision.Reasons)-1].Detail
	}
	asked := questionRE.FindStringSubmatch(call(e))
	if err := desk.Answer(t.Context(), asked[1], confirm.Deny, "test"); err != nil {
		t.Fatal(err)
	}
	if why := call(e); !strings.Contains(why, "did not agree") || strings.Contains(why, "again") {
		t.Errorf("after a no: %q", why)
	}
	late, _, _ := asking(t, tripRubric, time.Nanosecond)
	first, second := questionRE.FindStringSubmatch(call(late)), questionRE.FindStringSubmatch(call(late))
	if first[1] == second[1] {
		t.Error("a question that expired is asked again as it was")
	}
	e, _ = trip(t, nil, nil)
	if why := call(e); strings.Contains(why, "question") {
		t.Errorf("without a desk: %q", why)
	}
	report, desk, _ := asking(t, tripRubric, time.Hour)
	_ = report
	e = tripOn(t, memory.New(), tripRubric, func(c *mediator.Config) { c.Declassify.Desk, c.Declassify.Report = desk, true }, nil)
	if out, r := asks(t, remembering(t, e, "", id), "book", vague); r.Denied() || out != vague {
		t.Errorf("a report: %s", out)
	}
	if rows, err := desk.Rows(t.Context(), true, 9); err != nil || len(rows) > 0 {
		t.Errorf("a report asked %d questions %v", len(rows), err)
	}
}

// Whatever a person agrees to, and however often, no budget is exceeded, and
// what they agreed to do without does not go out.
func TestWaivedStaysInBudget(t *testing.T) {
	tight := strings.NewReplacer("budget: 120", "budget: 40", "required-service: 80", "required-service: 40").Replace(tripRubric)
	rapid.Check(t, func(rt *rapid.T) {
		e, desk, store := asking(t, tight, time.Hour)
		id := flow.NewID()
		yes := 0
		for range rapid.IntRange(1, 8).Draw(rt, "calls") {
			name := rapid.SampledFrom([]string{"Maria Silva", "John Doe"}).Draw(rt, "name")
			dob := rapid.SampledFrom([]string{"1985-03-02", "1990-12-24", "in May"}).Draw(rt, "dob")
			args := `{"passengers":[{"name":"` + name + `","dob":"` + dob + `"}]}`
			for range 2 {
				out, r := asks(t, remembering(t, e, "", id), "book", args)
				if !r.Denied() {
					if yes > 0 && strings.Contains(out, "in May") {
						rt.Fatalf("what nobody may see went out: %s", out)
					}
					break
				}
				if q := questionRE.FindStringSubmatch(r.Decision.Reasons[len(r.Decision.Reasons)-1].Detail); q != nil && rapid.Bool().Draw(rt, "yes") {
					yes++
					_ = desk.Answer(t.Context(), q[1], confirm.Once, "test") // it may have been answered
				}
			}
		}
		got, err := store.Entries(t.Context(), flow.TrajectoryID(id), 0, 99)
		if err != nil {
			rt.Fatal(err)
		}
		for i := range got {
			en, err := charge.Decode(got[i].Bytes)
			if err != nil || en.Total > 40*flow.Bit || en.Caps[1] > 40*flow.Bit {
				rt.Fatalf("entry %d: %v of %v, %v", i, en.Total, en.Limits.B, err)
			}
		}
	})
}
