package flow

import (
	"math"
	"strconv"
	"strings"
)

// Bits is an amount of information, in millionths of a bit. Amounts are whole
// numbers, so that a sum is the same on every machine and anybody can check a
// ledger; fractions are rounded up.
type Bits int64

// Bit is one bit, MaxBits more than anything costs.
const (
	Bit     Bits = 1_000_000
	MaxBits Bits = math.MaxInt64
)

// BitsOf rounds an amount in bits up. NaN, and what is too large, becomes MaxBits;
// what is below zero becomes zero.
func BitsOf(bits float64) Bits {
	switch v := math.Ceil(bits * float64(Bit)); {
	case v < 0:
		return 0
	case v < math.MaxInt64:
		return Bits(v)
	default:
		return MaxBits
	}
}

// Add returns b + c for amounts that are not negative; MaxBits where the sum
// is larger.
func (b Bits) Add(c Bits) Bits {
	if b > MaxBits-c {
		return MaxBits
	}
	return b + c
}

// String returns the amount with its unit, as in "1.5 bits".
func (b Bits) String() string {
	if b == MaxBits {
		return "unlimited bits"
	}
	sign := ""
	u := uint64(b)
	if b < 0 {
		sign, u = "-", -u
	}
	s := sign + strconv.FormatUint(u/uint64(Bit), 10)
	if frac := u % uint64(Bit); frac > 0 {
		s += "." + strings.TrimRight(strconv.FormatUint(frac+uint64(Bit), 10)[1:], "0")
	}
	return s + " bits"
}

// Class is how far a sink is trusted with what it learns. The zero Class is that
// of an unknown sink, which counts as adversarial.
type Class uint8

// Classes of sinks, in the order in which what they learn weighs more.
const (
	RequiredService Class = 1 // the task is impossible without it
	SemiTrusted     Class = 2 // honest, but curious
	Adversarial     Class = 3
)

// Known returns the class, or Adversarial if it is unknown.
func (c Class) Known() Class {
	if c < RequiredService || c > Adversarial {
		return Adversarial
	}
	return c
}

var classNames = [...]string{RequiredService: "required-service", SemiTrusted: "semi-trusted", Adversarial: "adversarial"}

// String returns the class's name as rubrics write it.
func (c Class) String() string { return classNames[c.Known()] }
