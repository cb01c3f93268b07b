package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
)

// part is a ledger of which only some families are seen, as they were at one
// point in time.
type part struct {
	ledger.Store
	heads []ledger.Head
}

// Heads implements ledger.Store.
func (p *part) Heads(context.Context) iter.Seq2[ledger.Head, error] {
	return func(yield func(ledger.Head, error) bool) {
		for _, h := range p.heads {
			if !yield(h, nil) {
				return
			}
		}
	}
}

// chosen is what a walk over the ledger has found.
type chosen struct {
	heads   []ledger.Head
	whole   bool
	left    []string
	touched []flow.TrajectoryID // that entries of these families name
	bytes   int
}

// choose picks the families that a report is about: those that wants accepts
// an entry of.
func (m *maker) choose(ctx context.Context, wants func(*ledger.Entry) bool) (*chosen, error) {
	out := &chosen{whole: true}
	rubrics := map[ledger.Hash]bool{} // sound to show
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
	unread  bool   // whose it is can't be told
	touched []flow.TrajectoryID
}

// weigh reads a family once.
func (m *maker) weigh(ctx context.Context, h *ledger.Head, rubrics map[ledger.Hash]bool, wants func(*ledger.Entry) bool) (*weighed, error) {
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
			e, err := ledger.Decode(got[i].Bytes)
			if err != nil {
				// Whose it is can't be told, so that it may be one of these.
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
				if _, ok := rubrics[r]; ok {
					f.unfit = cmp.Or(f.unfit, unfitRubric(rubrics[r]))
					continue
				}
				b, err := m.cfg.Ledger.Rubric(ctx, r)
				if err == nil {
					f.bytes += len(b) + 5
				}
				if len(rubrics) < 1<<16 {
					rubrics[r] = m.cfg.Known(string(b)) == string(b)
				}
				f.unfit = cmp.Or(f.unfit, unfitRubric(rubrics[r]))
			}
		}
	}
	return f, nil
}

func unfitRubric(fit bool) string {
	if fit {
		return ""
	}
	return "a rubric has the value of a secret"
}

