// Package plausible judges whether a value looks like a secret, from the
// value and from what precedes it in its line: its name.
//
// A name may be that of a secret, or of a key's id, a cache key or a digest;
// the place may be a setting, a table, a log or a sentence. The surer the
// name and the place, the less random a value must look: under PASSWORD=
// words are enough; under a name that says nothing, a value must look like a
// secret and nothing else. Placeholders, published samples, and keys made to
// be published are not secrets.
//
// Functions of a value alone expect it without quotes. Functions of before
// and a value expect the text before the value, at least its line.
package plausible

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the samples
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/margaydev/margay/secret/rarity"
)

// Entropy returns the Shannon entropy of v in bits a byte.
func Entropy(v []byte) float64 {
	var n [256]int
	for _, c := range v {
		n[c]++
	}
	h := 0.0
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(v))
			h -= p * math.Log2(p)
		}
	}
	return h
}

// placeholder matches what marks the place of a secret.
var placeholder = expression(`(?i)^[$%{<*]|\$\{|\{\{|<[a-z]|x{4}|\*{3}|\.{3}|[^a-z]your|^your|example|changeme|change[_-]me|placeholder|redacted|insert|replace|dummy|fixme|my[_-]?(?:secret|token|key|pass)|^(?:null|none|true|false|undefined|password|passwd|pass$|secret|process\.env|os\.environ|env[.:])|margay-[a-z]|^(.)\x00`)

// FilledIn accepts what is neither a placeholder nor one character repeated.
func FilledIn(v []byte) bool {
	if len(v) == 0 || placeholder().Match(v) {
		return false
	}
	return len(bytes.TrimLeft(v, string(v[:1]))) > 0
}

// published matches the beginnings of what is made to be public: publishable
// keys, SSH public keys, encoded images, certificates, archives.
var published = expression(`^(?:pk_(?:live|test)_|kid-|ssh-|AAAA[A-E]|R0lGOD|iVBORw0|/9j/|MII[A-Z]|JVBERi|UklGR|H4sI|UEsDB|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7}` +
	// An address of a host with no user and a short path, and the region of a cloud.
	`|(?:amqps?|postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|kafka|nats|mqtts?|ldaps?|smtps?)://` +
	`(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?::\d+)?|localhost(?::\d+)?|[A-Za-z0-9-]{1,16}:\d{2,5})(?:/[\w.-]{0,12}){0,3}$` +
	`|(?:us|eu|ap|sa|ca|me|af|cn|il|mx)-(?:gov-)?(?:north|south|east|west|central){1,2}-?\d[a-z]?$)`)

// NotPublic is the least that a value asks of a rule that goes by names.
func NotPublic(before, v []byte) bool {
	n := nameOf(before)
	return !n.public() && !published().Match(v) && !dated().Match(v)
}

// Typed accepts what somebody could type as a password: letters with digits or
// punctuation among them, as nobody writes a word or a name in code.
func Typed(v []byte) bool {
	if len(v) < 6 || !FilledIn(v) || looksReference(v) {
		return false
	}
	classes := 0
	for _, set := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!#%&*+/=?@^~$-_."} {
		if bytes.ContainsAny(v, set) {
			classes++
		}
	}
	return classes >= 2 && bytes.ContainsAny(v, "0123456789!#%&*?@^~$") && Entropy(v) > 2.4
}

// technical matches words with digits in them that say how a secret is kept.
var technical = expression(`(?i)^(?:base\d\d|sha-?\d|utf-?\d|md5|bcrypt|pbkdf2|argon2|rot13|x509|oauth|ascii|aes|rsa|hs\d|rs\d|es\d|v\d|\d+-?[a-z]+$|https?:)`)

