package taint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/clear"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/observe"
)

// Step is what a model proposed, and under which label.
type Step struct {
	Calls []flow.ToolCall
	More  bool        // calls may follow that are not known yet
	From  clear.Basis // of what the model was shown: View.Basis
	User  []string    // the user's own texts: History.Own
	// History has the regions that may be at fault; nil names none.
	History *clear.History
	// Level is the one that the model was shown the history at.
	Level    clear.Level
	Replayed bool // the step was made again already
	Grants   []clear.Grant
	Key      Key // of grants' digests
}

// Verdict is what becomes of one call, and why.
type Verdict struct {
	clear.Verdict
	Clearance Clearance
	Blame     []Blame // the regions at fault, at most 8
	Reasons   []flow.Reason
}

// Ruling is what becomes of a step.
type Ruling struct {
	Verdicts []Verdict
	// Replay: the step's labels are too high for its calls, and making it
	// again at Level may help. Level is the meet of what all its calls need.
	Replay bool
	Level  clear.Level
}

// Outcome is the strictest of the verdicts.
func (r *Ruling) Outcome() flow.Outcome {
	out := flow.Allow
	for i := range r.Verdicts {
		switch o := r.Verdicts[i].Outcome; {
		case o == flow.Deny || out == flow.Deny:
			out = flow.Deny
		case o == flow.Confirm:
			out = flow.Confirm
		}
	}
	return out
}

// Bounds of the regions that a verdict names, and of those looked at for them.
const (
	maxBlame  = 8
	maxFaulty = 64
)

