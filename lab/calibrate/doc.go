// Package calibrate measures what operators of rubrics disclose, and holds it to
// what the rubrics charge for them. It follows Pre-Registrations A to C of the
// OCELOT paper (Appendix C); spec/declassify.md, section 10.
//
// A Pool is a set of adversaries. The calibration pool sets costs. The stress
// pool judges them: no adversary is in both, and the stress pool knows
// correlations and backgrounds that the rubrics do not declare. People and texts
// are those of a world of package lab/traj/world, in two halves: one to
// calibrate on, the other to report on.
//
//   - Atoms (Sequence): the arguments of a task are shown one after another,
//     each with one operator drawn at random on one of its fields. An atom's Δ is
//     what the worst adversary learns of the field by it, given all that was shown
//     before: the increment of the dynamic min-entropy leakage. What stands around
//     the value counts as drop, which shows just that; the other operators are
//     measured by what they add.
//   - Costs (Cell): by field, operator and level, the mean of Δ and its 97 %
//     quantile, each with the upper bound of a one-sided 95 % bootstrap percentile
//     interval of 1,000 resamples. The calibrated cost is that of the quantile: a
//     mean bounds no single release. Atoms that refine an earlier view of the
//     same value are left out of costs, and count in coverage. A Charge holds what
//     the rubrics charge to it.
//   - Pairs: for fields that the rubrics declare to depend on each other, the two
//     increments together, in the order that tells more.
//   - Priors: the same under an adversary who takes everything for equally
//     probable, one with a skew like that of a census, and one who knows the region.
//   - Coverage: trajectories under the defence itself, and the share of fields
//     shown to sinks other than required services whose measured leakage is
//     within their certified cost, by operator and pool. The operator none is of
//     fields that were disclosed and not labelled.
//   - Linkage: a register of people, in which the person is; what a trajectory
//     tells of who it is, against the sum of all that was certified.
//
// The source's thresholds are lost in our copy; those of Limits are ours, and
// those of issue 15 where it has some.
package calibrate
