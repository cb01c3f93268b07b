package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/console/access"
	"github.com/margaydev/margay/internal/app/console/source"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret"
)

// consoleKey returns the key of one-time tokens. Commands of the same
// installation make them, too.
func consoleKey(k *secret.Keys) []byte {
	key := mediation.Derive(k.Pseudonym, "margay console tokens v1")
	return key[:]
}

// Record returns a recorder of events; nil if the console is off.
func Record(c *config.Config, st *state.State, stored func([]audit.Event), log *slog.Logger) *audit.Recorder {
	if !c.Console.Enabled {
		return nil
	}
	return audit.NewRecorder(audit.RecorderConfig{Events: st.Store, Stored: stored, Failed: func(err error) {
		log.Warn("events are not kept for the console", "error", err)
	}})
}

// TraceOf returns a trace for a recorder without live viewers; nil for none.
func TraceOf(c *config.Config, r *audit.Recorder) *audit.Trace {
	if r == nil {
		return nil
	}
	return &audit.Trace{Happened: r.Happened, Texts: c.Console.Texts}
}

// watch opens the recorder, and returns the trace that engines are made with.
func (s *Server) watch(c *config.Config, st *state.State, log *slog.Logger) *audit.Trace {
	s.recorder = Record(c, st, func(events []audit.Event) {
		if s.console != nil {
			s.console.Publish(events)
		}
	}, log)
	if s.recorder == nil {
		return nil
	}
	s.health.changed = func(u audit.Upstream) {
		s.recorder.Happened(audit.Event{ID: flow.NewID(), At: time.Now().UTC(), Kind: audit.KindUpstream, Sink: u.Name, Payload: audit.Payload{Version: audit.Version, Upstream: &u}})
	}
	trace := TraceOf(c, s.recorder)
	trace.Live = func(id flow.TrajectoryID) bool { return s.console != nil && s.console.Watches(id) }
	return trace
}

// asked records a question, or its answer.
func (s *Server) asked(q *confirm.Question, a confirm.Answer, by string) {
	if s.recorder == nil {
		return
	}
	tool := toolName(s.mask, q.Call.Name)
	s.recorder.Happened(audit.Event{ID: flow.NewID(), Trajectory: q.Trajectory, At: time.Now().UTC(), Kind: audit.KindQuestion, Verb: flow.Call, Payload: audit.Payload{
		Version: audit.Version, Question: &audit.Question{ID: q.ID, Tool: tool, Answer: string(a), By: by},
	}})
}

// toolName masks and shortens the name of a tool: a model chooses it, and may
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

// openConsole opens the console if it is asked for.
func (s *Server) openConsole(c *config.Config, st *state.State, taints *mediator.Taint, held *mediation.Rulebook, engine *mediator.Engine, o *Options) error {
	s.mask = engine.Masker
	if !o.Console || !c.Console.Enabled {
		return nil
	}
	who, err := accessOf(c, consoleKey(&st.Keys))
	if err != nil {
		return err
	}
	var desk *confirm.Desk
	if taints != nil {
		desk = taints.Desk
	}
	if desk == nil { // another process may ask
		book, err := mediation.Places(c, st)
		if err != nil {
			return err
		}
		desk = confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Say: mediation.Say(book), Trust: mediation.Trust(book)})
	}
	var notices []string
	if open := c.PassingUpstreams(); len(open) > 0 || c.OnError == "pass" {
		notices = append(notices, "on_error is pass: what Margay fails to decide goes out as it is.")
	}
	if c.Observe {
		notices = append(notices, "Observing: findings are reported, and nothing is changed.")
	}
	packs := sync.OnceValue(func() console.Packs { return source.Packs(&c.Taint) })
	cfg := console.Config{
		Events: st.Store, Secrets: st.Store, Desk: desk, Access: who, Mask: engine.Masker, Upstreams: s.health.list,
		Packs:    func() console.Packs { return packs().Clone() },
		Answered: s.asked, Lost: s.recorder.Lost, Notices: notices, Texts: c.Console.Texts, Log: o.Log, Now: time.Now,
	}
	// A ledger that starts while this runs is shown after the next start.
	kept, err := source.OpenBooks(c, st)
	if err != nil {
		return err
	}
	if kept != nil {
		cfg.Books = kept
	}
	if page := source.Rubrics(c, held, kept, mediation.ValueKey(&st.Keys)); page != nil {
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
		a.Users[name] = access.User{Hash: u.Password, Role: cmp.Or(access.Role(u.Role), access.Viewer)}
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

// Console returns the address of the console with a token that opens one
// session; empty if there is no console.
func (s *Server) Console(k *secret.Keys) string {
	if s.console == nil {
		return ""
	}
	return ConsoleURL(s.ln.Addr().String(), k)
}

// ConsoleURL is the address of a console at a listener's address, with a token
// behind the #, which neither servers nor logs see.
func ConsoleURL(addr string, k *secret.Keys) string {
	if host, port, err := net.SplitHostPort(addr); err == nil {
		if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
	}
	return "http://" + addr + "/console/login#" + access.Token(consoleKey(k), time.Now())
}
