// Package reference is the detection engine of the product as it was before it was
// rewritten for speed. It says what an engine finds in a text, which edits the text
// gets, and how much is held back, so that tests and fuzzing can compare the engine of
// today with it:
//
//   - ahocorasick and dfa are the automata,
//   - canon undoes disguises,
//   - match finds known secrets,
//   - recognise runs rules,
//   - stream puts them together.
//
// It MUST NOT be edited, not even where it is wrong or slow: a difference that is
// wanted is written down beside the comparison. Exceptions are types that it
// shares with the product and that move, and mistakes that are mended in both, since
// nothing could be compared with them:
//
//   - of decoded bytes, text alone is read (canon.Sieve),
//   - what is too far from the rest ends a number and an encoded run: they depended on
//     how the text was cut,
//   - one finding is told once, whatever is between its views: so did that,
//   - what matches inside the reported part of a long token is of it: the time grew with
//     the square of the text.
//
// It shares what is not the engine: kinds,
// records, keys, rules with their validators, findings and their decisions, and the
// kernel stream/cut. So a change of a rule changes both, and no figure of the
// comparison.
//
// Prints of values are its own: a value is registered with both engines.
package reference
