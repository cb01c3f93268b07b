package declassify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/rubric"
)

// Bounds of what is looked at.
const (
	MaxAtoms    = 4096     // of a release; the ledger takes no more
	MaxLabels   = 2048     // of an evidence
	MaxEvidence = 1 << 20  // bytes
	MaxText     = 16 << 20 // bytes of a candidate's texts together
	MaxParts    = 4096
	maxName     = 256 // bytes of a name in evidence
)

// Rule names what refused a release, a part of it, or a defender's evidence.
// It is a value of flow.Reason.Code and an error.
type Rule string

// Rules that refuse evidence. All of its labels are ignored then.
const (
	EvidenceSyntax    Rule = "evidence-syntax"    // it is no strict JSON
	EvidenceSchema    Rule = "evidence-schema"    // a member is missing, unknown or of another type
	EvidenceTooLarge  Rule = "evidence-too-large" // more bytes than MaxEvidence
	EvidenceAtoms     Rule = "evidence-too-many-atoms"
	EvidenceOffset    Rule = "evidence-offset"   // a span is outside of its text, empty, or cuts a character
	EvidenceOverlap   Rule = "evidence-overlap"  // two spans overlap
	EvidenceUTF8      Rule = "evidence-utf8"     // it is no valid UTF-8
	EvidenceContext   Rule = "evidence-context"  // it is of another release
	EvidencePrevious  Rule = "evidence-previous" // it is of another head of the chain
	EvidenceOperator  Rule = "evidence-operator" // an operator is of no atom, or can't be applied
	EvidenceVariant   Rule = "evidence-variant"  // its operators do not make its variant
	DefenderTimeout   Rule = "defender-timeout"
	DefenderFailed    Rule = "defender-failed"
	ChallengeRefused  Rule = "challenge-refused"  // the second pass gave no answers
	ChallengeConflict Rule = "challenge-conflict" // the second pass contradicts the first
)

// Rules that change or refuse a release.
const (
	Unlabelled     Rule = "unlabelled"       // an atom of unknown field was redacted
	Structural     Rule = "structural"       // typed arguments are atoms by their schema
	Coverage       Rule = "coverage"         // a predicate matches what is labelled none
	Mislabelled    Rule = "mislabelled"      // a typed argument is labelled as another field
	Undeclared     Rule = "undeclared"       // the rubrics do not have the field
	NecessityRule  Rule = "necessity"        // a label's necessity is not the rubric's
	Undisclosed    Rule = "unnecessary"      // what is unnecessary is shown as it is
	OperatorRule   Rule = "operator"         // an operator is not admissible
	Utility        Rule = "utility"          // a field that the sink needs does not survive
	OutOfRange     Rule = "out-of-range"     // a value is outside of its population
	Audit          Rule = "audit"            // the dependency graph tells more than is charged
	Budget         Rule = "budget"           // the charges do not fit
	NoRubric       Rule = "rubric"           // the rubrics of the release can't be relied on
	CandidateRule  Rule = "candidate"        // the candidate is too large or no valid UTF-8
	ValidatorError Rule = "validator-failed" // the validator can't say
	LedgerFailed   Rule = "ledger-failed"    // the entry could not be kept
	Busy           Rule = "head-moved"       // others kept committing first
)

// Error makes a Rule an error.
func (r Rule) Error() string { return string(r) }

func (r Rule) broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{r}, args...)...)
}

// ruleOf returns the rule that an error wraps.
func ruleOf(err error, otherwise Rule) Rule {
	var r Rule
	if errors.As(err, &r) {
		return r
	}
	return otherwise
}

// Defender is an adviser that looks at a candidate and hands over evidence. It
// must return soon after its context ends.
type Defender interface {
	Evidence(ctx context.Context, r *Request) ([]byte, error)
}

// Challenged is a defender that answers challenges, in a call that knows
// nothing of the first.
type Challenged interface {
	Answers(ctx context.Context, r *Request, c []Challenge) ([]byte, error)
}

