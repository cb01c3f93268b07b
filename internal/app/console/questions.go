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
	"github.com/margaydev/margay/internal/app/console/access"
)

// maxArgumentsShown bounds the arguments of a call on a page. A link leads to all
// of them.
const maxArgumentsShown = 16 << 10

// Questions is the queue.
type Questions struct {
	Waiting []Question `json:"waiting"` // the oldest first
	Past    []Question `json:"past"`    // the latest first; empty unless asked for
	All     bool       `json:"all"`
}

// Question is a call that a person is asked about.
type Question struct {
	ID         string            `json:"id"`
	Trajectory flow.TrajectoryID `json:"trajectory"`
	Tool       string            `json:"tool"`
	Sink       string            `json:"sink"`
	// Arguments are the first 16 KiB of those of the call, Bytes long.
	Arguments string `json:"arguments"`
	Bytes     int    `json:"bytes"`
	Cut       bool   `json:"cut"`
	Label     string `json:"label"` // what the call was made under
	Needs     string `json:"needs"` // what its policy admits
	// First is what the tool seems to do, where nothing is known of it: an answer can
	// say that it reads, changes things, or asks each time. Empty elsewhere.
	First string `json:"first"`
	// Folder is a project that an answer may trust from now on, and Trusting what that
	// means; empty for none.
	Folder    string          `json:"folder"`
	Trusting  string          `json:"trusting"`
	Deeds     []confirm.Deed  `json:"deeds"`
	Values    []confirm.Value `json:"values"`
	Faults    []confirm.Fault `json:"faults"`
	Flows     []string        `json:"flows"`
	Free      []string        `json:"free"`
	Kinds     []string        `json:"kinds"`     // what a grant covers in other calls, too
	Grantable bool            `json:"grantable"` // for the trajectory
	Asked     time.Time       `json:"asked"`
	Expires   time.Time       `json:"expires"`
	Waiting   bool            `json:"waiting"`
	Answer    confirm.Answer  `json:"answer"`
	By        string          `json:"by"`
	Answered  time.Time       `json:"answered,omitzero"`
	// CSRF and MayAnswer are those of the session.
	CSRF      string `json:"-"`
	MayAnswer bool   `json:"may_answer"`
}

func (c *Console) openQuestions(ctx context.Context) int {
	rows, err := c.cfg.Desk.Rows(ctx, false, pageQuestions)
	if err != nil {
		return 0 // the pages that list them report it
	}
	return len(rows)
}

// questionOf opens a question for its page. It fails if the question was sealed
// under another key.
func (c *Console) questionOf(ctx context.Context, r *confirm.Row) (Question, error) {
	q, err := c.cfg.Desk.Open(r)
	if err != nil {
		return Question{}, &Problem{http.StatusServiceUnavailable, "sealed", "question " + r.ID + " can't be opened: " + err.Error(), "was seal.key replaced? margay doctor checks it"}
	}
	out := Question{
		ID: q.ID, Trajectory: q.Trajectory, Tool: q.Call.Name, Sink: q.Sink, Arguments: q.Call.Arguments, Bytes: len(q.Call.Arguments), Label: q.Label, Needs: q.Needs,
		Deeds: append([]confirm.Deed{}, q.Deeds...), Values: append([]confirm.Value{}, q.Values...), Faults: append([]confirm.Fault{}, q.Faults...), Flows: append([]string{}, q.Flows...), Free: append([]string{}, q.Free...), Kinds: append([]string{}, q.Kinds...), Grantable: q.Grant != [32]byte{}, Asked: q.Asked, Expires: q.Expires,
		Answer: r.Answer, By: r.By, Answered: r.Answered, Waiting: r.Answer == "" && c.cfg.Now().Before(q.Expires),
	}
	if q.First != nil {
		out.First = q.First.String()
	}
	if q.Folder != "" {
		out.Folder, out.Trusting = q.Folder, q.Trusting()
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
func (c *Console) arguments(w http.ResponseWriter, r *http.Request) error {
	row, err := c.row(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	q, err := c.cfg.Desk.Open(row)
	if err != nil {
		return err
	}
	if err := c.mask(r.Context(), &q.Call.Arguments); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, q.Call.Arguments) //nolint:gosec // plain text, which browsers must not sniff
	return nil
}

// answer answers a question for the session.
func (c *Console) answer(ctx context.Context, id, answer string) (*Question, error) {
	if !access.From(ctx).Operates() {
		return nil, &Problem{http.StatusForbidden, "read-only", "viewers can't answer questions", "somebody with the role operator can"}
	}
	row, err := c.row(ctx, id)
	if err != nil {
		return nil, err
	}
	a := confirm.Answer(answer)
	switch {
	case a != confirm.Deny && !a.Yes():
		return nil, &Problem{http.StatusBadRequest, "answer", "an answer is once, trajectory, reads, changes, asks, trust: and the folder, or deny", "docs/api/openapi.json lists them"}
	case a == confirm.Trajectory && row.Grant == [32]byte{}:
		return nil, &Problem{http.StatusBadRequest, "not-grantable", "this call can't be allowed for the trajectory", "allow it once"}
	}
	by := "console"
	if name := access.From(ctx).Name(); name != "" {
		by += ": " + name
	}
	if err := c.cfg.Desk.Answer(ctx, row.ID, a, by); err != nil {
		if errors.Is(err, confirm.ErrFirst) {
			return nil, &Problem{http.StatusBadRequest, "not-first", err.Error(), "allow it once"}
		}
		if errors.Is(err, confirm.ErrFolder) {
			return nil, &Problem{http.StatusBadRequest, "not-offered", err.Error(), "allow it once"}
		}
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
	if q, err := c.cfg.Desk.Open(row); err == nil {
		word, _, _ := strings.Cut(string(a), ":") // without the folder that it trusts
		c.cfg.Answered(q, confirm.Answer(word), by)
	}
	c.live.Asked()
	q, err := c.questionOf(ctx, row)
	return &q, err
}

// Answering is the body of an answer.
type Answering struct {
	Answer string `json:"answer"` // once, trajectory or deny; where the question has first, also reads, changes or asks; where it has folder, also trust: and the folder
}

func (c *Console) answerJSON(r *http.Request) (any, error) {
	var in Answering
	if err := body(r, map[string]*string{"answer": &in.Answer}); err != nil {
		return nil, err
	}
	return c.answer(r.Context(), r.PathValue("id"), in.Answer)
}

func (c *Console) answerForm(w http.ResponseWriter, r *http.Request) error {
	_, err := c.answer(r.Context(), r.PathValue("id"), r.PostFormValue("answer"))
	if err == nil {
		http.Redirect(w, r, "/console/confirmations?all=1", http.StatusSeeOther)
	}
	return err
}
