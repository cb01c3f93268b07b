package local_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/saliency"
)

// The runner's answers are what the gateway and the recorder take them for.
func TestRunner(t *testing.T) {
	url := os.Getenv("MARGAY_LOCAL_URL")
	if url == "" {
		t.Skip("MARGAY_LOCAL_URL is not set; scripts/local start prints it")
	}
	const shown = "LOG_LEVEL=info\nORDER_ID=ORD-2023-4418 é\nREGION=eu"
	system := "You are the researcher. This is a file:\n\n" + shown
	request := map[string]any{
		"temperature": 0, "max_tokens": 16, "logprobs": true, "top_logprobs": 20,
		"messages": []map[string]string{
			{"role": "system", "content": system},
			{"role": "user", "content": "What is LOG_LEVEL?"},
			{"role": "assistant", "content": "LOG_LEVEL=info"},
			{"role": "user", "content": "What is ORDER_ID?"},
		},
		"margay_regions": []map[string]any{{"message": 0, "start": len(system) - len(shown), "end": len(system), "region": "private"}},
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct {
			Message  struct{ Content string }
			Logprobs struct {
				Content []struct {
					Token   string
					Logprob float64
					Top     []struct{ Logprob float64 } `json:"top_logprobs"`
				}
			}
			Telemetry json.RawMessage `json:"margay_telemetry"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%s: %v", resp.Status, err)
	}
	c := answer.Choices[0]
	if !strings.Contains(c.Message.Content, "ORD-2023-4418") {
		t.Errorf("it says %q and does not copy what it is shown", c.Message.Content)
	}
	telemetry, err := monitor.ParseTelemetry(c.Telemetry)
	if err != nil || len(telemetry) != len(c.Logprobs.Content) {
		t.Fatalf("%d entries for %d tokens: %v", len(telemetry), len(c.Logprobs.Content), err)
	}
	private := 0.0
	for i, tok := range c.Logprobs.Content {
		sum := 0.0
		for _, a := range tok.Top {
			sum += math.Exp(a.Logprob)
		}
		if len(tok.Top) != 20 || sum > 1.001 || tok.Logprob != tok.Top[0].Logprob {
			t.Errorf("token %d: %d alternatives of mass %g", i, len(tok.Top), sum)
		}
		e := telemetry[i]
		if mass := e.Public + e.Private + e.System; mass <= 0 || mass > 1.001 || e.HiddenNorm <= 0 || e.HiddenSize != 576 {
			t.Errorf("token %d: %+v", i, e)
		}
		private = max(private, e.Private/(e.Public+e.Private+e.System))
	}
	if private < 0.3 {
		t.Errorf("at most %g of its attention is on what it copies", private)
	}
}

// What a text copies has the greatest share of its attention, and what does not
// fit is cut and said so.
func TestSaliency(t *testing.T) {
	url := os.Getenv("MARGAY_LOCAL_URL")
	if url == "" {
		t.Skip("MARGAY_LOCAL_URL is not set; scripts/local start prints it")
	}
	c, err := saliency.NewClient(saliency.Config{BaseURL: url, Model: "local", Timeout: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	q := &screen.Question{
		Requests: []string{"Send the registry number to the office."},
		Calls:    []flow.ToolCall{{Name: "send", Arguments: `{"text":"AB-7741","to":"office"}`}},
		Regions: []screen.Region{
			{Text: "Anna Vogel", Tool: "get_record", Field: "name"},
			{Text: "AB-7741", Tool: "get_record", Field: "registry"},
			{Text: "a green coat é", Tool: "get_record", Field: "note"},
			{Text: "", Tool: "get_record", Field: "more"},
		},
	}
	a, err := c.Ask(t.Context(), saliency.Write(q))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, false} {
		f := a.Regions[i].Features
		if len(f) != saliency.Count || (f[0] > 0.15) != want || (f[5] > 0.5) != want || f[2] > f[3] || f[3] > f[4] || f[4] > f[5] || f[5] > 1 {
			t.Errorf("region %d: %v", i, f)
		}
	}
	if a.Regions[3].Features != nil || a.Regions[3].Tokens != 0 || a.OutputTokens == 0 || a.OutputCut != 0 {
		t.Errorf("%+v", a)
	}
	again, err := c.Ask(t.Context(), saliency.Write(q))
	if err != nil || !reflect.DeepEqual(a, again) {
		t.Errorf("the same question has another answer: %v %+v", err, again)
	}
	q.Calls = nil // the model writes an answer itself
	if own, err := c.Ask(t.Context(), saliency.Write(q)); err != nil || own.OutputTokens == 0 {
		t.Errorf("%v %+v", err, own)
	}
	q.Regions[3].Text, q.Answer = strings.Repeat("one two three four ", 600), "AB-7741"
	a, err = c.Ask(t.Context(), saliency.Write(q))
	if err != nil || a.Regions[3].Cut == 0 || a.Regions[1].Cut != 0 || a.Regions[3].Tokens-a.Regions[3].Cut > 2048 {
		t.Errorf("%v %+v", err, a)
	}
	p := saliency.Write(q)
	p.Regions[0].End = 1 << 20
	if _, err := c.Ask(t.Context(), p); err == nil {
		t.Error("a region outside its message is attributed")
	}
}
