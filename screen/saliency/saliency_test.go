package saliency

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/screen"
)

func question() *screen.Question {
	return &screen.Question{
		Requests: []string{"older", "Pay the bill."},
		Calls:    []flow.ToolCall{{Name: "send_money", Arguments: `{"to":"AB-77","amount":12.5}`}},
		Regions: []screen.Region{
			{Text: "{'", Message: 1, Tool: "read_file"},
			{Text: "Zoë", Message: 1, Tool: "read_file", Field: "name"},
			{Text: "': '", Message: 1, Tool: "read_file"},
			{Text: "AB-77", Message: 1, Tool: "read_file", Field: "iban"},
			{Text: "green", Message: 2, Tool: "get_profile", Field: "colour"},
			{Text: "oak", Message: 2, Tool: "get_profile", Field: "tree"},
			{Text: "pasted text", Message: 3},
			{Text: "…", Message: 4, Tool: "x", Field: "y"},
		},
	}
}

func TestWrite(t *testing.T) {
	p := Write(question())
	want := []Message{
		{"system", system},
		{"tool", "read file:\n{'Zoë': 'AB-77"},
		{"tool", "get profile:\ncolour: green\ntree: oak"},
		{"user", "pasted text"},
		{"tool", "x:\ny: …"},
		{"user", "older\nPay the bill."},
	}
	if !slices.Equal(p.Messages, want) {
		t.Errorf("%q", p.Messages)
	}
	if want := "send money, amount: 12.5, to: AB-77"; p.Output != want {
		t.Errorf("%q", p.Output)
	}
	for i, r := range question().Regions {
		s := p.Regions[i]
		if got := string([]rune(p.Messages[s.Message].Content)[s.Start:s.End]); got != r.Text {
			t.Errorf("region %d is %q", i, got)
		}
	}
	if got, want := Weighed(question()), []bool{false, true, false, true, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("weighed %v", got)
	}
}

// given is a Source of fixed features.
type given struct {
	fs  []Features
	err error
}

func (g given) Features(context.Context, *screen.Question) ([]Features, error) { return g.fs, g.err }

func TestRelevant(t *testing.T) {
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	high, low := &[Count]float64{.4, 6, .3, .6, .9, 1}, &[Count]float64{.0005, .05, .001, .002, .004, .01}
	got, err := (&Screener{given{fs: []Features{high, low, high, high, low, nil, low, high}}, m}).Relevant(t.Context(), question())
	if err != nil || !slices.Equal(got, []bool{false, false, false, true, false, true, false, false}) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := (&Screener{given{fs: []Features{high}}, m}).Relevant(t.Context(), question()); err == nil {
		t.Error("features of other regions are taken")
	}
	if _, err := (&Screener{given{err: errors.New("x")}, m}).Relevant(t.Context(), question()); err == nil {
		t.Error("no error of a source that fails")
	}
	if got, err := (&Screener{given{err: errors.New("x")}, m}).Relevant(t.Context(), &screen.Question{}); err != nil || len(got) != 0 {
		t.Errorf("no regions: %v %v", got, err)
	}
}

