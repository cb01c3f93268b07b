package serve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/console"
	"github.com/margaydev/margay/internal/console/access"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/taint/pack"
)

// ConsoleOptions are what a server's console needs besides the configuration.
type ConsoleOptions struct {
	Key []byte // of one-time tokens
}

// ConsoleKey returns the key of the one-time tokens that commands of the same
// installation make.
func ConsoleKey(k *secret.Keys) []byte {
	h := hmac.New(sha256.New, k.Pseudonym[:])
	h.Write([]byte("margay console tokens v1"))
	return h.Sum(nil)
}

// Record returns a recorder of what happens; nil where the configuration wants
// none.
func Record(c *config.Config, st *state.State, stored func([]mediator.TraceEvent), log *slog.Logger) *mediator.Recorder {
	if !c.Console.Enabled {
		return nil
	}
	return mediator.NewRecorder(mediator.RecorderConfig{Events: st.Store, Stored: stored, Failed: func(err error) {
		log.Warn("what happens is not kept for the console", "error", err)
	}})
}

// TraceOf is what engines tell a recorder that nobody looks over the shoulder
// of; nil for none.
func TraceOf(c *config.Config, r *mediator.Recorder) *mediator.Trace {
	if r == nil {
		return nil
	}
	return &mediator.Trace{Happened: r.Happened, Texts: c.Console.Texts}
}

// watch prepares the recorder and what the engines tell it, before these are
// made.
func (s *Server) watch(c *config.Config, st *state.State, log *slog.Logger) *mediator.Trace {
	s.recorder = Record(c, st, func(events []mediator.TraceEvent) {
		if s.console != nil {
			s.console.Happened(events)
		}
	}, log)
	if s.recorder == nil {
		return nil
	}
	s.health.changed = func(u mediator.UpstreamTrace) {
		s.recorder.Happened(mediator.TraceEvent{ID: flow.NewID(), At: time.Now().UTC(), Kind: mediator.EventUpstream, Sink: u.Name, Payload: mediator.Payload{Version: mediator.TraceVersion, Upstream: &u}})
	}
	return &mediator.Trace{Happened: s.recorder.Happened, Texts: c.Console.Texts, Live: func(id flow.TrajectoryID) bool {
		return s.console != nil && s.console.Watches(id)
	}}
}

// asked tells those who look on of a question, and of its answer.
func (s *Server) asked(q *confirm.Question, a confirm.Answer, by string) {
	if s.recorder == nil {
		return
	}
	tool := toolName(s.mask, q.Call.Name)
	s.recorder.Happened(mediator.TraceEvent{ID: flow.NewID(), Trajectory: q.Trajectory, At: time.Now().UTC(), Kind: mediator.EventQuestion, Verb: flow.Call, Payload: mediator.Payload{
		Version: mediator.TraceVersion, Question: &mediator.QuestionTrace{ID: q.ID, Tool: tool, Answer: string(a), By: by},
	}})
}

// toolName is the name of a tool as it may be told: a model chooses it, and may
// have put a secret there.
func toolName(masker func(context.Context) (func(string) string, error), name string) string {
	const most, unknown = 256, "(a tool whose name can't be shown)"
	if masker == nil {
		return unknown
	}
	mask, err := masker(context.Background())
	if err != nil {
		return unknown
	}
	name = mask(name[:min(len(name), 16*most)])
	return name[:min(len(name), most)]
}

