package mediation

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/schema"
	"github.com/margaydev/margay/declassify/smt"
	"github.com/margaydev/margay/declassify/smt/z3"
	"github.com/margaydev/margay/declassify/terms"
	"github.com/margaydev/margay/defend/llm"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

const declassifyHint = "see declassify in margay config example, and margay rubric list"

// Rulebook is the registry by which releases are checked.
type Rulebook struct {
	Folder   rubrics.Folder
	Registry *rubric.Registry
	Refused  []*rubric.Refusal
}

// OpenRulebook opens the registry; nil if releases are not checked. Errors are of
// type *problem.Error.
func OpenRulebook(c *config.Config, log *slog.Logger) (*Rulebook, error) {
	if c.Declassify.Mode == "off" {
		return nil, nil //nolint:nilnil // no rubrics are not an error
	}
	folder := rubrics.Of(c)
	reg, refused, err := folder.Open(nil)
	if err != nil {
		return nil, problem.Usage(declassifyHint, "declassify.rubrics: %w", err)
	}
	for _, r := range refused {
		log.Warn("a rubric is refused", "error", r)
	}
	if len(reg.All()) == 0 {
		log.Warn("no rubric is in force: every secret in a release is redacted", "folder", folder.Dir())
	}
	return &Rulebook{folder, reg, refused}, nil
}

// Declassify is how to check releases by the registry.
func (rb *Rulebook) Declassify(ctx context.Context, c *config.Config, st *state.State, asked func(*confirm.Question)) (*mediator.Declassify, error) {
	cfg, reg := &c.Declassify, rb.Registry
	book, history, err := bookOf(ctx, c, st)
	if err != nil {
		return nil, err
	}
	kept := [][]byte{terms.Fallback()}
	for _, r := range reg.All() {
		kept = append(kept, r.Canonical())
	}
	for _, b := range kept {
		if _, err := book.KeepRubric(ctx, b); err != nil {
			return nil, problem.Unexpected(err)
		}
	}
	vc := declassify.Config{
		Resolve: func(q rubric.Query) (declassify.Rules, error) { return reg.Resolve(q) },
		Ledger:  book, History: history, Key: ValueKey(&st.Keys), Challenges: cfg.Challenges, Ask: cfg.Ask != "",
	}
	if cfg.Defender == "rules" {
		vc.Defender, vc.Models = rules.Defender{}, []charge.Model{{Name: "rules", Version: rules.Version}}
	}
	if cfg.Defender == "tagger" {
		m, err := tagger.Default()
		if err != nil {
			return nil, problem.Unexpected(err)
		}
		vc.Defender, vc.Screener = tagger.New(m), tagger.NewScreener(m)
		vc.Models = []charge.Model{{Name: "rules", Version: rules.Version}, {Name: "tagger", Version: m.Hash()}}
	}
	if cfg.Defender == "llm" {
		d, err := llm.New(endpoint(&cfg.LLM))
		if err != nil {
			return nil, problem.Usage(declassifyHint, "declassify.llm: %w", err)
		}
		vc.Defender, vc.Deadline = d, cfg.LLM.Wait.Value()
		vc.Models = []charge.Model{{Name: "llm", Version: cfg.LLM.Model[:min(len(cfg.LLM.Model), charge.MaxName)]}, {Name: "rules", Version: rules.Version}}
	}
	if vc.Start, err = Start(cfg, reg); err != nil {
		return nil, err
	}
	if vc.Validator, err = validatorOf(ctx, cfg); err != nil {
		return nil, err
	}
	if vc.Profile, err = profileOf(cfg.Profile); err != nil {
		return nil, err
	}
	if cfg.Mode != "report" && !c.Observe {
		vc.Keeper = &remembered{st.Store, &st.Keys}
	}
	v, err := declassify.New(vc)
	if err != nil {
		return nil, problem.Unexpected(err)
	}
	d := &mediator.Declassify{Verifier: v, Report: cfg.Mode == "report" || c.Observe, Tool: Tools(cfg), Memories: memoriesOf(cfg), Kept: st.Store, Results: resultsOf(cfg)}
	if vc.Ask {
		d.Desk = confirm.New(confirm.Config{Store: st.Store, Sealer: &st.Keys, Limit: cfg.Ask.Value(), Asked: asked})
	}
	d.Trusted = func(tool string) bool { return cfg.Tools[tool].Trusted }
	if cfg.Model.Class != "" {
		d.Model = func(sink flow.Sink) (schema.Tool, bool) { return ModelSink(cfg, sink.Name), true }
	}
	return d, nil
}

