package hook

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
)

// parts are the members of an event, by what they are.
type parts struct {
	flows []int // what flows
	own   []int // what the harness itself fills
	past  []int // what flowed before
	other []int // what nobody here has heard of
}

func (in *input) parts() parts {
	var p parts
	in.doc.Children(0, func(i int) bool {
		switch key := in.doc.Key(i); {
		case slices.Contains(in.event.flows, key):
			p.flows = append(p.flows, i)
		case slices.Contains(in.harness.own, key) || slices.Contains(in.event.own, key):
			p.own = append(p.own, i)
		case slices.Contains(in.event.past, key):
			p.past = append(p.past, i)
		default:
			p.other = append(p.other, i)
		}
		return true
	})
	return p
}

// data reports whether members can carry some: a text, a number of many
// digits, or a name below them.
func (in *input) data(of []int) bool {
	for _, top := range of {
		for i := top; i < in.doc.Nodes[top].Next; i++ {
			switch n := &in.doc.Nodes[i]; {
			case n.Kind == strictjson.String && n.End-n.Start > len(`""`),
				n.Kind == strictjson.Number && n.End-n.Start > 6,
				i != top && n.KeyEnd > n.KeyStart:
				return true
			}
		}
	}
	return false
}

// decide decides about an event.
func (h *Handler) decide(ctx context.Context, in *input) decision {
	s, err := h.session(ctx, in)
	if err != nil {
		return decision{outcome: block, reason: "margay: the store failed, so nothing passes; run margay doctor"}
	}
	h.begun(in, s)
	p := in.parts()
	if !in.known && in.data(p.other) {
		r := s.Note(ctx, flow.Tell, flow.Confirm, flow.Reason{Code: "hook-unknown-event", Detail: "an event that margay does not know carries data", Action: flow.ActBlock})
		return decision{outcome: ask, reason: "margay: this event is not known, and carries data that nobody looked at; a person has to decide (margay explain " + r.Decision.ID + ")"}
	}
	d := in.beside(ctx, s, &p)
	if d.outcome != block {
		// What flows counts for more than a note.
		if f := in.flowing(ctx, s, p.flows); f.outcome != allow {
			d = f
		}
	}
	in.result(ctx, s, &p)
	if d.outcome == block && in.known && in.told() {
		d.outcome = note // nothing waits for an answer
	}
	return d
}

// told reports whether the harness only tells what has happened.
func (in *input) told() bool { return in.event.verb == flow.Tell || in.event.verb == "" }

// message begins one for the mediator.
func (in *input) message(told bool) *mediator.ToolMessage {
	m := &mediator.ToolMessage{Tool: in.tool, Arguments: -1}
	if told {
		m.Notes = []flow.Reason{{Code: "hook-told", Detail: "the harness told this after the fact, and it could not be stopped", Action: flow.ActReport}}
	}
	return m
}

// beside decides about what stands beside what flows. It can't be edited.
func (in *input) beside(ctx context.Context, s *mediator.Session, p *parts) decision {
	// What nobody here has heard of may flow, as far as anybody knows.
	other := in.message(false)
	for _, i := range p.other {
		in.texts(other, i, true)
		other.Texts = append(other.Texts, mediator.Text{ID: -1 - i, Text: in.doc.Key(i), Fixed: true, Path: func() string { return "a key" }})
	}
	if len(other.Texts) > 0 {
		if r := s.Observe(ctx, other); r.Denied() {
			return in.said(&r, block)
		}
	}
	// The harness's own ids and paths say nothing by their look: only known
	// secrets and formats count in them.
	var own []mediator.Text
	for _, i := range p.own {
		in.strings(i, func(n int, text string) {
			own = append(own, mediator.Text{ID: n, Text: text, Path: func() string { return in.doc.Path(n) }})
		})
	}
	if len(own) > 0 {
		if r := s.Headers(ctx, own); r.Denied() {
			return in.said(&r, block)
		} else if len(r.Edits) > 0 {
			return in.said(&r, note)
		}
	}
	// What flowed before was decided then.
	past := in.message(false)
	for _, i := range p.past {
		in.texts(past, i, false)
	}
	if len(past.Texts) > 0 {
		if r := s.Observe(ctx, past); failed(&r) {
			return in.said(&r, block)
		} else if r.Denied() || len(r.Edits) > 0 {
			return in.said(&r, note)
		}
	}
	return decision{}
}

