package recognise

import (
	"bytes"
	"regexp"
	"strings"
)

// placeholder matches what stands where a secret is to be filled in.
var placeholder = regexp.MustCompile(`(?i)^[$%{<*]|\$\{|\{\{|<[a-z]|x{4}|\*{3}|\.{3}|[^a-z]your|^your|example|changeme|change[_-]me|placeholder|redacted|insert|replace|dummy|fixme|my[_-]?(?:secret|token|key|pass)|^(?:null|none|true|false|undefined|password|passwd|pass$|secret|process\.env|os\.environ|env[.:])|margay-[a-z]|^(.)\x00`)

func notPlaceholder(v []byte) bool {
	if len(v) == 0 || placeholder.Match(v) {
		return false
	}
	return len(bytes.TrimLeft(v, string(v[:1]))) > 0 // not one character over and over
}

// published matches the beginnings of what is made to be public: publishable
// keys, digests, SSH public keys, encoded images, certificates, archives.
var published = regexp.MustCompile(`^(?:pk_(?:live|test)_|kid-|(?i:sha(?:1|256|384|512)[:-])|ssh-|AAAA[A-E]|R0lGOD|iVBORw0|/9j/|MII[A-Z]|JVBERi|UklGR|H4sI|UEsDB|h1:|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){7})`)

// notPublic is the least that a value asks of a rule that goes by names.
func notPublic(before, v []byte) bool {
	n := nameOf(before)
	return !n.public() && !published.Match(v)
}

// looksPassword accepts values with letters and digits or punctuation among
// them: what nobody writes as a word or a name in code.
func looksPassword(v []byte) bool {
	if len(v) < 6 || !notPlaceholder(v) || looksReference(v) {
		return false
	}
	classes := 0
	for _, set := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", "!#%&*+/=?@^~$-_."} {
		if bytes.ContainsAny(v, set) {
			classes++
		}
	}
	return classes >= 2 && bytes.ContainsAny(v, "0123456789!#%&*?@^~$") && entropy(v) > 2.4
}

// technical matches words with digits in them that say how a secret is kept.
var technical = regexp.MustCompile(`(?i)^(?:base\d\d|sha-?\d|utf-?\d|md5|bcrypt|pbkdf2|argon2|rot13|x509|oauth|ascii|aes|rsa|hs\d|rs\d|es\d|v\d|\d+-?[a-z]+$|https?:)`)

// suitsPassword decides on the value of a password's name. Where settings are
// kept, and the name is sure, words will do.
func suitsPassword(before, v []byte) bool {
	n := nameOf(before)
	if n.public() || published.Match(v) {
		return false
	}
	last, _ := n.last()
	switch {
	case n.sep == 0:
		return tooLong(v) || len(v) >= 8 && looksPassword(v) && !technical.Match(v) && (mixed(v) || bytes.ContainsAny(v, "!#%&*?@^~$"))
	case last == "login":
		return n.data() && (len(v) >= 10 && looksPassword(v) && mixed(v) || drawn(v) || isHex(v, 24) || tooLong(v))
	case len(v) >= 8 && looksPassword(v), drawn(v) && notPlaceholder(v):
		return true
	}
	return n.data() && passwordOfWords(&n, v)
}

// suitsTold decides on a value that a sentence names behind it.
func suitsTold(v []byte) bool {
	if published.Match(v) || !notPlaceholder(v) || technical.Match(v) {
		return false
	}
	if allDigits(string(v)) {
		return len(v) >= 6
	}
	return drawn(v) || isHex(v, 24) || tooLong(v) || len(v) >= 8 && looksPassword(v) && (mixed(v) || bytes.ContainsAny(v, "!#%&*?@^~$"))
}

// longWord matches the endings of the longest words of English.
var longWord = regexp.MustCompile(`(?:[iy][sz]ation|ation|ment|ness|logical|ability|ibility|ically|hood)(?:s|ally|al)?$`)

// tooLong reports whether v is one run of small letters that is longer than
// the words of a sentence.
func tooLong(v []byte) bool {
	return len(v) >= 18 && len(bytes.Trim(v, "abcdefghijklmnopqrstuvwxyz")) == 0 && !longWord.Match(v)
}

// suitsPrompted decides on what someone is told to type when asked: a password
// that a person could have made, not an identifier.
func suitsPrompted(v []byte) bool {
	if published.Match(v) || technical.Match(v) || !looksPassword(v) || bytes.Contains(v, []byte("://")) {
		return false
	}
	return bytes.ContainsAny(v, "!#%&*?@^~$") || mixed(v) && (len(v) < 16 || !drawn(v))
}

