package monitor

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the default model
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
)

// ModelVersion is the version of the file's format.
const ModelVersion = 2

// ErrModel is returned for a file that is not a model of this version, or whose
// hash does not match its content.
var ErrModel = errors.New("bad monitor model")

// Where the lower and upper thresholds may lie (PRISM, B.2).
const (
	Tau1Least = 0.25
	Tau1Most  = 0.35
	Tau2Least = 0.55
	Tau2Most  = 0.65
)

// Trends, by what trajectory_trend is a share of.
const (
	TrendWindow = "window" // the last ten steps
	TrendAll    = "all"    // all steps, as the paper has it
)

// Spec is a model as its file has it (docs/format/monitor-model.md).
type Spec struct {
	Version  int      `json:"version"`
	Name     string   `json:"name"`
	Features []string `json:"features"`
	Window   int      `json:"window"`
	Trend    string   `json:"trend"`
	White    Fit      `json:"white_box"` // log-probabilities and telemetry
	Gray     Fit      `json:"gray_box"`  // log-probabilities alone
	Black    Fit      `json:"black_box"` // the text alone
	Training Training `json:"training"`
	Hash     string   `json:"hash"` // SHA-256 of the rest, in hexadecimal
}

// Fit is a logistic regression on standardised features, with its thresholds.
type Fit struct {
	Weights []float64 `json:"weights"`
	Bias    float64   `json:"bias"`
	Mean    []float64 `json:"mean"`
	Scale   []float64 `json:"scale"` // standard deviation; 0: constant in training, so the feature counts nothing
	Tau1    float64   `json:"tau1"`
	Tau2    float64   `json:"tau2"`
	Lambda  float64   `json:"lambda"`
	Rows    string    `json:"rows"`  // what it was fitted on: windows, or outputs
	Shift   float64   `json:"shift"` // what was added to the fitted bias for the clean outputs' sake
	// Floor is the least risk: the share of leaks among outputs of which no feature
	// says anything.
	Floor float64 `json:"floor,omitempty"`
}

// Training says what a model was made of, and how it did.
type Training struct {
	Data        string                        `json:"data"` // SHA-256 of the traces
	Sources     []string                      `json:"sources"`
	Vocabulary  int                           `json:"vocabulary"`
	Seed        uint64                        `json:"seed"`
	Outputs     int                           `json:"outputs"`
	Leaking     int                           `json:"leaking"`
	Tokens      int                           `json:"tokens"`
	Metrics     map[string]map[string]float64 `json:"metrics"`
	Calibration map[string][]Bin              `json:"calibration"`
}

// Bin is a point of a calibration curve.
type Bin struct {
	Predicted float64 `json:"predicted"` // mean risk
	Observed  float64 `json:"observed"`  // share that leaks
	N         int     `json:"n"`
}

// Model is a Spec that was checked. It never changes; any number of
// goroutines may share it.
type Model struct {
	spec               Spec
	white, gray, black scale
}

// scale is a fit with the standardisation multiplied out.
type scale struct {
	weights, mean [count]float64
	bias, floor   float64
	tau1, tau2    float64
}

// NewModel checks a spec and fills in its hash.
func NewModel(s Spec) (*Model, error) {
	if s.Version != ModelVersion {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrModel, s.Version, ModelVersion)
	}
	if !slices.Equal(s.Features, Features()) || s.Window != Window {
		return nil, fmt.Errorf("%w: its features or its window differ from this version's", ErrModel)
	}
	if s.Trend != TrendWindow && s.Trend != TrendAll {
		return nil, fmt.Errorf("%w: trend %q", ErrModel, s.Trend)
	}
	m := &Model{spec: s}
	for _, f := range []struct {
		name string
		fit  *Fit
		to   *scale
	}{{"white_box", &s.White, &m.white}, {"gray_box", &s.Gray, &m.gray}, {"black_box", &s.Black, &m.black}} {
		var err error
		if *f.to, err = f.fit.scale(); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrModel, f.name, err)
		}
	}
	var err error
	m.spec.Hash, err = s.hash()
	return m, err
}

func (f *Fit) scale() (s scale, err error) {
	if len(f.Weights) != count || len(f.Mean) != count || len(f.Scale) != count {
		return s, fmt.Errorf("not %d weights, means and scales", count)
	}
	if !(f.Tau1 >= Tau1Least && f.Tau1 <= Tau1Most && f.Tau2 >= Tau2Least && f.Tau2 <= Tau2Most) {
		return s, fmt.Errorf("thresholds %g and %g outside [%g,%g] x [%g,%g]", f.Tau1, f.Tau2, Tau1Least, Tau1Most, Tau2Least, Tau2Most)
	}
	if !(f.Floor >= 0 && f.Floor < f.Tau1) {
		return s, fmt.Errorf("floor %g is not between 0 and tau1", f.Floor)
	}
	s.bias, s.floor, s.tau1, s.tau2 = f.Bias, f.Floor, f.Tau1, f.Tau2
	for i, sd := range f.Scale {
		if !(sd >= 0) {
			return s, fmt.Errorf("scale %d is %g", i, sd)
		}
		if s.mean[i] = f.Mean[i]; sd > 0 {
			s.weights[i] = f.Weights[i] / sd
		}
		s.bias -= s.weights[i] * s.mean[i]
		if finite := s.weights[i] * s.mean[i]; math.IsNaN(finite) || math.IsInf(finite, 0) || math.IsInf(s.weights[i], 0) {
			return s, fmt.Errorf("weight %d is not finite", i)
		}
	}
	if math.IsNaN(s.bias) || math.IsInf(s.bias, 0) {
		return s, errors.New("the bias is not finite")
	}
	return s, nil
}

// hash is of the compact JSON without the hash.
func (s Spec) hash() (string, error) {
	s.Hash = ""
	b, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrModel, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

const modelLimit = 1 << 20

// Load reads a model and checks its hash.
func Load(r io.Reader) (*Model, error) {
	b, err := io.ReadAll(io.LimitReader(r, modelLimit+1))
	if err != nil {
		return nil, err
	}
	if len(b) > modelLimit {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrModel, modelLimit)
	}
	var s Spec
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows it", ErrModel)
	}
	m, err := NewModel(s)
	if err == nil && m.spec.Hash != s.Hash {
		return nil, fmt.Errorf("%w: its hash is %s, not %s", ErrModel, m.spec.Hash, s.Hash)
	}
	return m, err
}

// Hash is the SHA-256, in hexadecimal, of the model's content.
func (m *Model) Hash() string { return m.spec.Hash }

// ReadsLogprobs reports whether log-probabilities change a risk: whether a fit gives
// a feature a weight that is known with them alone. Telemetry is read with them.
func (m *Model) ReadsLogprobs() bool {
	for _, w := range []*[count]float64{&m.gray.weights, &m.white.weights} {
		for i, x := range w {
			if x != 0 && (logits|hidden|sources)>>i&1 == 1 {
				return true
			}
		}
	}
	return false
}

// Spec is the model's content, which must not be changed.
func (m *Model) Spec() Spec { return m.spec }

//go:embed default.json
var defaultModel []byte

var loadDefault = sync.OnceValue(func() *Model {
	m, err := Load(bytes.NewReader(defaultModel))
	if err != nil {
		panic(err) // a defect of the build, which a test finds
	}
	return m
})

// Default is the model that Margay ships.
func Default() *Model { return loadDefault() }
