//go:build unix

package app

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/margaydev/margay/secret"
)

// The scripts run the real command line in processes of its own: this test's
// program is margay when it is called by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"margay": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"agent":  agent,
		"claude": claudeAgent, "codex": codexAgent,
		"mcpserver": mcpServer,
	})
}

func TestScript(t *testing.T) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){
		"code": code, "clean": clean, "plant": plant, "serve": startServer, "shutdown": stopServer, "upstream": upstream, "received": received, "occupy": occupy,
		"lock": lock, "same": same, "field": field, "corrupt": corrupt, "binary": binary, "socket": fakeSocket, "release": release, "flip": flip,
	}
	maps.Copy(cmds, moreCommands)
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds:                cmds,
	})
}

// alive is in scripts in which something runs beside something else.
var alive = regexp.MustCompile(`(?m)^serve|margay (run|mcp|console|serve) | &$`)

// scripts are all of them; -short, as under the race detector, leaves out those
// that run one command after the other.
func scripts(t *testing.T) []string {
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	if !testing.Short() {
		return all
	}
	n := len(all)
	all = slices.DeleteFunc(all, func(path string) bool {
		text, err := os.ReadFile(path)
		return err == nil && !alive.Match(text)
	})
	t.Logf("-short: %d of %d scripts", len(all), n)
	return all
}

// world is what a script's commands share.
type world struct {
	mu      sync.Mutex
	got     bytes.Buffer // what the upstream received
	planted []string
	server  *exec.Cmd
	out     *bufio.Reader
	errs    *buffer
}

// buffer is what a running process has written. It is safe for concurrent
// use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// random makes a value that no rule knows by its format.
func random(seed uint64, n int) string {
	const set = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
	r := rand.New(rand.NewPCG(seed, 5))
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

func setup(env *testscript.Env) error {
	w := &world{}
	env.Values[worldKey{}] = w
	for name, value := range map[string]string{
		"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "conf", "XDG_RUNTIME_DIR": "r", "HOME": "home",
	} {
		dir := filepath.Join(env.WorkDir, value)
		env.Setenv(name, dir)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	env.Setenv("STATE", filepath.Join(env.WorkDir, "data", "margay"))
	env.Setenv("TERM", "dumb")
	env.Setenv("D", "$") // in files that plant expands
	env.Setenv("ESC", "\x1b")
	if path, err := exec.LookPath("margay"); err == nil { // as the test program is called here
		env.Setenv("MARGAY", path)
		env.Setenv("BIN", filepath.Dir(path))
	}
	// The race detector would wait a second at the end of every process.
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	// Values: of a known format, of none, and a short one.
	for i, v := range []string{
		"gh" + "p_" + random(1, 36), random(2, 32), "sk_" + "live_" + random(3, 24), "qZ8!x", random(4, 24),
	} {
		env.Setenv(fmt.Sprintf("V%d", i+1), v)
		w.planted = append(w.planted, v)
	}
	k := secret.NewKeys()
	env.Setenv("KEYS", base64.StdEncoding.EncodeToString(slices.Concat(k.Fingerprint[:], k.Pseudonym[:], k.Seal[:])))
	env.Setenv("V2B64", base64.StdEncoding.EncodeToString([]byte(w.planted[1])))
	return nil
}

// code checks the exit code of a command: code 3 margay scan x.
func code(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Exec returns it bare
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if (got == want) == neg {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// plant writes a file with ${VARIABLE}s expanded: plant FILE FROM.
func plant(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[1]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// clean fails where a planted value, plain or encoded, stands in the output
// of the last command or in a file or folder named. Those given as -V2 are
// left out. ! clean fails where none does.
func clean(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	texts := map[string]string{"stdout": ts.ReadFile("stdout"), "stderr": ts.ReadFile("stderr")}
	if w.errs != nil {
		texts["the server's log"] = w.errs.String()
	}
	leave := map[string]bool{}
	for _, a := range args {
		if name, ok := strings.CutPrefix(a, "-"); ok {
			leave[ts.Getenv(name)] = true
			continue
		}
		ts.Check(filepath.WalkDir(ts.MkAbs(a), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			texts[path] = d.Name() + "\n" + string(b)
			return err
		}))
	}
	found := ""
	for i, v := range w.planted {
		if leave[v] || len(v) < 8 {
			continue
		}
		for form, s := range map[string]string{
			"plain": v, "base64": base64.RawStdEncoding.EncodeToString([]byte(v)), "hex": hex.EncodeToString([]byte(v)), "its head": v[:8], "its tail": v[len(v)-8:],
		} {
			for where, text := range texts {
				if strings.Contains(text, s) {
					found = fmt.Sprintf("V%d stands in %s (%s)", i+1, where, form)
				}
			}
		}
	}
	if (found != "") != neg {
		ts.Fatalf("a planted value: %q", found)
	}
}

// same fails where two files differ; a missing one equals a missing one.
func same(ts *testscript.TestScript, neg bool, args []string) {
	a, aerr := os.ReadFile(ts.MkAbs(args[0]))
	b, berr := os.ReadFile(ts.MkAbs(args[1]))
	if (bytes.Equal(a, b) && (aerr == nil) == (berr == nil)) == neg {
		ts.Fatalf("%s and %s: same is %v", args[0], args[1], neg)
	}
}

// field puts the n-th word of the first line of standard output that
// contains a text into a variable: field NAME N TEXT.
func field(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for _, l := range strings.Split(ts.ReadFile("stdout")+ts.ReadFile("stderr"), "\n") {
		if words := strings.Fields(l); strings.Contains(l, args[2]) && len(words) > 0 {
			if n < 0 {
				n += len(words) + 1
			}
			ts.Setenv(args[0], words[n-1])
			return
		}
	}
	ts.Fatalf("no line contains %q", args[2])
}

// lock keeps a database locked until the script ends.
func lock(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0]))
	ts.Check(err)
	conn, err := db.Conn(context.Background())
	ts.Check(err)
	_, err = conn.ExecContext(context.Background(), "BEGIN EXCLUSIVE")
	ts.Check(err)
	ts.Defer(func() { _, _ = conn.Close(), db.Close() })
}

// corrupt overwrites the head of a file with noise.
func corrupt(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteAt(bytes.Repeat([]byte("noise"), 100), 0)
	ts.Check(err)
	ts.Check(f.Close())
}

// binary makes a file that is not text.
func binary(ts *testscript.TestScript, _ bool, args []string) {
	r := rand.New(rand.NewPCG(9, 9))
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// occupy takes a port and puts its address into $TAKEN.
func occupy(ts *testscript.TestScript, _ bool, _ []string) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = ln.Close() })
	ts.Setenv("TAKEN", ln.Addr().String())
}

