package defence

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/clause"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/store/memory"
)

// MargayConfig is what Margay's own row needs.
type MargayConfig struct {
	Name string
	// Resolve finds the rules of a release; Rubrics are the canonical bytes of
	// all that it may find, for the ledger.
	Resolve  func(rubric.Query) (declassify.Rules, error)
	Rubrics  [][]byte
	Defender declassify.Defender
	Screener declassify.Screener
	// Challenges is the number of questions of the second pass.
	Challenges int
	// Without leaves checks of the verifier out. What is released then is
	// charged to nobody's ledger.
	Without []Ablation
	// Forgets leaves out, for each release, what earlier ones showed of values: none
	// is known but those of the call itself.
	Forgets bool
	// Stand says which category's rubric stands in for another's; nil: each
	// has its own.
	Stand func(category string) string
	// Deadline bounds the defender's answers; the verifier's own if it is 0.
	Deadline time.Duration
}

// Margay is declassify.Verifier with a defender: each trajectory is a family of
// its own in one ledger, which is signed, and read again by Certified.
type Margay struct {
	cfg      MargayConfig
	verifier *declassify.Verifier
	config   declassify.Config
	bare     *bare // instead of the verifier, of an ablation
	book     *ledger.Book
	begun    atomic.Int64
}

// NewMargay makes a row of Margay's own.
func NewMargay(cfg MargayConfig) (*Margay, error) {
	store := memory.New()
	seed := sha256.Sum256([]byte("margay-labmark traj"))
	begun := time.Unix(1_700_000_000, 0).UTC()
	book, err := ledger.NewBook(ledger.Config{Store: store, Key: ed25519.NewKeyFromSeed(seed[:]), Now: func() time.Time { return begun }})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	for _, r := range append(slices.Clone(cfg.Rubrics), terms.Fallback()) {
		if _, err := book.KeepRubric(context.Background(), r); err != nil {
			return nil, fmt.Errorf("%s: %w", cfg.Name, err)
		}
	}
	m := &Margay{cfg: cfg, book: book}
	m.config = declassify.Config{
		Resolve: cfg.Resolve, Ledger: book, History: store, Defender: cfg.Defender, Screener: cfg.Screener, Key: sha256.Sum256([]byte("fingerprints")),
		Challenges: cfg.Challenges, Deadline: cfg.Deadline,
	}
	if len(cfg.Without) > 0 {
		m.bare, err = newBare(m.config, cfg.Without)
	} else {
		m.verifier, err = declassify.New(m.config)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	return m, nil
}

// Name implements Defence.
func (m *Margay) Name() string { return m.cfg.Name }

// Begin implements Defence.
func (m *Margay) Begin(_ context.Context, k Known) (Session, error) {
	id := m.family(k.ID)
	return &session{m: m, known: k, id: id, chain: chain{state: charge.NewState(id)}, names: names{of: k.ID, given: map[string]string{}}}, nil
}

// family is a fresh id in the form of a ULID. Playing a task again is another
// family.
func (m *Margay) family(of string) flow.TrajectoryID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", of, m.begun.Add(1)))
	return flow.TrajectoryID("0" + strings.ToUpper(hex.EncodeToString(sum[:]))[:25])
}

type session struct {
	m     *Margay
	known Known
	id    flow.TrajectoryID
	chain chain // of an ablation
	names names
	// near are the fields that the rubrics' dependency graphs tie together.
	near   map[string]string
	margin flow.Bits
}

// tie takes in what the rules of a release say depends on each other: what is
// certified of such fields is certified of all together.
func (s *session) tie(r declassify.Rules) {
	if s.near == nil {
		s.near = map[string]string{}
	}
	for _, f := range r.Graph().Factors {
		for _, v := range f.Vars[1:] {
			a, b := s.root(fieldOf(f.Vars[0])), s.root(fieldOf(v))
			if a != b {
				s.near[a] = b
			}
		}
	}
	for _, f := range r.Fields() {
		if a, b := s.root(f), s.root(r.Group(f)); a != b {
			s.near[a] = b
		}
	}
	s.margin = max(s.margin, r.Limits().Margin)
}

