package saliency

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the weights
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"sync"
)

// The sizes of the network.
const (
	Hidden = 16 // of each of two layers
	gates  = 4 * Hidden
	first  = gates * (Count + Hidden + 1)
	second = gates * (Hidden + Hidden + 1)
	// Params is how many weights there are: a layer's rows are the input,
	// forget, cell and output gates, each with weights of input, state and a
	// bias; then the output's, and its bias.
	Params = first + second + Hidden + 1
)

// Model is a trained network of two LSTM layers. It is immutable.
type Model struct {
	// Mean and Scale make features, as logarithms, ones of mean 0 and
	// deviation 1.
	Mean      [Count]float64 `json:"mean"`
	Scale     [Count]float64 `json:"scale"`
	Threshold float64        `json:"threshold"` // probability from which a region is relevant
	Weights   []float64      `json:"weights"`

	hash string
}

var errModel = errors.New("not a model of the screener by attention, of version 1")

// Load reads a model's file: the model, and its card, which is not read here.
func Load(file []byte) (*Model, error) {
	var f struct {
		Version int             `json:"version"`
		Card    json.RawMessage `json:"card"`
		Model   *Model          `json:"model"`
	}
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if d.Decode(&f) != nil || f.Version != 1 || f.Model == nil || len(f.Model.Weights) != Params {
		return nil, errModel
	}
	m := f.Model
	for i := range Count {
		if !(m.Scale[i] > 0) {
			return nil, errModel
		}
	}
	if !(m.Threshold > 0 && m.Threshold < 1) {
		return nil, errModel
	}
	for _, w := range m.Weights {
		if math.Abs(w) > 1e6 {
			return nil, errModel
		}
	}
	sum := sha256.Sum256(file)
	m.hash = hex.EncodeToString(sum[:])
	return m, nil
}

// Hash is the SHA-256 of the model's file, in hex.
func (m *Model) Hash() string { return m.hash }

// Input is a region's features as the network reads them.
func (m *Model) Input(f *[Count]float64) (x [Count]float64) {
	for i, v := range f {
		x[i] = (Log(v) - m.Mean[i]) / m.Scale[i]
	}
	return x
}

// Log is the logarithm of a feature, which may be 0.
func Log(v float64) float64 { return math.Log(v + 1e-4) }

// Scores returns the probability of each region of a sequence, in the order of
// the conversation, that it is relevant.
func (m *Model) Scores(sequence [][Count]float64) []float64 {
	out := make([]float64, len(sequence))
	var h1, c1, h2, c2 [Hidden]float64
	top := m.Weights[first+second:]
	for t := range sequence {
		x := m.Input(&sequence[t])
		cell(m.Weights[:first], x[:], &h1, &c1)
		cell(m.Weights[first:first+second], h1[:], &h2, &c2)
		sum := top[Hidden]
		for i, v := range h2 {
			sum += top[i] * v
		}
		out[t] = sigmoid(sum)
	}
	return out
}

// cell makes one step of a layer.
func cell(w, x []float64, h, c *[Hidden]float64) {
	var z [gates]float64
	wide := len(x) + Hidden + 1
	for r := range z {
		row := w[r*wide : (r+1)*wide]
		sum := row[wide-1]
		for i, v := range x {
			sum += row[i] * v
		}
		for i, v := range h {
			sum += row[len(x)+i] * v
		}
		z[r] = sum
	}
	for i := range h {
		c[i] = sigmoid(z[Hidden+i])*c[i] + sigmoid(z[i])*math.Tanh(z[2*Hidden+i])
		h[i] = sigmoid(z[3*Hidden+i]) * math.Tanh(c[i])
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

//go:embed weights.json
var shipped []byte

// Default returns the model that comes with Margay.
var Default = sync.OnceValues(func() (*Model, error) { return Load(shipped) })