// mixed reports whether v has capitals, small letters and digits.
func mixed(v []byte) bool {
	return bytes.ContainsAny(v, "abcdefghijklmnopqrstuvwxyz") && bytes.ContainsAny(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && bytes.ContainsAny(v, "0123456789")
}

// codeWords are parts of the names that programs give to variables, and of
// what settings say in the place of a password.
var codeWords = set("pass password passwd passphrase pwd word secret secrets token tokens user username value input field config configuration " +
	"setting settings env environment get set str string key keys param parameter arg args self this enabled enable disabled disable required " +
	"require optional option prompt keyring vault default hidden encrypted encrypt crypto plain plaintext unset empty missing unknown production " +
	"staging development database postgres postgresql mysql mariadb mongodb rabbitmq admin administrator root login auth hash hashed text none null " +
	"test sample file path manager generate generated generator reset forgot forgotten confirm confirmation valid invalid incorrect correct change " +
	"secretstr secretmanager bytes bytearray var const provided credential credentials read write")

// passwordOfWords accepts passwords made of words, joined by nothing, a dash
// or an underscore, with or without digits.
func passwordOfWords(n *name, v []byte) bool {
	if len(v) < 8 || !notPlaceholder(v) {
		return false
	}
	for _, w := range wordsOf(v) {
		if codeWords[strings.TrimRight(w, "0123456789")] || strings.HasSuffix(w, "password") {
			return false
		}
	}
	letters, digits := 0, 0
	for _, c := range v {
		switch {
		case charset(c) == 'a':
			letters++
		case charset(c) == 'd':
			digits++
		case c == '_' || c == '-':
		default:
			return false
		}
	}
	if letters < 8 {
		return false
	}
	if n.upper() || n.sep == '>' || n.sep == '|' {
		return digits > 0 || letters >= 10
	}
	return digits > 0 && letters+digits >= 10 || letters >= 14
}

// looksRandom accepts values that look drawn, not written.
func looksRandom(v []byte) bool {
	if len(v) < 10 || !notPlaceholder(v) || looksReference(v) {
		return false
	}
	digits, letters := 0, 0
	for _, c := range v {
		switch charset(c) {
		case 'd':
			digits++
		case 'a':
			letters++
		}
	}
	if digits < 2 || letters < 2 {
		return drawn(v)
	}
	need := 3.0
	if len(v) < 16 {
		need = 2.8
	}
	return entropy(v) > need
}

// suitsRandom decides on the value of a key's or token's name.
func suitsRandom(before, v []byte) bool {
	n := nameOf(before)
	if n.public() || published.Match(v) || !looksRandom(v) {
		return false
	}
	return n.sep != 0 || !technical.Match(v) && (drawn(v) || isHex(v, 24))
}

// suitsKey decides on the value of a name that ends in nothing surer than
// "key", "salt" or "seed".
func suitsKey(before, v []byte) bool {
	n := nameOf(before)
	if n.public() || published.Match(v) || !notPlaceholder(v) {
		return false
	}
	return len(v) >= 12 && drawn(v) || isHex(v, 24)
}

// suitsUnnamed decides on a value whose name says nothing: it must look drawn
// from letters of both cases and digits, or be a long hexadecimal number where
// settings are kept, and its name must not be one of the many under which such
// values are public.
func suitsUnnamed(before, v []byte) bool {
	n := nameOf(before)
	if n.sep == 0 || n.reference() || published.Match(v) || !notPlaceholder(v) {
		return false
	}
	setting := n.named || bytes.IndexByte(n.ident, '_') >= 0 || n.upper() && n.sep == '=' || n.alone && bytes.IndexByte(n.ident, '-') >= 0
	if !setting && (!n.item || len(n.words) < 3) || n.spaced && !n.quoted && selector.Match(v) {
		return false
	}
	return drawn(v) && entropy(v) > 3 && bytes.ContainsAny(v, "0123456789!#%&*?@^~$") || n.data() && bytes.IndexByte(n.ident, '-') < 0 && bytes.IndexByte(n.ident, '_') > 0 && isHex(v, 32)
}

// shaped matches what people make up when a password must have capitals,
// digits and signs: a word, a year and a word; words, digits and a sign.
var shaped = regexp.MustCompile(`^(?:[A-Z][a-z]{3,}\d{2,4}[a-z]{4,}|[A-Z][a-z]{3,}(?:[A-Z][a-z]{3,})*\d{1,4}[!?#$%&*@])$`)

// signed matches a sign inside a word.
var signed = regexp.MustCompile(`[A-Za-z0-9][!@#$%^&*?][A-Za-z0-9]`)

// suitsShaped decides on a value whose name says nothing, but which has the
// shape of a password or of a phrase of drawn words. In three hundred megabytes
// of source code and documentation no setting has.
func suitsShaped(before, v []byte) bool {
	n := nameOf(before)
	last, _ := n.last()
	if !n.data() || n.reference() || published.Match(v) || !notPlaceholder(v) || strings.HasSuffix(last, "s") {
		return false
	}
	if bytes.IndexByte(v, ' ') < 0 {
		return shaped.Match(v) || mixed(v) && signed.Match(v) && bytes.Count(v, []byte("@")) < 3 && !address.Match(v)
	}
	seen := map[string]bool{}
	for _, w := range strings.Fields(string(v)) {
		if functionWords[w] || codeWords[w] {
			return false
		}
		seen[w] = true
	}
	return len(seen) >= 5 && len(v) >= 6*len(seen)
}

// address matches a user at a host.
var address = regexp.MustCompile(`^[A-Za-z]+@[A-Za-z]+\d*$`)

// selector matches a name in a package, as code assigns them.
var selector = regexp.MustCompile(`^[A-Za-z_]\w*\.[A-Za-z_]\w*$`)

// isHex reports whether v is hexadecimal, of a length that keys have, with
// both letters and digits.
func isHex(v []byte, least int) bool {
	if len(v) < least || len(v)%2 != 0 {
		return false
	}
	digits, letters := 0, 0
	for _, c := range v {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			letters++
		default:
			return false
		}
	}
	return digits > 0 && letters > 0
}