// ModelSink is the model endpoint as a sink.
func ModelSink(cfg *config.Declassify, sink string) schema.Tool {
	return schema.Tool{
		Name: "model", Action: cfg.Model.Action, Sink: cmp.Or(cfg.Model.Sink, sink, "model"), Class: classOf(cfg.Model.Class), Channel: flow.ChannelModel,
		// Names of models and tools, and other text that is not the conversation's,
		// pass unless a clause matches in them.
		Args: []schema.Arg{{Path: flow.FieldOther.String()}, {Path: flow.FieldToolName.String()}, {Path: "*", Free: true}},
	}
}

// bookOf is the ledger; a temporary one if releases are only reported.
func bookOf(ctx context.Context, c *config.Config, st *state.State) (*ledger.Book, ledger.Store, error) {
	if c.Declassify.Mode != "report" && !c.Observe {
		b, err := st.Book(ctx, c)
		return b, st.Store, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, problem.Unexpected(err)
	}
	store := memory.New()
	b, err := ledger.NewBook(ledger.Config{Store: store, Key: key})
	return b, store, err
}

// Derive returns a key for one purpose.
func Derive(from [32]byte, purpose string) (key [32]byte) {
	h := hmac.New(sha256.New, from[:])
	h.Write([]byte(purpose))
	h.Sum(key[:0])
	return key
}

// ValueKey is the key of fingerprints of values in the ledger, and of nothing else.
func ValueKey(k *secret.Keys) [32]byte { return Derive(k.Fingerprint, "margay declassify values v1") }

// Start fixes the budgets of trajectories by the rubric of their task.
func Start(cfg *config.Declassify, reg *rubric.Registry) (func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error), error) {
	if cfg.Task == "" {
		return nil, nil //nolint:nilnil // the first release fixes them
	}
	active := rubrics.InForce(reg)
	i := slices.IndexFunc(active, func(r *rubric.Rubric) bool { return r.Name() == cfg.Task })
	if i < 0 {
		return nil, problem.Usage(declassifyHint, "declassify.task: unknown rubric %q", cfg.Task)
	}
	return func(*declassify.Candidate, declassify.Rules) (rubric.Limits, rubric.Hash, error) {
		return active[i].Limits(), active[i].Hash(), nil
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
	context.AfterFunc(ctx, func() { _ = pool.Close() })
	if cfg.Validator == "z3" {
		return pool, nil
	}
	return smt.Both{First: native, Second: pool}, nil
}

// memoriesOf are the sinks that keep what they receive.
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
	if name == AnyTool {
		name = "any other tool"
	}
	return cmp.Or(t.Sink, name)
}

// Tools finds tools as sinks.
func Tools(cfg *config.Declassify) func(flow.ToolCall) (schema.Tool, bool) {
	tools := map[string]schema.Tool{}
	for name, t := range cfg.Tools {
		if t.Class == "" && t.Action == "" && t.Sink == "" && !t.Memory {
			continue // only its results are configured
		}
		tool := schema.Tool{Name: name, Action: t.Action, Sink: sinkOf(name, &t), Class: classOf(t.Class), Channel: flow.ChannelTool}
		if t.Memory {
			tool.Channel = flow.ChannelMemory
		}
		for _, path := range slices.Sorted(maps.Keys(t.Args)) {
			tool.Args = append(tool.Args, Argument(path, t.Args[path]))
		}
		tools[name] = tool
	}
	// Agents may be lenient about how a tool's name is written, and a model must
	// not avoid the check of its call with a capital letter.
	written := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		p := plainName(name)
		if other, twice := written[p]; !twice || tools[name].Class > tools[other].Class {
			written[p] = name
		}
	}
	return func(call flow.ToolCall) (schema.Tool, bool) {
		name := call.Name
		if _, ok := tools[name]; !ok {
			name = written[plainName(name)]
		}
		if t, ok := tools[name]; ok && writes(cfg.Tools[name].Files, call.Arguments) {
			return t, true
		}
		t, ok := tools[AnyTool] // not under its own name: the model chose that
		return t, ok
	}
}

// AnyTool is the name in the configuration for every other tool.
const AnyTool = "*"

// plainName is a tool's name without the differences that agents may ignore.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '*' {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(name))
}

// recipientRE matches the names of arguments that say who gets something.
var recipientRE = regexp.MustCompile(`(?i)(?:^|[._])(?:to|cc|bcc|recipients?|(?:to|recipient)_?(?:email|emails|address|addresses|phone|number|id|user|name)|send_?to|email_?to|channel|channel_?id|attendees?|invitees?)(?:\.\*)*$`)

// Argument is an argument as a configuration has it: of a field, text or plain.
func Argument(path, field string) schema.Arg {
	arg := schema.Arg{Path: path, Free: field == "text", Keep: field == "recipient" || recipientRE.MatchString(path), To: field == "recipient"}
	if field != "text" && field != "plain" && field != "recipient" {
		arg.Field = field
	}
	return arg
}

func classOf(name string) flow.Class {
	if c, ok := rubric.ParseClass(name); ok {
		return c
	}
	return flow.Adversarial
}
