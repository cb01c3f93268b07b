package secret

import (
	"crypto/hmac"
	"encoding/base32"
	"regexp"
	"strings"
)

// Pseudonymiser names secrets inside one trajectory. A pseudonym looks like
//
//	margay-api-key-k3v9q2xw5m7dabcd
//
// It is typed by kind, the same for the same value in the whole trajectory,
// unrelated between trajectories, and made of characters that JSON, shells,
// URLs and Markdown leave alone. Its last part is ten characters (50 bits) of
// HMAC(trajectory key, kind, fingerprint) and a check of four characters (20
// bits), so that a mangled, guessed or invented one is noticed: a random one
// passes with probability 2^-20. It reveals kind and equality, nothing else.
//
// A Pseudonymiser is immutable and safe for concurrent use.
type Pseudonymiser struct {
	key [32]byte
}

const (
	pseudonymPrefix = "margay-"
	pseudonymID     = 10
	pseudonymCheck  = 4
)

var (
	lower32     = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	pseudonymRE = regexp.MustCompile(`margay-([a-z]+(?:-[a-z]+)*)-([a-z2-7]{14})`)
)

// NewPseudonymiser returns the pseudonymiser of one trajectory.
func NewPseudonymiser(keys *Keys, trajectory string) *Pseudonymiser {
	return &Pseudonymiser{key: mac(keys.Pseudonym[:], "margay trajectory v1", []byte(trajectory))}
}

// Name returns the pseudonym of the value with this fingerprint.
func (p *Pseudonymiser) Name(kind Kind, fp Fingerprint) string {
	sum := mac(p.key[:], "margay pseudonym v1", []byte(kind), fp[:])
	id := lower32.EncodeToString(sum[:8])[:pseudonymID]
	return pseudonymPrefix + string(kind) + "-" + id + p.check(kind, id)
}

func (p *Pseudonymiser) check(kind Kind, id string) string {
	sum := mac(p.key[:], "margay pseudonym check v1", []byte(kind), []byte(id))
	return lower32.EncodeToString(sum[:5])[:pseudonymCheck]
}

// Verify reports whether s is a pseudonym that this trajectory could have
// given out.
func (p *Pseudonymiser) Verify(s string) (Kind, bool) {
	m := pseudonymRE.FindStringSubmatch(s)
	if m == nil || m[0] != s {
		return "", false
	}
	kind, id, check := Kind(m[1]), m[2][:pseudonymID], m[2][pseudonymID:]
	return kind, hmac.Equal([]byte(check), []byte(p.check(kind, id)))
}

// PseudonymAt is a place where a text has the shape of a pseudonym.
type PseudonymAt struct {
	Start, End int
	Name       string
	Kind       Kind
	Valid      bool // false: mangled, invented, or from another trajectory
}

// FindAll returns the pseudonym-shaped places of text in order.
func (p *Pseudonymiser) FindAll(text string) []PseudonymAt {
	if !strings.Contains(text, pseudonymPrefix) {
		return nil
	}
	var out []PseudonymAt
	for _, m := range pseudonymRE.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[0]:m[1]]
		_, ok := p.Verify(name)
		out = append(out, PseudonymAt{Start: m[0], End: m[1], Name: name, Kind: Kind(text[m[2]:m[3]]), Valid: ok})
	}
	return out
}

// Covers reports whether text is a valid pseudonym of this trajectory with at
// most slack bytes around it. A detector that finds a pseudonym again in the
// history has found nothing.
func (p *Pseudonymiser) Covers(text []byte, slack int) bool {
	if len(text) > 256 {
		return false
	}
	rest := len(text)
	for _, at := range p.FindAll(string(text)) {
		if at.Valid {
			rest -= at.End - at.Start
		}
	}
	return rest < len(text) && rest <= slack
}
