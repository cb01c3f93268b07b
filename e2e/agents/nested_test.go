package agents

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNested puts the real agents behind other programs. Everything that arrives
// at the model came through Margay: it counted as many requests, and the secret
// is in none. What goes past it would arrive as well, and be neither.
func TestNested(t *testing.T) {
	for _, agent := range []string{"claude", "codex"} {
		b := open(t, agent)
		bin := filepath.Dir(b.agent)
		if err := os.Symlink(filepath.Dir(bin), filepath.Join(b.dir, "project", "node_modules")); err != nil {
			t.Fatal(err)
		}
		args := []string{"-p", "the key is " + value, "--dangerously-skip-permissions"}
		if agent == "codex" {
			b.run(strings.NewReader("sk-test-1234567890"), b.agent, "login", "--with-api-key")
			args = []string{"-m", "gpt-5.2-codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "the key is " + value}
		}
		b.env[0] = "PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH")
		b.env = append(b.env, "ANTHROPIC_BASE_URL="+b.url, "OPENAI_BASE_URL="+b.url+"/v1", "npm_config_update_notifier=false")
		quoted := agent
		for _, a := range args {
			quoted += " '" + a + "'"
		}
		for name, text := range map[string]string{"Makefile": "ask:\n\t@" + quoted + "\n", "ask.sh": "sh -c \"$(cat command)\"\n", "command": quoted + "\n", "package.json": `{"scripts":{"ask":"sh ask.sh"}}`} {
			if err := os.WriteFile(filepath.Join(b.dir, "project", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, wrapper := range [][]string{
			{"npx", agent}, {"sh", "-c", quoted}, {"env", "A=b", agent}, {"make", "-s", "ask"}, {"npm", "run", "ask"},
		} {
			t.Run(agent+" by "+strings.Join(wrapper[:min(2, len(wrapper))], " "), func(t *testing.T) {
				if _, err := exec.LookPath(wrapper[0]); err != nil {
					t.Skip(err)
				}
				b.t = t
				line := append([]string{"--json", "run", "--no-import", "--require-coverage", "--"}, wrapper...)
				if wrapper[0] == "npx" || wrapper[0] == "env" {
					line = append(line, args...)
				}
				b.counted(b.run(nil, b.margay, line...))
			})
		}
	}
}

// counted judges a run by its summary: as many requests as arrived, and coverage
// that was seen.
func (b *bench) counted(out string) {
	b.t.Helper()
	var sum struct {
		Coverage struct {
			State    string
			Requests int
			Agents   []string
		}
	}
	for l := range strings.Lines(out) {
		if strings.HasPrefix(l, `{"requests":`) {
			if err := json.Unmarshal([]byte(l), &sum); err != nil {
				b.t.Error(err)
			}
		}
	}
	b.model.mu.Lock()
	posts := b.model.posts
	b.model.posts = 0
	b.model.mu.Unlock()
	b.t.Logf("%d requests seen, %d made; coverage %s by %v", sum.Coverage.Requests, posts, sum.Coverage.State, sum.Coverage.Agents)
	if sum.Coverage.Requests != posts || posts == 0 || sum.Coverage.State != "seen" || strings.Contains(out, "coverage is required") {
		b.t.Errorf("not covered:\n%s", out)
	}
	b.clean(out, 2)
}
