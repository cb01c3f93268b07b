// Package adversary is the stress pool of the benchmarks traj and robust: the
// adversaries that learn from what sinks were shown. It sets no cost.
//
//   - Bayes knows the joint distribution that people are drawn from, and public
//     background: its posterior over every secret is exact, by summing over the
//     two hidden variables of the population and, for addresses of mail, over
//     all names that can have made them.
//   - Lexical has learnt, from the texts of another seed, which ordinary words
//     go with which region, decade, illness and trade; what it believes is
//     evidence for Bayes. It is calibrated on a third seed.
//   - Views of several sinks are pooled as if who is who were known (Collude):
//     linking them is free.
//   - LLM asks any OpenAI-compatible endpoint for its best guesses.
//
// What is measured is dynamic min-entropy leakage: Δ = log2 max P(s|view) −
// log2 max P(s), both given the background. False readings of a view are left
// out before Bayes sees them, as if the adversary knew which clues to trust.
package adversary

import (
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/traj/world"
)

// Belief is what an adversary believes of one secret.
type Belief struct {
	Max   float64 // the probability of its best guess
	Truth float64 // the probability of the truth
	Ties  float64 // how many values are as probable as the best guess
}

// Bits is the leakage from a prior belief to this one, never below 0.
func (b Belief) Bits(prior Belief) float64 {
	return max(0, math.Log2(b.Max)-math.Log2(prior.Max))
}

// Recovered is the probability that the best guess is the truth: ties are
// broken by chance.
func (b Belief) Recovered() float64 {
	if b.Truth < b.Max*(1-1e-9) {
		return 0
	}
	return 1 / math.Max(1, b.Ties)
}

// Cues are soft evidence on classes: likelihoods up to a common factor, or nil
// for none.
type Cues struct{ Region, Decade, Chapter, Sector []float64 }

// Bayes is the exact adversary. It is safe for concurrent use.
type Bayes struct {
	pop    *world.Population
	locals map[string][]combo // by local part; built once
	trade  []float64          // Posterior.trade where nothing is known, by decade
}

// pair is a name with its probability.
type pair struct {
	given, surname int
	w              float64
}

// combo is a way in which a local part can have come about.
type combo struct {
	given, surname int
	share          float64
	yy             int // two digits of the year, or -1
}

// NewBayes makes the adversary of a population.
func NewBayes(p *world.Population) *Bayes {
	b := &Bayes{pop: p, locals: map[string][]combo{}}
	for g, given := range p.Givens {
		for s, surname := range p.Surnames {
			for i := 0; ; i++ {
				share, year := world.PatternShare(i)
				if share == 0 {
					break
				}
				if !year {
					l := world.Local(i, given, surname, 0)
					b.locals[l] = append(b.locals[l], combo{g, s, share, -1})
					continue
				}
				// The digits are read off at the time: they would be a
				// hundred entries for every name.
				l := strings.TrimRight(world.Local(i, given, surname, 0), "0")
				b.locals[l+"YY"] = append(b.locals[l+"YY"], combo{g, s, share, 0})
			}
		}
	}
	nothing := b.Infer(nil, nil)
	for d := range p.Decade {
		b.trade = append(b.trade, nothing.trade(d))
	}
	return b
}

