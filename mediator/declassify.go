package mediator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/declassify"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/stream"
)

// Declassify is how releases are held to rubrics and charged to budgets.
type Declassify struct {
	// Verifier decides, and commits what it authorises.
	Verifier Releaser
	// Tool returns what is known by configuration of the tool that a call is
	// of: a memory where it writes to one. Other calls are not looked at here.
	// Only a name and arguments are asked for.
	Tool func(call flow.ToolCall) (declassify.Tool, bool)
	// Memories are the sinks that keep what they are told beyond a trajectory:
	// of tools whose channel is flow.ChannelMemory. Names that one was told mean
	// the same in all trajectories of a caller.
	Memories []string
	// Kept is where the values of those names are kept, sealed, for as long as
	// the memories last; nil: in Config.Values.
	Kept Values
	// Model returns the model endpoint as a sink. What a prompt says, and what
	// tools tell the model, is a release to it. Nil: neither is looked at here.
	Model func(sink flow.Sink) (declassify.Tool, bool)
	// Trusted reports whether nobody else writes what a tool tells. It is asked
	// where labels are not kept (Config.Taint); nil: of none.
	Trusted func(tool string) bool
	// Desk asks a person about releases that can't be made with what their sinks
	// need, where the verifier makes questions of them (declassify.Config.Ask);
	// nil: they are denied.
	Desk *confirm.Desk
	// Report tells what would be done and changes nothing. The verifier should
	// then commit to a ledger that is nobody's record.
	Report bool
}

// Releaser decides about releases; *declassify.Verifier is one.
type Releaser interface {
	Release(ctx context.Context, c declassify.Candidate) (declassify.Release, error)
}

// releasePatience bounds a decision about a call that is part of an answer.
const releasePatience = time.Minute

// declassifies reports whether calls are held to rubrics.
func (s *Session) declassifies() bool { return s.e.cfg.Declassify != nil }

// releaseCall takes the arguments of a call of a known tool through the
// verifier, after what secrets were found in them is edited out. It reports
// whether that decides about the call: pseudonyms in it are turned back where
// the tool's rubric admits that.
func (s *Session) releaseCall(cfg *stream.Config, name string, args []byte, v *verdict) bool {
	d := s.e.cfg.Declassify
	if d == nil || name == "" {
		return false
	}
	tool, ok := d.Tool(flow.ToolCall{Name: name, Arguments: string(args)})
	if !ok {
		return false
	}
	for i := range v.found {
		if f := &v.found[i]; f.Kind == secret.KindPrivateKey && f.Action != flow.ActReport {
			v.refusal = refusal(told(cfg, name), "a private key", f.Kind)
			return !d.Report
		}
	}
	before := args
	var edits []stream.Edit
	if len(v.edits) > 0 {
		var whole bool
		if edits, whole = insideStrings(args, v.edits); !whole {
			return false // what is not declassified is refused there
		}
		before = apply(edits, 0, args)
	}
	ctx, cancel := context.WithTimeout(context.Background(), releasePatience)
	defer cancel()
	l, ok := leavesOf(before)
	if !ok {
		if !d.Report {
			v.refusal = notReleased(told(cfg, name), "its arguments can be read in several ways")
		}
		return !d.Report
	}
	parts := l.parts(&tool)
	r := s.release(ctx, verbOf(&tool), tool, parts)
	if d.Report {
		return false
	}
	if !r.Released() {
		if s.passes(&r) {
			return false
		}
		v.refusal = notReleased(told(cfg, name), why(&r)+waiting(&r))
		return true
	}
	out, ok := l.edits(r.Parts)
	switch {
	case !ok:
		v.refusal = notReleased(told(cfg, name), "the name of an argument would have to be changed")
	case len(edits) == 0:
		v.edits = out
	case len(out) == 0:
		v.edits = edits
	default:
		v.edits = []stream.Edit{{Start: 0, End: int64(len(args)), Text: apply(out, 0, before)}}
	}
	return true
}

