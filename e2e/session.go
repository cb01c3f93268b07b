package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/margaydev/margay/e2e/leak"
	"github.com/margaydev/margay/e2e/scenario"
	"github.com/margaydev/margay/e2e/upstream"
)

// patience bounds one client's run through all scenarios, and the start of
// margay.
const patience = 90 * time.Second

// session is one run of the command. It is not safe for concurrent use.
type session struct {
	out            io.Writer
	up             *upstream.Server
	control        string // the upstream's URL, without /v1
	only           string // part of the names of the scenarios to run
	passed, failed int
}

// report prints a line for one scenario.
func (s *session) report(way, client, name string, problems []string) {
	if len(problems) == 0 {
		s.passed++
		fmt.Fprintf(s.out, "PASS  %-7s %-7s %s\n", way, client, name)
		return
	}
	s.failed++
	fmt.Fprintf(s.out, "FAIL  %-7s %-7s %s: %s\n", way, client, name, strings.Join(problems, "; "))
}

// base is a server's URL as the libraries of an API take it.
func base(server, api string) string {
	if api == scenario.APIMessages {
		return server
	}
	return server + "/v1"
}

// direct runs a client without a mediator.
func (s *session) direct(ctx context.Context, c client) error {
	job := scenario.Job{BaseURL: base(s.control, c.api), APIKey: "e2e-direct"}
	return s.client(ctx, "direct", c, c.command, nil, scenario.NewSecrets(), false, job, job.APIKey, nil)
}

// serve runs all clients through one margay serve.
func (s *session) serve(ctx context.Context, margay string, cs clients) (err error) {
	h, err := newHome()
	if err != nil {
		return err
	}
	defer func() { err = h.remove(err) }()
	secrets := scenario.NewSecrets()

	add := exec.CommandContext(ctx, margay, "secrets", "add", scenario.KnownName)
	add.Env, add.Dir, add.Stdin = h.env(), h.dir, strings.NewReader(secrets.Known)
	if b, err := add.CombinedOutput(); err != nil {
		return fmt.Errorf("margay secrets add: %w: %s", err, veil(b, secrets))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var log bytes.Buffer
	cmd := command(ctx, margay, "serve", "--json", "--listen", "127.0.0.1:0", "--upstream", s.control+"/v1")
	cmd.Env, cmd.Dir, cmd.Stderr = h.env("MARGAY_LOG_LEVEL=debug", "ANTHROPIC_BASE_URL="+s.control), h.dir, &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("margay serve: %w", err)
	}
	late := time.AfterFunc(patience, cancel)
	var started struct{ Listening string }
	err = json.NewDecoder(stdout).Decode(&started)
	if late.Stop(); err != nil {
		cancel()
		_ = cmd.Wait()
		return fmt.Errorf("margay serve did not say where it listens: %w: %s", err, veil(log.Bytes(), secrets))
	}
	for _, c := range cs {
		job := scenario.Job{BaseURL: base(strings.TrimSuffix(started.Listening, "/v1"), c.api), APIKey: "e2e-serve"}
		if err := s.client(ctx, "serve", c, c.command, nil, secrets, true, job, job.APIKey, nil); err != nil {
			return err
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("margay serve has ended: %w: %s", err, veil(log.Bytes(), secrets))
	}
	var problems []string
	if err := cmd.Wait(); err != nil {
		problems = append(problems, "it ended with "+err.Error())
	}
	s.report("serve", "margay", "ends at a signal", problems)
	problems, err = h.leaks(log.Bytes(), secrets)
	s.report("serve", "margay", "no secret in logs and files", problems)
	return err
}

// run runs a client as the child of margay run.
func (s *session) run(ctx context.Context, margay string, c client) (err error) {
	if len(s.of(c)) == 0 {
		return nil
	}
	h, err := newHome()
	if err != nil {
		return err
	}
	defer func() { err = h.remove(err) }()
	secrets := scenario.NewSecrets()
	const caller = "e2e-run-caller" // what the child's library sends as its credential
	// The client asks the fake upstream itself for what it has seen.
	command := append([]string{margay, "run", "--uncovered", "--upstream", s.control + "/v1", "--"}, c.command...)
	env := h.env("MARGAY_LOG_LEVEL=debug", scenario.KnownName+"="+secrets.Known, "OPENAI_API_KEY="+caller, "ANTHROPIC_API_KEY="+caller, "ANTHROPIC_BASE_URL="+s.control)
	var log bytes.Buffer
	if err := s.client(ctx, "run", c, command, env, secrets, true, scenario.Job{}, caller, &log); err != nil {
		return err
	}
	problems, err := h.leaks(log.Bytes(), secrets)
	s.report("run", c.name, "no secret in logs and files", problems)
	return err
}

// of returns the scenarios that a client runs.
func (s *session) of(c client) []scenario.Scenario {
	return slices.DeleteFunc(scenario.Of(c.api), func(sc scenario.Scenario) bool { return !strings.Contains(sc.Name, s.only) })
}

// client runs one client through its scenarios and judges what came of each.
// env nil means this process's environment. What the program writes to its
// standard error goes to log, too.
func (s *session) client(ctx context.Context, way string, c client, argv, env []string, secrets scenario.Secrets, mediated bool, job scenario.Job, apiKey string, log *bytes.Buffer) error {
	scenarios := s.of(c)
	if len(scenarios) == 0 {
		return nil
	}
	job.API = c.api
	for i := range scenarios {
		sc := &scenarios[i]
		sc.Script(secrets, s.up)
		job.Tasks = append(job.Tasks, sc.Task(secrets, s.control))
	}
	in, err := json.Marshal(job) //nolint:gosec // the key is made up and the client needs it
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := command(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, bytes.NewReader(in), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the client %s (%s) failed: %w: %s", c.name, way, err, veil(stderr.Bytes(), secrets))
	}
	if log != nil {
		log.Write(stderr.Bytes())
	}
	byModel := map[string][]upstream.Exchange{}
	for _, e := range s.up.Exchanges() {
		if e.Model == "" {
			e.Model = "scripted-models"
		}
		byModel[e.Model] = append(byModel[e.Model], e)
	}
	lines := json.NewDecoder(&stdout)
	seen := 0
	for i := range scenarios {
		sc := &scenarios[i]
		result := &scenario.Result{}
		if err := lines.Decode(result); err != nil || result.Scenario != sc.Name {
			return fmt.Errorf("the client %s (%s) gave no result for %s", c.name, way, sc.Name)
		}
		v := sc.Judge(secrets, mediated, result, byModel[sc.Model()], apiKey)
		if v.Leaked {
			seen++
		}
		s.report(way, c.name, sc.Name, v.Problems)
	}
	if !mediated {
		fmt.Fprintf(s.out, "      %-7s %-7s without Margay, %d of %d scenarios leak\n", way, c.name, seen, len(scenarios))
	}
	return nil
}

// command is exec.CommandContext with a polite end: SIGTERM, and a kill after
// a while.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	return cmd
}

