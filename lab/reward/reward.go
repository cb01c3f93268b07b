// Package reward computes what a defender's output is worth to whoever trains it:
// the reward of the OCELOT paper (equation 3), by the verifier itself.
//
//	reward = authorised · (1 + utility − cost / B) − β · fallback
//
// A task is a trajectory of a world of lab/traj, and an output is about one of its
// steps. The steps before it are released as the defender defend/rules labels them, so
// the same output always has the same reward. Then the verifier takes the output
// through all its phases, without a ledger.
//
//   - authorised: 1 if something would be sent.
//   - utility: the share of what the step's service needs, and of the task's words,
//     that can be read in what would be sent; 1 where a step has neither.
//   - cost: what the release adds to what sinks know, weighted by class; B is the
//     budget of the trajectory. λ multiplies the weights of sinks that are no required
//     services.
//   - fallback: 1 if the output can't be used or nothing is sent, else the share of
//     the release's pieces that nobody has labelled, or whose label is not believed.
//
// The reward is the paper's: what a defender leaves out and no clause finds costs
// nothing. A Reward therefore also counts the mentions that the step should not have
// sent and did, which only a simulated world knows.
//
// docs/format/reward.md has the format. A defender learns from a world's texts, so
// seeds that are evaluated are refused.
package reward

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/defend/rules"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj"
	"github.com/margaydev/margay/lab/traj/defence"
	"github.com/margaydev/margay/lab/traj/world"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
)

// Options of a Judge.
type Options struct {
	World *world.Setting // world.Dev where nil
	Seed  uint64
	N     int // tasks
	// Beta weighs fallback. Lambda multiplies the rubrics' weights of what sinks other
	// than required services learn; 1 where 0. (The paper's weighs adversarial sinks
	// alone, to which the library's rubrics show nothing that costs.)
	Beta, Lambda float64
	// Margay has the rubrics. Its Screener, if there is one, screens every release.
	Margay defence.MargayConfig
}

// Judge computes rewards. It is safe for concurrent use.
type Judge struct {
	o     Options
	tasks []*world.Task
	at    map[string]int // by id
	dry   *defence.Dry

	given sync.Map // *Output by decision
	count atomic.Uint64
}

// New draws the tasks.
func New(o Options) (*Judge, error) {
	if o.World == nil {
		o.World = world.Dev()
	}
	if o.Lambda == 0 {
		o.Lambda = 1
	}
	switch {
	case o.Seed < traj.DevelopmentSeed:
		return nil, fmt.Errorf("seeds below %d are evaluated, and nothing is trained on them", traj.DevelopmentSeed)
	case o.N < 1 || o.N > MaxTasks:
		return nil, fmt.Errorf("%d tasks; 1 to %d are possible", o.N, MaxTasks)
	case !(o.Beta >= 0 && o.Beta <= 1000) || !(o.Lambda >= 1 && o.Lambda <= 1000):
		return nil, fmt.Errorf("beta is from 0 to 1,000, lambda from 1 to 1,000")
	}
	j := &Judge{o: o, tasks: o.World.Generate(o.Seed, o.N).Tasks, at: map[string]int{}}
	for i, t := range j.tasks {
		j.at[t.ID] = i
	}
	o.Margay.Defender = given{j}
	var err error
	j.dry, err = defence.NewDry(o.Margay)
	return j, err
}

// MaxTasks is the most tasks of a Judge.
const MaxTasks = 100_000

// Output is what a defender says of one step: a completion, or labels.
type Output struct {
	Task string
	Step int
	// Completion is the raw output of a model that was given the prompt of the step.
	// What it quotes is labelled besides what the rubrics' clauses find.
	Completion *string
	// Labels are all labels; of each part, start, end, field and relation are read.
	// Operators are one for each; where there are none, the verifier plans them.
	Labels    []evidence.Label
	Operators []evidence.Proposal
	// Defender labels the step instead, and Screener screens it instead of that of
	// Options; for callers in the same process.
	Defender declassify.Defender
	Screener declassify.Screener
}

