package stats

import "math"

// McNemar is the test of whether two methods differ on the same tasks.
type McNemar struct {
	// B are the tasks where only the first succeeds, C those where only the
	// second does.
	B, C int
	// Exact is the two-sided exact p-value: under the hypothesis that they
	// do not differ, B is binomial with n = B+C and p = ½.
	Exact float64
	// MidP counts half of the observed outcome's probability; it is less
	// conservative, and close to its level (Fagerland et al. 2013).
	MidP float64
	// Log10 is the logarithm of Exact, which for large counts is below the
	// least float64.
	Log10 float64
}

// NewMcNemar tests counts of tasks.
func NewMcNemar(b, c int) McNemar {
	m := McNemar{B: b, C: c, Exact: 1, MidP: 1}
	n, k := b+c, min(b, c)
	if n == 0 {
		return m
	}
	// ln P(X ≤ k) = ln f(k) + ln Σ f(i)/f(k); terms fall from k down.
	logf := logChoose(n, k) - float64(n)*math.Ln2
	sum, term := 1.0, 1.0
	for i := k; i > 0; i-- {
		term *= float64(i) / float64(n-i+1)
		sum += term
	}
	logp := math.Ln2 + logf + math.Log(sum)
	if b == c {
		m.MidP = 1 - math.Exp(logf)/2
		return m
	}
	m.Exact = min(1, math.Exp(logp))
	m.MidP = min(1, math.Exp(logp)-math.Exp(logf))
	m.Log10 = min(0, logp/math.Ln10)
	return m
}

// Pair counts B and C over tasks, true for success, and tests them.
func Pair(first, second []bool) McNemar {
	b, c := 0, 0
	for i := range first {
		switch {
		case first[i] && !second[i]:
			b++
		case !first[i] && second[i]:
			c++
		}
	}
	return NewMcNemar(b, c)
}

// CohenH is the effect size between two proportions, 2·asin √p − 2·asin √q,
// in [−π, π].
func CohenH(p, q float64) float64 { return 2*math.Asin(math.Sqrt(p)) - 2*math.Asin(math.Sqrt(q)) }
