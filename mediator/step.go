package mediator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// Taint is how tool calls are held to what they may follow from.
type Taint struct {
	Policy *taint.Policy
	Key    taint.Key // that calls' digests are keyed by
	// Desk asks a person; nil for nobody, so that what would be asked is denied.
	Desk *confirm.Desk
	// Foreign reports whether strangers may have described a tool that no
	// pack knows; nil: any.
	Foreign func(tool string) bool
	// Report only tells what would be done.
	Report bool
	// Screen says which part of a history a step is made from; nil: all of
	// it, and a step whose calls its labels are too high for is made again
	// without what they must not follow from (clearance replay).
	Screen taint.Screener
	// NoReplay asks instead of making a step again.
	NoReplay bool
	// MaxReplays bounds the steps that are made again in one trajectory, as
	// whether one is made again is itself under the influence of what was
	// read; 256 by default.
	MaxReplays int
	// MaxTold bounds how often in one step a model whose calls were all
	// refused is told so and goes on at once, instead of with the next request;
	// 1 by default, negative for never.
	MaxTold int
	// Peer is another process that decides about the same trajectories; nil
	// for none.
	Peer Peer
	// MaxMemory bounds the bytes of labels that one trajectory remembers;
	// 4 MiB by default.
	MaxMemory int

	family  labels // of the trajectory that all engines of a family share
	quoting sync.Mutex
	quotes  map[[32]byte]*taint.Quotes // by caller
}

// Step is one step of an agent: a conversation with its labels, and what the
// model may do next. It belongs to a Session.
type Step struct {
	s       *Session
	cfg     *Taint
	h       *taint.History
	turns   []flow.Turn
	tools   []flow.OfferedTool
	place   []place  // by message of h
	after   []string // what each comes after, and what the answer does
	partial bool     // the server keeps a part of the conversation
	context label.Label
	text    func(part int) string
	denied  map[taint.Digest]bool // calls that were refused in this step
}

// place is what a message of the history is in the request.
type place struct{ turn, part int }

// Step labels a conversation; nil where labels are not looked at. Text returns
// a part as the model is to see it. Elsewhere says that the server keeps a part
// of the conversation.
func (s *Session) Step(turns []flow.Turn, tools []flow.OfferedTool, elsewhere bool, text func(part int) string) *Step {
	cfg := s.e.cfg.Taint
	if cfg == nil {
		return nil
	}
	elsewhere = elsewhere || slices.ContainsFunc(turns, func(t flow.Turn) bool { return t.Kept })
	st := &Step{s: s, cfg: cfg, turns: turns, tools: tools, partial: elsewhere, text: text}
	mem := s.t.labels.memory(cfg)
	said := saidBy{mem, map[*taint.Turn]label.Label{}}
	offered := make([]string, len(tools))
	for i := range tools {
		offered[i] = tools[i].Name
	}
	foreign := cfg.Foreign
	if foreign == nil {
		foreign = func(string) bool { return true }
	}
	described := cfg.Policy.Describe(offered, foreign)
	scheme := cfg.Policy.Scheme()
	for i := range tools {
		if tools[i].Server {
			described[i].Label = scheme.Worst()
		}
	}
	all := st.texts()
	st.uniform(all, mem, said.known)
	begun := s.t.labels.hasBegun()
	st.h = (&taint.Labeller{Policy: cfg.Policy, Cache: mem, Steps: said, Floor: s.t.labels.highest(label.Label{})}).History(all, described)
	if !begun { // what a conversation begins with is known from then on
		for i := range all {
			if _, ok := said.known[&all[i]]; !ok && all[i].Role == flow.RoleAssistant && all[i].Text != "" && all[i].Kind != taint.KindResult {
				mem.Say(toSay(&all[i], st.after[i]), st.h.Messages[i].Regions[0].Label)
			}
		}
	}
	st.context = st.h.Context()
	if elsewhere {
		st.context = scheme.Lattice.Join(st.context, s.t.labels.highest(scheme.Worst()))
	}
	s.t.labels.rise(scheme.Lattice, st.context)
	st.traceStep()
	return st
}

