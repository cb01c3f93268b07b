package method

import (
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The engineered features of the trained baselines: what one sees in a text
// without knowing its secrets.

// keywords of credentials.
var keywords = []string{
	"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "api key", "api_key", "apikey",
	"access key", "access_key", "private key", "private_key", "client_secret", "connection string", "auth", "bearer", "dsn",
}

// classesOf a word, as bits.
const (
	hasLower = 1 << iota
	hasUpper
	hasDigit
	hasPunct
	hasWide
)

func classesOf(s string) int {
	c := 0
	for i := range len(s) {
		switch b := s[i]; {
		case b >= 'a' && b <= 'z':
			c |= hasLower
		case b >= 'A' && b <= 'Z':
			c |= hasUpper
		case b >= '0' && b <= '9':
			c |= hasDigit
		case b >= utf8.RuneSelf:
			c |= hasWide
		default:
			c |= hasPunct
		}
	}
	return c
}

var (
	wordOf      = regexp.MustCompile(`[^\s"'<>(){}\[\],;]+`)
	hexWord     = regexp.MustCompile(`^[0-9A-Fa-f]{16,}$`)
	base64Word  = regexp.MustCompile(`^[A-Za-z0-9+/_-]{16,}={0,2}$`)
	uuids       = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	emails      = regexp.MustCompile(`\b[\w.+-]+@[\w-]+\.[\w.-]+\b`)
	userinfo    = regexp.MustCompile(`://[^\s:/@]+:[^\s/@]+@`)
	assigned    = regexp.MustCompile(`[=:]\s?["']?[^\s"']`)
	escapes     = regexp.MustCompile(`\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|&#\w+;`)
	refusals    = regexp.MustCompile(`(?i)\b(?:can(?:no|')t|unable|redacted|withheld|not (?:share|disclose|include)|masked|rotate)\b`)
	placeholder = regexp.MustCompile(`(?i)example|sample|changeme|placeholder|dummy|x{4,}|\*{4,}|<[a-z_ -]+>|\$\{`)
	digitRuns   = regexp.MustCompile(`\d{8,}`)
	identifiers = regexp.MustCompile(`(?i)\b(?:commit|sha256|sha1|md5|digest|checksum|hash|trace|request|order|build)\b`)
)

const featureCount = 30

// featuresOf describes a complete output.
func featuresOf(text string) [featureCount]float64 {
	var digits, upper, punct, wide float64
	for i := range len(text) {
		switch b := text[i]; {
		case b >= '0' && b <= '9':
			digits++
		case b >= 'A' && b <= 'Z':
			upper++
		case b >= utf8.RuneSelf:
			wide++
		case b > ' ' && b < 0x7f && !unicode.IsLetter(rune(b)):
			punct++
		}
	}
	n := math.Max(float64(len(text)), 1)
	low := strings.ToLower(text)
	named := 0.0
	for _, k := range keywords {
		named += float64(strings.Count(low, k))
	}
	var most, second, sum, longest, random, mixed, hexes, b64, singles, run, runs float64
	words := wordOf.FindAllString(text, -1)
	for _, w := range words {
		c := classesOf(w)
		if len(w) == 1 {
			run++
			singles, runs = singles+1, math.Max(runs, run)
		} else {
			run = 0
		}
		longest = math.Max(longest, float64(len(w)))
		if c&hasDigit != 0 && c&(hasLower|hasUpper) != 0 && len(w) >= 8 {
			mixed++
			if c&hasLower != 0 && c&hasUpper != 0 {
				random++
			}
		}
		if hexWord.MatchString(w) {
			hexes++
		} else if base64Word.MatchString(w) && c&hasDigit != 0 {
			b64++
		}
		if len(w) >= 8 {
			h := shannon(w, false)
			sum += h
			if h > most {
				most, second = h, most
			} else {
				second = math.Max(second, h)
			}
		}
	}
	guarded := 0.0
	for _, re := range guards {
		guarded += float64(len(re.FindAllStringIndex(text, 16)))
	}
	count := func(re *regexp.Regexp) float64 { return float64(len(re.FindAllStringIndex(text, 64))) }
	nw := math.Max(float64(len(words)), 1)
	return [featureCount]float64{
		math.Log(n), nw, digits / n, upper / n, punct / n, wide / n,
		most, second, sum / nw, longest, mixed, random, hexes, b64,
		named, named / nw, count(assigned), count(userinfo), count(uuids), count(emails), count(escapes),
		count(refusals), count(placeholder), count(digitRuns), count(identifiers), guarded,
		float64(strings.Count(text, "\"") + strings.Count(text, "'")), singles / nw, runs, float64(strings.Count(text, "\n")),
	}
}
