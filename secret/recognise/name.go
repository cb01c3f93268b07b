package recognise

import (
	"bytes"
	"strings"
)

// name is what a value is called in the text before it: NAME=value, "name":
// "value", name -> value, a table's cell, "the name is value".
type name struct {
	words  []string // of the name, in lower case, the last eight at most
	ident  []byte   // the word before the separator, as written
	sep    byte     // '=', ':', '>' of an arrow, '|', or 0 in a sentence
	spaced bool     // there is a space before the separator
	quoted bool     // the value is in quotes
	named  bool     // the name is
	alone  bool     // the name begins its line
	item   bool     // the name begins an item of a list
}

// verbs stand between a name and its value in a sentence.
var verbs = set("is was are reads equals be to out turned set changed now still it has been as")

// nameOf reads the name of a value from the text before it.
func nameOf(before []byte) name {
	var n name
	i := len(before)
	back := func(chars string) (moved bool) {
		for i > 0 && strings.IndexByte(chars, before[i-1]) >= 0 {
			i--
			moved = true
		}
		return moved
	}
	n.quoted = back("\"'`")
	back(" \t\n\\")
	if i > 0 && strings.IndexByte(":=>|", before[i-1]) >= 0 {
		n.sep = before[i-1]
		if back(":=>|") && n.sep == '>' {
			if before[i] == '=' {
				n.sep = '='
			}
			back("-")
		}
		n.spaced = back(" \t")
	}
	if n.sep == 0 {
		i = len(withoutVerbs(before[:i]))
	}
	n.named = back("\"'`")
	end := i
	for i > 0 && !endsPhrase(before, i-1) {
		i--
	}
	phrase := before[i:end]
	if bytes.HasPrefix(phrase, []byte("- ")) {
		i, phrase = i+1, phrase[2:]
	}
	start := bytes.TrimRight(before[:i], " \t\"'`")
	n.alone = len(start) == 0 || start[len(start)-1] == '\n'
	if at := bytes.LastIndexByte(start, '\n') + 1; !n.alone && len(start) == at+1 {
		n.item = start[at] == '-' || start[at] == '*'
	}
	at := len(phrase)
	for at > 0 && (isWordByte(phrase[at-1]) || phrase[at-1] == '-' || phrase[at-1] == '.') {
		at--
	}
	n.ident = phrase[at:]
	n.words = wordsOf(phrase)
	return n
}

// endsPhrase reports whether a name can't go on to the left over byte i.
func endsPhrase(b []byte, i int) bool {
	if strings.IndexByte("\n\r\t,;:=|(){}[]<>\"'`!?/\\&#@*$", b[i]) >= 0 {
		return true
	}
	return b[i] == '.' && i+1 < len(b) && b[i+1] == ' '
}

func withoutVerbs(phrase []byte) []byte {
	for {
		phrase = bytes.TrimRight(phrase, " ,;")
		at := bytes.LastIndexAny(phrase, " \"'`") + 1
		if !verbs[strings.ToLower(string(phrase[at:]))] {
			return phrase
		}
		phrase = phrase[:at]
	}
}

