package stream

import (
	"cmp"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream/cut"
)

// Finding.Rule of what no recogniser's rule found.
const (
	RuleVault = "vault" // by fingerprint
	RuleRisk  = "risk"  // by the risk model, through Mark

	RuleUndecided = "undecided" // KindUndecided
)

// Finding is one matched span. It holds no value.
type Finding struct {
	Start, End int64 // raw offsets of the secret itself

	Kind        secret.Kind
	Rule        string // the recogniser's rule, or RuleVault
	Class       recognise.Class
	Source      secret.Source // registered or discovered, for RuleVault
	ID          string        // the registered secret's id
	Name        string        // the registered secret's name
	View        string        // the view that showed it
	Fingerprint secret.Fingerprint
	Action      flow.Action
	Capped      bool    // taken for a secret because it could not be decided in bounds
	Fragment    bool    // a part of the registered secret
	Risk        float64 // in [0,1], for RuleRisk
	own         extent  // what was found, where the URL around it goes with it
	continues   bool    // goes on where a capped or open finding ended
}

// KindUndecided is the kind of text that was cut out because it could not be
// decided: the package's own bounds failed, not the text.
const KindUndecided secret.Kind = "undecided"

// Edit replaces raw bytes by a text.
type Edit = cut.Edit

// Config says what is looked for and what is done. It is shared by all
// scanners made from it and must not change.
type Config struct {
	// Rules are the recognisers; nil for none.
	Rules *recognise.Set
	// Vaults are the indexes of known secrets.
	Vaults []*match.Index
	// Path is the file that the text comes from, for rules bound to paths.
	Path string
	// MaxHeld bounds the bytes held back. Zero means 4096.
	MaxHeld int
	// Now decides about expired secrets. Zero means that none is expired.
	Now time.Time
	// HoldURLs holds URLs whole and replaces a URL that holds a finding
	// from its host on: whoever renders the text would fetch it.
	HoldURLs bool
	// Gone reports whether nobody waits for the text any more. A scanner asks
	// every 256 bytes. Then it looks at no more, and cuts out all that it has
	// not decided, with a finding that blocks. Nil stands for never.
	Gone func() bool
	// Decide says what is done with a finding; raw is valid during the
	// call. Nil redacts everything. It may fill in f.Fingerprint, and must
	// be a function of its arguments.
	Decide func(f *Finding, raw []byte) flow.Action
	// Replace appends what stands for a finding. Nil writes
	// [REDACTED:<kind>].
	Replace func(dst []byte, f *Finding, raw []byte) []byte
}

// DefaultMaxHeld is the cap on held bytes where Config names none.
const DefaultMaxHeld = 4096

// slack is how many raw bytes may stay undecided for each byte that a
// detector may hold. A detector counts the bytes of its view: each may stand for
// two encodings over each other, with canon.MaxApart bytes between characters.
// The cut takes what is more for a secret, whatever the detectors say.
const slack = 2048

func (c *Config) maxHeld() int64 { return int64(cmp.Or(max(c.MaxHeld, 0), DefaultMaxHeld)) }

func (c *Config) nowMilli() int64 {
	if c.Now.IsZero() {
		return 0
	}
	return c.Now.UnixMilli()
}

func (c *Config) decide(f *Finding, raw []byte) flow.Action {
	if c.Decide == nil {
		return flow.ActRedact
	}
	return c.Decide(f, raw)
}

func (c *Config) replace(dst []byte, f *Finding, raw []byte) []byte {
	if c.Replace == nil {
		return AppendRedaction(dst, f.Kind)
	}
	return c.Replace(dst, f, raw)
}

// AppendRedaction appends [REDACTED:<kind>].
func AppendRedaction(dst []byte, kind secret.Kind) []byte {
	return append(append(append(dst, "[REDACTED:"...), kind...), ']')
}

// leads orders findings with the same start: the one that comes first says
// what the region is replaced by. Known secrets come before recognised ones,
// credentials before what key names and entropy suggest, and that before
// personal data; then the longer, then by name, so that the order is total.
func leads(a, b *Finding) int {
	return cmp.Or(
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(b.End, a.End),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.ID, b.ID),
		cmp.Compare(a.View, b.View),
	)
}

func rank(f *Finding) int {
	switch {
	case f.continues:
		return 9
	case f.Capped:
		return 8
	case f.Rule == RuleRisk:
		return 6
	case f.Fragment:
		return 2
	case f.Rule == RuleVault && f.Source == secret.SourceRegistered:
		return 0
	case f.Rule == RuleVault:
		return 1
	case f.Class == recognise.ClassCredential:
		return 3
	case f.Class == recognise.ClassDiscovery:
		return 4
	default:
		return 5
	}
}
