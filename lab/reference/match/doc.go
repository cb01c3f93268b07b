// Package match is the reference's copy of how the product finds known secrets: the
// prints of values, the index of a set of records, and the matcher that reads
// canonical text. Its prints are its own; those of the product may change.
package match
