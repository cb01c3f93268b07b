package mediator

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// Text is one text of a request.
type Text struct {
	ID     int
	Text   string
	Field  flow.Field
	Role   flow.Role     // whose message it is in, where it is in one
	Tool   string        // the tool whose call or result it is
	Path   func() string // where it is; asked only for findings
	Fixed  bool          // it can't be edited, such as an object's key
	Opaque string        // what it is, where it is no text
	JSON   bool          // a JSON value as it is written, and must stay one
	// Tokens are what the server tells about the tokens of an answer's text.
	Tokens    []flow.Token
	Telemetry []byte
}

// Result is the answer to a verb.
type Result struct {
	Decision flow.Decision
	Findings []FindingRecord
	// Edits has the new texts by Text.ID.
	Edits map[int]string
}

// Denied reports whether nothing may pass.
func (r *Result) Denied() bool { return r.Decision.Outcome == flow.Deny }

// Prompt decides about the texts of a request to a model. Secrets become the
// trajectory's pseudonyms. What is discovered in one text is looked for in all
// of them, and from then on in the whole trajectory.
func (s *Session) Prompt(ctx context.Context, texts []Text) Result {
	for i := range texts {
		s.show(texts[i].Text)
	}
	defer s.sizing(texts, "")()
	r := s.guard(ctx, flow.Prompt, func() (Result, error) { return s.outgoing(ctx, flow.Prompt, texts, nil) })
	s.passed(&r)
	return r
}

// guard turns errors and panics into denials. A panic's value may quote
// content, so only its type is told.
func (s *Session) guard(ctx context.Context, verb flow.Verb, f func() (Result, error)) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = s.failed(verb, "internal-error", fmt.Sprintf("internal error of type %T; please report it", p))
		}
	}()
	if err := ctx.Err(); err != nil {
		return s.failed(verb, "deadline", "the request was cancelled or timed out before it was decided")
	}
	r, err := f()
	if err != nil && ctx.Err() != nil {
		return s.failed(verb, "deadline", "the request was cancelled or timed out while it was decided")
	}
	if err != nil {
		return s.failed(verb, codeStore, "the store failed: "+err.Error()+"; run margay doctor")
	}
	return r
}

// codeStore is the reason where the store fails.
const codeStore = "store-failed"

// failed is the answer where Margay itself fails.
func (s *Session) failed(verb flow.Verb, code, detail string) Result {
	r := Result{Decision: s.decision(verb)}
	r.Decision.Outcome = flow.Deny
	if s.e.cfg.OnErrorPass {
		r.Decision.Outcome = flow.Allow
	}
	r.Decision.Reasons = []flow.Reason{{Code: code, Detail: detail}}
	en := LogEntry{Decision: r.Decision}
	if code != codeStore {
		s.keep(en)
	}
	s.tell(en)
	return r
}

// keep writes a failure to the log, so that its id can be explained. Where the
// store fails, too, the denial stands without a record: nothing is released.
func (s *Session) keep(en LogEntry) {
	defer func() { _ = recover() }() // it may be the store that panicked
	_ = s.e.cfg.Store.AppendDecisions(context.Background(), []LogEntry{en})
}

func (s *Session) decision(verb flow.Verb) flow.Decision {
	return flow.Decision{ID: flow.NewID(), Trajectory: s.t.id, Verb: verb, Sink: s.sink, Outcome: flow.Allow, At: s.e.cfg.Now().UTC()}
}

func (s *Session) tell(en LogEntry) {
	s.traceDecision(en)
	if f := s.e.cfg.Listener.Decided; f != nil {
		f(en)
	}
}

func (s *Session) outgoing(ctx context.Context, verb flow.Verb, texts []Text, m *ToolMessage) (Result, error) {
	r := Result{Decision: s.decision(verb), Edits: map[int]string{}}
	for round := 0; ; round++ {
		j, learnt, err := s.pass(ctx, verb, texts, &r)
		if err != nil {
			return Result{}, err
		}
		if learnt && round < 3 {
			if err := s.t.reindex(&s.e.cfg.Keys, s.now); err != nil {
				return Result{}, err
			}
			clear(r.Edits)
			continue
		}
		if m != nil {
			s.beside(&j, m)
		}
		s.conclude(&r, j)
		break
	}
	if err := s.releaseTexts(ctx, verb, texts, &r); err != nil {
		return Result{}, err
	}
	if err := s.seal(ctx); err != nil {
		return Result{}, err
	}
	return r, s.record(ctx, &r)
}

// judged is what one pass over all texts found.
type judged struct {
	findings []FindingRecord
	denied   bool
	notes    []flow.Reason
}

