package smt

import "errors"

// ErrAnswer says that a solver's answer is not one.
var ErrAnswer = errors.New("not an answer of a solver")
