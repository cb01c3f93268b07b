package reward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/lab/traj/defence"
)

// Bounds of a request.
const (
	MaxBody  = 4 << 20 // bytes
	MaxBatch = 256     // outputs
	maxSteps = 256     // of an answer to GET /tasks
	maxQuote = 4096    // bytes
	maxList  = 256     // quotes of a completion
)

// Step is one prompt of GET /tasks.
type Step struct {
	Task   string            `json:"task"`
	Step   int               `json:"step"`
	Sink   string            `json:"sink"`
	Class  string            `json:"class"`
	Tool   string            `json:"tool"`
	Fields map[string]string `json:"fields"` // to necessity
	Texts  []Text            `json:"texts"`
	Prompt string            `json:"prompt"`
}

// Text is one argument of a step.
type Text struct {
	Number int    `json:"number"` // from 1
	Path   string `json:"path"`   // of the argument
	Typed  string `json:"typed"`  // its field, by the tool's schema; may be empty
	Text   string `json:"text"`   // what would be sent
}

// Steps returns the steps that there is something to label in by reading, of tasks
// from one index on, up to so many steps, and the index of the task to go on with.
func (j *Judge) Steps(from, most int) (out []Step, next int, err error) {
	for i := from; i < len(j.tasks); i++ {
		var of []Step
		for s := range j.tasks[i].Steps {
			one, err := j.step(i, s)
			if err != nil {
				return nil, 0, err
			}
			if one != nil {
				of = append(of, *one)
			}
		}
		if len(out) > 0 && len(out)+len(of) > most {
			return out, i, nil
		}
		out = append(out, of...)
	}
	return out, len(j.tasks), nil
}

func (j *Judge) step(task, step int) (*Step, error) {
	t := j.tasks[task]
	c := defence.CandidateOf(t, step)
	free := false
	out := &Step{Task: t.ID, Step: step, Sink: c.Sink.Name, Class: c.Sink.Class.Known().String(), Tool: c.Tool}
	for i := range c.Parts {
		p := &c.Parts[i]
		one := Text{Number: i + 1, Path: p.Path, Text: p.Text}
		if !p.Free {
			one.Typed = string(p.Field)
		}
		free = free || p.Free
		out.Texts = append(out.Texts, one)
	}
	if !free {
		return nil, nil //nolint:nilnil // as Steps says
	}
	var err error
	if out.Fields, err = j.needs(c); err != nil || len(out.Fields) == 0 {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "A program is about to send these texts to %s, a %s service. Quote every stretch that tells something of a person's %s.\n",
		out.Sink, out.Class, strings.Join(slices.Sorted(maps.Keys(out.Fields)), ", "))
	for _, x := range out.Texts {
		if x.Typed == "" {
			raw, _ := json.Marshal(x.Text) // a string
			fmt.Fprintf(&b, "Text %d: %s\n", x.Number, raw)
		}
	}
	b.WriteString(`Answer with JSON: {"quotes": [{"text": 1, "quote": "...", "field": "...", "relation": "explicit"}]}` + "\n")
	out.Prompt = b.String()
	return out, nil
}

// quote is one of a completion.
type quote struct {
	Text     int    `json:"text"`
	Quote    string `json:"quote"`
	Field    string `json:"field"`
	Relation string `json:"relation"`
}

// errCompletion says that a completion is not what was asked for. Its release goes the
// conservative way.
var errCompletion = errors.New("it is not an object with quotes")

// readCompletion reads the completion of a model: one JSON object, as defend/llm
// asks for it, and nothing else but space.
func readCompletion(s string, texts int, fields []string) ([]quote, error) {
	var v struct {
		Quotes *[]quote `json:"quotes"`
	}
	if err := strict([]byte(strings.TrimSpace(s)), &v); err != nil || v.Quotes == nil || len(*v.Quotes) > maxList {
		return nil, errCompletion
	}
	out := (*v.Quotes)[:0]
	for _, q := range *v.Quotes {
		if q.Text < 1 || q.Text > texts || !slices.Contains(fields, q.Field) || q.Relation != "explicit" && q.Relation != "inferential" || len(q.Quote) > maxQuote {
			return nil, errCompletion
		}
		if q.Quote != "" {
			out = append(out, q)
		}
	}
	return out, nil
}

// strict reads JSON that can be read in one way only, without unknown members. The
// names of members are in lower case.
func strict(raw []byte, v any) error {
	var d strictjson.Doc
	if err := d.Parse(raw, strictjson.Limits{MaxBytes: MaxBody, MaxDepth: 8, MaxNodes: 1 << 18}); err != nil {
		return err
	}
	for i := range d.Nodes {
		if d.Nodes[i].Kind != strictjson.Object {
			continue
		}
		for m := range d.All(i) {
			if k := d.Key(m); k != strings.ToLower(k) {
				return errors.New("an unknown member")
			}
		}
	}
	r := json.NewDecoder(bytes.NewReader(raw))
	r.DisallowUnknownFields()
	return r.Decode(v)
}

