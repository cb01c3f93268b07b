// Package traj runs the benchmark traj: 500 trajectories of a world of package
// world under every defence, and what the stress pool of package adversary learns from what
// sinks were shown.
//
// Bits are dynamic min-entropy leakage, Δ = log2 max P(s|view) − log2 max P(s):
//
//   - leak_bits is that of all secrets together, by all sinks other than
//     required services, pooled; what several secrets share counts once.
//     leak_bits_sum adds the secrets up, shared parts as often as they are
//     shared.
//   - excess_bits is leak_bits above what an oracle can't avoid: the least
//     sufficient variant of every step that its task needs.
//   - unneeded_bits is what required services learn beyond what they need.
//
// Other metrics: recovery_top1, the mean probability that a secret in play is
// guessed at the first try; task_success; fallback_rate, the share of
// releases that were denied, or went the conservative way; escape_rate, the
// share of mentions in free text for unneeded sinks that arrived unchanged and
// tell more than is needed there (escape_oblique: of those that no pattern could
// find); exceedance, the
// share of trajectories of whose ledger an independent sum is above a limit;
// measured_exceedance, the share of those whose measured leakage is above the
// budget; coverage_stress and coverage_calibration, the share of fields shown
// to such sinks whose measured leakage is within their certified cost, by the
// pool and by an adversary who takes fields for independent.
//
// Slices besides categories and lengths: text=needed, tasks that need something
// of free text at a curious sink; mention=oblique; names=redrawn, the same
// trajectories with the names of arguments drawn anew, if Options.Redrawn asks
// for it.
//
// Rows of operator=… and field=… have coverage and excess_bits of fields that such
// sinks were shown: what is learnt of a field above what is learnt under the
// oracle. loro=all and loco=all are the rows of all categories together, each
// held out once; loro=all,operator=… are theirs by operator.
//
// Held-out categories of rules+tagger, with the networks of margay-lab train tagger
// --folds, follow OCELOT's protocols (section 5.3). There a rubric is held out of training
// and calibration, and then used: a category is measured with its own rubric by a
// defender that never saw what it is for. loro=C: the network was trained and
// calibrated without C's subject, as lab/tagger/folds.txt has it. loco=C: also without
// the subjects of the other categories of its domain, so that no sibling was seen.
// fold=none is a network of as many steps that lacks nothing, on all trajectories. Costs
// are those of the rubrics: none is fitted to trajectories, so there is nothing to
// derive anew. The bound of the screener's error is that of the network that is shipped.
//
// rules learns nothing, so its rows of the same names hold the rubric itself out: loro=C
// leaves nothing in its place, so that next to nothing is released, and loco=C puts the
// nearest category's in its place.
//
// Report.Failed and Report.Leaked count by cause why steps failed, and which
// arguments disclosed the bits. They are for work on seeds from
// DevelopmentSeed on.
package traj
