package recognise

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/margaydev/margay/secret"
)

// assigned matches the value that a key's name is given in .env files, JSON,
// YAML, shell and logs: the name, then = or : (or =>), then the value, quoted
// or not, up to something that ends values.
const assigned = `[\w.-]{0,30}["'\x60]?[ \t]{0,3}(?::=|=>|[:=])[ \t]{0,3}["'\x60]?([^\s"'\x60,;<>(){}\[\]|\\]{8,200})(?:["'\x60\s,;)\]}<|]|\\[nrt"']|$)`

// Discovery returns the rules that go by the name of a key and the look of
// its value.
func Discovery() []Rule {
	return []Rule{
		{
			ID: "named-password", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex:    `(?i)(?:passw(?:or)?d|passphrase|passwort|db_pass|_pwd)` + assigned,
			Validate: looksPassword,
			Positive: []string{
				"DB_PASSWORD=«k4Qz!mfp9Lw»", `"password": "«Tr0ub4dor&3x»"`, "password: «s3cr3t-Pa55»\n", "export PGPASSWORD='«9fj2kL#mQp»'",
				"spring.datasource.password=«hG7_kk2Lp0z»",
			},
			Negative: []string{
				"password: string", "password = getpass()", "PASSWORD=${DB_PASSWORD}", "password: changeme123", `"password": "<your-password1>"`,
				"the password=forgotten page", "password = os.environ['X1Y2Z3']", "passwordHash := computeHash64(p)",
			},
		},
		{
			ID: "named-token", Kind: secret.KindToken, Class: ClassDiscovery,
			Regex:    `(?i)(?:token|session[_-]?id|bearer)` + assigned,
			Validate: looksRandom,
			Positive: []string{"GITLAB_TOKEN=«q7wn2kfp0x3ma9dz»", `{"access_token":"«Zk3Lq9-fP2mX7vB1»"}`, "token: '«f81d4fae7dec11d0a765»'"},
			Negative: []string{
				"token = strings.TrimSpace(x)", "token: abcdefghijkl", "tokenizer=GPT2TokenizerFast", "max_tokens: 1024000000", "token=$TOKEN_1234567",
				"TOKEN=xxxxxxxxxxxx1234", "next_token: page-two-of-three",
			},
		},
		{
			ID: "named-key", Kind: secret.KindAPIKey, Class: ClassDiscovery,
			Regex: `(?i)(?:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|client[_-]?secret|app[_-]?secret` +
				`|_secret|secret_|credential|auth[_-]?key|account[_-]?key|master[_-]?key|license[_-]?key)` + assigned,
			Validate: looksRandom,
			Positive: []string{
				"ACME_API_KEY=«m2Xk9vQ4tR7wZ1pL»", `"clientSecret": "«a8f5f167f44f4964e6c998dee827110c»"`, "aws_secret_access_key = «kG7/h2Lw+Qz9pXv1mT4rBn8sYc3dFa6e»",
				"JWT_SECRET=«d0f3a9c2b7e1486f»",
			},
			Negative: []string{
				"api_key = config.get_api_key", "secret_key: mySecretKeyName", "API_KEY=your-api-key-1234", "client_secret=$CLIENT_SECRET_V2",
				"primary_key: customer_id_2", "SecretKeyRef: db-secret-name",
			},
		},
		{
			ID: "url-password", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex:    `://[^\s:/@"'<>\x60]{0,64}:([^\s/@"'<>\x60]{4,128})@[\w\[.-]`,
			Validate: notPlaceholder,
			Positive: []string{"postgres://app:«hunter2hunter2»@db.internal:5432/prod", "redis://:«p4ss-w0rd»@10.0.0.7:6379", "mongodb+srv://root:«Zx81kq»@cluster0.example.net"},
			Negative: []string{"https://user:password@host/", "postgres://user:${PGPASS}@host/db", "http://localhost:8080/a@b", "https://example.com:443/x", "ftp://u:<pass>@h"},
		},
		{
			ID: "authorization-header", Kind: secret.KindToken, Class: ClassDiscovery,
			Regex:    `(?i)(?:authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:bearer|basic|token|digest)[ \t]{1,3}|\bbearer[ \t]{1,3})([\w.~+/-]{16,}={0,2})(?:[\s"'\x60,;)\]}]|\\[nr"]|$)`,
			Validate: looksRandom,
			Positive: []string{"Authorization: Basic «dXNlcjpodW50ZXIyaHVudGVyMg==»", `-H "Authorization: Bearer «aK3nQ9xv7LpZ2mTy8w»"`, "bearer «v3ry0pAqueT0ken9182»"},
			Negative: []string{"Authorization: Bearer <token>", "bearer token authentication", "Bearer authentication-scheme-name"},
		},
		{
			ID: "option-secret", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex:    `(?i)--(?:password|passwd|token|secret|api-?key|access-token|client-secret|auth-token)[ =]["']?([^\s"'\x60<>(){}|;&]{6,200})(?:["'\s;&|)]|\\[nr"]|$)`,
			Validate: looksPassword,
			Positive: []string{"mysql --password=«gT5#kLw9» -u root", "deploy --token «a81Kd03kfPq»"},
			Negative: []string{"tool --password $PASS", "use --token VALUE here", "--secret <name>", "see --api-key option"},
		},
	}
}

// placeholder matches what stands where a secret is to be filled in.
var placeholder = regexp.MustCompile(`(?i)^[$%{<*]|\$\{|\{\{|<[a-z]|x{4}|\*{3}|\.{3}|[^a-z]your|^your|example|changeme|change[_-]me|placeholder|redacted|insert|replace|dummy|fixme|my[_-]?(?:secret|token|key|pass)|^(?:null|none|true|false|undefined|password|passwd|secret|process\.env|os\.environ|env[.:])|margay-[a-z]|^(.)\x00`)

func notPlaceholder(v []byte) bool {
	if placeholder.Match(v) {
		return false
	}
	return len(bytes.TrimLeft(v, string(v[:1]))) > 0 // not one character over and over
}

// looksPassword accepts values with letters and digits or punctuation among
// them: what nobody writes as a word or a name in code.
func looksPassword(v []byte) bool {
	if !notPlaceholder(v) || looksReference(v) {
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
		return false
	}
	need := 3.0
	if len(v) < 16 {
		need = 2.8
	}
	return entropy(v) > need
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
	return entropy(v) < 4.2 || strings.Count(string(v), "/") > 2
}
