package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/stream/cut"
)

// parts are the members of an event, by what they are.
type parts struct {
	flows []int // what flows
	own   []int // what the harness itself fills
	past  []int // what flowed before
	other []int // what is not known
}

func (in *input) parts() parts {
	var p parts
	for i := range in.doc.All(0) {
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
	}
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
func (h *Handler) decide(ctx context.Context, s *mediator.Session, in *input) decision {
	p := in.parts()
	if !in.known && in.data(p.other) {
		outcome := flow.Confirm
		if !in.asks() {
			outcome = flow.Deny // it is blocked
		}
		r := s.Decide(ctx, flow.Tell, &mediator.Message{Outcome: outcome, Notes: []flow.Reason{{Code: "hook-unknown-event", Detail: "an event that margay does not know carries data", Action: flow.ActBlock}}})
		return decision{outcome: ask, reason: "margay: this event is unknown and carries data that was not checked; a person has to decide" + explained(r.Decision.ID)}
	}
	d := in.beside(ctx, s, &p)
	if d.outcome != block {
		// A decision about what flows replaces a note.
		if f := in.flowing(ctx, s, p.flows); f.outcome != allow {
			d = f
		}
	}
	in.result(ctx, s, &p)
	if d.outcome == block && in.known && in.reports() {
		d.outcome = note // the harness waits for no answer
	}
	return d
}

// reports says whether the harness only reports what has happened.
func (in *input) reports() bool { return in.event.verb == flow.Tell || in.event.verb == "" }

// message returns one for the mediator.
func (in *input) message() *mediator.Message {
	return &mediator.Message{Tool: in.tool, Arguments: -1}
}

// beside decides about the members beside what flows. They can't be edited.
func (in *input) beside(ctx context.Context, s *mediator.Session, p *parts) decision {
	// A member that is not known may flow somewhere.
	other := in.message()
	for _, i := range p.other {
		in.texts(other, i, true)
		other.Texts = append(other.Texts, flow.Text{ID: -1 - i, Text: in.doc.Key(i), Fixed: true, Path: func() string { return "a key" }})
	}
	// The harness's own ids and paths may look random: only known secrets and
	// formats count in them.
	own := &mediator.Message{}
	for _, i := range p.own {
		in.strings(i, func(n int, text string) {
			own.Headers = append(own.Headers, flow.Text{ID: n, Text: text, Path: func() string { return in.doc.Path(n) }})
		})
	}
	// What flowed before was decided then.
	past := in.message()
	for _, i := range p.past {
		in.texts(past, i, false)
	}
	for _, look := range [...]struct {
		verb   flow.Verb
		m      *mediator.Message
		blocks func(*mediator.Result) bool
	}{{flow.Observe, other, (*mediator.Result).Denied}, {flow.Generate, own, (*mediator.Result).Denied}, {flow.Observe, past, failed}} {
		if len(look.m.Texts)+len(look.m.Headers) == 0 {
			continue
		}
		r := s.Decide(ctx, look.verb, look.m).Result
		switch {
		case look.blocks(&r):
			return in.explained(&r, block)
		case r.Denied() || len(r.Edits) > 0:
			return in.explained(&r, note)
		}
	}
	return decision{outcome: allow}
}

// flowing decides about what flows.
func (in *input) flowing(ctx context.Context, s *mediator.Session, flows []int) decision {
	if len(flows) == 0 {
		return decision{outcome: allow}
	}
	if in.event.verb == flow.Call {
		return in.calling(ctx, s, flows)
	}
	from, top := in.inner(flows[0])
	m := in.message()
	from.texts(m, top, !in.event.edits && !in.reports())
	for _, i := range flows[1:] {
		// These can't be edited. Their numbers are not those of the first.
		k := len(m.Texts)
		in.texts(m, i, !in.reports())
		for ; k < len(m.Texts); k++ {
			m.Texts[k].ID -= 1 << 30
		}
	}
	var r mediator.Result
	if in.event.verb == flow.Prompt {
		r = s.Prompt(ctx, &mediator.Prompt{Texts: m.Texts}).Result
	} else {
		r = s.Decide(ctx, flow.Observe, m).Result
	}
	switch {
	case in.reports() && !failed(&r) && (r.Denied() || len(r.Edits) > 0):
		return in.explained(&r, note)
	case r.Denied():
		return in.explained(&r, block)
	case len(r.Edits) > 0:
		value, ok := from.edited(top, r.Edits)
		if !ok {
			return in.sealed(ctx, s, &r)
		}
		return in.replaced(&r, value)
	}
	return decision{outcome: allow}
}

// sealed blocks what was to be edited and can't be. That is a decision of its
// own, since the log has that of the edit.
func (in *input) sealed(ctx context.Context, s *mediator.Session, r *mediator.Result) decision {
	out := *r
	if id := refusal(ctx, s, "not-editable", "what was found can't be edited at "+in.name+": decision "+r.Decision.ID); id != "" {
		out.Decision.ID = id
	}
	return in.explained(&out, block)
}

// inner returns the document and the node of what flows: JSON inside a string is
// edited as JSON.
func (in *input) inner(top int) (from *input, at int) {
	if in.event.nested && in.doc.Nodes[top].Kind == strictjson.String {
		inner := &input{harness: in.harness, name: in.name, event: in.event, tool: in.tool}
		if inner.doc.Parse(in.doc.Bytes(top), strictjson.Limits{MaxBytes: MaxEvent}) == nil {
			return inner, 0
		}
	}
	return in, top
}

// replaced is an edit with a new value of what flows.
func (in *input) replaced(r *mediator.Result, value []byte) decision {
	d := in.explained(r, edit)
	d.value = &cut.Released{}
	if d.value.Encode(r, func(dst []byte) ([]byte, error) { return append(dst, value...), nil }) != nil {
		return in.explained(r, block)
	}
	return d
}

// calling decides about a call. What flows are its arguments: a document or, in
// some harnesses, a string that holds one.
func (in *input) calling(ctx context.Context, s *mediator.Session, flows []int) decision {
	top := flows[0]
	raw := in.doc.Value(top)
	from, _ := in.inner(top)
	if from != in {
		raw = from.doc.Raw
	}
	m := in.message()
	m.Arguments = top
	m.Texts = []flow.Text{{ID: top, Text: string(raw), Field: flow.FieldToolArguments, Path: func() string { return in.doc.Path(top) }}}
	for _, i := range flows[1:] {
		in.texts(m, i, true)
	}
	r := s.Decide(ctx, flow.Call, m)
	value, changed := r.Edits[top]
	if !changed {
		value = string(raw)
	}
	args := value
	if from == in && in.doc.Nodes[top].Kind == strictjson.String && json.Unmarshal([]byte(value), &args) != nil {
		return decision{outcome: block, reason: "margay: the arguments can't be read"}
	}
	call := in.called(top, args)
	switch {
	case r.Denied():
		d := in.explained(&r.Result, block)
		if r.Refusal != "" {
			d.reason = r.Refusal // it has the id
		}
		return d
	case !changed:
		return in.clear(ctx, s, call, decision{outcome: allow})
	case !in.event.edits || !alike(raw, value):
		return in.sealed(ctx, s, &r.Result)
	}
	out := []byte(value)
	if from != in {
		out = strictjson.AppendQuote(nil, out)
	}
	d := in.replaced(&r.Result, out)
	if d.outcome == block {
		return d
	}
	if r.Less {
		d.reason = r.Told // rubrics took it, no finding did
	}
	return in.clear(ctx, s, call, d)
}

// alike reports whether two documents differ in texts alone. A harness drops an
// edited value that does not have the tool's own form, and uses the original.
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

// maxLeaves is how many texts of one member are scanned one by one. A member
// with more is scanned as one text, as it is written.
const maxLeaves = 4096

// texts adds a member to a message: every string by itself, decoded. One that
// is a single word goes together with its key, whose name may say what it is.
// Names and numbers can't be edited.
func (in *input) texts(m *mediator.Message, top int, fixed bool) {
	if in.doc.Nodes[top].Next-top > maxLeaves {
		m.Texts = append(m.Texts, flow.Text{
			ID: top, Text: string(in.doc.Value(top)), JSON: true, Tool: in.tool, Fixed: fixed, Path: func() string { return in.doc.Path(top) },
		})
		return
	}
	for i := top; i < in.doc.Nodes[top].Next; i++ {
		n := &in.doc.Nodes[i]
		add := func(id int, text string, json, fixed bool) {
			m.Texts = append(m.Texts, flow.Text{
				ID: id, Text: text, JSON: json, Tool: in.tool, Fixed: fixed, Path: func() string { return in.doc.Path(i) },
			})
		}
		if i != top && n.KeyEnd > n.KeyStart {
			add(-1-i, in.doc.Key(i), false, true)
		}
		switch {
		case n.Kind == strictjson.String && picture(in.doc.Raw[n.Start+1:n.End-1]):
			m.Texts = append(m.Texts, flow.Text{ID: i, Opaque: "a picture or document", Path: func() string { return in.doc.Path(i) }})
		case n.Kind == strictjson.Number:
			add(i, in.entry(i), true, true)
		case n.Kind == strictjson.String && in.word(i):
			add(i, in.entry(i), true, fixed)
		case n.Kind == strictjson.String:
			add(i, in.doc.Text(i), false, fixed)
		}
	}
}

// pictures are how PNG, JPEG, GIF, WebP and PDF start in base64.
var pictures = []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0"}

// picture reports whether a text is a file of a kind whose base64 holds no text.
// Small ones are scanned all the same: they cost little and may be something
// else.
func picture(raw []byte) bool {
	const small = 64 << 10
	if len(raw) < small || !slices.ContainsFunc(pictures, func(p string) bool { return bytes.HasPrefix(raw, []byte(p)) }) {
		return false
	}
	return len(bytes.TrimLeft(raw, base64)) == 0
}

// base64 are the characters of base64.
const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

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

// explained is a decision with a reason that says what was found, never its
// value.
func (in *input) explained(r *mediator.Result, o outcome) decision {
	explain := explained(r.Decision.ID)
	if failed(r) {
		detail := "it could not be decided"
		if n := len(r.Decision.Reasons); n > 0 {
			detail = r.Decision.Reasons[n-1].Detail
		}
		return decision{outcome: block, reason: "margay: this was blocked: " + detail + explain}
	}
	var what []string
	id := ""
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Action == flow.ActAllow || f.Action == flow.ActReport {
			continue
		}
		id = cmp.Or(id, f.ID)
		one := string(f.Kind)
		if f.Name != "" {
			one += " " + f.Name
		}
		if !slices.Contains(what, one) {
			what = append(what, one)
		}
	}
	if len(what) == 0 { // an earlier decision found it
		return decision{outcome: o, reason: "margay: " + in.sentence(o, "found before") + explain}
	}
	const most = 5
	list := strings.Join(what[:min(len(what), most)], ", ")
	if len(what) > most {
		list += fmt.Sprintf(" and %d more", len(what)-most)
	}
	allow := ""
	if in.event.verb == flow.Call {
		allow = " If it is no secret, a person can allow it: margay allow add " + id + "."
	}
	return decision{outcome: o, reason: "margay: " + in.sentence(o, list) + allow + explain}
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
