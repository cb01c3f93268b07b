package world

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

const (
	lowers  = "abcdefghijklmnopqrstuvwxyz"
	uppers  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
	alnum   = lowers + uppers + digits
	hexes   = "0123456789abcdef"
	base64s = alnum + "+/"
	urlsafe = alnum + "-_"
	marks   = "!@#%^*-_+=?"
)

// secretKind is a format of secrets: how many a repository has, what they are
// called, and how one is made.
type secretKind struct {
	name  string
	count int
	nouns []string
	make  func(r *Repository, d draw) (before, value, behind string)
}

func whole(f func(r *Repository, d draw) string) func(*Repository, draw) (string, string, string) {
	return func(r *Repository, d draw) (string, string, string) { return "", f(r, d), "" }
}

// The counts add up to Secrets. Vendors' prefixes are those that scanners know;
// the own ones are not.
var secretKinds = []secretKind{
	{"api_key", 5, []string{"API_KEY", "ACCESS_TOKEN", "SERVICE_TOKEN"}, whole(vendorKey)},
	{"own_key", 5, []string{"API_KEY", "CLIENT_SECRET", "TOKEN", "PARTNER_KEY"}, whole(ownKey)},
	{"password", 5, []string{"DB_PASSWORD", "ADMIN_PASSWORD", "LOGIN_PASS", "FTP_PASSWORD"}, whole(humanPassword)},
	{"random_password", 4, []string{"DB_PASSWORD", "ROOT_PASSWORD", "SMTP_PASS"}, whole(func(_ *Repository, d draw) string {
		return d.chars(1, alnum) + d.chars(d.between(10, 18), alnum+marks) + d.chars(2, alnum)
	})},
	{"word_password", 2, []string{"DOOR_PASSWORD", "BACKUP_PASSWORD"}, whole(func(r *Repository, d draw) string {
		return strings.Join(r.some(d, 3), "")
	})},
	{"passphrase", 2, []string{"KEY_PASSPHRASE", "VAULT_PASSPHRASE"}, whole(func(r *Repository, d draw) string {
		return strings.Join(r.some(d, 5), " ")
	})},
	{"connection", 4, []string{"DATABASE_URL", "QUEUE_URL", "DSN", "CACHE_URL"}, connection},
	{"jwt", 2, []string{"SERVICE_JWT", "SESSION_TOKEN"}, jwt},
	{"hex", 3, []string{"SIGNING_SECRET", "HMAC_KEY", "SALT"}, whole(func(_ *Repository, d draw) string { return d.chars(pick(d, []int{32, 40, 64}), hexes) })},
	{"base64", 2, []string{"ENCRYPTION_KEY", "MASTER_KEY"}, whole(func(_ *Repository, d draw) string {
		return base64.StdEncoding.EncodeToString(d.bytes(pick(d, []int{24, 32})))
	})},
	{"pem", 2, []string{"PRIVATE_KEY", "TLS_KEY"}, privateKey},
	{"webhook", 2, []string{"WEBHOOK_URL", "ALERT_HOOK"}, webhook},
	{"pin", 2, []string{"TERMINAL_PIN", "ACCESS_CODE"}, whole(func(_ *Repository, d draw) string {
		return d.chars(1, "123456789") + d.chars(d.between(7, 9), digits)
	})},
}

// plainNames say nothing of what they name.
var plainNames = []string{"HANDSHAKE", "ENTRY", "SEED_VALUE", "LEGACY_LOGIN", "GATE", "MAGIC", "PAIRING", "OPERATOR_LINE"}

// some draws different words from the domain's list.
func (r *Repository) some(d draw, n int) []string {
	of := r.lex["passwordword"]
	out := make([]string, n)
	for i, j := range d.Perm(len(of))[:n] {
		out[i] = of[j]
	}
	return out
}

