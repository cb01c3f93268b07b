package mediator

import (
	"cmp"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
)

// tracing reports whether somebody wants to know what the session does.
func (s *Session) tracing() bool { return s.e.cfg.Trace != nil && s.e.cfg.Trace.Happened != nil }

// happened tells those who look on. What they do never changes a decision.
func (s *Session) happened(ev TraceEvent) {
	defer func() { _ = recover() }()
	ev.ID, ev.Trajectory, ev.At, ev.Sink, ev.Payload.Version = cmp.Or(ev.ID, flow.NewID()), s.t.id, s.e.cfg.Now().UTC(), s.sink.Name, TraceVersion
	s.e.cfg.Trace.Happened(ev)
}

// sizing notes how much is decided about, until the function it returns is
// called.
func (s *Session) sizing(texts []Text, tool string) func() {
	if !s.tracing() {
		return func() {}
	}
	s.size = &TraceSize{Texts: len(texts), Tool: s.scrubbed(tool)}
	for i := range texts {
		s.size.Bytes += len(texts[i].Text)
	}
	return func() { s.size = nil }
}

// passed tells of a decision that nothing was found for, and that is not in
// the log.
func (s *Session) passed(r *Result) {
	if s.tracing() && len(r.Findings) == 0 && len(r.Decision.Reasons) == 0 {
		s.traceDecision(LogEntry{Decision: r.Decision})
	}
}

func (s *Session) traceDecision(en LogEntry) {
	if !s.tracing() {
		return
	}
	s.happened(TraceEvent{ID: en.ID, Kind: EventDecision, Verb: en.Verb, Outcome: en.Outcome, Payload: Payload{Decision: &en, Size: s.size}})
}

// waiting notes which texts of a streamed answer wait for more to come.
func (a *answerTrace) waiting(g *Generation) {
	for _, t := range a.texts {
		if x := g.text[t.key]; x != nil && x.cut < x.len && x.scan != nil {
			t.wait(x.cut, x.len)
		}
	}
	a.progress()
}

// traced is how a streamed answer has ended.
func (g *Generation) traced() AnswerTrace {
	if g.trace == nil {
		return AnswerTrace{}
	}
	out := AnswerTrace{Stream: true, Halted: g.halted, Dropped: g.hold > 0}
	for _, t := range g.text {
		out.Broken = out.Broken || !t.done
	}
	return out
}

// wholeText takes a text of an answer that came as a whole.
func (a *answerTrace) wholeText(t *Text, place int) *textTrace {
	if a == nil {
		return nil
	}
	out := a.text(flow.StreamKey{Field: t.Field, Item: place})
	out.write([]byte(t.Text))
	return out
}

// wholeCall takes the name of a call of an answer that came as a whole.
func (a *answerTrace) wholeCall(name string, place int) {
	if a == nil {
		return
	}
	t := a.text(flow.StreamKey{Field: flow.FieldToolName, Item: place})
	t.write([]byte(name))
	t.decided(int64(len(name)), nil, nil)
}

// traceStep tells of the labels of a conversation.
func (st *Step) traceStep() {
	s := st.s
	if !s.tracing() || st.h == nil {
		return
	}
	lat := st.h.Lattice
	out := StepTrace{Context: lat.Format(st.context), Messages: len(st.h.Messages), From: len(st.h.Messages), Partial: st.partial}
	seen := map[string]string{}
	scrub := func(text string) string {
		if _, ok := seen[text]; !ok {
			seen[text] = s.scrubbed(text)
		}
		return seen[text]
	}
	// The latest first: what came before was told of with the step before.
	fresh := s.t.tracedUpTo(len(st.h.Messages))
	for i := len(st.h.Messages) - 1; i >= fresh; i-- {
		m := &st.h.Messages[i]
		if len(out.Regions)+len(m.Regions) > maxTraceRegions {
			out.Cut = true
			break
		}
		out.From = i
		regions := make([]RegionTrace, 0, len(m.Regions))
		for k := range m.Regions {
			r := &m.Regions[k]
			one := RegionTrace{Message: i, Role: scrub(string(m.Role)), Tool: scrub(m.Tool), Field: scrub(r.From.Field), Label: lat.Format(r.Label), Bottom: r.Label == label.Label{}, Bytes: r.End - r.Start}
			if n := len(regions); n > 0 && regions[n-1].Label == one.Label && regions[n-1].Field == one.Field {
				regions[n-1].Bytes += one.Bytes
				continue
			}
			regions = append(regions, one)
		}
		out.Regions = append(regions, out.Regions...)
	}
	s.happened(TraceEvent{Kind: EventStep, Verb: flow.Prompt, Payload: Payload{Step: &out}})
}

// traceWithheld tells what a step is made without.
func (st *Step) traceWithheld(v *taint.View, again bool) {
	if !st.s.tracing() {
		return
	}
	out := WithheldTrace{Context: st.h.Lattice.Format(v.Label), Tools: len(st.h.Tools) - len(v.Tools), Again: again}
	shown := map[int]bool{}
	for i := range v.Messages {
		m := &v.Messages[i]
		shown[m.Message] = true
		if m.Changed && m.Message >= 0 {
			out.Messages = append(out.Messages, m.Message)
		}
	}
	for i := range st.h.Messages {
		if !shown[i] {
			out.Gone = append(out.Gone, i)
		}
	}
	out.Messages, out.Gone = out.Messages[:min(len(out.Messages), maxTraceRegions)], out.Gone[:min(len(out.Gone), maxTraceRegions)]
	st.s.happened(TraceEvent{Kind: EventWithheld, Verb: flow.Generate, Payload: Payload{Withheld: &out}})
}

// tracedUpTo returns up to which message a step was told of before, and notes
// that all are.
func (t *trajectory) tracedUpTo(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	from := t.traced
	if from > n { // the conversation was cut short or begun anew
		from = 0
	}
	t.traced = n
	return from
}
