// Package smt states the clauses of rubrics as formulas and decides them. It
// is part of the trusted base and does no input or output; the pool of Z3
// processes is package [github.com/margaydev/margay/declassify/smt/z3].
//
// # The fragment
//
// A [Problem] has finite enumerations, a number of atoms, functions of an atom
// whose values are members of an enumeration or numbers, facts about those
// functions, and clauses: quantifier-free formulas over equality, membership
// and linear arithmetic. An enumeration has only the listed members, and they
// differ.
//
// If every function that occurs has a value, the problem is ground, and
// [Native] decides it by one pass over the terms. A [Script] is the same
// problem in SMT-LIB 2.6, for Z3, which can also search if functions are left
// free ([Solver]). [Both] asks two validators and refuses if they disagree.
//
// # Arithmetic
//
// Facts are whole numbers in the caller's unit, such as millionths of a bit;
// factors are fractions of two int64. Nothing is rounded: sums and products
// are computed with math/big.
//
// # Names
//
// Names come from rubrics, which are signed but may hold anything. No name
// reaches the solver: its script holds only generated names (E1, e1v3, f2a17,
// c5).
//
// # Failing
//
// An undecided problem is an error, which callers treat as a refusal; the
// zero [Verdict] does not pass. Everything is bounded: see [MaxAtoms] and the
// limits below it.
package smt
