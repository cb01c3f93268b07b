package gateway

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/monitor"
)

// certain is a model that takes every token for a secret that is certain.
func certain(t testing.TB) *monitor.Model {
	spec := monitor.Default().Spec()
	for _, f := range []*monitor.Fit{&spec.White, &spec.Gray, &spec.Black} {
		*f = monitor.Fit{Tau1: 0.3, Tau2: 0.6, Bias: -16}
		for _, name := range monitor.Features() {
			w := 0.0
			if name == "low_entropy" {
				w = 20
			}
			f.Weights, f.Mean, f.Scale = append(f.Weights, w), append(f.Mean, 0), append(f.Scale, 1)
		}
	}
	m, err := monitor.NewModel(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// probable is a chunk that tells the distribution of its one token.
func probable(text string, p float64) string {
	var top []string
	for i := range 9 {
		top = append(top, fmt.Sprintf(`{"token":"%c","logprob":%.6f}`, 'a'+i, math.Log((1-p)/9)))
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%s},"logprobs":{"content":[{"token":%s,"logprob":%.6f,"top_logprobs":[{"token":%s,"logprob":%.6f},%s]}]},"finish_reason":null}]}`,
		quote(text), quote(text), math.Log(p), quote(text), math.Log(p), strings.Join(top, ","))
}

func asking(t *testing.T, answer func(u *upstream, w http.ResponseWriter)) *rig {
	t.Helper()
	r := newRig(t, func(mc *mediator.Config, gc *Config) {
		mc.Monitor, mc.Policy.Risk, mc.Policy.Vocabulary = certain(t), session.RiskEnforce, 1000
		gc.AskLogprobs = true
	})
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) { answer(r.up, w) }
	return r
}

// take returns what the upstream has received since it was last asked.
func (u *upstream) take() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	defer u.got.Reset()
	return u.got.String()
}

func (r *rig) complete(t *testing.T, more string) string {
	t.Helper()
	_, body := r.post(t, "/v1/chat/completions", `{"model":"m1","stream":true,"messages":[{"role":"user","content":"hello"}]`+more+`}`)
	return body
}

// The gateway asks for distributions, judges by them and takes them out.
func TestAsksForLogprobs(t *testing.T) {
	var asked string
	r := asking(t, func(u *upstream, w http.ResponseWriter) {
		asked = u.take()
		stream(w, probable("the", 0.1), probable(" key", 0.1), probable(" zqxv", 0.999), probable(" so", 0.1), finish(0, "stop"), "[DONE]")
	})
	out := r.complete(t, "")
	if !strings.Contains(asked, `,"logprobs":true,"top_logprobs":20}`) {
		t.Errorf("asked %s", asked)
	}
	if strings.Contains(out, "zqxv") || !strings.Contains(out, "[REDACTED:risk]") || !strings.Contains(out, `" so"`) {
		t.Errorf("answer %s", out)
	}
	if strings.Contains(out, "top_logprobs") {
		t.Error("the client did not ask for distributions and got them")
	}
	// A client that asks gets them, but for the token that was taken out.
	if out = r.complete(t, `,"logprobs":true,"top_logprobs":5`); strings.Count(out, "top_logprobs") != 3 || strings.Contains(out, "zqxv") {
		t.Errorf("answer %s", out)
	}
}

// The same for an answer that comes whole.
func TestAsksForLogprobsOfWholeAnswers(t *testing.T) {
	r := asking(t, func(_ *upstream, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		token := func(text string, p float64) string {
			c := probable(text, p)
			c = c[strings.Index(c, `"logprobs":{"content":[`)+len(`"logprobs":{"content":[`):]
			return c[:strings.LastIndex(c, `]},"finish_reason"`)]
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"the zqxv"},"logprobs":{"content":[`+token("the", 0.1)+`,`+token(" zqxv", 0.999)+`]},"finish_reason":"stop"}]}`)
	})
	_, out := r.post(t, "/v1/chat/completions", `{"model":"m1","messages":[{"role":"user","content":"hello"}]}`)
	if !strings.Contains(out, `"the [REDACTED:risk]"`) || strings.Contains(out, "top_logprobs") || strings.Contains(out, "zqxv") {
		t.Errorf("answer %s", out)
	}
}

// What a self-hosted server tells besides is for Margay alone.
func TestTelemetryStays(t *testing.T) {
	r := asking(t, func(_ *upstream, w http.ResponseWriter) {
		with := strings.Replace(probable("the", 0.1), `"logprobs"`, `"margay_telemetry":{"version":1,"tokens":[{"attention":{"public":0.1,"private":0.8,"system":0.1}}]},"logprobs"`, 1)
		stream(w, with, finish(0, "stop"), "[DONE]")
	})
	if out := r.complete(t, `,"logprobs":true`); strings.Contains(out, "attention") || !strings.Contains(out, "top_logprobs") {
		t.Errorf("answer %s", out)
	}
}

// A model that refuses is asked again without, once, and remembered.
func TestModelWithoutLogprobs(t *testing.T) {
	requests, refused := 0, 0
	r := asking(t, func(u *upstream, w http.ResponseWriter) {
		requests++
		if strings.Contains(u.take(), "logprobs") {
			refused++
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Logprobs are not supported by this model"}}`)
			return
		}
		stream(w, delta(0, "content", "plain words"), finish(0, "stop"), "[DONE]")
	})
	for range 3 {
		if out := r.complete(t, ""); !strings.Contains(out, "plain words") {
			t.Fatalf("answer %s", out)
		}
	}
	if requests != 4 || refused != 1 {
		t.Errorf("%d requests, %d of them refused", requests, refused)
	}
}

// A model that ignores the question is not asked again.
func TestModelThatTellsNothing(t *testing.T) {
	asked := 0
	r := asking(t, func(u *upstream, w http.ResponseWriter) {
		asked += strings.Count(u.take(), `"logprobs"`)
		stream(w, delta(0, "content", "plain words"), finish(0, "stop"), "[DONE]")
	})
	for range 3 {
		r.complete(t, "")
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// One whose distributions can't go on is asked again: it tells some.
func TestModelWithStrayLogprobs(t *testing.T) {
	asked := 0
	r := asking(t, func(u *upstream, w http.ResponseWriter) {
		asked += strings.Count(u.take(), `"logprobs"`)
		stream(w, strings.Replace(probable("the", 0.1), `{"token":"a"`, `{"token":"get_by_name_22"`, 1), finish(0, "stop"), "[DONE]")
	})
	for range 2 {
		if out := r.complete(t, ""); strings.Contains(out, "get_by_name_22") {
			t.Errorf("answer %s", out)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// A model's name is the caller's: an endless one is neither asked about nor
// kept.
func TestEndlessModelNames(t *testing.T) {
	r := asking(t, func(u *upstream, w http.ResponseWriter) {
		if strings.Contains(u.take(), "top_logprobs") {
			t.Error("asked")
		}
		stream(w, delta(0, "content", "plain words"), finish(0, "stop"), "[DONE]")
	})
	r.post(t, "/v1/chat/completions", `{"model":"`+strings.Repeat("m", maxModel+1)+`","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
}

// An error that is about something else goes to the client as it is.
func TestOtherErrorsStay(t *testing.T) {
	requests := 0
	r := asking(t, func(_ *upstream, w http.ResponseWriter) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"no such model"}}`)
	})
	if out := r.complete(t, ""); !strings.Contains(out, "no such model") || requests != 1 {
		t.Errorf("%s after %d requests", out, requests)
	}
}
