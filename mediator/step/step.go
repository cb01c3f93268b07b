package step

import (
	"context"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/clear"
)

// Step is one step of an agent: a conversation with its labels, and what the
// model may do next. It belongs to a Session.
type Step struct {
	asker
	turns   []flow.Turn
	tools   []flow.OfferedTool
	place   []place  // by message of h
	after   []string // what each comes after, and what the answer does
	partial bool     // the server keeps a part of the conversation
	context label.Label
	text    func(part int) string
	denied  map[clear.Digest]bool // calls that were refused in this step
}

// place is what a message of the history is in the request.
type place struct{ turn, part int }

// New labels a conversation; nil where labels are not looked at. Text returns
// a part as the model is to see it. Elsewhere says that the server keeps a part
// of the conversation.
func New(ctx context.Context, t *Trajectory, turns []flow.Turn, tools []flow.OfferedTool, elsewhere bool, text func(part int) string) *Step {
	s, cfg := t.s, t.cfg
	if cfg == nil {
		return nil
	}
	elsewhere = elsewhere || slices.ContainsFunc(turns, func(t flow.Turn) bool { return t.Kept })
	st := &Step{asker: asker{s: s, cfg: cfg, policy: t.policy}, turns: turns, tools: tools, partial: elsewhere, text: text}
	mem := s.Labels.Memory(cfg.Book())
	said := saidBy{mem, map[*taint.Turn]label.Label{}}
	described := st.describe(ctx, tools)
	scheme := cfg.Policy.Scheme()
	all := st.texts()
	st.uniform(all, mem, said.known)
	started := s.Labels.Known()
	st.h = (&taint.Labeller{Policy: st.policy, Cache: mem, Steps: said, Floor: s.Labels.Highest(label.Label{})}).History(all, described)
	if !started { // what a conversation starts with is known from then on
		for i := range all {
			if _, ok := said.known[&all[i]]; !ok && all[i].Role == flow.RoleAssistant && all[i].Text != "" && all[i].Kind != clear.KindResult {
				mem.Remember(toSay(&all[i], st.after[i]), st.h.Messages[i].Regions[0].Label)
			}
		}
	}
	st.context = st.h.Context()
	if elsewhere {
		st.context = scheme.Lattice.Join(st.context, s.Labels.Highest(scheme.Worst()))
	}
	s.Labels.Rise(scheme.Lattice, st.context)
	traceStep(s, st.h, st.context, st.partial)
	return st
}

// texts are the messages of the history.
func (st *Step) texts() []taint.Turn {
	var out []taint.Turn
	relays := map[string]bool{} // by the call
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
			turn := taint.Turn{Role: flow.RoleTool, Kind: clear.KindResult, Text: strings.Join(texts, "\n"), Call: t.Result, Opaque: t.Opaque || t.Foreign}
			if quotes := st.s.Quotes; quotes != nil && relays[t.Result] {
				turn.Quoted = quotes.Find(turn.Text)
			}
			add(turn, place{i, -1})
			continue
		}
		for k, p := range t.Parts {
			turn := taint.Turn{Role: t.Role, Text: st.text(p), Part: k > 0}
			if quotes := st.s.Quotes; quotes != nil && speaks(t.Role) {
				turn.Quoted = quotes.Find(turn.Text)
			}
			add(turn, place{i, p})
		}
		if len(t.Parts)+len(t.Calls) == 0 {
			add(taint.Turn{Role: t.Role}, place{i, -1})
		}
		for k := range t.Calls {
			c := &t.Calls[k]
			tool, ok := st.policy.Tool(c.Name)
			relays[c.ID] = ok && tool.Relays
			add(taint.Turn{Role: flow.RoleAssistant, Kind: clear.KindCall, Text: session.Arguments(c.Arguments), Tool: c.Name, Call: c.ID}, place{i, -1})
		}
	}
	return out
}

func speaks(r flow.Role) bool {
	return r == flow.RoleSystem || r == flow.RoleDeveloper || r == flow.RoleUser
}

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

// Recall implements taint.Steps.
func (s saidBy) Recall(t *taint.Turn) (label.Label, bool) {
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
		if st.after[to] = after; all[to-1].Kind == clear.KindResult || all[to-1].Role == flow.RoleAssistant {
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
				one, ok = mem.Recall(&said)
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
