package session

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/secret"
)

// A keyed hash is that of its parts under its key, whatever was hashed before:
// stored names are found by it.
func TestKeyed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &secret.Keys{Pseudonym: [32]byte{byte(rapid.IntRange(0, 1).Draw(t, "key"))}}
		domain := rapid.SampledFrom([]string{"", "a", "margay b v1"}).Draw(t, "domain")
		parts := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 0, 3).Draw(t, "parts")
		h := hmac.New(sha256.New, k.Pseudonym[:])
		h.Write([]byte(domain))
		for _, p := range parts {
			h.Write(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(p))))
			h.Write(p)
		}
		if got := Keyed(k, domain, parts...); string(got[:]) != string(h.Sum(nil)) {
			t.Fatalf("%x", got)
		}
	})
}
