// Package smt states the clauses of rubrics as formulas and decides them. It
// is part of the trusted base and does no input or output; the pool of Z3
// processes is in [github.com/margaydev/margay/declassify/smt/z3].
//
// # The fragment
//
// A [Problem] has finite enumerations, a number of atoms, functions of an atom
// (or of nothing) whose values are members of an enumeration or rational
// numbers, facts about those functions, and clauses: quantifier-free formulas
// over equality, membership and linear arithmetic. That is QF_UFLRA, with one
// thing said in it that the logic has no word for: an enumeration has no
// members but those that are listed, and they differ.
//
// Where every function that occurs has a value, the problem is ground, and
// [Native] decides it by one pass over the terms. A [Script] is the same
// problem in SMT-LIB 2.6, for Z3, which can also search where functions are
// left free ([Solver]). [Both] asks two validators and refuses where they
// disagree.
//
// # Arithmetic
//
// Facts are whole numbers in a unit of the caller's, such as millionths of a
// bit; constants and factors are fractions of two int64. Nothing is rounded:
// the pass computes in int64 over denominators that are known when a term is
// made, and is repeated with math/big where that overflows.
//
// # Names
//
// Names come from rubrics, which are signed but not trusted to be tame. No
// name reaches the solver: its script holds numbers alone (E0, e0v3, f2, a17,
// c5). A script for people repeats the names in comments, in printable ASCII
// ([Problem.AppendScript]).
//
// # Failing
//
// What can't be decided is an error, which callers treat as a refusal; the
// zero [Verdict] does not pass. Everything is bounded: see the limits below
// [MaxAtoms].
package smt
