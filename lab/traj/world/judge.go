package world

import (
	"cmp"
	"slices"
	"strings"
)

// Implied adds what facts imply by common knowledge: a city its state, an
// illness its chapter, a number its ends.
func Implied(facts []Fact) []Fact {
	out := unique(facts)
	add := func(k Kind, v string) {
		if f := (Fact{k, v}); v != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for i := 0; i < len(out); i++ {
		f := out[i]
		switch f.Kind {
		case KGiven, KSurname:
			continue
		case KCity, KAtCity:
			for k := range pop.Cities {
				if c := &pop.Cities[k]; c.Name == f.Value {
					if f.Kind == KCity {
						add(KState, c.State)
					} else {
						add(KAtState, c.State)
					}
				}
			}
		case KState, KAtState:
			for k := range pop.Cities {
				if c := &pop.Cities[k]; c.State == f.Value {
					if f.Kind == KState {
						add(KRegion, Regions[c.Region])
					} else {
						add(KAtRegion, Regions[c.Region])
					}
				}
			}
		case KRegion, KAtRegion:
			if k := slices.Index(Regions, f.Value); k >= 0 && f.Kind == KRegion {
				add(KCountry, CountryOf(k))
			} else if k >= 0 {
				add(KAtCountry, CountryOf(k))
			}
		case KIllness:
			for k := range pop.Ills {
				if pop.Ills[k].Name == f.Value {
					add(KChapter, Chapters[pop.Ills[k].Chapter].Range)
				}
			}
		case KSymptom, KMedicine:
			add(KChapter, chapterOf(f))
		case KCard:
			if len(f.Value) >= 15 {
				add(KCardEnd, f.Value[len(f.Value)-4:])
				add(KBin, f.Value[:6])
			}
		case KBin:
			for k := range Banks {
				if Banks[k].Bin == f.Value {
					add(KBrand, Banks[k].Brand)
				}
			}
		case KEmail:
			local, domain, _ := strings.Cut(f.Value, "@")
			add(KLocal, local)
			add(KDomain, domain)
		case KPhone:
			if len(f.Value) == 10 {
				add(KArea, f.Value[:3])
				add(KPhoneEnd, f.Value[6:])
			}
		}
	}
	return out
}

// chapterOf is the chapter that a symptom or a medicine tells: that of all
// illnesses that have it, or none where they are of several.
func chapterOf(f Fact) string {
	at := -1
	for k := range pop.Ills {
		ill := &pop.Ills[k]
		if f.Kind == KSymptom && ill.Symptom != f.Value || f.Kind == KMedicine && !slices.Contains(ill.Medicines, f.Value) {
			continue
		}
		if at >= 0 && at != ill.Chapter {
			return ""
		}
		at = ill.Chapter
	}
	if at < 0 {
		return ""
	}
	return Chapters[at].Range
}

// InChapter reports whether an illness is in a range of codes.
func InChapter(ill *Illness, codes string) bool {
	low, high, ok := strings.Cut(codes, "-")
	return ok && low <= ill.Code && ill.Code <= high
}

// chapterHolds reports whether a range of codes has the person's illness, and
// is not a wider than its chapter.
func (x *Person) chapterHolds(codes string) bool {
	low, high, ok := strings.Cut(codes, "-")
	from, to, _ := strings.Cut(Chapters[x.ill().Chapter].Range, "-")
	return ok && InChapter(x.ill(), codes) && (codes == Chapters[x.ill().Chapter].Range || low >= from && high <= to)
}

// Width of what still counts as a decade, in days: bands of ages of ten years,
// too; and of a band of salaries, in dollars.
const (
	decadeDays = 10*366 + 1
	bandWidth  = 25_000
)

// Meets reports whether facts told to a service are enough for a need, and
// true.
func (x *Person) Meets(n Need, facts []Fact) bool {
	facts = Implied(facts)
	days := func(most float64) bool {
		return slices.ContainsFunc(facts, func(f Fact) bool {
			from, to, ok := f.Days()
			return ok && x.Holds(f) && to.Sub(from).Hours()/24 < most
		})
	}
	told := func(kinds ...Kind) bool {
		return slices.ContainsFunc(facts, func(f Fact) bool { return slices.Contains(kinds, f.Kind) && x.Holds(f) })
	}
	switch n.Level {
	case Whole:
		for _, f := range x.Full(n.Field) {
			if !slices.Contains(facts, f) {
				return false
			}
		}
		return true
	case Year:
		return days(366)
	case Decade:
		return days(decadeDays)
	case CityOf:
		return told(cityKind(n.Field))
	case StateOf:
		return told(stateKind(n.Field))
	case RegionOf:
		return told(regionKind(n.Field))
	case Country:
		return told(countryKind(n.Field))
	case Kindred:
		return slices.ContainsFunc(facts, func(f Fact) bool { return f.Kind == KChapter && x.chapterHolds(f.Value) })
	case Band:
		return slices.ContainsFunc(facts, func(f Fact) bool {
			low, high, ok := f.Dollars()
			return ok && x.Holds(f) && high-low <= bandWidth
		})
	case Brand:
		return told(KBrand)
	case Domain:
		return told(KDomain)
	}
	return false
}

func cityKind(f Field) Kind {
	if f == Location {
		return KAtCity
	}
	return KCity
}

func stateKind(f Field) Kind {
	if f == Location {
		return KAtState
	}
	return KState
}

func regionKind(f Field) Kind {
	if f == Location {
		return KAtRegion
	}
	return KRegion
}

func countryKind(f Field) Kind {
	if f == Location {
		return KAtCountry
	}
	return KCountry
}

// Served reports whether a step did what it is for: its service can read all
// it needs, and the words of the task are still there. Parts are the released
// texts, in the order of the step's; nil is a step that was denied.
func (t *Task) Served(step int, parts []string) bool {
	met, of := t.Met(step, parts)
	return met == of && len(parts) == len(t.Steps[step].Parts)
}

// Met counts what a step is for: what its service needs and can read, and the words
// of the task that are still there, of all such.
func (t *Task) Met(step int, parts []string) (met, of int) {
	s := &t.Steps[step]
	if of = len(s.Needs) + len(s.Keeps); len(parts) != len(s.Parts) {
		return 0, of
	}
	for _, n := range s.Needs {
		at := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Path == n.Path })
		if at >= 0 && t.Person.Meets(n, Disclosed(&s.Parts[at], parts[at])) {
			met++
		}
	}
	for _, k := range s.Keeps {
		at := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Path == k.Path })
		if at >= 0 && strings.Contains(parts[at], k.Text) {
			met++
		}
	}
	return met, of
}

