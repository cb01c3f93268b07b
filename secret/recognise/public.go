package recognise

import "bytes"

const (
	publicLeast = 12  // characters of a value that Public gives
	nameWithin  = 120 // bytes before a value that its name is looked for in
)

// Public gives the values of a text that stand under the names of what is
// public: digests, revisions, identifiers, serial numbers. They are valid
// during the call.
func Public(text []byte, each func(value []byte)) {
	for i := 0; i < len(text); {
		if !inPublic(text[i]) {
			i++
			continue
		}
		start, digits := i, false
		for i < len(text) && inPublic(text[i]) {
			digits = digits || text[i] >= '0' && text[i] <= '9'
			i++
		}
		value := bytes.TrimRight(text[start:i], ".")
		if len(value) < publicLeast || !digits {
			continue
		}
		if at := bytes.LastIndexAny(value, "=:"); at >= 0 && at < len(value)-publicLeast { // NAME=value
			start += at + 1
			value = value[at+1:]
		}
		if n := nameOf(text[max(0, start-nameWithin):start]); n.namesPublic() {
			each(value)
		}
	}
}

func inPublic(c byte) bool {
	return charset(c) != 'p' || bytes.IndexByte([]byte("-_=:+/."), c) >= 0
}

// namesPublic reports whether the name is that of something public, and has no
// word that secrets have.
func (n *name) namesPublic() bool {
	if len(n.words) == 0 || len(n.ident) < 3 || n.has(secretWords) {
		return false
	}
	for _, w := range n.words[max(0, len(n.words)-3):] {
		if identifying[w] {
			return true
		}
	}
	return false
}

// identifying are words in the names of digests, revisions, identifiers and
// serial numbers: of the references, those that leave no doubt.
var identifying = set("trace request req commit rev revision sha sha1 sha256 sha512 digest hash checksum etag id ids uid uuid guid serial barcode " +
	"tracking order case invoice ticket reference version build integrity fingerprint thumbprint cert certificate crt image favicon jwk pubkey")

// secretWords are words in the names of secrets.
var secretWords = set("password passwd passphrase passcode pass pwd secret secrets token tokens private credential credentials login salt pin auth master signing encryption")
