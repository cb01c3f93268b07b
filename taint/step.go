package taint

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/label"
)

// Step is what a model proposed, and under which label.
type Step struct {
	Calls []flow.ToolCall
	Label label.Label // of what the model was shown: View.Label
	User  []string    // the user's own texts: History.Own
	// History tells which regions are at fault; nil tells none.
	History *History
	// Level is the one that the model was shown the history at.
	Level    Level
	Replayed bool // the step was made again already
	Grants   []Grant
	Key      Key // of grants' digests
}

// Verdict is what becomes of one call.
type Verdict struct {
	Call      flow.ToolCall
	Outcome   flow.Outcome // Allow: run it; Confirm: ask; Deny: skip it and tell the model so
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
	Level  Level
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

// maxBlame bounds the regions that a verdict names.
const maxBlame = 8

// Decide says for each call of a step whether it is run, asked about or
// skipped: it is run if the step's label flows to its clearance or a grant
// covers it.
func (p *Policy) Decide(s Step) Ruling {
	r := Ruling{Level: Everything()}
	lat := p.scheme.Lattice
	for _, call := range s.Calls {
		c := p.Clear(call, s.User)
		v := Verdict{Call: call, Clearance: c, Outcome: flow.Allow, Reasons: slices.Clone(c.Reasons)}
		fits := c.Limit.Admits(lat, s.Label)
		switch {
		case c.Deny:
			v.Outcome = flow.Deny
			r.Verdicts = append(r.Verdicts, v)
			continue
		case (!fits || c.Confirm) && slices.ContainsFunc(s.Grants, func(g Grant) bool { return g.Covers(p, s.Key, call, s.Label) }):
			v.Reasons = append(v.Reasons, flow.Reason{Code: CodeGranted, Detail: "allowed for this trajectory"})
			fits = true
		case c.Confirm || !fits:
			v.Outcome = flow.Confirm
		}
		if !fits {
			r.Replay = true
			v.Reasons = append(v.Reasons, flow.Reason{Code: CodeLabel, Detail: fmt.Sprintf(
				"what the model was shown is %s, and this call may follow from %s", lat.Format(s.Label), c.Limit.Format(lat),
			)})
			v.Blame = s.blame(c.Limit)
			for _, b := range v.Blame {
				v.Reasons = append(v.Reasons, flow.Reason{Code: CodeLabel, Detail: b.Describe(lat)})
			}
		}
		r.Level = r.Level.Meet(At(c.Limit))
		r.Verdicts = append(r.Verdicts, v)
	}
	r.Replay = r.Replay && !s.Replayed
	return r
}

// blame lists the regions that the model was shown and the limit does not
// admit.
func (s *Step) blame(l Limit) []Blame {
	if s.History == nil {
		return nil
	}
	var out []Blame
	for _, b := range s.History.Blame(l, 64) {
		if s.Level.Admits(s.History.Lattice, b.Label) && len(out) < maxBlame {
			out = append(out, b)
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
	return fmt.Sprintf("message %d (%s) is %s", b.At.Message+1, what, lat.Format(b.Label))
}

// shown is a tool's name as far as it is safe to print.
func shown(name string) string {
	if !plainName(name) {
		return "a tool with a strange name"
	}
	return name
}

// Key is the secret that calls' digests are keyed by.
type Key [32]byte

// Digest stands for one exact call: its name and its arguments in canonical
// form, without its id. It tells nothing about them without the key.
type Digest [32]byte

// ErrCall says that a call has no digest: its arguments are not one strict
// JSON object.
var ErrCall = errors.New("the call's arguments are not one strict JSON object")

// Digest returns the digest of a call.
func (k Key) Digest(call flow.ToolCall) (Digest, error) { return k.digest("call", call, nil) }

func (k Key) digest(what string, call flow.ToolCall, without []string) (Digest, error) {
	args := arguments(call.Arguments)
	if args == nil {
		return Digest{}, ErrCall
	}
	mac := hmac.New(sha256.New, k[:])
	free := slices.Clone(without)
	slices.Sort(free)
	fmt.Fprintf(mac, "margay taint %s 1\x00%q\x00%q\x00", what, call.Name, free)
	mac.Write(args.canonical(nil, 0, without))
	return Digest(mac.Sum(nil)), nil
}

// canonical appends a value without space, with sorted keys, numbers as they
// are written. Names in without are left out of the object at the top.
func (t *tree) canonical(dst []byte, i int, without []string) []byte {
	n := &t.nodes[i]
	switch n.kind {
	case text:
		return strictjson.AppendQuote(dst, []byte(n.value))
	case number, boolean, null:
		return append(dst, n.value...)
	}
	var parts []int
	for c := i + 1; c < n.next; c = t.nodes[c].next {
		if n.kind == list || !slices.Contains(without, t.nodes[c].key) {
			parts = append(parts, c)
		}
	}
	open, end := byte('['), byte(']')
	if n.kind == dict {
		open, end = '{', '}'
		sort.Slice(parts, func(a, b int) bool { return t.nodes[parts[a]].key < t.nodes[parts[b]].key })
	}
	dst = append(dst, open)
	for j, c := range parts {
		if j > 0 {
			dst = append(dst, ',')
		}
		if n.kind == dict {
			dst = append(strictjson.AppendQuote(dst, []byte(t.nodes[c].key)), ':')
		}
		dst = t.canonical(dst, c, nil)
	}
	return append(dst, end)
}

// Question is what a person is asked about a call.
type Question struct {
	Digest       Digest
	Call         flow.ToolCall
	Label        label.Label // that the call would be made under
	Limit        Limit       // that it may be made under unasked
	Blame        []Blame
	Reasons      []flow.Reason
	Destinations []string // arguments that say where it goes
	Free         []string // arguments that a grant leaves free
}

// Question makes the question that a verdict calls for.
func (p *Policy) Question(k Key, v *Verdict, under label.Label) (Question, error) {
	d, err := k.Digest(v.Call)
	if err != nil {
		return Question{}, err
	}
	q := Question{Digest: d, Call: v.Call, Label: under, Limit: v.Clearance.Limit, Blame: v.Blame, Reasons: v.Reasons}
	if t := p.tools[v.Call.Name]; t != nil {
		q.Destinations, q.Free = slices.Clone(t.Destinations), slices.Clone(t.Free)
	}
	return q, nil
}

// Permit lets one exact call be run. Only a verdict that allows or a person's
// answer makes one; the zero Permit covers nothing. Whoever runs calls asks
// Covers first.
type Permit struct {
	digest Digest
	ok     bool
}

// Permit returns the permit of a verdict that allows.
func (v *Verdict) Permit(k Key) (Permit, bool) {
	if v.Outcome != flow.Allow {
		return Permit{}, false
	}
	d, err := k.Digest(v.Call)
	return Permit{d, err == nil}, err == nil
}

// Confirmed returns the permit for the call that a person said yes to. A
// verdict that denies has none.
func (v *Verdict) Confirmed(k Key, yes Digest) (Permit, bool) {
	d, err := k.Digest(v.Call)
	if err != nil || v.Outcome == flow.Deny || !hmac.Equal(d[:], yes[:]) {
		return Permit{}, false
	}
	return Permit{d, true}, true
}

// Covers reports whether the permit is for this call.
func (p Permit) Covers(k Key, call flow.ToolCall) bool {
	d, err := k.Digest(call)
	return p.ok && err == nil && hmac.Equal(d[:], p.digest[:])
}

// Grant is a yes for a trajectory: to calls of one tool, made under a label
// that flows to the one it was given for, whose arguments are those of the
// call that was asked about, but for the ones named as free.
type Grant struct {
	Trajectory flow.TrajectoryID
	Tool       string
	Label      label.Label
	Free       []string
	Fixed      Digest // of tool and the other arguments
}

// ErrGrant says that a grant can't be given.
var ErrGrant = errors.New("no grant")

// Grant makes a grant for calls like this one.
func (p *Policy) Grant(k Key, id flow.TrajectoryID, call flow.ToolCall, under label.Label, free []string) (Grant, error) {
	t := p.tools[call.Name]
	for _, f := range free {
		switch {
		case t == nil || !slices.Contains(t.Args, f):
			return Grant{}, fmt.Errorf("%w: %s is no argument that the pack knows", ErrGrant, strings.ToValidUTF8(f, "?"))
		case slices.Contains(t.Destinations, f):
			return Grant{}, fmt.Errorf("%w: %s says where it goes, and can't be left free", ErrGrant, f)
		}
	}
	free = slices.Clone(free)
	slices.Sort(free)
	free = slices.Compact(free)
	d, err := k.digest("grant", call, free)
	if err != nil {
		return Grant{}, fmt.Errorf("%w: %w", ErrGrant, err)
	}
	return Grant{id, call.Name, under, free, d}, nil
}

// Covers reports whether a grant is for a call that is made under a label. The
// caller holds it to its trajectory.
func (g *Grant) Covers(p *Policy, k Key, call flow.ToolCall, under label.Label) bool {
	if call.Name != g.Tool || !p.scheme.Lattice.FlowsTo(under, g.Label) {
		return false
	}
	d, err := k.digest("grant", call, g.Free)
	return err == nil && hmac.Equal(d[:], g.Fixed[:])
}
