package flow

// Turn is one message of a conversation, or the part of one that is one tool's
// result. Its texts are named by their ids from the request's codec.
type Turn struct {
	Role  Role
	Parts []int // its texts, without those of calls
	Calls []TurnCall
	// Result is the id of the call whose result it is; empty for none.
	Result string
	// Foreign: it holds what others than its author wrote: the result of a tool
	// that the model's server called by itself, or a document, a search result or
	// anything unknown in a message or in a tool's result.
	Foreign bool
	// Opaque: it holds something that is not text, such as a picture, which
	// Margay can't read. Kept: it refers to content that the server keeps.
	Opaque, Kept bool
}

// TurnCall is a call in a turn of the assistant.
type TurnCall struct {
	ID, Name  string
	Arguments string
	Parts     []int // the texts in it
}

// OfferedTool is a tool that a model is offered.
type OfferedTool struct {
	Name  string
	Parts []int // the texts in its definition, names of members among them
	// Server: the model's server runs it, and its result is part of the model's
	// answer.
	Server bool
}

// RefusedCall is a call that a model proposed and that was refused.
type RefusedCall struct {
	ToolCall
	Result string // what the model sees in place of a result
}

// Withheld is what a model does not see when a step is generated again. Turns and
// offered tools are named by their places.
type Withheld struct {
	// Instead has the replacements for the content of turns. A turn of the
	// assistant loses its calls with its content.
	Instead map[int]string
	// Without are the turns that are left out.
	Without map[int]bool
	// Before has an answer of the assistant that is put before a turn, in place
	// of what was left out there.
	Before map[int]string
	// Hidden are the tools that are not offered.
	Hidden map[int]bool
	// Edits are new texts of parts that are shown.
	Edits map[int]string
}