// wordsOf splits a phrase at what is no letter or digit, and camelCase at its
// capitals.
func wordsOf(phrase []byte) []string {
	var out []string
	for i := len(phrase); i > 0 && len(out) < 8; {
		for i > 0 && charset(phrase[i-1]) == 'p' {
			i--
		}
		end := i
		for i > 0 && charset(phrase[i-1]) != 'p' {
			i--
			lower := i > 0 && phrase[i-1] >= 'a' && phrase[i-1] <= 'z'
			if lower && phrase[i] >= 'A' && phrase[i] <= 'Z' {
				break
			}
		}
		if i < end {
			out = append(out, strings.ToLower(string(phrase[i:end])))
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var (
	// trailing words say nothing about what is named.
	trailing = set("old new dev prod production staging test live local enc encoded b64 base64 hex string str value v")
	// notSecret ends names of what is told about a secret, not of secrets.
	notSecret = set("id ids uid name names length len size ttl expiry expires expiration expired lifetime age days hours minutes seconds ms " +
		"count limit max min maximum minimum path file filename dir folder type kind format version algorithm alg algo field column header " +
		"prefix suffix policy rotation digest sha sha1 sha256 sha384 sha512 checksum fingerprint thumbprint etag md5 cert certificate crt csr " +
		"label class alias arn store provider enabled disabled required optional status state index hint user username login email host " +
		"port url uri endpoint pubkey title description help placeholder text message error issuer audience scope scopes manager service source " +
		"tokenizer tokenize tokenized keytype keyword keywords keyboard verification validation attempts strength timeout interval delay period retries regex pattern mode encoding")
	// publicKeys are the words before "key" that name no secret.
	publicKeys = set("public pub publishable cache primary foreign sort partition idempotency object row range hash shard routing lookup " +
		"translation bucket map dict dictionary group order sorting unique composite candidate index natural surrogate redis message " +
		"registry site config feature metric log state param query i18n locale storage host gpg pgp verify verification socket websocket")
	// publicTokens are the words before "token" that name no secret.
	publicTokens = set("next page pagination continuation cursor sync nextpage prev previous max min num total per eos bos pad unk mask " +
		"special first last")
	// references are words in the names of what is public, though random.
	references = set("trace request req commit rev revision sha sha1 sha256 sha512 digest hash checksum sum integrity etag id ids uid uuid " +
		"guid serial barcode number num no version build tag image img favicon icon logo picture thumbnail data blob jwk n x y kid cert certificate " +
		"crt ca csr public pubkey pub publishable fingerprint thumbprint cursor idempotency cache path url uri href src source name title user " +
		"email host hostname channel cluster class style component import font svg verification signature sig proof captcha recaptcha site analytics " +
		"ref reference order case tracking invoice receipt transaction txn tx address addr wallet video playlist doc sheet folder file filename " +
		"snapshot correlation span parent object row record batch device event message msg node pod job run nonce boundary prefix label description " +
		"comment text body content gitsha head tree parent branch git merge base resolved origin target asset chunk bundle module layer " +
		"manifest root block merkle encoded encode base64 hex part piece step half fragment note result answer output example " +
		"ticket issue slug locale model dataset region zone accept bytes selector query")
)

// last returns the name's last word that says what is named, and the word
// before it.
func (n *name) last() (last, before string) {
	w := n.words
	for len(w) > 1 && (trailing[w[len(w)-1]] || allDigits(w[len(w)-1])) {
		w = w[:len(w)-1]
	}
	switch len(w) {
	case 0:
		return "", ""
	case 1:
		return w[0], ""
	}
	return w[len(w)-1], w[len(w)-2]
}

// public reports whether the name is one of a thing that is no secret, though
// "key", "token" or "password" is a part of it.
func (n *name) public() bool {
	last, before := n.last()
	if before == "public" || before == "pub" {
		return true
	}
	switch last {
	case "key", "keys":
		return publicKeys[before]
	case "token", "tokens":
		return publicTokens[before]
	case "id":
		return before != "session" && before != "secret" // a Vault secret_id is one
	case "hash":
		return !strings.HasPrefix(before, "pass") && before != "pwd"
	case "login":
		return before == ""
	}
	return notSecret[last]
}

// reference reports whether the name is one under which random characters
// are public: identifiers, digests, pictures.
func (n *name) reference() bool {
	w := n.words
	if len(w) == 0 || len(n.ident) < 3 {
		return true
	}
	for _, x := range w[max(0, len(w)-3):] {
		if references[x] {
			return true
		}
	}
	return n.public()
}

// data reports whether the name stands where programs keep their settings and
// print their tables, not in a sentence or an expression.
func (n *name) data() bool {
	switch {
	case n.sep == 0:
		return false
	case n.upper():
		return n.sep != '=' || !n.spaced || n.quoted
	case n.sep == '>' || n.sep == '|':
		return bytes.ContainsAny(n.ident, "_-.")
	case n.quoted:
		return true
	}
	return (n.sep == ':' || n.alone) && bytes.ContainsAny(n.ident, "_-")
}

// upper reports whether the name is written as environment variables are.
func (n *name) upper() bool {
	letters := 0
	for _, c := range n.ident {
		if c >= 'a' && c <= 'z' {
			return false
		}
		if c >= 'A' && c <= 'Z' {
			letters++
		}
	}
	return letters >= 3
}

func (n *name) has(words map[string]bool) bool {
	for _, w := range n.words {
		if words[w] {
			return true
		}
	}
	return false
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
