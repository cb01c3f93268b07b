package source

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/mediator/disclose"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/lint"
	"github.com/margaydev/margay/rubric/signed"
)

// RubricPage lists rubrics for the console, and tries releases under them.
type RubricPage struct {
	cfg   *config.Declassify
	read  func() (*shelf, error)
	books *Books   // nil if nothing was ever released
	key   [32]byte // of values, as releases are charged
}

// shelf is what a page reads once: a process keeps the rubrics that were in force
// at its start.
type shelf struct {
	mediation.Rulebook
	signers  map[rubric.Hash]rubrics.Signer
	findings []lint.Finding
}

// Rubrics returns the page of a registry; nil without one. Books is nil if nothing
// was ever released; key is that of values, as releases are charged.
func Rubrics(c *config.Config, held *mediation.Rulebook, books *Books, key [32]byte) *RubricPage {
	if held == nil { // a registry that releases are not held to yet
		folder := rubrics.Of(c)
		if files, err := filepath.Glob(filepath.Join(folder.Dir(), "*"+signed.Ext)); err != nil || len(files) == 0 {
			return nil
		}
	}
	return &RubricPage{cfg: &c.Declassify, books: books, key: key, read: sync.OnceValues(func() (*shelf, error) {
		s := &shelf{}
		if held != nil {
			s.Rulebook = *held
		} else {
			s.Folder = rubrics.Of(c)
			var err error
			if s.Registry, s.Refused, err = s.Folder.Read(nil); err != nil {
				return nil, err
			}
		}
		var err error
		s.signers, err = s.Folder.Signers()
		s.findings = lint.All(rubrics.InForce(s.Registry), time.Now())
		return s, err
	})}
}

// shelf reads the registry. Its errors name files, and no more.
func (p *RubricPage) shelf() (*shelf, error) {
	s, err := p.read()
	if err != nil {
		return nil, &console.Problem{Status: http.StatusServiceUnavailable, Code: "registry", Detail: err.Error(), Hint: "margay rubric list says what is wrong with the registry"}
	}
	return s, nil
}

// Rubrics implements console.Rubrics.
func (p *RubricPage) Rubrics(context.Context) (*console.RubricList, error) {
	s, err := p.shelf()
	if err != nil {
		return nil, err
	}
	out := &console.RubricList{Mode: p.cfg.Mode, Defender: p.cfg.Defender, Rubrics: []console.RubricRow{}, Refused: []console.RefusedRubric{}, Findings: found(s.findings, ""), Targets: []console.RubricTarget{}, Actions: []string{}}
	for _, r := range s.Registry.All() {
		out.Rubrics = append(out.Rubrics, s.row(r))
		out.Actions = append(out.Actions, r.Signature().Actions...)
	}
	slices.Sort(out.Actions)
	out.Actions = slices.Compact(out.Actions)
	for _, r := range s.Refused {
		out.Refused = append(out.Refused, console.RefusedRubric{File: r.What, Rule: r.Rule, Detail: r.Err.Error()})
	}
	if p.cfg.Model.Class != "" {
		t := mediation.ModelSink(p.cfg, "")
		out.Targets = append(out.Targets, target("model", &t))
	}
	tools := mediation.Tools(p.cfg)
	for name := range p.cfg.Tools {
		if t, ok := tools(flow.ToolCall{Name: name}); ok {
			one := target("tool:"+name, &t)
			if one.Name = name; name == mediation.AnyTool {
				one.Name = "any other tool"
			}
			out.Targets = append(out.Targets, one)
		}
	}
	slices.SortFunc(out.Targets, func(a, b console.RubricTarget) int { return cmp.Compare(a.Target, b.Target) })
	return out, nil
}

func target(id string, t *schema.Tool) console.RubricTarget {
	out := console.RubricTarget{Target: id, Name: t.Name, Action: t.Action, Sink: t.Sink, Class: t.Class.Known().String(), Channel: string(t.Channel), Args: []string{}}
	for i := range t.Args {
		a := &t.Args[i]
		field := cmp.Or(a.Field, "plain")
		if a.Free {
			field = "text"
		}
		out.Args = append(out.Args, a.Path+" "+field)
	}
	return out
}

