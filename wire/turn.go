package wire

import "github.com/margaydev/margay/flow"

// Conversation is a Request that tells its turns, so that some can be withheld
// from the model when a step is generated again (RTBAS, algorithm 4).
type Conversation interface {
	Request
	// Turns returns the conversation in order.
	Turns() []Turn
	// Tools returns the tools that the model is offered.
	Tools() []Tool
	// Withhold returns the body of a request for the same step in which the
	// model sees less: the least there is to the API's shape. It asks for
	// one answer, as little at random as the API lets it.
	Withhold(w *Withheld) []byte
}

// Turn is one message, or the part of one that is one tool's result.
type Turn struct {
	Role  flow.Role
	Parts []int // IDs of its texts, those of calls aside
	Calls []TurnCall
	// Result is the id of the call whose result it is; empty for none.
	Result string
}

// TurnCall is a call that a turn of the assistant's made.
type TurnCall struct {
	ID, Name  string
	Arguments string
	Parts     []int // IDs of the texts in it
}

// Tool is a tool that the model is offered.
type Tool struct {
	Name  string
	Parts []int // IDs of the texts in its definition
}

// Withheld says what a model does not see. Places are those in Turns and Tools.
type Withheld struct {
	// Instead has what stands for the content of a turn. A turn of the
	// assistant's loses its calls with it.
	Instead map[int]string
	// Without are the turns that are left out.
	Without map[int]bool
	// Before has an answer of the assistant's that is put before a turn, for
	// what was left out there.
	Before map[int]string
	// Hidden are the tools that are not offered.
	Hidden map[int]bool
	// Edits are new texts of parts that are shown.
	Edits map[int]string
}
