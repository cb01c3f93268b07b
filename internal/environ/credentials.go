package environ

import (
	"net/url"
	"slices"
	"strings"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
)

// Credential is a variable that holds one. Value is the credential itself:
// of a URL the password, of other text what a rule takes for a credential.
type Credential struct {
	Variable
	Kind secret.Kind
}

// Credentials returns what is secret among variables: by the variable's name
// (API_KEY, DB_PASSWORD, …) or, whatever its name, by the value's format.
// What only names a place, switches something or is shorter than
// secret.MinLength is none. Each value is returned once.
func Credentials(rules *recognise.Set, vars []Variable) []Credential {
	var out []Credential
	seen := map[string]bool{}
	add := func(v Variable, value string, kind secret.Kind) {
		if len(value) < secret.MinLength || seen[value] {
			return
		}
		seen[value] = true
		v.Value = value
		out = append(out, Credential{v, kind})
	}
	for _, v := range vars {
		named, kind := byName(v.Name)
		if part := urlPassword(v.Value); len(part) > 0 {
			for _, p := range part {
				add(v, p, secret.KindPassword)
			}
			continue
		}
		whole := named && !trivial(v.Value) && !strings.Contains(v.Value, "://")
		for _, m := range recognised(rules, v) {
			if m.kind == secret.KindPrivateKey {
				// Its lines are found one by one; it is one secret.
				whole, kind = true, m.kind
				continue
			}
			add(v, v.Value[m.start:m.end], m.kind)
		}
		if whole {
			add(v, v.Value, kind)
		}
	}
	return out
}

type span struct {
	start, end int
	kind       secret.Kind
}

// recognised returns the parts of a value whose format is a credential's. The
// name stands before the value, since some rules need a vendor's name.
func recognised(rules *recognise.Set, v Variable) []span {
	prefix := len(v.Name) + 1
	var out []span
	for _, m := range rules.Find([]byte(v.Name + "=" + v.Value)) {
		start, end := int(m.Start)-prefix, int(m.End)-prefix
		if m.Rule.Class != recognise.ClassCredential || start < 0 {
			continue
		}
		if m.Capped || m.Continues {
			start, end = 0, len(v.Value)
		}
		out = append(out, span{start, end, m.Kind()})
	}
	return out
}

// urlPassword returns the password in a URL, as it stands and decoded.
func urlPassword(s string) []string {
	if !strings.Contains(s, "://") || strings.ContainsAny(s, " \n") {
		return nil
	}
	_, rest, _ := strings.Cut(s, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	at := strings.LastIndex(rest, "@")
	if at < 0 {
		return nil
	}
	_, raw, ok := strings.Cut(rest[:at], ":")
	if !ok || trivial(raw) {
		return nil
	}
	out := []string{raw}
	if dec, err := url.PathUnescape(raw); err == nil && dec != raw {
		out = append(out, dec)
	}
	return out
}

// Kind returns the kind of secret that a name speaks of.
func Kind(name string) secret.Kind {
	_, k := byName(name)
	return k
}

// byName reports whether a variable's name says that it holds a credential.
func byName(name string) (bool, secret.Kind) {
	words := wordsOf(name)
	has := func(ws ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(ws, w) })
	}
	ends := func(ws ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(ws, func(x string) bool { return strings.HasSuffix(w, x) })
		})
	}
	kind, named := secret.KindSecret, true
	switch {
	case has("private") && has("key"), ends("privatekey"), has("pem"):
		kind = secret.KindPrivateKey
	case ends("password", "passwd", "passphrase", "passcode"), has("pass", "pwd", "pw") && len(words) > 1, has("dbpass", "pgpass"):
		kind = secret.KindPassword
	case ends("token"), has("pat", "jwt", "bearer", "cookie"):
		kind = secret.KindToken
	case has("webhook"):
		kind = secret.KindWebhook
	case has("dsn"), has("connection") && has("string"), ends("connectionstring"):
		kind = secret.KindConnectionString
	case ends("apikey"), has("key", "keys") && len(words) > 1:
		kind = secret.KindAPIKey
	case ends("secret"), has("secrets", "credential", "credentials", "creds", "auth"):
	default:
		named = false
	}
	if len(words) > 0 && slices.Contains(harmlessEnds, words[len(words)-1]) || has("public", "publishable") {
		named = false
	}
	return named, kind
}

// harmlessEnds are last words of names that speak of a credential without
// being one.
var harmlessEnds = []string{
	"id", "file", "path", "dir", "url", "uri", "name", "type", "ttl", "expiry", "expires", "length", "size", "limit", "count", "sock", "socket",
	"host", "port", "enabled", "alg", "algorithm", "header", "prefix", "issuer", "audience", "region", "timeout", "version", "arn", "format", "method",
}

// wordsOf splits a name at what is no letter or digit and at camel humps.
func wordsOf(name string) []string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		upper := c >= 'A' && c <= 'Z'
		if upper && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		switch {
		case upper:
			b.WriteByte(c | 0x20)
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b.WriteByte(c)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}

// trivial values name or switch something, count, or stand for a value that
// is elsewhere.
func trivial(s string) bool {
	switch strings.ToLower(s) {
	case "", "true", "false", "none", "null", "yes", "no", "on", "off", "enabled", "disabled", "auto", "default", "changeme", "change-me", "password", "secret",
		"token", "example", "test", "todo", "placeholder", "redacted":
		return true
	}
	if strings.ContainsAny(s[:1], "$<%{/~*") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(strings.ToLower(s), "your") {
		return true
	}
	return len(s) < 6 && strings.Trim(s, "0123456789.") == "" || strings.Trim(s, s[:1]) == ""
}
