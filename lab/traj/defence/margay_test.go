package defence

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/ledger"
)

func margay(t testing.TB, change func(*MargayConfig)) *Margay {
	t.Helper()
	yaml, err := os.ReadFile("testdata/e-commerce.yaml")
	if err != nil {
		t.Fatal(err)
	}
	reg, err := NewRegistry(map[string][]byte{"e-commerce.yaml": yaml})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := reg.Config(MargayConfig{Name: "rules", Defender: rules.Defender{}})
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&cfg)
	}
	m, err := NewMargay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMargay(t *testing.T) { suite(t, margay(t, nil)) }

// With its rubric a category is served coarse data, without one next to
// nothing leaves; in no case does a sum exceed its limit.
func TestMargayServes(t *testing.T) {
	m := margay(t, nil)
	served, asked := 0, 0
	for _, task := range world.Generate(111, 240).Tasks {
		s := begin(t, m, task)
		for i := range task.Steps {
			out, err := s.Release(context.Background(), CandidateOf(task, i))
			if err != nil {
				t.Fatal(err)
			}
			step := &task.Steps[i]
			if step.Tool == "recommend" {
				asked++
				if task.Served(i, out.Parts) {
					served++
				}
			}
			if out.Parts != nil && step.Sink.Class == flow.Adversarial {
				for k := range step.Parts {
					if len(step.Parts[k].Mentions) > 0 && step.Parts[k].Field != "" && strings.Contains(out.Parts[k], step.Parts[k].Text) {
						t.Fatalf("%s: %q went as it is", step, step.Parts[k].Path)
					}
				}
			}
		}
		c, err := s.(Accountant).Certified(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c.Exceeded || c.Total > c.Cap+1e-9 {
			t.Fatalf("%s: certified %+v", task.ID, c)
		}
		if task.Category == "e-commerce" && c.Ops[world.DOB] == "generalize" && c.Bits[world.DOB] < 3 {
			t.Errorf("a decade is certified with %v bits", c.Bits[world.DOB])
		}
	}
	if asked == 0 || served < asked*9/10 {
		t.Errorf("%d of %d were served a decade", served, asked)
	}
	audited(t, m)
}

// audited holds the ledger of a run to the rubrics in its export.
func audited(t *testing.T, m *Margay) {
	t.Helper()
	var out bytes.Buffer
	if _, err := m.book.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	read := ledger.RubricsOf(bytes.NewReader(out.Bytes()))
	r, err := ledger.Verify(t.Context(), &out, ledger.Check{Key: m.book.Public(), Limits: terms.LimitsOf, Judge: recount.New(recount.Rubrics(read)).Entry})
	if err != nil || len(r.Findings) > 0 || r.Entries == 0 {
		t.Errorf("%v, %d entries, %v", err, r.Entries, r.Findings)
	}
	t.Logf("%d entries of %d families are what their rubrics say", r.Entries, r.Families)
}

// An ablation that undoes the conservative default lets more out.
func TestAblationMatters(t *testing.T) {
	plain, bare := margay(t, nil), margay(t, func(c *MargayConfig) {
		c.Without = []Ablation{NoDefault, NoCoverage}
	})
	size := func(m *Margay) int {
		n := 0
		for _, task := range tasks {
			for _, parts := range play(t, m, task) {
				for _, p := range parts {
					n += len(p)
				}
			}
		}
		return n
	}
	if a, b := size(plain), size(bare); b <= a {
		t.Errorf("%d bytes go out with all checks, %d without some", a, b)
	}
}
