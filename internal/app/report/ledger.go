package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify/recount"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

// part is a ledger reduced to some families, as they were at one point in time.
type part struct {
	ledger.Store
	heads []charge.Head
}

// Heads implements ledger.Store.
func (p *part) Heads(context.Context) iter.Seq2[charge.Head, error] {
	return func(yield func(charge.Head, error) bool) {
		for _, h := range p.heads {
			if !yield(h, nil) {
				return
			}
		}
	}
}

// chosen is what a report takes from the ledger.
type chosen struct {
	heads   []charge.Head
	whole   bool
	left    []string
	touched []flow.TrajectoryID // that entries of these families name
	bytes   int
}

// choose picks the families that a report is about: those with an entry that
// wants accepts.
func (m *maker) choose(ctx context.Context, wants func(*charge.Entry) bool) (*chosen, error) {
	out := &chosen{whole: true}
	rubrics := map[charge.Hash]string{} // why they can't be shown; empty: they can
	for h, err := range m.cfg.Ledger.Heads(ctx) {
		if err != nil {
			return nil, err
		}
		f, err := m.weigh(ctx, &h, rubrics, wants)
		if err != nil {
			return nil, err
		}
		switch {
		case !f.wanted && !f.unread && !m.cfg.Whole:
			out.whole = false
		case f.unfit != "":
			out.whole = false
			out.left = append(out.left, "family "+m.id(string(h.Family))+" of the ledger: "+f.unfit)
		case out.bytes+f.bytes > m.limits.export:
			out.whole = false
			out.left = append(out.left, "family "+m.id(string(h.Family))+" of the ledger: the report would be too large; margay ledger export has it")
		default:
			out.bytes += f.bytes
			out.heads = append(out.heads, h)
		}
		if f.wanted {
			out.touched = append(out.touched, f.touched...)
		}
	}
	return out, nil
}

type weighed struct {
	wanted  bool
	bytes   int
	unfit   string // why it can't be shown
	unread  bool   // an entry can't be read, so its trajectory is unknown
	touched []flow.TrajectoryID
}

// weigh reads a family once.
func (m *maker) weigh(ctx context.Context, h *charge.Head, rubrics map[charge.Hash]string, wants func(*charge.Entry) bool) (*weighed, error) {
	f := &weighed{}
	for seq := uint64(0); seq < h.Seq; {
		got, err := m.cfg.Ledger.Entries(ctx, h.Family, seq, int(min(pageSize, h.Seq-seq)))
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			return nil, fmt.Errorf("the store has lost entry %d of family %s", seq+1, h.Family)
		}
		for i := range got {
			seq++
			f.bytes += len(got[i].Bytes) + 13
			e, err := charge.Decode(got[i].Bytes)
			if err != nil {
				// Its trajectory is unknown, so it may be one of those wanted.
				if !f.unread && (m.scope.Trajectory == "" || m.scope.Trajectory == h.Family) {
					f.wanted, f.touched = true, append(f.touched, h.Family)
				}
				f.unfit, f.unread = "an entry can't be read; margay ledger verify says which", true
				continue
			}
			if wants(e) {
				f.wanted = true
				if !slices.Contains(f.touched, e.Trajectory) && len(f.touched) < maxTrajectories {
					f.touched = append(f.touched, e.Trajectory)
				}
			}
			if !m.fit(e) {
				f.unfit = "an entry has a text that would be masked, and entries can't be changed"
			}
			for _, r := range e.Rubrics {
				why, known := rubrics[r]
				if !known {
					b, err := m.cfg.Ledger.Rubric(ctx, r)
					if err == nil {
						f.bytes += len(b) + 5
					}
					if m.cfg.Known(string(b)) != string(b) {
						why = "a rubric has the value of a secret"
					}
					if len(rubrics) < 1<<16 {
						rubrics[r] = why
					}
				}
				f.unfit = cmp.Or(f.unfit, why)
			}
		}
	}
	return f, nil
}