// flowing decides about what flows.
func (in *input) flowing(ctx context.Context, s *mediator.Session, flows []int) decision {
	if len(flows) == 0 {
		return decision{}
	}
	if in.event.verb == flow.Call {
		return in.calling(ctx, s, flows)
	}
	from, top := in, flows[0]
	if in.event.nested && in.doc.Nodes[top].Kind == strictjson.String {
		// JSON inside a string is edited as what it is.
		inner := &input{harness: in.harness, name: in.name, event: in.event, tool: in.tool}
		if inner.doc.Parse(in.doc.Bytes(top), strictjson.Limits{MaxBytes: MaxEvent}) == nil {
			from, top = inner, 0
		}
	}
	m := in.message(false)
	from.texts(m, top, !in.event.edits && !in.told())
	for _, i := range flows[1:] {
		// These can't be edited. Their numbers are not those of the first.
		k := len(m.Texts)
		in.texts(m, i, !in.told())
		for ; k < len(m.Texts); k++ {
			m.Texts[k].ID -= 1 << 30
		}
	}
	var r mediator.Result
	if in.event.verb == flow.Prompt {
		r = s.Prompt(ctx, m.Texts)
	} else {
		r = s.Observe(ctx, m)
	}
	switch {
	case in.told() && !failed(&r) && (r.Denied() || len(r.Edits) > 0):
		return in.said(&r, note)
	case r.Denied():
		return in.said(&r, block)
	case len(r.Edits) > 0:
		value, ok := from.edited(top, r.Edits)
		if !ok {
			return in.said(&r, block)
		}
		d := in.said(&r, edit)
		d.value = value
		return d
	}
	return decision{}
}

// calling decides about a call. What flows are its arguments: a document or,
// where a harness has it so, a string that holds one.
func (in *input) calling(ctx context.Context, s *mediator.Session, flows []int) decision {
	top := flows[0]
	raw := in.doc.Value(top)
	inString := false
	if in.event.nested && in.doc.Nodes[top].Kind == strictjson.String {
		var inner strictjson.Doc
		text := in.doc.Bytes(top)
		if inString = inner.Parse(text, strictjson.Limits{MaxBytes: MaxEvent}) == nil; inString {
			raw = text
		}
	}
	m := in.message(false)
	m.Arguments = top
	m.Texts = []mediator.Text{{ID: top, Text: string(raw), Field: flow.FieldToolArguments, Path: func() string { return in.doc.Path(top) }}}
	for _, i := range flows[1:] {
		in.texts(m, i, true)
	}
	r := s.Send(ctx, m)
	value, changed := r.Edits[top]
	made := string(raw)
	if changed {
		made = value
	}
	call := in.called(top, made)
	switch {
	case r.Denied():
		d := in.said(&r.Result, block)
		if r.Refusal != "" {
			d.reason = r.Refusal + " (margay explain " + r.Decision.ID + ")"
		}
		return d
	case changed && (!in.event.edits || !alike(raw, value)):
		return in.said(&r.Result, block)
	case changed:
		d := in.said(&r.Result, edit)
		d.value = []byte(value)
		if inString {
			d.value = strictjson.AppendQuote(nil, d.value)
		}
		return in.clear(ctx, s, call, d)
	}
	return in.clear(ctx, s, call, decision{})
}

// alike reports whether two documents differ in texts alone. A harness drops an
// edited value that is not of the tool's own form, and takes the one before.
func alike(before []byte, after string) bool {
	var a, b strictjson.Doc
	lim := strictjson.Limits{MaxBytes: 2 * MaxEvent}
	if a.Parse(before, lim) != nil || b.Parse([]byte(after), lim) != nil || len(a.Nodes) != len(b.Nodes) {
		return false
	}
	for i := range a.Nodes {
		if a.Nodes[i].Kind != b.Nodes[i].Kind || !slices.Equal(a.KeyBytes(i), b.KeyBytes(i)) {
			return false
		}
	}
	return true
}

// strings calls f with every text below a node: keys, strings and numbers.
func (in *input) strings(top int, f func(n int, text string)) {
	for i := top; i < in.doc.Nodes[top].Next; i++ {
		n := &in.doc.Nodes[i]
		if i != top && n.KeyEnd > n.KeyStart {
			f(i, in.doc.Key(i))
		}
		switch n.Kind {
		case strictjson.String:
			f(i, in.doc.Text(i))
		case strictjson.Number:
			f(i, string(in.doc.Value(i)))
		default:
		}
	}
}

// maxLeaves is how many texts of one member are looked at by themselves. With
// more, the whole is looked at as it is written.
const maxLeaves = 4096

// texts adds a member to a message: every string by itself, decoded. One that
// is a single word goes together with its key, whose name may say what it is.
// Names and numbers can't be edited.
func (in *input) texts(m *mediator.ToolMessage, top int, fixed bool) {
	if in.doc.Nodes[top].Next-top > maxLeaves {
		m.Texts = append(m.Texts, mediator.Text{
			ID: top, Text: string(in.doc.Value(top)), JSON: true, Tool: in.tool, Fixed: fixed, Path: func() string { return in.doc.Path(top) },
		})
		return
	}
	for i := top; i < in.doc.Nodes[top].Next; i++ {
		n := &in.doc.Nodes[i]
		add := func(id int, text string, json, fixed bool) {
			m.Texts = append(m.Texts, mediator.Text{
				ID: id, Text: text, JSON: json, Tool: in.tool, Fixed: fixed, Path: func() string { return in.doc.Path(i) },
			})
		}
		if i != top && n.KeyEnd > n.KeyStart {
			add(-1-i, in.doc.Key(i), false, true)
		}
		switch {
		case n.Kind == strictjson.String && picture(in.doc.Raw[n.Start+1:n.End-1]):
			m.Texts = append(m.Texts, mediator.Text{ID: i, Opaque: "a picture or document", Path: func() string { return in.doc.Path(i) }})
		case n.Kind == strictjson.Number:
			add(i, in.entry(i), true, true)
		case n.Kind == strictjson.String && in.word(i):
			add(i, in.entry(i), true, fixed)
		case n.Kind == strictjson.String:
			add(i, in.doc.Text(i), false, fixed)
		}
	}
}

