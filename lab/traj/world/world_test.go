package world

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
)

func TestSameBytes(t *testing.T) {
	a, err := json.Marshal(Generate(100, Size))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(Generate(100, Size))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("the same seed made two worlds")
	}
	c, err := json.Marshal(Generate(101, Size))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(a, c) {
		t.Error("two seeds made one world")
	}
}

// What a mention says it tells must be true, and readable where it stands.
func TestMentions(t *testing.T) {
	oblique := map[Field]int{}
	for _, task := range Generate(100, Size).Tasks {
		for i := range task.Steps {
			for k := range task.Steps[i].Parts {
				p := &task.Steps[i].Parts[k]
				end := 0
				for _, m := range p.Mentions {
					if m.Start < end || m.End <= m.Start || m.End > len(p.Text) || len(m.Facts) == 0 {
						t.Fatalf("%s: mention %d–%d of %q", task.ID, m.Start, m.End, p.Text)
					}
					end = m.End
					for _, f := range m.Facts {
						if !task.Person.Holds(f) {
							t.Fatalf("%s: %q is said to tell %v, which is false", task.ID, p.Text[m.Start:m.End], f)
						}
					}
					if m.Oblique {
						oblique[m.Field]++
						continue
					}
					got := Implied(Read(m.Field, p.Text[m.Start:m.End]))
					for _, f := range m.Facts {
						if !slices.Contains(got, f) {
							t.Fatalf("%q tells %v, and %v is read", p.Text[m.Start:m.End], f, got)
						}
					}
					for _, f := range got {
						if !task.Person.Holds(f) {
							t.Fatalf("%q is read as %v, which is false", p.Text[m.Start:m.End], f)
						}
					}
				}
				if p.Field != "" && (len(p.Mentions) != 1 || p.Mentions[0].Field != p.Field) {
					t.Fatalf("%s: %s has type %s and other mentions", task.ID, p.Path, p.Field)
				}
				if again := Survived(p, p.Text); slices.Contains(again, false) {
					t.Fatalf("%q: a mention did not survive an unchanged text", p.Text)
				}
			}
		}
	}
	for _, f := range []Field{LegalName, DOB, Address, Phone, Diagnosis, PaymentToken, Email, Salary, Location, AccountID} {
		if oblique[f] < 5 {
			t.Errorf("%s is told in other words %d times", f, oblique[f])
		}
	}
}

// No value of a record may stand in a text outside the mentions.
func TestNothingElse(t *testing.T) {
	for _, task := range Generate(101, Size).Tasks {
		for i := range task.Steps {
			for _, p := range task.Steps[i].Parts {
				rest := []byte(p.Text)
				for _, m := range p.Mentions {
					for k := m.Start; k < m.End; k++ {
						rest[k] = 0
					}
				}
				for _, r := range task.Records {
					if bytes.Contains(rest, []byte(r.Value)) {
						t.Fatalf("%s: %s stands outside the mentions of %q", task.ID, r.Field, p.Text)
					}
				}
			}
		}
	}
}

func TestComposition(t *testing.T) {
	for _, seed := range []uint64{100, 101, 102} {
		w := Generate(seed, Size)
		var coarse, long, fifty, mixed, background int
		cats := map[string]int{}
		for _, task := range w.Tasks {
			cats[task.Category]++
			classes := map[flow.Class]bool{}
			sinks := map[string]bool{}
			for i := range task.Steps {
				classes[task.Steps[i].Sink.Class] = true
				if task.Steps[i].Sink.Class != flow.RequiredService {
					sinks[task.Steps[i].Sink.Name] = true
				}
				if s := &task.Steps[i]; s.Essential == (len(s.Needs)+len(s.Keeps) == 0) {
					t.Fatalf("%s: %v is essential: %v, and needs %v", task.ID, s, s.Essential, s.Needs)
				}
			}
			add := func(n *int, yes bool) {
				if yes {
					*n++
				}
			}
			add(&coarse, task.Coarse())
			add(&mixed, len(classes) == 3)
			add(&long, len(task.Steps) >= 20)
			add(&fifty, len(task.Steps) == Longest)
			add(&background, len(task.Background) > 0)
			if len(task.Steps) > Longest {
				t.Fatalf("%s has %d steps", task.ID, len(task.Steps))
			}
			if task.Long && len(sinks) < 8 {
				t.Errorf("%s has %d steps and %d sinks that may collude", task.ID, len(task.Steps), len(sinks))
			}
		}
		for _, c := range Dev().Categories() {
			if cats[c] < Size/12 {
				t.Errorf("seed %d: %d of %s", seed, cats[c], c)
			}
		}
		if len(cats) != 12 || coarse*2 < Size || mixed*2 < Size || long*20 < Size || fifty < 5 || background*4 < Size {
			t.Errorf("seed %d: %d categories, %d tasks need coarse data, %d have all classes, %d are long, %d of %d steps, %d with background", seed, len(cats), coarse, mixed, long, fifty, Longest, background)
		}
	}
}

