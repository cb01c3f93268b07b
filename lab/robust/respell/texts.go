package respell

import (
	"fmt"
	"strings"

	"github.com/margaydev/margay/lab/traj/world"
)

var shortStreets = strings.NewReplacer("Street", "St", "Avenue", "Ave", "Lane", "Ln", "Drive", "Dr", "Road", "Rd", "Place", "Pl", "Court", "Ct")

var dottedStreets = strings.NewReplacer("Street", "Str.", "Avenue", "Av.", "Lane", "Ln.", "Drive", "Dr.", "Road", "Rd.", "Place", "Pl.", "Court", "Ct.")

// place is an address in its parts.
type place struct{ number, street, city, code, state, zip string }

func ofPlace(name string, write func(p place) string) form {
	return form{name: name, write: func(v *value) string {
		// "123 Elm Street, Boston, MA 02101", as lab/traj/world writes it
		parts := strings.SplitN(v.text, ", ", 3)
		number, street, _ := strings.Cut(parts[0], " ")
		code, zip, _ := strings.Cut(parts[2], " ")
		return write(place{number, street, parts[1], code, stateOf[code], zip})
	}}
}

// ofSpot is a form of a location: "Union Station, Boston, MA".
func ofSpot(name string, write func(venue, city, code string) string) form {
	return form{name: name, write: func(v *value) string {
		parts := strings.SplitN(v.text, ", ", 3)
		return write(parts[0], parts[1], parts[2])
	}}
}

var stateOf = func() map[string]string {
	out := map[string]string{}
	for _, c := range world.Joint().Cities {
		out[c.Code] = c.State
	}
	return out
}()

