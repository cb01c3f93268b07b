package mediator

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/altered"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/mediator/disclose"
	"github.com/margaydev/margay/mediator/step"
	"github.com/margaydev/margay/taint/clear"
)

// Prompt is a request to a model.
type Prompt struct {
	// Texts are all that leaves with it. The parts of its body have their
	// places as ids.
	Texts []flow.Text
	// Conversation says that the request has one, of Turns with Tools that are
	// offered. Their labels are looked at where the engine does that.
	Conversation bool
	Turns        []flow.Turn
	Tools        []flow.OfferedTool
	// Elsewhere: the server keeps a part of the conversation.
	Elsewhere bool
	// Closed reports whether nothing is shown to the model but what Texts, Turns
	// and Tools say, as far as the rest of the request tells; nil: it may be.
	Closed func() bool
	// Raw is the request as it came; empty where it has no numbers and no names
	// that Texts has not.
	Raw []byte
}

// whole reports whether all that the model is shown is text of the request: no
// picture and no file, nothing that the server keeps or looks up itself, and no
// member of a message that is not known to be its text or a name.
func (p *Prompt) whole() bool {
	if p.Elsewhere || p.Closed == nil || !p.Closed() || slices.ContainsFunc(p.Tools, func(t flow.OfferedTool) bool { return t.Server }) ||
		slices.ContainsFunc(p.Turns, func(t flow.Turn) bool { return t.Kept || t.Foreign }) {
		return false
	}
	calls := map[int]bool{}
	for i := range p.Turns {
		for _, c := range p.Turns[i].Calls {
			for _, part := range c.Parts {
				calls[part] = true
			}
		}
	}
	return !slices.ContainsFunc(p.Texts, func(t flow.Text) bool {
		switch {
		case t.Opaque != "":
			return true
		case t.Role == "", calls[t.ID]:
			return false
		}
		path := t.Path()
		return !plainly[lastOf(path)] && !(t.Role == flow.RoleAssistant && inCall(path))
	})
}

// plainly are the members of a message that have its text, and names of messages,
// tools and calls.
var plainly = map[string]bool{
	"content": true, "text": true, "output": true, "instructions": true, "system": true, "input": true,
	"reasoning": true, "reasoning_content": true, "thinking": true, "refusal": true, "signature": true, "summary": true, "encrypted_content": true,
	"name": true, "id": true, "call_id": true, "tool_call_id": true, "tool_use_id": true,
}

// inCall reports whether a path leads into the arguments of a call, to their names
// too.
func inCall(path string) bool {
	_, rest, ok := strings.Cut(path, ".input")
	return ok && rest != "" && strings.IndexByte(".[{", rest[0]) >= 0
}

// lastOf is the last member of a path; empty where the text is a member's name.
func lastOf(path string) string {
	if strings.HasSuffix(path, "{}") {
		return ""
	}
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return name
}

// Turn is a request to a model that was decided about, and what the model
// answers. Only a turn opens answers, so that each belongs to the step that it
// is made from. It is not safe for concurrent use.
type Turn struct {
	Result
	// Withheld, where not nil, is what the model is not shown of the request. It
	// has all of Edits.
	Withheld *flow.Withheld

	turns []flow.Turn
	plain map[int]string  // Edits without the notes
	notes []disclose.Note // on results

	s    *Session
	step *step.Step // nil where labels are not looked at
	view step.View  // that the answer is made from
}

// Prompt decides about a request to a model. Secrets become the trajectory's
// pseudonyms: what is discovered in one text is looked for in all of them, and
// from then on in the whole trajectory. Results of tools are quoted as data, and
// what the step is not made from is withheld.
func (s *Session) Prompt(ctx context.Context, p *Prompt) *Turn {
	t := &Turn{s: s, Result: s.texts.Prompt(ctx, p.Texts), turns: p.Turns}
	if t.Denied() || !p.Conversation && !p.Elsewhere {
		return t
	}
	s.s.Shown.Whole(func() bool {
		s.s.Shown.Add(string(p.Raw))
		return p.whole()
	})
	parts := map[int]*flow.Text{}
	for i := range p.Texts {
		if x := &p.Texts[i]; x.ID >= 0 {
			parts[x.ID] = x
		}
	}
	t.notes = s.texts.Notes(p.Turns, parts)
	turns := slices.Clone(p.Turns)
	for i := range turns {
		turns[i].Opaque = slices.ContainsFunc(turns[i].Parts, func(id int) bool { return parts[id].Opaque != "" })
	}
	before := maps.Clone(t.Edits)
	t.step = step.New(ctx, s.Trajectory, turns, p.Tools, p.Elsewhere, func(id int) string {
		if text, ok := before[id]; ok {
			return text
		}
		return parts[id].Text
	})
	t.plain = map[int]string{}
	maps.Copy(t.plain, before)
	if t.step != nil {
		maps.Copy(t.plain, t.step.Wrapped())
		var less bool
		if t.view, less = t.step.First(ctx); less {
			t.Withheld = t.withheld(t.view.Withheld)
		}
	}
	if t.step != nil || len(t.notes) > 0 {
		t.Edits = t.withheld(&flow.Withheld{}).Edits
	}
	return t
}

