package replay

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/recorded"
	"github.com/margaydev/margay/mediator"
)

// Subagents is what a run takes sub-agents to have read, of whose own steps a record
// has nothing.
type Subagents string

// What sub-agents read.
const (
	// SubagentsWorld: they may have read anything.
	SubagentsWorld Subagents = "world"
	// SubagentsWorkspace: they read the workspace alone.
	SubagentsWorkspace Subagents = "workspace"
	// SubagentsEstimate: they read the workspace alone, unless what they were told
	// or what they said speaks of something outside.
	SubagentsEstimate Subagents = "estimate"
)

// AllSubagents lists them.
var AllSubagents = []Subagents{SubagentsEstimate, SubagentsWorld, SubagentsWorkspace}

// other is the trajectory of sub-agents: they all have their own first words.
const other = "01ARZ3NDEKTSV4RRFFQ69G5FAW"

var (
	outside = regexp.MustCompile(`(?i)https?://|\bweb ?(?:search|fetch)|\b(?:on|search|browse) the (?:web|internet)\b|\bonline\b|\bbest[- ]practices\b|\bgh (?:pr|issue|api|run|repo)\b|\bgit (?:fetch|pull|clone)\b|\bcurl\b`)
	added   = regexp.MustCompile(`\nagentId: (?s:.*)$`) // what the harness adds
)

// made is the last call of an id; the zero one for none.
func (p *player) made(id string) flow.TurnCall {
	for _, t := range slices.Backward(p.turns) {
		for _, c := range t.Calls {
			if c.ID == id {
				return c
			}
		}
	}
	return flow.TurnCall{}
}

// delegated plays the conversation of a sub-agent whose answer is a result: its user's
// words are the call's prompt, and it reads a file of the workspace. One that may have
// read something else is not played, so that its answer is the world's.
func (p *player) delegated(ctx context.Context, m *Message) error {
	call := p.made(m.CallID)
	if tool, known := p.policy.Tool(call.Name); !known || !tool.Relays || p.subagents == SubagentsWorld || p.dropped[m.CallID] {
		return nil
	}
	var args struct {
		Prompt      string `json:"prompt"`
		Description string `json:"description"`
		Type        string `json:"subagent_type"`
	}
	if json.Unmarshal([]byte(call.Arguments), &args) != nil {
		return nil // it is in no form that the tool has
	}
	said := added.ReplaceAllString(m.Text, "")
	if p.subagents != SubagentsWorkspace && outside.MatchString(strings.Join([]string{args.Prompt, args.Description, args.Type, said}, "\n")) {
		return nil
	}
	s, err := p.engine.Session(ctx, &mediator.SessionRequest{Caller: "replay", Trajectory: other, Sink: flow.Sink{Name: "model"}})
	if err != nil {
		return err
	}
	texts := make([]flow.Text, 2)
	for i, text := range []string{args.Prompt, "a file of the workspace"} {
		texts[i] = flow.Text{ID: i, Text: text, Field: flow.FieldContent, Role: []flow.Role{flow.RoleUser, flow.RoleTool}[i], Path: func() string { return "messages" }}
	}
	read, err := json.Marshal(map[string]string{"file_path": p.out.session.Cwd + "/a"})
	if err != nil {
		return err
	}
	turn := s.Prompt(ctx, &mediator.Prompt{Texts: texts, Conversation: true, Turns: []flow.Turn{
		{Role: flow.RoleUser, Parts: []int{0}},
		{Role: flow.RoleAssistant, Calls: []flow.TurnCall{{ID: "1", Name: "Read", Arguments: string(read)}}},
		{Role: flow.RoleTool, Result: "1", Parts: []int{1}},
	}})
	_, _, err = turn.Whole(ctx, recorded.Whole(said, nil), nil, nil)
	return err
}
