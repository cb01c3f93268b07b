package scenario

import (
	"crypto/rand"
	"fmt"
	"math/big"
)

// Secrets are the planted values of one run. They are made at run time and
// occur nowhere else.
type Secrets struct {
	// Known is registered under [KnownName]. Nothing in its look makes it a
	// secret: it is found because it is known, or not at all.
	Known string
	// Unknown looks like a GitHub token, and nobody has registered it.
	Unknown string
}

// KnownName is the name that the known secret is registered by: an environment
// variable.
const KnownName = "ACME_API_KEY"

// NewSecrets makes up secrets.
func NewSecrets() Secrets {
	const (
		consonants = "bdfgklmnprstvz"
		vowels     = "aeiou"
		alphanum   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	)
	word := func(syllables int) string {
		w := ""
		for range syllables {
			w += pick(consonants) + pick(vowels)
		}
		return w
	}
	s := Secrets{Known: fmt.Sprintf("%s-%s-%s-%s%s%s", word(4), word(3), word(4), pick("123456789"), pick("0123456789"), pick("0123456789"))}
	s.Unknown = "ghp" + "_"
	for range 36 {
		s.Unknown += pick(alphanum)
	}
	return s
}

// All returns the values.
func (s Secrets) All() []string { return []string{s.Known, s.Unknown} }

func pick(from string) string {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(len(from))))
	if err != nil {
		panic(fmt.Sprintf("scenario: no randomness: %v", err))
	}
	return string(from[i.Int64()])
}
