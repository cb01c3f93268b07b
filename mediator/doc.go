// Package mediator decides every flow over the boundary between an agent
// harness and the world outside it, and fails closed.
//
// An [Engine] holds what all trajectories share: the rules, the keys, the
// index of registered secrets, the policy. A [Session] is one request inside
// one trajectory; its methods are the boundary verbs. Connectors pass text in
// and get edits and a decision; they hold no policy.
//
// Every failure inside (a store that can't be written, a panic, a text that
// is too large) ends in a denial with a reason, unless Config.OnErrorPass
// says otherwise. Every decision with findings is in the log before its bytes
// are released.
package mediator
