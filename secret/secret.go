// Package secret keeps what must not leak as keyed fingerprints and finds it
// again in streams of canonical text. It never stores a value.
package secret

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Kind is the type of a secret or of a piece of personal data. It is what a
// pseudonym and a redaction show: [REDACTED:<kind>]. Lower-case ASCII with
// dashes.
type Kind string

// Kinds.
const (
	KindAPIKey           Kind = "api-key"
	KindToken            Kind = "token"
	KindPassword         Kind = "password"
	KindPrivateKey       Kind = "private-key"
	KindConnectionString Kind = "connection-string"
	KindWebhook          Kind = "webhook"
	KindSecret           Kind = "secret" // anything else that is secret
	KindEmail            Kind = "email"
	KindPhone            Kind = "phone"
	KindCard             Kind = "card"
	KindIBAN             Kind = "iban"
	KindNationalID       Kind = "national-id"
	KindIP               Kind = "ip"
	KindUUID             Kind = "uuid"
)

// Personal reports whether k is personal data rather than a credential.
func (k Kind) Personal() bool {
	switch k {
	case KindEmail, KindPhone, KindCard, KindIBAN, KindNationalID, KindIP, KindUUID:
		return true
	}
	return false
}

// Source is how a secret came to be known.
type Source string

// Sources.
const (
	SourceRegistered Source = "registered" // a person or an import gave it
	SourceDiscovered Source = "discovered" // found in the trajectory's own content
	SourceDeclared   Source = "declared"   // a rubric's private field
)

// ErrNotFound says that a store has no record with the id asked for.
var ErrNotFound = errors.New("not found")

// Fingerprint identifies a value without revealing it: HMAC-SHA-256 under
// Keys.Fingerprint, truncated to 128 bits. Equal values have equal
// fingerprints under one key. The zero Fingerprint stands for none.
type Fingerprint [16]byte

// String returns f in lower-case hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// IsZero reports whether f is the zero Fingerprint.
func (f Fingerprint) IsZero() bool { return f == Fingerprint{} }

// MarshalText writes f in hexadecimal; the zero Fingerprint is empty.
func (f Fingerprint) MarshalText() ([]byte, error) {
	if f.IsZero() {
		return nil, nil
	}
	return []byte(f.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (f *Fingerprint) UnmarshalText(b []byte) error {
	*f = Fingerprint{}
	if len(b) == 0 {
		return nil
	}
	if n, err := hex.Decode(f[:], b); err != nil || n != len(f) || len(b) != 2*len(f) {
		return fmt.Errorf("fingerprint is not %d hexadecimal digits", 2*len(f))
	}
	return nil
}

// Record is what a store keeps of one secret. It holds neither the value nor
// any part of it in the clear.
type Record struct {
	ID          string // ULID
	Name        string // what a person calls it; never derived from the value
	Kind        Kind
	Source      Source
	Origin      string // where it came from: "env:NAME", "file:.env:3", "stdin"
	Fingerprint Fingerprint
	Print       []byte    // keyed matching fingerprints, opaque outside this package
	Length      int       // bytes of the value
	Sealed      []byte    // the value under Keys.Seal, or empty
	Created     time.Time // UTC, millisecond precision
	Expires     time.Time // zero: never
}

// Allow undoes findings: those that match all of its non-empty conditions
// pass as if there were no detector. At least one of Fingerprint and Rule is
// set.
type Allow struct {
	ID          string // ULID
	Fingerprint Fingerprint
	Rule        string
	Path        string // exact path or a glob of path.Match; needs Rule
	Reason      string
	Finding     string // the finding it was made from, if any
	Created     time.Time
	Expires     time.Time // zero: never
}

// Store keeps secrets and allowances. All methods are safe for concurrent
// use; a change that returned nil is durable where the engine is.
type Store interface {
	// PutSecrets inserts or replaces records, all or none. A record with
	// the ID of a stored one replaces it, and so does one with the same
	// Fingerprint and Name.
	PutSecrets(ctx context.Context, recs []Record) error
	// DeleteSecret removes one record, or returns ErrNotFound.
	DeleteSecret(ctx context.Context, id string) error
	// Secrets yields all records in the order of their IDs. After an error
	// it yields nothing more.
	Secrets(ctx context.Context) iter.Seq2[Record, error]
	// PutAllow inserts or replaces an allowance by its ID.
	PutAllow(ctx context.Context, a Allow) error
	// DeleteAllow removes one allowance, or returns ErrNotFound.
	DeleteAllow(ctx context.Context, id string) error
	// Allows returns all allowances in the order of their IDs.
	Allows(ctx context.Context) ([]Allow, error)
	// Epoch grows with every change of secrets or allowances, whichever
	// process made it. It is cheap enough to be asked once a request.
	Epoch(ctx context.Context) (uint64, error)
}
