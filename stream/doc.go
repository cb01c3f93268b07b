// Package stream is the editor of streamed text: it holds back what may still
// become a secret, releases everything else, and replaces secrets.
//
// # Guarantee
//
// No byte of a matched span is ever emitted: for every detector, in every
// canonical view, under every way of cutting the text into chunks. A span is
// the secret itself (a rule's secret group, a registered value's extent in the
// raw text); matched means found by the same detectors in the complete text.
//
// # Why it holds
//
// A detector D reads a text and reports spans. Each must have three
// properties, which property tests and fuzzing check:
//
//  1. Chunk invariance. The spans that D reports for a text depend on its
//     bytes alone. Every detector is an automaton that steps a byte at a time;
//     calls only batch its steps.
//  2. Safe hold. After a prefix P of the text, D names an offset hold(P) so
//     that every span that D reports later, for whatever follows P, starts at
//     or after hold(P). A recogniser run that has entered its secret group
//     holds from there; a matcher holds from the start of each candidate and
//     from the last characters that can begin one; a transducer holds from
//     the first byte that it has read and not yet written.
//  3. Causality. A span is reported at the latest when hold passes its start.
//
// Package cut is the kernel that enforces this: it knows only spans and
// offsets, moves the cut to the least hold, and cuts spans out. Only what it
// releases goes out, and a detector that breaks property 3 breaks the text,
// which is blocked. So the guarantee needs the detectors for what is matched
// and held, and the kernel for the rest.
//
// The cut after P is the least hold of all detectors over all views. Take any
// byte b of any matched span S=[s,e), and suppose b was emitted after P
// unedited. Then b < cut(P), so s < cut(P) ≤ hold(P) of the detector that
// reports S. By 2 S was not reported after P; by 3 it was reported already,
// and by 1 it is the same S as in the complete text. Known spans are edited
// out of everything before the cut, so b was not emitted: contradiction.
//
// The edited text is a function of the set of spans alone: spans are joined
// where they overlap, and a joined region is replaced by what its leader (the
// span that starts first) calls for. So the edited text, too, is the same for
// every cut into chunks. Only its timing depends on them.
//
// # Bounds
//
// No detector holds more than Config.MaxHeld bytes: past that, held text is
// taken for a secret (Finding.Capped) and replaced. Characters that are more
// than canon.MaxApart raw bytes apart are not of one secret, for any detector
// over canonical text, so separators alone hold nothing. If the detectors
// fail to bound themselves, the kernel takes what they hold for a secret
// (RuleUndecided). Nothing is released by a timer. State is bounded for each
// text; a decoding view gets its own with the first run of encoded text, and
// keeps it for the next.
//
// # Sleep
//
// Nearly all text has nothing in it. A detector skips what nothing can start in,
// and wakes in the state that it would be in; and all forms of a view share
// detectors while they read alike. That changes what is computed, never what is
// found or held (docs/adr/0032-text-that-nothing-can-start-in.md).
//
// # Outside the guarantee
//
// A secret split over two texts (blocks, choices, turns), or with more than
// canon.MaxApart bytes between two of its characters; an encoding that no
// view undoes; what is encoded with fewer than six bytes of text around it; a
// list of fewer than eight numbers; a value in another case that is easy to
// guess; chains of more than two encodings, and those of two that
// docs/benchmarks.md lists as not found.
package stream
