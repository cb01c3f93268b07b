// Package agents runs real agent programs behind Margay and under its hooks,
// against a scripted model, to see what they send and what they do with the
// answers of hooks.
//
// The programs are not part of the tree. The tests look for them in
// .cache/agents, and are skipped if they are missing, unless MARGAY_REQUIRE
// names "agents". scripts/e2e-agents installs them and runs the tests.
package agents
