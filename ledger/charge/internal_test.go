package charge

import "crypto/ed25519"

// Remembered returns how many families and rubrics a book remembers.
func (b *Book) Remembered() (states, kept int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.states), len(b.kept)
}

// Bounds of what a book remembers.
const (
	MaxStates = maxStates
	MaxKept   = maxKept
)

// Young returns how many values a state holds besides those it shares.
func (s *State) Young() int { return len(s.young) }

// Values returns how many values something is known of.
func (s *State) Values() int {
	n := len(s.old)
	for v := range s.young {
		if _, ok := s.old[v]; !ok {
			n++
		}
	}
	return n
}

// Append appends the canonical encoding: the body, then the signature.
func (e *Entry) Append(b []byte) []byte { return append(e.AppendBody(b), e.Sig[:]...) }

// Sign signs the entry as a book does.
func (e *Entry) Sign(key ed25519.PrivateKey) { copy(e.Sig[:], ed25519.Sign(key, SignedText(e.Hash()))) }

// Verify is VerifyHash for the entry.
func (e *Entry) Verify(key ed25519.PublicKey) error { return VerifyHash(key, e.Hash(), &e.Sig) }
