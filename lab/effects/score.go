package effects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/suggest"
)

// ErrNoDefinitions says that the definitions of tools are not there. They are other
// people's, so they are not in the repository.
var ErrNoDefinitions = errors.New("no definitions of tools; scripts/mcp-tools fetch gets them")

// Paths of labels and of what they are about.
type Paths struct {
	Labels, Split string // empty for those of this repository
	Definitions   string
}

// Cache is the folder of definitions, by scripts/mcp-tools.
func Cache() string {
	cache := os.Getenv("MCP_TOOLS_CACHE")
	if cache == "" {
		cache = filepath.Join(".cache", "mcp-tools")
	}
	return filepath.Join(cache, "definitions")
}

// tools reads the labelled tools of some parts of the split, and returns the hashes
// of labels and split. Definitions of other parts are not opened.
func (p *Paths) tools(parts ...string) (tools []labelledTool, hashes [2]string, err error) {
	file, err := open(p.Labels, ownLabels)
	if err != nil {
		return nil, hashes, err
	}
	labels, err := readLabels(file)
	if err != nil {
		return nil, hashes, err
	}
	cut, err := open(p.Split, ownSplit)
	if err != nil {
		return nil, hashes, err
	}
	split, err := readSplit(cut)
	if err == nil {
		err = split.check(file)
	}
	if err != nil {
		return nil, hashes, err
	}
	labels = slices.DeleteFunc(labels, func(l toolLabel) bool { return !slices.Contains(parts, split.parts[l.Server]) })
	tools, missing, err := readTools(labels, split, p.Definitions)
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d of %d labelled definitions are not in %s: %w", missing, len(labels), p.Definitions, ErrNoDefinitions)
	}
	return tools, [2]string{file.hash(), cut.hash()}, err
}

const (
	ownLabels = "tools.labels.jsonl"
	ownOther  = "tools.labels.b.jsonl"
	ownSplit  = "split.txt"
)

// ToolsOptions of a run.
type ToolsOptions struct {
	Paths
	// Other is the second labeller's file; empty for this repository's, if it has one.
	Other string
	// Parts of the split to score.
	Parts  []string
	Missed func(*MissedTool) // gets each tool whose effect differs; nil for nobody
}

// MissedTool is a tool that is taken for what its label does not say.
type MissedTool struct {
	Server     string  `json:"server"`
	Tool       string  `json:"tool"`
	Part       string  `json:"part"`
	Want       string  `json:"want"`
	Got        string  `json:"got"`
	Confidence float64 `json:"confidence"`
	Why        string  `json:"why"`
}

// tallyTools counts proposals against labels.
type tallyTools struct {
	n, acting, world, open                 float64
	exact, coarse, under, over             float64
	source, worldMissed, opens, openMissed float64
	confidence, brier                      float64
}

func (t *tallyTools) add(want classes, got suggest.Proposal) {
	t.n++
	right := want.effect == got.Effect
	t.acting += is(want.effect.Acts())
	t.world += is(want.source == suggest.World)
	t.open += is(want.open)
	t.exact += is(right)
	t.coarse += is(want.effect.Acts() == got.Effect.Acts())
	t.under += is(want.effect.Acts() && !got.Effect.Acts())
	t.over += is(!want.effect.Acts() && got.Effect.Acts())
	t.source += is(want.source == got.Source)
	t.worldMissed += is(want.source == suggest.World && got.Source != suggest.World)
	t.opens += is(want.open == got.Open)
	t.openMissed += is(want.open && !got.Open)
	t.confidence += got.Confidence
	t.brier += (got.Confidence - is(right)) * (got.Confidence - is(right))
}

func (t *tallyTools) metrics() map[string]float64 {
	m := map[string]float64{
		"tools": t.n, "effect_exact": t.exact / t.n, "coarse_exact": t.coarse / t.n,
		"source_exact": t.source / t.n, "open_exact": t.opens / t.n,
		"confidence": t.confidence / t.n, "brier": t.brier / t.n,
	}
	if t.acting > 0 {
		m["acting"], m["acting_taken_for_observing_n"] = t.acting, t.under
		m["acting_taken_for_observing"], m["acting_taken_for_observing_upper"] = t.under/t.acting, upper(t.under, t.acting)
	}
	if t.acting < t.n {
		m["observing_taken_for_acting"] = t.over / (t.n - t.acting)
	}
	if t.world > 0 {
		m["world_missed"] = t.worldMissed / t.world
	}
	if t.open > 0 {
		m["open_missed"] = t.openMissed / t.open
	}
	return m
}

