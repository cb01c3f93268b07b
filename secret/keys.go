package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Keys are the three independent keys of one installation. Whoever has one of
// them learns nothing that another protects:
//
//   - Fingerprint recognises values (HMAC and SipHash prints in the store),
//   - Pseudonym names values inside a trajectory,
//   - Seal encrypts the values behind pseudonyms.
//
// They are kept apart from the store.
type Keys struct {
	Fingerprint [32]byte
	Pseudonym   [32]byte
	Seal        [32]byte
}

// NewKeys returns fresh random keys.
func NewKeys() Keys {
	var k Keys
	for _, b := range []*[32]byte{&k.Fingerprint, &k.Pseudonym, &k.Seal} {
		// crypto/rand.Read never fails since Go 1.24.
		_, _ = rand.Read(b[:])
	}
	return k
}

// mac returns HMAC-SHA-256 over a domain and length-prefixed parts, so that
// no two different argument lists give the same input.
func mac(key []byte, domain string, parts ...[]byte) [32]byte {
	h := hmac.New(sha256.New, key)
	var n [8]byte
	write := func(p []byte) {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	write([]byte(domain))
	for _, p := range parts {
		write(p)
	}
	var out [32]byte
	h.Sum(out[:0])
	return out
}

// MatchKey returns the subkey of Fingerprint for one use of package match.
func (k *Keys) MatchKey(use string) [32]byte { return mac(k.Fingerprint[:], use) }

// FingerprintOf returns the fingerprint of a value.
func (k *Keys) FingerprintOf(value []byte) Fingerprint {
	sum := mac(k.Fingerprint[:], "margay fingerprint v1", value)
	return Fingerprint(sum[:16])
}

// ErrSealed says that a sealed value can't be opened: it was made under
// another key, for another record, or was changed.
var ErrSealed = errors.New("sealed value does not open under this key")

// SealValue encrypts value with AES-256-GCM under Keys.Seal, bound to the
// context (a trajectory and a fingerprint, say). The nonce is random; one key
// is good for 2^32 values.
func (k *Keys) SealValue(value []byte, context string) ([]byte, error) {
	a, err := k.aead()
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, a.NonceSize(), a.NonceSize()+len(value)+a.Overhead())
	_, _ = rand.Read(nonce)
	return a.Seal(nonce, nonce, value, []byte(context)), nil
}

// OpenValue decrypts what SealValue made for the same context, or returns
// ErrSealed.
func (k *Keys) OpenValue(sealed []byte, context string) ([]byte, error) {
	a, err := k.aead()
	if err != nil {
		return nil, err
	}
	if len(sealed) < a.NonceSize() {
		return nil, ErrSealed
	}
	v, err := a.Open(nil, sealed[:a.NonceSize()], sealed[a.NonceSize():], []byte(context))
	if err != nil {
		return nil, ErrSealed
	}
	return v, nil
}

func (k *Keys) aead() (cipher.AEAD, error) {
	b, err := aes.NewCipher(k.Seal[:])
	if err != nil {
		return nil, fmt.Errorf("seal key: %w", err)
	}
	return cipher.NewGCM(b)
}
