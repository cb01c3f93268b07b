// Package hook answers the hooks of agent harnesses: programs that Claude Code,
// Codex and Cursor run at every step, with one JSON event on standard input and
// the answer on standard output, in the harness's own contract.
//
// What an event carries goes through the mediator: a prompt and a tool's result
// on their way to the model, a call on its way to a tool. Where the contract
// has a place for it, the answer is the edited value; otherwise it blocks, with
// a reason that the model or the person can act on. What a harness only tells
// after the fact is recorded, and said.
//
// A harness is one value: its table of events, what each lets a hook do, and
// how decisions are written. A fourth one is one file.
//
// Everything fails closed. An event that can't be read, is not known and
// carries data, or can't be decided is blocked; exit codes are 0 and 2 alone,
// since every other one lets the harness go on.
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
	"slices"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
)

// Exit codes. No other is ever returned: harnesses let everything pass at
// others.
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
	Out  []byte
	Err  []byte
}

// Config is what a Handler needs.
type Config struct {
	Engine *mediator.Engine
	// Key derives trajectories from the sessions of harnesses, so that all
	// hooks of one session share one, in whatever process. It is secret.
	Key [32]byte
	// Joined: all events belong to the engine's one trajectory.
	Joined bool
	// Whole: that trajectory has begun with this process, which has seen all
	// of it.
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
	// write writes what was decided about an event.
	write func(in *input, d decision) Answer
	// mcp reports whether a tool is one of an MCP server, whose results have
	// a form of their own.
	mcp func(tool string) bool
	// later reports whether a call comes again with another event, at which a
	// person can be asked; nil: none does.
	later func(in *input) bool
}

// event is what is known of one kind of event.
type event struct {
	// verb is what flows: Prompt, Call, Observe; Tell where the harness tells
	// what happened and waits for no answer; empty where nothing flows.
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
	// only told.
	foreign bool
	// calls: a tool is called, if nothing stops it. asks: the harness asks a
	// person where the answer says so. tells: it is what a tool told.
	calls, asks, tells bool
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

// outcome is what is to become of an event.
type outcome uint8

const (
	allow outcome = iota
	note          // it goes on, and something is said about it
	edit          // it goes on as edited
	ask           // a person decides
	block
)

// decision is what was decided about an event.
type decision struct {
	outcome outcome
	reason  string // for the model, and the person
	value   []byte // JSON of what flows, edited
}

// Failed is the answer where an event could not be decided and nothing is
// known of it: it blocks in every harness.
func Failed(format string, args ...any) Answer {
	return Answer{Exit: Block, Err: []byte("margay: " + fmt.Sprintf(format, args...) + "; nothing passes. margay doctor looks for what is wrong.\n")}
}

// Handle decides about one event of a harness. It never fails: what can't be
// decided is blocked.
func (h *Handler) Handle(ctx context.Context, harness string, raw []byte) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = Failed("internal error of type %T", p) // its value may quote the event
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	in, err := read(harness, raw)
	if err != nil {
		h.refused(ctx, err)
		return Failed("%v", err)
	}
	return in.harness.write(in, h.decide(ctx, in))
}

// read reads an event strictly.
func read(name string, raw []byte) (*input, error) {
	in := &input{harness: named(name)}
	if in.harness == nil {
		return nil, errors.New("there is no such harness")
	}
	if err := in.doc.Parse(raw, strictjson.Limits{MaxBytes: MaxEvent, MaxNodes: 1 << 20}); err != nil {
		return nil, fmt.Errorf("the event can't be read: %w", err)
	}
	if in.doc.Nodes[0].Kind != strictjson.Object {
		return nil, errors.New("the event is no object")
	}
	at := in.doc.Find(0, "hook_event_name")
	if at < 0 || in.doc.Nodes[at].Kind != strictjson.String {
		return nil, errors.New("the event has no name")
	}
	in.name = in.doc.Text(at)
	in.event, in.known = in.harness.events[in.name]
	if !in.known && in.harness == &claudeCode {
		// Cursor runs Claude Code's hooks, too, and some of its events come
		// under its own names. It reads its own answers there.
		if e, ok := cursor.events[in.name]; ok {
			in.harness, in.event, in.known = &cursor, e, true
		}
	}
	in.tool = in.doc.Text(in.doc.Find(0, "tool_name"))
	if in.event.foreign && !in.harness.mcp(in.tool) {
		in.event.verb = flow.Tell
	}
	return in, nil
}

// session opens the trajectory of an event.
func (h *Handler) session(ctx context.Context, in *input) (*mediator.Session, error) {
	r := &mediator.SessionRequest{Caller: "hook", Sink: flow.Sink{Name: "hook", Channel: flow.ChannelTool, Trust: flow.TrustPublic}}
	if in != nil {
		r.Caller += " " + in.harness.name
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
	}
	return h.cfg.Engine.Session(ctx, r)
}

// trajectory derives the id of an event's trajectory from the harness's id of
// the conversation: a ULID of the first instant, whose random part is keyed.
// An event without one stands alone.
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

// refused records an event that could not be read.
func (h *Handler) refused(ctx context.Context, err error) {
	if s, serr := h.session(ctx, nil); serr == nil {
		s.Note(ctx, flow.Tell, flow.Deny, flow.Reason{Code: "hook-refused", Detail: err.Error(), Action: flow.ActBlock})
	}
}

// Events lists the events of a harness that are known, by name.
func Events(name string) []string { return events(name, func(event) bool { return true }) }

// Carries lists those at which something flows, by name.
func Carries(name string) []string {
	return events(name, func(e event) bool { return len(e.flows) > 0 })
}

func events(name string, want func(event) bool) []string {
	h := named(name)
	if h == nil {
		return nil
	}
	var out []string
	for name, e := range h.events {
		if want(e) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
