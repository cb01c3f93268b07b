package secret

import "github.com/margaydev/margay/secret/canon"

// gap are the characters left out right before one that is kept: where each
// began, the nearest first, and which of them are dots. A dot may be a
// disguise between the secret's own characters, so it does not count for one.
type gap struct {
	n    uint8
	dots uint16
	back [maxGap]int64
}

const maxGap = 10

// space notes a space that may stand for a character left out.
func (g *gap) space(u *canon.Unit) {
	if g.n == 0 {
		g.n, g.dots, g.back[0] = 1, 0, u.Start
	}
}

// softEdge is how many characters that secrets have inside a fragment takes in
// behind it: base64's padding, the dash before the next group. In front it
// takes one (leads).
const softEdge = 2

// leads reports whether a character that canonical text leaves out is taken in
// right before a fragment: not those by which values are assigned, listed and
// quoted.
func leads(b byte) bool {
	switch b {
	case '_', '#', '!', '&', '@', '%', '$', '*', '~', '^', '?':
		return true
	}
	return false
}

// inside reports whether a character that canonical text leaves out stands
// inside secrets, and not around them in code and prose.
func inside(b byte) bool {
	switch b {
	case '-', '_', '=', '+', '/', '#', '!', '?', '&', '@', '%', '$', '*', '~', '^':
		return true
	}
	return false
}

// maxApart is how many raw bytes may stand between two characters of a secret,
// and before its first: more would hold text back for as long as there are
// spaces, dashes or invisible characters.
const maxApart = canon.MaxApart

// start returns where the nth character before the one kept at a place begins,
// dots put between them aside.
func (g *gap) start(n uint8, at int64) (int64, bool) {
	near := g.near(at)
	i := -1
	for ; n > 0; n-- {
		i++
		if i+1 < near && g.dots&(1<<i) != 0 {
			i++
		}
	}
	i = min(i, near-1)
	if i < 0 {
		return 0, false
	}
	return g.back[i], true
}

// near is how many of the characters stand near enough to a place.
func (g *gap) near(at int64) int {
	n := int(g.n)
	for n > 0 && at-g.back[n-1] > maxApart {
		n--
	}
	return n
}
