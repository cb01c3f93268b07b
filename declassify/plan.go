package declassify

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/margaydev/margay/declassify/choice"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/declassify/rule"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Redacted replaces a redacted value.
const Redacted = "[REDACTED]"

var least = []rubric.Op{{Kind: rubric.Drop}, {Kind: rubric.Redact}}

// admissible finds the operators that the rubrics admit for every field that an
// atom may be of.
func (a *Piece) admissible(k *cutter) {
	a.nec = rubric.Unnecessary
	if a.Field == Unknown {
		a.ops = least
		return
	}
	a.nec = k.rules.Necessity(a.Field, k.class)
	untrusted := k.c.Parts[a.part].Untrusted
	of := k.rules.Operators(a.Field, k.class)
	a.ops = make([]rubric.Op, 0, len(of))
	for _, op := range of {
		switch {
		case op.Kind <= rubric.Redact: // always
		case op.Kind == rubric.Substitute && op.Template == rubric.Pseudonym && (k.c.Names == nil || untrusted && a.token == ""):
			continue // a pseudonym that is already there confirms no guess
		case a.named && op != choice.Pseudonym:
			continue
		case !k.all(a, op):
			continue
		}
		a.ops = append(a.ops, op)
	}
	if len(a.ops) < 2 || a.ops[0] != least[0] || a.ops[1] != least[1] {
		a.ops = least // the rules break their contract
	}
	first := a.fields[0]
	for _, f := range a.fields[1:] {
		if k.rules.Group(f) != k.rules.Group(first) {
			a.ambig = true
		}
	}
}

// all reports whether an operator is admissible for every field that an atom
// may be of.
func (k *cutter) all(a *Piece, op rubric.Op) bool {
	if op.Kind == rubric.Generalize && (!a.any || a.parsed) {
		// Only a cell of the field's own hierarchy is shown, in the rubrics'
		// words: nothing else of the text.
		return true
	}
	fields := a.fields
	if a.typed && !a.any {
		// The schema declares the field. Other matches only add cost, unless a
		// clause is as sure of another field.
		fields = a.strict
	}
	return !slices.ContainsFunc(fields, func(f string) bool { return f != a.Field && !slices.Contains(k.rules.Operators(f, k.class), op) })
}

// plan chooses for every piece the least-disclosing operator that is useful. It
// looks at fields, the sink and the rubrics, never at a value.
func (k *cutter) plan() {
	needs := choice.Needs(k.rules.Utility(k.class), k.c.Waived)
	typed := map[string]bool{} // fields that the tool's schema has an argument for
	for i := range k.c.Tool.Args {
		if a := &k.c.Tool.Args[i]; !a.Free {
			typed[a.Field] = true
		}
	}
	for i := range k.pieces {
		a := &k.pieces[i]
		a.admissible(k)
		level, need := needs[a.need()]
		if waived := slices.Contains(k.c.Waived, a.Field); a.typed && k.readings[a.part].Arg.Keep && !waived {
			level, need = 0, true
		}
		at := choice.Atom{Ops: a.ops, Necessity: a.nec, Typed: a.typed, Plain: a.plain, Lone: a.lone, Named: a.token != "", Known: a.need() != ""}
		if need && (a.typed || !typed[a.Field]) {
			at.Need = level + 1
		}
		at.Waived = slices.Contains(k.c.Waived, a.Field)
		a.op, a.floor, a.lost = at.Choose(k.c.Tool.Channel, k.class)
	}
}

// need is the field that the sink may need an atom for: of a typed argument that
// of the schema, even if the field is unknown.
func (a *Piece) need() string {
	if a.named && !a.typed {
		return "" // the text means the pseudonym itself
	}
	if a.typed && a.Field == Unknown {
		return a.schema
	}
	return a.Field
}

// propose takes a defender's operators where they disclose less than planned.
func (k *cutter) propose(proposals []evidence.Proposal) {
	for i := range k.pieces {
		a := &k.pieces[i]
		if a.label < 0 || a.label >= len(proposals) || a.Field == Unknown {
			continue
		}
		op, ok := proposals[a.label].Of()
		if j := slices.Index(a.ops, op); ok && j >= a.floor && j < a.op {
			a.op = j
		}
	}
}

