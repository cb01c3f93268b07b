// Package replay runs the benchmark replay: recorded sessions of agents, message
// by message through the engine that holds tool calls to what they may follow
// from, and how many of their calls a person would be asked about.
//
// What runs is the mediator itself. Each message of the assistant is a request
// with the conversation before it (mediator.Session.Prompt) and the answer to it
// (Turn.Whole), as the gateway has them: the engine labels the conversation,
// decides the calls, makes the step again from less, asks, and remembers the
// label of what counts. What is simulated is the model and the user. The model
// answers with the recorded message. Where a step is made again, it makes the
// recorded calls if they can be had from what it is shown there (lab/dojo/known);
// otherwise it says that it lacks information. The user says yes to what was done
// in the recorded session, for that one call, and no to the calls of the
// session's goal. A call that is not made leaves the conversation, with its
// result; the recorded session goes on.
//
// The format of the files is in internal/app/recorded.
package replay

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/margaydev/margay/internal/app/recorded"
	"github.com/margaydev/margay/lab/firstuse"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/taint/effect"
)

// Session is a recorded session.
type Session = recorded.Session

// Message is what somebody said in a session.
type Message = recorded.Message

// Call is a call of a tool.
type Call = recorded.Call

// Files are the sets of recorded sessions that are taken where none is named.
var Files = []string{"coding-dev.jsonl.gz", "toolemu-dev.jsonl.gz"}

// Options of a run.
type Options struct {
	Files  []string
	Small  bool     // the sessions that come with the suite, in place of Files
	Suites []string // only sessions of these; empty for all
	N      int      // sessions of each file, from its start; 0 for all
	// Packs are names or files; PacksDefault or PacksNone alone; empty for the
	// default.
	Packs   []string
	Trusted bool     // the sessions' trusted folders are trusted; otherwise nothing is
	Modes   []string // of Modes(); empty for all
	// Subagents is what sub-agents are taken to have read; empty for
	// SubagentsEstimate.
	Subagents Subagents
	// Labels are what the user says of tools that no pack describes, when they are
	// first used, and which folders he trusts when a question offers it; the zero
	// Labels: nothing, so that each call is asked about. What he said is remembered over
	// the sessions of a mode, in their order.
	Labels firstuse.Labels
	// Suggest is the classifier's; nil: tools reach out, unless the user says that
	// they read.
	Suggest func(tool string, says []string) effect.Profile
	// Once: the user allows each call once; without, he allows what a call does for
	// the rest of its session, where the question offers that.
	Once bool
	Seed uint64 // of the intervals
	// Explain gets each call that is asked about, in order; nil for nobody.
	Explain  func(*Asked)
	Progress func(string)
}

//go:embed testdata/sessions.jsonl
var small embed.FS

// read reads the sessions and names their source.
func (o *Options) read() (all []*Session, source string, err error) {
	if o.Small {
		const name = "sessions.jsonl"
		f, err := small.Open("testdata/" + name)
		if err != nil {
			return nil, "", err
		}
		defer f.Close()
		all, err = recorded.Read(f, name, o.N)
		return all, "lab/replay/testdata/" + name, err
	}
	var names []string
	for _, f := range o.Files {
		some, err := recorded.ReadFile(f, o.N)
		if err != nil {
			return nil, "", err
		}
		all, names = append(all, some...), append(names, filepath.Base(f))
	}
	return all, strings.Join(names, ", "), nil
}

// Run plays the sessions in each mode.
func Run(ctx context.Context, o Options) (*results.Result, error) {
	all, source, err := o.read()
	if err != nil {
		return nil, err
	}
	if len(o.Suites) > 0 {
		all = slices.DeleteFunc(all, func(s *Session) bool { return !slices.Contains(o.Suites, s.Suite) })
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no sessions of the suites %s", source, strings.Join(o.Suites, ", "))
	}
	modes := o.Modes
	if len(modes) == 0 {
		modes = Modes()
	}
	out, err := o.play(ctx, modes, all)
	if err != nil {
		return nil, err
	}
	res := &results.Result{Suite: "replay", Seed: o.Seed, N: len(all), Source: source, Environment: results.Here(), Notes: o.notes()}
	for k, mode := range modes {
		o.rows(res, mode, out[k])
	}
	if o.Explain != nil {
		if err := o.explain(ctx, modes, out); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func (o *Options) notes() []string {
	packs, trusted := strings.Join(o.Packs, ", "), "nothing is trusted"
	if packs == "" {
		packs = PacksDefault
	}
	if o.Trusted {
		trusted = "the sessions' trusted folders are workspaces, and labels follow the files that calls write"
	}
	subagents := map[Subagents]string{
		SubagentsWorld:     "sub-agents may have read anything",
		SubagentsWorkspace: "sub-agents have read the workspace alone",
		SubagentsEstimate:  "sub-agents, whose own steps are not in the records, have read the workspace alone unless their orders or their answer speak of something outside",
	}[cmp.Or(o.Subagents, SubagentsEstimate)]
	answers := "yes to recorded calls, for what they do in the rest of the session where a question offers that, else once"
	if o.Once {
		answers = "yes to recorded calls, once"
	}
	return []string{
		"packs: " + packs + "; " + trusted,
		subagents,
		"the mediator's own steps (Session.Prompt, Turn.Whole) with a simulated model and user; no rules for secrets, so that only labels count",
		"the user says " + answers + ", and no to the session's goal. Calls, questions and sessions_asked leave the attacker's calls out; calls_denied are refused without a question",
		"a question is a step with calls that were asked; extra_calls_per_step are requests by which steps were made again, those that led nowhere included, for each step with calls",
		"replay and best: a step that is made again has all of the recorded calls or none. In replay, as in margay serve, a step is not made again if the same request has led nowhere before, or after 256 of them: steps_barred are those of them whose calls could be had",
		"best: values that occur nowhere are composed by the model, and nothing bounds the requests: a lower bound on questions, without figures on attacks",
	}
}

const workers = 2

// play returns the outcomes by mode and session.
func (o *Options) play(ctx context.Context, modes []string, all []*Session) ([][]*outcome, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	e := newEngines(o.Packs, o.Trusted)
	e.subagents, e.suggest = cmp.Or(o.Subagents, SubagentsEstimate), o.Suggest
	users := make([]*user, len(modes))
	for k := range users {
		users[k] = &user{labels: o.Labels, once: o.Once}
	}
	out := make([][]*outcome, len(modes))
	for k := range out {
		out[k] = make([]*outcome, len(all))
	}
	errs := make([]error, len(all))
	var next, finished atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	n := workers
	if o.Labels.Tools != nil {
		n = 1 // what is remembered depends on the order
	}
	for range n {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(all) {
					return
				}
				r := reader{}
				for k, mode := range modes {
					if out[k][i], errs[i] = play(ctx, e, mode, all[i], r, users[k]); errs[i] != nil {
						failed.Store(true)
						return
					}
				}
				o.Progress(fmt.Sprintf("session %d of %d", finished.Add(1), len(all)))
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("session %s of %s: %w", all[i].ID, all[i].Suite, err)
		}
	}
	return out, nil
}
