// Package confirm asks a person about a tool call and waits for the answer,
// which may come from another process.
//
// A question is about one exact call, by its digest. With a yes, the user
// endorses what influenced the call, or declassifies its content (RTBAS; robust
// declassification). So the yes is not valid for another call: it is used once,
// and expires. A grant for the trajectory covers the calls that differ only in
// the free arguments. No answer denies.
//
// A front end that shows a question MUST quote and mark the tainted text in it.
// Questions are kept sealed, since arguments may hold private data.
package confirm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/taint/effect"
)

// Answer is a person's answer to a question.
type Answer string

// Answers. The empty one means that there is none yet.
const (
	Once       Answer = "once"       // this exact call, one time
	Trajectory Answer = "trajectory" // this and every later call of the trajectory with the same Grant, or of the same Kinds
	Deny       Answer = "deny"
)

// Answers to a question with a First: each is a yes, once, and says what the tool
// does from now on.
const (
	Reads   Answer = "reads"   // it only reads
	Changes Answer = "changes" // it also changes things, or tells somebody
	Asks    Answer = "asks"    // each call is asked about
)

// trusts begins an answer to a question with a Folder.
const trusts = "trust:"

// Trust allows the call once and trusts the folder that the question offers, from now
// on. It names the folder: a question that offers another one refuses it.
func Trust(folder string) Answer { return Answer(trusts + folder) }

// Yes reports whether an answer lets the call be made.
func (a Answer) Yes() bool {
	return slices.Contains([]Answer{Once, Trajectory, Reads, Changes, Asks}, a) || strings.HasPrefix(string(a), trusts)
}

// Errors of answering.
var (
	ErrAnswered = errors.New("the question was answered already")
	ErrExpired  = errors.New("the question has expired, which denied the call")
	ErrNotFound = errors.New("there is no such question")
	ErrFirst    = errors.New("only a question about a tool that nothing is known of can be answered so")
	ErrFolder   = errors.New("the question does not offer to trust this folder")
)