// whole is the value of a piece: where the family has seen it in another spelling, as
// it was then.
func (a *Piece) whole() string { return cmp.Or(a.canon, a.text) }

// cost is the most that an operator on a piece discloses, over all fields that it
// may be of.
func (a *Piece) cost(rules Prices) flow.Bits {
	op := a.ops[a.op]
	most := rules.Cost(a.Field, op)
	if a.Field == Unknown {
		most = 0
	}
	// A value that holds others discloses all of them.
	apart := func(f string) bool { return rules.Root(f) != rules.Root(a.Field) }
	for _, f := range a.fields {
		if op.Kind == rubric.Generalize && (!a.any || a.parsed) {
			break // a cell of the field's own hierarchy
		}
		if op.Kind != rubric.Identity || !apart(f) || !slices.Contains(a.strict, f) {
			most = max(most, rules.Cost(f, op))
		}
	}
	var more flow.Bits
	for _, f := range a.strict {
		switch c := rules.Cost(f, op); {
		case op.Kind != rubric.Identity:
		case apart(f):
			more += c
		default:
			most = max(most, c)
		}
	}
	most += more
	if a.any && len(a.fields) == 0 && op.Kind >= rubric.Substitute {
		most = rules.TopRisk()
	}
	return min(most, charge.MaxAmount)
}

// apply applies the operator of an atom. An error says that the value is outside
// the field's population, or that a template can't be filled.
func (k *cutter) apply(a *Piece) (string, error) {
	switch op := a.ops[a.op]; op.Kind {
	case rubric.Drop:
		return "", nil
	case rubric.Substitute:
		if op != choice.Pseudonym {
			return k.rules.Fill(op.Template, k.c.Context)
		}
		if a.token != "" {
			return a.token, nil
		}
		return k.c.Names.Name(a.Field, a.whole()), nil
	case rubric.Generalize:
		return k.rules.Generalize(a.Field, op.Level, a.whole())
	case rubric.Identity:
		_, err := k.rules.Generalize(a.Field, 0, a.whole())
		return a.text, err
	default:
		return Redacted, nil
	}
}

// build replaces atoms by texts. It returns the atoms that have none.
func (k *cutter) build(text func(*Piece) (string, error)) (parts []Part, failed []*Piece) {
	parts = slices.Clone(k.c.Parts)
	var b strings.Builder
	for i := 0; i < len(k.pieces); {
		p := &parts[k.pieces[i].part]
		b.Reset()
		at := 0
		j := i
		for ; j < len(k.pieces) && k.pieces[j].part == k.pieces[i].part; j++ {
			a := &k.pieces[j]
			t, err := text(a)
			if err != nil {
				failed = append(failed, a)
				continue
			}
			b.WriteString(p.Text[at:a.start])
			b.WriteString(t)
			at = a.end
		}
		b.WriteString(p.Text[at:])
		p.Text = b.String()
		i = j
	}
	return parts, failed
}

// variant applies the operators. An atom whose value is outside its population
// loses the operators that show some of it. An atom whose template can't be
// filled loses that operator.
func (k *cutter) variant() []Part {
	for {
		parts, failed := k.build(k.apply)
		if len(failed) == 0 {
			return parts
		}
		for _, a := range failed {
			if op := a.ops[a.op]; op.Kind == rubric.Substitute {
				a.ops = slices.DeleteFunc(slices.Clone(a.ops), func(o rubric.Op) bool { return o == op })
			} else {
				a.ops = slices.DeleteFunc(slices.Clone(a.ops), func(o rubric.Op) bool { return o.Kind >= rubric.Generalize })
				a.why = rule.OutOfRange
			}
			a.lost = a.lost || a.floor > 0
			a.floor, a.op = 0, 1
		}
	}
}

// fingerprint is the keyed hash of the value of a piece, among those of its
// field's group.
func (v *Verification) fingerprint(rules Rules, a *Piece) charge.Hash {
	parts := []string{"margay value v1", "", Unknown, strings.ToLower(strings.Join(strings.Fields(a.text), " "))}
	if a.Field != Unknown {
		parts = []string{"margay value v1", rules.Group(a.Field), rules.Normal(a.Field, a.whole())}
	}
	h := hmac.New(sha256.New, v.cfg.Key[:])
	for _, s := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return charge.Hash(h.Sum(nil))
}