// The least that an oracle would send must do, nothing at a starved sink may.
func TestOracleSuffices(t *testing.T) {
	for _, task := range Generate(102, Size).Tasks {
		for i := range task.Steps {
			s := &task.Steps[i]
			all := make([]string, len(s.Parts))
			starved := slices.Clone(all)
			least := task.Least(i)
			for k := range s.Parts {
				all[k] = s.Parts[k].Text
				starved[k] = all[k]
				for _, n := range s.Needs {
					if n.Path == s.Parts[k].Path {
						starved[k] = "[REDACTED:" + string(n.Field) + "]"
					}
				}
			}
			if !task.Served(i, all) || !task.Served(i, least) {
				t.Fatalf("%s, %v: whole values serve: %v; the least ones %q: %v", task.ID, s, task.Served(i, all), least, task.Served(i, least))
			}
			if len(s.Needs) > 0 && task.Served(i, starved) {
				t.Fatalf("%s, %v: served by nothing", task.ID, s)
			}
			if s.Essential && task.Served(i, nil) {
				t.Fatalf("%s, %v: served by a denial", task.ID, s)
			}
		}
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		field Field
		text  string
		want  []Fact
	}{
		{DOB, "born in the 1980s", []Fact{yearRange(1980, 1989)}},
		{DOB, "1980–1989", []Fact{yearRange(1980, 1989)}},
		{DOB, "1984-03", []Fact{{KBorn, "1984-03-01..1984-03-31"}}},
		{DOB, "February 1984", []Fact{{KBorn, "1984-02-01..1984-02-29"}}},
		{DOB, "40-49", []Fact{{KBorn, "1976-03-03..1986-03-02"}}},
		{Address, "Boise, ID", []Fact{{KCity, "Boise"}, {KState, "Idaho"}}},
		{Address, "somewhere in the Midwest", []Fact{{KRegion, "Midwest"}}},
		{Address, "832**", nil},
		{Address, "837**", []Fact{{KCity, "Boise"}}},
		{Location, "South Gym", []Fact{{KVenue, "South Gym"}}},
		{Email, "h***@cobalt.example", []Fact{{KDomain, "cobalt.example"}}},
		{Diagnosis, "E10-E14", []Fact{{KChapter, "E10-E14"}}},
		{Diagnosis, "a circulatory complaint", []Fact{{KChapter, "I00-I99"}}},
		{Salary, "50,000 to 74,999", []Fact{Money(50000, 74999)}},
		{Salary, "$50k–$75k", []Fact{Money(50000, 75000)}},
		{Salary, "50-75k", []Fact{Money(50000, 75000)}},
		{PaymentToken, "**** **** **** 4242", []Fact{{KCardEnd, "4242"}}},
		{PaymentToken, "a Visa", []Fact{{KBrand, "Visa"}}},
		{Phone, "+1 (208) ***-****", []Fact{{KArea, "208"}}},
		{Phone, "(208) 555-0199", []Fact{{KPhone, "2085550199"}}},
		{LegalName, "M. L.", []Fact{{KInitials, "ML"}}},
		{LegalName, "[REDACTED:legal-name]", nil},
		{LegalName, "legal-name-MARY7X", nil},
		{DOB, "dob-1984ab12", nil},
		{Passport, "passport-A12345678", nil},
	} {
		if got := Read(c.field, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s in %q: %v, want %v", c.field, c.text, got, c.want)
		}
	}
}

