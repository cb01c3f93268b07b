package serve

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/declassify/smt/z3"
	"github.com/margaydev/margay/defend/llm"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/internal/rubrics"
	"github.com/margaydev/margay/internal/state"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

const declassifyHint = "see declassify in margay config example, and margay rubric list"

// declassifyOf is how releases are held to rubrics; nil where they are not.
// Errors are of type *problem.Error.
func declassifyOf(ctx context.Context, c *config.Config, st *state.State, log *slog.Logger, asked func(*confirm.Question)) (*mediator.Declassify, error) {
	held, err := rulebookOf(c, log)
	if err != nil || held == nil {
		return nil, err
	}
	return held.declassify(ctx, c, st, asked)
}

// rulebook is the registry that releases are held to.
type rulebook struct {
	folder  rubrics.Folder
	reg     *rubric.Registry
	refused []*rubric.Refusal
}

func folderOf(c *config.Config) rubrics.Folder {
	if c.Declassify.Rubrics != "" {
		return rubrics.At(c.Declassify.Rubrics, c.Keys())
	}
	return rubrics.In(c.State(), c.Keys())
}

// rulebookOf opens the registry; nil where releases are held to none. Errors
// are of type *problem.Error.
func rulebookOf(c *config.Config, log *slog.Logger) (*rulebook, error) {
	if c.Declassify.Mode == "off" {
		return nil, nil //nolint:nilnil // no rubrics are not an error
	}
	folder := folderOf(c)
	reg, refused, err := folder.Open(nil)
	if err != nil {
		return nil, problem.Usage(declassifyHint, "declassify.rubrics: %w", err)
	}
	for _, r := range refused {
		log.Warn("a rubric is refused", "error", r)
	}
	if len(reg.All()) == 0 {
		log.Warn("there is no rubric: of releases that are looked at, all that is secret is redacted", "folder", folder.Dir())
	}
	return &rulebook{folder, reg, refused}, nil
}

// declassify is how releases are held to a registry.
func (rb *rulebook) declassify(ctx context.Context, c *config.Config, st *state.State, asked func(*confirm.Question)) (*mediator.Declassify, error) {
	cfg, reg := &c.Declassify, rb.reg
	book, history, err := bookOf(ctx, c, st)
	if err != nil {
		return nil, err
	}
	kept := [][]byte{declassify.FallbackRubric()}
	for _, r := range reg.All() {
		kept = append(kept, r.Canonical())
	}
	for _, b := range kept {
		if _, err := book.KeepRubric(ctx, b); err != nil {
			return nil, problem.Failure(problem.Doctor, "%w", err)
		}
	}
	vc := declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
		Ledger:  book, History: history, Key: valueKey(&st.Keys), Challenges: cfg.Challenges, Ask: cfg.Ask != "",
	}
	if cfg.Defender == "rules" {
		vc.Defender, vc.Models = rules.Defender{}, []ledger.Model{{Name: "rules", Version: rules.Version}}
	}
	if cfg.Defender == "llm" {
		d, err := llm.New(llm.Config{BaseURL: cfg.LLM.URL, Model: cfg.LLM.Model, Key: cfg.LLM.Key, Remote: cfg.LLM.Remote, Timeout: cfg.LLM.Patience()})
		if err != nil {
			return nil, problem.Usage(declassifyHint, "declassify.llm: %w", err)
		}
		vc.Defender, vc.Deadline = d, cfg.LLM.Patience()
		vc.Models = []ledger.Model{{Name: "llm", Version: cfg.LLM.Model[:min(len(cfg.LLM.Model), ledger.MaxName)]}, {Name: "rules", Version: rules.Version}}
	}
	if vc.Start, err = startOf(cfg, reg); err != nil {
		return nil, err
	}
	if vc.Validator, err = validatorOf(ctx, cfg); err != nil {
		return nil, err
	}
	v, err := declassify.New(vc)
	if err != nil {
		return nil, problem.Failure(problem.Doctor, "%w", err)
	}
	d := &mediator.Declassify{Verifier: v, Report: cfg.Mode == "report" || c.Observe, Tool: toolsOf(cfg), Memories: memoriesOf(cfg), Kept: st.Store}
	if vc.Ask {
		d.Desk = confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Limit: cfg.Asking(), Asked: asked})
	}
	d.Trusted = func(tool string) bool { return cfg.Tools[tool].Trusted }
	if cfg.Model.Class != "" {
		d.Model = func(sink flow.Sink) (declassify.Tool, bool) { return modelOf(cfg, sink.Name), true }
	}
	return d, nil
}

