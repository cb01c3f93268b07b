package clear

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
)

// Kind is what a message of a history is.
type Kind uint8

// Kinds.
const (
	KindText   Kind = iota // what somebody says
	KindCall               // a tool call that the model proposed; Text is its arguments
	KindResult             // what a tool returned
)

// Message is one text of a conversation that can be shown or not: a message, a
// content part, a tool call's arguments, a tool's result.
type Message struct {
	flow.Message
	Kind Kind
	Tool string // of a call or a result
	Call string // joins a call and its result; empty for others
	Part bool   // goes on with the message before it
	// Worst is the join of all labels that the message's source may give.
	// Where it is not below a level, a placeholder stands whether or not
	// anything was left out, so that its being there says nothing.
	Worst label.Label
}

// Description is a tool as it is offered to the model.
type Description struct {
	Name  string
	Label label.Label // of its description and schema
}

// History is what a model may be shown: messages in order, tools.
type History struct {
	Lattice  label.Lattice
	Messages []Message
	Tools    []Description
}

// Placeholders. They are fixed texts.
const (
	// Withheld stands at the end of a message that had, or may have had, more.
	Withheld = "[margay: parts of this message are withheld here; empty values may stand for them]"
	// WithheldAnswer stands for an answer that is withheld.
	WithheldAnswer = "[margay: the answer given here is withheld]"
)

// label is the join of a message's regions; covered is false where there is
// text that no region is about.
func (h *History) label(m *Message) (l label.Label, covered bool) {
	at := 0
	covered = true
	for i := range m.Regions {
		r := &m.Regions[i]
		if r.Start != at {
			covered = false
		}
		at = r.End
		l = h.Lattice.Join(l, r.Label)
	}
	if at != len(m.Text) || len(m.Regions) == 0 {
		covered = covered && TrustedRole(m.Role) && len(m.Regions) == 0
	}
	return l, covered
}

// TrustedRole reports whether a role's texts are trusted where nothing else is
// said: the developer's and the user's own.
func TrustedRole(r flow.Role) bool {
	return r == flow.RoleSystem || r == flow.RoleDeveloper || r == flow.RoleUser
}

// Context is the join of the labels of everything in the history.
func (h *History) Context() label.Label { return h.Basis().label }

// Basis is the basis of what follows from everything in the history. It is
// not known where there is text that no region is about.
func (h *History) Basis() Basis {
	b := Basis{known: true}
	for i := range h.Messages {
		l, covered := h.label(&h.Messages[i])
		b = b.With(h.Lattice, l)
		b.known = b.known && (covered || h.Messages[i].Text == "")
	}
	for i := range h.Tools {
		b = b.With(h.Lattice, h.Tools[i].Label)
	}
	return b
}

// Shown is a message as it is shown at a level.
type Shown struct {
	// Message is its place in the history; -1 for WithheldAnswer, which is
	// an assistant's text of its own.
	Message int
	Text    string
	Changed bool // Text is not the message's own
}

// View is a history as it is shown at a level.
type View struct {
	Messages []Shown
	Tools    []int       // the descriptions that stay, in order
	Label    label.Label // the join of all that is shown
	Withheld int         // regions and descriptions left out; not for the model

	basis Basis
}

// Basis returns what is generated from the view follows from.
func (v *View) Basis() Basis { return v.basis }

// Basis is the label of all that a model was shown when it made a step: what it
// says and calls depends on nothing else. Labels join to it, and none is taken
// away. The zero Basis is of nothing that is known: no limit but one that looks
// at nothing admits it.
type Basis struct {
	label label.Label
	known bool
}

// BasisOf is the basis of calls of somebody whose conversation is not seen: the
// join of the labels of all that was disclosed to it. The caller vouches for
// that.
func BasisOf(l label.Label) Basis { return Basis{l, true} }

// Label returns the label, as far as it is known.
func (b Basis) Label() label.Label { return b.label }

// With is the basis of what follows from something of a label besides.
func (b Basis) With(lat label.Lattice, l label.Label) Basis {
	b.label = lat.Join(b.label, l)
	return b
}

// flowsTo reports whether what follows from the basis may flow to a limit.
func (b Basis) flowsTo(lat label.Lattice, l Limit) bool {
	return l.Admits(lat, b.label) && (b.known || l.AnySource && l.AnyReader)
}

