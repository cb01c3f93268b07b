package mediator

import (
	"context"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

// TraceVersion is the version of Payload and Detail that this program writes.
const TraceVersion = 1

// Bounds of what one event holds.
const (
	maxTracePoints  = 4096     // of one text's tokens
	maxTraceText    = 64 << 10 // bytes of one text that are kept
	maxTraceAnswer  = 256 << 10
	maxTraceTexts   = 32
	maxTraceSpans   = 512
	maxTraceRegions = 256
)

// EventKind says what a TraceEvent is about.
type EventKind string

// Kinds of events.
const (
	EventDecision EventKind = "decision" // a verb was decided about
	EventAnswer   EventKind = "answer"   // a model's answer has ended
	EventStep     EventKind = "step"     // the labels of what the model is shown
	EventWithheld EventKind = "withheld" // a step is made from less than all of it
	EventUpstream EventKind = "upstream" // an upstream fails, or answers again
	EventQuestion EventKind = "question" // a person is asked, or has answered
	EventTokens   EventKind = "tokens"   // tokens of an answer under way; never stored
)

// TraceEvent is one thing that happened, for those who look on. It holds no
// value of a secret: what is told of a text is what is left after mediation,
// and there what was only reported is replaced, too.
type TraceEvent struct {
	// Seq is the place in the order of arrival, from 1; the store gives it.
	Seq        int64             `json:"seq"`
	ID         string            `json:"id"` // of a decision: the decision's
	Trajectory flow.TrajectoryID `json:"trajectory,omitempty"`
	At         time.Time         `json:"at"`
	Kind       EventKind         `json:"kind"`
	Verb       flow.Verb         `json:"verb,omitempty"`
	Sink       string            `json:"sink,omitempty"`
	Outcome    flow.Outcome      `json:"outcome,omitempty"`
	Payload    Payload           `json:"payload"`
	// Detail is what is long; nil where there is none, and in lists.
	Detail *Detail `json:"detail,omitempty"`
}

// Payload is what an event tells besides its columns. What belongs to other
// kinds is empty.
type Payload struct {
	Version  int            `json:"v"`
	Decision *LogEntry      `json:"decision,omitempty"`
	Size     *TraceSize     `json:"size,omitempty"`
	Answer   *AnswerTrace   `json:"answer,omitempty"`
	Step     *StepTrace     `json:"step,omitempty"`
	Withheld *WithheldTrace `json:"withheld,omitempty"`
	Upstream *UpstreamTrace `json:"upstream,omitempty"`
	Question *QuestionTrace `json:"question,omitempty"`
	Tokens   *ProgressTrace `json:"tokens,omitempty"`
}

// TraceSize is how much a decision was about.
type TraceSize struct {
	Texts int    `json:"texts"`
	Bytes int    `json:"bytes"`
	Tool  string `json:"tool,omitempty"` // whose message it is
}

// AnswerTrace is an answer of a model's that has ended.
type AnswerTrace struct {
	Texts []TextTrace `json:"texts,omitempty"`
	Calls []string    `json:"calls,omitempty"` // names of the tools that it calls
	// Halted: it was ended; Dropped: nobody saw it, the step was made again;
	// Broken: it ended before it was decided to its end.
	Halted  bool          `json:"halted,omitempty"`
	Dropped bool          `json:"dropped,omitempty"`
	Broken  bool          `json:"broken,omitempty"`
	Stream  bool          `json:"stream,omitempty"`
	Took    time.Duration `json:"took_ns,omitempty"`
}

// TextTrace is one text of an answer, by numbers.
type TextTrace struct {
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
	Texts   []TextDetail `json:"texts,omitempty"` // by the place of a TextTrace
}

// TextDetail is one text of an answer.
type TextDetail struct {
	// Text is the text after mediation; empty where texts are not kept. Cut
	// says that there was more.
	Text string `json:"text,omitempty"`
	Cut  bool   `json:"cut,omitempty"`
	// Spans are the places where it was edited, or would have been, and Held
	// what waited for more to come, each in order.
	Spans  []SpanTrace  `json:"spans,omitempty"`
	Held   []SpanTrace  `json:"held,omitempty"`
	Tokens *TokenSeries `json:"tokens,omitempty"`
}

// SpanTrace is a span of a text.
type SpanTrace struct {
	Start int64 `json:"start"` // in the bytes that the model wrote
	End   int64 `json:"end"`
	At    int   `json:"at"` // in TextDetail.Text
	To    int   `json:"to"`
	// Action is what was done: pseudonym, redact, block, mask; report where
	// the client got it as it was. Empty for what was held.
	Action string `json:"action,omitempty"`
	Kind   string `json:"kind,omitempty"`
}

// TokenSeries is what the risk model said about a text, in points. Risks and
// entropies are in thousandths.
type TokenSeries struct {
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

// ProgressTrace are the latest tokens of an answer under way.
type ProgressTrace struct {
	Answer string      `json:"answer"` // the id that the answer's event will have
	Text   int         `json:"text"`
	Field  string      `json:"field"`
	From   int         `json:"from"` // the first point's place
	Series TokenSeries `json:"series"`
}

// StepTrace is what a model is shown, by its labels.
type StepTrace struct {
	Context string `json:"context"` // the join of all
	// Messages is how many there are, and Regions those from message From on.
	Messages int           `json:"messages"`
	From     int           `json:"from"`
	Regions  []RegionTrace `json:"regions,omitempty"`
	Cut      bool          `json:"cut,omitempty"` // there are more
	Partial  bool          `json:"partial,omitempty"`
}

// RegionTrace is a part of a message with one label. It has no text of it.
type RegionTrace struct {
	Message int    `json:"message"`
	Role    string `json:"role,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Field   string `json:"field,omitempty"`
	Label   string `json:"label"`
	Bottom  bool   `json:"bottom,omitempty"` // trusted and public
	Bytes   int    `json:"bytes"`
}

// WithheldTrace is what a step is made without.
type WithheldTrace struct {
	Context  string `json:"context"`            // of what is shown instead
	Messages []int  `json:"messages,omitempty"` // replaced, in whole or in part
	Gone     []int  `json:"gone,omitempty"`     // left out
	Tools    int    `json:"tools,omitempty"`    // not offered
	Again    bool   `json:"again,omitempty"`    // the step is made a second time
}

// UpstreamTrace is the health of an upstream.
type UpstreamTrace struct {
	Name   string `json:"name"`
	Failed bool   `json:"failed"`
	Status int    `json:"status,omitempty"` // of HTTP; 0: it could not be reached
	Detail string `json:"detail,omitempty"`
}

// QuestionTrace is a question about a call.
type QuestionTrace struct {
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	Answer string `json:"answer,omitempty"` // empty: it was asked
	By     string `json:"by,omitempty"`
}

// EventQuery asks for events, in the order of their arrival.
type EventQuery struct {
	Trajectory flow.TrajectoryID // empty: of all
	After      int64             // behind this place; 0: from the first on
	Before     int64             // before this place; 0: up to the last
	Since      time.Time         // not before
	Until      time.Time         // before
	Kinds      []EventKind       // none: of all kinds
	Limit      int
	// Last asks for the latest ones that fit; they come in order all the same.
	Last bool
}

// TrajectorySummary is what is counted of a trajectory.
type TrajectorySummary struct {
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
	// of kind EventTokens are not kept.
	AppendEvents(ctx context.Context, events []TraceEvent) error
	// Events returns events without their details.
	Events(ctx context.Context, q EventQuery) ([]TraceEvent, error)
	// Event returns one with its detail, or secret.ErrNotFound.
	Event(ctx context.Context, seq int64) (TraceEvent, error)
	// LastEvent returns the place of the latest, 0 if there is none.
	LastEvent(ctx context.Context) (int64, error)
	// Trajectories returns up to limit of them, the one that something
	// happened in last first: those whose last event is before a place, where
	// it is not 0.
	Trajectories(ctx context.Context, before int64, limit int) ([]TrajectorySummary, error)
	// Trajectory returns one, or secret.ErrNotFound.
	Trajectory(ctx context.Context, id flow.TrajectoryID) (TrajectorySummary, error)
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

// Trace says what is told to those who look on.
type Trace struct {
	// Happened is told what sessions did. It must not block.
	Happened func(TraceEvent)
	// Texts: what answers say is told, too, after mediation.
	Texts bool
	// Live reports whether somebody looks on at the moment, so that tokens
	// are told as they come; nil: nobody ever does.
	Live func(flow.TrajectoryID) bool
}

// Counts is what an event adds to its trajectory's summary; the engines share
// it.
func (e *TraceEvent) Counts() (answers, findings, denied, asked, edited int) {
	if e.Kind == EventAnswer {
		answers = 1
	}
	if d := e.Payload.Decision; d != nil {
		findings = len(d.Findings)
	}
	switch {
	case e.Kind == EventQuestion && e.Payload.Question != nil && e.Payload.Question.Answer == "":
		asked = 1
	case e.Kind != EventDecision:
	case e.Outcome == flow.Deny:
		denied = 1
	case e.Outcome == flow.Rewrite:
		edited = 1
	}
	return answers, findings, denied, asked, edited
}
