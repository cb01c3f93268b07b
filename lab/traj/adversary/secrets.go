package adversary

import (
	"math"
	"slices"
	"time"

	"github.com/margaydev/margay/lab/traj/world"
)

var epoch = time.Date(1930, 1, 1, 0, 0, 0, 0, time.UTC)

func dayOf(t time.Time) int { return int(t.Sub(epoch).Hours() / 24) }

// possible reports whether the n-th day of a year is still possible.
func (ev *evidence) possible(year, n int) bool {
	day := time.Date(year, 1, 1+n, 0, 0, 0, 0, time.UTC)
	if b := ev.kinds[world.KBirthday]; len(b) > 0 && !slices.Contains(b, day.Format("01-02")) {
		return false
	}
	at := dayOf(day)
	return !slices.ContainsFunc(ev.days, func(r dayRange) bool { return at < r.from || at > r.to })
}

// daysOf counts the days of a year that are still possible, of the 365 that
// people are born on.
func (ev *evidence) daysOf(year int) float64 {
	if len(ev.days) == 0 && len(ev.kinds[world.KBirthday]) == 0 {
		return 365
	}
	from := dayOf(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
	if slices.ContainsFunc(ev.days, func(r dayRange) bool { return from > r.to || from+364 < r.from }) {
		return 0
	}
	n := 0.0
	for d := range 365 {
		if ev.possible(year, d) {
			n++
		}
	}
	return n
}

// best is the belief about one of several values, each of them again one of
// within equally probable ones. Truth is the index of the true one.
func best(p []float64, truth int, within func(i int) float64) Belief {
	var b Belief
	for i, v := range p {
		n := within(i)
		if n == 0 || v == 0 {
			continue
		}
		switch each := v / n; {
		case each > b.Max*(1+1e-9):
			b.Max, b.Ties = each, n
		case each > b.Max*(1-1e-9):
			b.Ties += n
		}
	}
	if n := within(truth); n > 0 {
		b.Truth = p[truth] / n
	}
	return b
}

func one(int) float64 { return 1 }

func known() Belief { return Belief{Max: 1, Truth: 1, Ties: 1} }

// Of is what the adversary believes of a secret of a person.
func (p *Posterior) Of(f world.Field, x *world.Person) Belief {
	ev, pop := p.ev, p.b.pop
	has := func(k world.Kind) bool { return len(ev.kinds[k]) > 0 }
	switch f {
	case world.LegalName:
		return p.name(x)
	case world.DOB:
		return best(p.year, slices.Index(pop.Years, x.Born.Year()), func(i int) float64 { return p.perYear[i] })
	case world.Address:
		n := 0.0
		for _, ok := range ev.allowed {
			if ok {
				n++
			}
		}
		if !ev.number {
			n *= world.MaxNumber
		}
		return best(p.city, x.City, func(int) float64 { return n })
	case world.Location:
		n := float64(len(world.Venues))
		if has(world.KVenue) {
			n = 1
		}
		return best(p.at, x.At, func(int) float64 { return n })
	case world.Diagnosis:
		return best(p.ill, x.Ill, one)
	case world.Phone:
		return p.phone(x)
	case world.NationalID:
		return p.nid(x)
	case world.Email:
		return p.email(x)
	case world.Salary:
		return p.salary(x)
	case world.PaymentToken:
		if has(world.KCard) {
			return known()
		}
		return best(p.bank, x.Bank, func(i int) float64 {
			digits := 9.0
			if world.Banks[i].Brand == "American Express" {
				digits = 8
			}
			if has(world.KCardEnd) {
				digits -= 4 // three of them and the check digit, which binds another
			}
			return math.Pow(10, digits)
		})
	case world.AccountID:
		if has(world.KAccount) {
			return known()
		}
		n := 1e8
		if has(world.KAccEnd) {
			n = 1e4
		}
		return best(p.bank, x.Bank, func(int) float64 { return n })
	}
	alone := map[world.Field]world.Kind{world.Passport: world.KPassport, world.APIKey: world.KAPIKey, world.Password: world.KPassword, world.PrivateKey: world.KPrivate}
	if k, ok := alone[f]; ok && !has(k) {
		v := math.Exp2(-world.KeyBits[f])
		return Belief{Max: v, Truth: v, Ties: 1 / v}
	}
	return known()
}

func (p *Posterior) phone(x *world.Person) Belief {
	ev, pop := p.ev, p.b.pop
	if len(ev.kinds[world.KPhone]) > 0 {
		return known()
	}
	n := 8e6
	if len(ev.kinds[world.KPhoneEnd]) > 0 {
		n = 800
	}
	area := make([]float64, len(pop.Areas))
	for k, a := range pop.Areas {
		if told := ev.kinds[world.KArea]; len(told) > 0 {
			if slices.Contains(told, a) {
				area[k] = 1
			}
			continue
		}
		for i, w := range p.city {
			area[k] += w * p.b.shareArea(i, a)
		}
	}
	return best(area, slices.Index(pop.Areas, x.Phone[:3]), func(int) float64 { return n })
}

func (p *Posterior) nid(x *world.Person) Belief {
	ev, pop := p.ev, p.b.pop
	if len(ev.kinds[world.KNID]) > 0 {
		return known()
	}
	n := 1e6
	if len(ev.kinds[world.KNIDEnd]) > 0 {
		n = 1e2
	}
	state := make([]float64, len(pop.States))
	if told := ev.one(world.KNIDArea); told != "" {
		state[max(0, p.b.stateOfNID(told))] = 1
	} else {
		n *= world.NIDAreas
		for k := range state {
			for i, w := range p.city {
				state[k] += w * p.b.shareState(i, k)
			}
		}
	}
	return best(state, max(0, p.b.stateOfNID(x.NID[:3])), func(int) float64 { return n })
}

func (p *Posterior) salary(x *world.Person) Belief {
	pop := p.b.pop
	low, high := math.MaxInt, 0
	for i := range pop.Jobs {
		low, high = min(low, pop.Jobs[i].Low), max(high, pop.Jobs[i].High)
	}
	all := make([]float64, (high-low)/world.SalaryStep+1)
	for i := range pop.Jobs {
		j := &pop.Jobs[i]
		n, _ := grid(j, p.ev.pay)
		for s := j.Low; s <= j.High && n > 0; s += world.SalaryStep {
			if p.ev.pay[0] <= s && s <= p.ev.pay[1] {
				all[(s-low)/world.SalaryStep] += p.job[i] / float64(n)
			}
		}
	}
	return best(all, (x.Pay-low)/world.SalaryStep, one)
}

// pair is the probability of a name.
func (p *Posterior) pair(given, surname int) float64 {
	if p.pairs != nil {
		for _, k := range p.pairs {
			if k.given == given && k.surname == surname {
				return k.w
			}
		}
		return 0
	}
	return p.given[given] * p.surname[surname]
}

// each calls f for all names that are possible.
func (p *Posterior) each(f func(given, surname int, w float64)) {
	if p.pairs != nil {
		for _, k := range p.pairs {
			f(k.given, k.surname, k.w)
		}
		return
	}
	for g, a := range p.given {
		if a == 0 {
			continue
		}
		for s, b := range p.surname {
			if b > 0 {
				f(g, s, a*b)
			}
		}
	}
}

func (p *Posterior) name(x *world.Person) Belief {
	out := Belief{Truth: p.pair(x.Given, x.Surname)}
	p.each(func(_, _ int, w float64) { out.add(w) })
	return out
}

// add takes one more value into account.
func (b *Belief) add(w float64) {
	switch {
	case w > b.Max*(1+1e-9):
		b.Max, b.Ties = w, 1
	case w > b.Max*(1-1e-9):
		b.Ties++
	}
}

// email is the belief about the address: of a name's usual pattern, or of an
// initial and a surname that several given names share. The rarer patterns are
// never the best guess.
func (p *Posterior) email(x *world.Person) Belief {
	ev, pop := p.ev, p.b.pop
	var d Belief
	weigh := func(domain string) {
		w := 0.0
		for i, job := range p.job {
			w += job * pop.DomainShare(domain, i)
		}
		d.add(w)
		if domain == x.Domain {
			d.Truth = w
		}
	}
	if len(ev.kinds[world.KDomain]) > 0 {
		d = known()
	} else {
		for _, domain := range world.Providers {
			weigh(domain)
		}
		for _, s := range Sectors {
			for _, f := range world.Employers[s] {
				weigh(f[1])
			}
		}
	}
	l := p.localPart(x)
	return Belief{Max: l.Max * d.Max, Truth: l.Truth * d.Truth, Ties: l.Ties * d.Ties}
}

func (p *Posterior) localPart(x *world.Person) Belief {
	if len(p.ev.kinds[world.KLocal]) > 0 {
		return known()
	}
	var out Belief
	usual, _ := world.PatternShare(0)
	short, _ := world.PatternShare(1)
	const letters = 'Z' - 'A' + 1
	shared := make([]float64, letters*len(p.b.pop.Surnames))
	at := func(given, surname int) int { return surname*letters + int(p.b.pop.Givens[given][0]-'A') }
	p.each(func(g, s int, w float64) {
		out.add(w * usual)
		shared[at(g, s)] += w
	})
	for _, w := range shared {
		if w > 0 {
			out.add(w * short)
		}
	}
	own, year := world.PatternShare(x.Pattern)
	switch {
	case x.Pattern == 1:
		out.Truth = short * shared[at(x.Given, x.Surname)]
	case !year:
		out.Truth = own * p.pair(x.Given, x.Surname)
	}
	return out
}

func sectorIndex(s string) int { return slices.Index(Sectors, s) }

// Sectors are the trades, in the order of Cues.
var Sectors = []string{"health", "school", "software", "law", "finance", "trades", "transport", "food", "land", "public"}