// open opens the console, where it is asked for.
func (s *Server) openConsole(c *config.Config, st *state.State, taints *mediator.Taint, held *rulebook, engine *mediator.Engine, o *Options) error {
	s.mask = engine.Masker
	if o.Console == nil || !c.Console.Enabled {
		return nil
	}
	who, err := accessOf(c, o.Console.Key)
	if err != nil {
		return err
	}
	var desk *confirm.Desk
	if taints != nil {
		desk = taints.Desk
	}
	if desk == nil { // another process may ask
		desk = confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys})
	}
	var notices []string
	if open := c.OpenOnError(); len(open) > 0 || c.OnError == "pass" {
		notices = append(notices, "on_error is pass: what Margay fails to decide goes out as it is.")
	}
	if c.Observe {
		notices = append(notices, "Observing: findings are reported, and nothing is changed.")
	}
	var once sync.Once
	var packs console.Packs
	cfg := console.Config{
		Events: st.Store, Secrets: st.Store, Desk: desk, Access: who, Mask: engine.Masker, Upstreams: s.health.list,
		Packs: func() console.Packs {
			once.Do(func() { packs = packsOf(&c.Taint) })
			return packs.Clone()
		},
		Results: c.Console.Results, Answered: s.asked, Lost: s.recorder.Lost, Notices: notices, Texts: c.Console.Texts, Log: o.Log,
	}
	// A ledger that is begun while this runs is shown from the next start on.
	kept, err := booksOf(c, st)
	if err != nil {
		return err
	}
	if kept != nil {
		cfg.Budgets, cfg.Ledger = kept, kept
	}
	if page := rubricsOf(c, held); page != nil {
		page.books, page.key = kept, valueKey(&st.Keys)
		cfg.Rubrics = page
	}
	s.console, err = console.New(cfg)
	if err != nil {
		return problem.Usage("margay console password makes a hash", "%w", err)
	}
	return nil
}

// accessOf is who may use the console.
func accessOf(c *config.Config, key []byte) (access.Config, error) {
	a := access.Config{Key: key, Hosts: c.Access.Hosts, Header: c.Console.Header, Operators: c.Console.Operators, Users: map[string]access.User{}}
	for name, u := range c.Console.Users {
		role := access.Viewer
		if u.Role == "operator" {
			role = access.Operator
		}
		a.Users[name] = access.User{Hash: u.Password, Role: role}
	}
	for _, p := range c.Console.Proxies {
		prefix, err := config.Proxy(p)
		if err != nil {
			return a, problem.Usage("such as 10.0.0.2 or 10.0.0.0/8", "console.proxies: %w", err)
		}
		a.Proxies = append(a.Proxies, prefix)
	}
	return a, nil
}

// packsOf are the packs that a configuration names, and what lint finds.
func packsOf(t *config.Taint) console.Packs {
	out := console.Packs{Mode: t.Mode, Packs: []console.Pack{}, Findings: []console.PackFinding{}}
	found := func(all ...pack.Finding) {
		for i := range all {
			f := &all[i]
			out.Findings = append(out.Findings, console.PackFinding{Pack: f.Pack, Line: f.Line, Code: f.Code, Detail: f.Detail})
		}
	}
	names := t.Packs
	if len(names) == 0 {
		names = pack.Names()
	}
	for _, name := range names {
		p, err := load(name)
		if err != nil {
			found(pack.FindingOf(name, err))
			continue
		}
		if len(t.Packs) == 0 && p.Kind == pack.Suite {
			continue
		}
		found(pack.Lint(p)...)
		one := console.Pack{Name: p.Name, Title: p.Title, Kind: string(p.Kind), For: p.For, File: p.File, Tools: []console.PackTool{}}
		if slices.Contains(pack.Names(), name) {
			one.File = ""
		}
		for i := range p.Tools {
			one.Tools = append(one.Tools, console.PackTool{Name: p.Tools[i].Name, Worst: p.Tools[i].Worst, Policy: append([]string{}, p.Tools[i].Policy...)})
		}
		out.Packs = append(out.Packs, one)
	}
	return out
}

// Console returns the address of the console with a token that opens one
// session; empty where there is none.
func (s *Server) Console(key []byte) string {
	if s.console == nil {
		return ""
	}
	return ConsoleURL(s.ln.Addr().String(), key)
}

// ConsoleURL is the address of a console at a listener's address, with a token
// behind the #, which neither servers nor logs see.
func ConsoleURL(addr string, key []byte) string {
	if host, port, err := net.SplitHostPort(addr); err == nil {
		if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + addr + "/console/login#" + access.Token(key, time.Now())
}