// Least are the least texts of a step's arguments that serve it: what an oracle
// would send. The words of the task stay in their order, and a field that is
// needed stands at the coarsest level that does.
func (t *Task) Least(step int) []string {
	s := &t.Steps[step]
	out := make([]string, len(s.Parts))
	for i := range s.Parts {
		p := &s.Parts[i]
		var all []piece
		for _, n := range s.Needs {
			if n.Path != p.Path {
				continue
			}
			at := slices.IndexFunc(p.Mentions, func(m Mention) bool { return m.Field == n.Field })
			if at < 0 {
				continue
			}
			all = append(all, piece{p.Mentions[at].Start, p.Mentions[at].End, t.Person.Sufficient(n)})
		}
		for _, k := range s.Keeps {
			if at := strings.Index(p.Text, k.Text); k.Path == p.Path && at >= 0 {
				all = append(all, piece{at, at + len(k.Text), ""})
			}
		}
		out[i] = joinPieces(p.Text, all)
	}
	return out
}

// piece is a part of a text that stays, or what stands for it.
type piece struct {
	start, end int
	by         string // empty: the text itself
}

// joinPieces writes pieces in the order of the text. Pieces that overlap become
// one.
func joinPieces(text string, all []piece) string {
	slices.SortStableFunc(all, func(a, b piece) int { return cmp.Compare(a.start, b.start) })
	var out []string
	for i := 0; i < len(all); i++ {
		one := all[i]
		for one.by == "" && i+1 < len(all) && all[i+1].start <= one.end && all[i+1].by == "" {
			i++
			one.end = max(one.end, all[i].end)
		}
		if one.by == "" {
			one.by = text[one.start:one.end]
		}
		out = append(out, one.by)
	}
	return strings.Join(out, " ")
}

// Owed reports whether a mention tells no more than what the task needs to tell
// there: to leave it as it is discloses nothing beyond the need.
func (t *Task) Owed(step, part, mention int) bool {
	s := &t.Steps[step]
	m := &s.Parts[part].Mentions[mention]
	for _, n := range s.Needs {
		if n.Path != s.Parts[part].Path || n.Field != m.Field {
			continue
		}
		least := Implied(Read(n.Field, t.Person.Sufficient(n)))
		if !slices.ContainsFunc(m.Facts, func(f Fact) bool { return !slices.Contains(least, f) }) {
			return true
		}
	}
	return false
}

// Sufficient is the least text of an argument that meets a need: what an
// oracle would send.
func (x *Person) Sufficient(n Need) string {
	switch n.Level {
	case Whole:
		s, _, _ := x.render(n.Field, "")
		return s
	case Year:
		return x.Born.Format("2006")
	case Decade:
		return x.Born.Format("2006")[:3] + "0s"
	case CityOf:
		return x.value(cityKind(n.Field))
	case StateOf:
		return x.value(stateKind(n.Field))
	case RegionOf:
		return x.value(regionKind(n.Field))
	case Country:
		return x.value(countryKind(n.Field))
	case Kindred:
		return Chapters[x.ill().Chapter].Name
	case Band:
		low := x.Pay / bandWidth * bandWidth
		return thousands(low) + " to " + thousands(low+bandWidth-1)
	case Brand:
		return x.value(KBrand)
	case Domain:
		return x.value(KDomain)
	}
	return ""
}
