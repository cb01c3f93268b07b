package wire

import "github.com/margaydev/margay/flow"

// Conversation is a Request that tells its turns, so that some can be withheld
// from the model when a step is generated again (RTBAS, algorithm 4).
type Conversation interface {
	Request
	// Turns returns the conversation in order.
	Turns() []flow.Turn
	// Tools returns the tools that the model is offered.
	Tools() []flow.OfferedTool
	// Withhold returns the body of a request for the same step in which the
	// model sees less: the least there is to the API's shape. It asks for
	// one answer, as little at random as the API lets it.
	Withhold(w *flow.Withheld) []byte
}
