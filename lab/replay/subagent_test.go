package replay

import (
	"encoding/json"
	"testing"

	"github.com/margaydev/margay/flow"
)

// A sub-agent's answer has the label of what the run takes the sub-agent to have read,
// and where that is estimated, its orders and its answer count.
func TestSubagents(t *testing.T) {
	const answer = "The parser lives in parse.go. It reads one token at a time, and keeps what it does not know for later."
	session := func(prompt, answer string) *Session {
		args := func(v map[string]string) json.RawMessage {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		return &Session{
			ID: "s", Suite: "claude", Tools: []string{"Task", "Bash"}, Packs: []string{"claude-code"}, Trusted: []string{"/home/me/work"}, Cwd: "/home/me/work",
			Messages: []Message{
				{Role: flow.RoleUser, Text: "Fix the parser."},
				{Role: flow.RoleAssistant, Calls: []Call{{ID: "1", Name: "Task", Args: args(map[string]string{"description": "find it", "prompt": prompt, "subagent_type": "Explore"})}}},
				{Role: flow.RoleTool, CallID: "1", Tool: "Task", Text: answer + "\nagentId: a411d5c (for resuming to continue this agent's work if needed)"},
				{Role: flow.RoleAssistant, Calls: []Call{{ID: "2", Name: "Bash", Args: args(map[string]string{"command": "go test ./..."})}}},
				{Role: flow.RoleTool, CallID: "2", Tool: "Bash", Text: "ok"},
			},
		}
	}
	for _, c := range []struct {
		name           string
		s              *Session
		as             Subagents
		trusted, asked bool
	}{
		{"of the workspace", session("Where is the parser?", answer), SubagentsWorkspace, true, false},
		{"of anything", session("Where is the parser?", answer), SubagentsWorld, true, true},
		{"by estimate", session("Where is the parser?", answer), SubagentsEstimate, true, false},
		{"by default", session("Where is the parser?", answer), "", true, false},
		{"sent to the web", session("Search the web for parsers.", answer), SubagentsEstimate, true, true},
		{"with an address in its answer", session("Where is the parser?", answer+"\nSee https://x.example."), SubagentsEstimate, true, true},
		{"sent to the web, taken for the workspace's", session("Search the web for parsers.", answer), SubagentsWorkspace, true, false},
		{"in a folder that nobody trusts", session("Where is the parser?", answer), SubagentsWorkspace, false, true},
	} {
		out := played(t, Options{Trusted: c.trusted, Subagents: c.as}, All, c.s)[0]
		if got := out.calls[len(out.calls)-1].asked; got != c.asked {
			t.Errorf("a sub-agent %s: asked %v", c.name, got)
		}
	}
}
