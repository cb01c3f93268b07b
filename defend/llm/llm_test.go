package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/rubric"
)

// word are Rules that know one field and one word of it.
type word struct{ declassify.Rules }

func (word) Fields() []string                              { return []string{"diagnosis", "email"} }
func (word) Necessity(string, flow.Class) rubric.Necessity { return rubric.Unnecessary }
func (word) Match(_, text string) (out []rubric.Match) {
	if i := strings.Index(text, "asthma"); i >= 0 {
		out = append(out, rubric.Match{Start: i, End: i + 6, Field: "diagnosis", Clause: "dx"})
	}
	return out
}

func request() *declassify.Request {
	return &declassify.Request{
		Tool:  &schema.Tool{Class: flow.SemiTrusted, Args: []schema.Arg{{Path: "to", Field: "email"}}},
		Parts: []declassify.Part{{Path: "to", Text: "a@b.example"}, {Path: "note", Text: "asthma, he can't breathe; he can't breathe"}},
		Rules: word{},
		Plan: func(ls []evidence.Label) ([]evidence.Proposal, string, error) {
			out := make([]evidence.Proposal, len(ls))
			for i := range out {
				out[i] = evidence.Proposal{Atom: i, Op: "redact"}
			}
			return out, "v", nil
		},
	}
}

// endpoint answers as the test says.
type endpoint struct {
	answer string
	status int
	asked  string
	forced bool
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Messages []struct{ Content string }
		Format   *struct{ Type string } `json:"response_format"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	e.asked, e.forced = in.Messages[1].Content, in.Format != nil
	if e.status == http.StatusBadRequest && !e.forced {
		e.status = http.StatusOK
	}
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": e.answer}}}})
}

func serve(t *testing.T) (*endpoint, *Defender) {
	e := &endpoint{status: http.StatusOK}
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	d, err := New(Config{BaseURL: srv.URL + "/v1/", Model: "m", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return e, d
}

func TestEvidence(t *testing.T) {
	e, d := serve(t)
	quoted := func(text, quote, field, relation string) string {
		return `{"quotes":[{"text":` + text + `,"quote":"` + quote + `","field":"` + field + `","relation":"` + relation + `"}]}`
	}
	for name, c := range map[string]struct {
		answer string
		atoms  int // -1 for an error
	}{
		"nothing":             {`{"quotes":[]}`, 2},
		"wherever it stands":  {quoted("1", "can't breathe", "diagnosis", "inferential"), 4},
		"what is known":       {quoted("1", "asthma, he", "diagnosis", "explicit"), 2},
		"not in the text":     {quoted("1", "cancer", "diagnosis", "explicit"), 2},
		"no text":             {quoted("2", "x", "diagnosis", "explicit"), -1},
		"no field":            {quoted("1", "x", "secret", "explicit"), -1},
		"no relation":         {quoted("1", "x", "email", "maybe"), -1},
		"more than was asked": {`{"quotes":[],"allow":true}`, -1},
		"a key twice":         {`{"quotes":[],"quotes":[]}`, -1},
		"missing":             {`{}`, -1},
		"prose":               {"There is nothing.", -1},
	} {
		e.answer = c.answer
		raw, err := d.Evidence(context.Background(), request())
		if c.atoms < 0 {
			if err == nil || strings.Contains(err.Error(), "breathe") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		ev, err := evidence.Parse(raw)
		if err != nil || len(ev.Atoms) != c.atoms || len(ev.Operators) != c.atoms {
			t.Errorf("%s: %v %+v", name, err, ev)
		}
	}
	if strings.Contains(e.asked, "a@b.example") {
		t.Error("typed arguments are asked about")
	}
	e.status, e.answer = http.StatusBadRequest, `{"quotes":[]}`
	if _, err := d.Evidence(context.Background(), request()); err != nil || e.forced {
		t.Errorf("an endpoint without schemas: %v", err)
	}
	e.status = http.StatusInternalServerError
	if _, err := d.Evidence(context.Background(), request()); err == nil {
		t.Error("a failing endpoint gave evidence")
	}
	e.status = http.StatusOK
	e.answer = strings.Repeat(" ", completion.MaxAnswer) + `{"quotes":[]}`
	if _, err := d.Evidence(context.Background(), request()); err == nil {
		t.Error("a flood gave evidence")
	}
	r := request()
	r.Parts[1].Text = strings.Repeat("x", maxAsked)
	if _, err := d.Evidence(context.Background(), r); err == nil {
		t.Error("more was asked than may be")
	}
}

func TestAnswers(t *testing.T) {
	e, d := serve(t)
	cs := []evidence.Challenge{{Part: 1, Start: 0, End: 6, Field: "diagnosis"}, {Part: 1, Start: 0, End: 6, Necessity: "useful"}, {Atom: -1, Part: 1, Start: 0, End: 6, Field: evidence.None}}
	e.answer = `{"answers":[true,false,true]}`
	raw, err := d.Answers(context.Background(), request(), cs)
	if err != nil || string(raw) != `{"version":1,"answers":[true,false,true]}` {
		t.Errorf("%s %v", raw, err)
	}
	for _, answer := range []string{`{"answers":[true]}`, `{"answers":null}`, `{"answers":[1,0]}`, `yes`} {
		e.answer = answer
		if _, err := d.Answers(context.Background(), request(), cs); err == nil {
			t.Errorf("%s is taken for answers", answer)
		}
	}
	cs[0].End = 1000
	if _, err := d.Answers(context.Background(), request(), cs); err == nil {
		t.Error("a challenge about no span is answered")
	}
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{Model: "m"}); err == nil {
		t.Error("a defender without an endpoint")
	}
	// Unless it may be remote, nothing leaves this machine.
	d, err := New(Config{BaseURL: "http://192.0.2.1/v1", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Evidence(context.Background(), request()); !errors.Is(err, completion.ErrElsewhere) {
		t.Errorf("asked elsewhere: %v", err)
	}
}