// texts are the messages of the history.
func (st *Step) texts() []taint.Turn {
	var out []taint.Turn
	add := func(t taint.Turn, p place) {
		out = append(out, t)
		st.place = append(st.place, p)
	}
	for i := range st.turns {
		t := &st.turns[i]
		if t.Result != "" || !speaks(t.Role) && t.Role != flow.RoleAssistant {
			texts := make([]string, len(t.Parts))
			for k, p := range t.Parts {
				texts[k] = st.text(p)
			}
			add(taint.Turn{Role: flow.RoleTool, Kind: taint.KindResult, Text: strings.Join(texts, "\n"), Call: t.Result, Opaque: t.Opaque}, place{i, -1})
			continue
		}
		for k, p := range t.Parts {
			turn := taint.Turn{Role: t.Role, Text: st.text(p), Part: k > 0}
			if quotes := st.s.t.quotes; quotes != nil && speaks(t.Role) {
				turn.Quoted = quotes.Find(turn.Text)
			}
			add(turn, place{i, p})
		}
		if len(t.Parts)+len(t.Calls) == 0 {
			add(taint.Turn{Role: t.Role}, place{i, -1})
		}
		for k := range t.Calls {
			c := &t.Calls[k]
			add(taint.Turn{Role: flow.RoleAssistant, Kind: taint.KindCall, Text: canonical(c.Arguments), Tool: c.Name, Call: c.ID}, place{i, -1})
		}
	}
	return out
}

func speaks(r flow.Role) bool {
	return r == flow.RoleSystem || r == flow.RoleDeveloper || r == flow.RoleUser
}

// canonical is a call's arguments in the one form in which they are
// remembered: clients write them anew.
func canonical(args string) string { return Arguments(args) }

// toSay is a text of the model's as it is remembered: clients trim texts, and
// the ids of calls are not known when they are made. In place of an id there is
// what it came after, so that the same that is said elsewhere is another.
func toSay(t *taint.Turn, after string) taint.Turn {
	return taint.Turn{Role: t.Role, Kind: t.Kind, Text: strings.TrimSpace(t.Text), Tool: t.Tool, Call: after}
}

var turnSeed = maphash.MakeSeed()

// stamp is what stands for what a model's turn comes after: the last result or
// words of the model's. What users say is not looked at, since clients change
// that afterwards.
func stamp(t *taint.Turn) string {
	return strconv.FormatUint(maphash.String(turnSeed, strings.TrimSpace(t.Text)), 36)
}

// saidBy gives all that one turn of the assistant's said one label.
type saidBy struct {
	*taint.Memory
	known map[*taint.Turn]label.Label
}

// Said implements taint.Steps.
func (s saidBy) Said(t *taint.Turn) (label.Label, bool) {
	l, ok := s.known[t]
	return l, ok
}

// uniform finds the labels of the assistant's turns: the join of what is
// remembered of their texts and calls, unknown where one of them is.
func (st *Step) uniform(all []taint.Turn, mem *taint.Memory, known map[*taint.Turn]label.Label) {
	scheme := st.cfg.Policy.Scheme()
	st.after = make([]string, len(all)+1)
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && st.place[to].turn == st.place[from].turn {
			to++
		}
		after := st.after[from]
		for i := from; i < to; i++ {
			st.after[i] = after
		}
		if st.after[to] = after; all[to-1].Kind == taint.KindResult || all[to-1].Role == flow.RoleAssistant {
			st.after[to] = stamp(&all[to-1])
		}
		if t := &st.turns[st.place[from].turn]; t.Role == flow.RoleAssistant && t.Result == "" {
			var l label.Label
			ok, some := true, false
			for i := from; i < to && ok; i++ {
				said := toSay(&all[i], after)
				if said.Text == "" {
					continue
				}
				var one label.Label
				one, ok = mem.Said(&said)
				some = true
				l = scheme.Lattice.Join(l, one)
			}
			ok = ok && some // of nothing nothing is known
			if t.Foreign {
				l, ok = scheme.Worst(), true
			}
			for i := from; i < to && ok; i++ {
				known[&all[i]] = l
			}
		}
		from = to
	}
}

// Wrapped are the new texts of the results of tools, in which they are quoted
// as data, by part.
func (st *Step) Wrapped() map[int]string {
	out := map[int]string{}
	if st.cfg.Report {
		return out
	}
	for i := range st.h.Messages {
		m := &st.h.Messages[i]
		if m.Kind != taint.KindResult {
			continue
		}
		for _, p := range st.turns[st.place[i].turn].Parts {
			out[p] = taint.Wrap(m.Tool, st.text(p))
		}
	}
	return out
}

// Holds reports whether an answer that is made from a view must be held until
// all its calls are known, as the step may be made again: the view is too high
// for some tool that the model is offered.
func (st *Step) Holds(from View) bool {
	if from.Label == (label.Label{}) || st.cfg.Report || st.partial || st.cfg.NoReplay {
		return false
	}
	for i := range st.tools {
		if !st.tools[i].Server && !st.cfg.Policy.Fits(st.tools[i].Name, from.Label) {
			return true
		}
	}
	return false
}

