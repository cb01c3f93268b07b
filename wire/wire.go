// Package wire has what the codecs of model APIs have in common: the types in
// which requests, answers and the events of streams are told to whoever decides
// about them, and in which edits come back.
//
// A codec reads bytes and edits them surgically: it replaces string literals
// and leaves every other byte alone. It holds no policy and opens no
// connection. Every string of a body is text unless the API gives it another
// meaning, so that a field that the codec has not heard of is still looked at.
//
// Each API is one package below, with an API value; connectortest holds it to
// the contract.
package wire

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/internal/strictjson"
)

// Limits bound bodies and events.
type Limits = strictjson.Limits

// API is the codec of one model API. It is safe for concurrent use.
type API interface {
	// Name is the API's name in messages and in configuration, such as
	// "openai-chat".
	Name() string
	// Shape says how the API's streams are made.
	Shape() Shape
	// ParseRequest reads the body of a request. Its errors are of type
	// *strictjson.Error, or *Unsupported for what the API has and Margay
	// can't mediate.
	ParseRequest(body []byte, lim Limits) (Request, error)
	// ParseResponse reads a whole answer or an error's body. Its errors are
	// of type *strictjson.Error.
	ParseResponse(body []byte, lim Limits) (Response, error)
	// NewStream returns a codec for one stream; Reset makes it ready.
	NewStream() Stream
	// ErrorBody returns a problem in the API's own shape.
	ErrorBody(p *Problem) []byte
}

// Shape says how the streams of an API are made.
type Shape struct {
	// Ends: the stream tells the end of each item (Chunk.Ended). Else a
	// further tool call ends the one before it.
	Ends bool
	// Repeats: the stream repeats whole texts (flow.Delta.Copy).
	Repeats bool
}

// Problem is what a client is told where there is no answer.
type Problem struct {
	Status  int    // of HTTP; 0 in a stream
	Message string // for a person, without content
	Code    string // stable, kebab-case
}

// Unsupported is a request that can't be mediated.
type Unsupported struct {
	Code, Detail string // Detail says what to do instead
}

// Error returns what is not supported and what to do.
func (u *Unsupported) Error() string { return u.Detail }

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
	Opaque  string // "image", "audio", "file", …: content that is no text; Text is empty
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
	// NumMessages is the number of messages of the conversation, MessageRaw
	// what tells one of them from others (it as it came, without what the
	// API lets a client change from turn to turn), MessageRole whose it is.
	// System text outside the messages counts as the first.
	NumMessages() int
	MessageRaw(i int) []byte
	MessageRole(i int) flow.Role
	// Model is the model asked for.
	Model() string
	// Previous names the answer or the conversation that the request goes on
	// with, where the server keeps it; empty for none.
	Previous() string
}

// LogprobAsker is a Request that can ask for the distributions of tokens.
type LogprobAsker interface {
	// AskLogprobs returns a body of the request, edited or not, that asks
	// for them. It reports false where the request says itself whether it
	// wants them, or cannot have them.
	AskLogprobs(body []byte) ([]byte, bool)
}

// Call is a tool call that a whole answer proposes.
type Call struct {
	Name      string
	Arguments int // ID of the part that has them; -1 for none
}

// Response is a whole answer, or an error's body.
type Response interface {
	Body
	// Names are the identifiers that the server gave: no prose, without a
	// place for an edit.
	Names() []string
	// ID is what a later request names in Previous; empty for nothing.
	ID() string
	// Calls are the tool calls.
	Calls() []Call
	// Tokens returns what the server tells about the tokens of a part, and
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
}

// Halter is a Response that the API has words for where it may not go out.
type Halter interface {
	// Halted returns what the client gets instead: an answer without any of
	// its content that says why, and ends as a content filter ends one. It
	// reports false where the response is no answer of a model. The model is
	// the one that was asked for.
	Halted(model, why string) ([]byte, bool)
}

// Owed is a tool call that was taken out of an answer that the server keeps: a
// request that goes on with the answer must have a result for it.
type Owed struct {
	Kind string // of the call, in the API's words
	ID   string // the call's
	Text string // what was said instead
}

// Owing is a Response or a Stream of an API whose server keeps answers.
type Owing interface {
	// Owed returns the calls that were taken out, in what Rewrite or Append
	// last returned, and by which names (Request.Previous) requests go on
	// with the answer. Those of one that is Shared find all that was ever
	// said in it, so that a result is owed once.
	Owed() (names []Name, calls []Owed)
}

// Name is a name by which requests go on with an answer.
type Name struct {
	Text   string
	Shared bool // it is that of the conversation
}

// Settler is a Request that goes on with an answer that the server keeps.
type Settler interface {
	// Settle returns a body of the request, edited or not, with results for
	// calls.
	Settle(body []byte, calls []Owed) []byte
}

// Stream is the codec of one streamed answer. It reuses its memory and is not
// safe for concurrent use. Events are parsed as they arrive and appended as
// they go out, later and in the same order.
type Stream interface {
	// Reset makes the codec ready for another stream. With tokens, deltas
	// tell what the server says about their tokens.
	Reset(lim Limits, tokens bool)
	// Parse reads an event that has data. What it returns is valid until
	// the next call and may point into the event. Its errors are of type
	// *strictjson.Error.
	Parse(ev *sse.Event) (*Chunk, error)
	// Strip returns an event without logprobs or without telemetry.
	Strip(ev *sse.Event, logprobs, telemetry bool) (*sse.Event, error)
	// Append appends an event as it goes out: what is said before it, and
	// the event with its edit. With neither, and nothing before it that
	// shifted its place, it goes out as it came. An error means that the
	// edit could not be made: nothing more of the stream may go out.
	Append(dst []byte, ev *flow.Outgoing) ([]byte, error)
	// Open reports whether an answer has begun that has not ended.
	Open() bool
	// Halt appends what ends the client's stream where the answer may not
	// go on: in the API's own terms, as a content filter does.
	Halt(dst []byte) []byte
	// Fail appends what ends the client's stream with an error.
	Fail(dst []byte, p *Problem) []byte
}

// Chunk is what one event of a stream says.
type Chunk struct {
	Done   bool // the answer is complete with this event
	Error  bool // an error in mid-stream
	Deltas []flow.Delta
	// Names are the identifiers that the server gives: of the answer, the
	// model, its build and the tool calls, and its random padding. They are
	// no prose and have no place for an edit.
	Names    [][]byte
	Finished []Finished
	// Ended are the items all of whose texts end with the event.
	Ended   []flow.Item
	Choices []int // indexes of the choices that the chunk has something for
	Usage   bool
	// ID is what a later request names in Previous; nil for nothing.
	ID []byte
	// Stray: there are logprobs that do not repeat the text of the chunk. As
	// nobody has looked at them, they must be stripped.
	Stray bool
	// Logprobs: there are logprobs.
	Logprobs bool
	// Typed: the event's type (sse.Event.Type) is one of the API's own, and
	// the one that its data says.
	Typed bool
	// Telemetry: there is the telemetry extension. It is the server's word
	// to Margay and no text: it must be stripped.
	Telemetry bool
}

// Finished is a choice that has ended.
type Finished struct {
	Choice int
	Reason string
}
