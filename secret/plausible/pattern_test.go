package plausible

import (
	"testing"

	"pgregory.net/rapid"
)

// A pattern matches where package regexp says that it does.
func TestPattern(t *testing.T) {
	all := map[string]*pattern{
		"placeholder": placeholder(), "published": published(), "technical": technical(), "longWord": longWord(), "shaped": shaped(), "signed": signed(), "address": address(), "selector": selector(),
		"reference": reference(), "objects": objects(), "digests": digests(), "alone": alone(), "testName": testName(), "alternatives": alternatives(), "pointer": pointer(),
		"number": number(), "typed": typed(), "dated": dated(), "names": names(), "spelled": spelled(),
	}
	parts := []string{
		"", "$", "{{", "your", "changeme", "redacted", "null", "margay-token-abcdefghijklmn", "pk_live_", "AAAAB", "MII", "postgres://db.local:5432/a", "us-east-1", "sha256:", "0f", "deadbeef", "oauth", "ization", "s",
		"Summer", "2024", "!", "@", "a.b", "::", "->", "v1.2", "-", "_", "/", " PASS: ", `"`, "||", "1e9", ".5", "x\x00", "\n", "xxxx", "ſ", "K", "é", "\xff", "release-2024-05-06", "Camel", "Case", "words", `" value="`, "call(",
	}
	rapid.Check(t, func(t *rapid.T) {
		var v []byte
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			v = append(v, rapid.OneOf(rapid.SampledFrom(parts), rapid.StringMatching(`[ -~]{0,4}`)).Draw(t, "part")...)
		}
		for name, p := range all {
			if got, want := p.Match(v), p.re().Match(v); got != want {
				t.Errorf("%s in %q: %t, want %t", name, v, got, want)
			}
		}
	})
}
