package method

import (
	"context"
	"regexp"
)

// guards are the patterns that input and output guardrails usually ship with
// or are given: the keywords of credentials with what is assigned to them, and
// a handful of well known formats. The first group, where there is one, is
// what is taken out.
var guards = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:password|passwd|pwd|passphrase)\b["']?\s*(?:is|[:=]+)\s*["']?([^\s"',;]{4,})`),
	regexp.MustCompile(`(?i)\b(?:api[_ -]?key|apikey|access[_ -]?key|secret[_ -]?key|client[_ -]?secret)\b["']?\s*(?:is|[:=]+)\s*["']?([^\s"',;]{8,})`),
	regexp.MustCompile(`(?i)\b(?:auth[_ -]?token|access[_ -]?token|token|secret|credential)s?\b["']?\s*(?:is|[:=]+)\s*["']?([^\s"',;]{8,})`),
	regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})`),
	regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`),
	regexp.MustCompile(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`),
	regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{36,}`),
	regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}\b`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
	regexp.MustCompile(`\b[a-z][a-z0-9+]{1,20}://[^\s:/@]{1,64}:([^\s/@]{3,128})@`),
	regexp.MustCompile(`-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?:[^-]*-----END [A-Z ]{0,20}PRIVATE KEY-----)?`),
}

// Guardrail is the rule-based guardrail: predefined patterns over the complete
// output, matches redacted.
type Guardrail struct{}

// Name implements Method.
func (Guardrail) Name() string { return "guardrail" }

// Filter implements Method.
func (Guardrail) Filter(_ context.Context, in *Input) (Output, error) {
	var spans []span
	for _, re := range guards {
		spans = appendGroups(spans, re, in.Text)
	}
	return removing(in, spans), nil
}

// appendGroups appends what an expression finds: its first group that took
// part, or the match.
func appendGroups(spans []span, re *regexp.Regexp, text string) []span {
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		at := span{m[0], m[1]}
		for g := 2; g < len(m); g += 2 {
			if m[g] >= 0 {
				at = span{m[g], m[g+1]}
				break
			}
		}
		spans = append(spans, at)
	}
	return spans
}
