package main

import (
	"math"
	"testing"
)

func TestSummary(t *testing.T) {
	ten := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	if s := summary(ten); s != (Summary{5.5, [2]float64{2, 9}}) {
		t.Errorf("of ten: %v", s)
	}
	if s := summary([]float64{3, 1, 2}); s != (Summary{2, [2]float64{1, 3}}) {
		t.Errorf("of three: %v", s)
	}
	if s := summary([]float64{1}); s != (Summary{1, [2]float64{1, 1}}) {
		t.Errorf("of one: %v", s)
	}
	twenty := make([]float64, 20)
	for i := range twenty {
		twenty[i] = float64(i + 1)
	}
	if s := summary(twenty); s.Interval != [2]float64{6, 15} {
		t.Errorf("of twenty: %v", s)
	}
}

func TestMeanOf(t *testing.T) {
	m, err := meanOf(Round{Old: map[string]float64{"a": 0.5, "b": 0.8}, New: map[string]float64{"a": 1, "b": 0.4}})
	if err != nil || math.Abs(m-1) > 1e-12 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := meanOf(Round{Old: map[string]float64{"a": 1}, New: map[string]float64{"b": 1}}); err == nil {
		t.Error("slices that differ are compared")
	}
}
