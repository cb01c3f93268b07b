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
// wanted is written down beside the comparison. The exception are types that it
// shares with the product and that move. It shares what is not the engine: kinds,
// records, keys, rules with their validators, findings and their decisions, and the
// kernel stream/cut. So a change of a rule changes both, and no figure of the
// comparison.
//
// Prints of values are its own: a value is registered with both engines.
package reference
