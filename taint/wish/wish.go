// Package wish tells from a user's words whether he asks for an act.
package wish

import (
	"slices"
	"strings"
)

// usual are commands whose destination goes without saying where the user asks
// for them by one of their words: what a clone came from.
var usual = []struct {
	command string
	words   []string
}{
	{"git push", []string{"push", "pushed"}},
	{"git pull", []string{"pull", "update", "rebase", "sync"}},
	{"git fetch", []string{"fetch", "pull", "update", "rebase", "sync"}},
}

// Places are what such a command may name.
var Places = []string{"origin", "HEAD"}

// Asked reports whether one of the user's texts asks for a command of which the
// destination goes without saying.
func Asked(command string, user []string) bool {
	for _, u := range usual {
		if command != u.command && !strings.HasPrefix(command, u.command+" ") {
			continue
		}
		for _, s := range user {
			if slices.ContainsFunc(u.words, func(w string) bool { return Wants(s, w) }) {
				return true
			}
		}
	}
	return false
}

// removals are words by which people ask for something to be removed.
var removals = []string{"delete", "remove", "rm", "drop", "revert", "discard", "reset", "restore", "undo", "clean", "clear", "erase", "purge", "wipe", "prune", "rid"}

// Removes reports whether a text asks for something to be removed.
func Removes(text string) bool {
	return slices.ContainsFunc(removals, func(w string) bool { return Wants(text, w) })
}

// negations are words before which a wish is none.
var negations = []string{"not", "don't", "dont", "never", "without", "no", "avoid", "stop", "before", "unless", "cannot", "can't", "won't", "isn't"}

// Wants reports whether a text has a word without a negation close before it,
// and none with one.
func Wants(text, word string) bool {
	found := false
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '\'' || r == '’') })
	for i, w := range words {
		if w != word {
			continue
		}
		for _, before := range words[max(0, i-4):i] {
			if slices.Contains(negations, strings.ReplaceAll(before, "’", "'")) {
				return false
			}
		}
		found = true
	}
	return found
}