// pass looks at all texts once. It reports whether it learnt a secret that
// may stand in texts that it had looked at before.
func (s *Session) pass(ctx context.Context, verb flow.Verb, texts []Text, r *Result) (j judged, learnt bool, err error) {
	overlay, version := s.t.discovered()
	state := s.state(verb, version)
	for i := range texts {
		if err := ctx.Err(); err != nil {
			return j, false, err
		}
		t := &texts[i]
		if t.Opaque != "" {
			j.notes = append(j.notes, notScanned(t))
			continue
		}
		if len(t.Text) < secret.MinLength {
			continue
		}
		fixed := []byte{0}
		if t.Fixed {
			fixed[0] = 1
		}
		if t.JSON {
			fixed[0] |= 2
		}
		key := keyed(s.e.cfg.Keys.Pseudonym[:], "margay mediated v1", state, fixed, []byte(t.Text))
		if m, ok := s.t.recall(key); ok {
			if m.changed {
				r.Edits[t.ID] = m.text
			}
			continue
		}
		before := len(j.findings)
		cfg := s.config(verb, overlay, t, func(f *stream.Finding, raw []byte) {
			learnt = s.learn(f, raw, version) || learnt
		})
		out, found, whole := edit(cfg, t)
		s.t.acquit(&s.e.cfg.Keys, t.Text)
		j.denied = j.denied || !whole
		for k := range found {
			j.add(s, &found[k], t, verb)
		}
		m := mediated{changed: string(out) != t.Text}
		if m.changed {
			m.text = string(out)
			r.Edits[t.ID] = m.text
			if t.Fixed {
				j.denied = true
			}
		}
		// Only what is settled is remembered: reports are made once, and a
		// denial each time.
		if !j.denied && (len(j.findings) == before || !learnt) {
			s.t.remember(key, m)
		}
	}
	return j, learnt, nil
}

// state is what, besides its content, the result for a text depends on.
func (s *Session) state(verb flow.Verb, version int) []byte {
	b := []byte(fmt.Sprintf("%s|%s|%s|%v|%v|%v|", verb, s.sink.Name, s.sink.Trust, s.policy.Prompt, s.policy.Generate, s.e.cfg.Observe))
	b = binary.BigEndian.AppendUint64(b, s.snap.epoch)
	// Of one epoch's allowances fewer and fewer count as they expire.
	b = binary.BigEndian.AppendUint64(b, uint64(s.snap.live(s.now)))
	return binary.BigEndian.AppendUint64(b, uint64(version))
}

// learn keeps a recognised credential for the rest of the trajectory.
func (s *Session) learn(f *stream.Finding, raw []byte, version int) bool {
	if f.Rule == stream.RuleVault || f.Class == recognise.ClassPersonal || f.Capped || f.View != "raw" {
		return false
	}
	if f.Kind == secret.KindPrivateKey {
		raw = keyBody(raw) // its header is everybody's
	}
	switch f.Action {
	case flow.ActAllow, flow.ActReport:
		return false
	}
	return s.t.learn(&s.e.cfg.Keys, f.Kind, f.Rule, raw, version, s.now)
}

// keyBody returns what a piece of a private key's armour has of the body: what
// stands before the END line, or on the last line behind the header's.
func keyBody(piece []byte) []byte {
	if end := bytes.Index(piece, []byte("-----END")); end >= 0 {
		piece = piece[:end]
	}
	if head := bytes.LastIndex(piece, []byte("-----")); head >= 0 {
		piece = piece[head+5:]
		piece = piece[bytes.LastIndexAny(piece, " \n\r:")+1:]
	}
	return bytes.Trim(piece, "\r\n \t")
}

// config is the stream configuration for one text.
func (s *Session) config(verb flow.Verb, overlay *secret.Index, t *Text, seen func(*stream.Finding, []byte)) *stream.Config {
	at := ""
	return &stream.Config{
		Rules:   s.e.cfg.Rules,
		Vaults:  []*secret.Index{s.snap.index, s.e.ephemeral, overlay},
		MaxHeld: s.e.cfg.MaxHeld,
		Now:     s.now,
		Decide: func(f *stream.Finding, raw []byte) flow.Action {
			if f.Fingerprint.IsZero() && !f.Capped {
				f.Fingerprint = s.e.cfg.Keys.FingerprintOf(raw)
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
			if f.Rule == stream.RuleRisk && f.Name == zoneYellow {
				return append(dst, Mask...)
			}
			if f.Action == flow.ActPseudonym && !f.Fingerprint.IsZero() && !f.Fragment {
				name := s.t.names.Name(f.Kind, f.Fingerprint)
				if s.e.cfg.Values != nil && !f.Capped {
					if s.replaced == nil {
						s.replaced = map[string][]byte{}
					}
					s.replaced[name] = append([]byte(nil), raw...)
				}
				return append(dst, name...)
			}
			return stream.AppendRedaction(dst, f.Kind)
		},
	}
}

// slack are the bytes that a detector may take in around a pseudonym.
const slack = 12

func (s *Session) decide(verb flow.Verb, f *stream.Finding, raw []byte, at func() string) flow.Action {
	if s.t.covers(raw, slack) || isRedaction(raw) {
		return flow.ActAllow
	}
	if len(s.snap.allows) > 0 && Allowed(s.snap.allows, f.Fingerprint, f.Rule, at(), s.now) {
		return flow.ActAllow
	}
	if verb == flow.Generate && f.Class == recognise.ClassDiscovery && s.t.acquitted(f.Fingerprint) {
		return flow.ActAllow
	}
	a := s.policy.Action(verb, f.Kind)
	if f.Rule == stream.RuleRisk {
		if mode := s.riskOf(); mode == RiskReport || mode == RiskRed && f.Name == zoneYellow {
			return flow.ActReport
		}
	}
	if s.e.cfg.Observe && a != flow.ActAllow {
		return flow.ActReport
	}
	return a
}