func init() {
	spellings[world.Address] = []form{
		ofPlace("short", func(p place) string {
			return p.number + " " + shortStreets.Replace(p.street) + ", " + p.city + ", " + p.code + " " + p.zip
		}),
		ofPlace("short-dot", func(p place) string {
			return p.number + " " + dottedStreets.Replace(p.street) + ", " + p.city + ", " + p.code
		}),
		ofPlace("no-zip", func(p place) string { return p.number + " " + p.street + ", " + p.city + ", " + p.code }),
		ofPlace("no-state", func(p place) string { return p.number + " " + p.street + ", " + p.city }),
		ofPlace("short-no-state", func(p place) string { return p.number + " " + shortStreets.Replace(p.street) + ", " + p.city }),
		ofPlace("street-line", func(p place) string { return p.number + " " + p.street }),
		ofPlace("short-street-line", func(p place) string { return p.number + " " + shortStreets.Replace(p.street) }),
		ofPlace("city-first", func(p place) string {
			return p.city + ", " + p.code + " " + p.zip + ", " + p.number + " " + p.street
		}),
		ofPlace("number-last", func(p place) string { return p.street + " " + p.number + ", " + p.zip + " " + p.city }),
		ofPlace("number-comma", func(p place) string { return p.number + ", " + p.street + ", " + p.city }),
		ofPlace("state-in-full", func(p place) string {
			return p.number + " " + p.street + ", " + p.city + ", " + p.state + " " + p.zip
		}),
		ofPlace("no-commas", func(p place) string { return p.number + " " + p.street + " " + p.city + " " + p.code + " " + p.zip }),
		ofPlace("lines", func(p place) string { return p.number + " " + p.street + "\n" + p.city + ", " + p.code + " " + p.zip }),
		ofPlace("in-city", func(p place) string { return p.number + " " + p.street + " in " + p.city }),
		ofPlace("numbered", func(p place) string { return "No. " + p.number + " " + p.street + ", " + p.city }),
		ofPlace("number-words", func(p place) string {
			var n int
			_, _ = fmt.Sscan(p.number, &n)
			return words(n) + " " + p.street + ", " + p.city
		}),
		ofPlace("with-country", func(p place) string {
			return p.number + " " + p.street + ", " + p.city + ", " + p.code + " " + p.zip + ", USA"
		}),
		ofPlace("semicolons", func(p place) string {
			return p.street + "; " + p.number + "; " + p.city + "; " + p.zip
		}),
		ofPlace("flat", func(p place) string {
			return p.number + " " + p.street + " Apt 4, " + p.city + ", " + p.code + " " + p.zip
		}),
		ofPlace("no-kind", func(p place) string { return p.number + " " + strings.Fields(p.street)[0] + ", " + p.city }),
	}
	nearby[world.Address] = []form{
		ofPlace("other-number", func(p place) string { return "9" + p.number + " " + p.street + ", " + p.city }),
		ofPlace("other-street", func(p place) string { return p.number + " Zeppelin Parade, " + p.city }),
		ofPlace("street-alone", func(p place) string { return "works on " + p.street }),
		ofPlace("number-of-things", func(p place) string { return p.number + " boxes" }),
		ofPlace("state-alone", func(p place) string { return "rain in " + p.state }),
	}
	spellings[world.Location] = []form{
		ofSpot("no-state", func(v, c, _ string) string { return v + ", " + c }),
		ofSpot("venue-in-city", func(v, c, _ string) string { return v + " in " + c }),
		ofSpot("at-the", func(v, c, s string) string { return "at the " + v + " in " + c + ", " + s }),
		ofSpot("city-first", func(v, c, _ string) string { return c + ", " + v }),
		ofSpot("city-venue", func(v, c, _ string) string { return c + " " + v }),
		ofSpot("bracketed", func(v, c, s string) string { return v + " (" + c + ", " + s + ")" }),
		ofSpot("state-in-full", func(v, c, s string) string { return v + ", " + c + ", " + stateOf[s] }),
		ofSpot("no-commas", func(v, c, s string) string { return v + " " + c + " " + s }),
		ofSpot("lines", func(v, c, s string) string { return v + "\n" + c + ", " + s }),
		ofSpot("slashed", func(v, c, s string) string { return s + "/" + c + "/" + v }),
		ofSpot("tag", func(v, c, _ string) string { return "#" + keep(c) + " #" + keep(v) }),
	}
	nearby[world.Location] = []form{
		ofSpot("venue-elsewhere", func(v, _, _ string) string { return v + ", Anchorage" }),
		ofSpot("other-venue", func(_, _, _ string) string { return "Velodrome, Anchorage, AK" }),
		ofSpot("state-alone", func(_, _, s string) string { return "rain in " + stateOf[s] }),
	}
	spellings[world.Email] = []form{
		ofText("at-dot", func(s string) string { return strings.NewReplacer("@", " at ", ".", " dot ").Replace(s) }),
		ofText("at-dot-upper", func(s string) string { return strings.NewReplacer("@", " AT ", ".", " DOT ").Replace(s) }),
		ofText("at", func(s string) string { return strings.Replace(s, "@", " at ", 1) }),
		ofText("at-bracket", func(s string) string { return strings.Replace(s, "@", "(at)", 1) }),
		ofText("at-dot-bracket", func(s string) string { return strings.NewReplacer("@", " [at] ", ".", " [dot] ").Replace(s) }),
		ofText("at-spaced", func(s string) string { return strings.Replace(s, "@", " @ ", 1) }),
		ofText("mailto", func(s string) string { return "mailto:" + s }),
		ofText("angle", func(s string) string { return "<" + s + ">" }),
		ofText("domain-upper", func(s string) string {
			l, d, _ := strings.Cut(s, "@")
			return l + "@" + strings.ToUpper(d)
		}),
		ofText("title", func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }),
		ofText("percent-at", func(s string) string { return strings.Replace(s, "@", "%40", 1) }),
		ofText("entity-at", func(s string) string { return strings.Replace(s, "@", "&#64;", 1) }),
		ofText("full-width-at", func(s string) string { return strings.Replace(s, "@", "＠", 1) }),
		ofText("apart", func(s string) string {
			l, d, _ := strings.Cut(s, "@")
			return "user " + l + ", domain " + d
		}),
		ofText("quoted", func(s string) string { return "\"" + s + "\"" }),
		ofText("dots-spaced", func(s string) string { return strings.ReplaceAll(s, ".", " . ") }),
		ofText("tagged", func(s string) string { return strings.Replace(s, "@", "+list@", 1) }),
	}
	nearby[world.Email] = []form{
		ofText("other-local", func(s string) string { _, d, _ := strings.Cut(s, "@"); return "office@" + d }),
		ofText("other-domain", func(s string) string { l, _, _ := strings.Cut(s, "@"); return l + "@unrelated.example" }),
		ofText("domain-alone", func(s string) string { _, d, _ := strings.Cut(s, "@"); return "the site " + d }),
		ofText("longer-local", func(s string) string { return "zz" + s }),
	}
	spellings[world.Diagnosis] = []form{
		{name: "code", write: func(v *value) string { return world.Joint().Ills[v.person.Ill].Code }},
		ofText("title", titled),
		ofText("history", func(s string) string { return "hx of " + s }),
		ofText("roman", func(s string) string { return strings.NewReplacer("type 1", "type I", "type 2", "type II").Replace(s) }),
		ofText("number-words", func(s string) string {
			return strings.NewReplacer("type 1", "type one", "type 2", "type two").Replace(s)
		}),
		ofText("number-joined", func(s string) string { return strings.NewReplacer("type 1", "type-1", "type 2", "type-2").Replace(s) }),
		ofText("apostrophe-dropped", func(s string) string { return strings.ReplaceAll(s, "'", "") }),
		ofText("apostrophe-other", func(s string) string { return strings.ReplaceAll(s, "'", "’") }),
		ofText("possessive-dropped", func(s string) string { return strings.ReplaceAll(s, "'s", "") }),
		ofText("hyphenated", func(s string) string { return strings.ReplaceAll(s, " ", "-") }),
		ofText("underscored", func(s string) string { return strings.ReplaceAll(s, " ", "_") }),
		ofText("last-first", func(s string) string {
			i := strings.LastIndexByte(s, ' ')
			if i < 0 {
				return ""
			}
			return s[i+1:] + ", " + s[:i]
		}),
		ofText("initials", func(s string) string {
			f := strings.Fields(s)
			if len(f) < 3 || strings.HasPrefix(s, "type") {
				return ""
			}
			var out string
			for _, w := range f {
				out += strings.ToUpper(w[:1])
			}
			return out
		}),
		ofText("british", func(s string) string {
			return strings.NewReplacer("leukemia", "leukaemia", "apnea", "apnoea", "celiac", "coeliac", "generalized", "generalised").Replace(s)
		}),
		ofText("of-organ", func(s string) string {
			organ, ok := strings.CutSuffix(s, " cancer")
			if !ok {
				return ""
			}
			return "cancer of the " + organ
		}),
	}
	nearby[world.Diagnosis] = []form{
		ofText("other", func(string) string { return "tennis elbow" }),
		ofText("last-word", func(s string) string {
			f := strings.Fields(s)
			if len(f) < 2 {
				return ""
			}
			return "a book about " + f[len(f)-1] + "-free towns"
		}),
		ofText("first-letters", func(s string) string { return s[:3] + "ology" }),
	}
	key := []form{
		ofText("quoted", func(s string) string { return "'" + s + "'" }),
		ofText("assigned", func(s string) string { return "x=" + s }),
		ofText("eights", func(s string) string { return groups(s, " ", 8) }),
		ofText("fours-dashed", func(s string) string { return groups(s, "-", 4) }),
		ofText("wrapped", func(s string) string { return groups(s, "\n", 12) }),
		ofText("each", func(s string) string { return groups(s, " ", 1) }),
		ofText("concatenated", func(s string) string { return "\"" + s[:len(s)/2] + "\" + \"" + s[len(s)/2:] + "\"" }),
	}
	spellings[world.APIKey] = append([]form{
		ofText("prefix-dropped", func(s string) string { return strings.TrimPrefix(s, "sk_live_") }),
		ofText("bearer", func(s string) string { return "Bearer " + s }),
	}, key...)
	spellings[world.Password] = append([]form{ofText("exclaimed", func(s string) string { return s + "!" })}, key[:2]...)
	spellings[world.PrivateKey] = append([]form{
		ofText("body", func(s string) string { return strings.Split(s, "\n")[1] }),
		ofText("one-line", func(s string) string { return strings.ReplaceAll(s, "\n", " ") }),
		ofText("crlf", func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }),
		ofText("escaped-newlines", func(s string) string { return strings.ReplaceAll(s, "\n", `\n`) }),
		ofText("body-wrapped", func(s string) string { return groups(strings.Split(s, "\n")[1], "\n", 20) }),
	}, key[1])
	for _, f := range []world.Field{world.APIKey, world.Password} {
		nearby[f] = []form{
			ofText("first-half", func(s string) string { return "z" + s[:len(s)/3] }),
			ofText("other", func(string) string { return "build 7f3a2c91" }),
		}
	}
}

func titled(s string) string {
	f := strings.Fields(s)
	for i := range f {
		f[i] = strings.ToUpper(f[i][:1]) + f[i][1:]
	}
	return strings.Join(f, " ")
}
