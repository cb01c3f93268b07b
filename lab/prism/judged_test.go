package prism

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/prism/method"
)

// A judge's answers are kept, a run that broke off goes on, and the method judges
// by what was kept.
func TestRecordJudge(t *testing.T) {
	var asked, fail atomic.Int64
	fail.Store(5)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > fail.Load() {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": `{"leak": true, "secrets": []}`}}}})
	}))
	defer s.Close()
	record := filepath.Join("testdata", "smollm2-payments.jsonl.gz")
	o := JudgeOptions{Records: []string{record}, Judge: completion.Config{BaseURL: s.URL, Model: "m"}, Out: filepath.Join(t.TempDir(), "judge.json.gz"), Workers: 3}
	if err := RecordJudge(t.Context(), o); err == nil {
		t.Fatal("the judge failed, and nobody noticed")
	}
	// Half a line, as a crash leaves it.
	part, err := os.OpenFile(o.Out+".part", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = part.WriteString(`{"output":"ab`)
	if err := errors.Join(err, part.Close()); err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	fail.Store(1 << 30)
	if err := RecordJudge(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	name, answers, err := ReadJudged(o.Out)
	if err != nil || name != "m" || len(answers) < 500 || int(asked.Load()) >= len(answers) {
		t.Fatalf("%v: %s, %d answers, %d asked again", err, name, len(answers), asked.Load())
	}
	if err := RecordJudge(t.Context(), o); err == nil {
		t.Error("finished answers were overwritten")
	}
	j := method.NewRecordedJudge(name, answers)
	_, recorded, err := ReadRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.Filter(t.Context(), &method.Input{Text: recorded[0].Text()})
	if err != nil || len(out.Removed) != 1 {
		t.Errorf("%v %+v", err, out)
	}
	if _, err := j.Filter(t.Context(), &method.Input{Text: "never asked"}); err == nil || !strings.Contains(err.Error(), "not recorded") {
		t.Errorf("what was not asked: %v", err)
	}
	if _, _, err := ReadJudged(record); err == nil {
		t.Error("a record is taken for a judge's answers")
	}
}
