package recount_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/store/memory"
)

// sources are the rubrics of the tests: those of the library, an example with
// dependent fields, and the example with other levels.
var sources = sync.OnceValues(func() ([]*rubric.Rubric, error) {
	var out []*rubric.Rubric
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	b, err := os.ReadFile("../../rubric/testdata/booking.yaml")
	if err != nil {
		return nil, err
	}
	for i, old := range []string{"", "bits: 5.2", "bits: 3.1", "budget: 60", "residual:", "necessity:"} {
		text := strings.Replace(string(b), "rubric: example-booking", fmt.Sprintf("rubric: example-%d", i), 1)
		if old != "" {
			text = strings.Replace(text, old, map[string]string{"bits: 5.2": "bits: 5.1", "bits: 3.1": "bits: 2.1", "budget: 60": "presence: 0.125\n  budget: 90", "residual:": screens + "residual:", "necessity:": strings.Replace(screens, "60", "13", 1) + "necessity:"}[old], 1)
		}
		r, err := rubric.Parse("booking.yaml", []byte(text))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
})

// screens lets text pass by a model's judgement.
const screens = `screened:
  error: 0.05
  cap: 60
  paths: {required-service: ['^query$'], semi-trusted: ['^query$', '^notes$']}
`

// sure finds nothing private in what comes after "and".
type sure struct{}

func (sure) Doubt() flow.Bits { return flow.Bit / 100 }
func (sure) Clear(_ context.Context, text string) ([]span.Place, error) {
	if i := strings.Index(text, " and "); i >= 0 {
		return []span.Place{{Start: i, End: len(text)}}, nil
	}
	return nil, nil
}

// values are those of the rubrics' own samples, by field.
func values(all []*rubric.Rubric) map[string][]string {
	out := map[string][]string{}
	for _, r := range all {
		for _, s := range r.Document().Samples {
			if s.Field != "" {
				out[s.Field] = append(out[s.Field], s.Value)
			}
			for f, texts := range s.Find {
				out[f] = append(out[f], texts...)
			}
		}
	}
	for f := range out {
		slices.Sort(out[f])
		out[f] = slices.Compact(out[f])
	}
	return out
}

type names map[string][2]string

func (n names) Name(field, value string) string {
	sum := sha256.Sum256([]byte(field + "\x00" + value))
	name := "margay-" + field + "-" + hex.EncodeToString(sum[:5])
	n[name] = [2]string{field, value}
	return name
}

var named = regexp.MustCompile(`margay-[a-z-]+-[0-9a-f]{10}`)

func (n names) Find(text string) (out []declassify.Pseudonym) {
	for _, m := range named.FindAllStringIndex(text, -1) {
		if v, ok := n[text[m[0]:m[1]]]; ok {
			out = append(out, declassify.Pseudonym{Start: m[0], End: m[1], Field: v[0], Value: v[1]})
		}
	}
	return out
}

// run makes a ledger of random releases: several families and sinks, sinks under
// no rubric, one or several, all channels and classes, names, waived fields,
// budgets of a task's rubric, verifiers that are started again.
type run struct {
	*rand.Rand
	t      testing.TB
	all    []*rubric.Rubric
	values map[string][]string
	fields []string
	key    ed25519.PrivateKey
	store  ledger.Store
	book   *ledger.Book
	sinks  []*rubric.Resolved
	task   *rubric.Rubric
	v      *declassify.Verifier
	known  map[flow.TrajectoryID]names
	views  map[string][]rubric.View // by sink and value, while entries are forged
	seen   map[string]int           // what was released, for the test to be worth something
}

func newRun(t testing.TB, seed uint64, seen map[string]int) *run {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Rand: rand.New(rand.NewPCG(seed, 15)), t: t, all: all, values: values(all), key: ed25519.NewKeyFromSeed(make([]byte, 32)), known: map[flow.TrajectoryID]names{}, seen: seen}
	x.fields = slices.Sorted(maps.Keys(x.values))
	x.open()
	for range 4 {
		x.sinks = append(x.sinks, x.rules())
	}
	if x.IntN(2) == 0 {
		x.task = all[x.IntN(len(all))]
	}
	x.start()
	return x
}