// releaseTexts takes what goes to the model through the verifier: the texts of
// a prompt or of what a tool tells, as they are edited so far.
func (s *Session) releaseTexts(ctx context.Context, verb flow.Verb, texts []Text, r *Result) error {
	d := s.e.cfg.Declassify
	if d == nil || d.Model == nil || r.Denied() || s.e.cfg.Observe || verb != flow.Prompt && verb != flow.Observe {
		return nil
	}
	tool, ok := d.Model(s.sink)
	if !ok {
		return nil
	}
	var parts []declassify.Part
	var open []shown
	for i := range texts {
		t := &texts[i]
		if t.Opaque != "" || t.Text == "" {
			continue
		}
		x := shown{t: t, text: t.Text}
		if edited, ok := r.Edits[t.ID]; ok {
			x.text = edited
		}
		public, untrusted := s.speaker(verb, t)
		if public {
			continue
		}
		x.key = keyed(s.e.cfg.Keys.Pseudonym[:], "margay released v1", []byte(tool.Sink), []byte(t.Field.String()), []byte{byte(tool.Class), flag(untrusted)}, []byte(x.text))
		if m, ok := s.t.recall(x.key); ok {
			if m.changed {
				r.Edits[t.ID] = m.text
			}
			continue
		}
		x.from = len(parts)
		if l, ok := leavesOf([]byte(x.text)); ok && (t.JSON || t.Field == flow.FieldToolArguments) {
			x.leaves = l
			parts = append(parts, l.parts(&tool)...)
		} else {
			parts = append(parts, declassify.Part{Text: x.text})
		}
		for k := x.from; k < len(parts); k++ {
			parts[k].Path, parts[k].Untrusted = t.Field.String(), untrusted
		}
		x.to = len(parts)
		open = append(open, x)
	}
	if len(parts) == 0 {
		return nil
	}
	got := s.release(ctx, verb, tool, parts)
	if d.Report || !got.Released() && s.passes(&got) {
		return nil
	}
	if !got.Released() {
		r.Decision.Outcome = flow.Deny
		r.Decision.Reasons = append(r.Decision.Reasons, got.Reasons...)
		clear(r.Edits)
		return nil
	}
	for i := range open {
		x := &open[i]
		text, ok := x.released(got.Parts[x.from:x.to])
		if changed := text != x.text; !ok || changed && x.t.Fixed {
			r.Decision.Outcome = flow.Deny
			r.Decision.Reasons = append(r.Decision.Reasons, flow.Reason{Code: "fixed-text", Detail: "a text that can't be edited says what the model may not be told"})
			clear(r.Edits)
			return nil
		} else if changed {
			r.Edits[x.t.ID], r.Decision.Outcome = text, flow.Rewrite
		}
		s.t.remember(x.key, mediated{text: text, changed: text != x.t.Text})
	}
	return s.seal(ctx)
}

