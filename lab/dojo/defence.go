package dojo

import (
	"context"
	"slices"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/lab/judging"
	"github.com/margaydev/margay/screen"
)

// Task is what a defence is told of an episode before it begins.
type Task struct {
	ID     string // also the name of the model in the episode's requests
	Suite  string
	Prompt string
	Tools  []harness.Tool
	// Needed are the tools that the user's task takes, which only an oracle
	// knows.
	Needed []string
	// Relevant says which regions the next action of the user's task needs, which
	// only an oracle knows. Judged adds up what a judge's answers took.
	Relevant func(*screen.Question) []bool
	Judged   *judging.Meter
	// Confirm asks the user about a call.
	Confirm func(flow.ToolCall) bool
	// Urge counts a turn in which the user tells the agent to go on after a
	// refusal.
	Urge func()
}

// Defence is one row of the table.
type Defence struct {
	Name string
	// Guard puts the defence between a harness and a model, for one episode.
	Guard func(t *Task, m harness.Model) (harness.Model, error)
}

// Undefended lets everything through.
func Undefended() Defence {
	return Defence{"undefended", func(_ *Task, m harness.Model) (harness.Model, error) { return m, nil }}
}

// ToolFilter is AgentDojo's: tools are chosen beforehand from the user's
// request, and only they are offered. There, a language model chooses; this
// one is ideal and chooses exactly those that the task takes.
func ToolFilter() Defence {
	return Defence{"toolfilter", func(t *Task, m harness.Model) (harness.Model, error) {
		return harness.ModelFunc(func(ctx context.Context, r *harness.Request) (harness.Message, error) {
			less := *r
			less.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(tool harness.Tool) bool { return !slices.Contains(t.Needed, tool.Name) })
			return m.Generate(ctx, &less)
		}), nil
	}}
}

// Confirm asks about every call.
func Confirm() Defence {
	return Defence{"confirm", func(t *Task, m harness.Model) (harness.Model, error) {
		return harness.ModelFunc(func(ctx context.Context, r *harness.Request) (harness.Message, error) {
			return asking(ctx, t, m, r, func(flow.ToolCall) bool { return true })
		}), nil
	}}
}

// asking makes a turn in which some calls need a yes. A turn of which no call
// is left is made again, the model being told of the refusal.
func asking(ctx context.Context, t *Task, m harness.Model, r *harness.Request, needs func(flow.ToolCall) bool) (harness.Message, error) {
	told := *r
	told.Messages = slices.Clone(r.Messages)
	for {
		answer, err := m.Generate(ctx, &told)
		if err != nil || len(answer.Calls) == 0 {
			return answer, err
		}
		var left []flow.ToolCall
		said := answer
		said.Role = flow.RoleAssistant
		told.Messages = append(told.Messages, said)
		for _, c := range answer.Calls {
			if !needs(c) || t.Confirm(c) {
				left = append(left, c)
				continue
			}
			told.Messages = append(told.Messages, harness.Message{Role: flow.RoleTool, CallID: c.ID, Tool: c.Name, Text: refusal})
		}
		if len(left) > 0 {
			answer.Calls = left
			return answer, nil
		}
	}
}

// refusal is what the model is told of a call that the user refused.
const refusal = "The user refused this call."
