// Package respell measures whether a value that a family has released once is
// noticed when it leaves again, spelled differently, in another argument, for
// another recipient: margay-lab robust --respell.
//
// A case is a value of a field, as a tool's schema would have it, and another
// way in which people, forms or databases write it. Each case is a family of its
// own: first the value goes to a required service, in an argument of its field,
// then the spelling goes to a curious or an adversarial sink, in an argument of
// no field, in one of another field, or in free text, alone or in a sentence.
//
// The truth is known by construction. A spelling is found if no part of it that
// tells the value arrives, or if it arrives in an atom that costs what the value
// costs. The cause says how it was found: "field" if it was withheld in an atom
// of the value's own field, "charged" if it arrived and was charged, "other" if
// it was withheld as another field, "whole" if the text was withheld because
// nothing in it has a known field, "typed" if its argument's own field withheld
// it, and "denied" if nothing was released. Whole, typed and denied say nothing
// about the search for known values. The metric respellings_found_open leaves
// them out, with all free text to adversarial sinks, to which the library lets no
// text pass; respellings_named counts field and charged alone.
//
// Each case is played once more in a family that released somebody else's value:
// respellings_found_unseen is what is found without knowing the value. Negatives
// are near values which are not the known one. A false alarm is one that is
// touched after the value was released, and is not where another value was.
//
// Some forms, by the hash of their names, are held out of seeds from 100 on:
// who develops on those seeds does not see them. The slices forms=shown and
// forms=held-out tell them apart.
package respell

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/margaydev/margay/lab/traj/world"
)

// Arg is where a spelling goes.
type Arg string

// The arguments of the second release.
const (
	Plain Arg = "plain" // of no field
	Typed Arg = "typed" // of another field
	Free  Arg = "free"
)

// Args are all of them.
var Args = []Arg{Plain, Typed, Free}

// Case is a value and a spelling of it, or of a near value that is not it.
type Case struct {
	Field    world.Field `json:"field"`
	Form     string      `json:"form"`
	Value    string      `json:"value"`
	Spelled  string      `json:"spelled"`
	Negative bool        `json:"negative,omitempty"`
	// Solid: the spelling is escaped or disguised, and all of it counts, not
	// word by word.
	Solid bool `json:"-"`
	// Decoy is somebody else's value of the field.
	Decoy string `json:"-"`
	Held  bool   `json:"-"`
	index int
}

// form writes a value in one way. It returns "" where the way does not differ
// from the value's own, or does not apply.
type form struct {
	name  string
	write func(v *value) string
	solid bool
}

// value is a value of a field, with what forms need to know of it.
type value struct {
	text   string // as the first release has it
	name   personName
	person *world.Person
	digits string // of what is a number
}

// held reports whether a form is held out of the seeds for development.
func held(f world.Field, name string) bool {
	h := fnv.New32a()
	h.Write([]byte(string(f) + "/" + name))
	return h.Sum32()%3 == 0
}

// DevelopmentSeed is the first seed that does not show the forms held out.
const DevelopmentSeed = 100

// Generate makes n cases, and negative ones, of a seed: each field and form in
// turn, each with another person.
func Generate(seed uint64, n, negatives int) []Case {
	g := &generator{seed: seed, pop: world.Joint()}
	return append(g.cases(n, false), g.cases(negatives, true)...)
}

type generator struct {
	seed uint64
	pop  *world.Population
}

type pair struct {
	field world.Field
	form  form
}

func (g *generator) pairs(negative bool) []pair {
	var out []pair
	for _, f := range world.Fields {
		forms := append(append([]form{{name: "same", write: func(v *value) string { return v.text }}}, spellings[f]...), disguises...)
		if negative {
			forms = nearby[f]
		}
		for _, one := range forms {
			if caseless(f, one.name) {
				continue
			}
			if g.seed < DevelopmentSeed || negative || !held(f, one.name) {
				out = append(out, pair{f, one})
			}
		}
	}
	return out
}

// caseless reports whether a form would change a value in which case matters.
func caseless(f world.Field, form string) bool {
	return strings.HasPrefix(form, "case-") && (f == world.APIKey || f == world.Password || f == world.PrivateKey)
}

func (g *generator) cases(n int, negative bool) []Case {
	pairs := g.pairs(negative)
	// Few cases are of all fields, too.
	g.rand(-2).Shuffle(len(pairs), func(i, k int) { pairs[i], pairs[k] = pairs[k], pairs[i] })
	var out []Case
	// A form that does not apply to one person may to the next.
	for i := 0; len(out) < n && i < 40*n; i++ {
		p := pairs[i%len(pairs)]
		v := g.value(p.field, i)
		s := p.form.write(v)
		if s == "" || s == v.text && p.form.name != "same" {
			continue
		}
		decoy := g.value(p.field, i+7919)
		for k := 2; k < 9 && shares(decoy.text, v.text+" "+s); k++ {
			decoy = g.value(p.field, i+7919*k)
		}
		out = append(out, Case{
			Field: p.field, Form: p.form.name, Value: v.text, Spelled: s, Negative: negative, Solid: p.form.solid,
			Decoy: decoy.text, Held: !negative && held(p.field, p.form.name), index: len(out),
		})
	}
	return out
}

// shares reports whether two texts have a word in common.
func shares(a, b string) bool {
	words := map[string]bool{}
	for _, w := range pieces(b, false) {
		words[b[w[0]:w[1]]] = true
	}
	for _, w := range pieces(a, false) {
		if words[a[w[0]:w[1]]] {
			return true
		}
	}
	return false
}

func (g *generator) rand(i int) *rand.Rand { return rand.New(rand.NewPCG(g.seed, uint64(i)+1)) } //nolint:gosec // a draw by seed
