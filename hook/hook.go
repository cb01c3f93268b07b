// Package hook answers the hooks of agent harnesses: programs that Claude Code,
// Codex and Cursor run at every step, with one JSON event on standard input and
// the answer on standard output, in the harness's own contract.
//
// What an event carries goes through the mediator: a prompt and a tool's
// result on their way to the model, a call on its way to a tool. If the
// contract allows it, the answer is the edited value; otherwise it blocks,
// with a reason that the model or the person can act on. What a harness only
// reports after the fact is recorded and reported.
//
// A harness is one value: its table of events, what a hook can do at each,
// and its table of answers. To add a harness, add one file.
//
// Everything fails closed. An event is blocked if it can't be read, if it is
// unknown and carries data, or if it can't be decided. Exit codes are only 0
// and 2, since with every other one the harness proceeds.
//
// A Handler decides by itself; [Ask] and [Serve] carry events to one in
// another process, over a local socket.
package hook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
)

// Exit codes. No other is ever returned: with any other code, harnesses
// proceed.
const (
	Done  = 0
	Block = 2
)

// MaxEvent bounds an event, in bytes.
const MaxEvent = 32 << 20

// MaxTime bounds a decision.
const MaxTime = 15 * time.Second

// Answer is what a hook process returns.
type Answer struct {
	Exit int // Done or Block
	Out  cut.Released
	Err  cut.Released
}

// Config is what a Handler needs.
type Config struct {
	Engine *mediator.Engine
	// Key derives trajectories from the sessions of harnesses, so that all
	// hooks of one session share one, in whatever process. It is secret.
	Key [32]byte
	// Joined: all events belong to the engine's one trajectory.
	Joined bool
	// Whole: that trajectory started with this process, which has seen all of
	// it.
	Whole bool
}

// Handler decides about events. It is safe for concurrent use.
type Handler struct{ cfg Config }

// New returns a handler.
func New(cfg Config) *Handler { return &Handler{cfg} }

// Names lists the harnesses.
func Names() []string {
	var out []string
	for _, h := range harnesses {
		out = append(out, h.name)
	}
	return out
}

// harnesses are all that are known.
var harnesses = []*harness{&claudeCode, &codex, &cursor}

func named(name string) *harness {
	for _, h := range harnesses {
		if h.name == name {
			return h
		}
	}
	return nil
}

// harness is one program's contract.
type harness struct {
	name string
	// session are the keys of the conversation's id, the best first.
	session []string
	// own are keys of every event that the harness itself fills: ids, paths.
	own []string
	// events by their names.
	events map[string]event
	// answers are the forms of what was decided about an event.
	answers forms
	// servers is the prefix of the tools of MCP servers, whose results have a
	// form of their own.
	servers string
	// later reports whether a call comes again with another event, at which
	// the harness can ask a person; nil where none does.
	later func(in *input) bool
}

// event is what is known of one kind of event.
type event struct {
	// verb is what flows: Prompt, Call, Observe; Tell where the harness
	// reports what happened and waits for no answer; empty where nothing flows.
	verb flow.Verb
	// flows are the keys of what flows. An edit is made in the first.
	flows []string
	// nested: what flows is a string that holds JSON.
	nested bool
	// past are keys of what flowed before, and was decided then.
	past []string
	// own are keys that the harness itself fills, besides those of all events.
	own []string
	// edits: the contract has a place for an edited value.
	edits bool
	// foreign: that place is for the results of MCP servers alone. Others are
	// only reported.
	foreign bool
	// calls: a tool is called, if nothing stops it. asks: the harness asks a
	// person if the answer says so. result: what flows is a tool's result.
	calls, asks, result bool
}

// input is an event that was read.
type input struct {
	doc     strictjson.Doc
	harness *harness
	name    string
	event   event
	known   bool
	tool    string
}

// outcome is what happens to an event.
type outcome string

const (
	allow outcome = "allow"
	note  outcome = "note" // it goes on, with a note about it
	edit  outcome = "edit" // it goes on as edited
	ask   outcome = "ask"  // a person decides
	block outcome = "block"
)

// decision is what was decided about an event.
type decision struct {
	outcome outcome
	reason  string        // for the model, and the person
	value   *cut.Released // JSON of what flows, edited; nil for none
}

// Failed is the answer to an event that could not be read or decided. It blocks
// in every harness.
func Failed(format string, args ...any) Answer {
	return blocked("margay: " + fmt.Sprintf(format, args...) + "; nothing passes. margay doctor looks for what is wrong.")
}

