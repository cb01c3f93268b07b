// Package recognise is the reference's copy of how the product runs its rules over a
// text. The rules themselves are the product's.
package recognise
