package mediator

import (
	"bytes"
	"context"
	"fmt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/stream"
)

// maxFindings bounds the findings that one decision lists.
const maxFindings = 256

func isRedaction(raw []byte) bool {
	return len(raw) < 64 && bytes.Contains(raw, []byte("REDACTED:"))
}

func (j *judged) add(s *Session, f *stream.Finding, t *Text, _ flow.Verb) {
	if f.Action == flow.ActBlock {
		j.denied = true
	}
	if len(j.findings) >= maxFindings {
		return
	}
	rec := FindingRecord{
		ID: flow.NewID(), Rule: f.Rule, Name: f.Name, Kind: f.Kind, Source: f.Source, View: f.View,
		Fingerprint: f.Fingerprint, Action: f.Action, Length: int(f.End - f.Start),
	}
	if f.Rule == stream.RuleRisk {
		rec.Risk, rec.Model = f.Risk, s.e.cfg.Monitor.Hash()
	}
	if t != nil {
		rec.Field = t.Field.String()
		if t.Path != nil {
			overlay, _ := s.t.discovered()
			rec.Path = told(s.config(flow.Generate, overlay, nil, nil), t.Path())
		}
	}
	j.findings = append(j.findings, rec)
}

// conclude turns what was found into a decision.
func (s *Session) conclude(r *Result, j judged) {
	r.Findings = j.findings
	r.Decision.Reasons = append(r.Decision.Reasons, j.notes...)
	for i := range j.findings {
		r.Decision.Reasons = append(r.Decision.Reasons, reasonOf(&j.findings[i]))
	}
	switch {
	case j.denied:
		r.Decision.Outcome = flow.Deny
		clear(r.Edits)
	case len(r.Edits) > 0:
		r.Decision.Outcome = flow.Rewrite
	}
}

func reasonOf(f *FindingRecord) flow.Reason {
	detail := fmt.Sprintf("%s of %d bytes found by %s", f.Kind, f.Length, f.Rule)
	if f.Name != "" {
		detail = fmt.Sprintf("%s %q of %d bytes found", f.Kind, f.Name, f.Length)
	}
	if f.Rule == stream.RuleRisk {
		detail = fmt.Sprintf("%d bytes judged %s by the risk model %.8s: risk %.2f, %s", f.Length, f.Name, f.Model, f.Risk, f.View)
	} else if f.View != "raw" && f.View != "" {
		detail += " in the view " + f.View
	}
	if f.Path != "" {
		detail += " at " + f.Path
	}
	return flow.Reason{Code: "secret-found", Detail: detail, Finding: f.ID, Action: f.Action}
}

// record writes a decision to the log before its bytes are released, and
// tells the listener. A decision without findings or reasons is not kept.
func (s *Session) record(ctx context.Context, r *Result) error {
	if len(r.Findings) == 0 && len(r.Decision.Reasons) == 0 {
		return nil
	}
	en := LogEntry{Decision: r.Decision, Findings: r.Findings}
	if err := s.e.cfg.Store.AppendDecisions(context.WithoutCancel(ctx), []LogEntry{en}); err != nil {
		return err
	}
	s.tell(en)
	return nil
}
