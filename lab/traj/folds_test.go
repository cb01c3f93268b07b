package traj

import (
	"testing"

	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric/library"
)

// Folds are reported together, by operator: as many fields as
// there are in the folds, within their cost or not.
func TestFolds(t *testing.T) {
	files := map[string][]byte{}
	for _, f := range library.All() {
		files[f.Name+".yaml"] = []byte(f.Text)
	}
	reg, err := defence.NewRegistry(files)
	if err != nil {
		t.Fatal(err)
	}
	var folds []Ablation
	for _, c := range world.Dev().Categories()[:2] {
		cfg, err := reg.Config(defence.MargayConfig{Name: "rules", Defender: rules.Defender{}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := defence.NewMargay(cfg)
		if err != nil {
			t.Fatal(err)
		}
		folds = append(folds, Ablation{Defence: d, Slice: "loro=" + c, Only: c})
	}
	res, _, err := Run(t.Context(), Options{Seed: 123, Seeds: 1, N: 36, Ablations: folds})
	if err != nil {
		t.Fatal(err)
	}
	all := res.Row("rules", "loro=all")
	if all == nil {
		t.Fatal("folds are not reported together")
	}
	fields, in := 0.0, 0.0
	for _, op := range []string{"drop", "redact", "substitute", "generalize", "identity"} {
		if row := res.Row("rules", "loro=all,operator="+op); row != nil {
			fields += row.Metrics["n"]
			in += row.Metrics["n"] * row.Metrics["coverage_stress"]
			if _, ok := row.Metrics["excess_bits"]; !ok {
				t.Errorf("there is no excess of %s", op)
			}
		}
	}
	if share := all.Metrics["coverage_stress"]; fields < 10 || in/fields-share > 1e-5 || share-in/fields > 1e-5 {
		t.Errorf("coverage is %v, and %v of %v by operators", share, in/fields, fields)
	}
	if res.Row("rules", "operator=redact") != nil {
		t.Error("folds are counted with the whole")
	}
}