// drawn reports whether characters of several kinds alternate as they do when
// they are drawn at random: letters of both cases among each other, with
// digits or signs. Names in camelCase, versions, digests and UUIDs are not. Of
// a value with a prefix the longest part counts.
func drawn(v []byte) bool {
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
		kind := kindOfByte(c)
		if kind == 0 {
			flush()
			previous = 0
			continue
		}
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

// joins reports whether c stands between the parts of a value.
func joins(c byte) bool { return strings.IndexByte("-_./=:", c) >= 0 }

// kindOfByte returns d, l, u or p for a digit, a small letter, a capital or
// a sign, and 0 for what joins parts.
func kindOfByte(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'a' && c <= 'z':
		return 'l'
	case c >= 'A' && c <= 'Z':
		return 'u'
	case joins(c):
		return 0
	}
	return 'p'
}

func charset(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		return 'a'
	}
	return 'p'
}

// reference matches values that name something: paths, selectors, versions,
// words joined by dots, dashes or underscores with a number at their end.
var reference = regexp.MustCompile(`^(?:[\w-]*[./][A-Za-z_]|~|\.{1,2}/|@)|^[A-Za-z]+(?:[._-][A-Za-z]+)*[._-]?[vV]?\d{0,3}$|^[A-Za-z]+(?:[A-Z][a-z]+)+\d{0,3}$|^\d+(?:[.:-]\d+)*[a-z]{0,3}$|^https?:`)

func looksReference(v []byte) bool {
	if !reference.Match(v) {
		return false
	}
	// A slash or a dot inside random characters is no path.
	return entropy(v) < 4.2 && !drawn(v) || strings.Count(string(v), "/") > 2
}

// functionWords stand in sentences, not among words that were drawn.
var functionWords = set("the and for are was were with that this from your you has have not but must will shall should can may when then than " +
	"which what where who into onto only also any all each every does did use used using please enter choose type here there below above since until " +
	"because never always stored required needed missing empty wrong too longer shorter kept known given set changed asked entered after before")

// suitsPhrase accepts words that were drawn, not a sentence.
func suitsPhrase(before, v []byte) bool {
	n := nameOf(before)
	if last, _ := n.last(); n.public() || n.sep == 0 && !n.quoted && last == "password" {
		return false
	}
	words := bytes.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == '-' || r == '_' })
	seen := map[string]bool{}
	for _, w := range words {
		if functionWords[string(w)] {
			return false
		}
		seen[string(w)] = true
	}
	return len(seen) >= 4 && notPlaceholder(v)
}

// electronics are words around the pins of a circuit.
var electronics = set("gpio led spi sda scl cs tx rx mosi miso sck io analog digital pwm adc irq interrupt servo relay motor button sensor postal zip")

// suitsCode decides on digits as an access code.
func suitsCode(before, v []byte) bool {
	n := nameOf(before)
	last, prev := n.last()
	if n.has(electronics) || last == "code" && prev == "pin" && n.sep != '=' { // an Indian postal code
		return false
	}
	const rising = "01234567890123456789"
	return len(bytes.TrimLeft(v, string(v[:1]))) > 0 && !strings.Contains(rising, string(v))
}
