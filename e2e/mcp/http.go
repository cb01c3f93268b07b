package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// overHTTP plays the features of server-everything over streamable HTTP, with
// margay serve in front and without.
func (r *rig) overHTTP(ctx context.Context, cs clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	server := start(ctx, "node", r.everything, "streamableHttp")
	server.Env = append(os.Environ(), "PORT="+port)
	errs, err := server.StderrPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { _ = server.Wait() }()
	defer cancel()
	lines := bufio.NewScanner(errs)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening") {
		continue
	}
	go func() { // it writes on
		for lines.Scan() {
			continue
		}
	}()
	direct := "http://127.0.0.1:" + port + "/mcp"
	config := filepath.Join(r.dir, "config.yaml")
	if err := os.WriteFile(config, []byte("mcp: {servers: {everything: {url: \""+direct+"\"}}}\n"), 0o600); err != nil {
		return err
	}
	margay := start(ctx, r.margay, "--config", config, "--state-dir", r.state(), "--json", "serve", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1/v1")
	var log bytes.Buffer
	margay.Stderr = &log
	out, err := margay.StdoutPipe()
	if err != nil {
		return err
	}
	if err := margay.Start(); err != nil {
		return err
	}
	var opened struct{ MCP map[string]string }
	if err := json.NewDecoder(out).Decode(&opened); err != nil {
		return fmt.Errorf("margay serve did not say where it listens: %w: %s", err, log.Bytes())
	}
	for _, c := range cs {
		want, err := r.play(ctx, c, r.features(), []string{direct})
		if err != nil {
			return err
		}
		got, err := r.play(ctx, c, r.features(), []string{opened.MCP["everything"]})
		if err != nil {
			return err
		}
		r.report("http", c.name, "everything", same(want, got))
	}
	_ = margay.Process.Signal(syscall.SIGTERM)
	if err := margay.Wait(); err != nil {
		return fmt.Errorf("margay serve: %w: %s", err, log.Bytes())
	}
	r.log.Write(log.Bytes())
	return nil
}

// start makes a command with a polite end.
func start(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	_ = ln.Close()
	return port, err
}