func (b *Bayes) combos(local string) []combo {
	out := slices.Clone(b.locals[local])
	if n := len(local) - 2; n > 0 && isDigit(local[n]) && isDigit(local[n+1]) {
		for _, c := range b.locals[local[:n]+"YY"] {
			c.yy = int(local[n]-'0')*10 + int(local[n+1]-'0')
			out = append(out, c)
		}
	}
	return out
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// evidence is what facts say, by variable. Nil or empty is nothing.
type evidence struct {
	kinds  map[world.Kind][]string
	facts  []world.Fact
	cities []bool // home
	at     []bool
	days   []dayRange
	pay    [2]int
	streets
}

type streets struct {
	allowed []bool
	number  bool
}

type dayRange struct{ from, to int } // days since 1930, inclusive

// Posterior is what follows from evidence.
type Posterior struct {
	b  *Bayes
	ev *evidence

	joint                [][]float64 // by region, decade
	region, decade       []float64
	city, at, bank       []float64
	given, surname, year []float64
	perYear              []float64 // days that are possible, by year
	bankOK, jobL, illL   []float64 // likelihoods
	okGiven, okSurname   []bool
	plainJobs            bool    // nothing is known about occupation, salary or domain
	combos               []combo // that are possible; nil where no local part was told
	job, ill             []float64
	pairs                []pair // those that a local part admits; nil: given and surname are independent
}

// Infer returns the posterior given facts that are all true of one person, and
// cues.
func (b *Bayes) Infer(facts []world.Fact, cues *Cues) *Posterior {
	p := &Posterior{b: b, ev: b.read(facts)}
	if cues == nil {
		cues = &Cues{}
	}
	b.places(p)
	b.names(p, cues)
	return p
}

func (b *Bayes) read(facts []world.Fact) *evidence {
	ev := &evidence{kinds: map[world.Kind][]string{}, facts: facts, pay: [2]int{0, math.MaxInt}}
	for _, f := range facts {
		ev.kinds[f.Kind] = append(ev.kinds[f.Kind], f.Value)
		if from, to, ok := f.Days(); ok {
			ev.days = append(ev.days, dayRange{dayOf(from), dayOf(to)})
		}
		if low, high, ok := f.Dollars(); ok {
			ev.pay = [2]int{max(ev.pay[0], low), min(ev.pay[1], high)}
		}
	}
	// A whole value tells its parts; what it tells beyond, the secrets ask
	// for themselves.
	for _, f := range world.Implied(facts) {
		if !slices.Contains(ev.kinds[f.Kind], f.Value) {
			ev.kinds[f.Kind] = append(ev.kinds[f.Kind], f.Value)
		}
	}
	if v := ev.one(world.KNID); len(v) == 9 {
		ev.kinds[world.KNIDArea] = []string{v[:3]}
	}
	if v := ev.one(world.KAccount); len(v) == 12 {
		ev.kinds[world.KPrefix] = []string{v[:4]}
	}
	return ev
}

func (ev *evidence) one(k world.Kind) string {
	if v := ev.kinds[k]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (ev *evidence) allows(k world.Kind, v string) bool {
	return len(ev.kinds[k]) == 0 || slices.Contains(ev.kinds[k], v)
}

// places computes what hangs on the region, up to a factor by region.
func (b *Bayes) places(p *Posterior) {
	ev, pop := p.ev, b.pop
	ev.allowed = make([]bool, len(world.Streets))
	for i, s := range world.Streets {
		ev.allowed[i] = ev.allows(world.KStreet, s)
	}
	if zip := ev.one(world.KZip); zip != "" {
		for i := range ev.allowed {
			ok := slices.ContainsFunc(pop.Cities, func(c world.City) bool { return world.ZipOf(&c, i) == zip })
			ev.allowed[i] = ev.allowed[i] && ok
		}
	}
	ev.number = ev.one(world.KNumber) != ""
	ev.cities, ev.at = make([]bool, len(pop.Cities)), make([]bool, len(pop.Cities))
	for i := range pop.Cities {
		c := &pop.Cities[i]
		zip := ev.one(world.KZip)
		ev.cities[i] = ev.allows(world.KCity, c.Name) && ev.allows(world.KState, c.State) && ev.allows(world.KRegion, world.Regions[c.Region]) &&
			ev.allows(world.KCountry, world.CountryOf(c.Region)) &&
			(zip == "" || strings.HasPrefix(zip, c.Zip))
		ev.at[i] = ev.allows(world.KAtCity, c.Name) && ev.allows(world.KAtState, c.State) && ev.allows(world.KAtRegion, world.Regions[c.Region]) &&
			ev.allows(world.KAtCountry, world.CountryOf(c.Region))
	}
	p.city = make([]float64, len(pop.Cities))
	for i := range pop.Cities {
		if !ev.cities[i] {
			continue
		}
		l := 0.0
		for k := range pop.Cities {
			if ev.at[k] {
				l += shareAt(i, k, len(pop.Cities))
			}
		}
		if area := ev.one(world.KArea); area != "" {
			l *= b.shareArea(i, area)
		}
		if area := ev.one(world.KNIDArea); area != "" {
			l *= b.shareState(i, b.stateOfNID(area))
		}
		p.city[i] = pop.City[pop.Cities[i].Region][i] * l
	}
	p.bankOK = make([]float64, len(world.Banks))
	for i := range world.Banks {
		k := &world.Banks[i]
		if ev.allows(world.KBin, k.Bin) && ev.allows(world.KBrand, k.Brand) && ev.allows(world.KPrefix, k.Prefix) {
			p.bankOK[i] = 1
		}
	}
}

func shareAt(home, at, n int) float64 {
	s := (1 - world.ShareAtHome) / float64(n)
	if home == at {
		s += world.ShareAtHome
	}
	return s
}

func (b *Bayes) shareArea(city int, area string) float64 {
	s := (1 - world.ShareHomeArea) / float64(len(b.pop.Areas))
	if own := b.pop.Cities[city].Areas; slices.Contains(own, area) {
		s += world.ShareHomeArea / float64(len(own))
	}
	return s
}

func (b *Bayes) stateOfNID(area string) int {
	n := -100
	for _, c := range []byte(area) {
		if !isDigit(c) {
			return -1
		}
	}
	if len(area) == 3 {
		n = int(area[0]-'0')*100 + int(area[1]-'0')*10 + int(area[2]-'0') - 100
	}
	if n < 0 || n/world.NIDAreas >= len(b.pop.States) {
		return -1
	}
	return n / world.NIDAreas
}

func (b *Bayes) shareState(city, state int) float64 {
	s := (1 - world.ShareHomeState) / float64(len(b.pop.States))
	if state >= 0 && b.pop.States[state] == b.pop.Cities[city].State {
		s += world.ShareHomeState
	}
	return s
}

// names computes the rest, and everything's normal form.
func (b *Bayes) names(p *Posterior, cues *Cues) {
	ev, pop := p.ev, b.pop
	nR, nD := len(pop.Region), len(pop.Decade)
	initials := ev.one(world.KInitials)
	p.okGiven, p.okSurname = make([]bool, len(pop.Givens)), make([]bool, len(pop.Surnames))
	for i, g := range pop.Givens {
		p.okGiven[i] = ev.allows(world.KGiven, g) && (initials == "" || g[0] == initials[0])
	}
	for i, s := range pop.Surnames {
		p.okSurname[i] = ev.allows(world.KSurname, s) && (initials == "" || s[0] == initials[1])
	}
	soft := func(c []float64, i int) float64 {
		if c == nil {
			return 1
		}
		return c[i]
	}
	p.perYear = make([]float64, len(pop.Years))
	for i, y := range pop.Years {
		p.perYear[i] = ev.daysOf(y)
	}
	p.plainJobs = cues.Sector == nil && len(ev.kinds[world.KJob]) == 0 && len(ev.kinds[world.KDomain]) == 0 && ev.pay == [2]int{0, math.MaxInt}
	jobL := make([]float64, len(pop.Jobs))
	for i := range pop.Jobs {
		j := &pop.Jobs[i]
		if !ev.allows(world.KJob, j.Title) {
			continue
		}
		n, of := grid(j, ev.pay)
		jobL[i] = float64(n) / float64(of)
		if d := ev.one(world.KDomain); d != "" {
			jobL[i] *= pop.DomainShare(d, i)
		}
		jobL[i] *= soft(cues.Sector, sectorIndex(j.Sector))
	}
	illL := make([]float64, len(pop.Ills))
	for i := range pop.Ills {
		illL[i] = ev.illness(&pop.Ills[i]) * soft(cues.Chapter, pop.Ills[i].Chapter)
	}
	// By region and by decade, what does not touch the name or the year.
	rW, dW := make([]float64, nR), make([]float64, nD)
	for r := range nR {
		geo, bank := 0.0, 0.0
		for i := range p.city {
			if pop.Cities[i].Region == r {
				geo += p.city[i]
			}
		}
		for i, ok := range p.bankOK {
			bank += ok * pop.Bank[r][i]
		}
		rW[r] = pop.Region[r] * geo * bank * soft(cues.Region, r)
	}
	jobD, illD, yearD := make([]float64, nD), make([]float64, nD), make([]float64, nD)
	for d := range nD {
		for i, l := range jobL {
			jobD[d] += l * pop.Job[d][i]
		}
		for i, l := range illL {
			illD[d] += l * pop.Illness[d][i]
		}
		for i := range pop.Years {
			yearD[d] += pop.Year[d][i] * p.perYear[i] / 365
		}
		dW[d] = pop.Decade[d] * jobD[d] * illD[d] * soft(cues.Decade, d)
	}
	p.joint = table(nR, nD)
	p.given, p.surname, p.year = make([]float64, len(pop.Givens)), make([]float64, len(pop.Surnames)), make([]float64, len(pop.Years))
	if local := ev.one(world.KLocal); local != "" {
		p.pairs = []pair{}
		for _, c := range b.combos(local) {
			if !p.okGiven[c.given] || !p.okSurname[c.surname] {
				continue
			}
			p.combos = append(p.combos, c)
			all := 0.0
			for r := range nR {
				for d := range nD {
					w := rW[r] * dW[d] * pop.Given[d][c.given] * pop.Surname[r][c.surname] * c.share
					if w == 0 {
						continue
					}
					sum := 0.0
					for i, y := range pop.Years {
						if c.yy < 0 || y%100 == c.yy {
							one := w * pop.Year[d][i] * p.perYear[i] / 365
							p.year[i] += one
							sum += one
						}
					}
					p.joint[r][d] += sum
					all += sum
					p.given[c.given] += sum
					p.surname[c.surname] += sum
				}
			}
			p.addPair(c.given, c.surname, all)
		}
	} else {
		for r := range nR {
			zs := 0.0
			for i, s := range pop.Surname[r] {
				if p.okSurname[i] {
					zs += s
				}
			}
			for d := range nD {
				zg := 0.0
				for i, g := range pop.Given[d] {
					if p.okGiven[i] {
						zg += g
					}
				}
				p.joint[r][d] = rW[r] * zs * dW[d] * zg * yearD[d]
			}
		}
	}
	p.jobL, p.illL = jobL, illL
	p.marginals(jobD, illD, yearD)
}

// addPair adds to the weight of a name, which several patterns may have made.
func (p *Posterior) addPair(given, surname int, w float64) {
	for i := range p.pairs {
		if p.pairs[i].given == given && p.pairs[i].surname == surname {
			p.pairs[i].w += w
			return
		}
	}
	p.pairs = append(p.pairs, pair{given, surname, w})
}

func table(n, m int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, m)
	}
	return out
}