// open makes an empty ledger.
func (x *run) open() {
	x.store = memory.New()
	var err error
	if x.book, err = ledger.NewBook(ledger.Config{Store: x.store, Key: x.key}); err != nil {
		x.t.Fatal(err)
	}
	kept := [][]byte{terms.Fallback()}
	for _, r := range x.all {
		kept = append(kept, r.Canonical())
	}
	for _, b := range kept {
		if _, err := x.book.KeepRubric(context.Background(), b); err != nil {
			x.t.Fatal(err)
		}
	}
}

// rules are those of a sink: of no rubric, of one, or of up to three.
func (x *run) rules() *rubric.Resolved {
	if x.IntN(10) == 0 {
		return rubric.Fallback()
	}
	pool := x.all
	switch x.IntN(4) {
	case 0, 1:
		pool = x.all[len(x.all)-6:]
	case 2:
		pool = x.all[len(x.all)-2:]
	}
	for {
		var some []*rubric.Rubric
		for range 1 + x.IntN(3)*x.IntN(2) {
			some = append(some, pool[x.IntN(len(pool))])
		}
		r := rubric.Combine(some...)
		if errors.Join(r.Conflict(flow.RequiredService), r.Conflict(flow.SemiTrusted), r.Conflict(flow.Adversarial)) == nil {
			return r
		}
	}
}

func (x *run) start() {
	cfg := declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return x.sinks[int(q.Sink[4]-'0')], nil },
		Ledger:  x.book, History: x.store, Defender: rules.Defender{}, Key: [32]byte{1}, Screener: sure{},
	}
	if x.task != nil {
		cfg.Start = func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
			return x.task.Limits(), x.task.Hash(), nil
		}
	}
	var err error
	if x.v, err = declassify.New(cfg); err != nil {
		x.t.Fatal(err)
	}
}

func (x *run) value(field string) string {
	vs := x.values[field]
	return vs[x.IntN(len(vs))]
}

func (x *run) field() string { return x.fields[x.IntN(len(x.fields))] }

// release makes one release of a family.
func (x *run) release() {
	if x.IntN(12) == 0 {
		x.start()
	}
	family := flow.TrajectoryID(fmt.Sprint("F", x.IntN(2)))
	sink := x.IntN(len(x.sinks))
	all := x.sinks[sink]
	c := declassify.Candidate{
		Trajectory: family, Decision: "D", Context: map[string]string{"destination": "Paris"},
		Tool: schema.Tool{
			Name: "tool", Sink: fmt.Sprint("sink", sink), Class: flow.Class(1 + sink%3),
			Channel: []flow.Channel{flow.ChannelTool, flow.ChannelTool, flow.ChannelModel, flow.ChannelMemory, flow.ChannelUser}[x.IntN(5)],
		},
	}
	if x.IntN(3) > 0 {
		if x.known[family] == nil {
			x.known[family] = names{}
		}
		c.Names = x.known[family]
	}
	fields := all.Fields()
	for i := range 1 + x.IntN(4) {
		field, path := x.field(), fmt.Sprint("a", i)
		if len(fields) > 0 && x.IntN(4) > 0 {
			if f := fields[x.IntN(len(fields))]; len(x.values[f]) > 0 {
				field = f
			}
		}
		text := x.value(field)
		if c.Names != nil && x.IntN(3) == 0 {
			text = c.Names.Name(field, text)
		}
		arg := schema.Arg{Path: path, Field: field}
		switch x.IntN(4) {
		case 0:
			arg.Field, arg.Free, arg.Path = "", true, []string{"notes", "query", path}[x.IntN(3)]
			text = "please, " + text + " and " + x.value(x.field())
		case 1:
			arg.Field = ""
		}
		c.Tool.Args = append(c.Tool.Args, arg)
		c.Parts = append(c.Parts, declassify.Part{Path: arg.Path, Text: text, Untrusted: x.IntN(6) == 0})
	}
	r, err := x.v.Release(context.Background(), c)
	if err != nil {
		x.t.Fatal(err)
	}
	if !r.Released() && (len(r.Missing) > 0 || x.IntN(2) == 0) { // a person agrees to do without
		c.Waived, c.Answer = append(r.Missing, x.field()), "01K00000000000000000000009"
		if r, err = x.v.Release(context.Background(), c); err != nil {
			x.t.Fatal(err)
		}
		x.seen["asked"]++
		if r.Released() {
			x.seen["waived"]++
		}
	}
	if !r.Released() {
		x.seen["denied"]++
		return
	}
	x.seen["released"]++
	x.seen[string(c.Tool.Channel)]++
	if r.Entry.Screened > 0 {
		x.seen["screened"]++
	}
	for _, a := range r.Entry.Atoms {
		x.seen[a.Op.String()]++
		if a.Field == declassify.Unknown {
			x.seen["unknown"]++
		}
	}
}