func found(all []lint.Finding, of string) []console.RubricFinding {
	out := []console.RubricFinding{}
	for i := range all {
		if f := &all[i]; of == "" || f.Rubric == of {
			out = append(out, console.RubricFinding{Rubric: f.Rubric, Code: f.Code, Detail: f.Detail})
		}
	}
	return out
}

func (s *shelf) row(r *rubric.Rubric) console.RubricRow {
	by := s.signers[r.Hash()]
	state := "in force"
	if _, err := s.Registry.Get(r.Hash()); err != nil {
		state = "expired"
	} else if !s.Registry.Active(r) {
		state = "superseded"
	}
	return console.RubricRow{
		Hash: r.Hash().String(), Name: r.Name(), Title: r.Title(), Revision: r.Revision(), Actions: append([]string{}, r.Signature().Actions...),
		Signer: by.Key, Own: by.Own, Expires: r.Expires(), State: state, Fields: len(rubric.Combine(r).Fields()), Budget: bits(r.Limits().B),
	}
}

var sinkClasses = [...]flow.Class{flow.RequiredService, flow.SemiTrusted, flow.Adversarial}

// Rubric implements console.Rubrics.
func (p *RubricPage) Rubric(_ context.Context, hash string) (*console.Rubric, error) {
	s, err := p.shelf()
	if err != nil {
		return nil, err
	}
	all := s.Registry.All()
	i := slices.IndexFunc(all, func(r *rubric.Rubric) bool { return r.Hash().String() == hash })
	if i < 0 {
		return nil, nil //nolint:nilnil // as console.Rubrics says
	}
	r := all[i]
	l, res := r.Limits(), rubric.Combine(r)
	out := &console.Rubric{RubricRow: s.row(r), For: signatureOf(r), Margin: bits(l.Margin), FieldList: []console.RubricField{}, Findings: []console.RubricFinding{}}
	if s.Registry.Active(r) {
		out.Findings = found(s.findings, r.Name())
	}
	for _, class := range sinkClasses {
		out.Classes = append(out.Classes, console.RubricClass{Class: class.String(), Cap: bits(l.Cap[class]), Weight: float64(l.Lambda[class]) / 1000})
	}
	for _, name := range res.Fields() {
		out.FieldList = append(out.FieldList, fieldOf(res, name))
	}
	return out, nil
}

// signatureOf says in words what a rubric is for.
func signatureOf(r *rubric.Rubric) []string {
	s := r.Signature()
	out := []string{}
	var channels []string
	for _, c := range s.Channels {
		channels = append(channels, string(c))
	}
	for _, x := range []struct {
		what string
		list []string
	}{{"category", s.Actions}, {"tool", s.Tools}, {"sink", s.Sinks}, {"channel", channels}, {"class", s.Classes}} {
		if len(x.list) > 0 {
			out = append(out, x.what+" "+strings.Join(x.list, " or "))
		}
	}
	if len(s.Fields) > 0 {
		out = append(out, "arguments of "+strings.Join(s.Fields, " and "))
	}
	return out
}

// fieldOf is a field with what each operator on it costs, those that disclose
// least first.
func fieldOf(res *rubric.Resolved, name string) console.RubricField {
	f := console.RubricField{Field: name, Group: res.Group(name), Operators: []console.RubricOperator{}}
	ops := []rubric.Op{{Kind: rubric.Drop}, {Kind: rubric.Redact}, {Kind: rubric.Identity}}
	for level := range res.LevelNames(name) {
		ops = append(ops, rubric.Op{Kind: rubric.Generalize, Level: level + 1})
	}
	var admitted [len(sinkClasses)][]rubric.Op
	for i, class := range sinkClasses {
		f.Needs = append(f.Needs, res.Necessity(name, class).String())
		must := ""
		for _, n := range res.Utility(class) {
			if n.Field == name {
				must = operatorName(res, name, rubric.Op{Kind: rubric.Generalize, Level: n.Level})
			}
		}
		f.Must = append(f.Must, must)
		admitted[i] = res.Operators(name, class)
		ops = append(ops, admitted[i]...)
	}
	slices.SortFunc(ops, rubric.Op.Compare)
	for _, op := range slices.Compact(ops) {
		o := console.RubricOperator{Operator: operatorName(res, name, op), Bits: bits(res.Cost(name, op))}
		for i := range sinkClasses {
			o.Admitted = append(o.Admitted, slices.Contains(admitted[i], op))
		}
		f.Operators = append(f.Operators, o)
	}
	return f
}

