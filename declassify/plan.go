package declassify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/rubric"
)

// Redacted stands where a value was redacted.
const Redacted = "[REDACTED]"

// shows is the level at which an operator shows a value; more than any level
// where it shows nothing of it.
func shows(op rubric.Op) int {
	switch op.Kind {
	case rubric.Identity:
		return 0
	case rubric.Generalize:
		return op.Level
	default:
		return 1 << 30
	}
}

// plan chooses for every atom the least-disclosing operator that is useful. It
// looks at fields, the sink and the rubrics, never at a value.
func (k *cutter) plan() {
	needs := k.needs()
	typed := map[string]bool{} // fields that the tool's schema has an argument for
	for i := range k.c.Tool.Args {
		if a := &k.c.Tool.Args[i]; !a.Free {
			typed[a.Field] = true
		}
	}
	for i := range k.atoms {
		a := &k.atoms[i]
		level, need := needs[a.need()]
		a.choose(k.c.Tool.Channel, k.class, level, need && (a.typed || !typed[a.field]), slices.Contains(k.c.Waived, a.field))
	}
}

// needs are the fields that must reach the sink, and at which level.
func (k *cutter) needs() map[string]int {
	needs := map[string]int{}
	if k.skip(Utility) {
		return needs
	}
	for _, n := range k.rules.Utility(k.class) {
		if slices.Contains(k.c.Waived, n.Field) {
			continue
		}
		if l, ok := needs[n.Field]; !ok || n.Level < l {
			needs[n.Field] = n.Level
		}
	}
	return needs
}

// need is the field that the sink may need an atom for: of a typed argument,
// that of the schema, whatever else is said of it.
func (a *atom) need() string {
	if a.named && !a.typed {
		return "" // a name in a text is all that was meant
	}
	if a.typed && a.field == Unknown {
		return a.schema
	}
	return a.field
}

func (a *atom) choose(ch flow.Channel, class flow.Class, level int, need, waived bool) {
	at := func(f func(rubric.Op) bool) int { return slices.IndexFunc(a.ops, f) }
	redact, floor, op := 1, 0, -1
	enough := func(o rubric.Op) bool {
		// The model can go on with a name, which a later boundary turns back.
		return shows(o) <= level || ch == flow.ChannelModel && o == pseudonym
	}
	switch {
	case need:
		op = at(enough)
		floor = op
	case a.lone && class >= flow.SemiTrusted && ch != flow.ChannelModel:
		// A cell of a hierarchy among what is redacted serves nobody, and
		// would spend what a sink that asks by its schema may learn.
	case a.nec == rubric.Required && !waived && a.need() != "":
		op = at(func(o rubric.Op) bool {
			return o.Kind >= rubric.Generalize || ch == flow.ChannelModel && o == pseudonym
		})
		floor = op
	case a.nec == rubric.Useful && (a.typed || a.plain) && class == flow.RequiredService:
		// A service that the task can't do without asks for it by its schema,
		// and the rubric says that it is of use there: in the finest form
		// that is admitted and that fits.
		op = len(a.ops) - 1
	case a.nec == rubric.Useful && ch == flow.ChannelModel && at(isPseudonym) >= 0:
		// It plans with the name; a cell of the hierarchy would only spend what
		// sinks that ask for it may learn.
		op = at(isPseudonym)
	case a.nec == rubric.Useful:
		op = at(func(o rubric.Op) bool { return o.Kind == rubric.Generalize || o == pseudonym })
		if g := at(func(o rubric.Op) bool { return o.Kind == rubric.Generalize }); g >= 0 {
			op = g
		}
	case ch == flow.ChannelModel || a.token != "": // it can go on with a name
		op = at(isPseudonym)
	}
	if !a.typed { // what a text says besides is no argument, and the call is made without
		floor = 0
	}
	a.lost = floor < 0
	a.floor = max(floor, 0)
	if op < 0 {
		op = redact
	}
	a.op = op
}

func isPseudonym(o rubric.Op) bool { return o == pseudonym }

