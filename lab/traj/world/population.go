package world

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The years of birth, and today. Nothing depends on the real date.
const (
	FirstYear = 1932
	LastYear  = 2007
	decades   = 8
)

// Today is the day on which all tasks are done.
var Today = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// Population is the joint distribution that people are drawn from. Two hidden
// things tie the rest together: the region (home, surname, bank) and the decade
// of birth (year, given name, occupation, illness); each hangs on at most these,
// so that what follows from any set of facts can be computed exactly. All
// tables are probabilities. It is not changed after Joint made it.
type Population struct {
	Region []float64
	Decade []float64

	Cities   []City
	City     [][]float64 // by region
	Surnames []string
	Surname  [][]float64 // by region
	Bank     [][]float64 // by region

	Years   []int
	Year    [][]float64 // by decade
	Givens  []string
	Given   [][]float64 // by decade
	Jobs    []Occupation
	Job     [][]float64 // by decade
	Ills    []Illness
	Illness [][]float64 // by decade

	Areas  []string // all area codes
	States []string // all, sorted
}

// Shares of the rest.
const (
	ShareHomeArea  = .8  // of telephones that have an area code of the home
	ShareHomeState = .7  // of national numbers that are of the home's state
	ShareAtHome    = .75 // of people who are in their own city
	NIDAreas       = 10  // of a state
)

// Joint returns the joint distribution.
func Joint() *Population {
	p := &Population{
		Region: []float64{.20, .22, .28, .22, .08},
		Decade: []float64{.05, .09, .15, .17, .19, .20, .12, .03},
		Cities: cityTable, Jobs: occupationTable, Ills: illnessTable,
	}
	for y := FirstYear; y <= LastYear; y++ {
		p.Years = append(p.Years, y)
	}
	for _, names := range givenTable {
		p.Givens = append(p.Givens, names...)
	}
	for _, names := range surnameTable {
		p.Surnames = append(p.Surnames, names...)
	}
	for r := range Regions {
		p.City = append(p.City, normal(len(p.Cities), func(i int) float64 {
			if p.Cities[i].Region != r {
				return 0
			}
			return p.Cities[i].weight
		}))
		p.Surname = append(p.Surname, normal(len(p.Surnames), func(i int) float64 {
			w := 1 / math.Sqrt(float64(i%30+2))
			if i/30 == r {
				w *= regionBoost
			}
			return w
		}))
		p.Bank = append(p.Bank, normal(len(Banks), func(i int) float64 {
			if Banks[i].Home == r {
				return regionBoost
			}
			return 1
		}))
	}
	for d := range decades {
		p.Year = append(p.Year, normal(len(p.Years), func(i int) float64 {
			if p.DecadeOf(p.Years[i]) != d {
				return 0
			}
			return 1
		}))
		p.Given = append(p.Given, normal(len(p.Givens), func(i int) float64 {
			apart := math.Abs(float64(i/12 - d))
			return math.Exp(-apart) / math.Sqrt(float64(i%12+2))
		}))
		age := float64(decades-1-d) / (decades - 1) // 0 young, 1 old
		p.Job = append(p.Job, normal(len(p.Jobs), func(i int) float64 { return p.Jobs[i].young*(1-age) + p.Jobs[i].old*age }))
		p.Illness = append(p.Illness, normal(len(p.Ills), func(i int) float64 { return p.Ills[i].young*(1-age) + p.Ills[i].old*age }))
	}
	for _, c := range p.Cities {
		p.Areas = append(p.Areas, c.Areas...)
		p.States = append(p.States, c.State)
	}
	slices.Sort(p.Areas)
	slices.Sort(p.States)
	p.States = slices.Compact(p.States)
	return p
}

// DecadeOf is the index of a year's decade.
func (p *Population) DecadeOf(year int) int { return (year - 1930) / 10 }

