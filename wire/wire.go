// Package wire is the codec of a model API as its users see it: the types
// that carry requests, answers and the events of streams to the code that
// decides about them, and edits back.
//
// A codec reads bytes and edits them surgically: it replaces JSON values and
// leaves every other byte alone. It holds no policy and opens no connection.
// Every string of a body is text unless the API gives it another meaning, so an
// unknown field is still mediated.
//
// Each API is one package below, with an API value and a table of its
// members. It builds on wire/body, which reads and edits bodies, and
// wire/events, which reads and edits events; connectortest checks the
// contract. To add an API, write such a package and name it in
// gateway/route.go.
package wire

import (
	"regexp"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
)

// Limits bound bodies and events.
type Limits = strictjson.Limits

// API is the codec of one model API. It is safe for concurrent use.
type API interface {
	// Shape describes the API's streams.
	Shape() Shape
	// ParseRequest reads the body of a request. Its errors are of type
	// *strictjson.Error.
	ParseRequest(body []byte, lim Limits) (Request, error)
	// ParseResponse reads a whole answer or the body of an error. Its errors
	// are of type *strictjson.Error.
	ParseResponse(body []byte, lim Limits) (Response, error)
	// NewStream returns a codec for one stream; Reset makes it ready.
	NewStream() Stream
	// ErrorBody returns a problem in the API's own shape.
	ErrorBody(p *Problem) []byte
}

// Shape describes the streams of an API.
type Shape struct {
	// Ends: the stream marks the end of each item (Chunk.Ended). Otherwise a
	// further tool call ends the one before it.
	Ends bool
	// Repeats: the stream repeats whole texts (flow.Delta.Copy).
	Repeats bool
}

// Problem is what a client gets instead of an answer.
type Problem struct {
	Status  int    // of HTTP; 0 in a stream
	Message string // for a person, without content
	Code    string // stable, kebab-case
}

// Part is a string of a body.
type Part struct {
	ID      int // stable within its document, from 0
	Message int // index of the message; -1 outside messages
	Choice  int // index of the choice; -1 outside choices
	Role    flow.Role
	Field   flow.Field
	Tool    string // the tool's name, where the part belongs to a call
	Key     bool   // an object's key; it is Fixed
	Fixed   bool   // it can't be edited: an edit of it denies the whole body
	Opaque  string // "image", "audio", "file", …: content that is not text; Text is empty
	Text    string // decoded
}

// Body is a document of strings.
type Body interface {
	// Parts returns the strings in order.
	Parts() []Part
	// Path returns where a part is, such as messages[3].content.
	Path(p *Part) string
	// Raw returns the body as it came.
	Raw() []byte
}

// Request is the body of a request.
type Request interface {
	Body
	// Rewrite returns the body with the texts of the given parts replaced;
	// with none it is the body itself.
	Rewrite(edits map[int]string) []byte
	// NumMessages is the number of messages of the conversation. MessageRaw
	// identifies one of them: the message as it came, without what the API
	// lets a client change from turn to turn. MessageRole is its author.
	// System text outside the messages counts as the first.
	NumMessages() int
	MessageRaw(i int) []byte
	MessageRole(i int) flow.Role
	// Model is the model that the client asks for.
	Model() string
	// Previous names the answer or the conversation that the request
	// continues, if the server keeps it; empty for none.
	Previous() string
	// Closed reports whether the members of the request are known to bring nothing
	// before the model but what its messages and tools say: no stored prompt, no
	// search, no container, no data of the server's. One that is not known is taken
	// to do so. What the messages themselves refer to is for Turns and Tools to say.
	Closed() bool
	// Turns returns the conversation in order, and Tools the tools that the
	// model is offered. Some of both can be withheld from the model when a
	// step is generated again (RTBAS, algorithm 4).
	Turns() []flow.Turn
	Tools() []flow.OfferedTool
	// Withhold returns the body of a request for the same step in which the
	// model sees less: as little as the API's shape allows. It asks for one
	// answer, as little at random as the API allows.
	Withhold(w *flow.Withheld) []byte
	// Refused returns a body of the request, as it was sent, that continues
	// with an answer none of whose calls was made: its texts, its calls, and
	// what the model reads instead of results. Nil means that the request
	// can't continue like that.
	Refused(body []byte, texts []string, calls []flow.RefusedCall) []byte
	// AskLogprobs returns a body of the request, edited or not, that asks for
	// the distributions of tokens. It reports false if the request itself says
	// whether it wants them, or cannot have them.
	AskLogprobs(body []byte) ([]byte, bool)
	// Settle returns a body of the request, edited or not, with results for
	// calls of the answer that it continues.
	Settle(body []byte, calls []Owed) []byte
}

// Call is a tool call that a whole answer proposes.
type Call struct {
	Name      string
	Arguments int // ID of the part that has them; -1 for none
}