// propose takes a defender's operators where they disclose less than planned.
func (k *cutter) propose(proposals []Proposal) {
	for i := range k.atoms {
		a := &k.atoms[i]
		if a.label < 0 || a.label >= len(proposals) || a.field == Unknown {
			continue
		}
		op, ok := proposals[a.label].op()
		if j := slices.Index(a.ops, op); ok && j >= a.floor && j < a.op {
			a.op = j
		}
	}
}

// lower makes an atom disclose one step less, if it may.
func (a *atom) lower() bool {
	if a.op <= a.floor {
		return false
	}
	a.op--
	return true
}

// apply returns what an operator makes of an atom. An error says that its value
// is outside of the field's population.
func (k *cutter) apply(a *atom) (string, error) {
	switch op := a.ops[a.op]; op.Kind {
	case rubric.Drop:
		return "", nil
	case rubric.Substitute:
		if op != pseudonym {
			return k.rules.Fill(op.Template, k.c.Context)
		}
		if a.token != "" {
			return a.token, nil
		}
		return k.c.Names.Name(a.field, a.text), nil
	case rubric.Generalize:
		return k.rules.Generalize(a.field, op.Level, a.text)
	case rubric.Identity:
		_, err := k.rules.Generalize(a.field, 0, a.text)
		return a.text, err
	default:
		return Redacted, nil
	}
}

// build puts texts in the place of atoms. It reports those that have none.
func (k *cutter) build(text func(*atom) (string, error)) (parts []Part, failed []*atom) {
	parts = slices.Clone(k.c.Parts)
	var b strings.Builder
	for i := 0; i < len(k.atoms); {
		p := &parts[k.atoms[i].part]
		b.Reset()
		at := 0
		j := i
		for ; j < len(k.atoms) && k.atoms[j].part == k.atoms[i].part; j++ {
			a := &k.atoms[j]
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

// variant applies the operators. An atom whose value is outside of its
// population loses the operators that show some of it, and one whose template
// can't be filled loses that.
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
				a.why = OutOfRange
			}
			a.lost = a.lost || a.floor > 0
			a.floor, a.op = 0, 1
		}
	}
}

// prints makes keyed hashes under one key.
type prints struct{ key [32]byte }

func (p *prints) sum(domain string, parts ...string) (out ledger.Hash) {
	h := hmac.New(sha256.New, p.key[:])
	write(h, domain)
	for _, s := range parts {
		write(h, s)
	}
	h.Sum(out[:0])
	return out
}

func write(h hash.Hash, s string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}

// variant is the keyed hash of parts.
func (p *prints) variant(parts []Part) ledger.Hash {
	all := make([]string, 0, 2*len(parts))
	for i := range parts {
		all = append(all, parts[i].Path, parts[i].Text)
	}
	return p.sum("margay variant v1", all...)
}

func (p *prints) variantText(parts []Part) string {
	h := p.variant(parts)
	return hex.EncodeToString(h[:])
}

// normal is what Rules may have besides: a value's normal form.
type normal interface {
	Normal(field, value string) string
}

// value is the fingerprint of a value of a field's group.
func (p *prints) value(rules Rules, a *atom) ledger.Hash {
	if a.field == Unknown {
		return p.sum("margay value v1", "", Unknown, fold(a.text))
	}
	return p.sum("margay value v1", rules.Group(a.field), normalise(rules, a.field, a.text))
}

// normalise returns a value as it is the same however it is written: as the
// rules know, or else credentials as they are, numbers without what stands
// between their digits, and all else without regard to case and spaces.
func normalise(rules Rules, field, text string) string {
	if n, ok := rules.(normal); ok {
		return n.Normal(field, text)
	}
	switch field {
	case "password", "api-key", "private-key":
		return text
	case "phone", "payment-token", "national-id", "passport", "account-id":
		if s := strings.Map(alnum, text); s != "" {
			return s
		}
	}
	return fold(text)
}

func alnum(r rune) rune {
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return -1
	}
	return unicode.ToLower(r)
}

func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
