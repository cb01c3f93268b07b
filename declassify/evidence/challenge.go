package evidence

import (
	crand "crypto/rand"
	"encoding/json"
	"math/rand/v2"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/rubric"
)

// Challenge asks whether a span touches a field, or whether it has a necessity.
// The verifier draws challenges after it has the evidence, so that a defender
// can't prepare for them.
type Challenge struct {
	Atom      int    `json:"atom"` // of the evidence
	Part      int    `json:"part"`
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Field     string `json:"field,omitempty"`
	Necessity string `json:"necessity,omitempty"`
}

// Draw draws challenges about labels. Half of them name what was claimed, so
// that the question does not give the answer away.
func Draw(n int, labels []Label, fields []string) []Challenge {
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

// answers are those to challenges, as the verifier reads them.
type answers struct {
	Version int    `json:"version"` // 1
	Answers []bool `json:"answers"`
}

// ParseAnswers reads the answers to n challenges: {"version": 1, "answers": [true, …]}.
func ParseAnswers(raw []byte, n int) ([]bool, error) {
	var a answers
	if err := read(raw, strictjson.Limits{MaxBytes: 1 << 16, MaxDepth: 4, MaxNodes: 1 << 12}, &a); err != nil {
		return nil, Unanswered.Errorf("%w", err)
	}
	if a.Version != 1 || len(a.Answers) != n {
		return nil, Unanswered.Errorf("expected %d answers of version 1", n)
	}
	return a.Answers, nil
}

// MarshalAnswers writes answers as ParseAnswers reads them.
func MarshalAnswers(yes []bool) ([]byte, error) { return json.Marshal(answers{1, yes}) }
