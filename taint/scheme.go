package taint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/label"
)

// Mark is what a pack says about a value in words that every lattice has: who
// wrote it and who may see it. The zero Mark is the worst: anybody wrote it,
// and it is the user's alone.
type Mark struct {
	Trusted bool // nobody but the user or the developer influenced it
	Public  bool // everybody may see it
}

// Origin is what the structure of a record says about its values: who wrote
// it, who may see it. Names are canonical: see Scheme.
type Origin struct {
	Sources []string // empty: not known
	Readers []string // empty: not known
	Public  bool     // the record says itself that everybody may see it
	Trusted bool     // all sources are ones that the configuration trusts
}

// Scheme gives marks their labels in one lattice. Make it with FourPoint, Sets
// or Custom. It is immutable and safe for concurrent use.
type Scheme struct {
	Name    string
	Lattice label.Lattice
	// Untrusted and Private are the upper elements that marks without an
	// origin get.
	Untrusted, Private label.Element
	self               string
	people             bool // the elements are sets of names
}

// FourPoint is the scheme of the default lattice.
func FourPoint() Scheme {
	return Scheme{Name: "four-point", Lattice: label.FourPoint, Untrusted: label.Untrusted, Private: label.Private}
}

// ErrScheme says that a scheme can't be made.
var ErrScheme = errors.New("no labelling scheme")

// Stranger is the source of what nobody in particular is known to have
// written.
const Stranger = "unknown"

// Sets is the scheme of label.Sets. Self is the name of the user, such as the
// mail address, who may read whatever the tools give.
func Sets(self string) (Scheme, error) {
	name, ok := personName(self)
	if !ok || name == Stranger {
		return Scheme{}, fmt.Errorf("%w: the user's name is made of letters, digits and . _ @ : / -", ErrScheme)
	}
	return Scheme{
		Name: "sets", Lattice: label.Sets, Untrusted: label.Element("{" + Stranger + "}"), Private: label.Element("{" + name + "}"),
		self: name, people: true,
	}, nil
}

// Custom is the scheme of a declared lattice. Untrusted and private are the
// names of the elements that strangers' and the user's own data have; to be
// of use they are not the bottoms.
func Custom(l label.Lattice, untrusted, private string) (Scheme, error) {
	i, err := l.Integrity.Parse(untrusted)
	if err != nil {
		return Scheme{}, fmt.Errorf("%w: untrusted: %w", ErrScheme, err)
	}
	c, err := l.Confidentiality.Parse(private)
	if err != nil {
		return Scheme{}, fmt.Errorf("%w: private: %w", ErrScheme, err)
	}
	if i == "" || c == "" {
		return Scheme{}, fmt.Errorf("%w: what is untrusted or private can't be the bottom", ErrScheme)
	}
	return Scheme{Name: "custom", Lattice: l, Untrusted: i, Private: c}, nil
}

// Worst is the label of what is not known.
func (s *Scheme) Worst() label.Label {
	return label.Label{Integrity: s.Untrusted, Confidentiality: s.Private}
}

// label gives a mark its label, in a record of this origin.
func (s *Scheme) label(m Mark, o *Origin) label.Label {
	var l label.Label
	if !m.Trusted && (o == nil || !o.Trusted) {
		l.Integrity = s.Untrusted
		if s.people && o != nil && len(o.Sources) > 0 {
			l.Integrity = element(o.Sources)
		}
	}
	if !m.Public && (o == nil || !o.Public) {
		l.Confidentiality = s.Private
		if s.people && o != nil && len(o.Readers) > 0 {
			l.Confidentiality = element(append(slices.Clone(o.Readers), s.self))
		}
	}
	return l
}

// element is a set in the canonical form of label.Sets.
func element(names []string) label.Element {
	names = slices.Clone(names)
	slices.Sort(names)
	return label.Element("{" + strings.Join(slices.Compact(names), "|") + "}")
}

// personName is the canonical name of a person or account: lower case, since
// addresses and handles are compared so, of letters, digits and . _ @ : / -.
func personName(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 128 {
		return "", false
	}
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._@:/-", c) >= 0 {
			continue
		}
		return "", false
	}
	return strings.ToLower(s), true
}

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

// Format writes a limit as a label, with "any" for what is not looked at.
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