// userSide reports whether the user, or who set the agent up, speaks in a role.
// No role at all is a setting of the request.
func userSide(r flow.Role) bool {
	return r == "" || r == flow.RoleUser || r == flow.RoleSystem || r == flow.RoleDeveloper
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// shown is a text on its way to the model.
type shown struct {
	t        *Text
	text     string
	leaves   *leaves // where it is JSON
	from, to int
	key      [32]byte
}

func (x *shown) released(parts []declassify.Part) (string, bool) {
	if x.leaves == nil {
		return parts[0].Text, true
	}
	edits, ok := x.leaves.edits(parts)
	return string(apply(edits, 0, []byte(x.text))), ok
}

// speaker says whether anybody may read a text, and whether somebody else than
// the user may have written it. A model is somebody else: shown its own guess
// under the name of a value, it would know that the guess is right.
func (s *Session) speaker(verb flow.Verb, t *Text) (public, untrusted bool) {
	switch {
	case t.Role == flow.RoleAssistant || t.Field == flow.FieldToolArguments:
		return false, true
	case t.Tool == "":
		return false, verb == flow.Observe || !userSide(t.Role)
	}
	if cfg := s.e.cfg.Taint; cfg != nil {
		var l label.Label
		lat := cfg.Policy.Scheme().Lattice
		for _, r := range cfg.Policy.Annotate(flow.ToolCall{Name: t.Tool, Arguments: "{}"}, t.Text).Regions {
			l = lat.Join(l, r.Label)
		}
		return l.Confidentiality == "", l.Integrity != ""
	}
	d := s.e.cfg.Declassify
	return false, d.Trusted == nil || !d.Trusted(t.Tool)
}

// release asks the verifier, keeps the values that became pseudonyms, and
// records the decision. What can't be kept or recorded is not released.
func (s *Session) release(ctx context.Context, verb flow.Verb, tool declassify.Tool, parts []declassify.Part) declassify.Release {
	res := Result{Decision: s.decision(verb)}
	res.Decision.Sink = flow.Sink{Name: tool.Sink, Channel: tool.Channel, Trust: s.sink.Trust}
	names := &sessionNames{s: s, ctx: ctx, values: map[string]string{}}
	if tool.Channel == flow.ChannelMemory {
		names.memory = s.t.memory(tool.Sink)
		parts = s.remembered(names, parts)
	}
	c := declassify.Candidate{
		// What names a trajectory of its own within a run has no budget of its own.
		Family:     s.e.cfg.Family,
		Trajectory: s.t.id, Decision: res.Decision.ID, Tool: tool, Parts: parts,
		Names: names,
	}
	r, err := s.e.cfg.Declassify.Verifier.Release(ctx, c)
	if err == nil {
		r = s.waive(ctx, &c, r)
	} else {
		r = declassify.Release{Outcome: flow.Deny, Reasons: []flow.Reason{{Code: "deadline", Detail: "the release was not decided in time"}}}
	}
	for _, n := range r.Named {
		if s.e.cfg.Declassify.Report || names.memory != nil {
			break // nobody is told the name, or the memory's readers are
		}
		if s.replaced == nil {
			s.replaced = map[string][]byte{}
		}
		s.replaced[n.Name] = []byte(n.Value)
	}
	res.Decision.Outcome, res.Decision.Reasons = r.Outcome, s.told(r.Reasons)
	if s.e.cfg.Declassify.Report {
		res.Decision.Outcome = flow.Allow
		for i := range res.Decision.Reasons {
			res.Decision.Reasons[i].Action = flow.ActReport
		}
	} else if err := errors.Join(s.seal(ctx), names.keep(&r)); err != nil {
		return declassify.Release{Outcome: flow.Deny, Reasons: []flow.Reason{{Code: codeStore, Detail: "the store failed; run margay doctor"}}}
	}
	if err := s.record(ctx, &res); err != nil {
		return declassify.Release{Outcome: flow.Deny, Reasons: []flow.Reason{{Code: codeStore, Detail: "the store failed; run margay doctor"}}}
	}
	return r
}

// passes reports whether a release that failed, and was not decided, passes.
func (s *Session) passes(r *declassify.Release) bool {
	if !s.e.cfg.OnErrorPass {
		return false
	}
	for _, x := range r.Reasons {
		switch x.Code {
		case codeStore, "deadline", string(declassify.LedgerFailed), string(declassify.ValidatorError):
			return true
		}
	}
	return false
}

// why is what a model is told of a release that is refused.
func why(r *declassify.Release) string {
	for _, x := range r.Reasons {
		switch declassify.Rule(x.Code) {
		case declassify.Unlabelled, declassify.Coverage, declassify.OutOfRange: // of parts that were redacted
			continue
		}
		return x.Detail
	}
	return "it may not be released"
}

func notReleased(name, because string) string {
	if name == "" {
		name = "a tool"
	}
	return "[margay: the call of " + name + " was not made: " + because + ". Ask for less, or leave out what the tool does not need.]"
}

// leaves are the strings, numbers and names of a JSON document, or one text
// that is none.
type leaves struct {
	raw []byte
	at  []leaf
}

type leaf struct {
	path       string
	text       string
	start, end int // of the content
	key, quote bool
	literal    bool // true, false or null
}

// leavesOf reads a document. It fails for what looks like one and can be read
// in several ways.
func leavesOf(raw []byte) (*leaves, bool) {
	l := &leaves{raw: raw}
	var d strictjson.Doc
	if err := d.Parse(raw, strictjson.Limits{MaxBytes: 2 * maxArguments}); err != nil {
		if t := bytes.TrimSpace(raw); len(t) > 0 && (t[0] == '{' || t[0] == '[' || t[0] == '"') {
			return nil, false
		}
		l.at = append(l.at, leaf{text: string(raw), end: len(raw)})
		return l, true
	}
	paths := make([]string, len(d.Nodes))
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Parent >= 0 {
			name := strconv.Itoa(n.Index)
			if d.Nodes[n.Parent].Kind == strictjson.Object {
				// A name is one segment, whatever it is.
				name = cmp.Or(strings.ReplaceAll(d.Key(i), ".", "_"), "_")
				l.at = append(l.at, leaf{path: join(paths[n.Parent], name), text: d.Key(i), start: n.KeyStart, end: n.KeyEnd, key: true})
			}
			paths[i] = join(paths[n.Parent], name)
		}
		switch n.Kind {
		case strictjson.String:
			l.at = append(l.at, leaf{path: paths[i], text: d.Text(i), start: n.Start + 1, end: n.End - 1})
		case strictjson.Number:
			l.at = append(l.at, leaf{path: paths[i], text: string(d.Value(i)), start: n.Start, end: n.End, quote: true})
		case strictjson.True, strictjson.False, strictjson.Null:
			l.at = append(l.at, leaf{path: paths[i], text: string(d.Value(i)), start: n.Start, end: n.End, quote: true, literal: true})
		}
	}
	return l, true
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// parts are the leaves as parts of a candidate. Names that the tool's schema
// has are no parts.
func (l *leaves) parts(tool *declassify.Tool) []declassify.Part {
	kept := l.at[:0]
	var out []declassify.Part
	tool.Args = append(slices.Clip(tool.Args), declassify.Arg{Path: "#"})
	for _, x := range l.at {
		path := x.path
		switch {
		case x.literal && settled(tool, &x):
			continue
		case x.key && tool.Declares(x.path):
			continue
		case x.key && isIdentifier(x.text) && tool.Holds(x.path):
			path = "#" // of names that the schema leaves open; it passes unless a clause matches
		case x.key:
			// A model may write anything into a name that the schema lacks: it
			// is text like any other of its argument.
			path = join(x.path, "##")
		}
		kept = append(kept, x)
		out = append(out, declassify.Part{Path: path, Text: x.text})
	}
	l.at = kept
	return out
}

// settled reports whether a literal says nothing that is to be decided: in a
// plain argument, or none in any that the schema has. What a tool tells has
// any number of them, and they are nobody's secret.
func settled(tool *declassify.Tool, x *leaf) bool {
	if tool.Channel == flow.ChannelModel {
		return true
	}
	arg := tool.Arg(x.path)
	return tool.Holds(x.path) && (x.text == "null" || arg.Field == "" && !arg.Free)
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !(c >= 'a' && c <= 'z' || s[i] == '_' || i > 0 && (s[i] >= '0' && s[i] <= '9' || s[i] == '-')) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// edits are what makes the document of the parts that were released. A name
// can't be changed.
func (l *leaves) edits(parts []declassify.Part) ([]stream.Edit, bool) {
	var out []stream.Edit
	for i := range l.at {
		x := &l.at[i]
		if parts[i].Text == x.text {
			continue
		}
		if x.key {
			return nil, false
		}
		text := []byte(parts[i].Text)
		if len(l.at) > 1 || x.path != "" || x.start > 0 || x.quote {
			var err error
			if text, err = quoted(parts[i].Text); err != nil {
				return nil, false
			}
			if !x.quote {
				text = text[1 : len(text)-1]
			}
		}
		out = append(out, stream.Edit{Start: int64(x.start), End: int64(x.end), Text: text})
	}
	return out, true
}

func quoted(s string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