// Request is what a defender is asked. It must not keep it.
type Request struct {
	Context Context
	Tool    *Tool
	Parts   []Part
	Rules   Rules
	// Plan says which operators the verifier would choose for labels, and the
	// hash of the variant that they make. Defenders may hand over these, or
	// others that disclose less.
	Plan func([]Label) ([]Proposal, string, error)
	// Variant is the hash of what operators make of the candidate.
	Variant func([]Label, []Proposal) (string, error)
}

// Context binds evidence to one release. The mediator fills it in.
type Context struct {
	Action  string   `json:"action"` // id of the decision
	Channel string   `json:"channel"`
	Sink    string   `json:"sink"`
	Class   string   `json:"class"`
	Rubrics []string `json:"rubrics"`
	Prev    string   `json:"prev"` // hash of the chain's head
}

// Label is what evidence says of one span.
type Label struct {
	Part       int    `json:"part"`
	Start      int    `json:"start"` // bytes
	End        int    `json:"end"`
	Role       string `json:"role"`       // argument, text
	Field      string `json:"field"`      // of the ontology, or none
	Relation   string `json:"relation"`   // explicit, inferential, none
	Necessity  string `json:"necessity"`  // required, useful, unnecessary
	Clause     string `json:"clause"`     // of the rubric; may be empty
	Provenance string `json:"provenance"` // user, tool, rubric, model
}

// Proposal is an operator for one of the labels.
type Proposal struct {
	Atom     int    `json:"atom"`
	Op       string `json:"op"`
	Level    int    `json:"level,omitempty"`
	Template string `json:"template,omitempty"`
}

// Op returns the operator.
func (p *Proposal) op() (rubric.Op, bool) {
	for k := rubric.Drop; k <= rubric.Identity; k++ {
		if k.String() != p.Op {
			continue
		}
		op := rubric.Op{Kind: k, Level: p.Level, Template: p.Template}
		ok := (k == rubric.Generalize) == (p.Level > 0) && p.Level <= 255 && (k == rubric.Substitute) == (p.Template != "")
		return op, ok
	}
	return rubric.Op{}, false
}

func proposal(atom int, op rubric.Op) Proposal {
	return Proposal{Atom: atom, Op: op.Kind.String(), Level: op.Level, Template: op.Template}
}

// Evidence is what a defender hands over.
type Evidence struct {
	Version   int        `json:"version"` // 1
	Context   Context    `json:"context"`
	Atoms     []Label    `json:"atoms"`
	Operators []Proposal `json:"operators"` // one for each atom
	Variant   string     `json:"variant"`   // as Request.Variant has it
}

// None is the field of a span that tells of no secret.
const None = "none"

// ParseEvidence reads evidence strictly: every member of the format once and
// no other. It never panics, and its errors wrap the rule that was broken.
func ParseEvidence(raw []byte) (*Evidence, error) {
	if len(raw) > MaxEvidence {
		return nil, EvidenceTooLarge.broken("%d bytes, at most %d", len(raw), MaxEvidence)
	}
	if !utf8.Valid(raw) {
		return nil, EvidenceUTF8.broken("it is no valid UTF-8")
	}
	var d strictjson.Doc
	if err := d.Parse(raw, strictjson.Limits{MaxBytes: MaxEvidence, MaxDepth: 8, MaxNodes: 1 << 17}); err != nil {
		return nil, EvidenceSyntax.broken("%w", err)
	}
	r := reader{d: &d}
	var ev Evidence
	r.object(0, map[string]func(int){
		"version": func(i int) { ev.Version = r.number(i) },
		"context": func(i int) { ev.Context = r.context(i) },
		"atoms": func(i int) {
			r.array(i, MaxLabels, EvidenceAtoms, func(i int) { ev.Atoms = append(ev.Atoms, r.label(i)) })
		},
		"operators": func(i int) {
			r.array(i, MaxLabels, EvidenceAtoms, func(i int) { ev.Operators = append(ev.Operators, r.proposal(i)) })
		},
		"variant": func(i int) { ev.Variant = r.text(i) },
	}, "version", "context", "atoms", "operators", "variant")
	if r.err != nil {
		return nil, r.err
	}
	if ev.Version != 1 {
		return nil, EvidenceSchema.broken("version %d is unknown; this is for version 1", ev.Version)
	}
	return &ev, nil
}