// withheld is what a model is not shown, with all edits of the request. The notes
// stand behind the results that it reads. They are Margay's own words: they are
// neither labelled nor quoted as data.
func (t *Turn) withheld(w *flow.Withheld) *flow.Withheld {
	out := *w
	out.Edits, out.Instead = maps.Clone(t.plain), maps.Clone(w.Instead)
	maps.Copy(out.Edits, w.Edits)
	for _, n := range t.notes {
		text, ok := out.Edits[n.On.ID]
		if !ok {
			text = n.On.Text
		}
		out.Edits[n.On.ID] = text + n.Text
		if text, ok := out.Instead[n.Turn]; ok {
			out.Instead[n.Turn] = text + n.Text
		}
	}
	return &out
}

// Upstream writes the requests by which a step is made again.
type Upstream = step.Upstream

// upstream writes a turn's requests with all its edits.
type upstream struct {
	step.Upstream
	t *Turn
}

// Withhold implements step.Upstream.
func (u upstream) Withhold(w *flow.Withheld) []byte { return u.Upstream.Withhold(u.t.withheld(w)) }

// Next says what becomes of an answer that has ended. Of an answer that was held,
// one of Done, Again and Wait is set. Of any other none is: what its upstream
// still sends is added and released as before, and ends with another End.
type Next struct {
	// Out goes to the client, as events of the attempt with this number: 0 for
	// the first stream, and one more for each answer to Again.
	Out     []answer.Outgoing
	Attempt int
	// Done: nothing more goes out, whatever the upstream sends.
	Done bool
	// Again is a request. The events of the answer to it are added next, until
	// Answer.End, which takes the error if there is no answer.
	Again []byte
	// Wait: a person is asked about the calls. The function that comes says
	// what is next; it is called by whoever reads the answer.
	Wait <-chan func() (*Next, error)
}

// Answer is a model's streamed answer under way. It is not safe for concurrent
// use.
type Answer struct {
	// Holds: nothing goes out before all calls of the answer are decided.
	Holds bool
	// Held is how many bytes of text wait, as of the last Release.
	Held int64

	t        *Turn
	ctx      context.Context //nolint:containedctx // of one answer
	opt      answer.Options
	up       Upstream
	gate     func(flow.ToolCall) clear.Cleared
	now      *answer.Stream
	attempts []attempt
	course   *step.Course // nil until an answer that is held has ended
	name     string
}

// attempt is a stream that was read to its end and is held.
type attempt struct {
	*step.Attempt
	stream *answer.Stream
}

// Stream opens a streamed answer. Options are what is known of its wire, and up
// writes requests of its API.
func (t *Turn) Stream(ctx context.Context, opt answer.Options, up Upstream) *Answer {
	a := &Answer{t: t, ctx: ctx, opt: opt, up: upstream{up, t}}
	a.opt.Calls = t.s.texts
	if t.step != nil {
		a.Holds = t.step.Holds(t.view)
		a.gate = func(call flow.ToolCall) clear.Cleared { return t.step.Pass(ctx, call, t.view) }
	}
	a.open()
	return a
}

func (a *Answer) open() {
	if a.opt.Hold, a.opt.Gate = a.Holds, a.gate; a.Holds {
		a.opt.Gate = nil
	}
	a.now = answer.Open(a.ctx, a.t.s.s, a.opt)
}

// Add takes an event. Nothing is released before Release. After an error
// nothing more may be sent to the client but what ends the stream.
func (a *Answer) Add(ev *answer.Event) error {
	if ev.Failed { // what waits was never decided
		a.now.Free()
		a.open()
	}
	if len(ev.ID) > 0 && string(ev.ID) != a.name {
		a.name = string(ev.ID)
		a.t.s.s.Name(a.name)
	}
	return a.now.Add(ev)
}

// Release decides what was added and returns the events that may go out, in
// order. What it returns is valid until the next call. After an error nothing
// more may be sent to the client but what it returns and what ends the stream.
func (a *Answer) Release() ([]answer.Outgoing, error) {
	out, err := a.now.Release()
	a.Held = a.now.Held()
	return out, err
}

// End says that the upstream's answer has ended, or with an error that the
// request of Next.Again has none. All of it is decided, and Next says what
// becomes of it. After an error nothing more may be sent to the client but
// Next.Out and what ends the stream.
func (a *Answer) End(failed error) (*Next, error) {
	if failed != nil {
		a.now.Free()
		return a.next(a.course.Failed(a.ctx), nil)
	}
	out, err := a.now.Close()
	switch {
	case err != nil:
		return &Next{Out: out, Attempt: len(a.attempts)}, err
	case a.now.Holds():
		return a.settle()
	}
	a.t.made(a.now.Made()...)
	if a.t.step != nil {
		a.t.step.Commit(a.now.Emitted(), nil, a.now.Passed(), a.t.view)
		if err := a.t.step.Save(a.ctx); err != nil {
			return &Next{}, err
		}
	}
	return &Next{Out: out}, nil
}

