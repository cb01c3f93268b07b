package defence

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
)

// tasks are of seeds that no result is reported on.
var tasks = world.Generate(110, 36).Tasks

func begin(t testing.TB, d Defence, task *world.Task) Session {
	t.Helper()
	if i, ok := d.(Informed); ok {
		return i.BeginWith(task)
	}
	s, err := d.Begin(context.Background(), KnownOf(task))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func play(t testing.TB, d Defence, task *world.Task) [][]string {
	t.Helper()
	s := begin(t, d, task)
	var out [][]string
	for i := range task.Steps {
		c := CandidateOf(task, i)
		before := CandidateOf(task, i)
		got, err := s.Release(context.Background(), c)
		if err != nil {
			t.Fatalf("%s: %v", &task.Steps[i], err)
		}
		if !reflect.DeepEqual(before, c) {
			t.Fatalf("%s: the candidate was changed", &task.Steps[i])
		}
		if got.Parts != nil && len(got.Parts) != len(c.Parts) {
			t.Fatalf("%s: %d parts became %d", &task.Steps[i], len(c.Parts), len(got.Parts))
		}
		if got.Parts == nil && !got.Fallback {
			t.Fatalf("%s: a denial that is not a fallback", &task.Steps[i])
		}
		out = append(out, got.Parts)
	}
	return out
}

// suite is what every defence must pass.
func suite(t *testing.T, d Defence) {
	t.Helper()
	if d.Name() == "" || strings.ContainsAny(d.Name(), " ,=") {
		t.Errorf("name %q", d.Name())
	}
	want := make([][][]string, len(tasks))
	for i, task := range tasks {
		want[i] = play(t, d, task)
		if again := play(t, d, task); !reflect.DeepEqual(again, want[i]) {
			t.Fatalf("%s: the same task gave %q and %q", task.ID, want[i], again)
		}
		for k := range task.Steps {
			s := &task.Steps[k]
			plain := s.Sink.Class == flow.RequiredService
			for p := range s.Parts {
				if s.Parts[p].From != world.FromTask || !plain || want[i][k] == nil {
					continue
				}
				if !strings.Contains(want[i][k][p], s.Parts[p].Text) && d.Name() != "oracle" {
					t.Errorf("%s: %q became %q", s, s.Parts[p].Text, want[i][k][p])
				}
			}
		}
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range tasks {
				i := (k + 7*g) % len(tasks)
				if got := play(t, d, tasks[i]); !reflect.DeepEqual(got, want[i]) {
					t.Errorf("%s beside others: %q, alone %q", tasks[i].ID, got, want[i])
				}
			}
		}()
	}
	wg.Wait()
}

func TestBaselines(t *testing.T) {
	all, err := Baselines()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(all, Oracle{}) {
		t.Run(d.Name(), func(t *testing.T) { suite(t, d) })
	}
}

func TestOracleSucceeds(t *testing.T) {
	for _, task := range tasks {
		out := play(t, Oracle{}, task)
		for i := range task.Steps {
			if task.Steps[i].Essential && !task.Served(i, out[i]) {
				t.Fatalf("%s, %s: %q", task.ID, &task.Steps[i], out[i])
			}
		}
	}
}

// Each baseline is what it says it is.
func TestCharacter(t *testing.T) {
	base, err := Baselines()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Defence{}
	for _, d := range base {
		by[d.Name()] = d
	}
	records := []world.Record{{Field: world.LegalName, Value: "Ruth Novak"}, {Field: world.Email, Value: "ruth.novak@mailbox.example"}}
	ask := func(d Defence, c *Candidate) []string {
		s, err := d.Begin(context.Background(), Known{Records: records})
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Release(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return out.Parts
	}
	one := func(class flow.Class, field world.Field, from world.Source, text string) *Candidate {
		return &Candidate{Sink: world.Sink{Name: "x", Class: class}, Parts: []Part{{Path: "a", Field: field, Free: field == "", From: from, Text: text}}}
	}
	for _, c := range []struct {
		defence string
		in      *Candidate
		want    []string
	}{
		{"filter", one(flow.SemiTrusted, world.LegalName, world.FromProfile, "Ruth Novak"), []string{"Ruth Novak"}},
		{"filter", one(flow.Adversarial, world.LegalName, world.FromProfile, "Ruth Novak"), []string{Redaction}},
		{"filter", one(flow.RequiredService, "", world.FromUser, "From Ruth Novak."), []string{"From " + Redaction + "."}},
		{"monitoronly", one(flow.SemiTrusted, "", world.FromUser, "From RUTH-NOVAK, bye"), []string{"From " + Redaction + ", bye"}},
		{"monitoronly", one(flow.SemiTrusted, "", world.FromUser, "From R.N."), []string{"From R.N."}},
		{"monitoronly", one(flow.RequiredService, world.LegalName, world.FromProfile, "Ruth Novak"), []string{"Ruth Novak"}},
		{"threshold", one(flow.SemiTrusted, world.LegalName, world.FromProfile, "Ruth Novak"), []string{"Ruth Novak"}},
		{"threshold", one(flow.SemiTrusted, world.Phone, world.FromProfile, "(208) 555-0199"), nil},
		{"capability", one(flow.SemiTrusted, world.DOB, world.FromProfile, "1980-01-01"), nil},
		{"capability", one(flow.SemiTrusted, "", world.FromTask, "to Lisbon"), []string{"to Lisbon"}},
		{"taint", one(flow.Adversarial, "", world.FromTool, "anything"), []string{Redaction}},
		{"taint", one(flow.SemiTrusted, "", world.FromUser, "I turned forty"), []string{"I turned forty"}},
	} {
		if got := ask(by[c.defence], c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s made %q of %q", c.defence, got, c.in.Parts[0].Text)
		}
	}
	s, _ := by["monitorledger"].Begin(context.Background(), Known{})
	var let []bool
	for range 4 {
		out, _ := s.Release(context.Background(), one(flow.SemiTrusted, world.LegalName, world.FromProfile, "x"))
		let = append(let, out.Parts != nil)
	}
	if !slices.Equal(let, []bool{true, true, false, false}) {
		t.Errorf("a ledger of %d bits let names go: %v", LedgerBits, let)
	}
}