func vendorKey(r *Repository, d draw) string {
	if r.Name == "healthcare" {
		return pick(d, []func() string{
			func() string { return "ghp_" + d.chars(36, alnum) },
			func() string { return "AKIA" + d.chars(16, uppers+"234567") },
			func() string {
				return "xoxb-" + d.chars(12, digits) + "-" + d.chars(13, digits) + "-" + d.chars(24, alnum)
			},
			func() string { return "SG." + d.chars(22, urlsafe) + "." + d.chars(43, urlsafe) },
		})()
	}
	return pick(d, []func() string{
		func() string { return "sk_live_" + d.chars(24, alnum) },
		func() string { return "glpat-" + d.chars(20, alnum) },
		func() string { return "AIza" + d.chars(35, urlsafe) },
		func() string { return "npm_" + d.chars(36, alnum) },
		func() string { return "rk_live_" + d.chars(24, alnum) },
	})()
}

func ownKey(r *Repository, d draw) string {
	if r.Name == "healthcare" {
		return pick(d, []string{"fhir-", "clin_live_", "wk.", "", "MED"}) + d.chars(d.between(18, 32), alnum)
	}
	return pick(d, []string{"pmx-", "acq_live_", "tk:", "", "SHOP"}) + d.chars(d.between(18, 32), alnum)
}

// humanPassword is one as people make them up.
func humanPassword(r *Repository, d draw) string {
	w := r.some(d, 2)
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	switch d.IntN(4) {
	case 0:
		return title(w[0]) + title(w[1]) + d.chars(2, digits) + d.chars(1, "!?#")
	case 1:
		return w[0] + "_" + w[1] + d.chars(1, digits)
	case 2:
		return title(strings.NewReplacer("o", "0", "e", "3", "a", "@").Replace(w[0])) + "-" + d.chars(4, digits)
	default:
		return title(w[0]) + fmt.Sprint(d.between(1960, 2024)) + w[1]
	}
}

func connection(r *Repository, d draw) (before, value, behind string) {
	scheme := pick(d, []string{"postgres", "mysql", "amqp", "redis", "mongodb"})
	user := pick(d, r.lex["word"])
	value = d.chars(d.between(12, 20), alnum)
	if d.chance(0.4) {
		value = humanPassword(r, d)
		value = strings.NewReplacer("@", "4", "#", "7", "?", "8").Replace(value)
	}
	return scheme + "://svc_" + user + ":", value, fmt.Sprintf("@%s:%d/%s", pick(d, r.lex["host"]), d.between(3000, 9000), user)
}

// jwt is a token of which the header is everybody's.
func jwt(r *Repository, d draw) (before, value, behind string) {
	enc := base64.RawURLEncoding
	claims := fmt.Sprintf(`{"iat":%d,"jti":"%s","sub":"svc-%s"}`, d.between(1_600_000_000, 1_750_000_000), d.chars(8, hexes), pick(d, r.lex["word"]))
	return enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + ".", enc.EncodeToString([]byte(claims)) + "." + enc.EncodeToString(d.bytes(32)), ""
}

func privateKey(_ *Repository, d draw) (before, value, behind string) {
	lines := make([]string, d.between(2, 3))
	for i := range lines {
		lines[i] = d.chars(64, base64s)
	}
	lines[len(lines)-1] = d.chars(d.between(20, 50), base64s) + "=="
	return "-----BEGIN EC PRIVATE KEY-----\n", strings.Join(lines, "\n"), "\n-----END EC PRIVATE KEY-----"
}

func webhook(r *Repository, d draw) (before, value, behind string) {
	if d.chance(0.5) {
		return "https://hooks.slack.com/services/", "T" + d.chars(8, uppers+digits) + "/B" + d.chars(8, uppers+digits) + "/" + d.chars(24, alnum), ""
	}
	return "https://hooks." + pick(d, r.lex["word"]) + ".example/in/", d.chars(d.between(20, 28), alnum), ""
}

// decoyKind is a format of values that look like secrets and are none.
// What repositories are full of has two turns in each round.
type decoyKind struct {
	nouns []string
	make  func(r *Repository, d draw) string
}

var decoyRound = append(slices.Clone(decoyKinds[:5]), decoyKinds...)

