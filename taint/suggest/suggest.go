// Package suggest proposes what a tool does that nobody described: its effect,
// whose words its results hold, and whether it goes where an argument says. It
// reads the tool's definition with a small model that the lab fits to labelled
// tools of real servers.
//
// A proposal decides nothing. It is the answer that the one question at a tool's
// first use suggests, and the user gives that answer. What it reads was written by
// the server's author, so three rules hold it to the strict side. A tool is taken
// for reading only above a threshold. Prose counts for reading no more than a
// fixed amount, however much of it there is, while names and prose that speak of
// acting count in full. And a definition with hidden or look-alike characters, or
// one too long to be read wholly, is never taken for reading. Annotations can only
// make a proposal stricter.
//
// What remains: a tool that acts, but whose name, arguments and description all
// say that it reads, is taken for one that reads. Only its source would show that.
package suggest

import (
	"math"

	"github.com/margaydev/margay/taint/effect"
)

// Tool is a tool as its definition describes it.
type Tool struct {
	Name string
	// Texts are the strings of the definition: the description first, then the
	// names and descriptions of arguments, in order. Words of JSON Schema among
	// them are passed over.
	Texts []string
	// Annotations, nil where there is none.
	ReadOnly, Destructive, OpenWorld *bool
	// Partial: some of the definition could not be read, or was too long.
	Partial bool
}

// Source says whose words a tool's results hold.
type Source uint8

// Sources.
const (
	// Own is what the user wrote, and facts of the machine or the service.
	Own Source = iota
	// Workspace is what files and commands of the workspace say.
	Workspace
	// World is what anybody may have written.
	World
	sources
)

// Proposal is what a tool seems to do.
type Proposal struct {
	Effect effect.Effect
	Source Source
	// Open: an argument names an address to open, or what to ask of strangers.
	Open bool
	// Confidence is the probability that Effect is right, as calibrated on tools
	// that the model was not fitted to.
	Confidence float64
}

// Propose proposes with the model that Margay ships. It can be called from several
// goroutines.
func Propose(t *Tool) Proposal { return shipped().Propose(t) }

// Propose proposes what a tool does.
func (m *Model) Propose(t *Tool) Proposal {
	x := Read(t)
	p := m.Probabilities(&x)
	if Denied(t) {
		act(&p, none)
	}
	out := Proposal{Effect: m.Decide(&x, &p), Source: m.DecideSource(m.Sources(&x)), Open: x.Address || m.Opens(&x) >= m.Open}
	out.Confidence = p[out.Effect]
	if x.Odd {
		out.Source = World
	}
	return out
}

// Decide chooses the effect.
func (m *Model) Decide(x *Input, p *[Effects]float64) effect.Effect {
	least := m.Observe
	if x.Reads {
		least = m.Reads
	}
	if p[effect.Observe] >= least {
		return effect.Observe
	}
	most := effect.Edit
	for e := effect.Edit; int(e) < Effects; e++ {
		if p[e] > p[most] {
			most = e
		}
	}
	return most
}

// none is no effect in particular.
const none = effect.Observe

// act says that a tool does not only read. What reading was likely is then likely of
// another effect, or of all as they were.
func act(p *[Effects]float64, e effect.Effect) {
	read := p[effect.Observe]
	p[effect.Observe] = 0
	if e != none {
		p[e] += read
		return
	}
	rest := 0.0
	for _, v := range p[1:] {
		rest += v
	}
	for i := range p[1:] {
		if rest > 1e-9 {
			p[1+i] /= rest
		} else {
			p[1+i] = 1. / (Effects - 1)
		}
	}
}

// Denied reports whether the annotations say that a tool is none that only reads.
// The opposite claim counts for nothing.
func Denied(t *Tool) bool {
	return t.ReadOnly != nil && !*t.ReadOnly || t.Destructive != nil && *t.Destructive && (t.ReadOnly == nil || !*t.ReadOnly)
}

// Probabilities returns that of each effect, as the words and the signs have it.
func (m *Model) Probabilities(x *Input) (p [Effects]float64) {
	var prose [Effects]float64
	m.add(prose[:], x.Prose, EffectHead)
	most := math.Inf(-1)
	for _, v := range prose[1:] {
		most = max(most, v)
	}
	prose[effect.Observe] = min(prose[effect.Observe], most+m.Prose)
	m.add(p[:], x.Names, EffectHead)
	for i := range p {
		p[i] = (p[i] + prose[i] + m.Bias[EffectHead+i]) / m.Temperature
	}
	softmax(p[:])
	switch {
	case x.Address:
		act(&p, effect.Reach)
	case x.Saves:
		act(&p, effect.Edit)
	case x.Acts, x.Odd:
		act(&p, none)
	}
	return p
}

// Sources returns the probability of each source.
func (m *Model) Sources(x *Input) (p [sources]float64) {
	m.add(p[:], x.Names, SourceHead)
	m.add(p[:], x.Prose, SourceHead)
	for i := range p {
		p[i] += m.Bias[SourceHead+i]
	}
	softmax(p[:])
	return p
}

// DecideSource chooses the source.
func (m *Model) DecideSource(p [sources]float64) Source {
	switch {
	case p[World] >= m.World:
		return World
	case p[Workspace] > p[Own]:
		return Workspace
	}
	return Own
}

// Opens returns how likely an argument names an address, or what to ask strangers.
func (m *Model) Opens(x *Input) float64 {
	var z [1]float64
	m.add(z[:], x.Names, OpenHead)
	m.add(z[:], x.Prose, OpenHead)
	return 1 / (1 + math.Exp(-z[0]-m.Bias[OpenHead]))
}

func softmax(p []float64) {
	most, sum := math.Inf(-1), 0.0
	for _, v := range p {
		most = max(most, v)
	}
	for i, v := range p {
		p[i] = math.Exp(v - most)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
}