// Reward is what an output is worth.
type Reward struct {
	Reward     float64 `json:"reward"`
	Authorised bool    `json:"authorised"`
	Utility    float64 `json:"utility"`
	Cost       float64 `json:"cost"`   // bits, weighted
	Budget     float64 `json:"budget"` // bits
	Fallback   float64 `json:"fallback"`
	// Reasons are the codes by which the release was changed or refused.
	Reasons []string `json:"reasons"`
	// Escaped are mentions that the task does not owe the sink and that reach it as
	// they are, of so many. The reward does not count them.
	Escaped  int `json:"escaped"`
	Mentions int `json:"mentions"`
}

// A NotFound names a task or a step that there is not.
type NotFound string

func (n NotFound) Error() string { return string(n) }

// Find returns the task of an output.
func (j *Judge) find(o *Output) (*world.Task, error) {
	i, ok := j.at[o.Task]
	if !ok {
		return nil, NotFound("there is no such task")
	}
	if t := j.tasks[i]; o.Step >= 0 && o.Step < len(t.Steps) {
		return t, nil
	}
	return nil, NotFound("the task has no such step")
}

// Score computes the reward of an output.
func (j *Judge) Score(ctx context.Context, o *Output) (*Reward, error) {
	t, err := j.find(o)
	if err != nil {
		return nil, err
	}
	run := j.dry.Begin("REWARD")
	for i := range o.Step {
		if _, err := run.Release(ctx, defence.CandidateOf(t, i), ""); err != nil {
			return nil, err
		}
	}
	id := strconv.FormatUint(j.count.Add(1), 10)
	j.given.Store(id, o)
	defer j.given.Delete(id)
	if o.Screener != nil {
		if err := run.Screen(o.Screener); err != nil {
			return nil, err
		}
	}
	v, err := run.Release(ctx, defence.CandidateOf(t, o.Step), id)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.reward(t, o.Step, v), nil
}

// Play computes the rewards of all steps of a task, each released as a defender and a
// screener have it: what they are worth as they are deployed.
func (j *Judge) Play(ctx context.Context, task string, d declassify.Defender, s declassify.Screener) ([]*Reward, error) {
	t, err := j.find(&Output{Task: task})
	if err != nil {
		return nil, err
	}
	cfg := j.o.Margay
	cfg.Defender, cfg.Screener = d, s
	dry, err := defence.NewDry(cfg)
	if err != nil {
		return nil, err
	}
	run := dry.Begin("REWARD")
	var out []*Reward
	for i := range t.Steps {
		v, err := run.Release(ctx, defence.CandidateOf(t, i), "")
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, j.reward(t, i, v))
	}
	return out, nil
}

// Tasks are those that outputs are about.
func (j *Judge) Tasks() []*world.Task { return j.tasks }

// reward is the sum.
func (j *Judge) reward(t *world.Task, step int, v *defence.Verdict) *Reward {
	r := &Reward{Authorised: v.Parts != nil, Fallback: 1}
	for i := range v.Reasons {
		r.Reasons = append(r.Reasons, v.Reasons[i].Code)
	}
	slices.Sort(r.Reasons)
	r.Reasons = slices.Compact(append([]string{}, r.Reasons...))
	r.Escaped, r.Mentions = escapes(t, step, v.Parts)
	if v.Entry == nil {
		r.Reward = -j.o.Beta
		return r
	}
	r.Utility = 1
	if met, of := t.Met(step, v.Parts); of > 0 {
		r.Utility = float64(met) / float64(of)
	}
	if !v.Ignored {
		unknown := 0
		for i := range v.Atoms {
			if v.Atoms[i].Field == declassify.Unknown {
				unknown++
			}
		}
		r.Fallback = float64(unknown) / float64(max(1, len(v.Atoms)))
	}
	r.Cost, r.Budget = j.cost(v), float64(v.Entry.Limits.B)/float64(flow.Bit)
	r.Reward = 1 + r.Utility - r.Cost/r.Budget - j.o.Beta*r.Fallback
	return r
}

// cost is what a release adds to what sinks of each class or worse know, weighted.
func (j *Judge) cost(v *defence.Verdict) float64 {
	sum, last := 0.0, 0.0
	for k := 1; k < charge.Classes; k++ {
		w := float64(v.Entry.Limits.Lambda[k]) / 1000
		if flow.Class(k) > flow.RequiredService {
			w *= j.o.Lambda
		}
		sum += (w - last) * float64(v.Entry.Caps[k]-v.Before[k]) / float64(flow.Bit)
		last = w
	}
	return sum
}

