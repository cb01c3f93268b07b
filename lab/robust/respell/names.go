package respell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/margaydev/margay/lab/traj/world"
)

func first(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// latin reports whether initials and titles make sense.
func (n personName) latin() bool {
	for _, r := range n.full() {
		if unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) {
			return false
		}
	}
	return true
}

func unaccented(s string) string {
	s = strings.NewReplacer("ø", "o", "Ø", "O", "ł", "l", "Ł", "L", "ß", "ss", "đ", "d").Replace(s)
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// ofName makes a form from a name; latin: only of names in Latin letters.
func ofName(name string, latin bool, write func(n personName) string) form {
	return form{name: name, write: func(v *value) string {
		if latin && !v.name.latin() {
			return ""
		}
		return write(v.name)
	}}
}

var nameForms = []form{
	ofName("no-middle", false, func(n personName) string {
		if n.middle == "" {
			return ""
		}
		return n.given + " " + n.surname()
	}),
	ofName("middle-initial", true, func(n personName) string {
		if n.middle == "" {
			return ""
		}
		return n.given + " " + first(n.middle) + ". " + n.surname()
	}),
	ofName("initial-surname", true, func(n personName) string { return first(n.given) + ". " + n.surname() }),
	ofName("initial-surname-bare", true, func(n personName) string { return first(n.given) + " " + n.surname() }),
	ofName("initial-joined", true, func(n personName) string { return first(n.given) + "." + n.surname() }),
	ofName("initials-surname", true, func(n personName) string {
		if n.middle == "" {
			return ""
		}
		return first(n.given) + "." + first(n.middle) + ". " + n.surname()
	}),
	ofName("comma", false, func(n personName) string { return n.surname() + ", " + strings.TrimSpace(n.given+" "+n.middle) }),
	ofName("comma-no-middle", false, func(n personName) string { return n.surname() + ", " + n.given }),
	ofName("comma-initial", true, func(n personName) string { return n.surname() + ", " + first(n.given) + "." }),
	ofName("surname-first", false, func(n personName) string { return n.surname() + " " + n.given }),
	ofName("surname-initial", true, func(n personName) string { return n.surname() + " " + first(n.given) }),
	ofName("surname-upper", true, func(n personName) string { return n.given + " " + strings.ToUpper(n.surname()) }),
	ofName("surname-upper-first", true, func(n personName) string { return strings.ToUpper(n.surname()) + " " + n.given }),
	ofName("upper-comma", true, func(n personName) string { return strings.ToUpper(n.surname() + ", " + n.given) }),
	ofName("no-accents", true, func(n personName) string { return unaccented(n.full()) }),
	ofName("no-accents-upper", true, func(n personName) string {
		if unaccented(n.full()) == n.full() {
			return ""
		}
		return strings.ToUpper(unaccented(n.full()))
	}),
	ofName("umlauts-as-letters", true, func(n personName) string {
		return strings.NewReplacer("ö", "oe", "ü", "ue", "ä", "ae", "ø", "oe").Replace(n.full())
	}),
	ofName("hyphen-to-space", true, func(n personName) string { return strings.ReplaceAll(n.full(), "-", " ") }),
	ofName("hyphen-dropped", true, func(n personName) string { return strings.ReplaceAll(n.full(), "-", "") }),
	ofName("space-to-hyphen", true, func(n personName) string {
		if len(n.surnames) < 2 {
			return ""
		}
		return n.given + " " + strings.Join(n.surnames, "-")
	}),
	ofName("first-surname", true, func(n personName) string {
		if len(n.surnames) < 2 {
			return ""
		}
		return n.given + " " + n.surnames[0]
	}),
	ofName("half-of-double", true, func(n personName) string {
		a, _, ok := strings.Cut(n.surnames[len(n.surnames)-1], "-")
		if !ok {
			return ""
		}
		return n.given + " " + a
	}),
	ofName("apostrophe-dropped", true, func(n personName) string { return strings.NewReplacer("'", "", "’", "").Replace(n.full()) }),
	ofName("apostrophe-other", true, func(n personName) string { return strings.NewReplacer("'", "’", "’", "'").Replace(n.full()) }),
	ofName("apostrophe-space", true, func(n personName) string { return strings.NewReplacer("'", " ", "’", " ").Replace(n.full()) }),
	ofName("particle-last", true, func(n personName) string {
		if n.particle == "" {
			return ""
		}
		return strings.Join(n.surnames, " ") + ", " + n.given + " " + n.particle
	}),
	ofName("particle-dropped", true, func(n personName) string {
		if n.particle == "" {
			return ""
		}
		return n.given + " " + strings.Join(n.surnames, " ")
	}),
	ofName("particle-joined", true, func(n personName) string {
		if n.particle == "" {
			return ""
		}
		return n.given + " " + strings.ReplaceAll(n.particle, " ", "") + strings.Join(n.surnames, "")
	}),
	ofName("particle-capital", true, func(n personName) string {
		if n.particle == "" {
			return ""
		}
		return n.given + " " + strings.ToUpper(n.particle[:1]) + n.particle[1:] + " " + strings.Join(n.surnames, " ")
	}),
	ofName("title", true, func(n personName) string { return "Dr. " + n.full() }),
	ofName("title-surname", true, func(n personName) string { return "Ms " + n.surname() }),
	ofName("possessive", true, func(n personName) string { return n.given + " " + n.surname() + "'s" }),
	ofName("suffix", true, func(n personName) string { return n.given + " " + n.surname() + " Jr." }),
	ofName("dotted", true, func(n personName) string {
		return strings.ToLower(n.given + "." + strings.ReplaceAll(n.surname(), " ", "."))
	}),
	ofName("underscored", true, func(n personName) string {
		return strings.ToLower(n.given + "_" + strings.ReplaceAll(n.surname(), " ", "_"))
	}),
	ofName("camel", true, func(n personName) string { return n.given + strings.ReplaceAll(n.surname(), " ", "") }),
	ofName("two-lines", false, func(n personName) string { return n.given + "\n" + n.surname() }),
	ofName("labelled-parts", false, func(n personName) string { return "first: " + n.given + ", last: " + n.surname() }),
	ofName("no-space", false, func(n personName) string {
		if n.latin() {
			return ""
		}
		return strings.Join(n.surnames, "") + n.given
	}),
}

var nearNames = []form{
	ofName("given-shared", false, func(n personName) string { return n.given + " Oakenshaw" }),
	ofName("surname-shared", false, func(n personName) string { return "Bartholomew " + n.surname() }),
	ofName("given-in-word", true, func(n personName) string { return strings.ToLower(n.given) + "ville" }),
	ofName("surname-in-word", true, func(n personName) string { return strings.ToLower(n.surnames[0]) + "ism" }),
	ofName("initials-alone", true, func(n personName) string { return first(n.given) + first(n.surnames[0]) + " unit" }),
	ofName("other", false, func(personName) string { return "Leopold Vandermeer" }),
}

func init() {
	spellings[world.LegalName] = nameForms
	nearby[world.LegalName] = nearNames
}
