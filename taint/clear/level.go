// Package clear is the kernel of the guarantee that no unconfirmed call depends
// on what is above its clearance. It decides what a model may be shown, which
// of its calls may be made, and nothing else.
//
// A History has the texts of a conversation, cut into regions with labels.
// Redact leaves out all that is not below a Level: two histories that differ
// only above the level read the same, byte for byte. A model's answers and
// calls depend on what it was shown, so a View carries a Basis, the join of
// the labels of everything that it shows. Decide allows a call if its basis
// flows to the call's limit. A call that passes, or that a person allowed, is
// a Cleared, which is made nowhere else. Whoever makes calls MUST take them
// from one.
//
// The guarantee is about the labels that regions have and the limits that
// calls are given. Everything else may be wrong without breaking it: how
// results are parsed, how the model is asked, what screeners propose. Text
// outside every region has no label: it is withheld, and a history that is
// shown whole with such text makes a basis that flows nowhere.
//
// The fact and the level of a replay do depend on what is above the level:
// whoever replays steps MUST count and cap replays.
//
// All of it is pure computation, safe for concurrent use as long as nobody
// changes the arguments. Sources: RTBAS, algorithms 1 to 4; Devriese and
// Piessens for secure multi-execution.
package clear

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/label"
)

// Limit is the highest label that may flow somewhere. The zero Limit admits
// the bottom alone.
type Limit struct {
	AnySource bool // whoever influenced it
	AnyReader bool // however private it is
	Label     label.Label
}

// unlimited admits every label.
var unlimited = Limit{AnySource: true, AnyReader: true}

// Admits reports whether x flows to the limit.
func (l Limit) Admits(lat label.Lattice, x label.Label) bool {
	if l.AnySource {
		x.Integrity = ""
	}
	if l.AnyReader {
		x.Confidentiality = ""
	}
	return lat.FlowsTo(x, l.Label)
}

// Format writes a limit for people, with "any" for what is not looked at.
func (l Limit) Format(lat label.Lattice) string {
	i, c := lat.Integrity.Format(l.Label.Integrity), lat.Confidentiality.Format(l.Label.Confidentiality)
	if l.AnySource {
		i = "any"
	}
	if l.AnyReader {
		c = "any"
	}
	return "(" + i + ", " + c + ")"
}

// Level bounds what a step may see: what flows to every one of its limits. The
// zero Level admits the bottom alone. Levels stand for the meet of labels,
// which lattices of sets don't have an element for.
type Level struct {
	limits []Limit
	open   bool
}

// Everything is the level that admits every label.
func Everything() Level { return Level{open: true} }

// At is the level of one limit.
func At(l Limit) Level { return Level{limits: []Limit{l}} }

// AtLabel is the level of a label.
func AtLabel(l label.Label) Level { return At(Limit{Label: l}) }

// Meet is the level below both.
func (l Level) Meet(m Level) Level {
	switch {
	case l.open:
		return m
	case m.open:
		return l
	case len(l.limits) == 0 || len(m.limits) == 0:
		return Level{}
	}
	out := Level{limits: slices.Clone(l.limits)}
	for _, x := range m.limits {
		if !slices.Contains(out.limits, x) {
			out.limits = append(out.limits, x)
		}
	}
	return out
}

// Admits reports whether x is below the level.
func (l Level) Admits(lat label.Lattice, x label.Label) bool {
	if l.open {
		return true
	}
	if len(l.limits) == 0 {
		return x == label.Label{}
	}
	for _, m := range l.limits {
		if !m.Admits(lat, x) {
			return false
		}
	}
	return true
}

// Format writes a level for people, its limits in order. Equal levels made of
// the same limits read alike.
func (l Level) Format(lat label.Lattice) string {
	if l.open {
		return unlimited.Format(lat)
	}
	if len(l.limits) == 0 {
		return Limit{}.Format(lat)
	}
	var out []string
	for _, m := range l.limits {
		out = append(out, m.Format(lat))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " and ")
}