// Decide says for each call of a step whether it is run, asked about or
// skipped. The kernel decides by what the packs say that each call needs; what
// is added here are the reasons.
func (p *Policy) Decide(s Step) Ruling {
	lat := p.scheme.Lattice
	step := clear.Step{Lattice: lat, From: s.From, Grants: s.Grants, Digests: s.Key.Digests()}
	needs, along := make([]Clearance, len(s.Calls)), p.along(&s)
	for i, call := range s.Calls {
		needs[i] = along.Clear(call, s.User)
		step.Calls = append(step.Calls, clear.Proposal{Call: call, Needs: needs[i].Needs})
	}
	ruled := clear.Decide(&step)
	r := Ruling{Replay: ruled.High && !s.Replayed, Level: ruled.Level}
	if p.InWorkspace(s.From.Label()) {
		r.Replay = false
	} else if r.Replay && p.scheme.Workspace != p.scheme.Untrusted && !ruled.Level.Admits(lat, label.Label{Integrity: p.scheme.Workspace, Confidentiality: p.scheme.Private}) {
		// Less than the workspace would leave an agent nothing to work on. What
		// the calls need is decided again from there.
		r.Level = p.floor()
	}
	for i, decided := range ruled.Verdicts {
		c := needs[i]
		v := Verdict{Verdict: decided, Clearance: c, Reasons: slices.Clone(c.Reasons)}
		switch {
		case c.Deny:
		case v.Granted:
			v.Reasons = append(v.Reasons, flow.Reason{Code: CodeGranted, Detail: "allowed for this trajectory"})
		case !v.Fits:
			v.Reasons = append(v.Reasons, flow.Reason{Code: CodeLabel, Detail: fmt.Sprintf(
				"what the model was shown is %s, and this call may follow from %s", lat.Format(s.From.Label()), c.Limit.Format(lat),
			)})
			v.Blame = s.blame(c.Limit)
			for _, b := range v.Blame {
				v.Reasons = append(v.Reasons, flow.Reason{Code: CodeLabel, Detail: b.Describe(lat)})
			}
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	return r
}

// blame lists the regions that the model was shown and the limit does not
// admit.
func (s *Step) blame(l clear.Limit) []Blame {
	if s.History == nil {
		return nil
	}
	var out []Blame
	looked := 0
	for i := range s.History.Messages {
		for j := range s.History.Messages[i].Regions {
			r := &s.History.Messages[i].Regions[j]
			if l.Admits(s.History.Lattice, r.Label) {
				continue
			}
			if looked++; looked > maxFaulty || len(out) == maxBlame {
				return out
			}
			if s.Level.Admits(s.History.Lattice, r.Label) {
				out = append(out, Blame{Message: i, Region: j, Label: r.Label, From: r.From})
			}
		}
	}
	return out
}

// Describe names a region without its content.
func (b *Blame) Describe(lat label.Lattice) string {
	what := string(b.From.Role)
	if b.From.Tool != "" {
		what = "result of " + shown(b.From.Tool)
		if b.From.Role == flow.RoleAssistant {
			what = "call of " + shown(b.From.Tool)
		}
	}
	if b.From.Field != "" {
		what += ", " + b.From.Field
	}
	return fmt.Sprintf("message %d (%s) is %s", b.Message+1, what, lat.Format(b.Label))
}

// shown is a tool's name as far as it is safe to print.
func shown(name string) string {
	if !observe.PlainName(name) {
		return "a tool with a strange name"
	}
	return name
}

// Key is the secret that calls' digests are keyed by.
type Key clear.Key

// Digests makes digests of calls whose arguments are one strict JSON object.
func (k Key) Digests() clear.Digests {
	return clear.Digests{Key: clear.Key(k), Canonical: document.Canonical}
}

// Digest returns the digest of a call; clear.ErrCall where it has none.
func (k Key) Digest(call flow.ToolCall) (clear.Digest, error) { return k.Digests().Digest(call) }

// Question is what a person is asked about a call.
type Question struct {
	Digest       clear.Digest
	Call         flow.ToolCall
	Label        label.Label // that the call would be made under
	Limit        clear.Limit // that it may be made under unasked
	Blame        []Blame
	Reasons      []flow.Reason
	Acts         []act.Act // what the call does, where that decides
	Destinations []string  // arguments that say where it goes
	Free         []string  // arguments that a grant leaves free
	Kinds        []string  // of what the call does, which a grant covers in other calls, too
	Folder       string    // that a person may trust, since the call works there; empty for none
}

// Question makes the question that a verdict calls for.
func (p *Policy) Question(k Key, v *Verdict, under label.Label) (Question, error) {
	d, err := k.Digest(v.Call)
	if err != nil {
		return Question{}, err
	}
	q := Question{Digest: d, Call: v.Call, Label: under, Limit: v.Clearance.Limit, Blame: v.Blame, Reasons: v.Reasons, Acts: v.Clearance.Acts, Kinds: v.Clearance.Kinds}
	if t := p.tools[v.Call.Name]; t != nil {
		q.Destinations, q.Free = slices.Clone(t.Destinations), slices.Clone(t.Free)
		if r := v.Clearance.Rule; r > 0 && len(q.Acts) > 0 {
			q.Folder = t.Rules[r-1].Spec.Offer(p.machine, document.Arguments(v.Call.Arguments))
		}
	}
	return q, nil
}

// ErrGrant says that a grant can't be given.
var ErrGrant = errors.New("no grant")

// Grant makes a grant for calls like this one.
func (p *Policy) Grant(k Key, id flow.TrajectoryID, call flow.ToolCall, under label.Label, free []string) (clear.Grant, error) {
	t := p.tools[call.Name]
	for _, f := range free {
		switch {
		case t == nil || !slices.Contains(t.Args, f):
			return clear.Grant{}, fmt.Errorf("%w: the pack has no argument %s", ErrGrant, strings.ToValidUTF8(f, "?"))
		case slices.Contains(t.Destinations, f):
			return clear.Grant{}, fmt.Errorf("%w: %s is a destination, and can't be left free", ErrGrant, f)
		}
	}
	g, err := k.Digests().Grant(id, call, under, free)
	if err != nil {
		return clear.Grant{}, fmt.Errorf("%w: %w", ErrGrant, err)
	}
	return g, nil
}
