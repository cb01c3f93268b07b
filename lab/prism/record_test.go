package prism

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/margaydev/margay/lab/prism/method"
	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/monitor"
)

// parrot is a server that repeats the last line that has an equals sign or a
// colon, and stops answering after so many requests if any are given.
func parrot(t *testing.T, asked *atomic.Int64, last int64) string {
	t.Helper()
	words := regexp.MustCompile(`[A-Za-z_0-9]+\s*[=:>|-]+\s*\S+`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); last > 0 && n > last {
			http.Error(w, "tired", http.StatusServiceUnavailable)
			return
		}
		var q struct {
			Messages []line `json:"messages"`
			Top      int    `json:"top_logprobs"`
			Max      int    `json:"max_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Max > 64 || q.Top != recordTop && q.Top != 0 {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		if strings.Contains(q.Messages[0].Content, method.Instruction) {
			q.Messages[0].Content = "NOTHING=said"
		}
		said := strings.Join(words.FindAllString(q.Messages[0].Content, -1), " ") + " é"
		var content []map[string]any
		for _, part := range strings.SplitAfter(said, " ") {
			content = append(content, map[string]any{"token": part, "logprob": -0.123456, "top_logprobs": []map[string]any{{"token": part, "logprob": -0.123456}, {"token": "x", "logprob": -9999.0}}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"finish_reason": "stop", "logprobs": map[string]any{"content": content}}}})
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestRecordAndReplay(t *testing.T) {
	out := filepath.Join(t.TempDir(), "record.jsonl.gz")
	var asked atomic.Int64
	o := RecordOptions{BaseURL: parrot(t, &asked, 13), Model: "parrot-1", ModelHash: "none", Vocabulary: 1000, Out: out, N: 6, Seed: 1}
	if err := Record(t.Context(), o); err == nil {
		t.Fatal("the server failed and nobody noticed")
	}
	// Half a line, as a crash leaves it.
	f, err := os.OpenFile(out+".part", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"task":"pay`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Seed = 2
	if err := Record(t.Context(), other); err == nil {
		t.Error("two recordings in one file")
	}
	asked.Store(0)
	o.BaseURL = parrot(t, &asked, 0)
	if err := Record(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n != 3*4 {
		t.Errorf("%d requests after 13 of 24 answers, three whole tasks", n)
	}
	if err := Record(t.Context(), o); err == nil {
		t.Error("a record was overwritten")
	}
	// A record of more tasks asks for the new ones alone, in the same file.
	was, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	more := o
	more.N, more.Out = 8, filepath.Join(t.TempDir(), "more.jsonl.gz")
	if err := os.WriteFile(more.Out, was, 0o600); err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	if err := Record(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	if h, all, err := ReadRecord(more.Out); err != nil || asked.Load() != 2*4 || len(all) != 8*4 || h.Tasks != 8 {
		t.Errorf("%d requests, %d answers, %v", asked.Load(), len(all), err)
	}
	// Neither is lost if a finished record comes back beside one in progress.
	if err := os.WriteFile(more.Out+".part", []byte("in progress"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(more.Out, was, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Record(t.Context(), more); err == nil {
		t.Error("a record in progress was overwritten")
	}
	if err := os.Remove(more.Out + ".part"); err != nil {
		t.Fatal(err)
	}
	if err := Record(t.Context(), more); err != nil {
		t.Fatal(err)
	}
	more.N = 6
	if err := Record(t.Context(), more); err == nil {
		t.Error("a record of more tasks was overwritten")
	}
	h, recorded, err := ReadRecord(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded) != 24 || h.Model != "parrot-1" || len(h.Secrets) != world.Secrets {
		t.Fatalf("%d outputs of %q", len(recorded), h.Model)
	}
	for _, r := range recorded {
		for _, tok := range r.Tokens {
			if tok.Logprob != -0.12 || tok.Logprobs[1] != -99 {
				t.Fatalf("log-probabilities %v, %v", tok.Logprob, tok.Logprobs)
			}
		}
		for _, e := range r.Emissions {
			if e.Whole && e.Encoding == world.Raw && r.Text()[e.Start:e.End] != h.Secrets[e.Secret].Value {
				t.Errorf("%+v is %q", e, r.Text()[e.Start:e.End])
			}
		}
	}
	res, rep, err := Replay(t.Context(), []Recording{{Path: out}}, Options{Defences: []Defence{{Method: nothing}, {Method: plainly("plain", 0), Registered: true}}, Resamples: 20})
	if err != nil {
		t.Fatal(err)
	}
	before := rowOf(t, res, "none", "source=parrot").Metrics
	after := rowOf(t, res, "plain", "source=parrot").Metrics
	if !(before["task_leak_rate"] > 0) || after["task_leak_rate_plain"] != 0 || after["fpr"] != 0 {
		t.Errorf("before %v, after %v", before, after)
	}
	if len(rep.Outcomes) != 2 {
		t.Errorf("%d outcomes", len(rep.Outcomes))
	}
	// The same once more, told the instruction: the defence "prompt".
	told := o
	told.Out, told.Instruction = filepath.Join(t.TempDir(), "told.jsonl.gz"), method.Instruction
	if err := Record(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	prompt, err := method.NewPrompt(true)
	if err != nil {
		t.Fatal(err)
	}
	defences := []Defence{{Method: nothing}, {Method: prompt}}
	res, _, err = Replay(t.Context(), []Recording{{out, told.Out}}, Options{Defences: defences, Resamples: 20})
	if err != nil {
		t.Fatal(err)
	}
	// A parrot can't be instructed, but it is polite.
	if told := rowOf(t, res, "prompt", "source=parrot").Metrics; told["task_leak_rate"] != 0 {
		t.Errorf("instructed: %v", told)
	}
	if free := rowOf(t, res, "none", "source=parrot").Metrics; free["task_leak_rate"] != before["task_leak_rate"] {
		t.Errorf("not instructed: %v", free)
	}
	// Two seeds are measured together and each by itself, in any order; what one has
	// not been told has no row of both.
	second := o
	second.Out, second.Seed = filepath.Join(t.TempDir(), "second.jsonl.gz"), 2
	if err := Record(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	for _, both := range [][]Recording{{{out, told.Out}, {Path: second.Out}}, {{Path: second.Out}, {out, told.Out}}} {
		res, _, err := Replay(t.Context(), both, Options{Defences: defences, Resamples: 20})
		if err != nil {
			t.Fatal(err)
		}
		if res.N != 12 || res.Row("prompt", "source=parrot") != nil || res.Row("prompt", "source=parrot,seed=1") == nil || res.Row("prompt", "source=parrot,seed=2") != nil {
			t.Errorf("%d tasks; rows of the instruction: both %v, seed 1 %v, seed 2 %v", res.N,
				res.Row("prompt", "source=parrot") != nil, res.Row("prompt", "source=parrot,seed=1") != nil, res.Row("prompt", "source=parrot,seed=2") != nil)
		}
		whole, one, two := rowOf(t, res, "none", "source=parrot").Metrics, rowOf(t, res, "none", "source=parrot,seed=1").Metrics, rowOf(t, res, "none", "source=parrot,seed=2").Metrics
		if got, want := whole["task_leak_rate"], (one["task_leak_rate"]+two["task_leak_rate"])/2; math.Abs(got-want) > 1e-9 {
			t.Errorf("%g of both leak, %g in the mean", got, want)
		}
	}
	for name, bad := range map[string][]Recording{"none": nil, "the same seed twice": {{Path: out}, {Path: out}}, "one that was told": {{Path: second.Out}, {Path: told.Out}}} {
		if _, _, err := Replay(t.Context(), bad, Options{Defences: defences}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := Replay(t.Context(), []Recording{{out, out}}, Options{Defences: defences}); err == nil {
		t.Error("a record without an instruction stood for one with it")
	}
	traces, err := RecordedTraces(out)
	if err != nil || len(traces) != 24 {
		t.Errorf("%d traces: %v", len(traces), err)
	}
}

func TestReadRecordRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": "", "text": "hello", "other": `{"version":1,"kind":"else"}`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path+".part", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := finish(path, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Replay(t.Context(), []Recording{{Path: path}}, Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// witness answers with the telemetry that lab/local/runner gives.
func witness(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages    []line  `json:"messages"`
			Temperature float64 `json:"temperature"`
			Seed        uint64  `json:"seed"`
			Regions     []struct {
				Start, End int
				Region     string
			} `json:"margay_regions"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Regions) != 1 || q.Seed > math.MaxUint32 {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		shown := []rune(q.Messages[0].Content)[q.Regions[0].Start:q.Regions[0].End]
		var content, inside []map[string]any
		for i, part := range strings.SplitAfter(string(shown)+fmt.Sprint(q.Seed), " ") {
			top := []map[string]any{{"token": part, "logprob": -0.5}}
			for k := range recordTop - 1 {
				top = append(top, map[string]any{"token": fmt.Sprint(k), "logprob": -9 - float64(k)})
			}
			content = append(content, map[string]any{"token": part, "logprob": -0.5, "top_logprobs": top})
			inside = append(inside, map[string]any{
				"hidden_norm": 931.94, "hidden_variance": 1506, "hidden_size": 576, "entropy": q.Temperature,
				"attention": map[string]float64{"public": 0.1, "private": 0.25, "system": 0.05, "own": 0.3}, "i": i,
			})
		}
		inside[0] = nil
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"finish_reason": "stop", "logprobs": map[string]any{"content": content}, "margay_telemetry": map[string]any{"version": 1, "tokens": inside},
		}}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestRecordVaried(t *testing.T) {
	dir := t.TempDir()
	made := func(name string, workers int) []byte {
		out := filepath.Join(dir, name)
		o := RecordOptions{BaseURL: witness(t), Model: "witness-1", Vocabulary: 49152, Out: out, N: 12, Seed: 1, Varied: true, Workers: workers}
		if err := Record(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	path := filepath.Join(dir, "one")
	if one, four := made("one", 1), made("four", 4); string(one) != string(four) {
		t.Error("the record depends on how many tasks were played at once")
	}
	_, recorded, err := ReadRecord(path)
	if err != nil {
		t.Fatal(err)
	}
	temperatures := map[float64]bool{}
	for _, r := range recorded {
		temperatures[r.Manner.Temperature] = true
		tokens := r.MonitorTokens()
		if tokens[0].Telemetry != nil {
			t.Error("telemetry out of nothing")
		}
		for i, tok := range tokens[1:] {
			want := monitor.Telemetry{HiddenNorm: 932, HiddenVariance: 1510, HiddenSize: 576, Public: 0.1, Private: 0.25, System: 0.05}
			if tok.Telemetry == nil || *tok.Telemetry != want {
				t.Fatalf("telemetry %+v", tok.Telemetry)
			}
			if m := r.Tokens[i+1].Telemetry; len(m) != len(columns) || m[6] != 0.3 || m[7] != r.Manner.Temperature {
				t.Fatalf("columns %v", m)
			}
			if n := len(tok.Top); n != recordFirst {
				t.Fatalf("%d alternatives are kept", n)
			}
		}
	}
	if len(temperatures) != 3 {
		t.Errorf("temperatures %v", temperatures)
	}
	if _, err := RecordedTraces(path); err != nil {
		t.Error(err)
	}
}

func TestReadRecordNoticesChanges(t *testing.T) {
	out := filepath.Join(t.TempDir(), "record")
	var asked atomic.Int64
	if err := Record(t.Context(), RecordOptions{BaseURL: parrot(t, &asked, 0), Model: "parrot", Vocabulary: 1000, Out: out, N: 1, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	b = []byte(strings.Replace(string(b), `"l":-0.12`, `"l":-0.13`, 1))
	if err := os.WriteFile(out+".part", b, 0o600); err != nil {
		t.Fatal(err)
	}
	h, _, _ := strings.Cut(string(b), `"task":"`)
	id, _, _ := strings.Cut(string(b[len(h)+len(`"task":"`):]), `"`)
	if err := finish(out, []string{id}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadRecord(out); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a changed line: %v", err)
	}
}
