// Package defence holds the defences that the benchmarks traj and robust
// compare: one file each. A defence sees what a mediator at the boundary
// sees, one candidate release at a time, and decides what of it passes. It
// never sees the truth. Oracle, which does, is a reference and not a defence.
//
// The choice of baselines follows the OCELOT paper (section 5.1): a
// per-release contextual-integrity filter, a monitor in three configurations,
// a capability system, information-flow control. They are implemented from
// the papers on such systems, with Margay's own recognisers where one is
// needed, and tuned on nothing that evaluates.
//
// Every Defence keeps the contract that the suite tests: as many parts as the
// candidate has, or none for a denial; the candidate is not changed; the same
// candidates give the same answers; words of the task alone reach a service
// that the task needs; sessions are independent, and may run at once.
package defence

import (
	"context"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
)

// Known is what a mediator is told when a trajectory begins.
type Known struct {
	ID       string
	Category string
	Request  string
	Records  []world.Record // what the user registered with a vault
}

// Part is one argument of a candidate.
type Part struct {
	Path  string
	Field world.Field // by the tool's schema; empty for none
	Free  bool
	From  world.Source // where the agent's runtime has it from
	Text  string
}

// Candidate is one release that the agent asks for.
type Candidate struct {
	Step   int
	Tool   string
	Action string
	Sink   world.Sink
	Parts  []Part
}

// Outcome is what a defence made of a candidate.
type Outcome struct {
	// Parts are the texts that go on, in order; nil: denied.
	Parts []string
	// Fallback: the release was denied, or went the conservative way since
	// what an adviser said of it could not be used.
	Fallback bool
	// Phases are times by phase; nil where there are none.
	Phases map[string]time.Duration
	// Why says, where a defence can, what was done with each part, in order;
	// of a denial, in one line, by which rules. No value stands in it.
	Why []string
}

// Certified is what a defence with a ledger has charged for a trajectory.
type Certified struct {
	// Bits are certified costs, unweighted, of what sinks other than required
	// services know, by each field that some were shown a view of: of all that
	// the rubrics declare to depend on it, with the audit's margin.
	Bits map[world.Field]float64
	// Ops are the most disclosing operators that such sinks were shown each
	// field under.
	Ops map[world.Field]string
	// Total and Cap are the sum over all values at such sinks, and what it may
	// come to, in bits.
	Total, Cap float64
	// Exceeded: an independent look at the ledger finds some total above its
	// limit.
	Exceeded bool
}

// Session is one trajectory under a defence. It is used by one goroutine.
type Session interface {
	Release(ctx context.Context, c *Candidate) (Outcome, error)
}

// Accountant is a Session that keeps a ledger.
type Accountant interface {
	Certified(ctx context.Context) (Certified, error)
}

// Defence makes sessions. It is safe for concurrent use.
type Defence interface {
	Name() string
	Begin(ctx context.Context, k Known) (Session, error)
}

// Informed is a reference that is shown the truth.
type Informed interface {
	BeginWith(t *world.Task) Session
}

// CandidateOf is what a defence is shown of a step.
func CandidateOf(t *world.Task, step int) *Candidate {
	s := &t.Steps[step]
	c := &Candidate{Step: step, Tool: s.Tool, Action: s.Action, Sink: s.Sink}
	for i := range s.Parts {
		p := &s.Parts[i]
		c.Parts = append(c.Parts, Part{p.Path, p.Field, p.Free, p.From, p.Text})
	}
	return c
}

// KnownOf is what a defence is told of a task.
func KnownOf(t *world.Task) Known { return Known{t.ID, t.Category, t.Request, t.Records} }

// Baselines are all defences of this package that are compared with, in order.
func Baselines() ([]Defence, error) {
	m, err := newMonitor()
	if err != nil {
		return nil, err
	}
	return with(m), nil
}

// Names are the names of Baselines, for which nothing is built.
func Names() []string {
	var out []string
	for _, d := range with(nil) {
		out = append(out, d.Name())
	}
	return out
}

func with(m *monitor) []Defence {
	return []Defence{
		Undefended{}, &Filter{m}, &MonitorOnly{m}, &Threshold{m, ThresholdBits}, &MonitorLedger{m, LedgerBits}, Capability{}, &Taint{m},
	}
}

// stateless makes sessions of a function.
type stateless func(c *Candidate) Outcome

func (f stateless) Release(_ context.Context, c *Candidate) (Outcome, error) { return f(c), nil }

func denied() Outcome { return Outcome{Fallback: true} }

// all lets everything through.
func all(c *Candidate) Outcome {
	out := make([]string, len(c.Parts))
	for i := range c.Parts {
		out[i] = c.Parts[i].Text
	}
	return Outcome{Parts: out}
}

// Redaction stands for what was taken out.
const Redaction = "[REDACTED]"

func trusted(c *Candidate) bool { return c.Sink.Class == flow.RequiredService }
