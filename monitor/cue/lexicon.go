package cue

import (
	"strings"

	"github.com/margaydev/margay/internal/ahocorasick"
)

// The words and prefixes that give credentials away, found in one pass over the
// text in small letters.

type kind uint8

const (
	none        kind = iota
	keyword          // names a credential wherever it occurs
	wordOnly         // does so as a word, or as a word of an identifier
	nameOnly         // does so within an identifier, or before : or =
	prefix           // starts a credential, in exactly these letters
	placeholder      // says that what it occurs in is not a credential
	published        // is an example that documentation prints, or its beginning
	publicName       // names what is not a credential, though it may look like one
	block            // starts a credential that ends with the next END line
	publicBlock      // starts what is not a credential
	blockEnd
)

// lexicon is what is looked for, by kind.
var lexicon = map[kind]string{
	keyword: "password passwd passphrase passcode secret credential apikey api_key api-key api+key " +
		"accesskey access_key access-key access+key privatekey private_key private-key private+key " +
		"signingkey signing_key signing-key signing+key encryptionkey encryption_key encryption+key " +
		"masterkey master_key master+key authtoken auth_token auth-token auth+token " +
		"connectionstring connection_string connection+string conn_str",
	wordOnly: "token pwd passwort bearer jwt dsn otp psk creds hmac",
	nameOnly: "key pass auth pat cred salt pin seed license",
	prefix: "AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- sk_live_ sk_test_ rk_live_ rk_test_ whsec_ " +
		"sk- xoxb- xoxp- xoxa- xoxr- xoxs- xapp- SG. AIza ya29. npm_ pypi- hf_ dop_v1_ shpat_ shpss_ sq0csp- sq0atp- " +
		"eyJ hvs. dckr_pat_ glsa_ lin_api_ rzp_live_ FLWSECK AGE-SECRET-KEY- PMAK- dapi NRAK- atlasv1. sntrys_ figd_",
	publicName: "public+key public_key public-key publickey pubkey site+key site_key site-key cache+key cache_key cache-key " +
		"primary+key foreign+key key+id key_id key-id keyid key+fingerprint key_fingerprint fingerprint checksum digest commit revision etag " +
		"publishable+key publishable_key publishable-key idempotency+key idempotency_key idempotency-key sha256: md5: build+tag build_tag " +
		"uuid favicon image+data +id _id -id ssh-rsa ssh-ed25519 ecdsa-sha2 certificate ca_cert ca+cert image_data known_hosts jwk_n jwks",
	block:       "private+key-----",
	publicBlock: "begin+certificate----- public+key----- certificate+request-----",
	blockEnd:    "-----end",
	placeholder: "example xxxx **** redacted placeholder changeme change_me replace_me dummy your_ your- " +
		"sk_test_xxxx 12345678 " +
		"eyjhbgci", // a JWT's header, {"alg
	published: "akiaiosf wjalr sk_test_4ec39h 4ec39h eyjzdwiioiixmjm0nty3odkw", // of AWS, Stripe and JWT
}

// pattern is an entry of the lexicon.
type pattern struct {
	kind   kind
	length int
	phrase bool // what it names has several words
	// The last eight bytes, as written, of a prefix, and which of them count.
	tail, mask uint64
}

const alphabet = 26 + 10 + 7 // letters, digits, - _ . space * :, and the rest

// symbols maps a byte to the automaton's alphabet.
var symbols = func() (s [256]uint8) {
	for b := range s {
		switch c := byte(b); {
		case 'a' <= c && c <= 'z':
			s[b] = c - 'a'
		case 'A' <= c && c <= 'Z':
			s[b] = c - 'A'
		case '0' <= c && c <= '9':
			s[b] = 26 + c - '0'
		default:
			s[b] = 36 + uint8(strings.IndexByte("-_. *:", c)+1)
		}
	}
	return s
}()

type automaton struct {
	*ahocorasick.Automaton
	out  []pattern // of the state, of kind none where nothing ends there
	also []uint16  // the next shorter suffix at which something ends, or 0
	// By state, how many of the last bytes may become an example, and a name.
	example, name []uint8
}

var words = build()

func build() *automaton {
	a := &automaton{Automaton: ahocorasick.New(symbols, alphabet)}
	for _, list := range lexicon {
		for w := range strings.FieldsSeq(list) {
			a.Add(strings.ReplaceAll(w, "+", " "))
		}
	}
	n := a.Len()
	a.out, a.also, a.example, a.name = make([]pattern, n), make([]uint16, n), make([]uint8, n), make([]uint8, n)
	for k, list := range lexicon {
		for w := range strings.FieldsSeq(list) {
			a.insert(strings.ReplaceAll(w, "+", " "), k)
		}
	}
	a.Link(func(s, suffix uint16) {
		if a.also[s] = suffix; a.out[suffix].kind == none {
			a.also[s] = a.also[suffix]
		}
		// A longer suffix counts first.
		a.example[s], a.name[s] = max(a.example[s], a.example[suffix]), max(a.name[s], a.name[suffix])
	})
	return a
}

// insert notes what a word is, and its beginnings where it says that a value is
// none.
func (a *automaton) insert(w string, k kind) {
	path := a.Add(w)
	p := pattern{kind: k, length: len(w), phrase: w == "passphrase"}
	if k == prefix {
		for i := range min(len(w), 8) {
			p.tail |= uint64(w[len(w)-1-i]) << (8 * i)
			p.mask |= 0xff << (8 * i)
		}
	}
	a.out[path[len(w)-1]] = p
	var into []uint8
	switch k {
	case placeholder, published, publicName:
		into = a.example
	case keyword, wordOnly, nameOnly:
		into = a.name
	default:
		return
	}
	for i, s := range path[:len(w)-1] {
		into[s] = uint8(i + 1)
	}
}

// CredentialLike says whether a token looks like a part of a random string: it
// does not start with a space, and has a digit, a capital that does not start the
// word, or two letters and more without a vowel.
func CredentialLike(text string) bool {
	if text == "" || len(text) > 24 {
		return false
	}
	var digits, letters, capitals, vowels int
	for i := range len(text) {
		switch c := text[i]; ClassOf(c) {
		case Digit:
			digits++
		case Upper:
			letters++
			vowels += int(vowel[c])
			if i > 0 || len(text) == 1 {
				capitals++
			}
		case Lower:
			letters++
			vowels += int(vowel[c])
		case Other:
			if c != '_' && c != '-' {
				return false
			}
		default:
			return false
		}
	}
	return digits > 0 || capitals > 0 || letters > 1 && vowels == 0
}

var vowel = func() (v [256]uint8) {
	for _, c := range "aeiouyAEIOUY" {
		v[c] = 1
	}
	return v
}()