// fit reports whether no text of an entry would be masked. Ids are texts, too.
func (m *maker) fit(e *charge.Entry) bool {
	texts := []string{string(e.Family), string(e.Trajectory), string(e.Channel), e.Sink, e.Decision, string(e.Outcome), e.Answer}
	for i := range e.Atoms {
		texts = append(texts, e.Atoms[i].Field, e.Atoms[i].Template)
	}
	for _, x := range e.Models {
		texts = append(texts, x.Name, x.Version)
	}
	return !slices.ContainsFunc(texts, func(s string) bool { return m.masked(s) != s })
}

// export writes the chosen families.
func (m *maker) export(ctx context.Context, c *chosen) ([]byte, error) {
	b, err := ledger.NewBook(ledger.Config{Store: &part{m.cfg.Ledger, c.heads}, Key: m.cfg.Key, Now: m.cfg.Now})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = b.Export(ctx, &out)
	return out.Bytes(), err
}

// CheckOf is how an export is verified, once: by a key and by the rubrics in
// it, and against a head that was kept, if there is one.
func CheckOf(export io.ReaderAt, key ed25519.PublicKey, head *ledger.Checkpoint) ledger.Check {
	return ledger.Check{Key: key, Head: head, Limits: terms.LimitsOf, Judge: recount.New(recount.Rubrics(ledger.RubricsOf(export))).Entry}
}

// ledgerOf derives what a report says of the ledger from an export. It is the
// same for everybody with the same export and key.
func ledgerOf(ctx context.Context, export []byte, key ed25519.PublicKey, head *ledger.Checkpoint) (*Ledger, *ledger.Report, error) {
	d := &derivation{out: &Ledger{Findings: []string{}, Families: []Family{}}}
	check := CheckOf(bytes.NewReader(export), key, nil)
	check.Entry = d.entry
	sound, err := ledger.Verify(ctx, bytes.NewReader(export), check)
	if err != nil {
		return nil, nil, err
	}
	d.end()
	d.judge(sound)
	if head != nil {
		sound, err = ledger.Verify(ctx, bytes.NewReader(export), CheckOf(bytes.NewReader(export), key, head))
	}
	return d.out, sound, err
}

// derivation takes in the entries of an export while they are verified.
type derivation struct {
	out    *Ledger
	listed int
	atoms  int
	family *Family
	state  *charge.State
	sinks  map[SinkBudget]*SinkBudget
	fields Fields
}

func (d *derivation) entry(n uint64, family flow.TrajectoryID, before, after *charge.State, e *charge.Entry) {
	if id := flow.TrajectoryID(strings.ToValidUTF8(string(family), "\uFFFD")); d.family == nil || d.family.ID != id {
		d.end()
		d.family = &Family{ID: id, Classes: []Class{}, Sinks: []SinkBudget{}, Listed: []Entry{}}
		d.sinks, d.fields = map[SinkBudget]*SinkBudget{}, Fields{}
	}
	f := d.family
	if d.state = after; after != nil {
		d.charge(before, e)
		f.Entries, f.Total, f.Budget = e.Seq, e.Total, e.Limits.B
	}
	if d.listed >= maxReleases || d.atoms+len(e.Atoms) > maxAtoms {
		d.out.Hidden++
		return
	}
	d.listed++
	d.atoms += len(e.Atoms)
	v := Entry{
		Number: e.Seq, Hash: e.Hash().String(), Trajectory: e.Trajectory, At: e.At, Channel: e.Channel, Sink: e.Sink, Class: e.Class.String(), Outcome: e.Outcome,
		Decision: e.Decision, Answer: e.Answer, Atoms: []Atom{}, Charge: e.Charge, Total: e.Total, Verified: after != nil, place: n,
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		v.Atoms = append(v.Atoms, Atom{a.Field, operator(a), a.Cost})
	}
	f.Listed = append(f.Listed, v)
}

