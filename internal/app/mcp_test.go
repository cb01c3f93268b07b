//go:build unix

package app

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
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
