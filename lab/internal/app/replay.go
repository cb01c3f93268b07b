package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/firstuse"
	benchreplay "github.com/margaydev/margay/lab/replay"
	"github.com/margaydev/margay/lab/report"
	"github.com/margaydev/margay/lab/results"
)

type replayOptions struct {
	packs, modes, suites []string
	untrusted, explain   bool
	subagents, labels    string
	once                 bool
}

const replayLong = `Replay recorded sessions of agents through the engine that holds tool calls to
what they may follow from, and count the calls that a person would be asked
about. A FILE has one session a line, as JSON; one that ends in .gz is compressed
(the package comment of internal/app/recorded has the format). A name without a folder is
also looked for in $MARGAY_DATA; without FILE, the sets there are taken.

Rows are modes. In all, no step is made again. In replay, a step that is made
again from less makes the recorded calls if their arguments can be had from what
it is shown. In best, it also makes up values that occur nowhere: a lower bound
on questions, and no use for attacks.

A simulated user says yes to the recorded calls, once, and no to those of a
session's goal, which are an attacker's.`

func replayFlags(c *cobra.Command, o *options) {
	r := &o.replay
	c.Long = replayLong
	c.Flags().IntVar(&o.n, "n", 0, "sessions of each file, from its start; 0 for all")
	c.Flags().StringSliceVar(&r.modes, "defence", nil, "only these `modes`, separated by commas: "+strings.Join(benchreplay.Modes(), " "))
	c.Flags().StringSliceVar(&r.suites, "suite", nil, "only sessions of these `suites`, separated by commas")
	c.Flags().StringSliceVar(&r.packs, "packs", []string{benchreplay.PacksDefault}, "`packs` of tools, names or files: default for those of the session, none so that no tool is known")
	c.Flags().BoolVar(&r.once, "once", false, "the user allows each call once, and nothing for the rest of a session")
	c.Flags().StringVar(&r.subagents, "subagents", string(benchreplay.SubagentsEstimate), "what sub-agents are taken to have `read`, of whose own steps a record has nothing: world, workspace, or estimate by their orders and answers")
	c.Flags().StringVar(&r.labels, "labels", "", "what the user says of tools that no pack describes when they are first used, and which folders he trusts when a question offers it: a `file`, or "+strings.Join(firstuse.Names(), ", ")+"; without, each of their calls is asked about")
	c.Flags().BoolVar(&r.untrusted, "untrusted", false, "trust no folder, whatever folders sessions name as trusted")
	c.Flags().BoolVar(&r.explain, "explain", false, "also print each call that is asked about, with the codes of the reasons, and what is asked most")
}

func checkReplay(o *options) error {
	if err := benchreplay.CheckPacks(o.replay.packs); err != nil {
		return usage("docs/packs.md lists the packs that come with Margay", "--packs: %w", err)
	}
	return checkDefences(o.replay.modes, benchreplay.Modes())
}

// replayFiles finds the files of sessions.
func replayFiles(o *options) ([]string, error) {
	if len(o.files) == 0 {
		if o.data == "" {
			return nil, errNoData
		}
		var out []string
		for _, f := range benchreplay.Files {
			out = append(out, filepath.Join(o.data, f))
		}
		return out, nil
	}
	var out []string
	for _, f := range o.files {
		if _, err := os.Stat(f); errors.Is(err, fs.ErrNotExist) && o.data != "" && filepath.Base(f) == f {
			f = filepath.Join(o.data, f)
		}
		out = append(out, f)
	}
	return out, nil
}

func runReplay(ctx context.Context, o *options) (*results.Result, []report.Figure, error) {
	subagents := benchreplay.Subagents(cmp.Or(o.replay.subagents, string(benchreplay.SubagentsEstimate)))
	if !slices.Contains(benchreplay.AllSubagents, subagents) {
		return nil, nil, fmt.Errorf("--subagents %s is none of %v", subagents, benchreplay.AllSubagents)
	}
	r := benchreplay.Options{
		Subagents: subagents, Once: o.replay.once,
		Suites: o.replay.suites, N: max(0, o.n), Packs: o.replay.packs, Trusted: !o.replay.untrusted, Modes: o.replay.modes, Seed: o.seed, Progress: o.progress,
		Small: o.quick,
	}
	if o.replay.labels != "" {
		var err error
		if r.Labels, err = firstuse.Open(o.replay.labels); err != nil {
			return nil, nil, err
		}
		r.Suggest = mediation.Suggest
	}
	most := map[asked]int{}
	if o.replay.explain {
		o.progress("")
		r.Explain = func(a *benchreplay.Asked) {
			attacker := ""
			if a.Attacker {
				attacker = " (the attacker's)"
			}
			most[asked{a.Mode, a.Tool, a.Codes}]++
			cli.Fprintf(o.out, "%s\t%s\t%s\t%d\t%s%s\t%s\t%s\t%s\n", a.Mode, a.Suite, a.Session, a.Message, a.Tool, attacker, a.Codes, a.Excerpt, a.Note)
		}
	}
	if !o.quick {
		var err error
		if r.Files, err = replayFiles(o); err != nil {
			return nil, nil, err
		}
	}
	res, err := benchreplay.Run(ctx, r)
	askedMost(o.out, most)
	return res, nil, err
}

// asked are calls that are asked about for the same reasons.
type asked struct{ mode, tool, codes string }

// maxMost bounds the lines for each mode about what is asked most.
const maxMost = 10

// askedMost prints what is asked most, by mode.
func askedMost(w io.Writer, most map[asked]int) {
	order := slices.SortedFunc(maps.Keys(most), func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.mode, b.mode), most[b]-most[a], cmp.Compare(a.tool, b.tool), cmp.Compare(a.codes, b.codes))
	})
	lines := map[string]int{}
	for _, a := range order {
		if lines[a.mode]++; lines[a.mode] <= maxMost {
			cli.Fprintf(w, "%s: asked %d times\t%s\t%s\n", a.mode, most[a], a.tool, a.codes)
		}
	}
}