// fit reports whether no text of an entry would be masked. Ids are texts, too.
func (m *maker) fit(e *ledger.Entry) bool {
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

// Kinds of an export's records that the derivation reads.
const (
	exportBegin = 5 + ed25519.PublicKeySize
	recFamily   = 1
	recEntry    = 2
)

// ledgerOf derives what a report says of the ledger from an export. It is the
// same for the same export and key, whoever does it.
func ledgerOf(ctx context.Context, export []byte, key ed25519.PublicKey, head *ledger.Checkpoint) (*Ledger, *ledger.Report, error) {
	sound, err := ledger.Verify(ctx, bytes.NewReader(export), ledger.Check{Key: key, Limits: declassify.LimitsOf})
	if err != nil {
		return nil, nil, err
	}
	out := &Ledger{Findings: []string{}, Families: []Family{}}
	if sound.Checkpoint != nil {
		out.Head = sound.Checkpoint.String()
	}
	broken := map[flow.TrajectoryID]uint64{} // from which entry of the export on
	for i := range sound.Findings {
		f := &sound.Findings[i]
		out.Findings = append(out.Findings, strings.ToValidUTF8(f.String(), "\uFFFD"))
		if f.Entry > 0 && (broken[f.Family] == 0 || f.Entry < broken[f.Family]) {
			broken[f.Family] = f.Entry
		}
	}
	if sound.More > 0 {
		out.Findings = append(out.Findings, fmt.Sprintf("and %d more", sound.More))
	}
	d := &derivation{out: out, broken: broken, read: sound.Entries}
	d.all(export)
	if head != nil {
		sound, err = ledger.Verify(ctx, bytes.NewReader(export), ledger.Check{Key: key, Head: head, Limits: declassify.LimitsOf})
	}
	return out, sound, err
}

// derivation reads the entries of an export that has been verified.
type derivation struct {
	out    *Ledger
	broken map[flow.TrajectoryID]uint64
	read   uint64 // entries that were verified
	n      uint64 // entries so far
	listed int
	atoms  int
	family *Family
	state  *ledger.State
	sinks  map[SinkBudget]*SinkBudget
	fields map[string]*field
}

type field struct {
	values map[ledger.Hash]bool
	charge flow.Bits
}

func (d *derivation) all(b []byte) {
	for b = b[min(len(b), exportBegin):]; len(b) >= 5; {
		kind, n := b[0], uint64(binary.BigEndian.Uint32(b[1:5]))
		if b = b[5:]; n > uint64(len(b)) {
			break
		}
		switch {
		case kind == recFamily:
			d.end()
			d.begin(b[:n])
		case kind == recEntry && d.family != nil:
			d.entry(b[min(8, n):n])
		}
		b = b[n:]
	}
	d.end()
}

func (d *derivation) begin(b []byte) {
	if len(b) < 2 || int(binary.BigEndian.Uint16(b))+2 > len(b) {
		return
	}
	id := flow.TrajectoryID(strings.ToValidUTF8(string(b[2:2+binary.BigEndian.Uint16(b)]), "\uFFFD"))
	d.family = &Family{ID: id, Classes: []Class{}, Sinks: []SinkBudget{}, Fields: []FieldBudget{}, Listed: []Entry{}}
	d.state, d.sinks, d.fields = ledger.NewState(id), map[SinkBudget]*SinkBudget{}, map[string]*field{}
}

func (d *derivation) entry(b []byte) {
	d.n++
	e, err := ledger.Decode(b)
	if err != nil {
		d.state = nil
		return
	}
	f := d.family
	if d.state != nil {
		before := d.state.Clone()
		if d.state.Apply(e) != nil {
			d.state = nil
		} else {
			d.charge(before, e)
			f.Entries, f.Total, f.Budget = e.Seq, e.Total, e.Limits.B
		}
	}
	if d.listed >= maxReleases || d.atoms+len(e.Atoms) > maxAtoms {
		d.out.Hidden++
		return
	}
	d.listed++
	d.atoms += len(e.Atoms)
	v := Entry{
		Number: e.Seq, Hash: e.Hash().String(), Trajectory: e.Trajectory, At: e.At, Channel: e.Channel, Sink: e.Sink, Class: e.Class.String(), Outcome: e.Outcome,
		Decision: e.Decision, Answer: e.Answer, Atoms: []Atom{}, Charge: e.Charge, Total: e.Total,
		Verified: d.state != nil && d.n <= d.read && (d.broken[f.ID] == 0 || d.n < d.broken[f.ID]),
	}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		v.Atoms = append(v.Atoms, Atom{a.Field, operator(a), a.Cost})
	}
	f.Listed = append(f.Listed, v)
}

func operator(a *ledger.Atom) string {
	switch a.Op {
	case ledger.Generalize:
		return fmt.Sprintf("generalize(%d)", a.Level)
	case ledger.Substitute:
		return "substitute(" + a.Template + ")"
	}
	return a.Op.String()
}

func (d *derivation) charge(before *ledger.State, e *ledger.Entry) {
	key := SinkBudget{Channel: e.Channel, Sink: e.Sink, Class: e.Class.String()}
	s := d.sinks[key]
	if s == nil {
		s = &SinkBudget{Channel: key.Channel, Sink: key.Sink, Class: key.Class}
		d.sinks[key] = s
	}
	s.Releases++
	s.Charge = s.Charge.Add(e.Charge)
	seen := map[ledger.Hash]bool{}
	for i := range e.Atoms {
		a := &e.Atoms[i]
		f := d.fields[a.Field]
		if f == nil {
			f = &field{values: map[ledger.Hash]bool{}}
			d.fields[a.Field] = f
		}
		f.values[a.Value] = true
		if !seen[a.Value] {
			seen[a.Value] = true
			f.charge = f.charge.Add(e.Limits.Weigh(a.After) - e.Limits.Weigh(before.After(a.Value)))
		}
	}
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
	for name, p := range d.fields {
		f.Fields = append(f.Fields, FieldBudget{name, len(p.values), p.charge})
	}
	slices.SortFunc(f.Fields, func(a, b FieldBudget) int {
		return cmp.Or(cmp.Compare(b.Charge, a.Charge), cmp.Compare(a.Field, b.Field))
	})
	d.out.Families = append(d.out.Families, *f)
	d.family = nil
}
