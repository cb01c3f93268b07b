package environ

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
)

// Credential is a variable that holds one. Value is the credential itself: the
// password of a URL, or the part of a text that a rule recognises.
type Credential struct {
	Variable
	Kind secret.Kind
}

// Credentials returns the secret ones among variables: by the variable's name
// (API_KEY, DB_PASSWORD, …) or, whatever its name, by the value's format. A value
// that only names a place, switches something or is shorter than
// match.MinLength is not secret. Each value is returned once.
func Credentials(rules *recognise.Set, vars []Variable) []Credential {
	var out []Credential
	seen := map[string]bool{}
	add := func(v Variable, value string, kind secret.Kind) {
		if len(value) < match.MinLength || seen[value] {
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
				// The rule finds its lines one by one; it is one secret.
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
// rules see the name before the value, since some need a vendor's name.
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

// urlPassword returns the password in a URL, as it is written and decoded.
func urlPassword(s string) []string {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || strings.ContainsAny(s, " \n") {
		return nil
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	_, raw, ok := strings.Cut(rest[:max(0, strings.LastIndex(rest, "@"))], ":")
	if !ok || trivial(raw) {
		return nil
	}
	out := []string{raw}
	if dec, err := url.PathUnescape(raw); err == nil && dec != raw {
		out = append(out, dec)
	}
	return out
}

// Kind returns the kind of secret that a name indicates.
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

// harmlessEnds are last words of names that mention a credential but are not
// one.
var harmlessEnds = []string{
	"id", "file", "path", "dir", "url", "uri", "name", "type", "ttl", "expiry", "expires", "length", "size", "limit", "count", "sock", "socket",
	"host", "port", "enabled", "alg", "algorithm", "header", "prefix", "issuer", "audience", "region", "timeout", "version", "arn", "format", "method",
}

// wordsOf splits a name at capitals in camel case, and at everything but letters and
// digits.
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

// trivial reports whether a value only names, switches or counts something, or
// is a placeholder.
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

// Found is what Protect made of an environment. Its lists name variables,
// never values; those of a file have its path behind them.
type Found struct {
	Records    []secret.Record // to be protected
	Whole      []string        // in Records, in every encoding
	Words      []string        // in Records, only as whole words of plain text
	Ordinary   []string        // not protected: replacing "postgres" would spoil every text about it
	Unfit      []string        // too short or too long to protect by value
	Unreadable []string        // files that could not be read
}

// Protect finds the credentials that a program can read without asking, in its
// environment and in the .env files of a folder, and makes records of them under
// keys.
func Protect(keys *secret.Keys, rules *recognise.Set, env []string, dir string, now time.Time) Found {
	var f Found
	vars := Process(env)
	files, skipped := Files(dir)
	f.Unreadable = skipped
	for _, file := range files {
		b, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			f.Unreadable = append(f.Unreadable, file)
			continue
		}
		vars = append(vars, Parse(file, b)...)
	}
	for _, v := range Credentials(rules, vars) {
		rec, st, err := match.Prepare(keys, flow.NewID(), v.Name, v.Kind, secret.SourceRegistered, v.Origin, []byte(v.Value), now)
		what := v.Name
		if file, ok := strings.CutPrefix(v.Origin, "file:"); ok {
			what += " (" + file + ")"
		}
		switch {
		case err != nil:
			f.Unfit = append(f.Unfit, what)
			continue
		case !st.Disguised && isWord(v.Value):
			f.Ordinary = append(f.Ordinary, what)
			continue
		case st.Disguised:
			f.Whole = append(f.Whole, what)
		default:
			f.Words = append(f.Words, what)
		}
		f.Records = append(f.Records, rec)
	}
	return f
}

// isWord reports whether a value has only letters.
func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}
