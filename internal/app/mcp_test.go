//go:build unix

package app

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/margaydev/margay/internal/config"
)

// mcpServer is an MCP server for scripts. Its first argument says what its
// tool is described as; then what it does with a call.
func mcpServer() {
	fmt.Fprintln(os.Stderr, "mcpserver: ready")
	if os.Args[2] == "signal" {
		ch := make(chan os.Signal, 1)
		signal.Notify(ch, syscall.SIGTERM)
		parent, _ := os.FindProcess(os.Getppid()) // margay mcp: the signal goes there
		_ = parent.Signal(syscall.SIGTERM)
		<-ch
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/terminated"}`)
		os.Exit(7)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Arguments struct{ Name, Text string }
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		text, _ := json.Marshal(os.Getenv(m.Params.Arguments.Name) + m.Params.Arguments.Text)
		result := `{"content":[{"type":"text","text":` + string(text) + `}]}`
		switch {
		case m.Method == "tools/list":
			result = `{"tools":[{"name":"env","description":"` + os.Args[1] + `","inputSchema":{"type":"object"}}]}`
		case os.Args[2] == "die":
			os.Exit(5)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
	os.Exit(3)
}

func TestServerName(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"npx", "-y", "@modelcontextprotocol/server-everything", "--x"}, "server-everything"},
		{[]string{"/usr/bin/uvx", "mcp-server-git"}, "mcp-server-git"},
		{[]string{"docker", "run", "-i", "--rm", "mcp/fetch"}, "fetch"},
		{[]string{"/opt/servers/files", "/srv"}, "files"},
		{[]string{"node", "--token=x y"}, "node"},
		{[]string{"node", "a b"}, "mcp-server"},
	} {
		shown, id := serverName("", c.args)
		if shown != c.want {
			t.Errorf("%v is %s, want %s", c.args, shown, c.want)
		}
		if _, other := serverName("", append(c.args, "more")); other == id {
			t.Errorf("%v is the same with another argument", c.args)
		}
		if _, named := serverName("n", c.args); named == id {
			t.Errorf("%v is the same with a name", c.args)
		}
	}
	_, a := serverName("n", []string{"x"})
	if _, b := serverName("n", []string{"y"}); a != b {
		t.Error("a name does not make it the same server")
	}
}

func TestTrajectoryFromEnv(t *testing.T) {
	t.Setenv(config.EnvTrajectory, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	if id, err := trajectoryFromEnv(); err != nil || id != "01ARZ3NDEKTSV4RRFFQ69G5FAV" {
		t.Errorf("%s, %v", id, err)
	}
	t.Setenv(config.EnvTrajectory, "nonsense")
	if _, err := trajectoryFromEnv(); err == nil {
		t.Error("nonsense was taken")
	}
	t.Setenv(config.EnvTrajectory, "")
	a, _ := trajectoryFromEnv()
	if b, _ := trajectoryFromEnv(); a == "" || a == b {
		t.Errorf("%s, %s", a, b)
	}
}