func TestClient(t *testing.T) {
	var asked Prompt
	var path, answer string
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer srv.Close()
	c, err := NewClient(Config{BaseURL: srv.URL + "/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	q := &screen.Question{Requests: []string{"x"}, Regions: []screen.Region{{Text: "badge", Tool: "t"}, {Text: "", Tool: "t"}}}
	region := func(features string) string { return `{"tokens":1,"cut":0,"features":` + features + `}` }
	whole := func(regions ...string) string {
		return `{"version":1,"prompt_tokens":9,"output_tokens":2,"output_cut":0,"loss":1.5,"regions":[` + strings.Join(regions, ",") + `]}`
	}
	six := region("[0.1,1,0.2,0.3,0.4,0.5]")
	for name, c2 := range map[string]struct {
		answer string
		ok     bool
	}{
		"right":           {whole(six, region("null")), true},
		"a region less":   {whole(six), false},
		"a region more":   {whole(six, six, six), false},
		"five features":   {whole(six, region("[1,2,3,4,5]")), false},
		"negative":        {whole(six, region("[0.1,1,0.2,0.3,0.4,-1]")), false},
		"huge":            {whole(six, region("[0.1,1,0.2,0.3,0.4,1e300]")), false},
		"no number":       {whole(six, region(`["0.1",1,0.2,0.3,0.4,1]`)), false},
		"what was cut":    {whole(strings.Replace(six, `"cut":0`, `"cut":7`, 1), six), true},
		"a cut answer":    {strings.Replace(whole(six, six), `"output_cut":0`, `"output_cut":1`, 1), false},
		"another version": {strings.Replace(whole(six, six), `"version":1`, `"version":2`, 1), false},
		"a field more":    {strings.Replace(whole(six, six), `"loss"`, `"more":1,"loss"`, 1), false},
		"a key twice":     {strings.Replace(whole(six, six), `"loss"`, `"loss":1,"loss"`, 1), false},
		"nothing":         {"", false},
		"a flood":         {strings.Repeat(" ", completion.MaxAnswer) + whole(six, six), false},
	} {
		answer = c2.answer
		fs, err := c.Features(t.Context(), q)
		if (err == nil) != c2.ok || err != nil && strings.Contains(err.Error(), "badge") {
			t.Errorf("%s: %v", name, err)
		}
		switch {
		case !c2.ok:
		case name == "what was cut": // too little is known of it
			if fs[0] != nil || fs[1] == nil {
				t.Errorf("%s: %v", name, fs)
			}
		case fs[0] == nil || fs[0][5] != .5 || fs[1] != nil:
			t.Errorf("%s: %v", name, fs)
		}
	}
	if path != "/v1/saliency" || len(asked.Regions) != 2 {
		t.Errorf("%s %+v", path, asked)
	}
	status = http.StatusBadRequest
	if _, err := c.Features(t.Context(), q); err == nil {
		t.Error("a refusal is an answer")
	}
	if _, err := c.Features(t.Context(), &screen.Question{Regions: make([]screen.Region, maxRegions+1)}); err == nil {
		t.Error("too many regions are asked about")
	}
	far, err := NewClient(Config{BaseURL: "http://192.0.2.1/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := far.Features(t.Context(), q); !errors.Is(err, completion.ErrElsewhere) {
		t.Errorf("asked elsewhere: %v", err)
	}
	if _, err := NewClient(Config{Model: "m"}); err == nil {
		t.Error("a client without an endpoint")
	}
}

// TestLate: what does not answer in time is an error, and so few are asked at once that
// others wait within their own time.
func TestLate(t *testing.T) {
	asking := func(limit time.Duration) (*Client, chan struct{}) {
		arrived := make(chan struct{}, maxAtOnce+1)
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			arrived <- struct{}{}
			<-r.Context().Done()
		}))
		t.Cleanup(srv.Close)
		c, err := NewClient(Config{BaseURL: srv.URL + "/v1", Model: "m", Timeout: limit})
		if err != nil {
			t.Fatal(err)
		}
		return c, arrived
	}
	q := &screen.Question{Requests: []string{"x"}, Regions: []screen.Region{{Text: "badge", Tool: "t"}}}
	hasty, _ := asking(time.Millisecond)
	if _, err := hasty.Features(t.Context(), q); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: %v", err)
	}
	c, arrived := asking(0)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range maxAtOnce {
		all.Go(func() { _, _ = c.Features(ctx, q) })
	}
	for range maxAtOnce {
		<-arrived
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := c.Features(gone, q); !errors.Is(err, context.Canceled) || len(arrived) > 0 {
		t.Errorf("one more than may be asked at once: %v", err)
	}
	cancel()
	all.Wait()
}

func TestLoad(t *testing.T) {
	if _, err := Load(shipped); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][2]string{
		"version":   {`"version":1`, `"version":2`},
		"scale":     {`"scale":[`, `"scale":[0,`},
		"threshold": {`"threshold":0`, `"threshold":1`},
		"weights":   {`"weights":[`, `"weights":[0,`},
		"field":     {`"model"`, `"modal"`},
	} {
		changed := strings.Replace(string(shipped), c[0], c[1], 1)
		if changed == string(shipped) {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := Load([]byte(changed)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

// Scores go on from what came before, and only from that.
func TestScores(t *testing.T) {
	m, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := [Count]float64{.1, 1, .1, .2, .3, .4}, [Count]float64{.3, 4, .5, .6, .7, .9}, [Count]float64{}
	long, short := m.Scores([][Count]float64{a, b, c}), m.Scores([][Count]float64{a, b})
	if !slices.Equal(long[:2], short) {
		t.Errorf("%v, %v", long, short)
	}
	if alone := m.Scores([][Count]float64{b}); alone[0] == short[1] {
		t.Error("nothing is remembered")
	}
	for _, p := range long {
		if !(p > 0 && p < 1) || math.IsNaN(p) {
			t.Errorf("%v is no probability", p)
		}
	}
}

func BenchmarkScores(b *testing.B) {
	m, err := Default()
	if err != nil {
		b.Fatal(err)
	}
	sequence := make([][Count]float64, 64)
	b.ReportAllocs()
	for b.Loop() {
		m.Scores(sequence)
	}
}
