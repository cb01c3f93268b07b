// Command mcp puts real MCP clients and servers together, with Margay between
// them and without, and compares every call:
//
//	mcp -margay FILE -everything FILE -filesystem FILE -client NAME=COMMAND...
//
// The servers are the programs of npm's server-everything and
// server-filesystem, run by node. A client is a program around a client
// library: it gets a plan, a JSON list of steps, and a server's command or
// URL, and prints a line of JSON for each step and for everything that the
// server asks or sends.
//
// Every client plays each plan twice. What it sees must be the same, except
// for secrets: planted secrets must appear without Margay, and not with it.
// It prints a line for each, and exits with 1 if any failed, 2 for wrong
// usage.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/margaydev/margay/e2e/leak"
	"github.com/margaydev/margay/e2e/scenario"
)

// patience is how long one plan may take.
const patience = 2 * time.Minute

type client struct {
	name    string
	command []string
}

type clients []client

func (c *clients) String() string { return fmt.Sprint(len(*c)) }

func (c *clients) Set(s string) error {
	name, command, ok := strings.Cut(s, "=")
	if !ok || name == "" || len(strings.Fields(command)) == 0 {
		return errors.New("a client looks like python=/path/to/python client.py")
	}
	*c = append(*c, client{name, strings.Fields(command)})
	return nil
}

// rig is what all runs share.
type rig struct {
	out                            io.Writer
	margay, everything, filesystem string
	dir                            string // of this run
	files                          string // that the server of files serves
	secrets                        scenario.Secrets
	log                            bytes.Buffer // what servers and Margay write
	passed, failed                 int
}

func main() {
	r := rig{out: os.Stdout, secrets: scenario.NewSecrets()}
	var cs clients
	flag.StringVar(&r.margay, "margay", "", "the margay program")
	flag.StringVar(&r.everything, "everything", "", "server-everything's program")
	flag.StringVar(&r.filesystem, "filesystem", "", "server-filesystem's program")
	flag.Var(&cs, "client", "a client, as NAME=COMMAND; can be given again")
	flag.Parse()
	if flag.NArg() > 0 || len(cs) == 0 || r.margay == "" || r.everything == "" || r.filesystem == "" {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := r.run(ctx, cs)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/mcp:", r.veil(err.Error()))
		os.Exit(1)
	}
	if r.failed > 0 {
		os.Exit(1)
	}
}

