package clear

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/label"
)

// TestMeet: what a meet admits is what both admit.
func TestMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := func(what string) Level {
			if rapid.IntRange(0, 9).Draw(t, what) == 0 {
				return rapid.SampledFrom([]Level{{}, Everything()}).Draw(t, what)
			}
			return At(Limit{rapid.Bool().Draw(t, what), rapid.Bool().Draw(t, what), fourPoint.draw(t, what)})
		}
		a, b, x := limit("a"), limit("b"), fourPoint.draw(t, "x")
		m := a.Meet(b)
		if m.Admits(label.FourPoint, x) != (a.Admits(label.FourPoint, x) && b.Admits(label.FourPoint, x)) {
			t.Fatalf("%s", m.Format(label.FourPoint))
		}
		if !m.Admits(label.FourPoint, label.Label{}) || m.Format(label.FourPoint) != b.Meet(a).Format(label.FourPoint) {
			t.Fatalf("%s", m.Format(label.FourPoint))
		}
	})
}

// limit draws one of a world's limits.
func (w *world) limit(t *rapid.T, what string) Limit {
	return Limit{rapid.Bool().Draw(t, what+" any source"), rapid.Bool().Draw(t, what+" any reader"), w.draw(t, what)}
}

// TestLimit: a limit looks at each component on its own, and what it looks at
// must flow to its label.
func TestLimit(t *testing.T) {
	for name, w := range worlds(t) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			l, x := w.limit(t, "limit"), w.draw(t, "x")
			flows := func(a, b label.Label) bool { return w.lattice.Join(a, b) == b }
			source := l.AnySource || flows(label.Label{Integrity: x.Integrity}, l.Label)
			reader := l.AnyReader || flows(label.Label{Confidentiality: x.Confidentiality}, l.Label)
			if got := l.Admits(w.lattice, x); got != (source && reader) {
				t.Fatalf("%s admits %s: %v", l.Format(w.lattice), w.lattice.Format(x), got)
			}
			if (Level{}).Admits(w.lattice, x) != (x == label.Label{}) || !Everything().Admits(w.lattice, x) || AtLabel(l.Label).Admits(w.lattice, x) != flows(x, l.Label) {
				t.Fatalf("levels of %s and %s", w.lattice.Format(l.Label), w.lattice.Format(x))
			}
		}))
	}
}

func TestFormat(t *testing.T) {
	private := label.Label{Confidentiality: label.Private}
	for want, l := range map[string]Level{
		"(any, any)":                             Everything(),
		"(trusted, public)":                      {},
		"(any, public)":                          At(Limit{AnySource: true}),
		"(trusted, any)":                         At(Limit{AnyReader: true}),
		"(trusted, private)":                     AtLabel(private),
		"(any, public) and (trusted, private)":   AtLabel(private).Meet(At(Limit{AnySource: true})),
		"(any, private)":                         At(Limit{AnySource: true, Label: private}).Meet(At(Limit{AnySource: true, Label: private})),
		"(trusted, any) and (untrusted, public)": At(Limit{AnyReader: true}).Meet(AtLabel(label.Label{Integrity: label.Untrusted})).Meet(Everything()),
	} {
		if got := l.Format(label.FourPoint); got != want {
			t.Errorf("%s is written as %s", want, got)
		}
	}
	// A level that was met is not changed by it.
	a := At(Limit{AnySource: true}).Meet(At(Limit{AnyReader: true}))
	_, before := a.Meet(AtLabel(private)), a.Format(label.FourPoint)
	if _ = a.Meet(At(Limit{Label: label.Label{Integrity: label.Untrusted}})); a.Format(label.FourPoint) != before || before != "(any, public) and (trusted, any)" {
		t.Errorf("%s", before)
	}
}
