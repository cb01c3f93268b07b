package step

import (
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/taint/clear"
)

// traceStep reports the labels of a conversation.
func traceStep(s *session.Session, h *clear.History, context label.Label, partial bool) {
	if !s.Trace.Live() {
		return
	}
	lat := h.Lattice
	out := audit.Step{Context: lat.Format(context), Messages: len(h.Messages), From: len(h.Messages), Partial: partial}
	seen := map[string]string{}
	scrub := func(text string) string {
		if _, ok := seen[text]; !ok {
			seen[text] = s.Trace.Scrub(text)
		}
		return seen[text]
	}
	// The latest first: the step before reported what came before.
	fresh := s.TracedUpTo(len(h.Messages))
	for i := len(h.Messages) - 1; i >= fresh; i-- {
		m := &h.Messages[i]
		if len(out.Regions)+len(m.Regions) > audit.MaxRegions {
			out.Cut = true
			break
		}
		out.From = i
		regions := make([]audit.Region, 0, len(m.Regions))
		for k := range m.Regions {
			r := &m.Regions[k]
			one := audit.Region{Message: i, Role: scrub(string(m.Role)), Tool: scrub(m.Tool), Field: scrub(r.From.Field), Label: lat.Format(r.Label), Bottom: r.Label == label.Label{}, Bytes: r.End - r.Start}
			if n := len(regions); n > 0 && regions[n-1].Label == one.Label && regions[n-1].Field == one.Field {
				regions[n-1].Bytes += one.Bytes
				continue
			}
			regions = append(regions, one)
		}
		out.Regions = append(regions, out.Regions...)
	}
	s.Trace.Happened(audit.Event{Kind: audit.KindStep, Verb: flow.Prompt, Payload: audit.Payload{Step: &out}})
}

// traceWithheld reports what a step is made without.
func traceWithheld(s *session.Session, h *clear.History, v *clear.View, again bool) {
	if !s.Trace.Live() {
		return
	}
	out := audit.Withheld{Context: h.Lattice.Format(v.Label), Tools: len(h.Tools) - len(v.Tools), Again: again}
	shown := map[int]bool{}
	for i := range v.Messages {
		m := &v.Messages[i]
		shown[m.Message] = true
		if m.Changed && m.Message >= 0 {
			out.Messages = append(out.Messages, m.Message)
		}
	}
	for i := range h.Messages {
		if !shown[i] {
			out.Gone = append(out.Gone, i)
		}
	}
	out.Messages, out.Gone = out.Messages[:min(len(out.Messages), audit.MaxRegions)], out.Gone[:min(len(out.Gone), audit.MaxRegions)]
	s.Trace.Happened(audit.Event{Kind: audit.KindWithheld, Verb: flow.Generate, Payload: audit.Payload{Withheld: &out}})
}
