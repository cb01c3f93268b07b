// Package ledger is the record of what was let out, in bits: entries in a
// signed hash chain for each family of trajectories, the arithmetic that
// charges them to a budget, and the check of both from an export alone. The
// formats are specified in docs/format/ledger.md.
//
// An entry tells of one release: to whom, under which rubrics, which atoms,
// and for each value what all sinks of a class or worse may have learnt of it
// together once the release is out. State.Apply is the one place that says
// whether an entry may follow another. What commits a release and what checks
// a ledger years later both call it, so they can't differ. It does no
// floating-point arithmetic and looks at no clock.
//
// An entry holds no value of a secret, only keyed fingerprints.
package ledger