func (s *session) root(f string) string {
	for s.near[f] != "" {
		f = s.near[f]
	}
	return f
}

// fieldOf is the field that a variable of a graph is of.
func fieldOf(variable string) string {
	for _, f := range world.Fields {
		if rest, ok := strings.CutPrefix(variable, string(f)); ok && (rest == "" || !strings.ContainsAny(rest[:1], "abcdefghijklmnopqrstuvwxyz-")) {
			return string(f)
		}
	}
	return variable
}

// Release implements Session.
func (s *session) Release(ctx context.Context, c *Candidate) (Outcome, error) {
	at := *c
	if s.m.cfg.Stand != nil {
		at.Action = s.m.cfg.Stand(c.Action)
	}
	in, query := at.declassify(&s.names)
	in.Trajectory, in.Decision = s.id, fmt.Sprintf("step-%d", c.Step)
	rules, err := s.m.cfg.Resolve(query)
	if err == nil {
		s.tie(rules)
	} else if s.m.bare != nil {
		return Outcome{}, err
	}
	r, parts, err := s.decide(ctx, &in, rules)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Phases: map[string]time.Duration{
		"defend": r.Phases.Defend, "validate": r.Phases.Bind + r.Phases.Validate, "audit": r.Phases.Cost + r.Phases.Audit, "commit": r.Phases.Commit,
	}}
	out.Why = why(&r, parts != nil, len(c.Parts))
	if parts == nil {
		out.Fallback = true
		return out, nil
	}
	for _, why := range r.Reasons {
		if ignored[rule.Rule(why.Code)] {
			out.Fallback = true
		}
	}
	out.Parts = make([]string, len(c.Parts))
	for i, p := range parts {
		out.Parts[i] = p.Text
	}
	return out, nil
}

// declassify is the candidate as the verifier takes it, and the question for its
// rules. It has no ids.
func (c *Candidate) declassify(by *names) (declassify.Candidate, rubric.Query) {
	in := declassify.Candidate{
		Names: by, Tool: schema.Tool{Name: c.Tool, Action: c.Action, Sink: c.Sink.Name, Class: c.Sink.Class, Channel: c.Sink.Channel},
	}
	for i := range c.Parts {
		p := &c.Parts[i]
		in.Tool.Args = append(in.Tool.Args, schema.Arg{Path: p.Path, Field: string(p.Field), Free: p.Free})
		in.Parts = append(in.Parts, declassify.Part{Path: p.Path, Text: p.Text, Untrusted: p.From == world.FromTool})
	}
	return in, rubric.Query{Action: c.Action, Tool: c.Tool, Sink: c.Sink.Name, Channel: c.Sink.Channel, Class: c.Sink.Class.Known(), Fields: typed(c)}
}

// decide makes a release, or what would be one without the checks that are left
// out. There are no parts where nothing is released.
func (s *session) decide(ctx context.Context, c *declassify.Candidate, rules declassify.Rules) (declassify.Release, []declassify.Part, error) {
	if s.m.bare != nil {
		return s.m.bare.release(ctx, c, rules, &s.chain)
	}
	v := s.m.verifier
	if s.m.cfg.Forgets { // without a keeper a verifier knows what it has seen itself
		var err error
		if v, err = declassify.New(s.m.config); err != nil {
			return declassify.Release{}, nil, err
		}
	}
	r, err := v.Release(ctx, *c)
	return r, r.Parts(), err
}

// entries calls f with what was charged to the trajectory, in order.
func (s *session) entries(ctx context.Context, f func(*charge.Entry)) error {
	for _, e := range s.chain.entries {
		f(e)
	}
	_, err := s.m.book.Replay(ctx, s.id, func(_ *charge.State, e *charge.Entry) error {
		f(e)
		return nil
	})
	return err
}