var decoyKinds = []decoyKind{
	{[]string{"IMAGE_DIGEST", "CHECKSUM", "ARTIFACT_SHA256"}, func(_ *Repository, d draw) string {
		return pick(d, []string{"", "sha256:"}) + d.chars(64, hexes)
	}},
	{[]string{"COMMIT", "REVISION", "BASE_COMMIT"}, func(_ *Repository, d draw) string { return d.chars(pick(d, []int{10, 12, 40, 40}), hexes) }},
	{[]string{"REQUEST_ID", "RECORD_ID", "BATCH_ID", "DEVICE_ID"}, func(_ *Repository, d draw) string { return uuid(d) }},
	{[]string{"ORDER_ID", "CASE_NUMBER", "REFERENCE"}, func(_ *Repository, d draw) string {
		return pick(d, []string{"ORD-", "CASE-", "REF", "INV-"}) + fmt.Sprint(d.between(2019, 2024)) + "-" + d.chars(d.between(6, 9), digits)
	}},
	{[]string{"TRACKING_NUMBER", "SERIAL", "BARCODE", "LAST_EVENT_ID"}, func(_ *Repository, d draw) string {
		return d.chars(1, "123456789") + d.chars(d.between(8, 17), digits)
	}},
	{[]string{"CERT_FINGERPRINT", "KEY_FINGERPRINT"}, func(_ *Repository, d draw) string {
		if d.chance(0.5) {
			return "SHA256:" + d.chars(43, base64s)
		}
		return strings.ToUpper(strings.TrimSuffix(every(hex.EncodeToString(d.bytes(20)), 2, ":"), ":"))
	}},
	{[]string{"TLS_CERTIFICATE", "CA_CERT"}, func(_ *Repository, d draw) string {
		return "-----BEGIN CERTIFICATE-----\nMIIB" + d.chars(60, base64s) + "\n" + d.chars(d.between(20, 60), base64s) + "\n-----END CERTIFICATE-----"
	}},
	{[]string{"PUBLIC_KEY", "DEPLOY_PUBKEY"}, func(r *Repository, d draw) string {
		return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + d.chars(43, base64s) + " " + pick(d, r.lex["word"])
	}},
	{[]string{"PUBLISHABLE_KEY"}, func(_ *Repository, d draw) string { return "pk_live_" + d.chars(24, alnum) }},
	{[]string{"API_KEY_ID", "KEY_ID"}, func(_ *Repository, d draw) string { return "kid-" + d.chars(12, alnum) }},
	{[]string{"ETAG", "CACHE_KEY", "TRACE_ID", "IDEMPOTENCY_KEY"}, func(_ *Repository, d draw) string {
		return d.chars(pick(d, []int{16, 32}), pick(d, []string{hexes, alnum}))
	}},
	{[]string{"RELEASE_NAME", "CLUSTER", "CHANNEL"}, func(r *Repository, d draw) string {
		n := pick(d, r.lex["nickname"])
		return pick(d, []string{n, n + "-" + pick(d, r.lex["word"]), n + d.chars(2, digits), n + " " + pick(d, r.lex["word"]) + " " + pick(d, r.lex["nickname"])})
	}},
	{[]string{"REPLICA_URL", "METRICS_URL", "DOCS_URL"}, func(r *Repository, d draw) string {
		return pick(d, []string{"postgres://readonly@", "https://", "amqp://"}) + pick(d, r.lex["host"]) + "/" + pick(d, r.lex["word"]) + "/" + d.chars(12, hexes)
	}},
	{[]string{"IMAGE_DATA", "FAVICON", "JWK_N"}, func(_ *Repository, d draw) string {
		return pick(d, []string{"iVBORw0KGgo", "R0lGODlh", "sXch"}) + d.chars(d.between(20, 44), urlsafe)
	}},
	{[]string{"BUILD_TAG", "PACKAGE_VERSION"}, func(r *Repository, d draw) string {
		return pick(d, r.lex["word"]) + "-" + fmt.Sprintf("%d.%d.%d", d.IntN(9), d.IntN(30), d.IntN(10)) + "+" + d.chars(8, hexes)
	}},
}

func uuid(d draw) string {
	b := d.bytes(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// examples are sample and placeholder values from vendors' public
// documentation, and what people write in their place.
var examples = func() []item {
	var out []item
	for _, l := range load("examples")["example"] {
		name, value, _ := strings.Cut(l, "=")
		out = append(out, item{name: name, value: value})
	}
	return out
}()
