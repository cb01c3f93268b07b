package flow_test

import (
	"math"
	"testing"

	"github.com/margaydev/margay/flow"
)

func TestBits(t *testing.T) {
	for _, c := range []struct {
		bits float64
		want flow.Bits
		name string
	}{
		{0, 0, "0 bits"},
		{1.5, 1_500_000, "1.5 bits"},
		{0.0000001, 1, "0.000001 bits"},
		{math.Log2(3), 1_584_963, "1.584963 bits"},
		{-1, 0, "0 bits"},
		{math.NaN(), flow.MaxBits, "unlimited bits"},
		{math.Inf(1), flow.MaxBits, "unlimited bits"},
		{1e300, flow.MaxBits, "unlimited bits"},
	} {
		if got := flow.BitsOf(c.bits); got != c.want || got.String() != c.name {
			t.Errorf("%v bits are %d, %q", c.bits, got, got)
		}
	}
	if got := flow.Bits(-1_250_000).String(); got != "-1.25 bits" {
		t.Errorf("a negative amount is %q", got)
	}
	if flow.MaxBits.Add(1) != flow.MaxBits || flow.Bit.Add(flow.Bit) != 2*flow.Bit {
		t.Error("sums are wrong")
	}
}

func TestUnknownClassIsAdversarial(t *testing.T) {
	for c, want := range map[flow.Class]string{0: "adversarial", 1: "required-service", 2: "semi-trusted", 3: "adversarial", 9: "adversarial"} {
		if c.String() != want {
			t.Errorf("class %d is %s", c, c)
		}
	}
}