// settle decides about an answer that is held.
func (a *Answer) settle() (*Next, error) {
	if a.course == nil {
		a.course = a.t.step.Course(a.up, a.t.view, !a.Holds)
	}
	a.Holds = true
	x := &step.Attempt{Emitted: a.now.Emitted(), Passed: a.now.Passed()}
	x.Calls, x.Items = a.now.Proposed()
	a.attempts = append(a.attempts, attempt{x, a.now})
	return a.next(a.course.Ended(a.ctx, x))
}

// next makes a move.
func (a *Answer) next(m step.Move, err error) (*Next, error) {
	switch {
	case err != nil:
		return &Next{}, err
	case m.Again != nil:
		a.open()
		return &Next{Again: m.Again}, nil
	case m.Ask:
		wait := make(chan func() (*Next, error), 1)
		go func() { // ends with the answer, or with the request
			m, err := a.course.Ask(a.ctx)
			wait <- func() (*Next, error) { return a.next(m, err) }
		}()
		return &Next{Wait: wait}, nil
	}
	if err := a.t.step.Save(a.ctx); err != nil {
		return &Next{}, err
	}
	n := &Next{Done: true}
	for i, x := range a.attempts {
		if x.Attempt != m.Keep {
			x.stream.Free() // it does not count
			continue
		}
		n.Attempt, a.now = i, x.stream
		a.now.Settle(m.Cleared, m.Refused, a.t.s.e.taint.Report)
		a.t.made(a.now.Made()...)
	}
	a.Holds = false
	n.Out, err = a.now.Release()
	return n, err
}

// Free gives the answer's memory to the next one. Nothing that was returned may
// be used after it. Observers get the answer then.
func (a *Answer) Free() {
	a.now.Free()
	for _, x := range a.attempts {
		x.stream.Free()
	}
}

// Again sends a request by which a whole answer is made again, and returns the
// answer to it.
type Again func(ctx context.Context, body []byte) (*answer.Whole, error)

// Whole decides about a whole answer, as a stream of it is decided, and returns
// the one that counts: w, or one of those that Again returned. It must not be
// sent where it is denied.
func (t *Turn) Whole(ctx context.Context, w *answer.Whole, up Upstream, again Again) (*answer.Whole, answer.Looked, error) {
	seen := []*answer.Whole{w}
	looked := []answer.Looked{t.look(ctx, w)}
	if looked[0].Denied() {
		return w, looked[0], nil
	}
	if t.step == nil {
		t.made(looked[0].Made(t.s.s, w))
		return w, looked[0], looked[0].Record(ctx, t.s.s)
	}
	c := t.step.Course(upstream{up, t}, t.view, false)
	ended := []*step.Attempt{attemptOf(w, &looked[0])}
	m, err := c.Ended(ctx, ended[0])
	for err == nil && m.Keep == nil {
		if m.Ask {
			m, err = c.Ask(ctx)
			continue
		}
		next, failed := again(ctx, m.Again)
		if failed != nil {
			m = c.Failed(ctx)
			continue
		}
		l := t.look(ctx, next)
		if l.Denied() {
			m = c.Failed(ctx)
			continue
		}
		seen, looked, ended = append(seen, next), append(looked, l), append(ended, attemptOf(next, &l))
		m, err = c.Ended(ctx, ended[len(ended)-1])
	}
	if err == nil {
		err = t.step.Save(ctx)
	}
	if err != nil {
		return nil, answer.Looked{}, err
	}
	i := slices.Index(ended, m.Keep)
	err = looked[i].Record(ctx, t.s.s)
	for it, text := range m.Refused { // these are in the log
		looked[i].Refused[it.Item] = text
	}
	t.made(looked[i].Made(t.s.s, seen[i]))
	return seen[i], looked[i], err
}

// made notes the calls of an answer that counts, by choice, before the client can
// go on with it.
func (t *Turn) made(choices ...[]altered.Call) {
	for _, calls := range choices {
		t.s.s.Altered.Note(t.turns, calls)
	}
}

func (t *Turn) look(ctx context.Context, w *answer.Whole) answer.Looked {
	if w.ID != "" {
		t.s.s.Name(w.ID)
	}
	return answer.Look(ctx, t.s.s, t.s.texts, w)
}

func attemptOf(w *answer.Whole, l *answer.Looked) *step.Attempt {
	a := &step.Attempt{Emitted: l.Emitted(w)}
	a.Calls, a.Items = l.Proposed(w)
	return a
}
