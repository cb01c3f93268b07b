package ledger

import (
	"crypto/sha256"

	"github.com/margaydev/margay/flow"
)

// beginning is what a family began with.
type beginning struct {
	limits  Limits
	rubrics Hash // of all that its first entry names
}

// beginner is the first family of an export that began so.
type beginner struct {
	limits  Limits
	rubrics []Hash
	entry   uint64
	family  flow.TrajectoryID
}

// opens notes what a family began with: rubrics come behind all entries.
func (v *verifier) opens(e *Entry) {
	if v.check.Limits == nil {
		return
	}
	h := sha256.New()
	for i := range e.Rubrics {
		h.Write(e.Rubrics[i][:])
	}
	b := beginning{limits: e.Limits}
	h.Sum(b.rubrics[:0])
	if v.begun[b] {
		return
	}
	if len(v.begins) >= maxRubrics {
		v.breaks(e.Seq, Lax.broken("families of the export began in more ways than are checked"))
		return
	}
	v.begun[b] = true
	v.begins = append(v.begins, beginner{e.Limits, e.Rubrics, v.report.Entries, e.Family})
	for _, r := range e.Rubrics {
		v.asked[r] = true
	}
}

// lax reports families that began with more than any of their rubrics allows.
// What several rubrics allow together is no more than what each of them does.
func (v *verifier) lax() {
	for i := range v.begins {
		b := &v.begins[i]
		within := false
		for _, r := range b.rubrics {
			l, ok := v.allowed[r]
			within = within || ok && b.limits.within(&l)
		}
		if !within {
			v.found(&Finding{
				Entry: b.entry, Family: b.family, Seq: 1, Rule: Lax,
				Detail: "the family began with a budget of " + b.limits.B.String() + ", and no rubric that its first entry names allows its limits",
			})
		}
	}
}

// within reports whether limits are nowhere above others.
func (l *Limits) within(o *Limits) bool {
	ok := l.B <= o.B
	for k := 1; k < Classes; k++ {
		ok = ok && l.Cap[k] <= o.Cap[k] && l.Lambda[k] >= o.Lambda[k]
	}
	return ok
}
