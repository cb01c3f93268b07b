package respell

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/margaydev/margay/lab/traj/world"
)

// personName is a name in its parts.
type personName struct {
	given, middle, particle string
	surnames                []string
}

func (n personName) surname() string {
	s := strings.Join(n.surnames, " ")
	if n.particle != "" {
		s = n.particle + " " + s
	}
	return s
}

func (n personName) full() string {
	if n.middle != "" {
		return n.given + " " + n.middle + " " + n.surname()
	}
	return n.given + " " + n.surname()
}

// more are names of kinds that the population of lab/traj/world lacks.
var more = []personName{
	{"Anna", "Louise", "", []string{"Bergmann"}},
	{"Thomas", "Edward", "", []string{"Whitlock"}},
	{"Maria", "", "", []string{"García", "Robles"}},
	{"José", "Luis", "", []string{"Fernández", "Ochoa"}},
	{"Jean-Luc", "", "", []string{"Moreau"}},
	{"Marie-Claire", "Odile", "", []string{"Dubreuil"}},
	{"Sarah", "", "", []string{"Whitmore-Jenkins"}},
	{"Helen", "Grace", "", []string{"Ashby-Cole"}},
	{"Siobhan", "", "", []string{"O’Rourke"}},
	{"Patrick", "Finn", "", []string{"O'Hanlon"}},
	{"Chiara", "", "", []string{"D'Ambrosio"}},
	{"Jürgen", "", "", []string{"Möller"}},
	{"Zoë", "", "", []string{"Kröger"}},
	{"Søren", "", "", []string{"Mikkelsen"}},
	{"Łukasz", "", "", []string{"Wójcik"}},
	{"Željka", "", "", []string{"Kovačić"}},
	{"Pieter", "", "van der", []string{"Linden"}},
	{"Ingrid", "", "von", []string{"Hohenfels"}},
	{"Lucia", "", "de la", []string{"Torre"}},
	{"João", "", "dos", []string{"Santos"}},
	{"Yusuf", "", "al", []string{"Mansour"}},
	{"Jun", "Wei", "", []string{"Ong"}},
	{"Nguyễn", "", "", []string{"Hoàng"}},
	{"Ольга", "Петровна", "", []string{"Смирнова"}},
	{"Νίκος", "", "", []string{"Παπαδάκης"}},
	{"太郎", "", "", []string{"山田"}},
	{"ליאור", "", "", []string{"כהן"}},
	{"فاطمة", "", "", []string{"الزهراء"}},
}

var middles = []string{"Ann", "James", "Rose", "Lee", "Marie", "Allen", "Jane", "Ray", "Elise", "Scott"}

// value draws the i-th value of a field.
func (g *generator) value(f world.Field, i int) *value {
	d := g.rand(i)
	x := g.pop.Person(g.seed, i)
	v := &value{person: x, text: x.Part("v", f, false, world.FromProfile, "{"+string(f)+"}").Text}
	v.name = personName{given: g.pop.Givens[x.Given], surnames: []string{g.pop.Surnames[x.Surname]}}
	switch f {
	case world.LegalName:
		switch k := d.IntN(10); {
		case k < 6:
			v.name = more[d.IntN(len(more))]
		case k < 8:
			v.name.middle = middles[d.IntN(len(middles))]
		}
		v.text = v.name.full()
	case world.DOB:
		if d.IntN(3) == 0 {
			v.text = x.Born.Format("January 2, 2006")
		}
	case world.Phone:
		v.digits = x.Phone
		if d.IntN(4) == 0 {
			v.digits = ""
			code := []string{"44", "49", "31", "61"}[d.IntN(4)]
			v.text = fmt.Sprintf("+%s %d%d %03d %04d", code, 2+d.IntN(6), d.IntN(10), d.IntN(1000), d.IntN(10000))
		}
	case world.PaymentToken:
		v.digits = x.Card
	case world.AccountID:
		v.digits = x.Account
		if d.IntN(3) == 0 {
			v.digits = ""
			v.text = iban(fmt.Sprintf("%08d%010d", 10000000+d.IntN(80000000), d.Int64N(10_000_000_000)))
		}
	case world.NationalID:
		v.digits = x.NID
	case world.Passport:
		v.digits = x.Passport[1:]
	case world.Salary:
		v.digits = strconv.Itoa(x.Pay)
	}
	return v
}

// iban is a German account number with its check digits, in groups of four.
func iban(account string) string {
	mod := 0
	for _, r := range account + "131400" { // "DE00"
		mod = (mod*10 + int(r-'0')) % 97
	}
	return groups(fmt.Sprintf("DE%02d%s", 98-mod, account), " ", 4)
}

// groups cuts a text into pieces of the given lengths, the last again and
// again.
func groups(s, between string, lengths ...int) string {
	r := []rune(s)
	var out []string
	for i := 0; len(r) > 0; i++ {
		n := min(lengths[min(i, len(lengths)-1)], len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return strings.Join(out, between)
}

// keep leaves the letters and digits of a text.
func keep(s string) string {
	return strings.Map(func(r rune) rune {
		if isWord(r) {
			return r
		}
		return -1
	}, s)
}
