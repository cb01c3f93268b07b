package connectortest

// API is one API as data.
type API struct {
	Name, Title string
	Fields      []Field
	// Ask is a request whose last message is «say», and Reply the
	// answer to it in which nothing is left to look at. The suite uses them
	// to have a secret turned into a pseudonym.
	Ask   Request
	Reply Script
	// Say is what Ask says where nothing else is tried.
	Say string
	// Split cuts a stream into its frames, which together are the stream; nil
	// for events as text/event-stream.
	Split func(raw []byte) [][]byte
	// Lane names what a frame belongs to, such as a choice. Frames of one lane
	// keep their order; those of none, "", keep their place among all. Nil:
	// all keep their order.
	Lane func(frame []byte) string
	// Type is the content type of streams; empty for text/event-stream.
	Type string
	// Check reads an answer strictly. A partial one was ended before its
	// time, and must say so in the API's terms.
	Check func(stream, partial bool, raw []byte) error
	// Refusal says whether a client learns in the API's terms that there is
	// no answer.
	Refusal func(r *Result) error
	// Either: a pseudonym may stand for a secret on the way from the far side,
	// and a redaction on the way to it.
	Either bool
	// Reported says whether the user gets a report; needed where a Fate is.
	Reported func(r *Result) error
	// Far names the far side; "the model" if empty.
	Far string
	// Envelope are members that the far side's program writes around a message,
	// such as the ids of its sessions. They are not looked at.
	Envelope []string
	// Uncovered names what of the API is not looked at, a line each.
	Uncovered []string
}

// Field is one place for text.
type Field struct {
	Name string
	// To: on its way to the model; else from it.
	To bool
	// Before and Behind are the text around the value; "it is " and ", yes"
	// where both are empty.
	Before, Behind string
	// Bare: no text surrounds the value.
	Bare bool
	// Broken: what the far side says is not the API's, so that no client
	// library reads it.
	Broken bool
	// Echo: the client gets back what it sent there, and nobody else does.
	Echo bool
	// ASCII: the field can't hold anything else.
	ASCII bool
	// Most is the largest number of choices that the API has here; 0 for one.
	Most int
	// Request is the request, where it is not API.Ask. Also are further forms
	// of it that are tried in the same way.
	Request *Request
	Also    []*Request
	// Stream and Whole write the answer; nil where the field does not occur
	// in one. Where To is set they say which answers the request is tried
	// with; nil for both means API.Reply in a whole answer.
	Stream, Whole func(at Place) Script
	// Known, Unknown and Pseudonym are what becomes of each; PrivateKey of one
	// in PEM, where the field can hold one: by default what becomes of a
	// pseudonym where the call is withheld, else of an unknown secret.
	Known, Unknown, Pseudonym, PrivateKey Fate
	// InWhole, where set, is what becomes of both in whole answers.
	InWhole Fate
	// Note says in a few words what a reader of the matrix must know.
	Note string
}

// Place is the choice that holds the value, of N.
type Place struct{ N, C int }

// Request is a request, written with marks.
type Request struct {
	Method, Path string
	Header       []Header
	Body         string
	// First is what the far side asks first, where the request answers it.
	First string
	// Without is the body as it goes on where what holds the value is left
	// out.
	Without string
}

// Script is an answer, written with marks. An answer that is whole has one
// frame, in Head.
type Script struct {
	Status int
	Header []Header
	// Partial: the far side itself ends the answer before its time.
	Partial bool
	// Head goes before the pieces of the text, Piece once for each, Tail
	// behind.
	Head, Piece, Tail []Frame
}

// Frame is one event, line or body. These marks stand for what varies; all
// else must pass as it is:
//
//	«p»   a piece of the text, in a JSON string
//	«P»   the same with every character escaped
//	«t»   the whole text, in a JSON string
//	«T»   the same with every character escaped
//	«r»   the whole text as it is
//	«j»   the same, where it is a JSON document
//	«%»   the same, percent-encoded
//	«b»   the same in base64, in a JSON string
//	«l»   logprobs of a piece, or null where they are taken out
//	«L»   the same as a list, which is empty then
//	«n»   the number of the frame among those that have one, from 0
//	«say» what Ask says
//	«stream» true or false, by what the answer is
//	«choices» how many choices
type Frame struct {
	Raw string
	// Own: it is part of the item, such as a tool call, that the value
	// stands in, and changes or goes with it. The identifier of such an item
	// has OwnID in it.
	Own bool
	// May: its text may be held when the answer ends before its time, and is
	// then lost.
	May bool
}

// OwnID is in the identifier of the item that holds the value.
const OwnID = "own_item"

// Fate is what becomes of a secret in a field.
type Fate uint8

// Fates.
const (
	Default  Fate = iota // Replaced for secrets, Passes for pseudonyms
	Replaced             // a pseudonym (to the model) or a redaction (from it) replaces it
	Refused              // no request or no answer: the client gets an error
	Stopped              // the answer ends before it, in the API's terms
	LeftOut              // the header, event or part of a request is left out
	Withheld             // the tool call is not made, and the answer says so
	Reported             // it has happened: the user gets a report
	Passes               // it is not looked for
	Untried              // the combination does not occur
)

// String returns the fate as the matrix names it.
func (f Fate) String() string {
	return [...]string{"", "replaced", "refused", "stopped", "left out", "call withheld", "reported", "**passes**", "–"}[f]
}

// kind is a kind of value.
type kind uint8

const (
	clean kind = iota
	known
	unknown
	privateKey
	pseudonym
)

func (k kind) String() string {
	return [...]string{"clean text", "known secret", "unknown secret", "private key", "pseudonym"}[k]
}

// fate returns what becomes of a value of a kind.
func (f *Field) fate(k kind, stream bool) Fate {
	switch k {
	case clean:
		return Passes
	case pseudonym:
		if f.Pseudonym == Default {
			return Passes
		}
		return f.Pseudonym
	case privateKey:
		if f.ASCII {
			return Untried
		}
		if f.PrivateKey != Default {
			return f.PrivateKey
		}
		if f.Pseudonym == Withheld {
			return Withheld
		}
	}
	if !stream && !f.To && f.InWhole != Default {
		return f.InWhole
	}
	fate := f.Known
	if k == unknown || k == privateKey {
		fate = f.Unknown
	}
	if fate == Default {
		return Replaced
	}
	return fate
}

// around returns the text around the value.
func (f *Field) around() (before, behind string) {
	if f.Bare || f.Before != "" || f.Behind != "" {
		return f.Before, f.Behind
	}
	return "it is ", ", yes"
}
