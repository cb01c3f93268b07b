package stream

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/match"
)

// calmAfter is how many bytes that all forms read alike are read before the forms
// of a view are joined again, if no line ends before: detectors look no further
// back, and not over a line's end.
const calmAfter = 512

// ordinary reports whether all forms of a text read these units alike.
func ordinary(in []canon.Unit) bool {
	for i := range in {
		if b := in[i].B; b >= 0x80 || b == '\\' || b == '%' || b == '&' || in[i].C == canon.Pad {
			return false
		}
	}
	return true
}

// fork gives the unescaped form detectors of its own.
func (v *view) fork() {
	if v.forked {
		return
	}
	v.forked, v.calm, v.line = true, 0, -1
	v.copyMatchers(0, 1)
	if v.raw == nil {
		return
	}
	if v.clean.rules == nil {
		v.clean.rules = newRules(v.cfg)
	}
	v.raw.CopyTo(v.clean.rules)
	v.clean.rules.Catch(&v.lag)
	v.clean.base, v.clean.at, v.clean.last = v.raw.Hold(), v.clean.at[:0], v.raw.Read()
	for off := v.clean.base; off < v.raw.Read(); off++ {
		v.clean.at = append(v.clean.at, extent{off, off + 1})
	}
}

// copyMatchers has a form's matchers read on as another's do.
func (v *view) copyMatchers(from, to int) {
	for k, ix := range v.vaults {
		if len(v.match[to]) <= k {
			v.match[to] = append(v.match[to], ix.NewMatcher(v.cfg.nowMilli(), v.cfg.maxHeld()))
		}
		v.match[from][k].CopyTo(v.match[to][k])
	}
}

// forkTwice gives the form that is unescaped twice detectors of its own, if what was
// unescaped once, and is not read yet, may be again. Until then, the form that is
// unescaped once stands for it.
func (v *view) forkTwice(esc []canon.Unit) {
	if v.depth > 0 || v.twice || !slices.ContainsFunc(esc, escapes) {
		return
	}
	v.twice = true
	v.copyMatchers(1, 2)
	v.folds[2] = v.folds[1]
	v.folds[2].Collect, v.folds[2].Unseen = false, nil
}

// escapes reports whether an escape may begin with a unit.
func escapes(u canon.Unit) bool { return u.B == '\\' || u.B == '%' || u.B == '&' }

// join drops the other forms where they do what the first does.
func (v *view) join() {
	if !v.forked || v.calm < calmAfter && v.line < 0 || !v.idle() {
		return
	}
	same := v.calm
	if v.line >= 0 {
		same -= v.line
	}
	if v.raw != nil && !v.raw.SameAs(v.clean.rules, int64(same)) {
		return
	}
	for i := 1; i < len(v.matchers()); i++ {
		for k := range v.match[0] {
			if !v.match[0][k].SameAs(v.match[i][k]) {
				return
			}
		}
	}
	if v.raw != nil {
		if v.raw.LagOf(v.clean.rules, &v.lag); v.raw.Apart(&v.lag) < calmAfter {
			return
		}
	}
	v.forked, v.twice = false, false
}

// idle reports whether no transducer of the forms waits for more.
func (v *view) idle() bool {
	return v.esc.Idle() && v.esc2.Idle() && v.folds[0].Idle() && v.folds[1].Idle() && v.folds[2].Idle()
}

// unescaped feeds what the first unescaping gave, in sc.esc.
func (v *view) unescaped(s *Scanner, sc *scratch) {
	v.forkTwice(sc.esc)
	sc.folded = v.folds[1].Write(sc.folded[:0], sc.esc)
	v.unescapedFolded(s, sc)
	if v.twice {
		sc.esc2 = v.esc2.Write(sc.esc2[:0], sc.esc)
		sc.folded = v.folds[2].Write(sc.folded[:0], sc.esc2)
		v.feed(s, sc, 2, sc.folded)
	}
}

func (v *view) unescapedFolded(s *Scanner, sc *scratch) {
	v.feed(s, sc, 1, sc.folded)
	if v.depth == 0 {
		v.clean.write(s, v, sc, sc.folded)
	}
	v.decode(s, sc, sc.folded)
	if unseen := v.folds[1].Unseen; len(unseen) > 0 {
		v.makeLists()
		v.listed[len(canon.Bases)].read(s, v, "unseen", unseen)
		v.folds[1].Unseen = unseen[:0]
	}
}

// matchers are those that read: of the first form alone, unless the forms differ.
func (v *view) matchers() [][]*match.Matcher {
	switch {
	case !v.forked:
		return v.match[:1]
	case !v.twice:
		return v.match[:2]
	}
	return v.match[:]
}

func (v *view) formName(form int) string { return v.name + strings.Repeat("+unescaped", form) }
