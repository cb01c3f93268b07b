// Package match finds known secrets in canonical text by keyed fingerprints of them.
//
// A print of a value ([Print], [Prepare]) is all that is kept of it. An [Index] is made
// of the records of a set of secrets, and a [Matcher] reads one view of one text: it
// finds whole secrets and parts of them, and says how much of the text is still
// undecided. Where a text has nothing of a secret, it only dozes over it.
package match
