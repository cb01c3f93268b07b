package declassify_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/dependency"
	"github.com/margaydev/margay/store/memory"
)

const bit = flow.Bit

// secretField is a field of the tests' rules. Values are digits in groups,
// "1990-05-17", each level of which leaves one group out; words have none.
type secretField struct {
	pattern string
	bits    []float64 // cost by level, 0 the value itself
	only    bool
	group   string
	nec     [4]rubric.Necessity
	ops     [4][]rubric.Op // by class; redact and drop besides
	need    [4]int         // level plus one
	re      *regexp.Regexp
}

// world is Rules of the tests' own, written without the rubrics' code.
type world struct {
	name     string
	fields   map[string]*secretField
	residual bool
	limits   rubric.Limits
	graph    dependency.Graph
	cells    map[string][][][]float64 // by field and level
}

func (w *world) canonical() []byte { return []byte("rubric of a test: " + w.name) }

func (w *world) Hashes() []rubric.Hash { return []rubric.Hash{sha256.Sum256(w.canonical())} }
func (w *world) Fields() []string      { return slices.Sorted(maps.Keys(w.fields)) }
func (w *world) Match(path, text string) []rubric.Match {
	var out []rubric.Match
	for _, name := range w.Fields() {
		f := w.fields[name]
		if f.re == nil {
			continue
		}
		for _, m := range f.re.FindAllStringIndex(text, -1) {
			out = append(out, rubric.Match{Start: m[0], End: m[1], Field: name, Clause: name + "-pattern"})
		}
	}
	return out
}

func (w *world) Only(m rubric.Match) bool                    { return w.fields[m.Field] != nil && w.fields[m.Field].only }
func (w *world) Mentions(field, text string) bool            { return false }
func (w *world) Residual(path string, class flow.Class) bool { return w.residual }
func (w *world) Screened(path string, class flow.Class) (flow.Bits, bool) {
	return bit / 10, w.limits.Screened > 0 && class <= flow.SemiTrusted
}

func (w *world) Screens(class flow.Class) (flow.Bits, bool) { return w.Screened("", class) }

func (w *world) Necessity(field string, class flow.Class) rubric.Necessity {
	if f := w.fields[field]; f != nil {
		return f.nec[class]
	}
	return rubric.Unnecessary
}

func (w *world) Operators(field string, class flow.Class) []rubric.Op {
	ops := []rubric.Op{{Kind: rubric.Drop}, {Kind: rubric.Redact}}
	if f := w.fields[field]; f != nil {
		ops = append(ops, f.ops[class]...)
	}
	slices.SortFunc(ops, rubric.Op.Compare)
	return ops
}

func (w *world) Generalize(field string, level int, value string) (string, error) {
	f := w.fields[field]
	if f == nil || level >= len(f.bits) {
		return "", rubric.ErrLevel
	}
	if f.re != nil && f.re.FindString(value) != value {
		return "", rubric.ErrOutside
	}
	if level == 0 {
		return value, nil
	}
	groups := strings.Split(value, "-")
	if level >= len(groups) {
		return "", rubric.ErrOutside
	}
	return strings.Join(groups[:len(groups)-level], "-"), nil
}

func (w *world) Fill(template string, context map[string]string) (string, error) {
	if v, ok := context[template]; ok {
		return v, nil
	}
	return "", rubric.ErrTemplate
}

func (w *world) Cost(field string, op rubric.Op) flow.Bits {
	f := w.fields[field]
	switch {
	case op.Kind == rubric.Drop:
		return 0
	case op.Kind == rubric.Redact:
		return 1000
	case op.Kind == rubric.Substitute:
		return 20_000
	case f == nil || op.Level >= len(f.bits):
		return w.TopRisk()
	default:
		return flow.BitsOf(f.bits[op.Level])
	}
}
func (w *world) TopRisk() flow.Bits { return 256 * bit }
func (w *world) Joint(views []rubric.View) flow.Bits {
	finest := map[string]flow.Bits{}
	for _, v := range views {
		op := rubric.Op{Kind: rubric.Identity}
		if v.Level > 0 {
			op = rubric.Op{Kind: rubric.Generalize, Level: v.Level}
		}
		finest[v.Field] = max(finest[v.Field], w.Cost(v.Field, op))
	}
	sum := flow.Bits(0)
	for _, b := range finest {
		sum += b
	}
	return sum
}