// why says what became of each part: operators and fields of what was not shown
// as it is. A step less than was planned first is not told from a plan.
func why(r *declassify.Release, released bool, parts int) []string {
	if !released {
		var out []string
		for _, reason := range r.Reasons {
			out = append(out, numberRE.ReplaceAllString(reason.Code+": "+reason.Detail, "n"))
		}
		slices.Sort(out)
		return []string{"denied, " + strings.Join(slices.Compact(out), "; ")}
	}
	done := make([][]string, parts)
	for i := range r.Atoms {
		if a := &r.Atoms[i]; a.Op.Kind != rubric.Identity {
			done[a.Part] = append(done[a.Part], a.Op.String()+" "+a.Field)
		}
	}
	out := make([]string, parts)
	for i, d := range done {
		slices.Sort(d)
		out[i] = strings.Join(slices.Compact(d), ", ")
		if out[i] != "" && r.Phases.Rounds > 1 {
			out[i] += " after escalation"
		}
	}
	return out
}

var numberRE = regexp.MustCompile(`\d+(\.\d+)?`)

// ignored are the rules that leave a defender's evidence out of account.
var ignored = map[rule.Rule]bool{
	evidence.Syntax: true, evidence.Schema: true, evidence.TooLarge: true, evidence.TooMany: true, evidence.Offset: true,
	evidence.Overlap: true, evidence.UTF8: true, evidence.Other: true, evidence.Previous: true, evidence.Operator: true,
	evidence.Variant: true, evidence.Late: true, evidence.Failed: true, evidence.Unanswered: true, clause.Challenge: true,
}

func typed(c *Candidate) []string {
	var out []string
	for i := range c.Parts {
		if f := c.Parts[i].Field; f != "" {
			out = append(out, string(f))
		}
	}
	return out
}

// names gives out the pseudonyms of a trajectory.
type names struct {
	of    string
	given map[string]string
}

func (n *names) Name(field, value string) string {
	sum := sha256.Sum256([]byte(n.of + "\x00" + field + "\x00" + value))
	name := "margay-" + field + "-" + hex.EncodeToString(sum[:6])
	n.given[name] = value
	return name
}

var nameRE = regexp.MustCompile(`margay-([a-z]+(?:-[a-z]+)*)-[0-9a-f]{12}`)

func (n *names) Find(text string) []declassify.Pseudonym {
	var out []declassify.Pseudonym
	for _, m := range nameRE.FindAllStringSubmatchIndex(text, -1) {
		if v, ok := n.given[text[m[0]:m[1]]]; ok {
			out = append(out, declassify.Pseudonym{Start: m[0], End: m[1], Field: text[m[2]:m[3]], Value: v})
		}
	}
	return out
}

// Certified implements Accountant: it reads the trajectory's entries and does
// their sums again, from what each value has cost so far, with no use of the
// ledger's own.
func (s *session) Certified(ctx context.Context) (Certified, error) {
	after := map[charge.Hash][charge.Classes]flow.Bits{}
	fields := map[charge.Hash]map[string]bool{}
	out := Certified{Bits: map[world.Field]float64{}, Ops: map[world.Field]string{}}
	finest := map[world.Field]rubric.Op{}
	var limits *charge.Limits
	err := s.entries(ctx, func(e *charge.Entry) {
		if limits == nil {
			l := e.Limits
			limits = &l
		}
		if e.Limits != *limits {
			out.Exceeded = true
		}
		if !e.Charges() {
			return
		}
		for i := range e.Atoms {
			a := &e.Atoms[i]
			after[a.Value] = a.After
			if fields[a.Value] == nil {
				fields[a.Value] = map[string]bool{}
			}
			if e.Class != flow.RequiredService {
				fields[a.Value][a.Field] = true
				f, op := world.Field(a.Field), rubric.Op{Kind: rubric.OpKind(a.Op), Level: int(a.Level), Template: a.Template}
				if had, ok := finest[f]; !ok || op.Compare(had) > 0 {
					finest[f], out.Ops[f] = op, op.Kind.String()
				}
			}
		}
		if over(after, limits) {
			out.Exceeded = true
		}
	})
	if err != nil {
		return out, err
	}
	// A field is certified with all values of its component, and the margin,
	// which counts once.
	component := map[string]flow.Bits{}
	for v, fs := range fields {
		seen := map[string]bool{}
		for f := range fs {
			if root := s.root(f); !seen[root] {
				seen[root] = true
				component[root] += after[v][flow.SemiTrusted]
			}
		}
	}
	for f := range finest {
		out.Bits[f] = float64(component[s.root(string(f))]+s.margin) / float64(flow.Bit)
	}
	for _, a := range after {
		out.Total += float64(a[flow.SemiTrusted]) / float64(flow.Bit)
	}
	if limits != nil {
		out.Cap = float64(limits.Cap[flow.SemiTrusted]) / float64(flow.Bit)
	}
	return out, nil
}