// Password decides on the value of a password's name. Where settings are
// kept, and the name is sure, words will do.
func Password(before, v []byte) bool {
	n := nameOf(before)
	if n.public() || published().Match(v) {
		return false
	}
	last, _ := n.last()
	switch {
	case n.sep == 0:
		return tooLong(v) || len(v) >= 8 && Typed(v) && !technical().Match(v) && (mixed(v) || bytes.ContainsAny(v, "!#%&*?@^~$"))
	case last == "login":
		return n.data() && (len(v) >= 10 && Typed(v) && mixed(v) || Drawn(v) || isHex(v, 24) || tooLong(v))
	case len(v) >= 8 && Typed(v), Drawn(v) && FilledIn(v):
		return true
	}
	return n.data() && passwordOfWords(&n, v)
}

// Stated decides on a value that a sentence names behind it.
func Stated(v []byte) bool {
	if published().Match(v) || !FilledIn(v) || technical().Match(v) {
		return false
	}
	if allDigits(string(v)) {
		return len(v) >= 6
	}
	return Drawn(v) || isHex(v, 24) || tooLong(v) || len(v) >= 8 && Typed(v) && (mixed(v) || bytes.ContainsAny(v, "!#%&*?@^~$"))
}

// longWord matches the endings of the longest words of English.
var longWord = expression(`(?:[iy][sz]ation|ation|ment|ness|logical|ability|ibility|ically|hood)(?:s|ally|al)?$`)

// tooLong reports whether v is one run of small letters that is longer than
// the words of a sentence.
func tooLong(v []byte) bool {
	return len(v) >= 18 && len(bytes.Trim(v, "abcdefghijklmnopqrstuvwxyz")) == 0 && !longWord().Match(v)
}

// Prompted decides on what a text asks someone to type: a password
// that a person could have made, not an identifier.
func Prompted(v []byte) bool {
	if published().Match(v) || technical().Match(v) || !Typed(v) || bytes.Contains(v, []byte("://")) {
		return false
	}
	return bytes.ContainsAny(v, "!#%&*?@^~$") || mixed(v) && (len(v) < 16 || !Drawn(v))
}