func (w *world) Group(field string) string {
	if f := w.fields[field]; f != nil && f.group != "" {
		return f.group
	}
	return field
}
func (w *world) Graph() dependency.Graph { return w.graph }
func (w *world) Cells(field string, level int) [][]float64 {
	if c := w.cells[field]; level < len(c) {
		return c[level]
	}
	return nil
}
func (w *world) Shape(field string) rubric.Hash { return sha256.Sum256([]byte(field)) }
func (w *world) Limits() rubric.Limits          { return w.limits }
func (w *world) Utility(class flow.Class) []rubric.Need {
	var out []rubric.Need
	for _, name := range w.Fields() {
		if n := w.fields[name].need[class]; n > 0 {
			out = append(out, rubric.Need{Field: name, Level: n - 1})
		}
	}
	return out
}

// Root is the field itself: none of the tests' is a view of another.
func (w *world) Root(field string) string { return field }

// Normal is a value as it is the same however it is written: credentials as
// they are, numbers without what stands between their digits, and all else
// without regard to case and spaces.
func (w *world) Normal(field, text string) string {
	switch field {
	case "password", "api-key", "private-key":
		return text
	case "phone", "payment-token", "national-id", "passport", "account-id":
		alnum := func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return -1
			}
			return unicode.ToLower(r)
		}
		if s := strings.Map(alnum, text); s != "" {
			return s
		}
	}
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

func gen(level int) rubric.Op { return rubric.Op{Kind: rubric.Generalize, Level: level} }

var (
	identity = rubric.Op{Kind: rubric.Identity}
	named    = rubric.Op{Kind: rubric.Substitute, Template: rubric.Pseudonym}
)

// travel is a world with a required service that needs a name and a date, and
// curious sinks that can do with a year.
func travel() *world {
	w := &world{
		name: "travel", residual: true,
		limits: rubric.Limits{B: 40 * bit, Cap: [4]flow.Bits{0, 30 * bit, 4 * bit, bit}, Lambda: [4]int64{0, 1000, 2000, 4000}, Margin: bit / 2},
		fields: map[string]*secretField{
			"dob": {
				pattern: `\b\d{4}-\d\d-\d\d\b`, bits: []float64{15.2, 10.2, 3.5}, only: true,
				nec:  [4]rubric.Necessity{0, rubric.Required, rubric.Useful, rubric.Unnecessary},
				ops:  [4][]rubric.Op{1: {named, gen(2), gen(1), identity}, 2: {named, gen(2), gen(1)}, 3: {named}},
				need: [4]int{0, 1, 0, 0},
			},
			"legal-name": {
				pattern: `\b[A-Z][a-z]+ [A-Z][a-z]+\b`, bits: []float64{12},
				nec:  [4]rubric.Necessity{0, rubric.Required, rubric.Unnecessary, rubric.Unnecessary},
				ops:  [4][]rubric.Op{1: {named, identity}, 2: {named}, 3: {named}},
				need: [4]int{0, 1, 0, 0},
			},
			"phone": {
				pattern: `\+\d{1,3}-\d{3,4}-\d{4}`, bits: []float64{30, 14, 2}, only: true,
				nec: [4]rubric.Necessity{0, rubric.Useful, rubric.Useful, rubric.Unnecessary},
				ops: [4][]rubric.Op{1: {named, gen(2), gen(1), identity}, 2: {named, gen(2)}, 3: {}},
			},
			"api-key": {pattern: `\bsk-[a-z0-9]{12}\b`, bits: []float64{60}, ops: [4][]rubric.Op{1: {named}, 2: {named}, 3: {}}},
		},
	}
	for _, f := range w.fields {
		f.re = regexp.MustCompile(f.pattern)
	}
	return w
}

// tools of the tests.
func airline() schema.Tool {
	return schema.Tool{
		Name: "book", Action: "travel-booking", Sink: "airline", Class: flow.RequiredService, Channel: flow.ChannelTool,
		Args: []schema.Arg{{Path: "passengers.*.name", Field: "legal-name"}, {Path: "passengers.*.dob", Field: "dob"}, {Path: "from"}, {Path: "note", Free: true}},
	}
}

func broker() schema.Tool {
	t := airline()
	t.Name, t.Sink, t.Class = "search", "broker", flow.SemiTrusted
	return t
}

