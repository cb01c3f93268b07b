package robust

import (
	"slices"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
)

// The attacks do what they are for: undefended, each of them succeeds.
func TestAttacksWork(t *testing.T) {
	for _, task := range world.Generate(130, 48).Tasks {
		for _, a := range injections(task) {
			all := make([]string, len(a.step.Parts))
			for i := range a.step.Parts {
				all[i] = a.step.Parts[i].Text
			}
			if !told(task, &a, all) {
				t.Errorf("%s: %s does not tell the %s: %q", task.ID, a.kind, a.target, all)
			}
			if told(task, &a, nil) {
				t.Errorf("%s: a denial tells", a.kind)
			}
			for i := range all {
				if a.step.Parts[i].From == world.FromTool {
					all[i] = defence.Redaction
				}
			}
			if told(task, &a, all) {
				t.Errorf("%s: a marker tells", a.kind)
			}
		}
		sinks := map[string]bool{}
		for _, s := range siege(task) {
			sinks[s.Sink.Name] = true
			if s.Sink.Class == flow.RequiredService {
				t.Error("a siege by a service that is needed")
			}
		}
		if len(sinks) != 8 {
			t.Errorf("%d sinks lay siege", len(sinks))
		}
	}
	for _, c := range world.Actions {
		if len(targets[c]) == 0 {
			t.Errorf("nothing to gain in %s", c)
		}
	}
}

func TestRun(t *testing.T) {
	all, err := defence.Baselines()
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(t.Context(), Options{Seed: 131, Seeds: 1, N: 24, Defences: all})
	if err != nil {
		t.Fatal(err)
	}
	at := func(d, metric string) float64 { return res.Row(d, "all").Metrics[metric] }
	if at("undefended", "injection_success") != 1 || at("undefended", "cumulative_top1") < .99 || at("undefended", "collusion_8") < .8 {
		t.Errorf("undefended: %v", res.Row("undefended", "all").Metrics)
	}
	if at("capability", "injection_success") != 0 || at("capability", "cumulative_top1") != at("background", "cumulative_top1") {
		t.Errorf("capability: %v, background %v", res.Row("capability", "all").Metrics, at("background", "cumulative_top1"))
	}
	for _, d := range all {
		row := res.Row(d.Name(), "all")
		grows := []float64{row.Metrics["collusion_1"], row.Metrics["collusion_2"], row.Metrics["collusion_4"], row.Metrics["collusion_8"]}
		if d.Name() == "undefended" && !slices.IsSorted(grows) {
			t.Errorf("%s: more who collude know less: %v", d.Name(), grows)
		}
		if _, ok := row.Metrics["escape_rate"]; ok {
			t.Errorf("%s has no evidence, and an escape rate", d.Name())
		}
	}
}