// operatorName is an operator as rubrics have it: a level or a template by its
// name.
func operatorName(res *rubric.Resolved, field string, op rubric.Op) string {
	switch {
	case op.Kind == rubric.Substitute:
		return op.Template
	case op.Kind != rubric.Generalize:
		return op.Kind.String()
	case op.Level == 0:
		return rubric.Identity.String()
	}
	if names := res.LevelNames(field); op.Level <= len(names) {
		return names[op.Level-1]
	}
	return "level " + strconv.Itoa(op.Level)
}

// wrong is a mistake in a trial.
func wrong(code, detail, hint string) error {
	return &console.Problem{Status: http.StatusBadRequest, Code: code, Detail: detail, Hint: hint}
}

// maxTrialArgs bounds the arguments of a trial.
const maxTrialArgs = 64

// toolOf returns the sink of a trial.
func (p *RubricPage) toolOf(t *console.Trial) (tool schema.Tool, err error) {
	if t.Target == "model" && p.cfg.Model.Class != "" {
		return mediation.ModelSink(p.cfg, ""), nil
	}
	if t.Target != "" {
		name, isTool := strings.CutPrefix(t.Target, "tool:")
		if tool, ok := mediation.Tools(p.cfg)(flow.ToolCall{Name: name}); ok && isTool {
			return tool, nil
		}
		return tool, wrong("target", "the configuration knows no such tool", "GET /api/rubrics lists targets; leave it empty and describe one")
	}
	class, ok := rubric.ParseClass(cmp.Or(t.Class, flow.Adversarial.String()))
	if !ok {
		return tool, wrong("class", "unknown class of sinks", "classes are required-service, semi-trusted and adversarial")
	}
	channel := flow.Channel(cmp.Or(t.Channel, string(flow.ChannelTool)))
	if !slices.Contains([]flow.Channel{flow.ChannelTool, flow.ChannelModel, flow.ChannelMemory, flow.ChannelAgent}, channel) {
		return tool, wrong("channel", "unknown channel", "channels are tool, model, memory and agent")
	}
	tool = schema.Tool{Name: "what-if", Action: t.Action, Sink: cmp.Or(t.Sink, "what-if"), Class: class, Channel: channel}
	for line := range strings.Lines(t.Args) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 || len(tool.Args) == maxTrialArgs {
			return tool, wrong("args", "a line of the arguments is not a path and a field, or there are more than "+strconv.Itoa(maxTrialArgs), "such as passengers.*.dob dob; text for free text, plain for what is not a secret")
		}
		tool.Args = append(tool.Args, mediation.Argument(words[0], words[1]))
	}
	return tool, nil
}

// trialLedger keeps nothing. A family is new, or in the state that the book has.
type trialLedger struct{ book *ledger.Book }

func (l trialLedger) Head(ctx context.Context, family flow.TrajectoryID) (*charge.State, error) {
	if l.book == nil {
		return charge.NewState(family), nil
	}
	return l.book.Head(ctx, family)
}

// another makes a release the next one of a family.
type another struct {
	disclose.Trier
	family flow.TrajectoryID
}

// Try implements disclose.Trier.
func (a another) Try(ctx context.Context, c declassify.Candidate) (declassify.Release, []declassify.Part, error) {
	c.Family = a.family
	return a.Trier.Try(ctx, c)
}

// spent returns the state of a trajectory in the ledger.
func (p *RubricPage) spent(ctx context.Context, of string) (*charge.State, error) {
	missing := &console.Problem{Status: http.StatusNotFound, Code: "trajectory", Detail: "the ledger holds no release of this trajectory", Hint: "leave it empty to try the first release of a new one; margay budget lists those that it holds"}
	id, err := flow.ParseTrajectoryID(of)
	if err != nil || p.books == nil {
		return nil, missing
	}
	s, err := p.books.book.Head(ctx, id)
	if err == nil && s.Seq == 0 {
		err = missing
	}
	return s, err
}

