package audit

import (
	"context"
	"encoding/json"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

// Version is the version of Payload and Detail that this program writes.
const Version = 1

// Bounds of what one event holds.
const (
	maxPoints = 4096     // of one text's tokens
	maxText   = 64 << 10 // bytes of one text that are kept
	maxAnswer = 256 << 10
	maxTexts  = 32
	maxSpans  = 512
	// MaxRegions bounds the regions of one step.
	MaxRegions = 256
)

// Kind says what an Event is about.
type Kind string

// Kinds of events.
const (
	KindDecision Kind = "decision" // a verb was decided about
	KindAnswer   Kind = "answer"   // a model's answer has ended
	KindStep     Kind = "step"     // the labels of what the model is shown
	KindWithheld Kind = "withheld" // a step is made from less than all of it
	KindUpstream Kind = "upstream" // an upstream fails, or answers again
	KindQuestion Kind = "question" // a person is asked, or has answered
	KindTokens   Kind = "tokens"   // tokens of an answer under way; never stored
)

// Event is one thing that happened, for observers. It holds no value of a
// secret: it shows a text as it is after mediation,
// and there what was only reported is replaced, too.
type Event struct {
	// Seq is the place in the order of arrival, from 1; the store gives it.
	Seq        int64             `json:"seq"`
	ID         string            `json:"id"` // of a decision: the decision's
	Trajectory flow.TrajectoryID `json:"trajectory,omitempty"`
	At         time.Time         `json:"at"`
	Kind       Kind              `json:"kind"`
	Verb       flow.Verb         `json:"verb,omitempty"`
	Sink       string            `json:"sink,omitempty"`
	Outcome    flow.Outcome      `json:"outcome,omitempty"`
	Payload    Payload           `json:"payload"`
	// Detail is what is long; nil where there is none, and in lists.
	Detail *Detail `json:"detail,omitempty"`
}

// Payload is what an event has besides its columns. What belongs to other kinds
// is empty.
type Payload struct {
	Version  int       `json:"v"`
	Decision *Entry    `json:"decision,omitempty"`
	Size     *Size     `json:"size,omitempty"`
	Answer   *Answer   `json:"answer,omitempty"`
	Step     *Step     `json:"step,omitempty"`
	Withheld *Withheld `json:"withheld,omitempty"`
	Upstream *Upstream `json:"upstream,omitempty"`
	Question *Question `json:"question,omitempty"`
	Tokens   *Progress `json:"tokens,omitempty"`
}

// Size is how much a decision was about.
type Size struct {
	Texts int    `json:"texts"`
	Bytes int    `json:"bytes"`
	Tool  string `json:"tool,omitempty"` // whose message it is
}

// Answer is an answer of a model's that has ended.
type Answer struct {
	Texts []Text   `json:"texts,omitempty"`
	Calls []string `json:"calls,omitempty"` // names of the tools that it calls
	// Halted: it was ended; Dropped: nobody saw it, the step was made again;
	// Broken: it ended before it was decided to its end.
	Halted  bool          `json:"halted,omitempty"`
	Dropped bool          `json:"dropped,omitempty"`
	Broken  bool          `json:"broken,omitempty"`
	Stream  bool          `json:"stream,omitempty"`
	Took    time.Duration `json:"took_ns,omitempty"`
}

// Text is one text of an answer, by numbers.
type Text struct {
	Choice int    `json:"choice"`
	Item   int    `json:"item,omitempty"`
	Field  string `json:"field"`
	Tool   string `json:"tool,omitempty"` // whose arguments they are
	Bytes  int64  `json:"bytes"`          // that the model wrote
	Tokens int    `json:"tokens,omitempty"`
	Yellow int    `json:"yellow,omitempty"` // tokens in that zone
	Red    int    `json:"red,omitempty"`
	Risk   int    `json:"risk,omitempty"` // the greatest, in thousandths
	Held   int64  `json:"held,omitempty"` // most bytes that waited at one time
	Edits  int    `json:"edits,omitempty"`
}

// Detail is what is long of an answer.
type Detail struct {
	Version int          `json:"v"`
	Texts   []TextDetail `json:"texts,omitempty"` // by the place of a Text
}

// TextDetail is one text of an answer.
type TextDetail struct {
	// Text is the text after mediation; empty where texts are not kept. Cut
	// says that there was more.
	Text string `json:"text,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
	// Spans are the places where it was edited, or would have been, and Held
	// what waited for more to come, each in order.
	Spans  []Span  `json:"spans,omitempty"`
	Held   []Span  `json:"held,omitempty"`
	Tokens *Series `json:"tokens,omitempty"`
}

// Span is a span of a text.
type Span struct {
	Start int64 `json:"start"` // in the bytes that the model wrote
	End   int64 `json:"end"`
	At    int   `json:"at"` // in TextDetail.Text
	To    int   `json:"to"`
	// Action is what was done: pseudonym, redact, block, mask; report where
	// the client got it as it was. Empty for what was held.
	Action string `json:"action,omitempty"`
	Kind   string `json:"kind,omitempty"`
}

// Series is what the risk model said about a text, in points. Risks and
// entropies are in thousandths.
type Series struct {
	N     int `json:"n"`     // tokens
	Every int `json:"every"` // tokens that one point stands for: the worst of them
	// Risk, and Zone with one letter each: g, y, r.
	Risk []int  `json:"risk"`
	Zone string `json:"zone"`
	// Least and Most bound the normalised entropy; -1 where it is not known.
	Least []int `json:"least"`
	Most  []int `json:"most"`
	Ends  []int `json:"ends"` // where the points end, in the bytes of the text
	// Yellow and Red are the risks from which a token is in these zones.
	Yellow int `json:"yellow"`
	Red    int `json:"red"`
	// Vocabulary is what entropies are normalised by.
	Vocabulary int `json:"vocabulary"`
}

// Progress are the latest tokens of an answer under way.
type Progress struct {
	Answer string `json:"answer"` // the id that the answer's event will have
	Text   int    `json:"text"`
	Field  string `json:"field"`
	From   int    `json:"from"` // the first point's place
	Series Series `json:"series"`
}

// Step is what a model is shown, by its labels.
type Step struct {
	Context string `json:"context"` // the join of all
	// Messages is how many there are, and Regions those from message From on.
	Messages int      `json:"messages"`
	From     int      `json:"from"`
	Regions  []Region `json:"regions,omitempty"`
	Cut      bool     `json:"cut,omitempty"` // there are more
	Partial  bool     `json:"partial,omitempty"`
}

// Region is a part of a message with one label. It has no text of it.
type Region struct {
	Message int    `json:"message"`
	Role    string `json:"role,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Field   string `json:"field,omitempty"`
	Label   string `json:"label"`
	Bottom  bool   `json:"bottom,omitempty"` // trusted and public
	Bytes   int    `json:"bytes"`
}

// Withheld is what a step is made without.
type Withheld struct {
	Context  string `json:"context"`            // of what is shown instead
	Messages []int  `json:"messages,omitempty"` // replaced, in whole or in part
	Gone     []int  `json:"gone,omitempty"`     // left out
	Tools    int    `json:"tools,omitempty"`    // not offered
	Again    bool   `json:"again,omitempty"`    // the step is made a second time
}

// Upstream is the health of an upstream.
type Upstream struct {
	Name   string `json:"name"`
	Failed bool   `json:"failed"`
	Status int    `json:"status,omitempty"` // of HTTP; 0: it could not be reached
	Detail string `json:"detail,omitempty"`
}

// Question is a question about a call.
type Question struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Answer string `json:"answer,omitempty"` // empty: it was asked
	By     string `json:"by,omitempty"`
}

