// Package status says in a few lines what an installation protects, what it does not,
// and why. It says what it has seen: files, the socket of a running mediator, the
// store. What is wrong with them, margay doctor explains.
package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/harness"
	"github.com/margaydev/margay/internal/app/invocation"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/store"
)

// States of a line.
const (
	On      = "on"
	Partly  = "partly"
	Off     = "off"
	None    = "none"    // there is nothing to protect
	Unknown = "unknown" // it can't be seen from here
)

// Line is one thing that is protected or not.
type Line struct {
	Name   string `json:"name"`
	State  string `json:"state,omitempty"` // On, Partly, Off, None or Unknown; empty for what is no protection
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what changes it
}

// Status is what margay status prints.
type Status struct {
	Config    string     `json:"config"` // the file; empty for none
	Lines     []Line     `json:"lines"`
	Hooks     []string   `json:"hooks"` // agents whose files have margay's hooks
	Servers   Servers    `json:"mcp_servers"`
	NotRead   []string   `json:"not_read"` // files of agents that can't be read
	Folders   int        `json:"trusted_folders"`
	Files     int        `json:"strangers_files"`
	Tools     int        `json:"tools"` // without a pack, of which the user said what they do
	Questions *Questions `json:"questions,omitempty"`
}

// Servers are the MCP servers in the files of agents, by name.
type Servers struct {
	Wrapped []string `json:"wrapped"`
	Alone   []string `json:"alone"`  // programs that run without Margay
	Remote  []string `json:"remote"` // reached by a URL without Margay
}

func (s *Status) add(name, state, next, format string, args ...any) {
	s.Lines = append(s.Lines, Line{name, state, problem.OneLine(fmt.Sprintf(format, args...)), next})
}

// Of looks at an installation. It makes nothing.
func Of(ctx context.Context, c *config.Config, since time.Time) (*Status, error) {
	s := &Status{Config: c.File, Hooks: []string{}, Servers: Servers{[]string{}, []string{}, []string{}}, NotRead: []string{}}
	s.modes(c)
	s.running(ctx, c)
	s.agents(c)
	return s, s.stored(ctx, c, since)
}

