package monitor

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// FuzzTelemetry: no panic, and what is accepted keeps the features in range.
func FuzzTelemetry(f *testing.F) {
	f.Add([]byte(`{"version":1,"tokens":[{"hidden_norm":1,"hidden_variance":1,"hidden_size":2,"attention":{"public":1,"private":1,"system":1}},null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := ParseTelemetry(raw)
		if err != nil {
			return
		}
		m := Default().New(Options{})
		for _, e := range all {
			v := m.Next(&Token{Text: "x", Logprob: math.Log(0.5), Top: top("x", 0.5, 5), Telemetry: e})
			for i, x := range m.Features() {
				if !(x >= 0 && x <= 1) || !(v.Risk >= 0 && v.Risk <= 1) {
					t.Fatalf("%s is %g, the risk %g", Features()[i], x, v.Risk)
				}
			}
		}
	})
}

// FuzzLoad: no panic, and what is accepted is written and read as the same.
func FuzzLoad(f *testing.F) {
	f.Add(defaultModel)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := Load(bytes.NewReader(raw))
		if err != nil {
			return
		}
		b, err := json.Marshal(m.Spec())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Load(bytes.NewReader(b)); err != nil || again.Hash() != m.Hash() {
			t.Fatalf("read again: %v", err)
		}
	})
}