// Handle decides about one event of a harness. It never fails: what can't be
// decided is blocked.
func (h *Handler) Handle(ctx context.Context, harness string, raw []byte) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = h.refused(ctx, "internal error of type %T", p) // its value may quote the event
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	in, err := read(harness, raw)
	if err != nil {
		return h.refused(ctx, "%v", err)
	}
	s, err := h.session(ctx, in)
	if err != nil {
		return h.refused(ctx, "the store failed: %v", err)
	}
	return in.answer(h.decide(ctx, s, in))
}

// read reads an event strictly.
func read(name string, raw []byte) (*input, error) {
	in := &input{harness: named(name)}
	if in.harness == nil {
		return nil, fmt.Errorf("unknown harness; known harnesses are %s", strings.Join(Names(), ", "))
	}
	if err := in.doc.ParseObject(raw, strictjson.Limits{MaxBytes: MaxEvent, MaxNodes: 1 << 20}); err != nil {
		return nil, fmt.Errorf("the event can't be read: %w", err)
	}
	at := in.doc.Find(0, "hook_event_name")
	if at < 0 || in.doc.Nodes[at].Kind != strictjson.String {
		return nil, errors.New("the event has no hook_event_name")
	}
	in.name = in.doc.Text(at)
	in.event, in.known = in.harness.events[in.name]
	if !in.known && in.harness == &claudeCode {
		// Cursor runs Claude Code's hooks, too. Some of its events have its own
		// names there; it reads its own answers to them.
		if e, ok := cursor.events[in.name]; ok {
			in.harness, in.event, in.known = &cursor, e, true
		}
	}
	in.tool = in.doc.Text(in.doc.Find(0, "tool_name"))
	if in.event.foreign && !in.mcp() {
		in.event.verb = flow.Tell
	}
	return in, nil
}

// mcp reports whether the tool is one of an MCP server.
func (in *input) mcp() bool { return strings.HasPrefix(in.tool, in.harness.servers) }

// session opens the trajectory of an event.
func (h *Handler) session(ctx context.Context, in *input) (*mediator.Session, error) {
	r := &mediator.SessionRequest{Caller: "hook", Sink: flow.Sink{Name: "hook", Channel: flow.ChannelTool, Trust: flow.TrustPublic}}
	r.Caller += " " + in.harness.name
	r.Start, r.Dir = h.start(in), in.dir()
	r.Sink.Name = in.harness.name
	switch in.event.verb {
	case flow.Prompt, flow.Observe:
		r.Sink.Channel, r.Sink.Trust = flow.ChannelModel, flow.TrustProvider
	case flow.Tell:
		r.Sink.Channel, r.Sink.Trust = flow.ChannelUser, flow.TrustLocal
	default:
	}
	if !h.cfg.Joined {
		r.Trajectory = h.trajectory(in)
	}
	return h.cfg.Engine.Session(ctx, r)
}

// trajectory derives the id of an event's trajectory from the harness's id of
// the conversation: a ULID of the first instant, whose random part is keyed.
// An event without one has a trajectory of its own.
func (h *Handler) trajectory(in *input) string {
	for _, key := range in.harness.session {
		id := in.doc.Text(in.doc.Find(0, key))
		if id == "" {
			continue
		}
		m := hmac.New(sha256.New, h.cfg.Key[:])
		fmt.Fprintf(m, "margay hook trajectory v1|%d|%s|%s", len(in.harness.name), in.harness.name, id)
		return "0000000000" + crockford.EncodeToString(m.Sum(nil)[:10])
	}
	return ""
}

var crockford = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// refused records an event that could not be read or decided, and answers it.
func (h *Handler) refused(ctx context.Context, format string, args ...any) Answer {
	detail := fmt.Sprintf(format, args...)
	r := &mediator.SessionRequest{Sink: flow.Sink{Name: "hook", Channel: flow.ChannelTool, Trust: flow.TrustPublic}, Refuses: true}
	explain := ""
	if s, serr := h.cfg.Engine.Session(ctx, r); serr == nil {
		explain = explained(refusal(ctx, s, "hook-refused", detail))
	}
	return Failed("%s%s", detail, explain)
}

// refusal records what is refused here and returns the id of the decision, which
// is empty where the log fails.
func refusal(ctx context.Context, s *mediator.Session, code, detail string) string {
	r := s.Decide(ctx, flow.Tell, &mediator.Message{Outcome: flow.Deny, Notes: []flow.Reason{{Code: code, Detail: detail, Action: flow.ActBlock}}})
	return r.Decision.ID
}

// explained says how a decision is explained; nothing where there is none.
func explained(decision string) string {
	if decision == "" {
		return ""
	}
	return " (margay explain " + decision + ")"
}