// Passes reports whether one call of an answer that was made from a view may
// be made unasked. It fails closed.
func (st *Step) Passes(ctx context.Context, call flow.ToolCall, from View) bool {
	calls := []flow.ToolCall{call}
	r, err := st.Rule(ctx, calls, from)
	if err != nil || r.Outcome() != flow.Allow {
		return false
	}
	st.s.t.labels.permitAll(st.cfg.Key, calls)
	return true
}

// Note writes to the log that a step was made again, and why.
func (st *Step) Note(ctx context.Context, r *Ruling) error {
	d := st.s.decision(flow.Call)
	d.Outcome = flow.Rewrite
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Outcome != flow.Allow {
			d.Reasons = append(d.Reasons, v.Reasons...)
		}
	}
	d.Reasons = append(d.Reasons, flow.Reason{Code: "replayed", Detail: "the step was made again without what its calls must not follow from", Action: flow.ActRedact})
	return st.s.record(ctx, &Result{Decision: d})
}

// First is the view that the step is made from: all of the history, unless a
// screener takes less for relevant. It reports false for all of it.
func (st *Step) First(ctx context.Context) (View, bool) {
	if st.cfg.Screen == nil || st.partial || st.context == (label.Label{}) || st.cfg.Report {
		return View{Label: st.context, level: taint.Everything()}, false
	}
	level, err := st.cfg.Screen.Screen(ctx, st.h)
	if err != nil {
		level = taint.Everything() // an adviser that fails costs questions, never security
	}
	return st.view(level, false), true
}

// Settle asks about the calls that need it, and returns those that are not
// made, by their place, with what the model is told instead. What was decided
// is in the log before it returns.
func (st *Step) Settle(ctx context.Context, r *Ruling) (map[int]string, error) {
	refused := map[int]string{}
	d := st.s.decision(flow.Call)
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Outcome == flow.Allow {
			continue
		}
		d.Reasons = append(d.Reasons, v.Reasons...)
		if st.cfg.Report {
			for k := range d.Reasons {
				d.Reasons[k].Action = flow.ActReport
			}
			continue
		}
		answer, why := confirm.Deny, ""
		if v.Outcome == flow.Confirm {
			answer, why = st.askOnce(ctx, v, r.view.Label)
		}
		if answer == confirm.Deny {
			refused[i] = st.told(v, why)
			d.Reasons = append(d.Reasons, flow.Reason{Code: "call-refused", Detail: refused[i], Action: flow.ActBlock})
			d.Outcome = flow.Deny
			continue
		}
		d.Reasons = append(d.Reasons, flow.Reason{Code: taint.CodeConfirmed, Detail: "allowed by a person: " + string(answer), Action: flow.ActAllow})
		if d.Outcome == flow.Allow {
			d.Outcome = flow.Confirm
		}
	}
	if len(d.Reasons) == 0 {
		return refused, nil
	}
	res := Result{Decision: d}
	return refused, st.s.record(ctx, &res)
}

// askOnce asks a person about a call that was not refused in this step.
func (st *Step) askOnce(ctx context.Context, v *taint.Verdict, under label.Label) (confirm.Answer, string) {
	d, err := st.cfg.Key.Digest(v.Call)
	if err != nil {
		return confirm.Deny, err.Error()
	}
	if st.denied[d] {
		return confirm.Deny, "it was refused before"
	}
	answer, why := st.ask(ctx, v, under)
	if answer == confirm.Deny {
		if st.denied == nil {
			st.denied = map[taint.Digest]bool{}
		}
		st.denied[d] = true
	}
	return answer, why
}

// ask asks a person about a call. The error says why nobody said yes.
func (st *Step) ask(ctx context.Context, v *taint.Verdict, under label.Label) (confirm.Answer, string) {
	desk := st.cfg.Desk
	if desk == nil {
		return confirm.Deny, "there is nobody to ask"
	}
	q, err := st.question(v, under)
	if err != nil {
		return confirm.Deny, err.Error()
	}
	if err := desk.Put(ctx, q); err != nil {
		return confirm.Deny, err.Error()
	}
	answer, err := desk.Wait(ctx, q)
	switch {
	case errors.Is(err, confirm.ErrExpired):
		return confirm.Deny, "question " + q.ID + " had no answer in time"
	case err != nil:
		return confirm.Deny, err.Error()
	case answer == confirm.Deny:
		return confirm.Deny, "the user said no"
	}
	return answer, ""
}

