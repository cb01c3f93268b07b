// Package declassify decides what of a candidate release may leave, in which
// form, and charges it in bits to the budget of its family of trajectories. It
// is part of the trusted base and does no input or output but through the
// interfaces that it declares.
//
// An untrusted [Defender] looks at a candidate and hands over evidence: spans,
// labels, operators ([ParseEvidence]; the format is in docs/format/evidence.md).
// A [Verifier] takes it through four phases:
//
//   - Bind: the evidence must be of this candidate and of the head of this
//     chain. The whole candidate is cut into atoms; what the evidence does not
//     label, or labels wrongly, is of unknown field and top risk, and may only
//     be redacted or dropped.
//   - Validate: the clauses of the rubrics (coverage, necessity, what is
//     unnecessary, challenges, utility) over the atoms, decided by a
//     smt.Validator.
//   - Cost and audit: each value is charged once for everything that all sinks
//     of a class or worse know of it together; the bound of the rubric's
//     dependency graph may not exceed that by more than a margin.
//   - Commit: ledger.State says whether the charges fit, and the entry is
//     durable before Release returns what may be sent.
//
// What does not fit is made to disclose less, one step at a time, and goes
// through all phases again. Nothing that a defender says lowers a cost or
// widens a release, and which operators are chosen does not depend on the
// values, but for whether one is in its declared population.
//
// What this guarantees, and what it does not, is in docs/declassify.md.
package declassify
