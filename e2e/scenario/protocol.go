// Package scenario has the scenarios that real client libraries run, and
// judges the results.
//
// # Format
//
// A client is a program around one client library. It reads one [Job] as JSON
// from standard input and writes one [Result] as a line of JSON for each
// task, in order. It judges nothing. It leaves retries off, and takes the
// library's own default if the job's base URL or key is empty (its
// environment variables).
package scenario

import "encoding/json"

// Job is what a client is to do.
type Job struct {
	API     string `json:"api"`      // of the tasks; see APIChat
	BaseURL string `json:"base_url"` // as the API's libraries take it; empty: from the environment
	APIKey  string `json:"api_key"`  // empty: from the environment
	Tasks   []Task `json:"tasks"`
}

// APIs that clients speak.
const (
	APIChat     = "chat"     // OpenAI's
	APIMessages = "messages" // Anthropic's Messages
)

// Operations of a task.
const (
	OpCount      = "count"      // a count of the tokens of a request: Result.Usage
	OpModels     = "models"     // list all models: Result.IDs
	OpChat       = "chat"       // one chat completion, not streamed
	OpStream     = "stream"     // one chat completion, streamed, usage included
	OpTools      = "tools"      // streamed with Tool offered; calls answered; streamed again
	OpEmbeddings = "embeddings" // embeddings of Input: Result.Vectors

	// The same three with the Responses API. The system's messages are the
	// instructions, FollowUp goes on with the first response by its id, and
	// the answer to the calls of OpResponsesTools sends the whole history. The
	// one choice has the response's output text, "stop" for a status of
	// "completed" and the status for any other, and usage in the names of chat
	// completions.
	OpResponses       = "responses"
	OpResponsesStream = "responses_stream"
	OpResponsesTools  = "responses_tools"
)

// Task is one thing to do with the client library.
type Task struct {
	Scenario string    `json:"scenario"`
	Op       string    `json:"op"`
	Model    string    `json:"model"`
	Messages []Message `json:"messages,omitempty"`
	// FollowUp, for OpChat, is a further user message: it is sent after the
	// first answer with the whole conversation, and the result is that of the
	// second call.
	FollowUp string `json:"follow_up,omitempty"`
	// Thinking asks a model of the Messages API to think.
	Thinking bool `json:"thinking,omitempty"`
	N        int  `json:"n,omitempty"` // choices; 0: not sent
	Logprobs bool `json:"logprobs,omitempty"`
	// AckURL is fetched (GET) as soon as the first text arrives in a stream.
	AckURL string `json:"ack_url,omitempty"`
	// Leave closes the stream at its first text.
	Leave bool  `json:"leave,omitempty"`
	Tool  *Tool `json:"tool,omitempty"`
	// ToolResult answers every call.
	ToolResult string   `json:"tool_result,omitempty"`
	Input      []string `json:"input,omitempty"`
}

// Message is one message; Role is "system" or "user".
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Tool is a function that is offered to the model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema
}

// Result is what a client library gave.
type Result struct {
	Scenario string   `json:"scenario"`
	Error    *Failure `json:"error"` // nil: the library raised none
	IDs      []string `json:"ids"`
	// Choices is what the library gave in the end; of a stream, as its
	// accumulation.
	Choices []Choice `json:"choices"`
	// Calls are the tool calls of the first answer of OpTools. Those of the
	// only answer of other operations are in its choices.
	Calls   []Call         `json:"calls"`
	Usage   map[string]int `json:"usage"` // prompt_tokens, completion_tokens, total_tokens; input_tokens, output_tokens
	Vectors [][]float64    `json:"vectors"`
	// Dump is every object that the library gave, as JSON text, in order.
	Dump []string `json:"dump"`
}

// Choice is one alternative of an answer.
type Choice struct {
	Index int    `json:"index"`
	Text  string `json:"text"`
	// Thinking is the text of the blocks of thinking, Signatures theirs.
	Thinking   string   `json:"thinking,omitempty"`
	Signatures []string `json:"signatures,omitempty"`
	Finish     string   `json:"finish"`
	Calls      []Call   `json:"calls"`
}

// Call is a tool call.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // as JSON text
}

// Failure is an error that the library raised.
type Failure struct {
	Status     int    `json:"status"` // HTTP status; 0 where there is none
	Code       string `json:"code"`
	Type       string `json:"type"`
	Message    string `json:"message"`
	RetryAfter string `json:"retry_after"` // the header
	Class      string `json:"class"`       // the library's name for it
}
