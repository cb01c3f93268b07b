package calibrate

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/adversary"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/rubric"
)

// Resolve finds the rules of a release.
type Resolve func(q rubric.Query) (*rubric.Resolved, error)

func fieldIndex(f world.Field) int { return slices.Index(world.Fields, f) }

// ties are the fields that rubrics declare to depend on each other, by
// components.
type ties map[world.Field]world.Field

func (t ties) root(f world.Field) world.Field {
	for t[f] != "" {
		f = t[f]
	}
	return f
}

func (t ties) tied(a, b world.Field) bool { return t.root(a) == t.root(b) }

func (t ties) add(r *rubric.Resolved) {
	join := func(a, b world.Field) {
		if a, b = t.root(a), t.root(b); a != b {
			t[a] = b
		}
	}
	for _, f := range r.Graph().Factors {
		for _, v := range f.Vars[1:] {
			join(world.Field(f.Vars[0]), world.Field(v))
		}
	}
	for _, f := range r.Fields() {
		join(world.Field(f), world.Field(r.Group(f)))
	}
}

// halves are the tasks of a seed: those to calibrate on, and those to report on.
// Within each half all categories are drawn alike.
func halves(s *world.Setting, seed uint64, n int) (calibration, held []*world.Task) {
	all := s.Generate(seed, 2*n).Tasks
	return all[:n], all[n:]
}

// identity is who a task's person is.
func identity(t *world.Task) string {
	x := t.Person
	return strings.Join([]string{x.NID, x.Passport, x.Card, x.Account, x.Phone}, " ")
}

// Atom is one argument of a sequence: what was shown up to it, with one operator
// on one of its fields.
type Atom struct {
	Field    world.Field
	Op       rubric.Op
	Level    string // its name; empty for none
	Seen     *adversary.Seen
	Around   *adversary.Seen // the same where the value is dropped
	Fresh    bool            // nothing of the value was shown before
	Paid     float64         // what was charged for the field with it, in bits
	Cost     float64         // what the operator costs where nothing was shown before
	Margin   float64         // of the rubric, in bits
	Category string
}

// Key is the cell of an atom.
func (a *Atom) Key() Key { return Key{a.Field, a.Op.Kind.String(), a.Level} }

// Key names a cell.
type Key struct {
	Field     world.Field
	Op, Level string
}

func (k Key) String() string {
	s := fmt.Sprintf("field=%s,operator=%s", k.Field, k.Op)
	if k.Level != "" {
		s += ",level=" + k.Level
	}
	return s
}

// Sequence is one task's arguments, shown one after another.
type Sequence struct {
	Task  *world.Task
	Atoms []Atom
}

// sampler draws sequences.
type sampler struct {
	resolve Resolve
	charge  func(k Key, bits float64) float64 // of a cell's certified cost; nil: the rubric's
	outside int                               // mentions that no operator but redact and drop can take
}

func bits(b flow.Bits) float64 { return float64(b) / float64(flow.Bit) }

// most bounds the atoms of a sequence.
const most = 10

// sample draws a sequence of a task: an atom for each argument that has
// mentions, at any sink.
func (s *sampler) sample(seed uint64, t *world.Task) (Sequence, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "calibrate %d %s", seed, t.ID))
	d := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))) //nolint:gosec // a draw of a benchmark, from its seed
	out := Sequence{Task: t}
	seen := &adversary.Seen{}
	paid := map[world.Field]float64{}
	shown := map[world.Field]bool{}
	for i := range t.Steps {
		step := &t.Steps[i]
		rules, err := s.resolve(query(step))
		if err != nil {
			return out, err
		}
		for k := range step.Parts {
			part := &step.Parts[k]
			if len(part.Mentions) == 0 || len(out.Atoms) >= most {
				continue
			}
			m := &part.Mentions[d.IntN(len(part.Mentions))]
			op, level, text, ok := s.draw(d, rules, m, part.Text[m.Start:m.End])
			if !ok {
				continue
			}
			show := func(text string) *adversary.Seen {
				next := &adversary.Seen{}
				next.Join(seen)
				next.Add(part, variant(part, m, text))
				return next
			}
			around := show("")
			seen = show(text)
			a := Atom{Field: m.Field, Op: op, Level: level, Seen: seen, Around: around, Fresh: !shown[m.Field], Margin: bits(rules.Limits().Margin), Category: t.Category}
			a.Cost = bits(rules.Cost(string(m.Field), op))
			if s.charge != nil {
				a.Cost = s.charge(a.Key(), a.Cost)
			}
			paid[m.Field] = max(paid[m.Field], a.Cost)
			a.Paid = paid[m.Field]
			if op.Kind > rubric.Substitute {
				shown[m.Field] = true
			}
			out.Atoms = append(out.Atoms, a)
		}
	}
	return out, nil
}

func query(s *world.Step) rubric.Query {
	q := rubric.Query{Action: s.Action, Tool: s.Tool, Sink: s.Sink.Name, Channel: s.Sink.Channel, Class: s.Sink.Class.Known()}
	for i := range s.Parts {
		if f := s.Parts[i].Field; f != "" {
			q.Fields = append(q.Fields, string(f))
		}
	}
	return q
}

// draw draws a kind of operator, each as probable, and a level where there are
// several. The operators are those of the field, whether or not this sink may
// have them.
func (s *sampler) draw(d *rand.Rand, rules *rubric.Resolved, m *world.Mention, value string) (op rubric.Op, level, text string, ok bool) {
	f := string(m.Field)
	kinds := []rubric.OpKind{rubric.Drop, rubric.Redact}
	levels := rules.LevelNames(f)
	if slices.Contains(rules.Fields(), f) {
		kinds = append(kinds, rubric.Substitute)
		if _, err := rules.Generalize(f, 0, value); err == nil {
			kinds = append(kinds, rubric.Identity)
			if len(levels) > 0 {
				kinds = append(kinds, rubric.Generalize)
			}
		} else {
			s.outside++
		}
	}
	op.Kind = kinds[d.IntN(len(kinds))]
	switch op.Kind {
	case rubric.Drop:
		return op, "", "", true
	case rubric.Redact:
		return op, "", defence.Redaction, true
	case rubric.Substitute:
		op.Template = rubric.Pseudonym
		return op, "", fmt.Sprintf("margay-%s-%012x", f, d.Uint64()>>16), true
	case rubric.Identity:
		return op, "", value, true
	default:
		op.Level = 1 + d.IntN(len(levels))
		text, err := rules.Generalize(f, op.Level, value)
		return op, levels[op.Level-1], text, err == nil
	}
}

// variant is an argument with a text instead of one mention, and all others
// redacted.
func variant(p *world.Part, m *world.Mention, text string) string {
	var b strings.Builder
	at := 0
	for i := range p.Mentions {
		one := &p.Mentions[i]
		if one.Start < at {
			continue
		}
		b.WriteString(p.Text[at:one.Start])
		if one == m {
			b.WriteString(text)
		} else {
			b.WriteString(defence.Redaction)
		}
		at = one.End
	}
	b.WriteString(p.Text[at:])
	return b.String()
}