func stranger() schema.Tool {
	t := airline()
	t.Name, t.Sink, t.Class = "post", "pastebin", flow.Adversarial
	return t
}

// ledgerOf is a book in memory that has kept the rubrics.
func ledgerOf(t testing.TB, ws ...*world) (*ledger.Book, ledger.Store) {
	t.Helper()
	store := memory.New()
	seed := sha256.Sum256([]byte("key of a test"))
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: ed25519.NewKeyFromSeed(seed[:])})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		if _, err := book.KeepRubric(t.Context(), w.canonical()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := book.KeepRubric(t.Context(), terms.Fallback()); err != nil {
		t.Fatal(err)
	}
	return book, store
}

func verifier(t testing.TB, w *world, change func(*declassify.Config)) *declassify.Verifier {
	t.Helper()
	book, store := ledgerOf(t, w)
	cfg := declassify.Config{
		Resolve: func(rubric.Query) (declassify.Rules, error) { return w, nil },
		Ledger:  book, History: store, Defender: labeller{}, Key: [32]byte{1},
	}
	if change != nil {
		change(&cfg)
	}
	v, err := declassify.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// labeller is a defender that labels typed arguments by their schema and texts
// by the predicates: an independent one of the tests'.
type labeller struct{}

func (labeller) Evidence(_ context.Context, r *declassify.Request) ([]byte, error) {
	ev := evidence.Statement{Context: r.Context}
	label := func(part, start, end int, role, field string) {
		ev.Atoms = append(ev.Atoms, evidence.Label{
			Part: part, Start: start, End: end, Role: role, Field: field, Relation: "explicit",
			Necessity: r.Rules.Necessity(field, r.Tool.Class).String(), Provenance: "rubric",
		})
	}
	for i, p := range r.Parts {
		typed := ""
		for _, a := range r.Tool.Args {
			if ok := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(a.Path), `\*`, `[^.]*`) + "$").MatchString(p.Path); ok {
				typed = a.Field
				break
			}
		}
		if typed != "" && p.Text != "" {
			label(i, 0, len(p.Text), "argument", typed)
			continue
		}
		at := 0
		matches := r.Rules.Match(p.Path, p.Text)
		slices.SortFunc(matches, func(a, b rubric.Match) int { return a.Start - b.Start })
		for _, m := range matches {
			if m.Start >= at {
				label(i, m.Start, m.End, "text", m.Field)
				at = m.End
			}
		}
	}
	var err error
	if ev.Operators, ev.Variant, err = r.Plan(ev.Atoms); err != nil {
		return nil, err
	}
	return ev.Marshal()
}

// names gives out pseudonyms and remembers all.
type names map[string]string

func (n names) Name(field, value string) string {
	sum := sha256.Sum256([]byte(field + "\x00" + value))
	name := "margay-" + field + "-" + hex.EncodeToString(sum[:5])
	n[name] = value
	return name
}

var nameRE = regexp.MustCompile(`margay-([a-z]+(?:-[a-z]+)*)-[0-9a-f]{10}`)

func (n names) Find(text string) []declassify.Pseudonym {
	var out []declassify.Pseudonym
	for _, m := range nameRE.FindAllStringSubmatchIndex(text, -1) {
		if v, ok := n[text[m[0]:m[1]]]; ok {
			out = append(out, declassify.Pseudonym{Start: m[0], End: m[1], Field: text[m[2]:m[3]], Value: v})
		}
	}
	return out
}

func candidate(id flow.TrajectoryID, tool schema.Tool, pathsAndTexts ...string) declassify.Candidate {
	c := declassify.Candidate{Trajectory: id, Decision: "D", Tool: tool}
	for i := 0; i+1 < len(pathsAndTexts); i += 2 {
		c.Parts = append(c.Parts, declassify.Part{Path: pathsAndTexts[i], Text: pathsAndTexts[i+1]})
	}
	return c
}

func release(t testing.TB, v *declassify.Verifier, c declassify.Candidate) declassify.Release {
	t.Helper()
	r, err := v.Release(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sent(r *declassify.Release) string {
	var all []string
	for _, p := range r.Parts() {
		all = append(all, p.Text)
	}
	return strings.Join(all, "|")
}

func hasRule(r *declassify.Release, rule rule.Rule) bool {
	return slices.ContainsFunc(r.Reasons, func(x flow.Reason) bool { return x.Code == string(rule) })
}
