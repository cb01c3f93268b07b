package calibrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

// compiled are the library's rubrics, compiled once.
type compiled struct {
	reg     *defence.Registry
	resolve Resolve
	all     []*rubric.Rubric
}

var ofLibrary = sync.OnceValues(func() (*compiled, error) {
	files := map[string][]byte{}
	for _, f := range library.All() {
		files[f.Name+".yaml"] = []byte(f.Text)
	}
	reg, err := defence.NewRegistry(files)
	if err != nil {
		return nil, err
	}
	resolve, all, _, err := reg.Registered()
	return &compiled{reg, resolve, all}, err
})

// options are those of a small run under the library's rubrics.
func options(t *testing.T, n int) Options {
	t.Helper()
	lib, err := ofLibrary()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := lib.reg.Config(defence.MargayConfig{Name: "rules", Defender: rules.Defender{}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := defence.NewMargay(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return Options{Seed: 170, N: n, Defence: d, Resolve: lib.resolve, Rubrics: lib.all, Signed: func(*rubric.Rubric) bool { return true }}
}

func gate(t *testing.T, all []Gate, name string) *Gate {
	t.Helper()
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	t.Fatalf("there is no gate %s", name)
	return nil
}

// sampled are sequences under certified costs that are changed.
func sampled(t *testing.T, charge func(k Key, bits float64) float64) []Sequence {
	t.Helper()
	s := &sampler{resolve: options(t, 1).Resolve, charge: charge}
	var out []Sequence
	for _, task := range world.Dev().Generate(171, 200).Tasks {
		one, err := s.sample(171, task)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// learnt are the atoms of sampled under the rubrics' own costs, measured by an
// exact adversary.
func learnt(t *testing.T) []Measured {
	t.Helper()
	pool := adversary.New(world.Joint())
	lone := func(_, _ world.Field) bool { return false }
	pools := Pools{Calibration: Pool{"calibration", []Proxy{{"a", "a", func(_ context.Context, v *View) (adversary.Learnt, error) {
		return pool.Apart(v.Person, nil, v.Seen, lone, nil, ""), nil
	}}}}}
	ms, err := learn(t.Context(), &pools, &Priors()[0], sampled(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// under is what was learnt, with atoms that are charged otherwise.
func under(t *testing.T, ms []Measured, charge func(k Key, bits float64) float64) []Measured {
	t.Helper()
	var out []Measured
	for _, s := range sampled(t, charge) {
		for i := range s.Atoms {
			m := ms[len(out)]
			m.Atom = &s.Atoms[i]
			out = append(out, m)
		}
	}
	return out
}

// A certified cost that is too low by a bit and the margin is found, and lowers
// coverage.
func TestLoweredCostFails(t *testing.T) {
	ms := learnt(t)
	honest := cells(1, ms)
	if g := costs(honest); !g.Passes() || len(honest) < 3 {
		t.Fatalf("the rubrics' costs fail: %+v, of %d cells", g, len(honest))
	}
	tight := 0
	for _, c := range honest {
		if slack := c.Certified - c.Calibrated(); slack >= 1 || c.Op != "generalize" && c.Op != "identity" {
			continue
		}
		tight++
		lowered := under(t, ms, func(k Key, bits float64) float64 {
			if k == c.Key {
				return bits - 1 - c.Margin
			}
			return bits
		})
		g := costs(cells(1, lowered))
		if g.Passes() || !strings.Contains(g.Bad, c.String()) {
			t.Errorf("%v: a bit less than the rubrics' cost passes: %+v", c.Key, g)
		}
		before, after := coverAtoms(nil, ms).certified[c.Op][0], coverAtoms(nil, lowered).certified[c.Op][0]
		if after.in >= before.in {
			t.Errorf("%v: a bit less leaves coverage at %v, after %v", c.Key, after, before)
		}
	}
	if tight == 0 {
		t.Error("no cost is within a bit of what was measured: the gate can't fail")
	}
}

// What stands around a value is drop's, and not every operator's.
func TestAround(t *testing.T) {
	atom := func(op rubric.OpKind, text string) Atom {
		show := func(text string) *adversary.Seen { return &adversary.Seen{Texts: adversary.View{text}} }
		return Atom{Field: world.Diagnosis, Op: rubric.Op{Kind: op}, Seen: show(text), Around: show("around")}
	}
	// It learns a bit of what stands around, and two of the value.
	pool := Pools{Calibration: Pool{"calibration", []Proxy{{"a", "a", func(_ context.Context, v *View) (adversary.Learnt, error) {
		var l adversary.Learnt
		if len(v.Seen.Texts) > 0 {
			l.Bits[fieldIndex(world.Diagnosis)] = map[string]float64{"around": 1, "around it": 3}[v.Seen.Texts[0]]
		}
		return l, nil
	}}}}}
	for _, c := range []struct {
		op      rubric.OpKind
		text    string
		of, sum float64
	}{{rubric.Drop, "around", 1, 1}, {rubric.Redact, "around", 0, 1}, {rubric.Identity, "around it", 2, 3}} {
		ms, err := measure(t.Context(), &pool, &Priors()[0], &Sequence{Task: world.Dev().Generate(175, 1).Tasks[0], Atoms: []Atom{atom(c.op, c.text)}})
		if err != nil || ms[0].Of[0] != c.of || ms[0].Sum[0] != c.sum {
			t.Errorf("%v: %+v, %v; want %v bits of the operator and %v of all", c.op, ms, err, c.of, c.sum)
		}
	}
}

func TestCharges(t *testing.T) {
	cell := func(calibrated, certified float64) Cell {
		return Cell{Key: Key{world.DOB, "redact", ""}, N: 30, Quantile: [2]Bound{{0, calibrated}, {0, 1}}, Certified: certified, Margin: .5}
	}
	got := charges([]Cell{cell(.2, .2), cell(.301, .01), cell(.6, .01)})
	for i, want := range []struct {
		verdict string
		needed  float64
	}{{Covered, 0}, {Within, .31}, {Short, .6}} {
		if got[i].Verdict != want.verdict || got[i].Needed != want.needed {
			t.Errorf("%+v, want %+v", got[i], want)
		}
	}
	// The gate allows no margin.
	if g := costs([]Cell{cell(.301, .01)}); g.Passes() {
		t.Errorf("%+v", g)
	}
	for n := range got {
		var b bytes.Buffer
		var back []Charge
		if err := WriteCharges(&b, got[:n]); err != nil || json.Unmarshal(b.Bytes(), &back) != nil || !slices.Equal(back, got[:n]) {
			t.Errorf("%v, %s", err, b.String())
		}
	}
}

// An adversary that is in both pools is found, also under another name.
func TestPoolsAreDisjoint(t *testing.T) {
	p := newPools(Priors()[0], readers{}, func(_, _ world.Field) bool { return false }, Extra{})
	if g := disjointPools(&p); !g.Passes() {
		t.Fatalf("%+v", g)
	}
	same := Pools{p.Stress, p.Stress}
	if g := disjointPools(&same); g.Passes() || g.Value < float64(len(p.Stress.Proxies)) {
		t.Errorf("equal pools pass: %+v", g)
	}
	renamed := p.Stress.Proxies[0]
	renamed.Name = "another"
	p.Calibration.Proxies = append(p.Calibration.Proxies, renamed)
	if g := disjointPools(&p); g.Passes() {
		t.Errorf("an adversary with two names passes: %+v", g)
	}
	if g := disjointPools(&Pools{}); g.Passes() {
		t.Error("empty pools pass")
	}
}

func TestOneModelInBothPools(t *testing.T) {
	m := fake{}
	p := newPools(Priors()[0], readers{}, func(_, _ world.Field) bool { return false }, Extra{Model: m, ModelName: "m", Stress: m, StressName: "m"})
	if g := disjointPools(&p); g.Passes() {
		t.Errorf("one model in both pools passes: %+v", g)
	}
}

// fake guesses a date of birth for certain, rightly.
type fake struct{}

func (fake) Posterior(context.Context, *world.Person, adversary.View) ([]adversary.Guessed, error) {
	return []adversary.Guessed{{Field: world.DOB, Share: 1, Right: true}, {Field: world.Phone, Share: 1}}, nil
}

// scores knows that everybody is from the first region, once it is calibrated.
type scores struct{ calibrated int }

func (s *scores) Calibrate(_ context.Context, _ *world.Setting, _ *world.Population, seed uint64, n int) error {
	if seed == 170 || n > 100 {
		return errors.New("not on what is evaluated, and not on much")
	}
	s.calibrated++
	return nil
}

func (s *scores) Cues(_ context.Context, v adversary.View) (*adversary.Cues, error) {
	if s.calibrated != 1 || len(v) == 0 {
		return nil, nil //nolint:nilnil // no cues
	}
	return &adversary.Cues{Region: []float64{1, 0, 0, 0, 0}}, nil
}

func TestExtraAdversaries(t *testing.T) {
	s := &scores{calibrated: 1}
	p := newPools(Priors()[0], readers{}, func(_, _ world.Field) bool { return false }, Extra{Model: fake{}, ModelName: "m", Scores: s, ScoresName: "s"})
	if g := disjointPools(&p); !g.Passes() {
		t.Errorf("%+v", g)
	}
	if p := newPools(Priors()[0], readers{}, func(_, _ world.Field) bool { return false }, Extra{Model: fake{}, ModelName: "s", Scores: s, ScoresName: "s"}); len(disjointPools(&p).Bad) == 0 {
		t.Error("a model guesses in one pool and scores in the other")
	}
	v := View{Person: world.Joint().Person(172, 1), Seen: &adversary.Seen{Texts: adversary.View{"x"}}}
	l, err := p.Calibration.worst(t.Context(), &v)
	if err != nil {
		t.Fatal(err)
	}
	if dob, phone, home := l.Bits[fieldIndex(world.DOB)], l.Bits[fieldIndex(world.Phone)], l.Bits[fieldIndex(world.Address)]; dob < 10 || phone != 0 || home != 0 {
		t.Errorf("the model learns %v bits of the date, %v of the number and %v of the home", dob, phone, home)
	}
	if l, err = p.Stress.worst(t.Context(), &v); err != nil || l.Bits[fieldIndex(world.Address)] <= 0 {
		t.Errorf("likelihoods tell %v bits of the home, %v", l.Bits[fieldIndex(world.Address)], err)
	}
}

// The network reads for itself: what others read in texts is not shown to it.
func TestNetworkReads(t *testing.T) {
	r, err := learnReaders(world.Dev(), 600)
	if err != nil {
		t.Fatal(err)
	}
	alone := func(_, _ world.Field) bool { return false }
	p := newPools(Priors()[0], r, alone, Extra{})
	at := slices.IndexFunc(p.Calibration.Proxies, func(x Proxy) bool { return x.Name == "network" })
	if at < 0 {
		t.Fatal("no network is in the calibration pool")
	}
	learns := func(x *world.Person, seen *adversary.Seen) float64 {
		l, err := p.Calibration.Proxies[at].Learn(t.Context(), &View{Person: x, Seen: seen})
		if err != nil {
			t.Fatal(err)
		}
		return l.Bits[fieldIndex(world.Address)]
	}
	reads, told := 0.0, 0.0
	for i := range 40 {
		x := world.Joint().Person(173, i)
		part := x.Part("notes", "", true, world.FromUser, "Please send it to {address}. Thank you.")
		seen := &adversary.Seen{}
		seen.Add(&part, part.Text)
		reads += learns(x, seen) / 40
		told += learns(x, &adversary.Seen{Facts: seen.Facts}) / 40
	}
	if reads <= .2 || told != 0 {
		t.Errorf("the network learns %.3f bits of a home from a text, and %.3f from facts that others read", reads, told)
	}
}

func TestHalvesAreDisjoint(t *testing.T) {
	a, b := halves(world.Dev(), 173, 30)
	if g := disjointTasks(a, b); !g.Passes() {
		t.Errorf("%+v", g)
	}
	if g := disjointTasks(a, append(b, a[3])); g.Passes() {
		t.Error("somebody in both halves is not found")
	}
}

func TestBoundIsAboveTheEstimate(t *testing.T) {
	v := make([]float64, 200)
	for i := range v {
		v[i] = float64(i % 10)
	}
	mean := bound(1, v, func(c []int32) float64 { return weightedMean(v, c) })
	order := ordered(v)
	q := bound(1, v, func(c []int32) float64 { return weightedQuantile(v, order, c) })
	if mean.Value != 4.5 || mean.Upper <= 4.5 || mean.Upper > 5 || q.Value != 9 || q.Upper != 9 {
		t.Errorf("%v, %v", mean, q)
	}
}

// What the gates of escapes, rubrics, annotators and trajectories are for.
func TestGatesFail(t *testing.T) {
	escape := func(in, of int) []Gate {
		return escaped([]Escape{{Class: Spread, Category: "a", tally: tally{0, 100}}, {Class: Spread, Category: "b", tally: tally{in, of}}})
	}
	if g := gate(t, escape(0, 100), "B2"); !g.Passes() {
		t.Errorf("%+v", g)
	}
	if g := gate(t, escape(5, 100), "B2"); g.Bad == "" || g.Value != .05 {
		t.Errorf("the worst rubric is not what counts: %+v", g)
	}
	if g := gate(t, escape(0, 100), "B1"); g.Missing == "" || g.Passes() || g.Bad != "" {
		t.Errorf("what was not measured passes or fails: %+v", g)
	}
	good := Stage{Rubric: "a", hits: tally{99, 100}, steps: tally{5, 5}, signed: true}
	for _, g := range construction([]Stage{good}) {
		if !g.Passes() {
			t.Errorf("%+v", g)
		}
	}
	for _, g := range construction([]Stage{good, {Rubric: "b", hits: tally{1, 2}, steps: tally{4, 5}}}) {
		if g.Bad == "" || !strings.HasPrefix(g.Bad, "b") {
			t.Errorf("%+v", g)
		}
	}
	if g := exceedance(tally{0, 500}); !g.Passes() {
		t.Errorf("%+v", g)
	}
	if g := exceedance(tally{0, 50}); g.Passes() {
		t.Errorf("fifty trajectories can't show it: %+v", g)
	}
	if g := weights(999); g.Passes() {
		t.Errorf("%+v", g)
	}
	if g := atLeast("A4", "", &tally{96, 100}, LeastCalibration); g.Passes() {
		t.Errorf("%+v", g)
	}
	if g := stronger([]Measured{{Right: [2]float64{.5, .5}}}); g.Passes() {
		t.Errorf("an equal pool is stronger: %+v", g)
	}
	if g := far([]Measured{{Atom: &Atom{Paid: 1}, Sum: [2]float64{0, 2.5}}}); g.Passes() {
		t.Errorf("%+v", g)
	}
	if g := joint([]Pair{{Certified: 3, Joint: [2]Bound{{4, 4.1}, {}}, N: 30}}); g.Passes() {
		t.Errorf("%+v", g)
	}
}

func TestAlpha(t *testing.T) {
	read := func(lines string) []Annotation {
		all, err := ReadAnnotations(strings.NewReader(lines))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	line := func(item, who, what string) string {
		return `{"item":"` + item + `","annotator":"` + who + `","necessity":"` + what + `"}` + "\n"
	}
	same, mixed := "", ""
	for i, what := range []string{"required", "useful", "unnecessary", "useful"} {
		for k, who := range []string{"a", "b", "c"} {
			item := string(rune('0' + i))
			same += line(item, who, what)
			mixed += line(item, who, []string{"required", "useful", "unnecessary"}[(i+k)%3])
		}
	}
	if g := agreement(read(same)); !g.Passes() || g.Value != 1 {
		t.Errorf("%+v", g)
	}
	if g := agreement(read(mixed)); g.Passes() || g.Value > 0 {
		t.Errorf("%+v", g)
	}
	if g := agreement(read(line("1", "a", "useful") + line("1", "b", "useful"))); g.Missing == "" {
		t.Errorf("two annotators are enough: %+v", g)
	}
	// Krippendorff's example of two observers and ten units: α = 0.095.
	var ten strings.Builder
	for i, pair := range []string{"01", "11", "01", "00", "00", "01", "00", "00", "10", "00"} {
		for k, who := range []string{"a", "b"} {
			ten.WriteString(line(string(rune('a'+i)), who, map[byte]string{'0': "useful", '1': "required"}[pair[k]]))
		}
	}
	if alpha, _ := Alpha(read(ten.String())); math.Abs(alpha-.095) > .001 {
		t.Errorf("α is %v", alpha)
	}
	for _, bad := range []string{"{", line("", "a", "useful"), line("1", "a", "maybe")} {
		if _, err := ReadAnnotations(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// The priors are distributions, and differ.
func TestPriors(t *testing.T) {
	person := world.Joint().Person(174, 1)
	seen := &adversary.Seen{Facts: person.Full(world.LegalName)}
	found := map[float64]string{}
	for _, p := range Priors() {
		sum := 0.0
		for _, w := range p.Population.Region {
			sum += w
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: regions sum to %v", p.Name, sum)
		}
		var known []world.Fact
		if p.Known != nil {
			known = p.Known(person)
		}
		l := adversary.New(p.Population).Together(person, known, seen, nil, "")
		if other, twice := found[l.Bits[0]]; twice {
			t.Errorf("%s and %s believe the same", p.Name, other)
		}
		found[l.Bits[0]] = p.Name
	}
}

func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains adversaries and plays trajectories")
	}
	o := options(t, 12)
	o.texts = 120
	o.change = func(p *Pools) { p.Calibration = Pool{"calibration", p.Stress.Proxies} }
	res, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[string]float64{}
	for _, r := range res.Rows {
		rows[r.Slice] = r.Metrics
	}
	for slice, metric := range map[string]string{
		"all": "coverage_stress", "operator=all,pool=calibration": "coverage_calibration", "operator=redact,pool=stress": "coverage_stress",
		"adversary=linkage": "leak_bits", "adversary=linkage,pool=stress": "delta_bits", "prior=uniform,operator=all,pool=stress": "coverage_stress",
		"atoms,operator=identity,pool=calibration": "coverage_calibration", "attack=spread,category=payments": "escape_rate", "gate=A1": "passes",
	} {
		if _, ok := rows[slice][metric]; !ok {
			t.Errorf("there is no %s of %s", metric, slice)
		}
	}
	if g := gate(t, res.Gates, "A1"); g.Passes() || rows["gate=A1"]["passes"] != 0 {
		t.Errorf("equal pools pass: %+v", g)
	}
}