// output is an Output as it comes.
type output struct {
	Task       *string              `json:"task"`
	Step       *int                 `json:"step"`
	Completion *string              `json:"completion"`
	Labels     *[]label             `json:"labels"`
	Operators  *[]evidence.Proposal `json:"operators"`
}

type label struct {
	Part      int    `json:"part"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Field     string `json:"field"`
	Relation  string `json:"relation"`
	Necessity string `json:"necessity"`
}

func (o *output) read() (*Output, error) {
	switch {
	case o.Task == nil || o.Step == nil:
		return nil, errors.New("task and step are needed")
	case (o.Completion == nil) == (o.Labels == nil):
		return nil, errors.New("either completion or labels is needed")
	case o.Operators != nil && o.Labels == nil:
		return nil, errors.New("operators are for labels")
	}
	out := &Output{Task: *o.Task, Step: *o.Step, Completion: o.Completion}
	if o.Labels == nil {
		return out, nil
	}
	for _, l := range *o.Labels {
		if l.Relation == "" {
			l.Relation = "explicit"
		}
		out.Labels = append(out.Labels, evidence.Label{Part: l.Part, Start: l.Start, End: l.End, Field: l.Field, Relation: l.Relation, Necessity: l.Necessity})
	}
	if o.Operators != nil {
		out.Operators = append([]evidence.Proposal{}, *o.Operators...)
	}
	return out, nil
}

// readOutputs reads the body of POST /reward: an output, or {"batch": [outputs]}.
func readOutputs(raw []byte) (all []*Output, batch bool, err error) {
	var d strictjson.Doc
	if err := d.Parse(raw, strictjson.Limits{MaxBytes: MaxBody, MaxDepth: 8, MaxNodes: 1 << 18}); err != nil {
		return nil, false, err
	}
	var in struct {
		Batch *[]output `json:"batch"`
	}
	if batch = d.Nodes[0].Kind == strictjson.Object && d.Find(0, "batch") >= 0; !batch {
		in.Batch = &[]output{{}}
		err = strict(raw, &(*in.Batch)[0])
	} else if err = strict(raw, &in); err == nil && (in.Batch == nil || len(*in.Batch) == 0 || len(*in.Batch) > MaxBatch) {
		err = fmt.Errorf("a batch has 1 to %d outputs", MaxBatch)
	}
	if err != nil {
		return nil, batch, err
	}
	for i := range *in.Batch {
		one, err := (*in.Batch)[i].read()
		if err != nil {
			return nil, batch, fmt.Errorf("output %d: %w", i, err)
		}
		all = append(all, one)
	}
	return all, batch, nil
}

// Handler serves rewards: POST /reward, GET /tasks, GET /healthz. At most two
// requests for each core are worked on at once; others wait.
func (j *Judge) Handler() http.Handler {
	busy := make(chan struct{}, 2*runtime.NumCPU())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"world": j.o.World.String(), "seed": j.o.Seed, "tasks": len(j.tasks), "beta": j.o.Beta, "lambda": j.o.Lambda})
	})
	mux.HandleFunc("GET /tasks", func(w http.ResponseWriter, r *http.Request) {
		from, n := 0, 64
		for name, to := range map[string]*int{"from": &from, "n": &n} {
			if s := r.URL.Query().Get(name); s != "" {
				v, err := strconv.Atoi(s)
				if err != nil || v < 0 {
					refuse(w, http.StatusBadRequest, fmt.Errorf("%s is a number, 0 or more", name))
					return
				}
				*to = v
			}
		}
		steps, next, err := j.Steps(from, min(n, maxSteps))
		if err != nil {
			refuse(w, http.StatusInternalServerError, err)
			return
		}
		out := map[string]any{"steps": append([]Step{}, steps...)}
		if next < len(j.tasks) {
			out["next"] = next
		}
		answer(w, http.StatusOK, out)
	})
	mux.HandleFunc("POST /reward", func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		if err != nil {
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Errorf("the body can't be read, or has more than %d bytes", MaxBody))
			return
		}
		all, batch, err := readOutputs(raw)
		if err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
		case <-r.Context().Done():
			return
		}
		out, err := j.scores(r.Context(), all)
		var none NotFound
		switch {
		case errors.As(err, &none):
			refuse(w, http.StatusNotFound, err)
		case err != nil:
			refuse(w, http.StatusInternalServerError, err)
		case batch:
			answer(w, http.StatusOK, map[string]any{"rewards": out})
		default:
			answer(w, http.StatusOK, out[0])
		}
	})
	return mux
}

func (j *Judge) scores(ctx context.Context, all []*Output) ([]*Reward, error) {
	for i, o := range all {
		if _, err := j.find(o); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	out := make([]*Reward, len(all))
	for i, o := range all {
		var err error
		if out[i], err = j.Score(ctx, o); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	return out, nil
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

func refuse(w http.ResponseWriter, status int, err error) {
	answer(w, status, map[string]string{"error": err.Error()})
}