// reader reads members of known names and types. The first mistake sticks.
type reader struct {
	d   *strictjson.Doc
	err error
}

func (r *reader) fail(i int, what string) {
	if r.err == nil {
		r.err = EvidenceSchema.broken("byte %d: %s", r.d.Nodes[i].Start, what)
	}
}

func (r *reader) object(i int, members map[string]func(int), needed ...string) {
	if r.d.Nodes[i].Kind != strictjson.Object {
		r.fail(i, "an object is expected")
		return
	}
	seen := 0
	r.d.Children(i, func(c int) bool {
		f, ok := members[r.d.Key(c)]
		if !ok {
			r.fail(c, "a member that the format does not have")
			return false
		}
		if slices.Contains(needed, r.d.Key(c)) {
			seen++
		}
		f(c)
		return r.err == nil
	})
	if seen != len(needed) {
		r.fail(i, "a member is missing")
	}
}

func (r *reader) array(i, most int, rule Rule, f func(int)) {
	if r.d.Nodes[i].Kind != strictjson.Array {
		r.fail(i, "an array is expected")
		return
	}
	n := 0
	r.d.Children(i, func(c int) bool {
		if n++; n > most {
			if r.err == nil {
				r.err = rule.broken("more than %d", most)
			}
			return false
		}
		f(c)
		return r.err == nil
	})
}

func (r *reader) number(i int) int {
	n, ok := r.d.Int(i)
	if !ok {
		r.fail(i, "a whole number is expected")
	}
	return n
}

func (r *reader) text(i int) string {
	if r.d.Nodes[i].Kind != strictjson.String {
		r.fail(i, "a string is expected")
		return ""
	}
	s := r.d.Text(i)
	if len(s) > maxName {
		r.fail(i, "a name is too long")
	}
	return s
}

func (r *reader) oneOf(i int, names ...string) string {
	s := r.text(i)
	if r.err == nil && !slices.Contains(names, s) {
		r.fail(i, "none of the names that may stand here")
	}
	return s
}

func (r *reader) context(i int) (c Context) {
	r.object(i, map[string]func(int){
		"action":  func(i int) { c.Action = r.text(i) },
		"channel": func(i int) { c.Channel = r.text(i) },
		"sink":    func(i int) { c.Sink = r.text(i) },
		"class":   func(i int) { c.Class = r.text(i) },
		"prev":    func(i int) { c.Prev = r.text(i) },
		"rubrics": func(i int) {
			r.array(i, 64, EvidenceSchema, func(i int) { c.Rubrics = append(c.Rubrics, r.text(i)) })
		},
	}, "action", "channel", "sink", "class", "rubrics", "prev")
	return c
}

func (r *reader) label(i int) (l Label) {
	r.object(i, map[string]func(int){
		"part":       func(i int) { l.Part = r.number(i) },
		"start":      func(i int) { l.Start = r.number(i) },
		"end":        func(i int) { l.End = r.number(i) },
		"role":       func(i int) { l.Role = r.oneOf(i, "argument", "text") },
		"field":      func(i int) { l.Field = r.text(i) },
		"relation":   func(i int) { l.Relation = r.oneOf(i, "explicit", "inferential", "none") },
		"necessity":  func(i int) { l.Necessity = r.oneOf(i, "required", "useful", "unnecessary") },
		"clause":     func(i int) { l.Clause = r.text(i) },
		"provenance": func(i int) { l.Provenance = r.oneOf(i, "user", "tool", "rubric", "model") },
	}, "part", "start", "end", "role", "field", "relation", "necessity", "clause", "provenance")
	return l
}