// modelOf is the model endpoint as a sink.
func modelOf(cfg *config.Declassify, sink string) declassify.Tool {
	return declassify.Tool{
		Name: "model", Action: cfg.Model.Action, Sink: cmp.Or(cfg.Model.Sink, sink, "model"), Class: classOf(cfg.Model.Class), Channel: flow.ChannelModel,
		// What is no text of the conversation, such as the names of models and
		// tools, passes unless a clause matches in it.
		Args: []declassify.Arg{{Path: flow.FieldOther.String()}, {Path: flow.FieldToolName.String()}, {Path: "*", Free: true}},
	}
}

// bookOf is the ledger. Where releases are only reported it is one that
// nobody keeps.
func bookOf(ctx context.Context, c *config.Config, st *state.State) (*ledger.Book, ledger.Store, error) {
	if c.Declassify.Mode != "report" && !c.Observe {
		b, err := st.Book(ctx, c)
		return b, st.Store, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, problem.Failure(problem.Doctor, "%w", err)
	}
	store := memory.New()
	b, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	return b, store, err
}

// valueKey keys the fingerprints of values in the ledger, and nothing else.
func valueKey(k *secret.Keys) (key [32]byte) {
	h := hmac.New(sha256.New, k.Fingerprint[:])
	h.Write([]byte("margay declassify values v1"))
	h.Sum(key[:0])
	return key
}

// startOf fixes the budgets of trajectories by the rubric of their task.
func startOf(cfg *config.Declassify, reg *rubric.Registry) (func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error), error) {
	if cfg.Task == "" {
		return nil, nil //nolint:nilnil // the first release's
	}
	var of *rubric.Rubric
	for _, r := range reg.All() {
		if r.Name() == cfg.Task && reg.Active(r) {
			of = r
		}
	}
	if of == nil {
		return nil, problem.Usage(declassifyHint, "declassify.task: there is no rubric %q", cfg.Task)
	}
	return func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
		return of.Limits(), of.Hash(), nil
	}, nil
}

func validatorOf(ctx context.Context, cfg *config.Declassify) (smt.Validator, error) {
	native := &smt.Native{}
	if cfg.Validator == "native" {
		return native, nil
	}
	pool, err := z3.Open(ctx, z3.Config{})
	if err != nil {
		return nil, problem.Usage("install z3, or set declassify.validator to native", "declassify.validator: %w", err)
	}
	if cfg.Validator == "z3" {
		return pool, nil
	}
	return smt.Both{First: native, Second: pool}, nil
}

// memoriesOf are the sinks that keep what they are told.
func memoriesOf(cfg *config.Declassify) []string {
	var out []string
	for name, t := range cfg.Tools {
		if t.Memory {
			out = append(out, sinkOf(name, &t))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sinkOf is the name of a tool's sink.
func sinkOf(name string, t *config.ReleaseTool) string {
	if name == anyTool {
		return cmp.Or(t.Sink, "any other tool")
	}
	return cmp.Or(t.Sink, name)
}

// toolsOf finds tools as sinks.
func toolsOf(cfg *config.Declassify) func(flow.ToolCall) (declassify.Tool, bool) {
	tools := map[string]declassify.Tool{}
	for name, t := range cfg.Tools {
		if t.Class == "" && t.Action == "" && t.Sink == "" && !t.Memory {
			continue // only what it tells is known
		}
		tool := declassify.Tool{Name: name, Action: t.Action, Sink: sinkOf(name, &t), Class: classOf(t.Class), Channel: flow.ChannelTool}
		if t.Memory {
			tool.Channel = flow.ChannelMemory
		}
		for _, path := range slices.Sorted(maps.Keys(t.Args)) {
			tool.Args = append(tool.Args, argOf(path, t.Args[path]))
		}
		tools[name] = tool
	}
	// Agents may be lenient about how a tool's name is written, and a model
	// must not choose with a capital letter whether its call is looked at.
	written := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		p := plainName(name)
		if other, twice := written[p]; !twice || tools[name].Class > tools[other].Class {
			written[p] = name
		}
	}
	return func(call flow.ToolCall) (declassify.Tool, bool) {
		name := call.Name
		if _, ok := tools[name]; !ok {
			name = written[plainName(name)]
		}
		if t, ok := tools[name]; ok && writes(cfg.Tools[name].Files, call.Arguments) {
			return t, true
		}
		t, ok := tools[anyTool] // under this name: rubrics go by names, and the model chose its
		return t, ok
	}
}

// anyTool stands for the tools that are not named.
const anyTool = "*"

// plainName is a tool's name without what agents may overlook in it.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '*' {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(name))
}

// argOf is an argument as a configuration has it: of a field, text or plain.
func argOf(path, field string) declassify.Arg {
	switch field {
	case "text":
		return declassify.Arg{Path: path, Free: true}
	case "plain":
		return declassify.Arg{Path: path}
	default:
		return declassify.Arg{Path: path, Field: field}
	}
}

func classOf(name string) flow.Class {
	for _, c := range []flow.Class{flow.RequiredService, flow.SemiTrusted} {
		if c.String() == name {
			return c
		}
	}
	return flow.Adversarial
}
