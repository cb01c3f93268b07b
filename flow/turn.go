package flow

// Turn is one message of a conversation, or the part of one that is one
// tool's result. Its texts are named by the ids that the request's codec gave
// them.
type Turn struct {
	Role  Role
	Parts []int // its texts, those of calls aside
	Calls []TurnCall
	// Result is the id of the call whose result it is; empty for none.
	Result string
	// Foreign: it holds what a tool of the model's server told, which nobody
	// here called.
	Foreign bool
	// Opaque: it holds what is no text, such as a picture, which nobody here
	// has read. Kept: it stands for what the server keeps.
	Opaque, Kept bool
}

// TurnCall is a call that a turn of the assistant's made.
type TurnCall struct {
	ID, Name  string
	Arguments string
	Parts     []int // the texts in it
}

// OfferedTool is a tool that a model is offered.
type OfferedTool struct {
	Name  string
	Parts []int // the texts in its definition
	// Server: the model's server runs it, and what it tells is part of the
	// model's answer.
	Server bool
}

// RefusedCall is a call that a model made and that was not made.
type RefusedCall struct {
	ToolCall
	Told string // what the model is told instead of a result
}

// Withheld says what a model does not see when a step is generated again.
// Places are those of turns and of offered tools.
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
