package plausible

import (
	"bytes"
	"strings"

	"github.com/margaydev/margay/secret/rarity"
)

const (
	publicLeast = 12  // characters of a value that Public gives
	nameWithin  = 120 // bytes before a value that its name is looked for in
)

// Public gives the values of a text that have the names of what is
// public: digests, revisions, identifiers, serial numbers. They are valid
// during the call.
func Public(text []byte, each func(value []byte)) {
	for i := 0; i < len(text); {
		if !inPublic(text[i]) {
			i++
			continue
		}
		start, digits := i, false
		for i < len(text) && inPublic(text[i]) {
			digits = digits || text[i] >= '0' && text[i] <= '9'
			i++
		}
		value := bytes.TrimRight(text[start:i], ".")
		if len(value) < publicLeast || !digits {
			continue
		}
		if at := bytes.LastIndexAny(value, "=:"); at >= 0 && at < len(value)-publicLeast { // NAME=value
			start += at + 1
			value = value[at+1:]
		}
		if NamesPublic(text[max(0, start-nameWithin):start]) {
			each(value)
		}
	}
}

func inPublic(c byte) bool {
	return c == '_' || rarity.Class(c) != 'p' || strings.IndexByte("-=:+/.", c) >= 0
}
