// Package ledger records what was disclosed, in bits: signed chains of entries,
// one for each family of trajectories, checkpoints of all of them, and exports
// that anybody can check with the public key alone. The formats are specified
// in docs/format/ledger.md.
//
// Entries, their arithmetic and the append are the kernel [charge]. The commit
// of a release and the check of a ledger years later both call charge.State,
// so they can't differ. This package surrounds the kernel: nothing here can
// make a release possible that the kernel refuses.
package ledger
