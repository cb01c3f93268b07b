package defence

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
)

// Reader is a defender with a second pass.
type Reader interface {
	declassify.Defender
	declassify.Challenged
}

// Careless is a defender that leaves out a share of what it finds in free text, by a
// hash of the text: as if another decoding, or a text that talks to it, kept it from
// saying what it says of the stretch alone. Its second pass is not careless, so
// challenges can find what it left out. robust.Forger lies both times.
type Careless struct {
	Inner Reader
	Share float64 // of labels that are left out
}

// Evidence leaves labels out.
func (c Careless) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	raw, err := c.Inner.Evidence(ctx, r)
	if err != nil {
		return nil, err
	}
	ev, err := evidence.Parse(raw)
	if err != nil {
		return nil, err
	}
	var kept []evidence.Label
	for i := range ev.Atoms {
		if !c.forgets(r, &ev.Atoms[i]) {
			kept = append(kept, ev.Atoms[i])
		}
	}
	ev.Atoms = kept
	if ev.Operators, ev.Variant, err = r.Plan(ev.Atoms); err != nil {
		return nil, err
	}
	return ev.Marshal()
}

func (c Careless) forgets(r *declassify.Request, l *evidence.Label) bool {
	if l.Role != "text" {
		return false
	}
	raw, _ := json.Marshal([]any{r.Parts[l.Part].Text, l.Start, l.End})
	sum := sha256.Sum256(raw)
	return float64(binary.BigEndian.Uint64(sum[:])>>11) < c.Share*(1<<53)
}

// Answers is Inner's.
func (c Careless) Answers(ctx context.Context, r *declassify.Request, cs []evidence.Challenge) ([]byte, error) {
	return c.Inner.Answers(ctx, r, cs)
}
