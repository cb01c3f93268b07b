package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/console/access"
)

// Rubrics lists the rubrics that releases are held to, and tries releases. The
// console masks what it returns in place, so each call returns new values. Its
// errors hold no part of a trial.
type Rubrics interface {
	// Rubrics are all that the registry holds.
	Rubrics(ctx context.Context) (*RubricList, error)
	// Rubric returns the rubric with a hash in hexadecimal, or nil.
	Rubric(ctx context.Context, hash string) (*Rubric, error)
	// Try decides a release. It charges nothing and keeps nothing.
	Try(ctx context.Context, t *Trial) (*Tried, error)
}

// RubricList is what releases are held to.
type RubricList struct {
	Mode     string          `json:"mode"` // off, report or on
	Rubrics  []RubricRow     `json:"rubrics"`
	Refused  []RefusedRubric `json:"refused"`
	Findings []RubricFinding `json:"findings"` // of lint, of the rubrics in force
	Targets  []RubricTarget  `json:"targets"`  // what the configuration knows as sinks
	Actions  []string        `json:"actions"`  // categories that rubrics are for
	Defender string          `json:"defender"` // who labels releases: rules, llm or none
	MayTry   bool            `json:"may_try"`  // whether the session may try releases

	// What the page shows besides.
	CSRF    string   `json:"-"`
	Trial   Trial    `json:"-"`
	Tried   *Tried   `json:"-"`
	Problem *Problem `json:"-"`
}

// RubricRow is a rubric of the registry.
type RubricRow struct {
	Hash     string    `json:"hash"`
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Revision int       `json:"revision"`
	Actions  []string  `json:"actions"` // categories of what tools do; empty: any
	Signer   string    `json:"signer"`  // id of the key; empty if its file is missing
	Own      bool      `json:"own"`     // the key is that of this installation
	Expires  time.Time `json:"expires"` // from then on it does not hold
	State    string    `json:"state"`   // in force, superseded or expired
	Fields   int       `json:"fields"`
	Budget   float64   `json:"budget"` // bits of a trajectory
}

