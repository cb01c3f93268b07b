// Package screen has what the advisers below it have in common: they are asked
// which regions of a history matter for the next action of an agent. They are
// outside the trusted base: a mistake of theirs costs utility or a question,
// never security, because what is shown is bounded by the label that their
// answer comes to.
package screen

import (
	"context"

	"github.com/margaydev/margay/flow"
)

// Region is a part of what an agent may be shown.
type Region struct {
	Text string
	// Message counts the messages of the conversation; regions of one message
	// have one number.
	Message int
	Tool    string // whose result it is; empty for others
	Field   string // the JSON path inside the result: [2].address
	// Bottom says that the region is trusted and public: showing it costs
	// nothing.
	Bottom bool
}

// Question is what an adviser is asked.
type Question struct {
	// Requests are the user's own messages, the last one last.
	Requests []string
	Regions  []Region // in the order of the conversation
	// Calls and Answer are the preliminary answer: what the model came up with
	// when it saw all. Some advisers need none.
	Calls  []flow.ToolCall
	Answer string
}

// Adviser answers which regions matter.
type Adviser interface {
	// Relevant returns one truth a region. After an error everything is
	// relevant.
	Relevant(ctx context.Context, q *Question) ([]bool, error)
}
