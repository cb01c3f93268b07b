// Package secret keeps what must not leak as keyed fingerprints and finds it
// again in streams of canonical text. It never stores a value.
package secret

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
	default:
		return false
	}
}

// Source is how a secret came to be known.
type Source string

// Sources.
const (
	SourceRegistered Source = "registered" // a person or an import gave it
	SourceDiscovered Source = "discovered" // found in the trajectory's own content
	SourceDeclared   Source = "declared"   // a rubric's private field
)
