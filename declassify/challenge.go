package declassify

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"math/rand/v2"
	"slices"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/rubric"
)

// Challenge asks whether a span touches a field, or whether its necessity is
// the one that is named. The verifier draws challenges after it has the
// evidence, so that a defender can't prepare for those that come.
type Challenge struct {
	Atom      int    `json:"atom"` // of the evidence
	Part      int    `json:"part"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Field     string `json:"field,omitempty"`
	Necessity string `json:"necessity,omitempty"`
}

// draw draws challenges from the pool of all that may be asked of labels: half
// of them about what was claimed, so that the answer can't be guessed from the
// question.
func draw(n int, labels []Label, fields []string) []Challenge {
	var seed [32]byte
	_, _ = crand.Read(seed[:])
	r := rand.New(rand.NewChaCha8(seed)) //nolint:gosec // seeded by crypto/rand
	var about []int
	for i := range labels {
		if labels[i].Field != None {
			about = append(about, i)
		}
	}
	if len(about) == 0 || len(fields) == 0 {
		return nil
	}
	out := make([]Challenge, 0, n)
	for range n {
		i := about[r.IntN(len(about))]
		l := &labels[i]
		c := Challenge{Atom: i, Part: l.Part, Start: l.Start, End: l.End}
		claim, any := r.IntN(2) == 0, fields[r.IntN(len(fields))]
		switch {
		case r.IntN(4) == 0:
			c.Necessity = l.Necessity
			if !claim {
				c.Necessity = rubric.Necessity(r.IntN(3)).String() //nolint:gosec // below 3
			}
		case claim:
			c.Field = l.Field
		default:
			c.Field = any
		}
		out = append(out, c)
	}
	return out
}

// challenge makes the second pass. Whatever goes wrong, nothing is answered and
// no label is believed.
func (v *Verifier) challenge(ctx context.Context, r *Request, labels []Label) ([]answer, error) {
	if v.cfg.Challenges <= 0 || len(labels) == 0 || v.without(ChallengeConflict) {
		return nil, nil
	}
	d, ok := v.cfg.Defender.(Challenged)
	if !ok {
		return nil, nil
	}
	cs := draw(v.cfg.Challenges, labels, r.Rules.Fields())
	if len(cs) == 0 {
		return nil, nil
	}
	raw, err := v.ask(ctx, func(ctx context.Context) ([]byte, error) { return d.Answers(ctx, r, slices.Clone(cs)) })
	if err != nil {
		return nil, err
	}
	yes, err := parseAnswers(raw, len(cs))
	if err != nil {
		return nil, err
	}
	out := make([]answer, len(cs))
	for i := range cs {
		out[i] = answer{cs[i], yes[i]}
	}
	return out, nil
}

// parseAnswers reads {"version": 1, "answers": [true, …]}.
func parseAnswers(raw []byte, n int) ([]bool, error) {
	var d strictjson.Doc
	if err := d.Parse(raw, strictjson.Limits{MaxBytes: 1 << 16, MaxDepth: 4, MaxNodes: 1 << 12}); err != nil {
		return nil, ChallengeRefused.broken("%w", err)
	}
	var out []bool
	version := 0
	r := reader{d: &d}
	r.object(0, map[string]func(int){
		"version": func(i int) { version = r.number(i) },
		"answers": func(i int) {
			r.array(i, n, EvidenceSchema, func(i int) {
				k := d.Nodes[i].Kind
				if k != strictjson.True && k != strictjson.False {
					r.fail(i, "true or false is expected")
				}
				out = append(out, k == strictjson.True)
			})
		},
	}, "version", "answers")
	if r.err != nil || version != 1 || len(out) != n {
		return nil, ChallengeRefused.broken("the answers are not %d of version 1", n)
	}
	return out, nil
}

// MarshalAnswers writes answers as the verifier reads them.
func MarshalAnswers(yes []bool) ([]byte, error) {
	return json.Marshal(struct {
		Version int    `json:"version"`
		Answers []bool `json:"answers"`
	}{1, yes})
}