// RefusedRubric is a file that no release is held to.
type RefusedRubric struct {
	File   string `json:"file"`
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// RubricFinding is what lint found.
type RubricFinding struct {
	Rubric string `json:"rubric"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// RubricTarget is a tool, or the model, as a sink.
type RubricTarget struct {
	Target  string   `json:"id"` // "model", or "tool:" and its name
	Name    string   `json:"name"`
	Action  string   `json:"action"`
	Sink    string   `json:"sink"`
	Class   string   `json:"class"`
	Channel string   `json:"channel"`
	Args    []string `json:"args"` // a path and its field each
}

// Rubric is one rubric: what it is for, its limits, and what each way of
// showing a field costs.
type Rubric struct {
	RubricRow
	For       []string        `json:"for"` // in words
	Margin    float64         `json:"margin"`
	Classes   []RubricClass   `json:"classes"` // of sinks, the most trusted first
	FieldList []RubricField   `json:"field_list"`
	Findings  []RubricFinding `json:"findings"`
}

// RubricClass is what sinks of a class may learn.
type RubricClass struct {
	Class  string  `json:"class"`
	Cap    float64 `json:"cap"`    // bits that they and worse ones learn
	Weight float64 `json:"weight"` // by which a bit counts to the budget
}

// RubricField is a secret field. Lists go by the rubric's classes.
type RubricField struct {
	Field     string           `json:"field"`
	Group     string           `json:"group"` // fields that disclose each other
	Needs     []string         `json:"needs"` // unnecessary, useful or required
	Must      []string         `json:"must"`  // the level that must survive; empty for none
	Operators []RubricOperator `json:"operators"`
}

// RubricOperator is a way of showing a field, and what that discloses.
type RubricOperator struct {
	Operator string  `json:"operator"`
	Bits     float64 `json:"bits"`
	Admitted []bool  `json:"admitted"`
}

// Trial is a release to try. With a target, all but the payload is the
// target's.
type Trial struct {
	Target  string `json:"target,omitempty"` // the id of one of the targets
	Action  string `json:"action,omitempty"`
	Sink    string `json:"sink,omitempty"`
	Class   string `json:"class,omitempty"`   // required-service, semi-trusted or adversarial, which it is if it is empty
	Channel string `json:"channel,omitempty"` // tool, model, memory or agent; tool if it is empty
	// Args has a line for each argument: its path, and its field, text or
	// plain.
	Args    string `json:"args,omitempty"`
	Payload string `json:"payload"` // arguments as JSON, or a text
	// Trajectory is one that has released something, of which this would be
	// the next release; empty: a new one.
	Trajectory string `json:"trajectory,omitempty"`
}

// Tried is how a release would be decided.
type Tried struct {
	Outcome  flow.Outcome  `json:"outcome"`
	Rubrics  []string      `json:"rubrics"`
	Fallback bool          `json:"fallback"` // no rubric is for such a release
	Sink     string        `json:"sink"`
	Class    string        `json:"class"`
	Channel  string        `json:"channel"`
	Variant  string        `json:"variant"` // what would be sent; empty where nothing may be
	Atoms    []TriedAtom   `json:"atoms"`
	Charge   float64       `json:"charge"` // weighted bits
	Before   float64       `json:"before"` // charged to the trajectory so far
	Budget   float64       `json:"budget"`
	Told     []TriedTold   `json:"told"`
	Reasons  []TriedReason `json:"reasons"`
	Missing  []string      `json:"missing"` // fields that the sink needs and must not learn
}

// TriedAtom is a part of the payload and how it would be sent.
type TriedAtom struct {
	Path     string  `json:"path"`
	Text     string  `json:"text"` // its first 200 bytes
	Field    string  `json:"field"`
	Need     string  `json:"need"`
	Operator string  `json:"operator"`
	Bits     float64 `json:"bits"`
}

// TriedTold is what sinks of a class or worse would know.
type TriedTold struct {
	Class string  `json:"class"`
	Bits  float64 `json:"bits"`
	Cap   float64 `json:"cap"`
}

// TriedReason is why something is not sent as it is.
type TriedReason struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// Bounds of a trial.
const (
	maxPayload  = 16 << 10
	maxArgs     = 4 << 10
	maxTrial    = 128 << 10 // its JSON or its form
	maxTrials   = 2         // at once
	trialTime   = 10 * time.Second
	trialWait   = 2 * time.Second
	trialOutput = 1 << 20
)

var errNoRubrics = &Problem{http.StatusNotFound, "no-rubrics", "there is no registry of rubrics, so releases are held to none", "margay rubric new writes one, margay rubric publish puts it in force, declassify.mode holds releases to it"}

func (c *Console) rubrics(r *http.Request) (any, error) {
	list, err := c.rubricList(r.Context())
	if id, e := flow.ParseTrajectoryID(r.URL.Query().Get("trajectory")); err == nil && e == nil {
		list.Trial.Trajectory = string(id)
	}
	return list, err
}

func (c *Console) rubricList(ctx context.Context) (*RubricList, error) {
	if c.cfg.Rubrics == nil {
		return nil, errNoRubrics
	}
	out, err := c.cfg.Rubrics.Rubrics(ctx)
	if err != nil {
		return nil, err
	}
	if who := access.From(ctx); who != nil {
		out.CSRF, out.MayTry = who.CSRF, who.Operates()
	}
	return out, nil
}

func (c *Console) rubric(r *http.Request) (any, error) {
	if c.cfg.Rubrics == nil {
		return nil, errNoRubrics
	}
	out, err := c.cfg.Rubrics.Rubric(r.Context(), r.PathValue("hash"))
	if err == nil && out == nil {
		err = &Problem{http.StatusNotFound, "not-found", "the registry holds no rubric with this hash", "/console/rubrics lists those that it holds"}
	}
	return out, err
}

// tooLarge says which part of a trial is too long.
func tooLarge(what string, most int) error {
	return &Problem{http.StatusRequestEntityTooLarge, "too-large", fmt.Sprintf("%s may have %d bytes at most", what, most), "try the part of it that matters"}
}

func (t *Trial) check() error {
	for _, x := range []struct {
		what string
		text string
		most int
	}{{"the payload", t.Payload, maxPayload}, {"the arguments", t.Args, maxArgs}, {"the target", t.Target, access.MaxName + len("tool:")}, {"the category", t.Action, access.MaxName}, {"the sink", t.Sink, access.MaxName}, {"the trajectory", t.Trajectory, access.MaxName}} {
		if len(x.text) > x.most {
			return tooLarge(x.what, x.most)
		}
	}
	if strings.TrimSpace(t.Payload) == "" {
		return &Problem{http.StatusBadRequest, "payload", "the payload is empty", "paste the arguments of a call as JSON, or a text"}
	}
	return nil
}

// try decides a release without making it. As in any call, known secrets in it
// are replaced first, so that no result shows one.
func (c *Console) try(ctx context.Context, t *Trial) (*Tried, error) {
	switch {
	case c.cfg.Rubrics == nil:
		return nil, errNoRubrics
	case !access.From(ctx).Operates():
		return nil, &Problem{http.StatusForbidden, "read-only", "viewers can't try releases", "somebody with the role operator can"}
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	wait := time.NewTimer(trialWait)
	defer wait.Stop()
	select {
	case c.trials <- struct{}{}:
		defer func() { <-c.trials }()
	case <-wait.C:
		return nil, &Problem{http.StatusTooManyRequests, "busy", "others are trying releases", "try again in a moment"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	mask, err := c.cfg.Mask(ctx)
	if err != nil {
		return nil, err
	}
	known := *t
	known.Payload = mask(t.Payload)
	out, err := c.cfg.Rubrics.Try(ctx, &known)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &Problem{http.StatusUnprocessableEntity, "deadline", "the release was not decided in time", "try a shorter payload"}
	}
	if err == nil && len(out.Variant) > trialOutput {
		return nil, tooLarge("what would be sent", trialOutput)
	}
	return out, err
}

// fields are those of a trial as JSON and forms have them.
func (t *Trial) fields() map[string]*string {
	return map[string]*string{
		"target": &t.Target, "action": &t.Action, "sink": &t.Sink, "class": &t.Class, "channel": &t.Channel,
		"args": &t.Args, "payload": &t.Payload, "trajectory": &t.Trajectory,
	}
}

func (c *Console) tryJSON(r *http.Request) (any, error) {
	var t Trial
	if err := bodyOf(r, t.fields(), maxTrial, http.StatusRequestEntityTooLarge); err != nil {
		return nil, err
	}
	return c.try(r.Context(), &t)
}

// tryForm answers with the page itself: nothing is kept that another request
// could show.
func (c *Console) tryForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxTrial)
	var t Trial
	for name, field := range t.fields() {
		*field = r.PostFormValue(name)
	}
	t.Args, t.Payload, t.Trajectory = unixLines(t.Args), unixLines(t.Payload), strings.TrimSpace(t.Trajectory)
	list, err := c.rubricList(r.Context())
	if err != nil {
		return err
	}
	status := http.StatusOK
	if list.Tried, err = c.try(r.Context(), &t); err != nil {
		if list.Problem = problemOf(err); list.Problem.Status >= http.StatusInternalServerError || r.Context().Err() != nil {
			return err
		}
		status = list.Problem.Status
	}
	if len(t.Payload) <= maxPayload && len(t.Args) <= maxArgs {
		list.Trial = t
	}
	if err := c.mask(r.Context(), list); err != nil {
		return err
	}
	c.render(w, r, status, "rubrics", "Rubrics", list)
	return nil
}

// unixLines are the lines of a form's field as they were before a browser sent
// them.
func unixLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
