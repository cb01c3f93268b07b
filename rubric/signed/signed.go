// Package signed writes and opens signed rubrics: canonical bytes with an Ed25519
// signature. It reads and writes public keys, too. The format is in
// docs/format/rubric.md.
package signed

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/margaydev/margay/internal/yamldoc"
)

// What may be wrong with an envelope; besides, yamldoc.ErrVersion.
var (
	ErrUnsigned   = errors.New("it is not signed")
	ErrUnknownKey = errors.New("its key is not trusted")
	ErrAltered    = errors.New("it was altered after it was signed")
)

const (
	head     = "margay-rubric-v1"
	kind     = "margay-rubric-v"
	keyHead  = "margay-rubric-key-v1"
	keyKind  = "margay-rubric-key-v"
	overhead = 512 // bytes of an envelope, at most
)

// Ext is the ending of signed rubrics' names, KeyExt that of public keys'.
const (
	Ext    = ".rubric"
	KeyExt = ".pub"
)

// IsEnvelope reports whether a file starts as an envelope does, of any version.
func IsEnvelope(b []byte) bool { return bytes.HasPrefix(b, []byte(kind)) }

// KeyID names a public key: the first eight bytes of its SHA-256, in
// hexadecimal.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// message returns the bytes to sign. The head separates them from anything else
// that the key may sign.
func message(canonical []byte) []byte { return slices.Concat([]byte(head+"\n"), canonical) }

// Seal signs canonical bytes.
func Seal(canonical []byte, key ed25519.PrivateKey) []byte {
	pub, _ := key.Public().(ed25519.PublicKey)
	sig := ed25519.Sign(key, message(canonical))
	return fmt.Appendf(nil, "%s\nkey %s\nsignature %s\n\n%s\n", head, KeyID(pub), base64.StdEncoding.EncodeToString(sig), canonical)
}

// Open returns the bytes that a trusted key signed, of which there are at most
// max.
func Open(b []byte, trusted []ed25519.PublicKey, max int) ([]byte, error) {
	if len(b) > max+overhead {
		return nil, fmt.Errorf("a rubric has at most %d bytes", max)
	}
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	switch {
	case string(first) != head && IsEnvelope(first):
		return nil, yamldoc.ErrVersion
	case string(first) != head:
		return nil, ErrUnsigned
	}
	keyLine, rest, _ := bytes.Cut(rest, []byte("\n"))
	id, ok1 := strings.CutPrefix(string(keyLine), "key ")
	sigLine, rest, _ := bytes.Cut(rest, []byte("\n"))
	text, ok2 := strings.CutPrefix(string(sigLine), "signature ")
	if !ok1 || !ok2 {
		return nil, ErrUnsigned
	}
	// The decoder skips line ends, so a carriage return would give one signature
	// two spellings.
	sig, err := base64.StdEncoding.Strict().DecodeString(text)
	canonical, ok3 := bytes.CutPrefix(rest, []byte("\n"))
	canonical, ok4 := bytes.CutSuffix(canonical, []byte("\n"))
	if err != nil || strings.Contains(text, "\r") || !ok3 || !ok4 || len(sig) != ed25519.SignatureSize {
		return nil, ErrAltered
	}
	i := slices.IndexFunc(trusted, func(k ed25519.PublicKey) bool { return len(k) == ed25519.PublicKeySize && KeyID(k) == id })
	if i < 0 {
		return nil, ErrUnknownKey
	}
	if !ed25519.Verify(trusted[i], message(canonical), sig) {
		return nil, ErrAltered
	}
	return canonical, nil
}

// FormatKey writes a public key for ParseKey.
func FormatKey(key ed25519.PublicKey) []byte {
	return fmt.Appendf(nil, "%s\n%s\n", keyHead, base64.StdEncoding.EncodeToString(key))
}

// ParseKey reads a public key.
func ParseKey(b []byte) (ed25519.PublicKey, error) {
	head, rest, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if head != keyHead {
		if strings.HasPrefix(head, keyKind) {
			return nil, yamldoc.ErrVersion
		}
		return nil, errors.New("it is not a public key for rubrics")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(rest))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("it is not a public key for rubrics")
	}
	return key, nil
}