// Question is a call that a person is asked about.
type Question struct {
	ID         string            `json:"id"`
	Trajectory flow.TrajectoryID `json:"trajectory"`
	// Digest is the keyed digest of the exact call, and Grant that of the
	// call without its free arguments. With a zero Grant, no grant is possible.
	Digest [32]byte      `json:"-"`
	Grant  [32]byte      `json:"-"`
	Call   flow.ToolCall `json:"call"` // as it would be made
	Sink   string        `json:"sink"` // to whom
	// Label is the label of the call's basis, Needs the limit of its policy.
	Label string `json:"label"`
	Needs string `json:"needs"`
	// First, where not nil, is what the tool seems to do, of which nothing is known.
	First *First `json:"first,omitempty"`
	// Folder, where not empty, is a project that the call works in and that the user
	// does not trust: he may, with his answer.
	Folder string `json:"folder,omitempty"`
	// Deeds are what the call does, part by part, where that decides.
	Deeds []Deed `json:"deeds,omitempty"`
	// Faults are the regions that forced the question, the worst first.
	Faults []Fault `json:"faults"`
	// Values are those among the arguments that the user did not name, and where they
	// stand; none where the conversation is not seen.
	Values []Value `json:"values,omitempty"`
	// Flows are the categories of data that would flow.
	Flows []string `json:"flows,omitempty"`
	// Free names the arguments that a grant for the trajectory leaves open.
	Free []string `json:"free,omitempty"`
	// Kinds are what a grant for the trajectory covers, whichever calls do it: verbs
	// with what they are about; none: the call alone, but for Free.
	Kinds   []string  `json:"kinds,omitempty"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
}

// First is what a tool seems to do of which nothing is known.
type First struct {
	effect.Profile
	// Definition is a keyed hash of what the tool says of itself, where that is not
	// its server's to keep.
	Definition string `json:"definition,omitempty"`
}

// Deed is one thing that a call does.
type Deed struct {
	Effect string `json:"effect"`         // such as "reach"
	Part   string `json:"part,omitempty"` // of the call that does it; the model's words: show it quoted
	To     string `json:"to,omitempty"`   // where it goes; the model's words, too
	Why    string `json:"why"`            // what gives it the effect, and why that asks
}

// Value is a value of a call that the user did not name.
type Value struct {
	Name  string   `json:"name"`           // of the argument
	Value string   `json:"value"`          // with secrets masked; the model's or a stranger's words: show it quoted
	From  []string `json:"from,omitempty"` // whose words hold it, at most three; empty: nobody's
}

// Fault is a region that the call may depend on and must not.
type Fault struct {
	Source  string `json:"source"`          // the tool or person it comes from
	Field   string `json:"field,omitempty"` // where in it
	Label   string `json:"label"`
	Excerpt string `json:"excerpt"` // with its secrets masked; tainted: show it quoted
}

// Row is a question as it is kept.
type Row struct {
	ID         string
	Trajectory flow.TrajectoryID
	Digest     [32]byte
	Grant      [32]byte
	Sealed     []byte // the Question
	Asked      time.Time
	Expires    time.Time
	Answer     Answer
	By         string // how it was answered: "terminal", "elicitation", "hook", …
	Answered   time.Time
	Used       bool
}

// Refuses returns why an answer does not count at a time; nil where it does.
func (r *Row) Refuses(now time.Time) error {
	switch {
	case r.Answer != "":
		return ErrAnswered
	case !now.Before(r.Expires):
		return ErrExpired
	}
	return nil
}

// Store keeps questions and answers. All methods are safe for concurrent use.
type Store interface {
	// PutQuestion keeps a question. If there are many, it removes old ones.
	PutQuestion(ctx context.Context, r Row) error
	// Question returns one, or ErrNotFound.
	Question(ctx context.Context, id string) (Row, error)
	// Questions returns those that wait for an answer at a time, the oldest
	// first; with all, also answered and expired ones; at most the latest
	// limit.
	Questions(ctx context.Context, now time.Time, all bool, limit int) ([]Row, error)
	// AnswerQuestion answers a waiting question, or returns ErrAnswered,
	// ErrExpired or ErrNotFound. Only the first answer counts.
	AnswerQuestion(ctx context.Context, id string, a Answer, by string, now time.Time) error
	// UseAnswer uses a yes, once. It reports false if the yes was used before,
	// if there is none, and if it is for a call with another digest.
	UseAnswer(ctx context.Context, id string, digest [32]byte, now time.Time) (bool, error)
	// Grants returns the questions that were answered for their whole
	// trajectory, at most limit, the latest first.
	Grants(ctx context.Context, t flow.TrajectoryID, limit int) ([]Row, error)
}

// Sealer seals questions. *secret.Keys is one.
type Sealer interface {
	SealValue(value []byte, context string) ([]byte, error)
	OpenValue(sealed []byte, context string) ([]byte, error)
}

// Config is what a Desk needs.
type Config struct {
	Store  Store
	Sealer Sealer
	// Limit is how long a question waits for its answer; 2 minutes by default.
	Limit time.Duration
	// Poll is the interval at which the store is read for answers of other
	// processes; 250 milliseconds by default.
	Poll time.Duration
	// MaxOpen bounds the questions that wait at one time; 16 by default. Beyond
	// it calls are denied without a question, so that nobody is worn down.
	MaxOpen int
	// Say remembers what a person said that a tool does; nil: nothing is remembered,
	// and only a yes or a no can be answered.
	Say func(ctx context.Context, q *Question, p effect.Profile) error
	// Trust trusts the folder of a question from now on; nil: none is trusted so.
	Trust func(ctx context.Context, q *Question) error
	// Asked is called with every question unless it is nil. It must not block.
	Asked func(*Question)
	Now   func() time.Time
}

// Desk asks and waits. It is safe for concurrent use.
type Desk struct {
	cfg Config
	// waiting has the channels (chan struct{}) that wake callers of Wait, by question.
	waiting sync.Map
}

// New returns a desk.
func New(cfg Config) *Desk {
	cfg.Limit = cmp.Or(max(cfg.Limit, 0), 2*time.Minute)
	cfg.Poll = cmp.Or(max(cfg.Poll, 0), 250*time.Millisecond)
	cfg.MaxOpen = cmp.Or(max(cfg.MaxOpen, 0), 16)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Desk{cfg: cfg}
}

// ErrTooMany says that too many questions wait.
var ErrTooMany = errors.New("too many questions wait for an answer")

// Put publishes a question and sets its id and times. The caller then calls Wait,
// or asks by other means and calls Answer.
func (d *Desk) Put(ctx context.Context, q *Question) error {
	now := d.cfg.Now().UTC().Truncate(time.Millisecond)
	open, err := d.cfg.Store.Questions(ctx, now, false, d.cfg.MaxOpen+1)
	if err != nil {
		return err
	}
	if len(open) >= d.cfg.MaxOpen {
		return ErrTooMany
	}
	q.ID, q.Asked, q.Expires = flow.NewID(), now, now.Add(d.cfg.Limit)
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	sealed, err := d.cfg.Sealer.SealValue(text, sealContext(q.ID))
	if err != nil {
		return err
	}
	if err := d.cfg.Store.PutQuestion(ctx, Row{
		ID: q.ID, Trajectory: q.Trajectory, Digest: q.Digest, Grant: q.Grant, Sealed: sealed, Asked: q.Asked, Expires: q.Expires,
	}); err != nil {
		return err
	}
	if d.cfg.Asked != nil {
		d.cfg.Asked(q)
	}
	return nil
}

// Wait waits for the answer to a question, and uses it. It returns Deny if
// anything fails or no answer comes in time; the error says why.
func (d *Desk) Wait(ctx context.Context, q *Question) (Answer, error) {
	woken := make(chan struct{}, 1)
	d.waiting.Store(q.ID, woken)
	defer d.waiting.Delete(q.ID)
	tick := time.NewTicker(d.cfg.Poll)
	defer tick.Stop()
	for {
		row, err := d.cfg.Store.Question(ctx, q.ID)
		switch {
		case err != nil:
			return Deny, err
		case row.Answer == Once || row.Answer == Trajectory:
			ok, err := d.cfg.Store.UseAnswer(ctx, q.ID, q.Digest, d.cfg.Now())
			if err != nil || !ok {
				return Deny, err
			}
			return row.Answer, nil
		case row.Answer == Deny:
			return Deny, nil
		case !d.cfg.Now().Before(q.Expires):
			return Deny, ErrExpired
		}
		select {
		case <-ctx.Done():
			return Deny, ctx.Err()
		case <-woken:
		case <-tick.C:
		}
	}
}

// Answer answers a question.
func (d *Desk) Answer(ctx context.Context, id string, a Answer, by string) error {
	if a == Trajectory {
		row, err := d.cfg.Store.Question(ctx, id)
		if err != nil {
			return err
		}
		if row.Grant == [32]byte{} {
			return fmt.Errorf("question %s can't be granted for the whole trajectory", id)
		}
	}
	remember, err := d.remembers(ctx, id, a)
	if err != nil {
		return err
	}
	if remember != nil {
		a = Once
	}
	if err := d.cfg.Store.AnswerQuestion(ctx, id, a, by, d.cfg.Now()); err != nil {
		return err
	}
	if remember != nil { // what a person says counts only where his answer does
		if err := remember(); err != nil {
			return fmt.Errorf("the call is allowed once, and nothing is remembered: %w", err)
		}
	}
	if c, ok := d.waiting.Load(id); ok {
		select {
		case c.(chan struct{}) <- struct{}{}:
		default:
		}
	}
	return nil
}

// said are what answers say that a tool does, given what it seems to do. None makes its
// results the user's own records: the tool's word does not prove that.
var said = map[Answer]func(effect.Profile) effect.Profile{
	Reads: func(p effect.Profile) effect.Profile { return effect.Profile{Open: p.Open} },
	Changes: func(p effect.Profile) effect.Profile {
		if !p.Effect.Acts() {
			p.Effect = effect.Reach
		}
		return effect.Profile{Effect: p.Effect, Open: p.Open}
	},
	Asks: func(effect.Profile) effect.Profile { return effect.Profile{Ask: true} },
}

// remembers is what an answer to a waiting question makes remembered; nil for nothing.
func (d *Desk) remembers(ctx context.Context, id string, a Answer) (func() error, error) {
	says, first := said[a]
	folder, trusted := strings.CutPrefix(string(a), trusts)
	if !first && !trusted {
		return nil, nil //nolint:nilnil // it remembers nothing
	}
	row, err := d.cfg.Store.Question(ctx, id)
	if err == nil {
		err = row.Refuses(d.cfg.Now())
	}
	if err != nil {
		return nil, err
	}
	q, err := d.Open(&row)
	if err != nil {
		return nil, err
	}
	switch {
	case trusted && (folder == "" || folder != q.Folder || d.cfg.Trust == nil):
		return nil, ErrFolder
	case trusted:
		return func() error { return d.cfg.Trust(ctx, q) }, nil
	case q.First == nil || d.cfg.Say == nil:
		return nil, ErrFirst
	}
	return func() error { return d.cfg.Say(ctx, q, says(q.First.Profile)) }, nil
}

// maxGrants bounds the grants of one trajectory that count.
const maxGrants = 64

// Granted returns the questions that were answered for their whole trajectory.
func (d *Desk) Granted(ctx context.Context, t flow.TrajectoryID) ([]*Question, error) {
	rows, err := d.cfg.Store.Grants(ctx, t, maxGrants)
	if err != nil {
		return nil, err
	}
	var out []*Question
	for i := range rows {
		q, err := d.Open(&rows[i])
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

// Open opens the question of a row.
func (d *Desk) Open(r *Row) (*Question, error) {
	text, err := d.cfg.Sealer.OpenValue(r.Sealed, sealContext(r.ID))
	if err != nil {
		return nil, err
	}
	q := &Question{}
	if err := json.Unmarshal(text, q); err != nil {
		return nil, fmt.Errorf("question %s: %w", r.ID, err)
	}
	q.Digest, q.Grant = r.Digest, r.Grant
	return q, nil
}

// Rows returns questions as Store.Questions does.
func (d *Desk) Rows(ctx context.Context, all bool, limit int) ([]Row, error) {
	return d.cfg.Store.Questions(ctx, d.cfg.Now(), all, limit)
}

// Row returns one question as it is kept.
func (d *Desk) Row(ctx context.Context, id string) (Row, error) {
	return d.cfg.Store.Question(ctx, id)
}

func sealContext(id string) string { return "margay question v1/" + id }