// maxExcerpt bounds what a question quotes of a region, in bytes.
const maxExcerpt = 240

func (st *Step) question(v *taint.Verdict, under label.Label) (*confirm.Question, error) {
	tq, err := st.cfg.Policy.Question(st.cfg.Key, v, under)
	if err != nil {
		return nil, err
	}
	lat := st.h.Lattice
	q := &confirm.Question{
		Trajectory: st.s.t.id, Digest: tq.Digest, Call: tq.Call, Sink: destination(&tq), Label: lat.Format(under), Needs: tq.Limit.Format(lat), Free: tq.Free,
	}
	if g, err := st.cfg.Policy.Grant(st.cfg.Key, st.s.t.id, tq.Call, under, tq.Free); err == nil {
		q.Grant = g.Fixed
	}
	flows := map[string]bool{}
	for _, b := range tq.Blame {
		m := &st.h.Messages[b.At.Message]
		region := m.Regions[b.At.Region]
		f := confirm.Fault{Source: cmp.Or(b.From.Tool, string(b.From.Role)), Field: b.From.Field, Label: lat.Format(b.Label), Excerpt: excerpt(m.Text[region.Start:region.End])}
		q.Faults = append(q.Faults, f)
		if b.Label.Confidentiality != "" {
			flows["what "+f.Source+" told"] = true
		}
	}
	q.Flows = slices.Sorted(maps.Keys(flows))
	return q, nil
}

// destination says to whom a call goes, as far as its arguments tell.
func destination(q *taint.Question) string {
	if len(q.Destinations) == 0 {
		return q.Call.Name
	}
	var out []string
	for _, d := range q.Destinations {
		if v, ok := taint.Argument(q.Call, d); ok {
			out = append(out, excerpt(v))
		}
	}
	return cmp.Or(strings.Join(out, ", "), q.Call.Name)
}

func excerpt(s string) string {
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return s
}

// grants are what a person allowed for the trajectory.
func (st *Step) grants(ctx context.Context) ([]taint.Grant, error) {
	if st.cfg.Desk == nil {
		return nil, nil
	}
	qs, err := st.cfg.Desk.Granted(ctx, st.s.t.id)
	if err != nil {
		return nil, err
	}
	var out []taint.Grant
	for _, q := range qs {
		under, err := st.h.Lattice.Parse(q.Label)
		if err != nil {
			continue // it was given under another lattice
		}
		out = append(out, taint.Grant{Trajectory: st.s.t.id, Tool: q.Call.Name, Label: under, Free: q.Free, Fixed: q.Grant})
	}
	return out, nil
}

// told is what the model is told about a call that is not made. It quotes
// nothing but the tool's name.
func (st *Step) told(v *taint.Verdict, why string) string {
	overlay, _ := st.s.t.discovered()
	name := told(st.s.config(flow.Generate, overlay, nil, nil), excerpt(v.Call.Name))
	if why == "" {
		why = "it is never allowed"
	}
	return fmt.Sprintf("[margay: the call of %s was not made: it may not follow from what was read, and %s.]", name, why)
}

// Stand remembers the label of an answer that stands: what it said and called,
// as the client got it. Gone are calls that passed already.
func (st *Step) Stand(texts []string, calls, gone []flow.ToolCall, from View) {
	st.s.t.labels.permitAll(st.cfg.Key, calls)
	mem, quotes := st.s.t.labels.memory(st.cfg), st.s.t.quotes
	var own []string
	if quotes != nil && from.Label != (label.Label{}) {
		own = st.spoken()
	}
	say := func(t taint.Turn) {
		mem.Say(toSay(&t, st.after[len(st.after)-1]), from.Label)
		if quotes != nil {
			quotes.Say(t.Text, from.Label, own)
		}
	}
	for _, t := range texts {
		say(taint.Turn{Role: flow.RoleAssistant, Text: t})
	}
	for _, c := range slices.Concat(calls, gone) {
		say(taint.Turn{Role: flow.RoleAssistant, Kind: taint.KindCall, Text: canonical(c.Arguments), Tool: c.Name})
	}
}

// spoken are the user's and the developer's own texts.
func (st *Step) spoken() []string {
	var out []string
	for i := range st.h.Messages {
		m := &st.h.Messages[i]
		if m.Kind != taint.KindText || !speaks(m.Role) {
			continue
		}
		for _, r := range m.Regions {
			if r.Label == (label.Label{}) {
				out = append(out, m.Text[r.Start:r.End])
			}
		}
	}
	return out
}