// Redact returns what of a history may be seen at a level.
//
// System and user messages, and results of calls that are shown, stay: their
// regions that are not below the level are left out, and one placeholder at
// the end stands for all of them. Calls and what the assistant said are shown
// whole or not at all, results with their call; an answer that is left out
// leaves one placeholder before the next message of the user. Two histories
// that differ only in content, length and number of regions, calls and steps
// above the level give views that read the same; of system and user messages
// alone it shows whether they have such regions.
func (h *History) Redact(level Level) View {
	if level.open {
		return h.everything()
	}
	v := View{basis: Basis{known: true}}
	hidden := map[string]bool{} // calls
	answered := true            // the last thing that is shown is an answer, or nobody has asked
	for i := range h.Messages {
		m := &h.Messages[i]
		own, covered := h.label(m)
		below := covered && level.Admits(h.Lattice, own)
		if (m.Kind == KindCall || m.Kind == KindText && !TrustedRole(m.Role)) && !below {
			v.Withheld += max(1, len(m.Regions))
			if m.Call != "" {
				hidden[m.Call] = true
			}
			continue
		}
		if m.Kind == KindResult && (m.Call == "" || hidden[m.Call]) && !(m.Call == "" && below) {
			v.Withheld += max(1, len(m.Regions))
			continue
		}
		switch {
		case m.Kind == KindCall:
			delete(hidden, m.Call) // one before it may have had the same id
			answered = false
		case m.Kind == KindText && m.Role == flow.RoleUser:
			if !answered && !m.Part {
				v.Messages = append(v.Messages, Shown{Message: -1, Text: WithheldAnswer, Changed: true})
			}
			answered = false
		case m.Kind == KindText && !TrustedRole(m.Role):
			answered = true
		case m.Kind == KindResult:
			answered = false
		}
		text, left := h.visible(m, level, below, covered)
		v.Withheld += left
		s := Shown{Message: i, Text: text, Changed: text != m.Text}
		v.Messages = append(v.Messages, s)
		h.joinShown(&v, m, level)
	}
	for i := range h.Tools {
		if !level.Admits(h.Lattice, h.Tools[i].Label) {
			v.Withheld++
			continue
		}
		v.Tools = append(v.Tools, i)
		v.basis = v.basis.With(h.Lattice, h.Tools[i].Label)
	}
	v.Label = v.basis.label
	return v
}

// everything is the history as it is.
func (h *History) everything() View {
	v := View{basis: h.Basis()}
	v.Label = v.basis.label
	for i := range h.Messages {
		v.Messages = append(v.Messages, Shown{Message: i, Text: h.Messages[i].Text})
	}
	for i := range h.Tools {
		v.Tools = append(v.Tools, i)
	}
	return v
}

// joinShown takes the labels of a message's shown regions into the view's.
func (h *History) joinShown(v *View, m *Message, level Level) {
	for i := range m.Regions {
		if level.Admits(h.Lattice, m.Regions[i].Label) {
			v.basis = v.basis.With(h.Lattice, m.Regions[i].Label)
		}
	}
}

// visible is the text of a message at a level, and how many regions it lacks.
func (h *History) visible(m *Message, level Level, below, covered bool) (string, int) {
	might := m.Kind == KindResult && !level.Admits(h.Lattice, m.Worst)
	if below && !might {
		return m.Text, 0
	}
	var b strings.Builder
	left, at := 0, 0
	for i := range m.Regions {
		r := &m.Regions[i]
		if r.Start < at || r.End < r.Start || r.End > len(m.Text) {
			b.Reset() // regions that overlap tell nothing
			left = len(m.Regions)
			break
		}
		if level.Admits(h.Lattice, r.Label) {
			b.WriteString(m.Text[r.Start:r.End])
		} else {
			left++
		}
		at = r.End
	}
	if len(m.Regions) == 0 && TrustedRole(m.Role) && covered {
		b.WriteString(m.Text)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(Withheld)
	return b.String(), left
}

// Own returns the texts of the user's own messages: their regions that are at
// the bottom, so that a pasted block does not count.
func (h *History) Own() []string {
	var out []string
	for i := range h.Messages {
		m := &h.Messages[i]
		if m.Role != flow.RoleUser || m.Kind != KindText {
			continue
		}
		if len(m.Regions) == 0 {
			out = append(out, m.Text)
		}
		for _, r := range m.Regions {
			if r.Label.Integrity == "" && r.Start >= 0 && r.Start <= r.End && r.End <= len(m.Text) {
				out = append(out, m.Text[r.Start:r.End])
			}
		}
	}
	return slices.Clip(out)
}
