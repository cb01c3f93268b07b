// Package agents runs real agent programs behind Margay and under its hooks,
// against a scripted model: what they send, and what they do with the answers
// of hooks, is theirs alone to say.
//
// The programs are not part of the tree. The tests look for them in
// .cache/agents, and are skipped where they are missing, unless MARGAY_REQUIRE
// names "agents":
//
//	npm install --prefix .cache/agents @anthropic-ai/claude-code @openai/codex
package agents
