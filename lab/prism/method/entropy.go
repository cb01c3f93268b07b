package method

import (
	"context"
	"math"
	"net/netip"
	"regexp"
	"strings"
)

// Limits on the Shannon entropy of strings, in bits a character: the defaults
// of detect-secrets.
const (
	base64Limit = 4.5
	hexLimit    = 3.0
)

// Entropy is the entropy scanner: what detect-secrets' documentation says its
// default plugins do, line by line as in its scan of single strings. Quoted
// strings of the base64 or hexadecimal alphabet above a limit of entropy; where
// a line has no quoted one, bare ones; quoted values of credential keywords;
// known formats; less its default filters. detect-secrets itself runs as a peer
// where it is installed.
type Entropy struct{}

// Name implements Method.
func (Entropy) Name() string { return "entropy" }

// Filter implements Method.
func (Entropy) Filter(_ context.Context, in *Input) (Output, error) {
	var spans []span
	at := 0
	for line := range strings.Lines(in.Text) {
		for _, s := range scanLine(line) {
			spans = append(spans, span{at + s.start, at + s.end})
		}
		at += len(line)
	}
	return removing(in, spans), nil
}

// alphabet is one of the two that entropy is measured over.
type alphabet struct {
	quoted, bare *regexp.Regexp
	limit        float64
}

var alphabets = []alphabet{
	{regexp.MustCompile(`"([A-Za-z0-9+/=_-]+)"|'([A-Za-z0-9+/=_-]+)'`), regexp.MustCompile(`[A-Za-z0-9+/=_-]+`), base64Limit},
	{regexp.MustCompile(`"([0-9A-Fa-f]+)"|'([0-9A-Fa-f]+)'`), regexp.MustCompile(`[0-9A-Fa-f]+`), hexLimit},
}

var keyworded = regexp.MustCompile(`(?i)(?:(?:api|auth|service|account|db|database|priv|private|client)_?key|(?:db|database|key)_?pass|passw(?:or)?d|pwd|secret|contrase(?:ñ|n)a)` +
	`[^\s"':=,;]{0,20}["'\]]{0,2}\s{0,8}(?::?={1,3}>?|:|=>)\s{0,8}(?:"([^"\r\n]+)"|'([^'\r\n]+)')`)