// Response is a whole answer, or an error's body.
type Response interface {
	Body
	// Names are the identifiers that the server gave. They are not prose and
	// can't be edited.
	Names() []string
	// ID is what a later request names in Previous; empty for nothing.
	ID() string
	// Calls are the tool calls.
	Calls() []Call
	// Tokens returns what the server reports about the tokens of a part, and
	// its telemetry; nil for nothing.
	Tokens(p *Part) (tokens []flow.Token, telemetry []byte)
	// Logprobs reports whether there are logprobs. DropLogprobs takes them
	// out of what Rewrite returns.
	Logprobs() bool
	DropLogprobs()
	// Rewrite returns the answer with texts replaced and calls taken out:
	// those of refused, by their place in Calls, with what the message says
	// instead. With neither it is the body itself.
	Rewrite(edits, refused map[int]string) []byte
	// Halted returns what the client gets instead of an answer that may not
	// be released: an answer without any of its content that says why, and
	// ends as a content filter ends one. It reports false if the API has no
	// such answer, or the response does not come from a model. The model is
	// the one that the client asked for.
	Halted(model, why string) ([]byte, bool)
}

// Owed is a tool call that was taken out of an answer that the server keeps: a
// request that continues the answer must have a result for it.
type Owed struct {
	Kind string // of the call, in the API's words
	ID   string // the call's
	Text string // what stands instead of the call
}

// Owing is a Response or a Stream of an API whose server keeps answers.
type Owing interface {
	// Owed returns the calls that Rewrite or Append last took out, and the
	// names (Request.Previous) by which requests continue the answer. A Shared
	// name finds all calls ever taken out of its conversation, so that a
	// result is owed once.
	Owed() (names []Name, calls []Owed)
}

// Name is a name by which requests continue an answer.
type Name struct {
	Text   string
	Shared bool // it is the conversation's
}

// Stream is the codec of one streamed answer. It reuses its memory and is not
// safe for concurrent use. Events are parsed as they arrive and appended as
// they go out, later and in the same order.
type Stream interface {
	// Reset makes the codec ready for another stream. With tokens, deltas have
	// what the server reports about their tokens.
	Reset(lim Limits, tokens bool)
	// Parse reads an event that has data. What it returns is valid until
	// the next call and may point into the event. Its errors are of type
	// *strictjson.Error.
	Parse(ev *sse.Event) (*Chunk, error)
	// Strip returns an event without logprobs or without telemetry.
	Strip(ev *sse.Event, logprobs, telemetry bool) (*sse.Event, error)
	// Append appends an event as it is released: the texts of Margay's own
	// before it, and the event with its edit. With neither, and nothing before
	// it that shifted its place, the event is unchanged. An error means that
	// the edit could not be made: nothing more of the stream may be released.
	Append(dst []byte, ev *flow.Outgoing) ([]byte, error)
	// Open reports whether an answer has started and not ended.
	Open() bool
	// Halt appends what ends the client's stream when no more of the answer
	// may be released: in the API's own terms, as a content filter does.
	Halt(dst []byte) []byte
	// Fail appends what ends the client's stream with an error.
	Fail(dst []byte, p *Problem) []byte
}

// Chunk is the content of one event of a stream.
type Chunk struct {
	Done   bool // the answer is complete with this event
	Error  bool // an error in mid-stream
	Deltas []flow.Delta
	// Names are the identifiers that the server gives: of the answer, the
	// model, its build and the tool calls, and its random padding. They are
	// not prose and can't be edited.
	Names    [][]byte
	Finished []Finished
	// Ended are the items all of whose texts end with the event.
	Ended   []flow.Item
	Choices []int // indexes of the choices that the chunk is about
	Usage   bool
	// ID is what a later request names in Previous; nil for nothing.
	ID []byte
	// Stray: there are logprobs that do not repeat the text of the chunk. No
	// scan covers them, so they must be stripped.
	Stray bool
	// Logprobs: there are logprobs.
	Logprobs bool
	// Typed: the event's type (sse.Event.Type) is one of the API's own, and
	// the same as that of its data.
	Typed bool
	// Telemetry: the event has the telemetry extension. The server means it
	// for Margay, so it must be stripped.
	Telemetry bool
}

// Finished is a choice that has ended.
type Finished struct {
	Choice int
	Reason string
}

// Tags reads a JSON object in which clients name their sessions and turns, and
// returns the texts to scan: each value with its name, since the name may show
// that the value is a credential. A UUID comes without its name: a session_id
// that is a UUID is not a credential. It reports false for other texts.
func Tags(text []byte) ([]string, bool) {
	var d strictjson.Doc
	if len(text) < 2 || text[0] != '{' || d.Parse(text, Limits{MaxDepth: 4}) != nil {
		return nil, false
	}
	var out []string
	for i := range d.Nodes {
		n := &d.Nodes[i]
		key := d.Key(i)
		switch {
		case n.Kind == strictjson.String && uuid.Match(d.Bytes(i)):
			out = append(out, key, d.Text(i))
		case n.Kind == strictjson.Object || n.Kind == strictjson.Array:
			out = append(out, key)
		case n.Kind == strictjson.String:
			out = append(out, key+": "+d.Text(i))
		default:
			out = append(out, key+": "+string(d.Value(i)))
		}
	}
	return out, true
}

// uuid is a UUID in its usual form.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