// modes says which protections the configuration turns on.
func (s *Status) modes(c *config.Config) {
	switch open := c.OnErrorPass(&config.Upstream{}); {
	case c.Observe:
		s.add("secrets", Off, "observe: false", "findings are reported and nothing is changed (observe)")
	case !c.Discover || open:
		s.add("secrets", Partly, "discover: true, on_error: deny", "%s", strings.Join(compact(when(!c.Discover, "only registered ones (discover is false)"), when(open, "what Margay fails to decide passes (on_error)")), "; "))
	default:
		s.add("secrets", On, "", "registered and recognised ones are replaced in what goes through Margay")
	}
	mode := func(name, key, mode, does string) {
		switch {
		case mode == "off":
			s.add(name, Off, key+": on", "%s is off", key)
		case mode == "report" || c.Observe:
			s.add(name, Off, key+": on, observe: false", "%s is %s: it is reported, and nothing is held back", key, mode)
		default:
			s.add(name, On, "", "%s (%s: %s)", does, key, mode)
		}
	}
	mode("calls", "taint.mode", c.Taint.Mode, "calls are asked about that strangers had a part in")
	mode("releases", "declassify.mode", c.Declassify.Mode, "what leaves is held to rubrics and charged")
	if m := c.Monitor.Mode; m == "off" {
		s.add("risk model", Off, "monitor.mode: enforce", "monitor.mode is off")
	} else {
		mode("risk model", "monitor.mode", m, "tokens of answers are judged")
	}
}

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func compact(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// running looks for a mediator that answers.
func (s *Status) running(ctx context.Context, c *config.Config) {
	run := when(os.Getenv(config.EnvTrajectory) != "", "; this shell runs inside margay run")
	path := localsock.Path(c.State)
	conn, err := localsock.Dial(ctx, path)
	switch {
	case err == nil:
		_ = conn.Close()
		s.add("serve", On, "", "a margay serve answers; with which configuration it runs is not seen%s", run)
	case errors.Is(err, localsock.ErrNotRunning):
		s.add("serve", Off, "margay serve, or margay run -- AGENT", "no margay serve answers; a margay run has a gateway of its own, which is not seen from here%s", run)
	default:
		s.add("serve", Unknown, "margay doctor", "whether a margay serve runs can't be seen: %v%s", err, run)
	}
}

// agents looks at the files of agent programs.
func (s *Status) agents(c *config.Config) {
	places, err := harness.Here()
	if err != nil {
		s.add("agents", Unknown, "is HOME set?", "the files of agents can't be found: %v", err)
		return
	}
	failed := func(f *harness.File, _ error) { s.NotRead = append(s.NotRead, f.Path) }
	partly := false
	harness.Each(places.Hooks(), func(f *harness.File, b []byte) error {
		found, missing, err := f.Installed(b)
		if len(found) > 0 {
			s.Hooks = append(s.Hooks, fmt.Sprintf("%s (%s)", f.Program, f.Scope))
			partly = partly || len(missing) > 0
		}
		return err
	}, failed)
	switch {
	case len(s.Hooks) == 0:
		s.add("hooks", Off, "margay hook install", "no file of an agent here has margay's hooks")
	case partly:
		s.add("hooks", Partly, "margay hook install", "in the files of %s, with events left out", strings.Join(s.Hooks, ", "))
	default:
		s.add("hooks", On, "", "in the files of %s", strings.Join(s.Hooks, ", "))
	}
	harness.Each(places.Servers(c.Routes()), s.servers, failed)
	s.mcp()
}

// servers sorts the servers of a file.
func (s *Status) servers(f *harness.File, b []byte) error {
	all, err := f.Starts(b)
	for i := range all {
		list := &s.Servers.Alone
		switch {
		case all[i].Wrapped:
			list = &s.Servers.Wrapped
		case all[i].Remote:
			list = &s.Servers.Remote
		}
		*list = append(*list, harness.Shown(all[i].Name))
	}
	return err
}

func (s *Status) mcp() {
	v := &s.Servers
	past := len(v.Alone) + len(v.Remote)
	total := len(v.Wrapped) + past
	text := fmt.Sprintf("%d of %s in the files of agents here through Margay", len(v.Wrapped), invocation.Count(total, "server"))
	if total == 0 {
		text = "no file of an agent here has one"
	}
	if past > 0 {
		text += "; past it: " + few(slices.Concat(v.Alone, v.Remote))
	}
	if len(s.NotRead) > 0 {
		text += "; not read: " + few(s.NotRead)
	}
	switch {
	case len(s.NotRead) > 0 && past == 0:
		s.add("mcp servers", Unknown, "margay doctor", "%s", text)
	case past > 0:
		s.add("mcp servers", map[bool]string{true: Partly, false: Off}[len(v.Wrapped) > 0], "margay mcp wrap", "%s", text)
	case total == 0:
		s.add("mcp servers", None, "", "%s", text)
	default:
		s.add("mcp servers", On, "", "%s", text)
	}
}

// few lists some names.
func few(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// stored says what the store has, if there is one.
func (s *Status) stored(ctx context.Context, c *config.Config, since time.Time) error {
	if _, err := os.Stat(c.StorePath()); err != nil {
		s.Folders = len(c.Taint.Workspaces)
		s.add("folders", folderState(s.Folders), "margay trust add", "%s trusted; nothing is stored yet", invocation.Count(s.Folders, "folder"))
		s.add("questions", "", "", "nothing is stored yet")
		return nil
	}
	st, err := state.Open(ctx, c)
	if err != nil {
		return err
	}
	defer st.Close()
	book, err := mediation.Places(c, st)
	if err != nil {
		return err
	}
	all, err := book.All(ctx)
	if err != nil {
		return problem.Unexpected(err)
	}
	s.Folders = len(c.Taint.Workspaces)
	for i := range all {
		switch {
		case all[i].Trusted:
			s.Folders++
		case all[i].Tool != nil:
			s.Tools++
		default:
			s.Files++
		}
	}
	next := "margay trust add"
	if s.Files > 0 {
		next = "margay trust files"
	}
	s.add("folders", folderState(s.Folders), next, "%s trusted; strangers had a part in %s; you said what %s without a pack does", invocation.Count(s.Folders, "folder"), invocation.Count(s.Files, "known file"), invocation.Count(s.Tools, "tool"))
	desk := confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys})
	rows, err := desk.Rows(ctx, true, store.MaxQuestions)
	if err != nil {
		return problem.Unexpected(err)
	}
	s.Questions = Count(rows, desk.Open, since, time.Now())
	s.Questions.Cut = len(rows) == store.MaxQuestions && !rows[0].Asked.Before(since)
	s.asked()
	return nil
}

func folderState(n int) string { return map[bool]string{true: On, false: Off}[n > 0] }

// asked says what people were asked, in two lines.
func (s *Status) asked() {
	q := s.Questions
	how := "nobody"
	if len(q.By) > 0 {
		var all []string
		for _, by := range slices.Sorted(maps.Keys(q.By)) {
			all = append(all, fmt.Sprintf("%s %d", by, q.By[by]))
		}
		how = few(all)
	}
	next := when(q.Waiting > 0, "margay approve")
	least := when(q.Cut, "at least ")
	s.add("questions", "", next, "%s%s since %s: %d yes, %d yes for a session, %d no, %d not answered, %d waiting; answered by %s",
		least, invocation.Count(q.Asked, "question"), q.Since.Local().Format(time.DateOnly), q.Once, q.Session, q.No, q.Expired, q.Waiting, how)
	s.add("regrets", "", "", "%d of %d yes had a no to the same thing later in their session", q.Regrets, q.Once+q.Session)
}