func (r *reader) proposal(i int) (p Proposal) {
	r.object(i, map[string]func(int){
		"atom":     func(i int) { p.Atom = r.number(i) },
		"op":       func(i int) { p.Op = r.oneOf(i, "drop", "redact", "substitute", "generalize", "identity") },
		"level":    func(i int) { p.Level = r.number(i) },
		"template": func(i int) { p.Template = r.text(i) },
	}, "atom", "op")
	return p
}

// check holds labels and proposals to a candidate, and sorts both by place.
func check(parts []Part, labels []Label, proposals []Proposal) error {
	for i := range labels {
		l := &labels[i]
		if l.Part < 0 || l.Part >= len(parts) {
			return EvidenceOffset.broken("atom %d is of part %d, of %d", i, l.Part, len(parts))
		}
		text := parts[l.Part].Text
		if l.Start < 0 || l.Start >= l.End || l.End > len(text) || !boundary(text, l.Start) || !boundary(text, l.End) {
			return EvidenceOffset.broken("atom %d is no span of its text", i)
		}
	}
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &labels[i], &labels[j]
		if a.Part != b.Part {
			return a.Part - b.Part
		}
		return a.Start - b.Start
	})
	for k := 1; k < len(order); k++ {
		a, b := &labels[order[k-1]], &labels[order[k]]
		if a.Part == b.Part && b.Start < a.End {
			return EvidenceOverlap.broken("atoms %d and %d overlap", order[k-1], order[k])
		}
	}
	if len(proposals) != len(labels) {
		return EvidenceOperator.broken("%d operators for %d atoms", len(proposals), len(labels))
	}
	seen := make([]bool, len(labels))
	for i := range proposals {
		p := &proposals[i]
		if _, ok := p.op(); !ok || p.Atom < 0 || p.Atom >= len(labels) || seen[p.Atom] {
			return EvidenceOperator.broken("operator %d is none, or of no atom of its own", i)
		}
		seen[p.Atom] = true
	}
	sorted, ops := make([]Label, len(labels)), make([]Proposal, len(labels))
	for _, p := range proposals {
		ops[p.Atom] = p
	}
	at := make([]Proposal, len(labels))
	for k, i := range order {
		sorted[k], at[k] = labels[i], ops[i]
		at[k].Atom = k
	}
	copy(labels, sorted)
	copy(proposals, at)
	return nil
}

func boundary(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// bind holds evidence to the release that it is for.
func (ev *Evidence) bind(c *Context) error {
	e := &ev.Context
	switch {
	case e.Prev != c.Prev:
		return EvidencePrevious.broken("it does not follow the head of this chain")
	case e.Action != c.Action, e.Channel != c.Channel, e.Sink != c.Sink, e.Class != c.Class, !slices.Equal(e.Rubrics, c.Rubrics):
		return EvidenceContext.broken("it is of another release")
	}
	return nil
}

// Marshal writes evidence as ParseEvidence reads it.
func (ev *Evidence) Marshal() ([]byte, error) {
	c := *ev
	c.Version = 1
	if c.Atoms == nil {
		c.Atoms = []Label{}
	}
	if c.Operators == nil {
		c.Operators = []Proposal{}
	}
	if c.Context.Rubrics == nil {
		c.Context.Rubrics = []string{}
	}
	return json.Marshal(&c)
}

// necessityOf reads a label's necessity.
func necessityOf(s string) (rubric.Necessity, bool) {
	for n := rubric.Unnecessary; n <= rubric.Required; n++ {
		if n.String() == s {
			return n, true
		}
	}
	return rubric.Unnecessary, false
}

func contextOf(c *Candidate, hashes []rubric.Hash, prev string) Context {
	out := Context{
		Action: c.Decision, Channel: string(c.Tool.Channel), Sink: c.Tool.Sink,
		Class: c.Tool.Class.Known().String(), Rubrics: make([]string, len(hashes)), Prev: prev,
	}
	for i, h := range hashes {
		out.Rubrics[i] = h.String()
	}
	return out
}
