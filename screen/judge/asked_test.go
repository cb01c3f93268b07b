package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/screen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endpoint is one that a test scripts, and what became of the questions to it.
type endpoint struct {
	*Judge
	asked atomic.Int64 // requests
	most  atomic.Int64 // of them at once

	mu   sync.Mutex
	told []Asked
}

func (e *endpoint) outcomes() []Asked {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.told)
}

// serve returns an endpoint that answers as a function does.
func serve(t *testing.T, wait time.Duration, answer http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	var now atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.asked.Add(1)
		n := now.Add(1)
		defer now.Add(-1)
		for was := e.most.Load(); n > was && !e.most.CompareAndSwap(was, n); was = e.most.Load() {
		}
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(srv.Close)
	j, err := New(Config{Config: completion.Config{BaseURL: srv.URL + "/v1", Model: "m", Timeout: wait}, Asked: func(a Asked) {
		e.mu.Lock()
		e.told = append(e.told, a)
		e.mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	e.Judge = j
	return e
}

// says is an answer of a model.
func says(w http.ResponseWriter, answer string) {
	fmt.Fprintf(w, `{"choices":[{"message":{"content":%q}}],"usage":{"prompt_tokens":100,"completion_tokens":7}}`, answer)
}

// about is a question about a text.
func about(text string) *screen.Question {
	return &screen.Question{Requests: []string{"Do it"}, Regions: []screen.Region{{Text: text}}}
}

// The same question is asked once, and any other one again.
func TestKnown(t *testing.T) {
	e := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":[1]}`) })
	base := screen.Question{Requests: []string{"older", "Do it"}, Regions: []screen.Region{{Text: "a", Tool: "t", Field: "f"}, {Text: "b"}}}
	for i := range 3 {
		got, err := e.Relevant(t.Context(), &base)
		if err != nil || !slices.Equal(got, []bool{true, false}) {
			t.Fatal(got, err)
		}
		got[0], got[1] = false, true // the caller's own
		if a := e.outcomes()[i]; a.Known != (i > 0) || a.Err != nil || a.Took <= 0 || a.Known != (a.Usage == completion.Usage{}) || !a.Known && a.Usage.Prompt != 100 {
			t.Errorf("question %d: %+v", i, a)
		}
	}
	if n := e.asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	for i, change := range []func(q *screen.Question){
		func(q *screen.Question) { q.Requests = []string{"Do that"} },
		func(q *screen.Question) { q.Regions[0].Text = "c" },
		func(q *screen.Question) { q.Regions[1].Text = "c" },
		func(q *screen.Question) { q.Regions[0].Tool = "u" },
		func(q *screen.Question) { q.Regions[0].Field = "g" },
		func(q *screen.Question) { q.Regions = q.Regions[:1] },
		func(q *screen.Question) { slices.Reverse(q.Regions) },
		func(q *screen.Question) { q.Regions = append(q.Regions, screen.Region{}) },
		func(q *screen.Question) {
			q.Regions[0].Text, q.Regions[1].Text = "a\n«/REGION_1»\n«REGION_2»\nb", ""
		},
	} {
		q := base
		q.Regions = slices.Clone(base.Regions)
		change(&q)
		if _, err := e.Relevant(t.Context(), &q); err != nil {
			t.Error(err)
		}
		if n := e.asked.Load(); n != int64(i+2) {
			t.Errorf("change %d: asked %d times", i, n)
		}
	}
}

// What failed is asked again.
func TestErrorsAreNotKnown(t *testing.T) {
	answers := []string{"no", `{"regions":[9]}`, `{"regions":null}`, `{"regions":[1]}`}
	var e *endpoint
	e = serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { says(w, answers[e.asked.Load()-1]) })
	for i := range answers {
		if got, err := e.Relevant(t.Context(), about("x")); (err == nil) != (i == 3) || i < 3 && got != nil {
			t.Errorf("%s: %v, %v", answers[i], got, err)
		}
	}
	for i, a := range e.outcomes() {
		if a.Known || (a.Err == nil) != (i == 3) {
			t.Errorf("question %d: %+v", i, a)
		}
	}
}

// The answers that were used longest ago are forgotten.
func TestKnownIsBounded(t *testing.T) {
	e := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":[]}`) })
	ask := func(text string) {
		t.Helper()
		if _, err := e.Relevant(t.Context(), about(text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxKnown + 8 {
		ask(fmt.Sprint(i))
		ask("0") // in use
	}
	if n := e.known.Len(); n != maxKnown {
		t.Errorf("%d answers are known", n)
	}
	was := e.asked.Load()
	if was != maxKnown+8 {
		t.Errorf("an answer in use is forgotten: asked %d times", was)
	}
	ask("1")
	if e.asked.Load() != was+1 {
		t.Error("an answer is known beyond the bound")
	}
}

// fill takes all slots. Under synctest no server can be asked.
func fill(j *Judge) (free func()) {
	for range maxAtOnce {
		j.slots <- struct{}{}
	}
	return func() {
		for range maxAtOnce {
			<-j.slots
		}
	}
}

// Many who ask the same at once cause one request, and not more requests run at
// once than may.
func TestAtOnce(t *testing.T) {
	open := make(chan struct{})
	e := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		<-open
		says(w, `{"regions":[1]}`)
	})
	var wg sync.WaitGroup
	const texts, each = 3 * maxAtOnce, 5
	for i := range texts * each {
		wg.Go(func() {
			if got, err := e.Relevant(t.Context(), about(fmt.Sprint(i%texts))); err != nil || !slices.Equal(got, []bool{true}) {
				t.Error(got, err)
			}
		})
	}
	for e.most.Load() < maxAtOnce {
		time.Sleep(time.Millisecond)
	}
	close(open)
	wg.Wait()
	if e.asked.Load() != texts || e.most.Load() != maxAtOnce {
		t.Errorf("asked %d times, %d at once", e.asked.Load(), e.most.Load())
	}
	known := 0
	for _, a := range e.outcomes() {
		if a.Known {
			known++
		}
	}
	if known != texts*(each-1) {
		t.Errorf("%d of %d answers were known", known, texts*each)
	}
}

// A wait for a slot, and one for somebody else's answer, end with the time limit;
// so does an answer that does not come.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, err := New(Config{Config: completion.Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m", Timeout: 20 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		free := fill(j)
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if got, err := j.Relevant(t.Context(), about("x")); got != nil || !errors.Is(err, context.DeadlineExceeded) {
					t.Error(got, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took != 20*time.Second {
			t.Errorf("it took %v", took)
		}
		free()
		if len(j.asking) != 0 {
			t.Error("a question is still asked")
		}
	})
	e := serve(t, 100*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if got, err := e.Relevant(t.Context(), about("x")); got != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(got, err)
	}
}

// Where the one who asks goes away, another one who waits asks instead.
func TestAskerGoes(t *testing.T) {
	began := make(chan struct{}, 8)
	var e *endpoint
	e = serve(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		if e.asked.Load() == 1 {
			<-r.Context().Done() // the client has gone
			return
		}
		says(w, `{"regions":[1]}`)
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := e.Relevant(ctx, about("x")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-began
	for range 4 {
		wg.Go(func() {
			if got, err := e.Relevant(t.Context(), about("x")); err != nil || !slices.Equal(got, []bool{true}) {
				t.Error(got, err)
			}
		})
	}
	cancel()
	wg.Wait()
	if n := e.asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

// No error holds the conversation or the model's words, whatever the endpoint does.
func TestErrorsAreSilent(t *testing.T) {
	const secret = "badge 7411"
	for name, answer := range map[string]http.HandlerFunc{
		"prose":         func(w http.ResponseWriter, _ *http.Request) { says(w, secret) },
		"a key":         func(w http.ResponseWriter, _ *http.Request) { says(w, `{"`+secret+`":1,"`+secret+`":1}`) },
		"a value":       func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":["`+secret+`"]}`) },
		"out of range":  func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":[7411]}`) },
		"a huge number": func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":[1e999]}`) },
		"two objects":   func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":[1]}{"regions":[1]}`) },
		"a status":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, secret, http.StatusBadRequest) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+secret, http.StatusTemporaryRedirect)
		},
		"a huge body": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat(secret, 1<<18)) },
		"a broken reply": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"choices":[{"message":"`+secret)
		},
	} {
		e := serve(t, time.Minute, answer)
		got, err := e.Relevant(t.Context(), about(secret))
		if got != nil || err == nil || strings.Contains(err.Error(), "7411") || strings.Contains(err.Error(), "badge") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if told := e.outcomes(); len(told) != 1 || !errors.Is(told[0].Err, err) {
			t.Errorf("%s: told %+v", name, told)
		}
	}
}

// A conversation that is too large is not asked about.
func TestTooMuch(t *testing.T) {
	e := serve(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) { says(w, `{"regions":[]}`) })
	half := strings.Repeat("x", maxAsked/2)
	for name, c := range map[string]struct {
		q  screen.Question
		ok bool
	}{
		"as many as may be": {screen.Question{Regions: make([]screen.Region, maxRegions)}, true},
		"one more":          {screen.Question{Regions: make([]screen.Region, maxRegions+1)}, false},
		"as long as may be": {screen.Question{Regions: []screen.Region{{Text: half}, {Text: half}}}, true},
		"longer":            {screen.Question{Regions: []screen.Region{{Text: half}, {Text: half, Field: "f"}}}, false},
		"a long request":    {screen.Question{Requests: []string{half}, Regions: []screen.Region{{Text: "x"}}}, false},
	} {
		was := e.asked.Load()
		if _, err := e.Relevant(t.Context(), &c.q); (err == nil) != c.ok || e.asked.Load()-was != map[bool]int64{true: 1}[c.ok] {
			t.Errorf("%s: %v; asked %d times", name, err, e.asked.Load()-was)
		}
	}
}
