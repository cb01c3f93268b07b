package charge

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
)

// Check reports whether limits are within their bounds.
func (l *Limits) Check() error {
	if l.B < 0 || l.Screened < 0 || l.Cap[0] != 0 || l.Lambda[0] != 0 {
		return Shape.Errorf("the budget is below zero, or class 0 has a limit")
	}
	least := int64(1000)
	most := flow.MaxBits
	for k := 1; k < Classes; k++ {
		if l.Lambda[k] < least || l.Lambda[k] > MaxLambda {
			return Shape.Errorf("weights are at least one, at most %d thousandths, and never fall with the class", MaxLambda)
		}
		if l.Cap[k] < 0 || l.Cap[k] > most {
			return Shape.Errorf("caps are not below zero, and never grow with the class")
		}
		least, most = l.Lambda[k], l.Cap[k]
	}
	return nil
}

// Check reports, as an error, why the entry alone has no encoding. It does not
// look at its place in a chain.
func (e *Entry) Check() error {
	switch {
	case e.Seq == 0:
		return Shape.Errorf("entries are counted from 1")
	case !ValidID(e.Family) || !ValidID(e.Trajectory):
		return Shape.Errorf("family and trajectory are up to %d letters, digits, '-' and '_'", MaxName)
	case !ValidTime(e.At):
		return Shape.Errorf("the time is not a whole number of milliseconds from 1970 to 9999, in UTC")
	case !isName(string(e.Channel), MaxName) || e.Channel == "":
		return Shape.Errorf("the channel is missing, too long or not plain text")
	case !isName(e.Sink, MaxSink) || e.Sink == "":
		return Shape.Errorf("the sink's name is missing, too long or not plain text")
	case e.Class < flow.RequiredService || e.Class > flow.Adversarial:
		return Shape.Errorf("the sink has no class")
	case len(e.Rubrics) == 0 || len(e.Rubrics) > MaxHashes:
		return Shape.Errorf("an entry names one to %d rubrics", MaxHashes)
	case e.Variant.IsZero():
		return Shape.Errorf("the hash of what was released is missing")
	case len(e.Atoms) > MaxAtoms:
		return Shape.Errorf("more than %d atoms", MaxAtoms)
	case len(e.Models) > MaxModels:
		return Shape.Errorf("more than %d models", MaxModels)
	case e.Charge < 0 || e.Total < 0 || e.Screened < 0 || e.Doubt < 0 || e.Limits.Screened == 0 && e.Doubt+e.Screened > 0:
		return Shape.Errorf("a sum is below zero")
	case !isName(e.Decision, MaxName) || !isName(e.Answer, MaxName):
		return Shape.Errorf("decision or answer is too long or not plain text")
	}
	switch e.Outcome {
	case flow.Allow, flow.Rewrite, flow.Confirm, flow.Deny:
	default:
		return Shape.Errorf("the outcome is not allow, rewrite, confirm or deny")
	}
	for i := 1; i < len(e.Rubrics); i++ {
		if bytes.Compare(e.Rubrics[i-1][:], e.Rubrics[i][:]) >= 0 {
			return Shape.Errorf("rubrics are not ascending")
		}
	}
	for i, m := range e.Models {
		if m.Name == "" || !isName(m.Name, MaxName) || !isName(m.Version, MaxName) || i > 0 && m.Name <= e.Models[i-1].Name {
			return Shape.Errorf("models are not ascending, or a name is missing, too long or not plain text")
		}
	}
	if !isAmounts(e.Caps, flow.MaxBits) {
		return Shape.Errorf("a sum by class is below zero, or class 0 has one")
	}
	for i := range e.Atoms {
		if err := e.Atoms[i].check(); err != nil {
			return err
		}
	}
	return e.Limits.Check()
}

func (a *Atom) check() error {
	switch {
	case a.Field == "" || !isName(a.Field, MaxName):
		return Shape.Errorf("an atom's field is missing, too long or not plain text")
	case a.Op > Identity:
		return Shape.Errorf("an atom has no operator")
	case (a.Op == Generalize) != (a.Level > 0):
		return Shape.Errorf("only an atom that is generalised has a level")
	case (a.Op == Substitute) != (a.Template != "") || !isName(a.Template, MaxName):
		return Shape.Errorf("only an atom that is substituted has a template")
	case a.Value.IsZero():
		return Shape.Errorf("an atom's value has no fingerprint")
	case a.Cost < 0:
		return Shape.Errorf("an atom's cost is below zero")
	case !isAmounts(a.After, MaxAmount):
		return Shape.Errorf("an amount by class is below zero or over %v, or class 0 has one", MaxAmount)
	}
	return nil
}

func isAmounts(by [Classes]flow.Bits, most flow.Bits) bool {
	return by[0] == 0 && !slices.ContainsFunc(by[:], func(b flow.Bits) bool { return b < 0 || b > most })
}

// ValidTime reports whether a time is one that an entry may have: a whole
// number of milliseconds from 1970 to 9999.
func ValidTime(t time.Time) bool {
	ms := t.UnixMilli()
	return ms >= 0 && ms < maxTime && t.Nanosecond()%int(time.Millisecond) == 0
}

// isName reports whether s is UTF-8 without control characters, at most so
// many bytes long. It may be empty.
func isName(s string, most int) bool {
	if len(s) > most || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// ValidID reports whether an id is one that an entry may have: 1 to MaxName
// letters, digits, hyphens and underscores.
func ValidID(id flow.TrajectoryID) bool {
	if id == "" || len(id) > MaxName {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}