func (r *rig) run(ctx context.Context, cs clients) (err error) {
	begin := time.Now()
	if r.dir, err = os.MkdirTemp("", "margay-e2e-mcp-*"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	if r.dir, err = filepath.EvalSymlinks(r.dir); err != nil {
		return err
	}
	r.files = filepath.Join(r.dir, "files")
	add := exec.CommandContext(ctx, r.margay, "--state-dir", r.state(), "secrets", "add", scenario.KnownName)
	add.Stdin = strings.NewReader(r.secrets.Known)
	if b, err := add.CombinedOutput(); err != nil {
		return fmt.Errorf("margay secrets add: %w: %s", err, b)
	}
	for _, c := range cs {
		for _, s := range []struct {
			name    string
			command []string
			plan    []step
			judge   func(direct, through []string) []string
		}{
			{"everything", []string{"node", r.everything, "stdio"}, r.features(), same},
			{"filesystem", []string{"node", r.filesystem, r.files}, r.work(), same},
			{"filesystem with secrets", []string{"node", r.filesystem, r.files}, r.secretive(), r.protected},
		} {
			direct, err := r.play(ctx, c, s.plan, s.command)
			if err != nil {
				return err
			}
			through, err := r.play(ctx, c, s.plan, append([]string{r.margay, "--state-dir", r.state(), "mcp", "--quiet", "--name", strings.Fields(s.name)[0], "--"}, s.command...))
			if err != nil {
				return err
			}
			r.report("stdio", c.name, s.name, s.judge(direct, through))
		}
	}
	if err := r.overHTTP(ctx, cs); err != nil {
		return err
	}
	problems, err := r.kept()
	r.report("", "margay", "no secret in logs and files", problems)
	fmt.Fprintf(r.out, "%d passed, %d failed in %.1f s\n", r.passed, r.failed, time.Since(begin).Seconds())
	return err
}

func (r *rig) state() string { return filepath.Join(r.dir, "state") }

func (r *rig) report(way, who, what string, problems []string) {
	verdict := "ok"
	r.passed++
	if len(problems) > 0 {
		verdict = "FAIL"
		r.passed--
		r.failed++
	}
	fmt.Fprintf(r.out, "%-4s  mcp %-5s  %-7s %s\n", verdict, way, who, what)
	for i, p := range problems {
		if i == 12 {
			fmt.Fprintf(r.out, "      and %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintln(r.out, "      "+r.veil(p))
	}
}

// veil takes secrets out of what is about to be shown.
func (r *rig) veil(s string) string {
	return strings.NewReplacer(r.secrets.Known, "(the known secret)", r.secrets.Unknown, "(the unknown secret)").Replace(s)
}

// play has a client play a plan against a server and returns what it saw.
func (r *rig) play(ctx context.Context, c client, plan []step, server []string) ([]string, error) {
	if err := r.plant(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(r.dir, "plan.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	argv := append(append(slices.Clone(c.command), file), server...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, r.dir
	err = cmd.Run()
	if len(server) > 1 && server[0] == r.margay {
		r.log.Write(errs.Bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("the client %s failed: %w: %s", c.name, err, errs.Bytes())
	}
	var lines []string
	for l := range strings.Lines(out.String()) {
		if l = settle(strings.TrimSpace(l)); l != "" {
			lines = append(lines, l)
		}
	}
	if len(lines) < len(plan) {
		return nil, fmt.Errorf("the client %s printed %d lines for %d steps: %s", c.name, len(lines), len(plan), errs.Bytes())
	}
	slices.Sort(lines) // notifications come when they come, and as often as there is time
	return slices.CompactFunc(lines, func(a, b string) bool { return a == b && !isStep.MatchString(a) }), nil
}

var (
	// altered matches what Margay adds to the result of a call that it altered.
	altered = regexp.MustCompile(`, ?\{"text": ?"\[margay: the call of [^"]* was made with a part of its arguments replaced: [^"]*", ?"type": ?"text"\}`)
	isStep  = regexp.MustCompile(`"kind": ?"step"`)
	clock   = regexp.MustCompile(`\d{1,2}:\d\d:\d\d(\.\d+)?( ?[AP]M)?`)
	day     = regexp.MustCompile(`\d{4}-\d\d-\d\dT|\d{1,2}/\d{1,2}/\d{4}|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} \d\d \d{4}`)
	blob    = regexp.MustCompile(`"blob": ?"([^"]*)"`)
	session = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

// settle takes out of a line what differs from run to run. The end of a
// call's progress comes together with its result, and what a library makes of
// that depends on how the bytes are cut.
func settle(line string) string {
	var l struct {
		Kind        string
		Done, Total float64
	}
	if json.Unmarshal([]byte(line), &l) != nil || l.Kind == "broken" || l.Kind == "progress" && l.Done == l.Total {
		return ""
	}
	line = blob.ReplaceAllStringFunc(line, func(s string) string { // text in base64 may tell the time, too
		b, err := base64.StdEncoding.DecodeString(blob.FindStringSubmatch(s)[1])
		if err != nil {
			return s
		}
		return fmt.Sprintf("%q", b)
	})
	line = altered.ReplaceAllString(line, "")
	line = clock.ReplaceAllString(line, "(time)")
	line = session.ReplaceAllString(line, "(id)")
	return day.ReplaceAllString(line, "(day)")
}

// same compares what a client saw.
func same(direct, through []string) []string {
	var out []string
	for _, l := range through {
		if !slices.Contains(direct, l) {
			out = append(out, "only with Margay:    "+l)
		}
	}
	for _, l := range direct {
		if !slices.Contains(through, l) {
			out = append(out, "only without Margay: "+l)
		}
	}
	if len(out) == 0 && len(direct) != len(through) {
		out = append(out, fmt.Sprintf("%d lines, without Margay %d", len(through), len(direct)))
	}
	return out
}

// kept looks for secrets in what Margay wrote.
func (r *rig) kept() ([]string, error) {
	var problems []string
	if leak.In(r.log.Bytes(), r.secrets.Known, r.secrets.Unknown) {
		problems = append(problems, "a secret is in the log")
	}
	err := filepath.WalkDir(r.state(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Clean(path))
		if leak.In(b, r.secrets.Known, r.secrets.Unknown) {
			problems = append(problems, "a secret is in "+filepath.Base(path))
		}
		return err
	})
	return problems, err
}