func normal(n int, weight func(int) float64) []float64 {
	out := make([]float64, n)
	sum := 0.0
	for i := range out {
		out[i] = weight(i)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// NIDArea returns the three digits that national numbers of a state begin with:
// one of ten.
func (p *Population) NIDArea(state string, k int) string {
	i, _ := slices.BinarySearch(p.States, state)
	return fmt.Sprintf("%03d", 100+i*NIDAreas+k)
}

// ZipOf is the postal code of a street in a city.
func ZipOf(c *City, street int) string {
	n := street%zipsPerCity + 1
	if CountryOf(c.Region) == "Canada" {
		return fmt.Sprintf("%s %dA%d", c.Zip, n, n)
	}
	return fmt.Sprintf("%s%02d", c.Zip, n)
}

// Person is one person with all values. Indexes are into Population.
type Person struct {
	Region, Decade                      int
	City, Street, Number                int
	Given, Surname                      int
	Born                                time.Time
	Job, Ill, Medicine                  int
	Pay                                 int
	Bank                                int
	At                                  int // the city where the person is
	Venue                               int
	Phone, NID, Passport, Card, Account string
	Pattern, Employer                   int
	Domain                              string
	APIKey, Password, PrivateKey        string
	pop                                 *Population
}

// Person is the i-th person of a seed.
func (p *Population) Person(seed uint64, i int) *Person { return p.draw(stream(seed, "person", i)) }

func (p *Population) draw(d draw) *Person {
	x := &Person{pop: p, Region: d.weighted(p.Region), Decade: d.weighted(p.Decade)}
	x.City = d.weighted(p.City[x.Region])
	x.Street, x.Number = d.IntN(len(Streets)), d.between(1, MaxNumber)
	x.Surname, x.Bank = d.weighted(p.Surname[x.Region]), d.weighted(p.Bank[x.Region])
	x.Given, x.Job, x.Ill = d.weighted(p.Given[x.Decade]), d.weighted(p.Job[x.Decade]), d.weighted(p.Illness[x.Decade])
	year := p.Years[d.weighted(p.Year[x.Decade])]
	x.Born = time.Date(year, 1, 1+d.IntN(365), 0, 0, 0, 0, time.UTC)
	x.Medicine = d.IntN(len(p.Ills[x.Ill].Medicines))
	j := &p.Jobs[x.Job]
	x.Pay = j.Low + SalaryStep*d.IntN((j.High-j.Low)/SalaryStep+1)

	c := &p.Cities[x.City]
	area := pick(d, c.Areas)
	if !d.chance(ShareHomeArea) {
		area = pick(d, p.Areas)
	}
	x.Phone = area + d.chars(1, "23456789") + d.digits(6)
	state := c.State
	if !d.chance(ShareHomeState) {
		state = pick(d, p.States)
	}
	x.NID = p.NIDArea(state, d.IntN(NIDAreas)) + d.digits(6)
	x.At = x.City
	if !d.chance(ShareAtHome) {
		x.At = d.IntN(len(p.Cities))
	}
	x.Venue = d.IntN(len(Venues))
	x.Passport = d.chars(1, "ABCDEFGHJKLMNPRSTUVWXYZ") + d.digits(8)
	b := &Banks[x.Bank]
	x.Card = luhn(b.Bin + d.digits(9))
	if b.Brand == "American Express" {
		x.Card = luhn(b.Bin + d.digits(8))
	}
	x.Account = b.Prefix + d.digits(8)
	shares := make([]float64, len(patterns))
	for i := range patterns {
		shares[i] = patterns[i].share
	}
	x.Pattern = d.weighted(shares)
	firms := Employers[j.Sector]
	x.Employer = d.IntN(len(firms))
	if d.chance(providerShare) {
		x.Domain = pick(d, Providers)
	} else {
		x.Domain = firms[x.Employer][1]
	}
	const key = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	x.APIKey = "sk_live_" + d.chars(24, key)
	x.Password = pick(d, passwordWords) + d.chars(1, "!#%+=") + d.chars(6, key)
	x.PrivateKey = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI" + d.chars(43, key) + "\n-----END PRIVATE KEY-----"
	return x
}

var passwordWords = []string{"Lantern", "Harvest", "Cobblestone", "Marigold", "Thunder", "Orchid", "Compass", "Meadow"}

// Bits of the secrets that hang on nothing, for their prior.
var (
	KeyBits = map[Field]float64{
		APIKey: 24 * math.Log2(62), Password: math.Log2(8*5) + 6*math.Log2(62), PrivateKey: 43 * math.Log2(62),
		Passport: math.Log2(23) + 8*math.Log2(10),
	}
)

func luhn(digits string) string {
	sum := 0
	for i := range digits {
		v := int(digits[len(digits)-1-i] - '0')
		if i%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return digits + string(rune('0'+(10-sum%10)%10))
}

// Local returns the local part of an address of mail.
func Local(pattern int, given, surname string, year int) string {
	g, s := strings.ToLower(given), strings.ToLower(surname)
	switch pattern {
	case 0:
		return g + "." + s
	case 1:
		return g[:1] + s
	case 2:
		return g + s
	case 3:
		return s + "." + g
	}
	return fmt.Sprintf("%s.%s%02d", g, s, year%100)
}

// PatternShare is the share of a pattern of addresses, and whether it has the
// year of birth.
func PatternShare(i int) (share float64, year bool) {
	if i >= len(patterns) {
		return 0, false
	}
	return patterns[i].share, i == len(patterns)-1
}

// DomainShare is the share of a domain among those who have an occupation.
func (p *Population) DomainShare(domain string, job int) float64 {
	if slices.Contains(Providers, domain) {
		return providerShare / float64(len(Providers))
	}
	firms := Employers[p.Jobs[job].Sector]
	for _, f := range firms {
		if f[1] == domain {
			return (1 - providerShare) / float64(len(firms))
		}
	}
	return 0
}

func (x *Person) given() string   { return x.pop.Givens[x.Given] }
func (x *Person) surname() string { return x.pop.Surnames[x.Surname] }
func (x *Person) city() *City     { return &x.pop.Cities[x.City] }
func (x *Person) at() *City       { return &x.pop.Cities[x.At] }
func (x *Person) ill() *Illness   { return &x.pop.Ills[x.Ill] }
func (x *Person) job() *Occupation {
	return &x.pop.Jobs[x.Job]
}

// Age is the person's age today, in years.
func (x *Person) Age() int { return ageAt(x.Born, Today) }
