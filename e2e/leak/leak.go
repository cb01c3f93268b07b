// Package leak reports whether text discloses secrets: by any run of their
// bytes too long to be an accident, or by one of their plain encodings.
package leak

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// MinRun is the number of consecutive bytes of a secret that count as a leak.
// Secrets shorter than that leak whole.
const MinRun = 8

// Longest returns the length in bytes of the longest run of secret that occurs
// in text.
func Longest(secret string, text []byte) int {
	best := 0
	for i := 0; i+best < len(secret); i++ {
		for n := best + 1; i+n <= len(secret) && bytes.Contains(text, []byte(secret[i:i+n])); n++ {
			best = n
		}
	}
	return best
}

// In reports whether any of secrets leaks in text, as it is or in one of
// [Encodings].
func In(text []byte, secrets ...string) bool {
	for _, s := range secrets {
		for _, form := range append([]string{s}, Encodings(s)...) {
			if Longest(form, text) >= min(MinRun, len(form)) {
				return true
			}
		}
	}
	return false
}

// Encodings returns forms of s that any reader could undo: base64, base16 in
// both cases, and reversed. For base64 it is the part that is the same whatever
// stands behind the secret.
func Encodings(s string) []string {
	reversed := []byte(s)
	slices.Reverse(reversed)
	base16 := hex.EncodeToString([]byte(s))
	return []string{
		base64.RawStdEncoding.EncodeToString([]byte(s[:len(s)/3*3])),
		base16, strings.ToUpper(base16), string(reversed),
	}
}
