package differ

import (
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/secret/recognise/own"
	"github.com/margaydev/margay/stream"
)

// Mode is a way in which the product uses its engine.
type Mode struct {
	Name   string
	Config Config
}

// Modes returns the ways in which engines are compared:
//
//   - rules: rules alone, as for a scan of files without a vault;
//   - ten: with ten registered values, and URLs held whole, as in the gateway;
//   - session: with the values that were discovered in a session in a second index, and
//     decisions of all kinds about findings, as in the mediator.
//   - vault: two indexes and no rules, of values for which little is held.
func Modes(rules *Rules) []Mode {
	return []Mode{
		{"rules", Config{Rules: rules}},
		{"ten", Config{Rules: rules, Vaults: [][]Known{Ten()}, Stream: stream.Config{HoldURLs: true}}},
		{"session", Config{Rules: rules, Vaults: [][]Known{Ten(), Discovered()}, Stream: stream.Config{
			HoldURLs: true, Now: indexed.Add(48 * time.Hour), Path: "deploy/values.env", Decide: decide, Replace: replace,
		}}},
		{"vault", Config{Vaults: [][]Known{inner(), Discovered()}, Stream: stream.Config{MaxHeld: 512}}},
	}
}

// Ten returns ten invented values of different make: long and short, of words, with
// signs at their ends, whole words only, with parts that are not secret.
func Ten() []Known {
	return []Known{
		{Value: "q7Zt4mWc9LxB2nVk8RfD3hJs6YpG1aQe"},
		{Value: "9b1f03c7a2e45d68b7c01f29d3e45a61", Kind: secret.KindAPIKey},
		{Value: "postgres://harbor:tangerine-Lx42vq@db.internal.example:5432/boats", Kind: secret.KindConnectionString}, //nolint:gosec // invented
		{Value: "velvet lantern cobalt harbor tangerine walnut", Kind: secret.KindPassword},
		{Value: "#!kX4$rv92Lm%&qP0z", Kind: secret.KindPassword},
		{Value: "{[<!+?>]}==~^$%!!", Kind: secret.KindPassword},
		{Value: "lotus-41", Kind: secret.KindPassword},
		{Value: "dGhlIGxhbnRlcm4gaXMgb24gdGhlIHBpZXIgYWdhaW4hIQ==", Kind: secret.KindToken},
		{Value: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJoYXJib3ItNzEyIiwibiI6NDJ9.Xk9vQ4tR7wZ1pLm2UcQz8vT2mKx91LrBn4Wd", Kind: secret.KindToken},
		{Value: "83920417556", Kind: secret.KindNationalID},
	}
}

// inner returns those of Ten that neither begin nor end with a sign, and are not looked
// for as whole words: for either, more is held than for any other value.
func inner() (out []Known) {
	for _, k := range Ten() {
		if len(k.Value) > 8 && letter(k.Value[0]) && letter(k.Value[len(k.Value)-1]) {
			out = append(out, k)
		}
	}
	return out
}

func letter(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// Discovered returns values as they are found in a session. One of them is registered,
// too; one expires before a text of the mode session is read.
func Discovered() []Known {
	found := func(k Known) Known {
		k.Source = secret.SourceDiscovered
		return k
	}
	return []Known{
		found(Known{Value: "Vn5xQ2kT8wLr4MzB7cHp", Kind: secret.KindToken}),
		found(Known{Value: "9b1f03c7a2e45d68b7c01f29d3e45a61", Kind: secret.KindAPIKey}),
		found(Known{Value: "jane.doe@harbor.example", Kind: secret.KindEmail}),
		found(Known{Value: "Ws3dGm8uKq1yNb6fXe0z", Kind: secret.KindToken, Expires: indexed.Add(24 * time.Hour)}),
		{Value: strings.Repeat("Long4And7Winding-", 40) + "End9", Source: secret.SourceDeclared},
	}
}

// patterns are rules as users write them.
var patterns = []own.Pattern{{
	ID: "harbor-pass", Pattern: `\bhbr_([a-z0-9]{12})\b`, Kind: "token",
	Samples: own.Samples{Match: []string{"hbr_k4xq9mfp2lwz"}, NoMatch: []string{"hbr_short"}},
}}

// decide makes decisions of all kinds, by what was found alone.
func decide(f *stream.Finding, raw []byte) flow.Action {
	if f.Fingerprint.IsZero() && !f.Capped {
		f.Fingerprint = keys.FingerprintOf(raw)
	}
	switch {
	case f.Rule == "uuid" || f.Rule == "named-salt":
		return flow.ActAllow
	case f.Kind == secret.KindIP || f.Rule == "random-value":
		return flow.ActReport
	case f.Rule == "url-password":
		return flow.ActBlock
	case f.Kind.Personal() || f.Class == recognise.ClassDiscovery || f.Source == secret.SourceDiscovered:
		return flow.ActPseudonym
	}
	return flow.ActRedact
}

// replace writes a name for a finding that gets one.
func replace(dst []byte, f *stream.Finding, _ []byte) []byte {
	if f.Action == flow.ActPseudonym && !f.Fingerprint.IsZero() && !f.Fragment {
		return append(append(append(dst, '<'), f.Fingerprint.String()[:8]...), '>')
	}
	return stream.AppendRedaction(dst, f.Kind)
}
