package app

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/lab/train"
	"github.com/margaydev/margay/monitor"
)

// TestTrainMonitor trains from the command line on a handful of outputs, the
// odd ones of which leak.
func TestTrainMonitor(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains a model")
	}
	dir := t.TempDir()
	traces, model := filepath.Join(dir, "t.jsonl.gz"), filepath.Join(dir, "m.json")
	w, err := train.Create(traces)
	if err != nil {
		t.Fatal(err)
	}
	digest := train.Digest("x9Kq2mmWdL")
	for i := range 16 {
		x := &train.Trace{ID: fmt.Sprint(i), Source: "by hand", Vocabulary: 64, Secrets: []string{digest}}
		text := fmt.Sprintf("The %d services read their settings at start.", i)
		if i%2 == 1 {
			from := len(text) + len(" password: ")
			text += " password: x9Kq2mmWdL"
			x.Spans = []train.Span{{Start: from, End: len(text), Secret: digest, Encoding: "raw", Whole: true}}
		}
		for text != "" {
			n := monitor.NextPiece(text)
			x.Tokens = append(x.Tokens, monitor.Token{Text: text[:n], Logprob: math.Log(0.4), Top: []monitor.Alternative{
				{Text: text[:n], Logprob: math.Log(0.4)}, {Text: "a", Logprob: -2}, {Text: "b", Logprob: -3}, {Text: "c", Logprob: -4}, {Text: "d", Logprob: -5},
			}})
			text = text[n:]
		}
		if err := w.Write(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, out, errs string) {
		var o, e strings.Builder
		code = Main(append([]string{"train", "monitor", "--traces", traces, "--seeds", "1"}, args...), strings.NewReader(""), &o, &e)
		return code, o.String(), e.String()
	}
	code, out, errs := run("--out", model)
	if code != 0 || !strings.Contains(out, "credential_style") || !strings.Contains(errs, "margay-lab: fitting gray_box on windows") {
		t.Fatalf("code %d\n%s%s", code, out, errs)
	}
	f, err := os.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := monitor.Load(f)
	if err != nil || !strings.Contains(out, m.Hash()) {
		t.Errorf("the model: %v", err)
	}
	code, out, errs = run("--out", model, "--json")
	var s monitor.Spec
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil || s.Hash != m.Hash() {
		t.Errorf("code %d, %v: %s", code, err, errs)
	}
	// What was there stays where a training is refused.
	if code, _, errs = run("--out", model, "--against", traces); code != 1 || !strings.Contains(errs, "share secrets: 1 of them") {
		t.Errorf("code %d: %s", code, errs)
	}
	if code, _, _ = run("--out", filepath.Join(dir, "none", "m.json")); code != 1 {
		t.Errorf("code %d without a folder", code)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("files left: %v %v", left, err)
	}
}