// over adds up what all values have cost.
func over(after map[charge.Hash][charge.Classes]flow.Bits, l *charge.Limits) bool {
	var caps [charge.Classes]flow.Bits
	var weighted int64
	for _, a := range after {
		for k := flow.RequiredService; k <= flow.Adversarial; k++ {
			caps[k] += a[k]
			weighted += int64(a[k]) * (l.Lambda[k] - l.Lambda[k-1])
		}
	}
	for k := flow.RequiredService; k <= flow.Adversarial; k++ {
		if caps[k] > l.Cap[k] {
			return true
		}
	}
	return weighted > int64(l.B)*1000
}

// Registry are rubrics in the form that NewMargay needs, signed with a key of
// the benchmark's own.
type Registry struct {
	rubrics []*rubric.Rubric
	key     ed25519.PrivateKey
	whole   func() (*rubric.Registry, error) // with all of them, made once
}

// ErrNoRubrics says that there is nothing to run Margay's rows with.
var ErrNoRubrics = errors.New("no rubrics")

// NewRegistry takes rubrics, as YAML by the names of their files.
func NewRegistry(files map[string][]byte) (*Registry, error) {
	seed := sha256.Sum256([]byte("margay-labmark traj rubrics"))
	r := &Registry{key: ed25519.NewKeyFromSeed(seed[:])}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		one, err := library.Parse(name, files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		r.rubrics = append(r.rubrics, one)
	}
	if len(r.rubrics) == 0 {
		return nil, ErrNoRubrics
	}
	r.whole = sync.OnceValues(func() (*rubric.Registry, error) { return r.registered(r.rubrics) })
	return r, nil
}

// registered is a registry of rubrics that were signed and verified.
func (r *Registry) registered(some []*rubric.Rubric) (*rubric.Registry, error) {
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{r.key.Public().(ed25519.PublicKey)}, Now: func() time.Time { return world.Today }})
	for _, one := range some {
		if _, err := reg.Add(one.Name(), rubric.Sign(one, r.key)); err != nil {
			return nil, err
		}
	}
	return reg, nil
}

// Registered is what Config's rubrics resolve to, with all rubrics and the hashes
// of those whose signatures were verified.
func (r *Registry) Registered() (resolve func(rubric.Query) (*rubric.Resolved, error), all []*rubric.Rubric, verified []rubric.Hash, err error) {
	reg := rubric.NewRegistry(rubric.Config{Keys: []ed25519.PublicKey{r.key.Public().(ed25519.PublicKey)}, Now: func() time.Time { return world.Today }})
	for _, one := range r.rubrics {
		got, err := reg.Add(one.Name(), rubric.Sign(one, r.key))
		if err != nil {
			return nil, nil, nil, err
		}
		verified = append(verified, got.Hash())
	}
	return reg.Resolve, slices.Clone(r.rubrics), verified, nil
}

// Config fills in the part of a configuration that comes from rubrics, without
// those whose name is one of left.
func (r *Registry) Config(cfg MargayConfig, left ...string) (MargayConfig, error) {
	some := slices.DeleteFunc(slices.Clone(r.rubrics), func(one *rubric.Rubric) bool {
		return slices.ContainsFunc(left, func(name string) bool { return strings.Contains(one.Name(), name) })
	})
	reg, err := r.whole()
	if len(some) < len(r.rubrics) {
		reg, err = r.registered(some)
	}
	if err != nil {
		return cfg, err
	}
	for _, one := range some {
		cfg.Rubrics = append(cfg.Rubrics, one.Canonical())
	}
	cfg.Resolve = func(q rubric.Query) (declassify.Rules, error) {
		got, err := reg.Resolve(q)
		if err != nil {
			return nil, err
		}
		return got, nil
	}
	return cfg, nil
}
