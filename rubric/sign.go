package rubric

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
)

// What may be wrong with a signed rubric. A Refusal wraps one of them.
var (
	ErrUnsigned   = errors.New("it is not signed")
	ErrUnknownKey = errors.New("its key is not among those that are trusted")
	ErrAltered    = errors.New("it was altered after it was signed")
	ErrExpired    = errors.New("it has expired")
	ErrUnknown    = errors.New("no such rubric is registered")
	ErrInvalid    = errors.New("it is not valid")
)

const (
	signedHead = "margay-rubric-v1"
	signedKind = "margay-rubric-v"
	keyHead    = "margay-rubric-key-v1"
	keyKind    = "margay-rubric-key-v"
)

// Ext is the ending of signed rubrics' names, KeyExt that of public keys'.
const (
	Ext    = ".rubric"
	KeyExt = ".pub"
)

// Refusal is why a rubric may not be relied on.
type Refusal struct {
	What string // the file, or the rubric's name and hash
	Rule string // stable, kebab-case: what refused it
	Err  error  // wraps one of the errors above, or ErrVersion
}

// Error returns what was refused, why, and by which rule.
func (r *Refusal) Error() string { return r.What + ": refused: " + r.Err.Error() + " (" + r.Rule + ")" }

// Unwrap returns the cause.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(what string, err error) *Refusal {
	for _, one := range []struct {
		err  error
		rule string
	}{
		{ErrVersion, "unknown-version"},
		{ErrUnsigned, "unsigned"},
		{ErrUnknownKey, "unknown-key"},
		{ErrAltered, "altered"},
		{ErrExpired, "expired"},
		{ErrUnknown, "unknown-rubric"},
		{ErrCanonical, "not-canonical"},
	} {
		if errors.Is(err, one.err) {
			return &Refusal{what, one.rule, err}
		}
	}
	return &Refusal{what, "invalid", fmt.Errorf("%w: %w", ErrInvalid, err)}
}

// KeyID names a public key: the first eight bytes of its SHA-256, in
// hexadecimal.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:8])
}

// signed is what is signed. The head keeps it from being taken for anything
// else that the key may sign.
func signed(canonical []byte) []byte { return slices.Concat([]byte(signedHead+"\n"), canonical) }

// Sign signs a rubric. What it returns is the file that registries hold.
func Sign(r *Rubric, key ed25519.PrivateKey) []byte {
	pub, _ := key.Public().(ed25519.PublicKey)
	sig := ed25519.Sign(key, signed(r.canonical))
	return fmt.Appendf(nil, "%s\nkey %s\nsignature %s\n\n%s\n", signedHead, KeyID(pub), base64.StdEncoding.EncodeToString(sig), r.canonical)
}

// Verify reads a signed rubric. It does not look at the day on which the
// rubric expires. Errors are of type *Refusal.
func Verify(file string, b []byte, trusted []ed25519.PublicKey) (*Rubric, error) {
	fail := func(err error) (*Rubric, error) { return nil, refuse(file, err) }
	if len(b) > MaxBytes+512 {
		return fail(fmt.Errorf("a rubric has at most %d bytes", MaxBytes))
	}
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	switch {
	case string(head) != signedHead && bytes.HasPrefix(head, []byte(signedKind)):
		return fail(ErrVersion)
	case string(head) != signedHead:
		return fail(ErrUnsigned)
	}
	keyLine, rest, _ := bytes.Cut(rest, []byte("\n"))
	id, ok1 := strings.CutPrefix(string(keyLine), "key ")
	sigLine, rest, _ := bytes.Cut(rest, []byte("\n"))
	text, ok2 := strings.CutPrefix(string(sigLine), "signature ")
	if !ok1 || !ok2 {
		return fail(ErrUnsigned)
	}
	sig, err := base64.StdEncoding.Strict().DecodeString(text)
	canonical, ok3 := bytes.CutPrefix(rest, []byte("\n"))
	canonical, ok4 := bytes.CutSuffix(canonical, []byte("\n"))
	if err != nil || !ok3 || !ok4 || len(sig) != ed25519.SignatureSize {
		return fail(ErrAltered)
	}
	i := slices.IndexFunc(trusted, func(k ed25519.PublicKey) bool { return len(k) == ed25519.PublicKeySize && KeyID(k) == id })
	if i < 0 {
		return fail(ErrUnknownKey)
	}
	if !ed25519.Verify(trusted[i], signed(canonical), sig) {
		return fail(ErrAltered)
	}
	r, err := ParseCanonical(file, canonical)
	if err != nil {
		return fail(err)
	}
	return r, nil
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
			return nil, ErrVersion
		}
		return nil, errors.New("it is no public key of rubrics")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSpace(rest))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("it is no public key of rubrics")
	}
	return key, nil
}
