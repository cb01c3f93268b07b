package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/taint/document"
)

// Scan is how a text is looked at on its way with a verb: what is known is
// looked for, and found values are replaced as the policy has it. t says where
// the text is, and seen gets every finding; both may be nil.
func (s *Session) Scan(verb flow.Verb, t *flow.Text, seen func(*stream.Finding, []byte)) *stream.Config {
	overlay, _ := s.Discovered()
	at := ""
	return &stream.Config{
		Rules:   s.cfg.Rules,
		Vaults:  []*match.Index{s.snap.index, s.ephemeral, overlay},
		MaxHeld: s.cfg.MaxHeld,
		Now:     s.Now,
		Decide: func(f *stream.Finding, raw []byte) flow.Action {
			if f.Fingerprint.IsZero() && !f.Capped {
				f.Fingerprint = s.cfg.Keys.FingerprintOf(raw)
			}
			f.Action = s.decide(verb, f, raw, func() string {
				if at == "" && t != nil && t.Path != nil {
					at = t.Path()
				}
				return at
			})
			if seen != nil {
				seen(f, raw)
			}
			return f.Action
		},
		Replace: func(dst []byte, f *stream.Finding, raw []byte) []byte {
			if f.Rule == stream.RuleRisk && f.Name == monitor.Yellow.String() {
				return append(dst, Mask...)
			}
			if f.Action == flow.ActPseudonym && !f.Fingerprint.IsZero() && !f.Fragment {
				name := s.Names.Name(f.Kind, f.Fingerprint)
				if s.cfg.Values != nil && !f.Capped {
					s.Replace(name, raw)
				}
				return append(dst, name...)
			}
			return stream.AppendRedaction(dst, f.Kind)
		},
	}
}

// slack are the bytes that a detector may take in around a pseudonym.
const slack = 12

func isRedaction(raw []byte) bool {
	return len(raw) < 64 && bytes.Contains(raw, []byte("REDACTED:"))
}

func (s *Session) decide(verb flow.Verb, f *stream.Finding, raw []byte, at func() string) flow.Action {
	if s.covers(raw, slack) || isRedaction(raw) || s.Policy.bare(verb, f) {
		return flow.ActAllow
	}
	if len(s.snap.allows) > 0 && Allowed(s.snap.allows, f.Fingerprint, f.Rule, at(), s.Now) {
		return flow.ActAllow
	}
	if verb == flow.Generate && f.Class == recognise.ClassDiscovery && s.acquitted(f.Fingerprint) {
		return flow.ActAllow
	}
	a := s.Policy.Action(verb, f.Kind)
	if f.Rule == stream.RuleRisk {
		if mode := s.RiskMode(); mode == RiskReport || mode == RiskRed && f.Name == monitor.Yellow.String() {
			return flow.ActReport
		}
	}
	if s.cfg.Observe && a != flow.ActAllow {
		return flow.ActReport
	}
	return a
}

// State is what, besides its content, the result for a text depends on: the
// verb, the policy, and the version of what was discovered. It is one caller's: how
// long a request takes tells nobody what others have sent.
func (s *Session) State(verb flow.Verb, version int) []byte {
	b := []byte(fmt.Sprintf("%s|%s|%s|%v|%v|%v|", verb, s.Sink.Name, s.Sink.Trust, s.Policy.Prompt, s.Policy.Generate, s.cfg.Observe))
	b = binary.BigEndian.AppendUint64(append(b, s.caller[:]...), s.snap.epoch)
	// Of one epoch's allowances fewer and fewer count as they expire.
	b = binary.BigEndian.AppendUint64(b, uint64(s.snap.live(s.Now)))
	return binary.BigEndian.AppendUint64(b, uint64(version))
}

// Clean is a name as it may be shown: models and clients choose names, and may
// put a secret there.
func (s *Session) Clean(name string) string {
	out, _ := s.Scan(flow.Generate, nil, nil).Text([]byte(name))
	return string(out)
}

// CleanReasons are a connector's reasons as they may be shown.
func (s *Session) CleanReasons(reasons []flow.Reason) []flow.Reason {
	out := make([]flow.Reason, len(reasons))
	for i, r := range reasons {
		if s.snap == nil { // the store fails, so the secrets are not known
			r.Detail = "refused; the store fails, so the details are left out"
			out[i] = r
			continue
		}
		r.Detail = s.Clean(r.Detail)
		out[i] = r
	}
	return out
}

// RiskMode is how the risk model judges the session's answers.
func (s *Session) RiskMode() RiskMode {
	switch {
	case s.cfg.Monitor == nil || s.Policy.Risk == "":
		return RiskOff
	case s.cfg.Observe && s.Policy.Risk != RiskOff:
		return RiskReport
	}
	return s.Policy.Risk
}

// Show notes what the model is shown, to know it again in the answer.
func (s *Session) Show(texts []flow.Text) {
	for i := range texts {
		s.Shown.Add(texts[i].Text)
		if s.RiskMode() != RiskOff {
			s.shown().Add(texts[i].Text)
		}
	}
}

// FollowsTool notes that the next turn follows a tool's result.
func (s *Session) FollowsTool() { s.tool = true }

func (s *Session) shown() *monitor.Source {
	if s.source == nil {
		s.source = monitor.NewSource()
	}
	return s.source
}

// Judge returns what judges the tokens of one text of an answer. It is called
// only where the risk mode is not off.
func (s *Session) Judge() *monitor.Monitor {
	return s.cfg.Monitor.New(monitor.Options{Vocabulary: s.Policy.Vocabulary, Source: s.shown(), Tool: s.tool})
}

// scrubbed is a name or a place that somebody else chose, as observers may see
// it.
func (s *Session) scrubbed(text string) string {
	if text == "" {
		return ""
	}
	const longest = 256
	return s.mask(s.snap, s.Trajectory, strings.ToValidUTF8(text[:min(len(text), longest)], ""))
}

// Masker returns what replaces, in any text, the credentials and registered
// secrets that are known or recognised by their kinds, whatever the policy is.
// Personal data stays. It is for programs that show what others wrote.
func (r *Registry) Masker(ctx context.Context) (func(string) string, error) {
	snap, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return func(text string) string { return r.mask(snap, nil, text) }, nil
}

func (r *Registry) mask(snap *snapshot, t *Trajectory, text string) string {
	vaults := []*match.Index{snap.index, r.ephemeral}
	if t != nil {
		overlay, _ := t.Discovered()
		vaults = append(vaults, overlay)
	}
	out, _ := (&stream.Config{
		Rules: r.cfg.Rules, Vaults: vaults, MaxHeld: r.cfg.MaxHeld, Now: r.cfg.Now(),
		Decide: func(f *stream.Finding, raw []byte) flow.Action {
			switch {
			case isRedaction(raw), t != nil && t.covers(raw, slack):
				return flow.ActAllow
			case f.Kind.Personal() && f.Rule != stream.RuleVault:
				return flow.ActAllow
			}
			return flow.ActRedact
		},
		Replace: func(dst []byte, f *stream.Finding, _ []byte) []byte { return stream.AppendRedaction(dst, f.Kind) },
	}).Text([]byte(text))
	return string(out)
}

// Apply edits the piece of a text that starts at from. What replaces a span
// stands where the span starts.
func Apply(edits []stream.Edit, from int64, text []byte) []byte {
	return cut.Apply(make([]byte, 0, len(text)), edits, from, text)
}

// MaxArguments bounds the arguments of one tool call, in bytes.
const MaxArguments = 8 << 20

// Arguments is document.Written.
func Arguments(texts ...string) string { return document.Written(texts...) }