// pictures are how PNG, JPEG, GIF, WebP and PDF begin in base64.
var pictures = []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0"}

// picture reports whether a text is a file of a kind that holds no text as it
// is written. Small ones are looked at all the same, since they cost little and
// may be something else.
func picture(raw []byte) bool {
	const small = 64 << 10
	if len(raw) < small || !slices.ContainsFunc(pictures, func(p string) bool { return bytes.HasPrefix(raw, []byte(p)) }) {
		return false
	}
	for _, c := range raw {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '=') {
			return false
		}
	}
	return true
}

// word reports whether a string below a member is one word.
func (in *input) word(i int) bool {
	n := &in.doc.Nodes[i]
	raw := in.doc.Raw[n.Start:n.End]
	return n.KeyEnd > n.KeyStart && in.doc.Nodes[i].Parent != 0 && len(raw) <= 512 && !bytes.ContainsAny(raw, " =\\")
}

// entry is a node with its key, as a document.
func (in *input) entry(i int) string {
	n := &in.doc.Nodes[i]
	key := in.doc.Raw[n.KeyStart:n.KeyEnd]
	if n.Parent == 0 {
		key = nil // a member's own name is the harness's
	}
	return `{"` + string(key) + `":` + string(in.doc.Value(i)) + `}`
}

// edited is the JSON of a member with edits of its texts.
func (in *input) edited(top int, edits map[int]string) ([]byte, bool) {
	if whole, ok := edits[top]; ok && in.doc.Nodes[top].Next-top > maxLeaves {
		return []byte(whole), alike(in.doc.Value(top), whole)
	}
	base := in.doc.Nodes[top].Start
	var all []strictjson.Splice
	for i := top; i < in.doc.Nodes[top].Next; i++ {
		text, ok := edits[i]
		if !ok {
			continue
		}
		if in.word(i) {
			var d strictjson.Doc
			if !alike([]byte(in.entry(i)), text) || d.Parse([]byte(text), strictjson.Limits{}) != nil {
				return nil, false
			}
			text = d.Text(1)
		}
		n := &in.doc.Nodes[i]
		all = append(all, strictjson.Splice{Start: n.Start - base, End: n.End - base, Text: strictjson.AppendQuote(nil, []byte(text))})
	}
	return strictjson.Apply(nil, in.doc.Value(top), all), len(all) > 0
}

// failed reports whether a denial is Margay's own failure.
func failed(r *mediator.Result) bool { return r.Denied() && len(r.Findings) == 0 }

// said is a decision with a reason that says what was found, never its value.
func (in *input) said(r *mediator.Result, o outcome) decision {
	explain := " (margay explain " + r.Decision.ID + ")"
	if failed(r) {
		detail := "it could not be decided"
		if n := len(r.Decision.Reasons); n > 0 {
			detail = r.Decision.Reasons[n-1].Detail
		}
		return decision{outcome: block, reason: "margay: nothing passes, for " + detail + explain}
	}
	var what []string
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Action == flow.ActAllow || f.Action == flow.ActReport {
			continue
		}
		one := string(f.Kind)
		if f.Name != "" {
			one += " " + f.Name
		}
		if !slices.Contains(what, one) {
			what = append(what, one)
		}
	}
	if len(what) == 0 { // it is known from before
		return decision{outcome: o, reason: "margay: " + in.sentence(o, "found before") + explain}
	}
	const most = 5
	list := strings.Join(what[:min(len(what), most)], ", ")
	if len(what) > most {
		list += fmt.Sprintf(" and %d more", len(what)-most)
	}
	return decision{outcome: o, reason: "margay: " + in.sentence(o, list) + explain}
}

// sentence says what became of what, and what to do.
func (in *input) sentence(o outcome, list string) string {
	const instead = "Refer to it by its environment variable or its file instead."
	switch {
	case o == note:
		return "this holds a secret (" + list + "), and could not be stopped here. Do not repeat it."
	case in.event.verb == flow.Prompt:
		return "the prompt was not sent: it holds a secret (" + list + "). " + instead
	case in.event.verb == flow.Call && o == edit:
		return "secrets in the arguments were replaced (" + list + "). " + instead
	case in.event.verb == flow.Call:
		return "the call was not made: it holds a secret (" + list + "). " + instead
	case o == edit:
		return "secrets in the result were replaced by names (" + list + ")."
	default:
		return "this was stopped: it holds a secret (" + list + "). " + instead
	}
}
