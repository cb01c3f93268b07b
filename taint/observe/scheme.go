package observe

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
	// Workspace: nobody influenced it but the user and who wrote the files of a
	// folder that the user trusts. Lattices without such a level take it for
	// untrusted.
	Workspace bool
}

// origin is what the structure of a record says about its values: who wrote
// it, who may see it. Names are canonical: see Scheme.
type origin struct {
	Sources []string // empty: not known
	Readers []string // empty: not known
	Public  bool     // the record says itself that everybody may see it
	Trusted bool     // all sources are ones that the configuration trusts
}

// Scheme gives marks their labels in one lattice. Make it with Machine,
// FourPoint, Sets or Custom. It is immutable and safe for concurrent use.
type Scheme struct {
	Name    string
	Lattice label.Lattice
	// Untrusted and Private are the upper elements that marks without an
	// origin get.
	Untrusted, Private label.Element
	// Workspace is the element of what a trusted folder holds; Untrusted in
	// lattices that have none.
	Workspace label.Element
	self      string
	people    bool // the elements are sets of names
}

// FourPoint is the scheme of label.FourPoint.
func FourPoint() Scheme {
	return Scheme{Name: "four-point", Lattice: label.FourPoint, Untrusted: label.Untrusted, Private: label.Private, Workspace: label.Untrusted}
}

// Machine is the scheme of the default lattice, label.Machine.
func Machine() Scheme {
	return Scheme{Name: "machine", Lattice: label.Machine, Untrusted: label.Untrusted, Private: label.Private, Workspace: label.Workspace}
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
		Workspace: label.Element("{" + Stranger + "}"), self: name, people: true,
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
	return Scheme{Name: "custom", Lattice: l, Untrusted: i, Private: c, Workspace: i}, nil
}

// Worst is the label of what is not known.
func (s *Scheme) Worst() label.Label {
	return label.Label{Integrity: s.Untrusted, Confidentiality: s.Private}
}

// Label is the label of a mark that no record says more about.
func (s *Scheme) Label(m Mark) label.Label { return s.label(m, nil) }

// label gives a mark its label, in a record of this origin.
func (s *Scheme) label(m Mark, o *origin) label.Label {
	var l label.Label
	if !m.Trusted && (o == nil || !o.Trusted) {
		l.Integrity = s.Untrusted
		if m.Workspace {
			l.Integrity = s.Workspace
		}
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

// OfPeople reports whether labels are sets of names.
func (s *Scheme) OfPeople() bool { return s.people }

// ReadersOf is the element of the people of some names; everybody, the bottom,
// where there are none or one of them is not a name.
func ReadersOf(names []string) label.Element {
	var out []string
	for _, n := range names {
		name, ok := personName(n)
		if !ok {
			return ""
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return ""
	}
	return element(out)
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
	return strings.ToLower(s), len(s) <= 128 && madeOf(s, "._@:/-")
}

// madeOf reports whether a text has only ASCII letters, digits and some other
// characters, and is not empty.
func madeOf(s, others string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r))
	})
}
