package app

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/lab/calibrate"
)

// A gate that fails ends the command with 3; one that was not measured does not.
func TestGatesEndTheCommand(t *testing.T) {
	var out bytes.Buffer
	o := &options{out: &out}
	o.calibrate.gates = true
	o.calibrate.found = []calibrate.Gate{{Name: "A1"}, {Name: "C4", Missing: "no annotations"}}
	if err := judgeCalibrate(o); err != nil {
		t.Errorf("nothing fails: %v", err)
	}
	o.calibrate.found = append(o.calibrate.found, calibrate.Gate{Name: "A3", Bad: "a cost is too low"})
	var p *problem.Error
	if err := judgeCalibrate(o); !errors.As(err, &p) || p.Code != problem.Findings {
		t.Errorf("a gate fails: %v", err)
	}
	for _, want := range []string{"A1  : 0 (limit 0)  passes\n", "not measured: no annotations\n", "FAILS: a cost is too low\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not listed:\n%s", want, out.String())
		}
	}
	o.calibrate.gates = false
	if err := judgeCalibrate(o); err != nil {
		t.Errorf("nobody asked: %v", err)
	}
}

func TestCostsAreWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs.json")
	if err := writeCharges(file, []calibrate.Charge{{Field: "dob", Operator: "redact", Verdict: calibrate.Short}}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), `"verdict":"short"`) {
		t.Errorf("%s, %v", b, err)
	}
	if err := writeCharges(filepath.Join(file, "x"), nil); err == nil {
		t.Error("a file in a file is written")
	}
	if err := writeCharges("", nil); err != nil {
		t.Errorf("nobody asked: %v", err)
	}
}

func TestScorerNeedsItsModel(t *testing.T) {
	o := &options{}
	o.calibrate.scoresURL = "http://127.0.0.1:1/v1"
	if _, err := models(o); err == nil {
		t.Error("a scorer without a model")
	}
	o.calibrate.scoresModel = "m"
	if extra, err := models(o); err != nil || extra.Scores == nil || extra.ScoresName != "m" {
		t.Errorf("%+v, %v", extra, err)
	}
}