// Query asks for events, in the order of their arrival.
type Query struct {
	Trajectory flow.TrajectoryID // empty: of all
	After      int64             // behind this place; 0: from the first on
	Before     int64             // before this place; 0: up to the last
	Since      time.Time         // not before
	Until      time.Time         // before
	Kinds      []Kind            // none: of all kinds
	Limit      int
	// Last asks for the latest ones that fit; they come in order all the same.
	Last bool
}

// Summary is what is counted of a trajectory.
type Summary struct {
	ID       flow.TrajectoryID `json:"id"`
	First    time.Time         `json:"first"`
	Last     time.Time         `json:"last"`
	LastSeq  int64             `json:"last_seq"`
	Events   int               `json:"events"`
	Answers  int               `json:"answers"`
	Findings int               `json:"findings"`
	Denied   int               `json:"denied"`
	Asked    int               `json:"asked"`
	Edited   int               `json:"edited"` // decisions to rewrite
	Sink     string            `json:"sink"`   // of the last event
}

// Tally is how many decisions of one verb came out alike in one minute.
type Tally struct {
	Minute  time.Time    `json:"minute"`
	Verb    flow.Verb    `json:"verb"`
	Outcome flow.Outcome `json:"outcome"`
	N       int          `json:"n"`
}

// Events keeps what happened, as much as its bounds admit: the oldest goes
// first. All methods are safe for concurrent use.
type Events interface {
	// AppendEvents adds events, all or none, and gives them their Seq. Those
	// of kind KindTokens are not kept.
	AppendEvents(ctx context.Context, events []Event) error
	// Events returns events without their details.
	Events(ctx context.Context, q Query) ([]Event, error)
	// Event returns one with its detail, or secret.ErrNotFound.
	Event(ctx context.Context, seq int64) (Event, error)
	// LastEvent returns the place of the latest, 0 if there is none.
	LastEvent(ctx context.Context) (int64, error)
	// Trajectories returns up to limit of them, the one that something
	// happened in last first: those whose last event is before a place, where
	// it is not 0.
	Trajectories(ctx context.Context, before int64, limit int) ([]Summary, error)
	// Trajectory returns one, or secret.ErrNotFound.
	Trajectory(ctx context.Context, id flow.TrajectoryID) (Summary, error)
	// Tallies returns the counts of decisions of the minutes in [from, to),
	// in order. They are kept for TallyDays.
	Tallies(ctx context.Context, from, to time.Time) ([]Tally, error)
	// Hits returns how often values were found, of those with the given
	// fingerprints that were. They outlast the events that found them.
	Hits(ctx context.Context, of []secret.Fingerprint) (map[secret.Fingerprint]Hit, error)
}

