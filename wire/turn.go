package wire

import (
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
)

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
	// Refused returns a body of the request, as it was sent, that goes on with
	// an answer none of whose calls was made: what it said, its calls, and what
	// is told of them. Nil where the request can't go on so.
	Refused(body []byte, said []string, calls []flow.RefusedCall) []byte
}

// Unforced adds to edits of a request that its model may choose whether it
// calls a tool, where the request says that it must: auto is how the API says
// so. It returns them in order.
func Unforced(d *strictjson.Doc, sp []strictjson.Splice, auto []byte) []strictjson.Splice {
	for _, key := range [...]string{"tool_choice", "function_call"} {
		c := d.Find(0, key)
		if c < 0 {
			continue
		}
		kind := d.Text(c)
		if d.Nodes[c].Kind == strictjson.Object {
			kind = d.Text(d.Find(c, "type"))
		}
		if kind != "auto" && kind != "none" {
			sp = append(sp, strictjson.Splice{Start: d.Nodes[c].Start, End: d.Nodes[c].End, Text: auto})
		}
	}
	slices.SortFunc(sp, func(a, b strictjson.Splice) int { return a.Start - b.Start })
	return sp
}
