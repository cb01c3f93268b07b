package console

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/console/access"
)

// maxArgumentsShown bounds the arguments of a call on a page; all of them are
// a text of their own.
const maxArgumentsShown = 16 << 10

// Questions is the queue.
type Questions struct {
	Waiting []Question `json:"waiting"` // the oldest first
	Past    []Question `json:"past"`    // the latest first; empty where they are not asked for
	All     bool       `json:"all"`
}

// Question is a call that a person is asked about.
type Question struct {
	ID         string            `json:"id"`
	Trajectory flow.TrajectoryID `json:"trajectory"`
	Tool       string            `json:"tool"`
	Sink       string            `json:"sink"`
	// Arguments are the first 16 KiB of those of the call, Bytes long.
	Arguments string          `json:"arguments"`
	Bytes     int             `json:"bytes"`
	Cut       bool            `json:"cut"`
	Label     string          `json:"label"` // what the call was made under
	Needs     string          `json:"needs"` // what its policy admits
	Faults    []confirm.Fault `json:"faults"`
	Flows     []string        `json:"flows"`
	Free      []string        `json:"free"`
	Grantable bool            `json:"grantable"` // for the trajectory
	Asked     time.Time       `json:"asked"`
	Expires   time.Time       `json:"expires"`
	Waiting   bool            `json:"waiting"`
	Answer    confirm.Answer  `json:"answer"`
	By        string          `json:"by"`
	Answered  time.Time       `json:"answered,omitzero"`
	// CSRF and MayAnswer are for who is asking.
	CSRF      string `json:"-"`
	MayAnswer bool   `json:"may_answer"`
}

// errNoDesk says that nothing is ever asked here.
var errNoDesk = &Problem{http.StatusNotFound, "no-desk", "no call is held to what it may follow from, so nothing is asked", "set taint.mode in the configuration"}

func (c *Console) openQuestions(ctx context.Context) int {
	if c.cfg.Desk == nil {
		return 0
	}
	rows, err := c.cfg.Desk.Rows(ctx, false, pageQuestions)
	if err != nil {
		return 0 // pages that are about them tell
	}
	return len(rows)
}

// questionOf is a question as it is shown. What was sealed under another key
// can't be.
func (c *Console) questionOf(ctx context.Context, r *confirm.Row) (Question, error) {
	q, err := c.cfg.Desk.Open(r)
	if err != nil {
		return Question{}, &Problem{http.StatusServiceUnavailable, "sealed", "question " + r.ID + " can't be opened: " + err.Error(), "was seal.key replaced? margay doctor tells"}
	}
	out := Question{
		ID: q.ID, Trajectory: q.Trajectory, Tool: q.Call.Name, Sink: q.Sink, Arguments: q.Call.Arguments, Bytes: len(q.Call.Arguments), Label: q.Label, Needs: q.Needs,
		Faults: append([]confirm.Fault{}, q.Faults...), Flows: append([]string{}, q.Flows...), Free: append([]string{}, q.Free...), Grantable: q.Grant != [32]byte{}, Asked: q.Asked, Expires: q.Expires,
		Answer: r.Answer, By: r.By, Answered: r.Answered, Waiting: r.Answer == "" && c.cfg.Now().Before(q.Expires),
	}
	if out.Bytes > maxArgumentsShown {
		out.Cut, out.Arguments = true, strings.ToValidUTF8(out.Arguments[:maxArgumentsShown], "")
	}
	if who := access.From(ctx); who != nil {
		out.CSRF, out.MayAnswer = who.CSRF, who.Operates()
	}
	return out, nil
}

func (c *Console) questions(r *http.Request) (any, error) {
	return c.queue(r.Context(), r.URL.Query().Get("all") == "1")
}

func (c *Console) queue(ctx context.Context, all bool) (*Questions, error) {
	out := &Questions{Waiting: []Question{}, Past: []Question{}, All: all}
	if c.cfg.Desk == nil {
		return out, nil
	}
	rows, err := c.cfg.Desk.Rows(ctx, all, pageQuestions)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		q, err := c.questionOf(ctx, &rows[i])
		switch {
		case err != nil:
			return nil, err
		case q.Waiting:
			out.Waiting = append(out.Waiting, q)
		case all:
			out.Past = append([]Question{q}, out.Past...)
		}
	}
	return out, nil
}

func (c *Console) row(ctx context.Context, id string) (*confirm.Row, error) {
	if c.cfg.Desk == nil {
		return nil, errNoDesk
	}
	r, err := c.cfg.Desk.Row(ctx, strings.ToUpper(id))
	return &r, err
}

func (c *Console) question(r *http.Request) (any, error) {
	row, err := c.row(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	q, err := c.questionOf(r.Context(), row)
	return &q, err
}

// arguments gives all arguments of a call as text.
func (c *Console) arguments(w http.ResponseWriter, r *http.Request) {
	row, err := c.row(r.Context(), r.PathValue("id"))
	var text string
	if err == nil {
		var q *confirm.Question
		if q, err = c.cfg.Desk.Open(row); err == nil {
			var mask func(string) string
			if mask, err = c.cfg.Mask(r.Context()); err == nil {
				text = mask(q.Call.Arguments)
			}
		}
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

// answer answers a question for who is asking.
func (c *Console) answer(ctx context.Context, id, answer string) (*Question, error) {
	if err := mayAnswer(ctx); err != nil {
		return nil, err
	}
	row, err := c.row(ctx, id)
	if err != nil {
		return nil, err
	}
	a := confirm.Answer(answer)
	switch a {
	case confirm.Once, confirm.Deny:
	case confirm.Trajectory:
		if row.Grant == [32]byte{} {
			return nil, &Problem{http.StatusBadRequest, "not-grantable", "this call can't be allowed for the trajectory", "allow it once"}
		}
	default:
		return nil, &Problem{http.StatusBadRequest, "answer", "an answer is once, trajectory or deny", "docs/api/openapi.json lists them"}
	}
	by := "console"
	if name := access.From(ctx).Name(); name != "" {
		by += ": " + name
	}
	if err := c.cfg.Desk.Answer(ctx, row.ID, a, by); err != nil {
		if errors.Is(err, confirm.ErrAnswered) {
			if now, e := c.cfg.Desk.Row(ctx, row.ID); e == nil {
				return nil, &Problem{http.StatusConflict, "answered", "the question was answered already: " + string(now.Answer) + ", by " + now.By, "the first answer counts; margay approve show " + row.ID + " shows it"}
			}
		}
		return nil, err
	}
	if *row, err = c.cfg.Desk.Row(ctx, row.ID); err != nil {
		return nil, err
	}
	if q, err := c.cfg.Desk.Open(row); err == nil && c.cfg.Answered != nil {
		c.cfg.Answered(q, a, by)
	}
	c.live.Asked()
	q, err := c.questionOf(ctx, row)
	return &q, err
}

func (c *Console) answerJSON(w http.ResponseWriter, r *http.Request) {
	var text string
	err := body(r, map[string]*string{"answer": &text})
	if err != nil {
		c.fail(w, r, err)
		return
	}
	q, err := c.answer(r.Context(), r.PathValue("id"), text)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	v, err := c.masked(r.Context(), q)
	if err != nil {
		c.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, v)
}

func (c *Console) answerForm(w http.ResponseWriter, r *http.Request) {
	if _, err := c.answer(r.Context(), r.PathValue("id"), r.PostFormValue("answer")); err != nil {
		c.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/console/confirmations?all=1", http.StatusSeeOther)
}