func (trialLedger) Commit(context.Context, *charge.Entry) (charge.Receipt, error) {
	return charge.Receipt{}, errors.New("nothing is charged for a trial")
}

// Try implements console.Rubrics. It makes a verifier for this release alone, so
// that nothing is kept.
func (p *RubricPage) Try(ctx context.Context, t *console.Trial) (*console.Tried, error) {
	s, err := p.shelf()
	if err != nil {
		return nil, err
	}
	tool, err := p.toolOf(t)
	if err != nil {
		return nil, err
	}
	res := rubric.Fallback()
	cfg := declassify.Config{Ledger: trialLedger{}, Challenges: p.cfg.Challenges, Resolve: func(q rubric.Query) (declassify.Rules, error) {
		got, err := s.Registry.Resolve(q)
		if err != nil {
			return nil, err
		}
		res = got
		return got, nil
	}}
	_, _ = rand.Read(cfg.Key[:])
	before := charge.NewState("")
	if t.Trajectory != "" {
		if before, err = p.spent(ctx, t.Trajectory); err != nil {
			return nil, err
		}
		// The key of the charges recognises values that were disclosed before.
		cfg.Ledger, cfg.History, cfg.Key = trialLedger{p.books.book}, p.books.store, p.key
	}
	if p.cfg.Defender != "none" {
		cfg.Defender = rules.Defender{}
	}
	if p.cfg.Mode != "off" {
		if cfg.Start, err = mediation.Start(p.cfg, s.Registry); err != nil {
			return nil, err
		}
	}
	v, err := declassify.New(cfg)
	if err != nil {
		return nil, err
	}
	var releases disclose.Trier = v
	if before.Family != "" {
		releases = another{v, before.Family}
	}
	got, err := disclose.Try(ctx, releases, tool, t.Payload)
	if errors.Is(err, disclose.ErrAmbiguous) {
		return nil, wrong("payload", "the payload can't be read: "+err.Error(), "such a call is refused; put a text that starts with a brace into a JSON string")
	}
	if err != nil {
		return nil, err
	}
	out := &console.Tried{
		Outcome: got.Release.Outcome, Rubrics: []string{}, Fallback: res.IsFallback(), Sink: tool.Sink, Class: tool.Class.Known().String(), Channel: string(tool.Channel),
		Variant: got.Variant, Atoms: []console.TriedAtom{}, Told: []console.TriedTold{}, Reasons: []console.TriedReason{}, Missing: append([]string{}, got.Release.Missing...), Budget: bits(res.Limits().B), Before: bits(before.Total),
	}
	for _, r := range res.Rubrics() {
		out.Rubrics = append(out.Rubrics, r.String())
	}
	for _, r := range got.Release.Reasons {
		out.Reasons = append(out.Reasons, console.TriedReason{Code: r.Code, Detail: r.Detail})
	}
	if e := got.Release.Entry; e != nil && got.Release.Outcome != flow.Deny {
		out.Charge, out.Budget = bits(e.Charge), bits(min(e.Limits.B, res.Limits().B))
		for _, class := range sinkClasses {
			out.Told = append(out.Told, console.TriedTold{Class: class.String(), Bits: bits(e.Caps[class]), Cap: bits(min(e.Limits.Cap[class], res.Limits().Cap[class]))})
		}
		for i := range got.Release.Atoms {
			out.Atoms = append(out.Atoms, atomOf(res, got, &got.Release.Atoms[i]))
		}
	}
	return out, nil
}

// maxAtomText bounds what is quoted of an atom, in bytes.
const maxAtomText = 200

func atomOf(res *rubric.Resolved, got *disclose.Trial, a *declassify.Atom) console.TriedAtom {
	part := &got.Asked[a.Part]
	text := part.Text[a.Start:a.End]
	if len(text) > maxAtomText {
		text = strings.ToValidUTF8(text[:maxAtomText], "") + "…"
	}
	path := part.Path
	if strings.Trim(path, "#") == "" && path != "" {
		path = "the name of an argument"
	}
	return console.TriedAtom{Path: path, Text: text, Field: a.Field, Need: a.Necessity.String(), Operator: operatorName(res, a.Field, a.Op), Bits: bits(a.Cost)}
}