// grid counts the salaries of an occupation within bounds, and all.
func grid(j *world.Occupation, pay [2]int) (n, of int) {
	for s := j.Low; s <= j.High; s += world.SalaryStep {
		of++
		if pay[0] <= s && s <= pay[1] {
			n++
		}
	}
	return n, of
}

// illness is the likelihood of what was told about the illness.
func (ev *evidence) illness(ill *world.Illness) float64 {
	if !ev.allows(world.KIllness, ill.Name) || !ev.allows(world.KSymptom, ill.Symptom) {
		return 0
	}
	for _, c := range ev.kinds[world.KChapter] {
		if !world.InChapter(ill, c) {
			return 0
		}
	}
	if m := ev.one(world.KMedicine); m != "" {
		if !slices.Contains(ill.Medicines, m) {
			return 0
		}
		return 1 / float64(len(ill.Medicines))
	}
	return 1
}

func (p *Posterior) marginals(jobD, illD, yearD []float64) {
	pop := p.b.pop
	total := 0.0
	p.region, p.decade = make([]float64, len(pop.Region)), make([]float64, len(pop.Decade))
	for r := range p.joint {
		for d, w := range p.joint[r] {
			total += w
			p.region[r] += w
			p.decade[d] += w
		}
	}
	scale(p.region, total)
	scale(p.decade, total)
	byRegion := make([]float64, len(pop.Region))
	for i, w := range p.city {
		byRegion[pop.Cities[i].Region] += w
	}
	for i := range p.city {
		r := pop.Cities[i].Region
		p.city[i] = share(p.city[i], byRegion[r]) * p.region[r]
	}
	ok := p.bankOK
	p.bank = make([]float64, len(ok))
	for r, w := range p.region {
		z := 0.0
		for i := range ok {
			z += ok[i] * pop.Bank[r][i]
		}
		for i := range ok {
			p.bank[i] += w * share(ok[i]*pop.Bank[r][i], z)
		}
	}
	p.job, p.ill = make([]float64, len(pop.Jobs)), make([]float64, len(pop.Ills))
	for d, w := range p.decade {
		for i, l := range p.jobL {
			p.job[i] += w * share(l*pop.Job[d][i], jobD[d])
		}
		for i, l := range p.illL {
			p.ill[i] += w * share(l*pop.Illness[d][i], illD[d])
		}
	}
	if p.pairs != nil {
		for i := range p.pairs {
			p.pairs[i].w = share(p.pairs[i].w, total)
		}
		scale(p.given, total)
		scale(p.surname, total)
		scale(p.year, total)
	} else {
		for d, w := range p.decade {
			mix(p.given, pop.Given[d], w, p.okGiven)
			for i := range pop.Years {
				p.year[i] += w * share(pop.Year[d][i]*p.perYear[i]/365, yearD[d])
			}
		}
		for r, w := range p.region {
			mix(p.surname, pop.Surname[r], w, p.okSurname)
		}
	}
	p.at = make([]float64, len(pop.Cities))
	for i, w := range p.city {
		z := 0.0
		for k := range p.at {
			if p.ev.at[k] {
				z += shareAt(i, k, len(pop.Cities))
			}
		}
		for k := range p.at {
			if p.ev.at[k] {
				p.at[k] += w * share(shareAt(i, k, len(pop.Cities)), z)
			}
		}
	}
}

// mix adds w times a distribution restricted to what is allowed.
func mix(to, dist []float64, w float64, ok []bool) {
	z := 0.0
	for i, v := range dist {
		if ok[i] {
			z += v
		}
	}
	for i, v := range dist {
		if ok[i] {
			to[i] += w * share(v, z)
		}
	}
}

func share(a, of float64) float64 {
	if of == 0 {
		return 0
	}
	return a / of
}

func scale(x []float64, by float64) {
	for i := range x {
		x[i] = share(x[i], by)
	}
}