// judge takes in what was found. From the first finding in a family on, none of
// its entries counts as verified.
func (d *derivation) judge(r *ledger.Report) {
	if r.Checkpoint != nil {
		d.out.Head = r.Checkpoint.String()
	}
	broken := map[flow.TrajectoryID]uint64{} // from which entry of the export on
	for i := range r.Findings {
		f := &r.Findings[i]
		d.out.Findings = append(d.out.Findings, strings.ToValidUTF8(f.String(), "\uFFFD"))
		if f.Entry > 0 && (broken[f.Family] == 0 || f.Entry < broken[f.Family]) {
			broken[f.Family] = f.Entry
		}
	}
	if r.More > 0 {
		d.out.Findings = append(d.out.Findings, fmt.Sprintf("and %d more", r.More))
	}
	for _, f := range d.out.Families {
		for i := range f.Listed {
			if at := broken[f.ID]; at > 0 && f.Listed[i].place >= at {
				f.Listed[i].Verified = false
			}
		}
	}
}

func operator(a *charge.Atom) string {
	switch a.Op {
	case charge.Generalize:
		return fmt.Sprintf("generalize(%d)", a.Level)
	case charge.Substitute:
		return "substitute(" + a.Template + ")"
	}
	return a.Op.String()
}

func (d *derivation) charge(before *charge.State, e *charge.Entry) {
	key := SinkBudget{Channel: e.Channel, Sink: e.Sink, Class: e.Class.String()}
	s := d.sinks[key]
	if s == nil {
		s = &SinkBudget{Channel: key.Channel, Sink: key.Sink, Class: key.Class}
		d.sinks[key] = s
	}
	s.Releases++
	s.Charge = s.Charge.Add(e.Charge)
	d.fields.Add(before, e)
}

// Fields adds up, by field, what the entries of one family disclosed.
type Fields map[string]*FieldSum

// FieldSum is the part of one field. A value that was released as several fields
// counts under the first that disclosed more of it.
type FieldSum struct {
	Values map[charge.Hash]bool
	Charge flow.Bits
	Learnt [charge.Classes]flow.Bits // by sinks of a class or worse
}

// Add adds an entry; before is the state of the family without it.
func (f Fields) Add(before *charge.State, e *charge.Entry) {
	seen := map[charge.Hash]bool{}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		sum := f[a.Field]
		if sum == nil {
			sum = &FieldSum{Values: map[charge.Hash]bool{}}
			f[a.Field] = sum
		}
		sum.Values[a.Value] = true
		if seen[a.Value] {
			continue
		}
		seen[a.Value] = true
		was := before.After(a.Value)
		sum.Charge = sum.Charge.Add(e.Limits.Weigh(a.After) - e.Limits.Weigh(was))
		for c := range was {
			sum.Learnt[c] += a.After[c] - was[c]
		}
	}
}

// Budgets returns the charges by field, the greatest first.
func (f Fields) Budgets() []FieldBudget {
	out := []FieldBudget{}
	for name, sum := range f {
		out = append(out, FieldBudget{name, len(sum.Values), sum.Charge})
	}
	slices.SortFunc(out, func(a, b FieldBudget) int {
		return cmp.Or(cmp.Compare(b.Charge, a.Charge), cmp.Compare(a.Field, b.Field))
	})
	return out
}

// end closes a family.
func (d *derivation) end() {
	f := d.family
	if f == nil {
		return
	}
	if s := d.state; s != nil {
		for c := flow.RequiredService; c <= flow.Adversarial; c++ {
			f.Classes = append(f.Classes, Class{c.String(), s.Caps[c], s.Limits.Cap[c]})
		}
	}
	for _, s := range d.sinks {
		f.Sinks = append(f.Sinks, *s)
	}
	slices.SortFunc(f.Sinks, func(a, b SinkBudget) int {
		return cmp.Or(cmp.Compare(b.Charge, a.Charge), cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Class, b.Class))
	})
	f.Fields = d.fields.Budgets()
	d.out.Families = append(d.out.Families, *f)
	d.family = nil
}