// upstream starts a scripted model API at $UPSTREAM. It streams the text of a
// file, or echoes what it was asked.
func upstream(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	answer := ""
	if len(args) > 0 {
		answer = os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.got.Write(body)
		w.got.WriteString(r.URL.RawQuery + r.Header.Get("Authorization"))
		w.mu.Unlock()
		var req struct{ Messages []struct{ Content string } }
		_ = json.Unmarshal(body, &req)
		text := answer
		if text == "" && len(req.Messages) > 0 {
			text = "you said: " + req.Messages[len(req.Messages)-1].Content
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		for len(text) > 0 {
			n := min(5, len(text))
			b, _ := json.Marshal(text[:n])
			fmt.Fprintf(rw, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`+"\n\n", b)
			rw.(http.Flusher).Flush()
			text = text[n:]
		}
		fmt.Fprint(rw, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	ts.Defer(srv.Close)
	ts.Setenv("UPSTREAM", srv.URL+"/v1")
	ts.Setenv("ROOT", srv.URL)
	ts.Setenv("UPSTREAMHOST", strings.TrimPrefix(srv.URL, "http://"))
}

// received checks that a text reached the upstream: [!] received TEXT.
func received(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.Contains(w.got.String(), args[0]) == neg {
		ts.Fatalf("received is %v", !neg)
	}
}

// program finds a program on the script's path.
func program(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, name); name != "" {
			if _, err := os.Stat(p); err == nil {
				return p
			}
		}
	}
	ts.Fatalf("%s is not on the path", name)
	return ""
}

// environment is the part of the script's environment that counts for margay.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"GORACE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "HOME", "PATH", "OPENAI_BASE_URL", "MARGAY_ON_ERROR", "MARGAY_UPSTREAMS_SECOND_URL", "MARGAY_UPSTREAMS_SECOND_POLICY_PROMPT_TOKEN", "MARGAY_UPSTREAM", "MARGAY_LOG_LEVEL"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// startServer starts margay serve and waits for its first line, from which it sets
// $GATEWAY, and its address $ADDRESS.
func startServer(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	cmd := exec.CommandContext(context.Background(), program(ts, "margay"), append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	w.errs = &buffer{}
	cmd.Stderr = w.errs
	ts.Check(cmd.Start())
	w.server, w.out = cmd, bufio.NewReader(out)
	ts.Defer(func() {
		if w.server != nil {
			_ = w.server.Process.Kill()
			_ = w.server.Wait()
		}
	})
	line, err := w.out.ReadString('\n')
	ts.Check(err)
	ts.Logf("%s", line)
	if strings.HasPrefix(line, "{") {
		var o struct {
			Listening string
			Upstreams map[string]string
		}
		ts.Check(json.Unmarshal([]byte(line), &o))
		ts.Setenv("GATEWAY", o.Listening)
		ts.Setenv("SECOND", o.Upstreams["second"])
		return
	}
	words := strings.Fields(line)
	if len(words) != 6 || words[1] != "listening" || words[4] != "(upstream" {
		ts.Fatalf("the first line is %q", line)
	}
	ts.Setenv("GATEWAY", words[3])
	ts.Setenv("ADDRESS", strings.TrimSuffix(strings.TrimPrefix(words[3], "http://"), "/v1"))
}

// stopServer interrupts the server and waits for it; it must end with 0. Its
// log is checked for the texts given.
func stopServer(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	ts.Check(w.server.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, w.out)
	err := w.server.Wait()
	w.server = nil
	ts.Check(err)
	for _, a := range args {
		if !strings.Contains(w.errs.String(), a) {
			ts.Fatalf("the log lacks %q", a)
		}
	}
}

// agent is the program that the scripts put behind margay run.
func agent() {
	switch os.Args[1] {
	case "ask":
		os.Exit(ask(os.Getenv("OPENAI_BASE_URL"), os.Args[2]))
	case "direct": // past the gateway; what it starts keeps the connection
		os.Exit(direct(os.Args[2], os.Args[3]))
	case "hold": // until the other side ends it
		_, _ = io.Copy(io.Discard, os.NewFile(3, "connection"))
	case "models":
		resp, err := http.Get(os.Getenv("OPENAI_BASE_URL") + "/models")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(resp.StatusCode)
		_ = resp.Body.Close()
	case "stranger": // another process, which knows the port but not the URL
		base, _, _ := strings.Cut(strings.TrimPrefix(os.Getenv("OPENAI_BASE_URL"), "http://"), "/")
		os.Exit(ask("http://"+base+"/v1", "let me in"))
	case "post": // a body as it is
		os.Exit(post(os.Getenv("OPENAI_BASE_URL"), []byte(os.Args[2])))
	case "env":
		for _, name := range os.Args[2:] {
			fmt.Printf("%s=%s\n", name, os.Getenv(name))
		}
	case "exit":
		n, _ := strconv.Atoi(os.Args[2])
		os.Exit(n)
	case "die":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Signal(syscall.SIGKILL)
		select {}
	case "interrupts": // counts those that come before a signal sent after the first
		ch := make(chan os.Signal, 4)
		signal.Notify(ch, syscall.SIGINT, syscall.SIGUSR1)
		fmt.Println("ready")
		first := <-ch
		parent, _ := os.FindProcess(os.Getppid())
		_ = parent.Signal(syscall.SIGUSR1)
		if second := <-ch; first == syscall.SIGINT && second == syscall.SIGUSR1 {
			fmt.Println("interrupted once")
		}
		os.Exit(9)
	case "signal": // tells which signals it gets, and ends with the last
		ch := make(chan os.Signal, 4)
		signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
		// Its parent is margay run: the signals go there.
		parent, _ := os.FindProcess(os.Getppid())
		for _, s := range []os.Signal{syscall.SIGUSR1, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM} {
			_ = parent.Signal(s)
			fmt.Println("got", <-ch)
		}
		select {
		case s := <-ch:
			fmt.Println("and again", s)
		default:
		}
		os.Exit(7)
	case "copy":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	}
}

// direct connects to an address, leaves the connection to a process of its own,
// and ends with a code.
func direct(addr, code string) int {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	f, err := conn.(*net.TCPConn).File()
	if err == nil {
		cmd := exec.CommandContext(context.Background(), os.Args[0], "hold")
		cmd.ExtraFiles = []*os.File{f}
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	n, _ := strconv.Atoi(code)
	return n
}

// ask sends a prompt and prints the streamed answer.
func ask(base, prompt string) int {
	body, _ := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": []any{map[string]string{"role": "user", "content": prompt}}})
	return post(base, body)
}

func post(base string, body []byte) int {
	req, err := http.NewRequest(http.MethodPost, base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	req.Header.Set("Content-Type", "application/json")
	if k := os.Getenv("OPENAI_API_KEY"); k != "" {
		req.Header.Set("Authorization", "Bearer "+k)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer resp.Body.Close()
	fmt.Printf("status %d\n", resp.StatusCode)
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		switch {
		case resp.StatusCode != http.StatusOK:
			fmt.Println(sc.Text())
		case ok && json.Unmarshal([]byte(data), &c) == nil && len(c.Choices) > 0:
			fmt.Print(c.Choices[0].Delta.Content)
		}
	}
	fmt.Println()
	return 0
}
