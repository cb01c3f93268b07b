// Package mediator decides about every flow over the boundary between an
// agent harness and the world outside it, and fails closed.
package mediator
