package adversary

import (
	"math"

	"github.com/margaydev/margay/lab/traj/world"
)

// Person is log2 of the probability of the best guess of the whole person: of
// all secrets together. What a fact tells about several secrets counts once.
// Given region and decade the groups of secrets are independent, so the maximum
// of the product is the product of the maxima.
func (p *Posterior) Person() float64 {
	pop := p.b.pop
	best := math.Inf(-1)
	pay := make([][]float64, len(pop.Decade))
	for r := range p.joint {
		home, bank := p.bestHome(r), p.bestBank(r)
		for d, w := range p.joint[r] {
			if w == 0 {
				continue
			}
			if pay[d] == nil {
				pay[d] = []float64{p.bestTrade(d) + math.Log2(p.bestIllness(d))}
			}
			best = max(best, math.Log2(w)+home+bank+pay[d][0]+p.bestName(r, d))
		}
	}
	total := 0.0
	for r := range p.joint {
		for _, w := range p.joint[r] {
			total += w
		}
	}
	best -= math.Log2(total)
	for _, f := range []world.Field{world.Passport, world.APIKey, world.Password, world.PrivateKey} {
		best += math.Log2(p.Of(f, &world.Person{}).Max)
	}
	return best
}

func largest(n int, f func(i int) float64) float64 {
	m := 0.0
	for i := range n {
		m = max(m, f(i))
	}
	return m
}

// bestHome is the home with what hangs on it, given the region.
func (p *Posterior) bestHome(r int) float64 {
	pop, ev := p.b.pop, p.ev
	has := func(k world.Kind) bool { return len(ev.kinds[k]) > 0 }
	streets := 0.0
	for _, ok := range ev.allowed {
		if ok {
			streets++
		}
	}
	if !ev.number {
		streets *= world.MaxNumber
	}
	venues, phone, nid := float64(len(world.Venues)), 8e6, 1e6
	if has(world.KVenue) {
		venues = 1
	}
	if has(world.KPhoneEnd) {
		phone = 800
	}
	if has(world.KPhone) {
		phone = 1
	}
	if has(world.KNIDEnd) {
		nid = 1e2
	}
	if has(world.KNID) {
		nid = 1
	}
	best := largest(len(pop.Cities), func(i int) float64 {
		if pop.Cities[i].Region != r || p.region[r] == 0 {
			return 0
		}
		v := p.city[i] / p.region[r]
		at, z := 0.0, 0.0
		for k := range pop.Cities {
			if ev.at[k] {
				s := shareAt(i, k, len(pop.Cities))
				at, z = max(at, s), z+s
			}
		}
		v *= share(at, z)
		if !has(world.KArea) {
			v *= largest(len(pop.Areas), func(k int) float64 { return p.b.shareArea(i, pop.Areas[k]) })
		}
		if !has(world.KNIDArea) {
			v *= largest(len(pop.States), func(k int) float64 { return p.b.shareState(i, k) }) / world.NIDAreas
		}
		return v
	})
	return math.Log2(best) - math.Log2(streets*venues*phone*nid)
}

// bestBank is the bank with card and account, given the region.
func (p *Posterior) bestBank(r int) float64 {
	ev := p.ev
	z := 0.0
	for i := range world.Banks {
		z += p.bankOK[i] * p.b.pop.Bank[r][i]
	}
	return math.Log2(largest(len(world.Banks), func(i int) float64 {
		digits := 9.0
		if world.Banks[i].Brand == "American Express" {
			digits = 8
		}
		if len(ev.kinds[world.KCardEnd]) > 0 {
			digits -= 4
		}
		if len(ev.kinds[world.KCard]) > 0 {
			digits = 0
		}
		account := 8.0
		if len(ev.kinds[world.KAccEnd]) > 0 {
			account = 4
		}
		if len(ev.kinds[world.KAccount]) > 0 {
			account = 0
		}
		return share(p.bankOK[i]*p.b.pop.Bank[r][i], z) / math.Pow(10, digits+account)
	}))
}

func (p *Posterior) bestIllness(d int) float64 {
	z := 0.0
	for i, l := range p.illL {
		z += l * p.b.pop.Illness[d][i]
	}
	return largest(len(p.illL), func(i int) float64 { return share(p.illL[i]*p.b.pop.Illness[d][i], z) })
}

// bestTrade is the salary with the domain of mail, given the decade; which
// occupation they come from is not a secret of its own.
func (p *Posterior) bestTrade(d int) float64 {
	// Most views tell nothing about it.
	if p.plainJobs && p.b.trade != nil {
		return p.b.trade[d]
	}
	return p.trade(d)
}

func (p *Posterior) trade(d int) float64 {
	pop := p.b.pop
	const top = 300_000 / world.SalaryStep
	all := make([]float64, top+1)
	sector := make([][]float64, len(Sectors))
	z := 0.0
	for i := range pop.Jobs {
		w := p.jobL[i] * pop.Job[d][i]
		z += w
		n, _ := grid(&pop.Jobs[i], p.ev.pay)
		if n == 0 || w == 0 {
			continue
		}
		s := sectorIndex(pop.Jobs[i].Sector)
		if sector[s] == nil {
			sector[s] = make([]float64, top+1)
		}
		for pay := pop.Jobs[i].Low; pay <= pop.Jobs[i].High; pay += world.SalaryStep {
			if p.ev.pay[0] <= pay && pay <= p.ev.pay[1] {
				all[pay/world.SalaryStep] += w / float64(n)
				sector[s][pay/world.SalaryStep] += w / float64(n)
			}
		}
	}
	at := func(v []float64) float64 { return largest(len(v), func(i int) float64 { return v[i] }) }
	if len(p.ev.kinds[world.KDomain]) > 0 { // the weights have it already
		return math.Log2(share(at(all), z))
	}
	best := at(all) * pop.DomainShare(world.Providers[0], 0)
	for s, v := range sector {
		if v == nil {
			continue
		}
		firms := world.Employers[Sectors[s]]
		for i := range pop.Jobs {
			if pop.Jobs[i].Sector == Sectors[s] {
				best = max(best, at(v)*pop.DomainShare(firms[0][1], i))
				break
			}
		}
	}
	return math.Log2(share(best, z))
}

// bestName is the name, the day of birth and the local part of the address of
// mail, given region and decade.
func (p *Posterior) bestName(r, d int) float64 {
	pop := p.b.pop
	day := func(yy int) (best, z float64) {
		for i, y := range pop.Years {
			if p.perYear[i] == 0 || yy >= 0 && y%100 != yy {
				continue
			}
			best = max(best, pop.Year[d][i]/365)
			z += pop.Year[d][i] * p.perYear[i] / 365
		}
		return best, z
	}
	if p.combos != nil {
		best, z := 0.0, 0.0
		for _, c := range p.combos {
			w := pop.Given[d][c.given] * pop.Surname[r][c.surname] * c.share
			b, sum := day(c.yy)
			best, z = max(best, w*b), z+w*sum
		}
		return math.Log2(share(best, z))
	}
	part := func(dist []float64, ok []bool) float64 {
		best, z := 0.0, 0.0
		for i, v := range dist {
			if ok[i] {
				best, z = max(best, v), z+v
			}
		}
		return share(best, z)
	}
	usual, _ := world.PatternShare(0)
	b, z := day(-1)
	return math.Log2(part(pop.Given[d], p.okGiven) * part(pop.Surname[r], p.okSurname) * share(b, z) * usual)
}
