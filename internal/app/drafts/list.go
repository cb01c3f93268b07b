package drafts

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// Bounds of asking a server.
const (
	maxPages    = 32
	maxMessages = 1000 // that are no answers
	stopGrace   = 2 * time.Second
)

// Server is a program that speaks the Model Context Protocol over stdio.
type Server struct {
	Path string
	Args []string // with the program's name first
	Env  []string
	Err  io.Writer
}

// List starts a server, asks for its tools and ends it. It calls none of them. The
// context bounds how long that takes.
func List(ctx context.Context, s Server) ([]Tool, error) {
	cmd := exec.CommandContext(ctx, s.Path) //nolint:gosec // the user named it
	cmd.Args, cmd.Env, cmd.Stderr, cmd.WaitDelay = s.Args, s.Env, s.Err, stopGrace
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() }) // a process of its own may hold the pipe open
	lines := bufio.NewScanner(io.LimitReader(out, maxList))
	lines.Buffer(nil, maxList)
	tools, err := (&client{in: in, lines: lines}).tools()
	if !stop() && err != nil {
		err = ctx.Err()
	}
	// The end of its input ends a server; one that stays is killed.
	_ = in.Close()
	kill := time.AfterFunc(stopGrace, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // however it ends, its answers were read
	kill.Stop()
	return tools, err
}

// client is one connection to a server.
type client struct {
	in    io.Writer
	lines *bufio.Scanner
	id    int
}

// errEnded says that the server's output ended.
var errEnded = errors.New("the server ended, or said too much, before it answered")

func (c *client) tools() ([]Tool, error) {
	hello := `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"margay","version":"1"}}`
	if _, err := c.ask("initialize", json.RawMessage(hello)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return nil, errEnded
	}
	var all []Tool
	cursor := map[string]string{}
	for range maxPages {
		b, err := c.ask("tools/list", cursor)
		if err != nil {
			return nil, err
		}
		some, err := Parse(b)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		var page struct {
			Next string `json:"nextCursor"`
		}
		if json.Unmarshal(b, &page) != nil || page.Next == "" || len(all) > maxTools {
			return all, nil
		}
		cursor = map[string]string{"cursor": page.Next}
	}
	return nil, fmt.Errorf("the server's list of tools has more than %d pages", maxPages)
}

// ask makes a request and returns its result. Requests of the server's own are
// refused, but for pings.
func (c *client) ask(method string, params any) (json.RawMessage, error) {
	c.id++
	if err := json.NewEncoder(c.in).Encode(map[string]any{"jsonrpc": "2.0", "id": c.id, "method": method, "params": params}); err != nil {
		return nil, errEnded
	}
	for range maxMessages {
		if !c.lines.Scan() {
			return nil, errEnded
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code int `json:"code"`
			} `json:"error"`
		}
		switch {
		case json.Unmarshal(c.lines.Bytes(), &m) != nil || m.ID == nil:
			continue // a line of its log, or a notification
		case m.Method != "":
			answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "not supported"}}
			if m.Method == "ping" {
				answer = map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": struct{}{}}
			}
			if err := json.NewEncoder(c.in).Encode(answer); err != nil {
				return nil, errEnded
			}
		case string(m.ID) != fmt.Sprint(c.id):
		case m.Error != nil:
			return nil, fmt.Errorf("the server answers %s with the error %d", method, m.Error.Code)
		default:
			return m.Result, nil
		}
	}
	return nil, fmt.Errorf("the server sends more than %d messages before it answers %s", maxMessages, method)
}