// escapes counts the mentions in free text that the task does not owe to its sink,
// and those that arrive as they are.
func escapes(t *world.Task, step int, sent []string) (escaped, all int) {
	s := &t.Steps[step]
	if s.Sink.Class == flow.RequiredService {
		return 0, 0
	}
	for k := range s.Parts {
		p := &s.Parts[k]
		if !p.Free || len(p.Mentions) == 0 {
			continue
		}
		there := make([]bool, len(p.Mentions))
		if sent != nil {
			there = world.Survived(p, sent[k])
		}
		for m := range p.Mentions {
			if !t.Owed(step, k, m) {
				all++
				if there[m] {
					escaped++
				}
			}
		}
	}
	return escaped, all
}

// given is the defender whose answers are the outputs; without one it is defend/rules.
type given struct{ j *Judge }

// Evidence implements declassify.Defender.
func (g given) Evidence(ctx context.Context, r *declassify.Request) ([]byte, error) {
	found, ok := g.j.given.Load(r.Context.Action)
	if !ok {
		return rules.Defender{}.Evidence(ctx, r)
	}
	o, _ := found.(*Output)
	if o.Defender != nil {
		return o.Defender.Evidence(ctx, r)
	}
	ev := evidence.Statement{Context: r.Context}
	if o.Completion != nil {
		all, err := quoted(r, *o.Completion)
		if err != nil {
			return nil, err
		}
		ev.Atoms = all
		return rules.Planned(r, ev)
	}
	for _, l := range o.Labels {
		l.Role, l.Provenance = "text", "model"
		if l.Part >= 0 && l.Part < len(r.Parts) {
			if arg := r.Tool.Arg(r.Parts[l.Part].Path); arg.Field != "" && !arg.Free {
				l.Role = "argument"
			}
		}
		if l.Necessity == "" {
			l.Necessity = r.Rules.Necessity(l.Field, r.Tool.Class).String()
		}
		ev.Atoms = append(ev.Atoms, l)
	}
	if o.Operators == nil {
		return rules.Planned(r, ev)
	}
	ev.Operators = o.Operators
	var err error
	if ev.Variant, err = r.Variant(ev.Atoms, ev.Operators); err != nil {
		return nil, err
	}
	return ev.Marshal()
}

// quoted are the labels of a completion, besides those of the clauses.
func quoted(r *declassify.Request, completion string) ([]evidence.Label, error) {
	quotes, err := readCompletion(completion, len(r.Parts), r.Rules.Fields())
	if err != nil {
		return nil, err
	}
	var out []evidence.Label
	for i := range r.Parts {
		out = append(out, rules.Labels(r, i)...)
	}
	for _, q := range quotes {
		part := q.Text - 1
		if arg := r.Tool.Arg(r.Parts[part].Path); arg.Field != "" && !arg.Free {
			continue // the schema says what it is
		}
		text := r.Parts[part].Text
		for from := 0; len(out) < evidence.MaxLabels; {
			i := strings.Index(text[from:], q.Quote)
			if i < 0 {
				break
			}
			start, end := from+i, from+i+len(q.Quote)
			from = end
			if !slices.ContainsFunc(out, func(l evidence.Label) bool { return l.Part == part && l.Start < end && start < l.End }) {
				out = append(out, evidence.Label{
					Part: part, Start: start, End: end, Role: "text", Field: q.Field, Relation: q.Relation,
					Necessity: r.Rules.Necessity(q.Field, r.Tool.Class).String(), Provenance: "model",
				})
			}
		}
	}
	return out, nil
}

// needs says what a step's rubrics say of fields.
func (j *Judge) needs(c *defence.Candidate) (map[string]string, error) {
	q := rubric.Query{Action: c.Action, Tool: c.Tool, Sink: c.Sink.Name, Channel: c.Sink.Channel, Class: c.Sink.Class.Known()}
	for i := range c.Parts {
		if f := c.Parts[i].Field; f != "" {
			q.Fields = append(q.Fields, string(f))
		}
	}
	all, err := j.o.Margay.Resolve(q)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range all.Fields() {
		out[f] = all.Necessity(f, c.Sink.Class.Known()).String()
	}
	return out, nil
}
