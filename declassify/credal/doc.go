// Package credal bounds what a released view discloses about secrets that
// depend on one another: the posterior audit of OCELOT (§4.4, phase 3; Lemma
// 2 in Appendix A), with other, tighter bounds.
//
// A dependency.Graph declares secret fields and interval potentials between
// them. Its credal set is the set of all joint distributions
//
//	P(x) ∝ Π_f φ_f(x_f),  low_f ≤ φ_f ≤ high_f, rows of conditional tables summing to one,
//
// and Scratch.Bound returns for every variable i an upper bound, over the whole
// credal set, on the dynamic min-entropy leakage of the view v about its value,
//
//	Δ_i = log2 max_x P(x_i=x | v) − log2 max_x P(x_i=x),
//
// also if i was not released itself. It is about values, not states: if a state
// stands for m members, a value in it has 1/m of its mass, and a release that
// leaves k of them costs log2 m/k more than one that discloses only the state.
//
// # Why it is sound
//
// Let λ_j(x_j) be the likelihood of the observations of variable j. For a junction
// tree with separator S, let g_S(x_S) be the likelihood of all observations
// behind S given x_S. It is an average of what arrives at the next clique C,
//
//	g_S(t) = Σ_{x_S=t} W(x)·Π λ_j(x_j)·Π g_k(x_k) / Σ_{x_S=t} W(x),
//
// with W the prior weight of clique state x behind S: the potentials of C times
// the prior mass behind the other separators. Compile bounds W by a box, once,
// and Bound propagates boxes of g: the range of an average over a box of weights
// is a linear-fractional problem with a threshold solution (average.go).
// Averages contract: g is 1 where nothing was observed, never leaves the range of
// what it averages, and potentials of S alone cancel. So the widths of distant
// intervals do not accumulate, as they do in the paper's bound, which multiplies
// upper ends for one state and lower ends for all others. Finally, with g the
// likelihood of all observations elsewhere, and π in the box of priors,
//
//	P(x_i=x | v) = π(s)/m·λ_i(x)·g(s) / Σ_{s'} π(s')·λ̄_i(s')·g(s')  for x in state s,
//
// where λ̄_i is the mean of λ_i over a state, is maximised for each s against the
// least possible mode of the prior (Scratch.gain). Every step bounds the values
// under each distribution of the credal set, so the result does. It is loose
// where one potential makes several boxes wide, since they are treated as
// independent; with intervals of width zero it is exact.
//
// Conditional tables keep boxes tight: a table whose variable is summed out and
// is in no other factor sums to one, so Compile leaves it out of W, and masses
// that are distributions are intersected with the simplex. Masses behind a
// separator are averages over those behind the next, too (prior.go).
//
// A bound is for each value alone, not for several together, and for an adversary
// whose distribution is in the credal set. The caller MUST choose what is
// released without looking at the value.
//
// # Rounding
//
// Bounds hold in floating point: every box is widened by the error bound of the
// operations that made it (round.go), and the search for a threshold is never
// trusted, only its certificate. Bounds are the same bits on every machine.
//
// # Cost
//
// Compile refuses treewidth above 4 and cliques of more than 4,096 states. Bound
// takes a few passes over a clique for each of its separators and each variable
// that is looked up there: about ten nanoseconds for each of its states and each
// of those. It skips messages without observations. It allocates nothing. The
// package does no input or output and starts no goroutine.
package credal
