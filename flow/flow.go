// Package flow has the nouns of everything that crosses the boundary between
// an agent harness and the world outside it: trajectories, messages, regions,
// channels, sinks, calls, releases, and the decisions about them.
//
// The package holds no policy and does no input or output. All types are plain
// values; none is safe for concurrent mutation.
package flow

import (
	"time"

	"github.com/margaydev/margay/label"
)

// TrajectoryID names one trajectory: all that one agent run says and reads.
// It is a ULID in its canonical 26-character form.
type TrajectoryID string

// Verb is one of the six boundary verbs of a mediator session.
type Verb string

// The six verbs.
const (
	Prompt   Verb = "prompt"   // harness → model
	Generate Verb = "generate" // model → harness
	Call     Verb = "call"     // harness → tool
	Observe  Verb = "observe"  // tool → model
	Remember Verb = "remember" // → persistent memory
	Tell     Verb = "tell"     // → user
)

// Role is the author of a message in the conversation's own terms.
type Role string

// Roles of the chat APIs. Unknown roles are kept as they come.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Provenance says who produced a region, at which step, from where.
type Provenance struct {
	Role  Role   `json:"role,omitempty"`
	Step  int    `json:"step"`            // index of the message in its conversation
	Tool  string `json:"tool,omitempty"`  // the tool whose result it is
	Field string `json:"field,omitempty"` // JSON path inside the message
}

// Region is a part of a message with one label. Regions of a message do not
// overlap.
type Region struct {
	Start, End int // byte offsets into the message's text
	Label      label.Label
	From       Provenance
}

// Message is one turn of a conversation, cut into regions.
type Message struct {
	Role    Role
	Text    string
	Regions []Region
}

// Channel is the kind of path that content takes over the boundary.
type Channel string

// Channels.
const (
	ChannelModel  Channel = "model"
	ChannelTool   Channel = "tool"
	ChannelMemory Channel = "memory"
	ChannelAgent  Channel = "agent"
	ChannelUser   Channel = "user"
)

// Trust is the class of a sink: who listens at its far end.
type Trust string

// Trust classes, from the closest to the farthest.
const (
	TrustLocal    Trust = "local"    // this machine, this user
	TrustOrg      Trust = "org"      // the user's own organisation
	TrustProvider Trust = "provider" // a contracted processor, such as a model endpoint
	TrustPublic   Trust = "public"   // anybody
)

// Sink is a place where content leaves to.
type Sink struct {
	Name    string  `json:"name"` // an upstream's or a tool's configured name
	Channel Channel `json:"channel"`
	Trust   Trust   `json:"trust"`
}

// ToolCall is a call that a model proposes, complete.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // as the model wrote them; JSON by convention
}

// Release is content that was let out to a sink.
type Release struct {
	ID         string
	Trajectory TrajectoryID
	Sink       Sink
	Digest     [32]byte // keyed hash of the released bytes
	At         time.Time
}

// Action is what is done with one finding.
type Action string

// Actions, from the most open to the strictest.
const (
	ActAllow     Action = "allow"     // pass, unrecorded
	ActReport    Action = "report"    // pass, recorded
	ActPseudonym Action = "pseudonym" // replace by a stable typed name
	ActRedact    Action = "redact"    // replace by [REDACTED:kind]
	ActBlock     Action = "block"     // refuse the whole message or end the stream
)

// Outcome is what a decision comes to.
type Outcome string

// Outcomes.
const (
	Allow   Outcome = "allow"
	Rewrite Outcome = "rewrite"
	Confirm Outcome = "confirm"
	Deny    Outcome = "deny"
)

// Reason says why a decision came out as it did. It never holds a secret's
// value: Detail is written from rule names, kinds and places alone.
type Reason struct {
	Code    string `json:"code"`              // stable, kebab-case: "secret-found", "strict-json", …
	Detail  string `json:"detail"`            // one line for a person
	Finding string `json:"finding,omitempty"` // id of the finding behind it
	Action  Action `json:"action,omitempty"`
}

// Decision is the mediator's one answer to a verb. A denial is a value with
// reasons, not an error.
type Decision struct {
	ID         string       `json:"id"` // ULID; shared by log, CLI, console and client error
	Trajectory TrajectoryID `json:"trajectory"`
	Verb       Verb         `json:"verb"`
	Sink       Sink         `json:"sink"`
	Outcome    Outcome      `json:"outcome"`
	Reasons    []Reason     `json:"reasons,omitempty"`
	At         time.Time    `json:"at"`
}

// Field names a kind of text-bearing place in a model API.
type Field uint8

// Fields. Other is any string the API does not name as text; it is scanned
// all the same.
const (
	FieldOther Field = iota
	FieldContent
	FieldRefusal
	FieldReasoning
	FieldToolName
	FieldToolArguments
)

// String returns the field's name in lower case.
func (f Field) String() string {
	switch f {
	case FieldContent:
		return "content"
	case FieldRefusal:
		return "refusal"
	case FieldReasoning:
		return "reasoning"
	case FieldToolName:
		return "tool-name"
	case FieldToolArguments:
		return "tool-arguments"
	default:
		return "other"
	}
}

// StreamKey names one continuous text inside a streamed answer. Deltas with
// the same key are one text; texts with different keys are never joined.
type StreamKey struct {
	Choice int
	Field  Field
	// Item is the tool call's index, -1 for the legacy function_call, and 0
	// for other texts where the API has no items; where it has, the index of
	// the content block or output item.
	Item int
	// Path tells texts of an item apart that have one field; for FieldOther
	// it is the JSON path below the choice or the document.
	Path string
}

// Item is one content block, output item or tool call of a streamed answer.
type Item struct{ Choice, Item int }

// Delta is a piece of one text, as one event carries it.
type Delta struct {
	Key  StreamKey
	Text []byte // decoded; valid until the event is released
	// Tokens are what the server tells about the tokens that Text is made of:
	// all of them, in order, or none. Valid as long as Text.
	Tokens []Token
	// Telemetry is what a self-hosted server tells besides, one entry a
	// token, as it came (docs/format/telemetry.md); nil for nothing.
	Telemetry []byte
	// Copy: the event repeats the whole text, which ends with it. The copy
	// is edited as the text was.
	Copy bool
	// Fixed: the text can't be edited, as it is signed: a finding in it
	// that is not only reported ends the answer.
	Fixed bool
}

// Outgoing is an event of a streamed answer on its way to the client.
type Outgoing struct {
	Raw, Data []byte // as it came
	// Edit is nil where the event goes out as it came.
	Edit *Edit
	// Say are texts of Margay's own that go out before the event.
	Say []Say
}

// Edit says what changes in an event.
type Edit struct {
	// Text has new texts by the delta's place in the event.
	Text map[int][]byte
	// Call says what becomes of a tool call: its new index among the calls
	// that are made, or drop. Nil keeps all as they are.
	Call func(choice, item int) (newIndex int, drop bool)
	// Finish says what a reason to finish becomes. Nil keeps it.
	Finish func(choice int, reason string) string
}

// Say is a text of Margay's own that stands for a tool call that is not made.
type Say struct {
	Choice int
	Item   int // the call's
	Text   string
}

// Token is one generated token as the server tells it.
type Token struct {
	Text    string
	Logprob float64       // of Text, natural logarithm; NaN where it does not tell
	Top     []Alternative // most probable first; empty where it does not tell
}

// Alternative is one entry of a token's distribution.
type Alternative struct {
	Text    string
	Logprob float64 // natural logarithm of the probability, <= 0
}
