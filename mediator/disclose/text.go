package disclose

import (
	"bytes"
	"context"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// Prompt decides about the texts of a request to a model. Secrets become the
// trajectory's pseudonyms. What is discovered in one text is looked for in all
// of them, and from then on in the whole trajectory.
func (v *Verbs) Prompt(ctx context.Context, texts []flow.Text) session.Result {
	return v.toModel(ctx, flow.Prompt, &Message{Texts: texts})
}

// toModel decides about texts on their way to a model.
func (v *Verbs) toModel(ctx context.Context, verb flow.Verb, m *Message) session.Result {
	v.s.Show(m.Texts)
	defer v.s.Trace.Sizing(m.Texts, m.Tool)()
	r := v.s.Guard(ctx, verb, func() (session.Result, error) {
		r := session.Result{Decision: v.s.Decision(verb), Edits: map[int]string{}}
		if err := v.discover(ctx, verb, m, &r); err != nil {
			return r, err
		}
		if err := v.releaseTexts(ctx, verb, m.Texts, &r); err != nil {
			return r, err
		}
		return r, v.s.Seal(ctx)
	})
	v.s.Passed(&r)
	return r
}

// maxRounds bounds how often texts are looked at again.
const maxRounds = 3

// discover looks at all texts, and again where it learnt a secret that may be in
// texts that it had looked at before.
func (v *Verbs) discover(ctx context.Context, verb flow.Verb, m *Message, r *session.Result) error {
	for round := 0; ; round++ {
		j, learnt, err := v.pass(ctx, verb, m.Texts, r)
		if err != nil {
			return err
		}
		if learnt && round == maxRounds { // not all texts were looked at for what was learnt last
			j.Denied, j.Notes = true, append(j.Notes, flow.Reason{Code: "undecided", Detail: "more and more credentials were found while the texts were looked at"})
		}
		if !learnt || round == maxRounds {
			v.beside(&j, m)
			r.Conclude(&j)
			return nil
		}
		if err := v.s.Reindex(v.s.Keys(), v.s.Now); err != nil {
			return err
		}
		clear(r.Edits)
	}
}

// pass looks at all texts once. It reports whether it learnt a secret that
// may stand in texts that it had looked at before.
func (v *Verbs) pass(ctx context.Context, verb flow.Verb, texts []flow.Text, r *session.Result) (j session.Found, learnt bool, err error) {
	_, version := v.s.Discovered()
	state := v.s.State(verb, version)
	err = each(ctx, texts, &j, func(t *flow.Text) {
		key := v.s.Keyed("margay mediated v1", state, []byte{flag(t.Fixed) | flag(t.JSON)<<1}, []byte(t.Text))
		m, known := v.s.Recall(key)
		if m.Changed {
			r.Edits[t.ID] = m.Text
		}
		if _, bare := v.s.Bare.Get(key); known || bare && version == 0 {
			return
		}
		before, bare := len(j.Findings), version == 0
		cfg := v.s.Scan(verb, t, func(f *stream.Finding, raw []byte) {
			bare = false
			fresh, full := v.learn(f, raw, version)
			if learnt = fresh || learnt; full && !j.Denied {
				j.Denied, j.Notes = true, append(j.Notes, session.TooMany)
			}
		})
		out, found, whole := edit(ctx, cfg, t)
		bare = !v.s.Acquit(v.s.Keys(), t.Text) && bare && whole && len(found) == 0 && string(out) == t.Text
		j.Denied = j.Denied || !whole
		r.Take(v.s, &j, t, out, found)
		m = session.Mediated{Text: r.Edits[t.ID], Changed: string(out) != t.Text}
		// Only what is settled is remembered: reports are made once, and a
		// denial each time. A text whose client has gone may not be read to its end.
		if ctx.Err() != nil {
			return
		}
		if bare {
			v.s.Bare.Use(key, struct{}{})
		}
		if !j.Denied && (len(j.Findings) == before || !learnt) {
			v.s.Remember(key, m)
		}
	})
	return j, learnt, err
}

// learn keeps a recognised credential for the rest of the trajectory, as
// Trajectory.Learn does.
func (v *Verbs) learn(f *stream.Finding, raw []byte, version int) (fresh, full bool) {
	if f.Rule == stream.RuleVault || f.Class == recognise.ClassPersonal || f.Capped || f.View != "raw" ||
		f.Action == flow.ActAllow || f.Action == flow.ActReport {
		return false, false
	}
	if f.Kind == secret.KindPrivateKey {
		raw = keyBody(raw) // its header is everybody's
	}
	return v.s.Learn(v.s.Keys(), f.Kind, f.Rule, raw, version, v.s.Now)
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