// Hit is how often a value was found.
type Hit struct {
	N    int       `json:"n"`
	Last time.Time `json:"last"`
	Seq  int64     `json:"seq"` // of the last event that found it
}

// MaxHits bounds the values whose hits are counted. Those found longest ago
// are forgotten first.
const MaxHits = 100_000

// TallyDays is how many days tallies are kept.
const TallyDays = 8

// Trace says what observers get.
type Trace struct {
	// Happened gets what sessions did. It must not block.
	Happened func(Event)
	// Texts: observers also get the texts of answers, after mediation.
	Texts bool
	// Live reports whether somebody observes at the moment, so that tokens
	// are reported as they come; nil: nobody ever does.
	Live func(flow.TrajectoryID) bool
}

// Encoded returns the payload and the detail as stores keep them. The detail is
// nil where there is none.
func (e *Event) Encoded() (payload, detail []byte, err error) {
	if payload, err = json.Marshal(&e.Payload); err == nil && e.Detail != nil {
		detail, err = json.Marshal(e.Detail)
	}
	return payload, detail, err
}

// Add counts an event that a store has given its place. Those of one
// trajectory are added in order.
func (s *Summary) Add(e *Event) {
	if s.Events == 0 {
		s.ID, s.First = e.Trajectory, e.At
	}
	s.Last, s.LastSeq, s.Events = e.At, e.Seq, s.Events+1
	if e.Sink != "" {
		s.Sink = e.Sink
	}
	if d := e.Payload.Decision; d != nil {
		s.Findings += len(d.Findings)
	}
	switch {
	case e.Kind == KindAnswer:
		s.Answers++
	case e.Kind == KindQuestion && e.Payload.Question != nil && e.Payload.Question.Answer == "":
		s.Asked++
	case e.Kind != KindDecision:
	case e.Outcome == flow.Deny:
		s.Denied++
	case e.Outcome == flow.Rewrite:
		s.Edited++
	}
}

// Tally returns where an event is counted; false for one that is not about a
// decision.
func (e *Event) Tally() (Tally, bool) {
	return Tally{Minute: e.At.Truncate(time.Minute), Verb: e.Verb, Outcome: e.Outcome}, e.Kind == KindDecision
}