// formats are those of detect-secrets' other plugins, as the issuers of the
// credentials document them.
var formats = []*regexp.Regexp{
	regexp.MustCompile(`\b(?:A3T[0-9A-Z]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`(?i)aws.{0,20}(?:key|pwd|pw|password|pass|token).{0,20}["']([0-9a-z/+]{40})["']`),
	regexp.MustCompile(`AccountKey=([A-Za-z0-9+/=]{88})`),
	regexp.MustCompile(`://[^\s:/?#\[\]@!$&'()*+,;=]+:([^\s:/?#\[\]@!$&'()*+,;=]+)@`),
	regexp.MustCompile(`\b(?:AKC[a-zA-Z0-9]{10,}|AP[0-9A-F][a-zA-Z0-9]{8,})`),
	regexp.MustCompile(`\b[MNO][\w-]{23,25}\.[\w-]{6}\.[\w-]{27}\b`),
	regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9_]{36}`),
	regexp.MustCompile(`\bgl(?:pat|dt|ft|soat|rt)-[\w-]{20,50}\b`),
	regexp.MustCompile(`eyJ[\w=-]+\.[\w=-]+(?:\.[\w.+/=-]*)?`),
	regexp.MustCompile(`\b[0-9a-z]{32}-us[0-9]{1,2}\b`),
	regexp.MustCompile(`_authToken=\s*(npm_\w+|[0-9A-Fa-f-]{36})`),
	regexp.MustCompile(`\bsk-[\w-]*[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`),
	regexp.MustCompile(`BEGIN (?:DSA |EC |OPENSSH |PGP |RSA |SSH2 ENCRYPTED )?PRIVATE KEY(?: BLOCK)?|PuTTY-User-Key-File-2`),
	regexp.MustCompile(`\bpypi-AgE[\w-]{70,}`),
	regexp.MustCompile(`\bSG\.[\w-]{22}\.[\w-]{43}\b`),
	regexp.MustCompile(`(?i)\bxox[abposr]-(?:\d+-)+[a-z0-9]+|https://hooks\.slack\.com/services/T\w+/B\w+/\w+`),
	regexp.MustCompile(`\bsq0csp-[\w\\-]{43}`),
	regexp.MustCompile(`\b[rs]k_live_[0-9a-zA-Z]{24}`),
	regexp.MustCompile(`\b\d{8,10}:[\w-]{35}\b`),
	regexp.MustCompile(`\b(?:AC|SK)[a-z0-9]{32}\b`),
}

var (
	uuid    = regexp.MustCompile(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	address = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	named   = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])ids?\W{0,3}$`)
	allowed = regexp.MustCompile(`pragma: ?(?:allow|white)list`)
)

// scanLine returns the spans found in a line.
func scanLine(line string) []span {
	if allowed.MatchString(line) {
		return nil
	}
	var found []span
	for _, re := range formats {
		found = appendGroups(found, re, line)
	}
	found = appendGroups(found, keyworded, line)
	for _, m := range address.FindAllStringIndex(line, -1) {
		if a, err := netip.ParseAddr(line[m[0]:m[1]]); err == nil && a.IsGlobalUnicast() && !a.IsPrivate() {
			found = append(found, span{m[0], m[1]})
		}
	}
	for _, a := range alphabets {
		strs := appendGroups(nil, a.quoted, line)
		if len(strs) == 0 {
			strs = appendGroups(nil, a.bare, line)
		}
		for _, s := range strs {
			if shannon(line[s.start:s.end], a.limit == hexLimit) > a.limit {
				found = append(found, s)
			}
		}
	}
	kept := found[:0]
	for _, s := range found {
		if !filtered(line, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// filtered are the default filters: what looks like a secret and usually is
// none.
func filtered(line string, s span) bool {
	v := line[s.start:s.end]
	switch {
	case uuid.MatchString(v),
		named.MatchString(strings.TrimRight(line[:s.start], `"'`)),
		strings.HasPrefix(v, "$"),
		templated(v),
		!strings.ContainsFunc(v, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }):
		return true
	}
	return sequential(v)
}

// templated reports whether v stands for a value to be filled in.
func templated(v string) bool {
	for _, p := range [][2]string{{"{", "}"}, {"<", ">"}, {"${", "}"}} {
		if strings.HasPrefix(v, p[0]) && strings.HasSuffix(v, p[1]) {
			return true
		}
	}
	return false
}

// sequential reports whether v is part of an alphabet written out.
func sequential(v string) bool {
	const (
		letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		digits  = "0123456789"
	)
	up := strings.ToUpper(v)
	for _, seq := range []string{letters + letters + digits + "+/", digits + letters + letters + "+/", letters + digits + letters, strings.Repeat(digits, 2), strings.Repeat("ABCDEF"+digits, 2), strings.Repeat(digits+"ABCDEF", 2)} {
		if strings.Contains(seq, up) {
			return true
		}
	}
	return false
}

// shannon is the entropy of v's bytes in bits a byte. A hexadecimal string of
// digits alone is likely to be a number: it counts 1.2/log₂(n) bits less.
func shannon(v string, hexadecimal bool) float64 {
	if v == "" {
		return 0
	}
	var count [256]int
	number := true
	for i := range len(v) {
		count[v[i]]++
		number = number && v[i] >= '0' && v[i] <= '9'
	}
	h := 0.0
	for _, c := range count {
		if c > 0 {
			p := float64(c) / float64(len(v))
			h -= p * math.Log2(p)
		}
	}
	if hexadecimal && number && len(v) > 1 {
		h -= 1.2 / math.Log2(float64(len(v)))
	}
	return h
}