// shared are the rules of the tests' rubrics, which take long to compile.
var shared = sync.OnceValue(func() func([]charge.Hash) (recount.Rules, error) {
	all, err := sources()
	kept := map[charge.Hash][]byte{sha256.Sum256(terms.Fallback()): terms.Fallback()}
	for _, r := range all {
		kept[charge.Hash(r.Hash())] = r.Canonical()
	}
	return recount.Rubrics(func(h charge.Hash) ([]byte, error) { return kept[h], err })
})

// findings are those of a ledger, by rules or, without any, by the rubrics in
// its export.
func findings(t testing.TB, book *ledger.Book, by func([]charge.Hash) (recount.Rules, error)) []ledger.Finding {
	t.Helper()
	var out bytes.Buffer
	if _, err := book.Export(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = recount.Rubrics(ledger.RubricsOf(bytes.NewReader(out.Bytes())))
	}
	r, err := ledger.Verify(context.Background(), &out, ledger.Check{Key: book.Public(), Limits: terms.LimitsOf, Judge: recount.New(by).Entry, Unsigned: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Findings
}

// ledgers is how many random ledgers are checked.
func ledgers(t *testing.T, otherwise uint64) uint64 {
	s := os.Getenv("MARGAY_LEDGERS")
	if s == "" && testing.Short() {
		return otherwise / 4
	}
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatalf("MARGAY_LEDGERS=%s is no number", s)
	}
	return n
}

// Whatever is released, the ledger is what its rubrics say.
func TestHonestLedgersAreSound(t *testing.T) {
	seen := map[string]int{}
	for seed := range ledgers(t, 60) {
		x := newRun(t, seed, seen)
		for range 12 {
			x.release()
		}
		found := findings(t, x.book, shared())
		if seed%10 == 0 {
			found = append(found, findings(t, x.book, nil)...)
		}
		if len(found) > 0 {
			t.Fatalf("seed %d: %s", seed, found[0].String())
		}
	}
	t.Log(seen)
	for _, what := range []string{"released", "denied", "waived", "unknown", "user", "memory", "model", "tool", "redact", "substitute", "generalize", "identity", "screened"} {
		if seen[what] < 4 && !testing.Short() || seen[what] == 0 {
			t.Errorf("%s came %d times only", what, seen[what])
		}
	}
}

func TestUnknownIsTheVerifiers(t *testing.T) {
	if recount.Unknown != clause.Unknown {
		t.Error("the field of atoms without a label has two names")
	}
}

// forge rewrites a ledger up to an entry that it changes: it is signed by the same
// key, and its chain and sums are right. It returns the place of the entry in
// the export, or 0 if no entry is fit.
func (x *run) forge(change func(s *charge.State, e *charge.Entry) bool) (*ledger.Book, uint64) {
	x.views = map[string][]rubric.View{}
	old, at, n := x.store, uint64(0), uint64(0)
	x.open()
	ctx := context.Background()
	for _, family := range []flow.TrajectoryID{"F0", "F1"} {
		stored, err := old.Entries(ctx, family, 0, 1000)
		if err != nil {
			x.t.Fatal(err)
		}
		for i := range stored {
			n++
			e, err := charge.Decode(stored[i].Bytes)
			if err != nil {
				x.t.Fatal(err)
			}
			s, err := x.book.Head(ctx, family)
			if err != nil {
				x.t.Fatal(err)
			}
			if change(s, e) {
				at = n
			}
			if err := s.Next(e); err != nil {
				x.t.Fatalf("%s, entry %d: %v", family, e.Seq, err)
			}
			if _, err := x.book.Commit(ctx, e); err != nil {
				x.t.Fatal(err)
			}
			if at > 0 {
				return x.book, at
			}
		}
	}
	return x.book, 0
}

// own are the rules of an entry, where they can be told.
func (x *run) own(e *charge.Entry) *rubric.Resolved {
	if !e.Charges() || e.Seq == 1 {
		return nil
	}
	return x.sinks[int(e.Sink[4]-'0')]
}

// free lowers an atom to no bits, and all that is known of its value to what was
// known before.
func free(s *charge.State, e *charge.Entry, i int) {
	for j := range e.Atoms {
		if e.Atoms[j].Value == e.Atoms[i].Value {
			e.Atoms[j].Cost, e.Atoms[j].After = 0, s.After(e.Atoms[i].Value)
		}
	}
}

func TestForgedLedgersAreNot(t *testing.T) {
	want := 5
	if testing.Short() {
		want = 2
	}
	for _, c := range []struct {
		name   string
		rule   charge.Rule
		change func(x *run, s *charge.State, e *charge.Entry) bool
	}{
		{"all at no cost", recount.Price, func(x *run, s *charge.State, e *charge.Entry) bool {
			costs := false
			for i := range e.Atoms {
				costs = costs || e.Atoms[i].Op >= charge.Generalize
				free(s, e, i)
			}
			return costs
		}},
		{"one millionth less", recount.Price, func(x *run, s *charge.State, e *charge.Entry) bool {
			for i := range e.Atoms {
				a := &e.Atoms[i]
				if r := x.own(e); r != nil && a.Field != recount.Unknown && a.Cost > 0 && a.Cost == r.Cost(a.Field, rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level), Template: a.Template}) {
					a.Cost--
					return true
				}
			}
			return false
		}},
		{"what is known of a value does not grow", recount.Price, func(x *run, s *charge.State, e *charge.Entry) bool {
			r := x.own(e)
			if r == nil {
				return false
			}
			for i := range e.Atoms {
				a := &e.Atoms[i]
				if a.Op < charge.Generalize {
					continue
				}
				id, v := e.Sink+string(e.Family)+a.Value.String(), rubric.View{Field: a.Field, Level: int(a.Level)}
				seen := append(slices.Clone(x.views[id]), v)
				was := s.After(a.Value)
				for k := 1; k <= int(e.Class); k++ {
					was[k] = max(was[k], a.Cost)
				}
				if was != a.After && r.Joint(seen) > was[e.Class] {
					for j := range e.Atoms {
						if e.Atoms[j].Value == a.Value {
							e.Atoms[j].After, e.Atoms[j].Cost = was, min(e.Atoms[j].Cost, was[e.Class])
						}
					}
					return true
				}
				x.views[id] = seen
			}
			return false
		}},
		{"a field that the rubrics do not have", recount.Field, func(x *run, s *charge.State, e *charge.Entry) bool {
			if x.own(e) == nil || len(e.Atoms) == 0 {
				return false
			}
			e.Atoms[0].Field = "shoe-size"
			return true
		}},
		{"a cheaper field of the same value", recount.Field, func(x *run, s *charge.State, e *charge.Entry) bool {
			for i := range e.Atoms {
				a, r := &e.Atoms[i], x.own(e)
				if r == nil || a.Field == recount.Unknown || s.After(a.Value) == [4]flow.Bits{} {
					continue
				}
				for _, f := range r.Fields() {
					if op := (rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level), Template: a.Template}); r.Group(f) != r.Group(a.Field) && slices.Contains(r.Operators(f, e.Class), op) && r.Cost(f, op) <= a.Cost {
						a.Field = f
						return true
					}
				}
			}
			return false
		}},
		{"a cheaper field that is not admitted so", recount.Operator, func(x *run, s *charge.State, e *charge.Entry) bool {
			for i := range e.Atoms {
				a, r := &e.Atoms[i], x.own(e)
				if r == nil || a.Op < charge.Generalize {
					continue
				}
				for _, f := range r.Fields() {
					op := rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level)}
					if !slices.Contains(r.Operators(f, e.Class), op) && r.Cost(f, op) < a.Cost {
						a.Field, a.Cost = f, r.Cost(f, op)
						return true
					}
				}
			}
			return false
		}},
		{"identity where it is not admitted", recount.Operator, func(x *run, s *charge.State, e *charge.Entry) bool {
			for i := range e.Atoms {
				a, r := &e.Atoms[i], x.own(e)
				if r != nil && !slices.Contains(r.Operators(a.Field, e.Class), rubric.Op{Kind: rubric.Identity}) {
					a.Op, a.Level, a.Template = charge.Identity, 0, ""
					return true
				}
			}
			return false
		}},
		{"a template that there is not", recount.Operator, func(x *run, s *charge.State, e *charge.Entry) bool {
			if x.own(e) == nil || len(e.Atoms) == 0 {
				return false
			}
			a := &e.Atoms[0]
			a.Op, a.Level, a.Template = charge.Substitute, 0, "anything"
			return true
		}},
		{"an unknown atom that is shown", recount.Operator, func(x *run, s *charge.State, e *charge.Entry) bool {
			for i := range e.Atoms {
				if a := &e.Atoms[i]; x.own(e) != nil && a.Field == recount.Unknown {
					a.Op = charge.Identity
					return true
				}
			}
			return false
		}},
		{"more than one release may add", recount.Release, func(x *run, s *charge.State, e *charge.Entry) bool {
			r := x.own(e)
			if r == nil || len(e.Atoms) == 0 {
				return false
			}
			more := r.Limits().Cap[1] + 1
			if s.Caps[1]+more > s.Limits.Cap[1] || s.Total+more > s.Limits.B {
				return false
			}
			e.Class = flow.RequiredService
			for i := range e.Atoms {
				a := &e.Atoms[i]
				a.Field, a.Op, a.Level, a.Template, a.Cost = recount.Unknown, charge.Redact, 0, "", 0
				a.After, a.Value = [4]flow.Bits{0, 8 * flow.Bit}, charge.Hash{1, byte(i)}
			}
			e.Atoms[0].Value = charge.Hash{2}
			e.Atoms = e.Atoms[:1]
			e.Atoms[0].Cost, e.Atoms[0].After[1] = r.Limits().Cap[1], more
			return true
		}},
		{"text that passed by a model, for less", recount.Screened, func(x *run, s *charge.State, e *charge.Entry) bool {
			if x.own(e) == nil || e.Screened == 0 {
				return false
			}
			doubt, _ := x.own(e).Screens(e.Class)
			e.Screened = x.own(e).TopRisk()/1000*doubt/1000 - 1
			return true
		}},
		{"text that passed by a model at a sink where none may", recount.Screened, func(x *run, s *charge.State, e *charge.Entry) bool {
			r := x.own(e)
			if r == nil || s.Limits.Screened < s.Doubt+20*flow.Bit {
				return false
			}
			if _, ok := r.Screens(e.Class); ok {
				return false
			}
			e.Screened = 20 * flow.Bit
			return true
		}},
		{"more by a model than one release may", recount.Release, func(x *run, s *charge.State, e *charge.Entry) bool {
			r := x.own(e)
			if r == nil {
				return false
			}
			if _, ok := r.Screens(e.Class); !ok || s.Limits.Screened <= r.Limits().Screened || s.Doubt > 0 {
				return false
			}
			e.Screened = r.Limits().Screened + 1
			return true
		}},
		{"another class", "", func(x *run, s *charge.State, e *charge.Entry) bool {
			r := x.own(e)
			if r == nil || e.Class == flow.Adversarial {
				return false
			}
			for i := range e.Atoms {
				a := &e.Atoms[i]
				if !slices.Contains(r.Operators(a.Field, flow.Adversarial), rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level), Template: a.Template}) {
					for j := range e.Atoms { // or it would not fit
						free(s, e, j)
					}
					e.Class = flow.Adversarial
					return true
				}
			}
			return false
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			made := 0
			for seed := uint64(0); seed < 200 && made < want; seed++ {
				x := newRun(t, seed, map[string]int{})
				for range 12 {
					x.release()
				}
				book, at := x.forge(func(s *charge.State, e *charge.Entry) bool { return c.change(x, s, e) })
				if at == 0 {
					continue
				}
				made++
				found := findings(t, book, shared())
				if !slices.ContainsFunc(found, func(f ledger.Finding) bool { return f.Entry == at && (f.Rule == c.rule || c.rule == "") }) {
					t.Fatalf("seed %d: entry %d was forged, and the findings are %v", seed, at, found)
				}
			}
			if made < want {
				t.Errorf("%d ledgers were forged", made)
			}
		})
	}
}

// An export that lacks a rubric says so, and so does one with other bytes.
func TestMissingRubrics(t *testing.T) {
	x := newRun(t, 3, map[string]int{})
	for range 6 {
		x.release()
	}
	for name, read := range map[string]func(charge.Hash) ([]byte, error){
		"none":    func(charge.Hash) ([]byte, error) { return nil, charge.ErrNotFound },
		"another": func(charge.Hash) ([]byte, error) { return []byte("a rubric"), nil },
	} {
		found := findings(t, x.book, recount.Rubrics(read))
		if len(found) == 0 || found[0].Rule != recount.Missing || !strings.Contains(found[0].Detail, "rubric ") {
			t.Errorf("%s: %v", name, found)
		}
	}
}
