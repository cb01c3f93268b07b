// Package flow has the nouns for everything that crosses the boundary between
// an agent harness and the world outside it: trajectories, messages, regions,
// channels, sinks, calls, releases, and the decisions about them.
//
// The package holds no policy and does no input or output. All types are plain
// values; none is safe for concurrent mutation.
package flow

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/margaydev/margay/label"
)

// TrajectoryID names one trajectory: everything that one agent run reads and
// writes.
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

// Roles of the chat APIs. Unknown roles are kept unchanged.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Provenance is who produced a region, at which step, and from where.
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

// Channel is the kind of path that content takes across the boundary.
type Channel string

// Channels.
const (
	ChannelModel  Channel = "model"
	ChannelTool   Channel = "tool"
	ChannelMemory Channel = "memory"
	ChannelAgent  Channel = "agent"
	ChannelUser   Channel = "user"
)

// Trust is the class of a sink: who can read what it gets.
type Trust string

// Trust classes, from the closest to the farthest.
const (
	TrustLocal    Trust = "local"    // this machine, this user
	TrustOrg      Trust = "org"      // the user's own organisation
	TrustProvider Trust = "provider" // a contracted processor, such as a model endpoint
	TrustPublic   Trust = "public"   // anybody
)

// Sink is a place that content is released to.
type Sink struct {
	Name    string  `json:"name"` // an upstream's or a tool's configured name
	Channel Channel `json:"channel"`
	Trust   Trust   `json:"trust"`
}

// ToolCall is a complete call that a model proposes.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // as the model wrote them; JSON by convention
}

// Action is the treatment of one finding.
type Action string

// Actions, from the most open to the strictest.
const (
	ActAllow     Action = "allow"     // pass, unrecorded
	ActReport    Action = "report"    // pass, recorded
	ActPseudonym Action = "pseudonym" // replace by a stable typed name
	ActRedact    Action = "redact"    // replace by [REDACTED:kind]
	ActBlock     Action = "block"     // refuse the whole message or end the stream
)

// Outcome is the result of a decision.
type Outcome string

// Outcomes.
const (
	Allow   Outcome = "allow"
	Rewrite Outcome = "rewrite"
	Confirm Outcome = "confirm"
	Deny    Outcome = "deny"
)

// Reason explains a decision. It never holds a secret's value: Detail is made only
// from the names of rules, kinds and places.
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
	// Count is how many refusals alike the decision stands for; 0 for one.
	Count int `json:"count,omitempty"`
}

// N is how many decisions it counts as.
func (d *Decision) N() int { return max(d.Count, 1) }

// Why sums up, for a person, why a decision denies.
func (d *Decision) Why() string {
	const most = 3
	var out []string
	for _, r := range d.Reasons {
		if r.Action != ActReport && len(out) < most {
			out = append(out, r.Detail)
		}
	}
	return cmp.Or(strings.Join(out, "; "), "denied")
}

// Field names a kind of text-bearing place in a model API.
type Field uint8

// Fields. Other is any string that the API does not name as text; it is scanned
// too.
const (
	FieldOther Field = iota
	FieldContent
	FieldRefusal
	FieldReasoning
	FieldToolName
	FieldToolArguments
)

var fieldNames = [...]string{"other", "content", "refusal", "reasoning", "tool-name", "tool-arguments"}

// String returns the field's name in lower case.
func (f Field) String() string {
	if int(f) >= len(fieldNames) {
		f = FieldOther
	}
	return fieldNames[f]
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
	// Tokens are what the server reports about the tokens of Text: all of them,
	// in order, or none. Valid as long as Text.
	Tokens []Token
	// Telemetry is what a self-hosted server reports in addition, one entry a
	// token, unchanged (docs/format/telemetry.md); nil for none.
	Telemetry []byte
	// Copy: the event repeats the whole text, which ends with it. The copy
	// is edited as the text was.
	Copy bool
	// Fixed: the text is signed and can't be edited. Unless the action of a
	// finding in it is to report, the finding ends the answer.
	Fixed bool
}

// Outgoing is an event of a streamed answer on its way to the client.
type Outgoing struct {
	Raw, Data []byte // as received
	// Edit is nil if the event is emitted unchanged.
	Edit *Edit
	// Notices are texts of Margay's own that are emitted before the event.
	Notices []Notice
}

// Edit changes an event.
type Edit struct {
	// Text has new texts by the delta's place in the event.
	Text map[int][]byte
	// Call returns the new index of a tool call among the calls that are made,
	// or drop. Nil keeps all unchanged.
	Call func(choice, item int) (newIndex int, drop bool)
	// Finish returns the new finish reason. Nil keeps it.
	Finish func(choice int, reason string) string
}

// Notice is a text of Margay's own in place of a tool call that is not made.
type Notice struct {
	Choice int
	Item   int // the call's
	Text   string
	// Decision: the log has why; it must before the text goes out.
	Decision bool
}

// Token is one generated token as the server reports it.
type Token struct {
	Text    string
	Logprob float64       // of Text, natural logarithm; NaN if it is not reported
	Top     []Alternative // most probable first; empty if they are not reported
}

// Alternative is one entry of a token's distribution.
type Alternative struct {
	Text    string
	Logprob float64 // natural logarithm of the probability, <= 0
}

// NewID returns a fresh ULID. IDs made by one process sort by creation time. It
// is safe for concurrent use.
func NewID() string { return ulid.Make().String() }

// ErrTrajectoryID says that a trajectory id is not a ULID in canonical form.
var ErrTrajectoryID = errors.New("not a trajectory id: expected the 26 characters of a ULID")

// ParseTrajectoryID checks an id from outside. It accepts only the canonical
// upper-case form, so that one trajectory has one name.
func ParseTrajectoryID(s string) (TrajectoryID, error) {
	id, err := ulid.ParseStrict(s)
	if err != nil || id.String() != s {
		return "", ErrTrajectoryID
	}
	return TrajectoryID(s), nil
}

// Text is one text of a message, as a connector hands it to the mediator.
type Text struct {
	ID     int
	Text   string
	Field  Field
	Role   Role          // of the message it is in, if any
	Tool   string        // the tool whose call or result it is
	Path   func() string // where it is; called only for findings
	Fixed  bool          // it can't be edited, like an object's key
	Opaque string        // what it is, if it is not text
	JSON   bool          // a JSON value as it is written, and must stay one
	// Tokens are what the server reports about the tokens of an answer's text.
	Tokens    []Token
	Telemetry []byte
}
