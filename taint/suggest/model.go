package suggest

import (
	_ "embed" // the weights
	"encoding/binary"
	"errors"
	"math"
	"sync"
)

// Outputs of the model, by head.
const (
	Effects    = 7 // those of taint/effect without administer
	EffectHead = 0
	SourceHead = EffectHead + Effects
	OpenHead   = SourceHead + int(sources)
	Outputs    = OpenHead + 1
)

// Model has a weight for each output and feature, and the rules of decision.
type Model struct {
	Weights [Outputs][Size]int8 // in steps of Step
	Step    [Outputs]float64
	Bias    [Outputs]float64
	Rules
}

// Rules are what the lab chooses besides the weights.
type Rules struct {
	// Reads is the least probability at which a tool is taken for one that only
	// reads, if the verb of its name reads; Observe is that of other tools.
	Reads, Observe float64
	// World is the least probability at which results are taken for the world's
	// words, Open that at which an argument is taken for an address or a search.
	World, Open float64
	// Prose is the most that prose can add to reading, in log-odds.
	Prose float64
	// Temperature calibrates the probabilities of effects.
	Temperature float64
}

const (
	magic      = "margay tool model 1\n"
	modelBytes = len(magic) + 8*(2*Outputs+6) + Outputs*Size
)

var errModel = errors.New("this is no model of tools, or one of another version")

// Bytes returns the model's file: the magic line, the rules, steps and biases as
// big-endian floats, and the weights.
func (m *Model) Bytes() []byte {
	b := append(make([]byte, 0, modelBytes), magic...)
	put := func(v float64) { b = binary.BigEndian.AppendUint64(b, math.Float64bits(v)) }
	for _, v := range []float64{m.Reads, m.Observe, m.World, m.Open, m.Prose, m.Temperature} {
		put(v)
	}
	for i := range Outputs {
		put(m.Step[i])
		put(m.Bias[i])
	}
	for i := range m.Weights {
		for _, w := range m.Weights[i] {
			b = append(b, byte(w))
		}
	}
	return b
}

// ParseModel reads what Bytes wrote.
func ParseModel(b []byte) (*Model, error) {
	if len(b) != modelBytes || string(b[:len(magic)]) != magic {
		return nil, errModel
	}
	b = b[len(magic):]
	m := new(Model)
	whole := true
	get := func() float64 {
		v := math.Float64frombits(binary.BigEndian.Uint64(b))
		whole = whole && !math.IsNaN(v) && !math.IsInf(v, 0)
		b = b[8:]
		return v
	}
	for _, into := range []*float64{&m.Reads, &m.Observe, &m.World, &m.Open, &m.Prose, &m.Temperature} {
		*into = get()
	}
	for i := range Outputs {
		m.Step[i], m.Bias[i] = get(), get()
	}
	if !whole || m.Temperature <= 0 {
		return nil, errModel
	}
	for i := range m.Weights {
		for j := range m.Weights[i] {
			m.Weights[i][j] = int8(b[j])
		}
		b = b[Size:]
	}
	return m, nil
}

//go:embed model.bin
var shippedModel string

// shipped is the model of model.bin; model.json says where it is from. Without it
// no tool is taken for one that reads.
var shipped = sync.OnceValue(func() *Model {
	m, err := ParseModel([]byte(shippedModel))
	if err != nil {
		m = &Model{Rules: Rules{Reads: 2, Observe: 2, Temperature: 1}}
	}
	return m
})

// add adds the outputs of a head to z.
func (m *Model) add(z []float64, x []Feature, head int) {
	for i := range z {
		w := &m.Weights[head+i]
		var sum float64
		for _, f := range x {
			sum += float64(f.Value) * float64(w[f.At])
		}
		z[i] += sum * m.Step[head+i] //nolint:gosec // z is that of the head
	}
}