func TestTold(t *testing.T) {
	x := Joint().Person(7, 0)
	w := x.write("Call {legal-name} of {address}, born {dob:spelled}, soon.", nil)
	p := &Part{Text: w.string, Free: true, Mentions: w.mentions}
	put := func(s string, i int, by string) string {
		return strings.Replace(s, w.string[w.mentions[i].Start:w.mentions[i].End], by, 1)
	}
	tells := func(released string, k Kind) bool {
		return slices.ContainsFunc(Disclosed(p, released), func(f Fact) bool { return f.Kind == k && x.Holds(f) })
	}
	s := put(put(w.string, 0, "[REDACTED]"), 1, x.city().State)
	if tells(s, KSurname) || tells(s, KCity) || !tells(s, KState) || !tells(s, KBorn) {
		t.Errorf("%q tells %v", s, Disclosed(p, s))
	}
	if got := Disclosed(p, "[REDACTED]"); len(got) > 0 {
		t.Errorf("a marker tells %v", got)
	}
	if s := "Nothing of it. " + w.string[w.mentions[1].Start:w.mentions[1].End]; !tells(s, KStreet) {
		t.Errorf("an address on its own is not seen")
	}
	if got := Survived(p, put(w.string, 2, "long ago")); !slices.Equal(got, []bool{true, true, false}) {
		t.Errorf("survived: %v", got)
	}
}

// Whatever a defence makes of a text, reading it ends and tells no more than
// the original of what survives word by word.
func TestToldNeverFails(t *testing.T) {
	tasks := Generate(103, 24).Tasks
	rapid.Check(t, func(rt *rapid.T) {
		task := rapid.SampledFrom(tasks).Draw(rt, "task")
		s := rapid.SampledFrom(task.Steps).Draw(rt, "step")
		p := rapid.SampledFrom(s.Parts).Draw(rt, "part")
		cut := rapid.IntRange(0, len(p.Text)).Draw(rt, "cut")
		junk := rapid.StringMatching(`[\pL\d ,.@\[\]-]{0,30}`).Draw(rt, "junk")
		Disclosed(&p, p.Text[:cut]+junk)
		Survived(&p, junk+p.Text[cut:])
	})
}

func TestDistribution(t *testing.T) {
	p := Joint()
	for name, rows := range map[string][][]float64{"city": p.City, "surname": p.Surname, "bank": p.Bank, "year": p.Year, "given": p.Given, "job": p.Job, "illness": p.Illness, "hidden": {p.Region, p.Decade}} {
		for _, row := range rows {
			sum := 0.0
			for _, v := range row {
				sum += v
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s sums to %v", name, sum)
			}
		}
	}
	// The correlations are there: half of what is drawn has a home's area
	// code, where independence would give a thirtieth.
	same, n := 0, 4000
	for i := range n {
		x := p.Person(1, i)
		if slices.Contains(x.city().Areas, x.Phone[:3]) {
			same++
		}
		if !strings.HasPrefix(x.Card, Banks[x.Bank].Bin) || luhn(x.Card[:len(x.Card)-1]) != x.Card {
			t.Fatal("a card that no bank issues")
		}
	}
	if share := float64(same) / float64(n); share < ShareHomeArea-.03 || share > ShareHomeArea+.06 {
		t.Errorf("%v have an area code of their home", share)
	}
	seen := map[string]bool{}
	for _, c := range p.Cities {
		if seen[c.Name] || seen[c.Zip] {
			t.Errorf("%s is there twice, or its codes", c.Name)
		}
		seen[c.Name], seen[c.Zip] = true, true
		for _, a := range c.Areas {
			if seen[a+"area"] {
				t.Errorf("area code %s is there twice", a)
			}
			seen[a+"area"] = true
		}
	}
	names := map[string]bool{}
	for _, n := range slices.Concat(p.Givens, p.Surnames) {
		if names[n] {
			t.Errorf("%s is there twice", n)
		}
		names[n] = true
	}
	for _, n := range []int{3, 14, 40, 84, 100, 123, 999} {
		if words(n) == "" || strings.Contains(words(n), "-"+fmt.Sprint(n)) {
			t.Errorf("%d in words: %q", n, words(n))
		}
	}
}