// mixed reports whether v has capitals, small letters and digits.
func mixed(v []byte) bool {
	return bytes.ContainsAny(v, "abcdefghijklmnopqrstuvwxyz") && bytes.ContainsAny(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && bytes.ContainsAny(v, "0123456789")
}

// codeWords are parts of the names that programs give to variables, and of
// what settings say in the place of a password.
var codeWords = set("code-words")

// passwordOfWords accepts passwords made of words, joined by nothing, a dash
// or an underscore, with or without digits.
func passwordOfWords(n *name, v []byte) bool {
	if len(v) < 8 || !FilledIn(v) {
		return false
	}
	for _, w := range wordsOf(v) {
		if codeWords()[strings.TrimRight(w, "0123456789")] || strings.HasSuffix(w, "password") {
			return false
		}
	}
	letters, digits := count(v)
	if letters < 8 || letters+digits+bytes.Count(v, []byte("_"))+bytes.Count(v, []byte("-")) < len(v) {
		return false
	}
	if n.upper() || n.sep == '>' || n.sep == '|' {
		return digits > 0 || letters >= 10
	}
	return digits > 0 && letters+digits >= 10 || letters >= 14
}

// Random accepts values that look drawn, not written.
func Random(v []byte) bool {
	if len(v) < 10 || !FilledIn(v) || looksReference(v) || dated().Match(v) {
		return false
	}
	letters, digits := count(v)
	if digits < 2 || letters < 2 {
		return Drawn(v)
	}
	need := 3.0
	if len(v) < 16 {
		need = 2.8
	}
	return Entropy(v) > need
}

// Token decides on the value of a key's or token's name.
func Token(before, v []byte) bool {
	n := nameOf(before)
	if n.public() || published().Match(v) || !Random(v) {
		return false
	}
	return n.sep != 0 || !technical().Match(v) && (Drawn(v) || isHex(v, 24))
}

// Key decides on the value of a name that ends in nothing surer than
// "key", "salt" or "seed".
func Key(before, v []byte) bool {
	n := nameOf(before)
	if n.public() || published().Match(v) || !FilledIn(v) {
		return false
	}
	return len(v) >= 12 && Drawn(v) || isHex(v, 24)
}

// Unnamed decides on a value whose name says nothing: it must look drawn
// from letters of both cases and digits, or be a long hexadecimal number where
// settings are kept, and its name must not be one of the many under which such
// values are public.
func Unnamed(before, v []byte) bool {
	// What most values lack comes first: nearly every line of code has one.
	drawn := bytes.ContainsAny(v, "0123456789!#%&*?@^~$") && Drawn(v) && Entropy(v) > 3
	if !drawn && !isHex(v, 32) {
		return false
	}
	n := nameOf(before)
	if n.sep == 0 || n.reference() || published().Match(v) || !FilledIn(v) {
		return false
	}
	setting := n.named || bytes.IndexByte(n.ident, '_') >= 0 || n.upper() && n.sep == '=' || n.alone && bytes.IndexByte(n.ident, '-') >= 0
	if !setting && (!n.item || len(n.words) < 3) || n.spaced && !n.quoted && selector().Match(v) {
		return false
	}
	return drawn || n.data() && bytes.IndexByte(n.ident, '-') < 0 && bytes.IndexByte(n.ident, '_') > 0
}

// shaped matches what people make up when a password must have capitals,
// digits and signs: a word, a year and a word; words, digits and a sign.
var shaped = expression(`^(?:[A-Z][a-z]{3,}\d{2,4}[a-z]{4,}|[A-Z][a-z]{3,}(?:[A-Z][a-z]{3,})*\d{1,4}[!?#$%&*@])$`)

// signed matches a sign inside a word.
var signed = expression(`[A-Za-z0-9][!@#$%^&*?][A-Za-z0-9]`)

// Shaped decides on a value whose name says nothing, but which has the
// shape of a password or of a phrase of drawn words. In three hundred megabytes
// of source code and documentation no setting has.
func Shaped(before, v []byte) bool {
	if len(v) < joined && !bytes.ContainsAny(v, " 0123456789!@#$%^&*?") {
		return false // as most values in code
	}
	n := nameOf(before)
	last, _ := n.last()
	if !n.data() || n.reference() || published().Match(v) || !FilledIn(v) || strings.HasSuffix(last, "s") {
		return false
	}
	if bytes.IndexByte(v, ' ') < 0 {
		return shaped().Match(v) || len(v) >= joined && tooLong(v) || mixed(v) && signed().Match(v) && bytes.Count(v, []byte("@")) < 3 && !address().Match(v)
	}
	words := strings.Fields(string(v))
	different := distinct(words)
	return different >= 5 && len(v) >= 6*different && !anyOf(words, functionWords()) && !anyOf(words, codeWords())
}

// joined is from how many small letters on words that are put together are no name:
// those of storage accounts have 24.
const joined = 25

// distinct counts the words that differ.
func distinct(words []string) int {
	words = slices.Clone(words)
	slices.Sort(words)
	return len(slices.Compact(words))
}

// address matches a user at a host.
var address = expression(`^[A-Za-z]+@[A-Za-z]+\d*$`)

// selector matches a name in a package, as code assigns them.
var selector = expression(`^[A-Za-z_]\w*\.[A-Za-z_]\w*$`)

// isHex reports whether v is hexadecimal, of a length that keys have, with
// both letters and digits.
func isHex(v []byte, least int) bool {
	letters, digits := count(v)
	return len(v) >= least && len(v)%2 == 0 && letters > 0 && digits > 0 && len(bytes.TrimLeft(v, "0123456789abcdefABCDEF")) == 0
}

// OwnKey accepts what looks drawn, is filled in and is not made to be published.
func OwnKey(v []byte) bool { return !published().Match(v) && FilledIn(v) && Drawn(v) }

// Drawn reports whether characters of several kinds alternate as they do when
// they are drawn at random: letters of both cases among each other, with
// digits or signs. Names in camelCase, versions, digests and UUIDs are not. Of
// a value with a prefix the longest part counts.
func Drawn(v []byte) bool {
	for _, part := range bytes.FieldsFunc(v, func(r rune) bool { return joins(byte(r)) }) {
		if len(part) >= 16 && 2*len(part) > len(v) {
			v = part
			break
		}
	}
	if len(v) < 12 {
		return false
	}
	var changes, worded, counted, run, vowels int
	previous, cases := byte(0), 0
	flush := func() {
		if run >= 4 && 4*vowels >= run { // a word
			worded += run
		}
		run, vowels = 0, 0
	}
	for _, c := range v {
		if joins(c) {
			flush()
			previous = 0
			continue
		}
		kind := rarity.Class(c)
		counted++
		if previous != 0 && kind != previous && (previous != 'u' || kind != 'l') {
			changes++
		}
		if kind != 'l' {
			flush()
		}
		if kind == 'l' || kind == 'u' {
			run++
			if strings.IndexByte("aeiouy", c|0x20) >= 0 {
				vowels++
			}
		}
		switch kind {
		case 'l':
			cases |= 1
		case 'u':
			cases |= 2
		}
		previous = kind
	}
	flush()
	return cases == 3 && counted <= 4*changes && 2*worded < counted
}

// joins reports whether c separates the parts of a value.
func joins(c byte) bool { return strings.IndexByte("-_./=:", c) >= 0 }

// count counts the letters and the digits of v.
func count(v []byte) (letters, digits int) {
	for _, c := range v {
		switch rarity.Class(c) {
		case 'd':
			digits++
		case 'l', 'u':
			letters++
		}
	}
	return letters, digits
}

// reference matches values that name something: paths, selectors, versions,
// words joined by dots, dashes or underscores with a number at their end.
var reference = expression(`^(?:[\w-]*[./][A-Za-z_]|~|\.{1,2}/|@)|^[A-Za-z]+(?:[._-][A-Za-z]+)*[._-]?[vV]?\d{0,3}$|^[A-Za-z]+(?:[A-Z][a-z]+)+\d{0,3}$|^\d+(?:[.:-]\d+)*[a-z]{0,3}$|^https?:`)

func looksReference(v []byte) bool {
	if !reference().Match(v) {
		return false
	}
	// A slash or a dot inside random characters is not a path.
	return Entropy(v) < 4.2 && !Drawn(v) || strings.Count(string(v), "/") > 2
}

// functionWords occur in sentences, not among words that were drawn.
var functionWords = set("function-words")

// Phrase accepts words that were drawn, not a sentence.
func Phrase(before, v []byte) bool {
	n := nameOf(before)
	if last, _ := n.last(); n.public() || n.sep == 0 && !n.quoted && last == "password" {
		return false
	}
	words := strings.FieldsFunc(string(v), func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
	return distinct(words) >= 4 && !anyOf(words, functionWords()) && FilledIn(v)
}

// electronics are words around the pins of a circuit.
var electronics = set("electronics")

// Code decides on digits as an access code.
func Code(before, v []byte) bool {
	n := nameOf(before)
	last, prev := n.last()
	if anyOf(n.words, electronics()) || last == "code" && prev == "pin" && n.sep != '=' { // an Indian postal code
		return false
	}
	const rising = "01234567890123456789"
	return len(bytes.TrimLeft(v, string(v[:1]))) > 0 && !strings.Contains(rising, string(v))
}

// samples.txt has the digests of credentials that everybody publishes.
//
//go:embed samples.txt
var samples string

// Sample reports whether v is a published sample.
func Sample(v []byte) bool {
	if len(v) < 10 || len(v) > 400 {
		return false
	}
	sum := sha256.Sum256(v)
	return strings.Contains(samples, "\n"+hex.EncodeToString(sum[:16])+" ")
}