// RunTools scores the shipped classifier on labelled tools.
func RunTools(ctx context.Context, o ToolsOptions) (*results.Result, error) {
	tools, _, err := o.tools(o.Parts...)
	if err != nil {
		return nil, err
	}
	other, err := otherLabels(o.Other)
	if err != nil {
		return nil, err
	}
	rows := map[string]*tallyTools{}
	count := func(slice string, want classes, got suggest.Proposal) {
		if rows[slice] == nil {
			rows[slice] = &tallyTools{}
		}
		rows[slice].add(want, got)
	}
	agree := map[string]*agreement{}
	for i := range tools {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := &tools[i]
		part := "part=" + t.part
		got := suggest.Propose(&t.tool)
		count(part, t.classes, got)
		count(part+",effect="+t.effect.String(), t.classes, got)
		count(part+",source="+t.label.Source, t.classes, got)
		count(part+",texts=none", t.classes, suggest.Propose(&suggest.Tool{Name: t.label.Tool}))
		plain := t.tool
		plain.ReadOnly, plain.Destructive, plain.OpenWorld = nil, nil, nil
		count(part+",annotations=none", t.classes, suggest.Propose(&plain))
		plain.Texts = connectorTexts(t.raw)
		count(part+",texts=connector", t.classes, suggest.Propose(&plain))
		if o.Missed != nil && got.Effect != t.effect {
			o.Missed(&MissedTool{t.server, t.label.Tool, t.part, t.effect.String(), got.Effect.String(), got.Confidence, t.label.Why})
		}
		b, ok := other[t.key]
		if !ok || b.Definition != t.label.Definition {
			continue
		}
		c, err := b.classes()
		if err != nil {
			return nil, err
		}
		count(part+",labeller=b", c, got)
		if agree[part] == nil {
			agree[part] = &agreement{}
		}
		agree[part].add(t.classes, c, got)
	}
	source := o.Labels
	if source == "" {
		source = "lab/effects/testdata/" + ownLabels
	}
	res := &results.Result{Suite: "effects", N: len(tools), Environment: results.Here(), Source: source, Notes: []string{
		"acting_taken_for_observing: share of the tools that act by their label; its upper bound is Clopper and Pearson's, 95 %",
		"coarse_exact: observing and acting told apart; texts=none: by the name alone; texts=connector: without annotations, the strings as a gateway sees them",
		"both: a tool on which the labellers differ counts as an error, and as acting if one of them says so",
	}}
	for _, slice := range slices.Sorted(maps.Keys(rows)) {
		res.Add("margay", slice, rows[slice].metrics())
	}
	for _, slice := range slices.Sorted(maps.Keys(agree)) {
		res.Add("labellers", slice, agree[slice].metrics())
	}
	return res, nil
}

func otherLabels(path string) (map[string]toolLabel, error) {
	file, err := open(path, ownOther)
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := readLabels(file)
	if err != nil {
		return nil, err
	}
	out := map[string]toolLabel{}
	for i := range all {
		out[all[i].key()] = all[i]
	}
	return out, nil
}

// agreement is that of two labellers, and of the classifier with both.
type agreement struct {
	n, effect, coarse, source, open float64
	acting, exact, under            float64
	first, second                   [suggest.Effects]float64
}

func (a *agreement) add(x, y classes, got suggest.Proposal) {
	a.n++
	a.effect += is(x.effect == y.effect)
	a.coarse += is(x.effect.Acts() == y.effect.Acts())
	a.source += is(x.source == y.source)
	a.open += is(x.open == y.open)
	a.first[x.effect]++
	a.second[y.effect]++
	a.exact += is(x.effect == y.effect && y.effect == got.Effect)
	acts := x.effect.Acts() || y.effect.Acts()
	a.acting += is(acts)
	a.under += is(acts && got.Effect == effect.Observe)
}

func (a *agreement) metrics() map[string]float64 {
	chance := 0.0
	for i := range a.first {
		chance += a.first[i] * a.second[i] / (a.n * a.n)
	}
	m := map[string]float64{
		"tools": a.n, "effect_agreement": a.effect / a.n, "coarse_agreement": a.coarse / a.n, "source_agreement": a.source / a.n, "open_agreement": a.open / a.n,
		"both_effect_exact": a.exact / a.n, "both_acting": a.acting, "both_acting_taken_for_observing": a.under,
	}
	if chance < 1 {
		m["effect_kappa"] = (a.effect/a.n - chance) / (1 - chance)
	}
	if a.acting > 0 {
		m["both_acting_taken_for_observing_upper"] = upper(a.under, a.acting)
	}
	return m
}

// CheckParts reports an unknown part of the split.
func CheckParts(parts []string) error {
	for _, p := range parts {
		if p != Train && p != Dev && p != Test {
			return fmt.Errorf("unknown part %q; parts are %s", p, strings.Join([]string{Train, Dev, Test}, ", "))
		}
	}
	return nil
}