// veil takes secrets out of what is about to be shown.
func veil(b []byte, secrets scenario.Secrets) string {
	s := strings.TrimSpace(string(b))
	for i, v := range secrets.All() {
		s = strings.ReplaceAll(s, v, fmt.Sprintf("<secret %d>", i+1))
	}
	return s
}

// home is a folder in which margay finds nothing of the user's.
type home struct{ dir string }

func newHome() (*home, error) {
	dir, err := os.MkdirTemp("", "margay-e2e-")
	return &home{dir}, err
}

func (h *home) remove(err error) error {
	if e := os.RemoveAll(h.dir); err == nil {
		return e
	}
	return err
}

func (h *home) env(more ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "XDG_DATA_HOME=" + h.dir + "/data", "XDG_CONFIG_HOME=" + h.dir + "/config", "TMPDIR=" + h.dir}
	return append(env, more...)
}

// leaks looks for the secrets in what margay wrote: its log, and every file in
// its home.
func (h *home) leaks(log []byte, secrets scenario.Secrets) (problems []string, err error) {
	if leak.In(log, secrets.All()...) {
		problems = append(problems, "a secret is in the log")
	}
	files := 0
	err = filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path) //nolint:gosec // a file of our own temporary folder
		if err != nil {
			return err
		}
		files++
		if leak.In(b, secrets.All()...) {
			problems = append(problems, "a secret is in "+filepath.Base(path))
		}
		return nil
	})
	if files == 0 && err == nil {
		problems = append(problems, "margay wrote no files: they are looked for in the wrong place")
	}
	return problems, err
}
