package monitor

import "strings"

// The words and prefixes that give credentials away, found in one pass by an
// Aho-Corasick automaton over the text in small letters.

type kind uint8

const (
	none        kind = iota
	keyword          // names a credential wherever it stands
	wordOnly         // does so as a word, or as a word of an identifier
	nameOnly         // does so within an identifier, or before : or =
	prefix           // begins a credential, in exactly these letters
	placeholder      // says that what it stands in is none
	published        // is an example that documentation prints, or its beginning
	publicName       // names what is no credential, though it may look like one
	block            // begins a credential that ends with the next END line
	publicBlock      // begins what is none
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

const alphabet = 26 + 10 + 6 // letters, digits, - _ . space *, and the rest

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
			s[b] = 36 + uint8(strings.IndexByte("-_. *", c)+1)
		}
	}
	return s
}()

type automaton struct {
	next [][alphabet]uint16
	out  []pattern // of the state, of kind none where nothing ends there
	also []uint16  // the next shorter suffix at which something ends, or 0
	// By state, how many of the last bytes may become an example, and a name.
	example, name []uint8
}

var words = build()

func build() *automaton {
	a := &automaton{next: make([][alphabet]uint16, 1), out: make([]pattern, 1)}
	for k, list := range lexicon {
		for w := range strings.FieldsSeq(list) {
			a.insert(strings.ReplaceAll(w, "+", " "), k)
		}
	}
	a.begin()
	a.link()
	return a
}

func (a *automaton) insert(w string, k kind) {
	s := uint16(0)
	for i := range len(w) {
		c := symbols[w[i]]
		if a.next[s][c] == 0 {
			a.next = append(a.next, [alphabet]uint16{})
			a.out = append(a.out, pattern{})
			a.next[s][c] = uint16(len(a.next) - 1)
		}
		s = a.next[s][c]
	}
	p := pattern{kind: k, length: len(w), phrase: w == "passphrase"}
	if k == prefix {
		for i := range min(len(w), 8) {
			p.tail |= uint64(w[len(w)-1-i]) << (8 * i)
			p.mask |= 0xff << (8 * i)
		}
	}
	a.out[s] = p
}

// begin notes the beginnings of what says that a value is none.
func (a *automaton) begin() {
	a.example, a.name = make([]uint8, len(a.next)), make([]uint8, len(a.next))
	for k, list := range lexicon {
		into := a.name
		switch k {
		case placeholder, published, publicName:
			into = a.example
		case keyword, wordOnly, nameOnly:
		default:
			continue
		}
		for w := range strings.FieldsSeq(list) {
			s := uint16(0)
			for i := range len(w) - 1 {
				c := w[i]
				if c == '+' {
					c = ' '
				}
				s = a.next[s][symbols[c]]
				into[s] = uint8(i + 1)
			}
		}
	}
}

// link adds the transitions on failure, breadth first.
func (a *automaton) link() {
	fail := make([]uint16, len(a.next))
	a.also = make([]uint16, len(a.next))
	var queue []uint16
	for _, s := range a.next[0] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		f := fail[s]
		if a.also[s] = f; a.out[f].kind == none {
			a.also[s] = a.also[f]
		}
		// A longer suffix counts first.
		a.example[s], a.name[s] = max(a.example[s], a.example[f]), max(a.name[s], a.name[f])
		for c := range a.next[s] {
			t := a.next[s][c]
			if t == 0 {
				a.next[s][c] = a.next[fail[s]][c]
				continue
			}
			fail[t] = a.next[fail[s]][c]
			queue = append(queue, t)
		}
	}
}

// credentialLike says whether a token looks like a part of a random string: it
// begins no word after a space, and has a digit, a capital that begins no
// word, or two letters and more without a vowel.
func credentialLike(text string) bool {
	if text == "" || len(text) > 24 {
		return false
	}
	var digits, letters, capitals, vowels int
	for i := range len(text) {
		switch c := text[i]; classes[c] {
		case digit:
			digits++
		case upper:
			letters++
			vowels += int(vowel[c])
			if i > 0 || len(text) == 1 {
				capitals++
			}
		case lower:
			letters++
			vowels += int(vowel[c])
		case other:
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
