package stream

import (
	"cmp"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/reference/match"
	"github.com/margaydev/margay/lab/reference/recognise"
	"github.com/margaydev/margay/secret"
	rules "github.com/margaydev/margay/secret/recognise"
	product "github.com/margaydev/margay/stream"
	"github.com/margaydev/margay/stream/cut"
)

// finding is one matched span.
type finding struct {
	product.Finding
	own       extent // what was found, where the URL around it goes with it
	continues bool   // goes on where a capped or open finding ended
}

// Edit replaces raw bytes by a text.
type Edit = cut.Edit

// Config says what is looked for and what is done. It is shared by all
// scanners made from it and must not change.
type Config struct {
	// Product is the configuration of the product that this one stands beside. Its
	// Rules and Vaults are not read.
	Product *product.Config
	// Rules are the recognisers; nil for none.
	Rules *recognise.Set
	// Vaults are the indexes of known secrets.
	Vaults []*match.Index
}

// slack is how many raw bytes may stay undecided for each byte that a
// detector may hold. A detector counts the bytes of its view: each may stand for
// two encodings over each other, with canon.MaxApart bytes between characters.
// The cut takes what is more for a secret, whatever the detectors say.
const slack = 2048

func (c *Config) maxHeld() int64 {
	return int64(cmp.Or(max(c.Product.MaxHeld, 0), product.DefaultMaxHeld))
}

func (c *Config) nowMilli() int64 {
	if c.Product.Now.IsZero() {
		return 0
	}
	return c.Product.Now.UnixMilli()
}

func (c *Config) decide(f *product.Finding, raw []byte) flow.Action {
	if c.Product.Decide == nil {
		return flow.ActRedact
	}
	return c.Product.Decide(f, raw)
}

func (c *Config) replace(dst []byte, f *product.Finding, raw []byte) []byte {
	if c.Product.Replace == nil {
		return product.AppendRedaction(dst, f.Kind)
	}
	return c.Product.Replace(dst, f, raw)
}

// leads orders findings with the same start: the one that comes first says
// what the region is replaced by. Known secrets come before recognised ones,
// credentials before what key names and entropy suggest, and that before
// personal data; then the longer, then by name, so that the order is total.
func leads(a, b *finding) int {
	return cmp.Or(
		cmp.Compare(a.Start, b.Start),
		cmp.Compare(rank(a), rank(b)),
		cmp.Compare(b.End, a.End),
		cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.ID, b.ID),
		cmp.Compare(a.View, b.View),
	)
}

func rank(f *finding) int {
	switch {
	case f.continues:
		return 9
	case f.Capped:
		return 8
	case f.Rule == product.RuleRisk:
		return 6
	case f.Fragment:
		return 2
	case f.Rule == product.RuleVault && f.Source == secret.SourceRegistered:
		return 0
	case f.Rule == product.RuleVault:
		return 1
	case f.Class == rules.ClassCredential:
		return 3
	case f.Class == rules.ClassDiscovery:
		return 4
	default:
		return 5
	}
}
