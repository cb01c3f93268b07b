package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// ErrTelemetry is returned for an extension that is not as
// docs/format/telemetry.md has it.
var ErrTelemetry = errors.New("bad telemetry")

// TelemetryField is the extension's name in each choice of a response.
const TelemetryField = "margay_telemetry"

const telemetryVersion = 1

// ParseTelemetry reads the value of a choice's margay_telemetry: one entry
// for each token of the choice's logprobs.content. An entry is nil where the
// server tells nothing of that token. What is not understood is an error that
// wraps ErrTelemetry, and the tokens then have none.
func ParseTelemetry(raw []byte) ([]*Telemetry, error) {
	type attention struct {
		Public  float64 `json:"public"`
		Private float64 `json:"private"`
		System  float64 `json:"system"`
	}
	var doc struct {
		Version int `json:"version"`
		Tokens  []*struct {
			HiddenNorm     *float64   `json:"hidden_norm"`
			HiddenVariance *float64   `json:"hidden_variance"`
			HiddenSize     int        `json:"hidden_size"`
			Attention      *attention `json:"attention"`
		} `json:"tokens"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTelemetry, err)
	}
	if doc.Version != telemetryVersion {
		return nil, fmt.Errorf("%w: version %d, not %d", ErrTelemetry, doc.Version, telemetryVersion)
	}
	out := make([]*Telemetry, len(doc.Tokens))
	for i, e := range doc.Tokens {
		if e == nil {
			continue
		}
		t := &Telemetry{HiddenSize: e.HiddenSize}
		if told := e.HiddenSize != 0; told != (e.HiddenNorm != nil) || told != (e.HiddenVariance != nil) {
			return nil, fmt.Errorf("%w: token %d has a part of hidden_norm, hidden_variance and hidden_size", ErrTelemetry, i)
		}
		if e.HiddenSize != 0 {
			t.HiddenNorm, t.HiddenVariance = *e.HiddenNorm, *e.HiddenVariance
		}
		if e.Attention != nil {
			t.Public, t.Private, t.System = e.Attention.Public, e.Attention.Private, e.Attention.System
		}
		if !t.valid() {
			return nil, fmt.Errorf("%w: token %d has a negative value", ErrTelemetry, i)
		}
		out[i] = t
	}
	return out, nil
}

func (t *Telemetry) valid() bool {
	for _, x := range [...]float64{t.HiddenNorm, t.HiddenVariance, t.Public, t.Private, t.System} {
		if !(x >= 0) || math.IsInf(x, 1) {
			return false
		}
	}
	return t.HiddenSize >= 0
}
