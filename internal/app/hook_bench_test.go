//go:build unix

package app

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkHook runs the real program, once for each event, as a harness does:
// through the socket of a running mediator, alone, and for comparison doing
// nothing. Times are those of whole processes.
//
//	go test -run '^$' -bench Hook -benchtime 500x ./internal/app
func BenchmarkHook(b *testing.B) {
	dir, err := os.MkdirTemp("", "margay") // short, for the socket's path
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "margay")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/margay").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	env := append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_RUNTIME_DIR="+dir, "OPENAI_BASE_URL=http://127.0.0.1:9/v1")
	text := strings.Repeat("A line of output like any other, with a path /usr/lib/x.so and the number 42.\n", 50)
	events := []struct{ name, event, args string }{
		{"version", "", "version"},
		{"call", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/p","tool_name":"Bash","tool_input":{"command":"go test ./...","description":"Run the tests"}}`, "hook claude-code"},
		{"result4k", `{"hook_event_name":"PostToolUse","session_id":"s","cwd":"/p","tool_name":"Bash","tool_input":{"command":"x"},"tool_response":{"stdout":` + quoteJSON(text) + `,"stderr":"","interrupted":false}}`, "hook claude-code"},
	}
	measure := func(b *testing.B, args, event string) {
		took := make([]time.Duration, 0, b.N)
		for b.Loop() {
			c := exec.Command(bin, strings.Fields(args)...)
			c.Env, c.Stdin = env, strings.NewReader(event)
			var errs bytes.Buffer
			c.Stderr = &errs
			start := time.Now()
			if err := c.Run(); err != nil {
				b.Fatalf("%v: %s", err, errs.String())
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		at := func(q float64) float64 {
			return float64(took[min(len(took)-1, int(q*float64(len(took))))].Microseconds()) / 1000
		}
		b.ReportMetric(at(0.5), "p50-ms")
		b.ReportMetric(at(0.99), "p99-ms")
	}
	for _, e := range events {
		b.Run("alone/"+e.name, func(b *testing.B) { measure(b, e.args, e.event) })
	}
	server := exec.Command(bin, "serve", "--listen", "127.0.0.1:0")
	server.Env = env
	out, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	for _, e := range events[1:] {
		b.Run("socket/"+e.name, func(b *testing.B) { measure(b, e.args, e.event) })
	}
}

func quoteJSON(s string) string {
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(s) + `"`
}
