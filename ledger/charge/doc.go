// Package charge counts what is disclosed, in bits, and releases nothing
// uncharged. It is a kernel: the guarantee "no budget is exceeded, nothing is
// sent uncharged" rests on this package and on flow alone.
//
// A release is an [Entry] in the chain of its family of trajectories. It names
// the sink, the rubrics, the atoms, and for each value what all sinks of a class
// or worse may together have learnt of it after the release. Only [State.Apply]
// decides whether an entry may follow another. It does no floating-point arithmetic and reads no clock.
// [Book.Commit] checks an entry with it, appends the entry durably and only
// then returns a [Receipt]. An auditor who checks a ledger years later calls
// the same State.
//
// The texts of a release are in a [Sealed] from the moment their hash is
// taken for the entry. Only a receipt for that hash opens it, and only Commit
// makes receipts, so nobody can send uncharged texts by mistake:
//
//	sealed := charge.Seal(&key, texts)
//	e.Variant = sealed.Variant()
//	receipt, err := book.Commit(ctx, e)
//	texts, ok := receipt.Open(sealed)
//
// An entry holds no value of a secret, only keyed fingerprints. The encoding
// is specified in docs/format/ledger.md.
package charge
