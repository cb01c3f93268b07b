package hook_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/store/memory"
)

// served answers the other end of a pipe, and waits for it at the end.
func served(t *testing.T, h *hook.Handler) net.Conn {
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(context.Background(), server)
	}()
	t.Cleanup(func() {
		_ = client.Close()
		<-done
	})
	return client
}

func TestSocket(t *testing.T) {
	h := handler(t, memory.New(), nil)
	for _, event := range []string{
		"", "no JSON", `{"hook_event_name":"Stop"}`,
		expand(`{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"echo $R"}}`),
		`{"hook_event_name":"UserPromptSubmit","prompt":"` + strings.Repeat("long ", 1<<16) + `"}`,
	} {
		for _, harness := range append(hook.Names(), "emacs") {
			want := h.Handle(context.Background(), harness, []byte(event))
			got, err := hook.Ask(context.Background(), served(t, h), harness, []byte(event))
			if err != nil || got.Exit != want.Exit || got.Out.Len() != want.Out.Len() || got.Err.Len() != want.Err.Len() { // ids differ
				t.Errorf("%s, %.40q: %v\n%d %s%s\n%d %s%s", harness, event, err, got.Exit, got.Out.Bytes(), got.Err.Bytes(), want.Exit, want.Out.Bytes(), want.Err.Bytes())
			}
		}
	}
}

// Whoever speaks another language gets no answer, and a server that does is
// not believed.
func TestSocketRefused(t *testing.T) {
	h := handler(t, memory.New(), nil)
	for _, text := range []string{
		"GET / HTTP/1.1\r\n\r\n", "margay hook 2 codex 2\n{}", "margay hook 1 codex -1\n", "margay hook 1 codex 99999999999\n", "margay hook 1 codex 2 \n{}",
		"margay hook 1 codex 007\n", strings.Repeat("x", 1<<13), "\n",
	} {
		conn := served(t, h)
		go func() { _, _ = conn.Write([]byte(text)) }()
		if b, err := io.ReadAll(conn); len(b) > 0 {
			t.Errorf("%.30q: %v, %s", text, err, b)
		}
	}
	for _, text := range []string{
		"", "margay 1 0 0 0", "margay 1 1 0 0\n", "margay 1 0 5 0\nabc", "margay 1 0 -1 0\n", "margay 1 0 99999999999 0\n", "margay 2 0 0 0\n", "HTTP/1.1 400 Bad Request\r\n",
	} {
		client, server := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			b := make([]byte, 1<<10)
			_, _ = server.Read(b)
			_, _ = server.Write([]byte(text))
			_ = server.Close()
		}()
		if a, err := hook.Ask(context.Background(), client, "codex", nil); err == nil {
			t.Errorf("%q is believed: %d %s", text, a.Exit, a.Out.Bytes())
		}
		<-done
	}
}

// A server that says nothing is given up when the time is over.
func TestSocketSilent(t *testing.T) {
	client, server := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var b bytes.Buffer
		_, _ = io.CopyN(&b, server, int64(len("margay hook 1 codex 2\n{}")))
		cancel()
		_, _ = io.Copy(&b, server)
	}()
	if _, err := hook.Ask(ctx, client, "codex", []byte("{}")); err == nil {
		t.Error("an answer from nobody")
	}
	<-done
}
