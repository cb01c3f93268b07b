package label

import (
	"fmt"
	"slices"
	"strings"
)

// The upper elements of the built-in lattices. Workspace is in Machine alone.
const (
	Workspace Element = "workspace"
	Untrusted Element = "untrusted"
	Private   Element = "private"
)

// FourPoint is {trusted, untrusted} × {public, private}.
var FourPoint = Lattice{Integrity: two{"trusted", Untrusted}, Confidentiality: two{"public", Private}}

// Machine is {trusted, workspace, untrusted} × {public, private}, for agents
// that work on a computer: between the user's own words and those of the world
// there is what a folder holds that the user trusts. It is FourPoint where
// nothing is marked as the workspace's.
var Machine = Lattice{Integrity: three{}, Confidentiality: two{"public", Private}}

// three is the chain trusted ⊑ workspace ⊑ untrusted.
type three struct{}

func (three) Join(a, b Element) Element {
	switch {
	case a == Untrusted || b == Untrusted:
		return Untrusted
	case a == "":
		return b
	}
	return a
}

func (three) Parse(s string) (Element, error) {
	switch s {
	case "trusted":
		return "", nil
	case string(Workspace), string(Untrusted):
		return Element(s), nil
	}
	return "", fmt.Errorf("%w: unknown element %q; known elements are trusted, workspace and untrusted", ErrLabel, s)
}

func (three) Format(e Element) string {
	if e == "" {
		return "trusted"
	}
	return string(e)
}

// two is a bottom with one element above it.
type two struct {
	bottom string
	top    Element
}

func (t two) Join(a, b Element) Element {
	if a == "" {
		return b
	}
	return a
}

func (t two) Parse(s string) (Element, error) {
	switch s {
	case t.bottom:
		return "", nil
	case string(t.top):
		return t.top, nil
	}
	return "", fmt.Errorf("%w: unknown element %q; known elements are %s and %s", ErrLabel, s, t.bottom, t.top)
}

func (t two) Format(e Element) string {
	if e == "" {
		return t.bottom
	}
	return string(t.top)
}

// Sets is the lattice of Myers and Liskov: integrity is the set of sources
// that influenced the data, joined by union; confidentiality is the set of
// readers who may see it, joined by intersection. Its bottom has no sources
// and everybody as readers. Names are made of letters, digits and . _ @ : / -.
var Sets = Lattice{Integrity: sets{bottom: "{}"}, Confidentiality: sets{bottom: "everybody", intersect: true}}

// set is a sorted list of names, joined by "|", in braces.
func set(names []string) Element {
	slices.Sort(names)
	return Element("{" + strings.Join(slices.Compact(names), "|") + "}")
}

func members(e Element) []string {
	if len(e) <= len("{}") {
		return nil
	}
	return strings.Split(string(e[1:len(e)-1]), "|")
}

func parseSet(s string) ([]string, error) {
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return nil, fmt.Errorf("%w: a set looks like {alice|bob}", ErrLabel)
	}
	names := members(Element(s))
	for _, n := range names {
		if n == "" || strings.ContainsFunc(n, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._@:/-", r))
		}) {
			return nil, fmt.Errorf("%w: %q is not a name of letters, digits and . _ @ : / -", ErrLabel, n)
		}
	}
	return names, nil
}

// sets are ordered by inclusion: of two unions the larger is higher, of two
// intersections the smaller.
type sets struct {
	bottom    string // as it is written
	intersect bool
}

func (s sets) Join(a, b Element) Element {
	switch {
	case a == "":
		return b
	case b == "" || a == b:
		return a
	case s.intersect:
		both := members(b)
		return set(slices.DeleteFunc(members(a), func(n string) bool { return !slices.Contains(both, n) }))
	}
	return set(append(members(a), members(b)...))
}

func (s sets) Parse(text string) (Element, error) {
	if text == s.bottom {
		return "", nil
	}
	names, err := parseSet(text)
	if err != nil {
		return "", err
	}
	return set(names), nil
}

func (s sets) Format(e Element) string {
	if e == "" {
		return s.bottom
	}
	return string(e)
}
