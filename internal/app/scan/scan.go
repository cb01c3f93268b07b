// Package scan finds secrets in texts of any size, in bounded memory, with
// the detectors that also edit streams.
//
// Nothing is written unless the findings are recorded, which is before they are
// reported, so that `margay allow add` knows their ids. No value is recorded or
// reported.
package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// Finding is one place where a secret is.
type Finding struct {
	File   string      `json:"file"`
	Line   int         `json:"line"`   // from 1
	Column int         `json:"column"` // in bytes, from 1
	Length int64       `json:"length"` // in bytes
	Kind   secret.Kind `json:"kind"`
	Rule   string      `json:"rule"`
	Name   string      `json:"name,omitempty"` // of a registered secret
	View   string      `json:"view"`           // how it was disguised
	ID     string      `json:"id,omitempty"`   // of a finding that was recorded
}

// Scanner scans texts against one state of an installation. It is not safe
// for concurrent use.
type Scanner struct {
	st       *state.State
	cfg      stream.Config
	allows   []secret.Allow
	personal bool
	record   bool
	last     [2]int64 // span that was reported last
}

// New reads the registered secrets and the allowances. The scanner finds personal
// data if personal is true, and writes to the log if record is.
func New(ctx context.Context, c *config.Config, st *state.State, personal, record bool) (*Scanner, error) {
	rules, err := state.Rules(c)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	index, err := match.NewIndex(&st.Keys, st.Store.Secrets(ctx), now)
	if err != nil {
		return nil, problem.Unexpected(err)
	}
	allows, err := st.Store.Allows(ctx)
	if err != nil {
		return nil, problem.Unexpected(err)
	}
	return &Scanner{
		st: st, allows: allows, personal: personal, record: record,
		cfg: stream.Config{Rules: rules, Vaults: []*match.Index{index}, MaxHeld: c.Limits.Held, Now: now},
	}, nil
}

func (s *Scanner) decide(name string) func(*stream.Finding, []byte) flow.Action {
	return func(f *stream.Finding, raw []byte) flow.Action {
		if f.Fingerprint.IsZero() && !f.Capped {
			f.Fingerprint = s.st.Keys.FingerprintOf(raw)
		}
		if session.Allowed(s.allows, f.Fingerprint, f.Rule, name, s.cfg.Now) {
			return flow.ActAllow
		}
		if f.Rule != stream.RuleVault && f.Class == recognise.ClassPersonal && !s.personal {
			return flow.ActAllow
		}
		return flow.ActRedact
	}
}

// Scan reads an input to its end and closes it. It calls report with its findings
// in order, and writes the text with its secrets replaced to redacted, which may
// be nil.
func (s *Scanner) Scan(ctx context.Context, in *Input, redacted io.Writer, report func([]Finding) error) error {
	defer in.Close()
	cfg := s.cfg
	cfg.Decide = s.decide(in.Name)
	if in.file != nil {
		cfg.Path = in.Name
	}
	e := cfg.NewEditor()
	pos := newPosition()
	buf := make([]byte, 64<<10)
	var out []byte
	reported := 0
	s.last = [2]int64{-1, -1}
	for {
		n, err := in.r.Read(buf)
		end := errors.Is(err, io.EOF)
		pos.write(buf[:n])
		out = e.Write(out[:0], buf[:n])
		if end {
			out = e.Close(out)
		}
		if redacted != nil {
			if _, werr := redacted.Write(out); werr != nil {
				return problem.Failure("is the disk full, or was the pipe closed?", "standard output can't be written: %w", werr)
			}
		}
		fresh := e.Findings()[reported:]
		reported += len(fresh)
		found, rerr := s.found(ctx, in.Name, fresh, pos)
		if rerr == nil && len(found) > 0 {
			rerr = report(found)
		}
		if rerr != nil {
			return rerr
		}
		pos.forget(pos.offset - int64(e.Held()) - 1)
		if end {
			return nil
		}
		if err != nil {
			return problem.Failure("is it still there?", "%s can't be read to its end: %w", in.Name, err)
		}
	}
}

// found places findings, and records them where that is asked for.
func (s *Scanner) found(ctx context.Context, name string, found []stream.Finding, pos *position) ([]Finding, error) {
	en := audit.Entry{Decision: flow.Decision{
		ID: flow.NewID(), Trajectory: flow.TrajectoryID(flow.NewID()), Verb: flow.Observe, Outcome: flow.Allow, At: time.Now().UTC(),
		Sink: flow.Sink{Name: "scan", Channel: flow.ChannelUser, Trust: flow.TrustLocal},
	}}
	var out []Finding
	for i := range found {
		f := &found[i]
		if s.last == [2]int64{f.Start, f.End} {
			continue // other rules found the same span
		}
		s.last = [2]int64{f.Start, f.End}
		line, col := pos.of(f.Start)
		id := ""
		if s.record {
			id = flow.NewID()
		}
		out = append(out, Finding{name, line, col, f.End - f.Start, f.Kind, f.Rule, f.Name, f.View, id})
		en.Findings = append(en.Findings, audit.Finding{
			ID: id, Rule: f.Rule, Name: f.Name, Kind: f.Kind, Source: f.Source, View: f.View, Fingerprint: f.Fingerprint,
			Path: name, Action: flow.ActReport, Length: int(f.End - f.Start),
		})
		en.Reasons = append(en.Reasons, flow.Reason{
			Code: "secret-found", Detail: fmt.Sprintf("%s found by %s in %s, line %d", f.Kind, f.Rule, name, line), Finding: id, Action: flow.ActReport,
		})
	}
	if len(out) == 0 || !s.record {
		return out, nil
	}
	if err := s.st.Store.AppendDecisions(ctx, []audit.Entry{en}); err != nil {
		return nil, problem.Failure(problem.Doctor, "the findings could not be recorded: %w", err)
	}
	return out, nil
}

// position turns offsets into lines and columns while a text is read. It
// remembers only the starts of recent lines.
type position struct {
	offset int64
	line   int     // number of the line that starts at starts[0]
	starts []int64 // ascending; the first may lie far back
}

func newPosition() *position { return &position{line: 1, starts: []int64{0}} }

func (p *position) write(b []byte) {
	for i, c := range b {
		if c == '\n' {
			p.starts = append(p.starts, p.offset+int64(i)+1)
		}
	}
	p.offset += int64(len(b))
}

// of returns the line and the column of an offset, both from 1.
func (p *position) of(at int64) (line, col int) {
	i := len(p.starts) - 1
	for i > 0 && p.starts[i] > at {
		i--
	}
	return p.line + i, int(at-p.starts[i]) + 1
}

// forget drops the lines that end before an offset.
func (p *position) forget(before int64) {
	n := 0
	for n+1 < len(p.starts) && p.starts[n+1] <= before {
		n++
	}
	p.line += n
	p.starts = p.starts[:copy(p.starts, p.starts[n:])]
}
