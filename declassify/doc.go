// Package declassify decides which parts of a candidate release may leave, and in
// which form, and charges them in bits to the budget of its family of
// trajectories. It is part of the trusted base and does no input or output
// except through the interfaces that it declares.
//
// An untrusted [Defender] reads a candidate and proposes evidence: spans,
// labels, operators (package evidence). A [Verifier] takes the candidate
// through the phases of a [Draft]:
//
//   - Bind: the evidence must be for this candidate and the head of this
//     chain. The whole candidate is cut into pieces. A piece with no label or
//     a wrong one has an unknown field and top risk, and may only be redacted
//     or dropped.
//   - Validate: a smt.Validator decides the clauses of the rubrics (coverage,
//     necessity, unnecessary disclosure, challenges, utility) over the pieces.
//   - Cost and audit: each value is charged once for everything that all sinks
//     of a class or worse know of it together (package shown). The bound of the
//     rubric's dependency graph may exceed that only by a margin (package
//     bound).
//   - Commit: charge.State decides whether the charges fit, and the entry is
//     durable before there is a receipt. Without the receipt nothing can read
//     what may be sent ([Release.Parts]).
//
// If a release does not fit, the verifier lets it disclose less, one step at a
// time, and takes it through all phases again. No evidence lowers a cost or widens a release.
// The choice of operators does not depend on the values, except on whether a
// value is in its declared population.
//
// What this guarantees, and what it does not, is in docs/declassify.md.
package declassify
