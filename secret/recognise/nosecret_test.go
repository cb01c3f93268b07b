package recognise

import (
	"slices"
	"strings"
	"testing"
)

// hexOf and base64Of are digests of a length, of no content.
func hexOf(n int) string { return strings.Repeat("9b1f03c7a2e45d68b7c01f29d3e45a61", 5)[:n] }

func base64Of(n int) string {
	s := strings.Repeat("ItSjcLk2M15RnRxO105uVIqLiVQn8y3gaeHC7W0iqxZ4", 3)
	if pad := map[int]int{28: 1, 44: 1, 64: 0, 88: 2}[n]; pad > 0 {
		return s[:n-pad] + strings.Repeat("=", pad)
	}
	return s[:n]
}

// noSecrets are what work with code is full of, by classes.
func noSecrets() map[string][]string {
	uuid := "9476c8ce-2d51-4dee-b246-d89a9a0d8771"
	return map[string][]string{
		"verdicts of tests": {
			"--- PASS: TestGetGitDirInPath_Worktree (0.00s)", "    --- PASS: TestHTTP2Server/0_big_frames#01 (0.00s)", "=== RUN   TestX1_a\n--- PASS: TestX1_a",
			`{"Action":"output","Output":"--- PASS: TestGet2Dirs_Worktree (0.00s)\n"}`, "PASS: gcc.dg/torture/pr12345.c", "PASS: tests/test_api.py::test_v2_login", "out.txt:12:--- PASS: TestRead2Files_Deep (0.1s)",
			"--- FAIL: TestPasswordHash2_Long", "[PASS] test_login_2fa_ok", "=== PASS: TestHTTP2Server_Push", "PASS: TestHTTP2Server_Push (0.2s)",
		},
		"ids of sessions": {
			`"session_id": "` + uuid + `"`, `sessionId: '` + uuid + `'`, "Session ID: " + uuid, `sessionID := "2026-01-02-my-session-3"`, "session_id=" + hexOf(32), `"sessionId":"01JH8Z3NDEKTSV4RRFFQ69G5FA"`,
			`testSessionID := "2026-01-02-` + uuid + `"`, `"model_session_id":"` + uuid + `"`, `"session_id":"ses_4f21c9a7bffeKx9vQ4tR7wZ1pL"`, `SessionID: "sesn_011CZkZAtmR3yMPDzynEDxu7"`,
			"claude --resume --session-id " + uuid, `"parentSessionId": "` + uuid + `"`, "export CLAUDE_SESSION_ID=" + uuid, `{"session-id":"` + uuid + `"}`, "session id is " + uuid,
		},
		"sums of lock files": {
			"cloud.google.com/go/auth v0.23.2 h1:" + base64Of(44), "github.com/keybase/go-keychain v0.0.1/go.mod h1:" + base64Of(44), "modernc.org/token v1.1.0 h1:" + base64Of(44),
			`"api-key-lib": {"version": "1.0.0", "integrity": "sha512-` + base64Of(88) + `"}`, `  integrity sha512-` + base64Of(88), `checksum = "` + hexOf(64) + `"`,
			`name = "secret-service" checksum = "` + hexOf(64) + `"`, `  resolution: {integrity: sha512-` + base64Of(88) + `}`, `keyv@4.5.4: {integrity: sha512-` + base64Of(88) + `}`,
			`  resolved "https://registry.yarnpkg.com/auth-token/-/auth-token-2.4.5.tgz#` + hexOf(40) + `"`, `  checksum: 10c0/` + hexOf(128), `auth-token checksum: 10c0/` + hexOf(128),
			`{file = "tokenize_rt-5.2.0-py2.py3-none-any.whl", hash = "sha256:` + hexOf(64) + `"},`, `keyring==24.3.0 --hash=sha256:` + hexOf(64), `"narHash": "sha256-` + base64Of(44) + `"`, `"secretsNarHash": "sha256-` + base64Of(44) + `"`,
			`vendorHash = "sha256-` + base64Of(44) + `"`, `"key": "sha1-` + base64Of(28) + `"`, `tokenHash: md5:` + hexOf(32), `access_key_sum = "sha384-` + base64Of(64) + `"`,
		},
		"digests and objects": {
			"image: registry.example.org/api-key-service@sha256:" + hexOf(64), "docker pull x/token@sha256:" + hexOf(64), "uses: actions/create-github-app-token@" + hexOf(40) + " # v2", "commit " + hexOf(40),
			`<script src="/token.js" integrity="sha384-` + base64Of(64) + `" crossorigin>`, "tree " + hexOf(40) + "\nparent " + hexOf(40), "AUTH_IMAGE_DIGEST=sha256:" + hexOf(64), "GHOSTTY_PIN: " + hexOf(40), "secret_key_commit: " + hexOf(40),
			`testKeyECThumbprint = "zedj-Bd1Zshp8KLePv2MB-lJ_Hagp7wAwdkA0NUTniU"`,
		},
		"expressions": {
			"f.pass = &emptyPass", "f.password = &emptyPassword1", "autocomplete?: 'current-password' | 'family-name' | 'one-time-code'", `password = os.Getenv("DB_PASSWORD2")`, "token: process.env.TOKEN_V2,", "secret = cfg.Secret1", "api_key = settings.API_KEY_2",
			"password: string | undefined", "token: Option<String>", "password = get_password2()", "PASSWORD=${DB_PASSWORD_1}", "token: {{ .Values.token2 }}", "token: ${{ secrets.DEPLOY_TOKEN1 }}", "auth_token = request.headers['X-Auth-Token1']", "let secretKey = crypto.randomBytes(32)",
			"password := *flagPassword1", "apiKey = &cfg.APIKey2", "token = self.tokens[0]", "access_token = response.json()['access_token2']", "secret_key=$(cat /run/secrets/key1)", "password=%(db_password1)s", "token = @token_v2", "const token = await getToken2()", "passwd = ENV['PASSWD1']",
			"client_secret = var.client_secret_v2", "password = data.aws_secretsmanager_secret_version.db2.secret_string", "token = !!process.env.GH_TOKEN2", "token=\"$GITHUB_TOKEN2\"", "secret_key = base64.b64decode(key1)", "this.token = token2 ?? defaultToken2", "apiKey: config.apiKeys.primary2",
			"token: z.string().min(1)", "password = \"%s\"", "token = tok1 || tok2", "access_key = module.iam.access_key_id_2", "{token.FLOAT, \"01234567890.1E-10\"}", "tokenBeta = \"oidc-federation-2026-04-01\"", "password = (char*)passBuf1", "sha256sum_token = a->token_len2", "String password = args[1];",
			"password=request.POST['password1']", "password := req.Password2", "var token = tokens.Token2;", "pwd = this.pwdField1.value", "Password: types.StringValue2", "pass: user?.password1", "key_path = path.join(dir1, 'token2.pem')", "if token == tok2.Value {", "token !== expectedToken1", "password = pw1 + pw2",
		},
		"names of margay's": {
			"postgres://app:margay-password-k3v2q2xw5m7dab@db.example.org/x", "margay-password-k3v2q2xw5m7dab@db.example.org", "MAIL_PASSWORD=margay-password-k3v2q2xw5m7dab", "token: margay-token-k3v2q2xw5m7dab", "go test -run margay-password-k3v2q2xw5m7dab", "mail margay-email-k3v2q2xw5m7dab now",
			"key margay-api-key-k3v2q2xw5m7dab@host.example.org",
		},
		"bare identifiers": {uuid, "id " + uuid + ".", "request " + uuid + " failed", `"trace": "` + uuid + `"`, "/v1/items/" + uuid + "/parts"},
	}
}

// TestNoSecrets: the classes of what is no secret are not found, neither alone nor
// in lines around them. A UUID is found as personal data for those whose policy
// asks for UUIDs; the default one does not.
func TestNoSecrets(t *testing.T) {
	s := defaultRules(t)
	for class, texts := range noSecrets() {
		for _, text := range texts {
			for _, around := range [][2]string{{"", ""}, {"\n", "\n"}, {"ok\n  ", "\nok"}, {"   12→\t", "\n"}, {"+", "\n"}} {
				found := slices.DeleteFunc(s.Find([]byte(around[0]+text+around[1])), func(m Match) bool { return m.Rule.ID == "uuid" })
				if len(found) > 0 {
					t.Errorf("%s: %q: found by %v", class, around[0]+text+around[1], spans(found))
					break
				}
			}
		}
	}
}

// TestSecretsBeside: what has the form or the place of what is no secret, but not
// both, is found all the same.
func TestSecretsBeside(t *testing.T) {
	s := defaultRules(t)
	drawn, uuid := "Xk9vQ4tR7wZ1"+"pLm2", "9476c8ce-2d51-4dee-b246-d89a9a0d8771"
	for text, secret := range map[string]string{
		// The place of a verdict, without a test's name; its name, elsewhere.
		"MAIL_PASS: TestGet2Dirs_Worktree\n": "TestGet2Dirs_Worktree", "user: bob\n  pass: k4Qz!mfp9Lw\n": "k4Qz!mfp9Lw", " PASS: k4Qz!mfp9Lw\n": "k4Qz!mfp9Lw", "USER: bob PASS: tangerine8x\n": "tangerine8x",
		"--- PASS: TestX (api_key=" + drawn + ")": drawn, "--- PASS: ghp_" + drawn + drawn + "Uc8s": "ghp_" + drawn + drawn + "Uc8s",
		// Sessions of browsers.
		"Cookie: theme=dark; sessionid=" + hexOf(32): hexOf(32), "Set-Cookie: session_id=" + uuid + "; Path=/": uuid, "curl -b 'sessionid=" + hexOf(32) + "' x": hexOf(32), "JSESSIONID=" + strings.ToUpper(hexOf(32)): strings.ToUpper(hexOf(32)),
		"PHPSESSID=" + hexOf(26): hexOf(26), "Cookie: connect.sid=s" + hexOf(32): "s" + hexOf(32), `"session_id": "` + drawn + `"`: drawn, "session_token: " + uuid: uuid, "session_key = " + drawn: drawn,
		// Digests of the wrong length, or under another algorithm's name.
		"DB_PASSWORD=sha256:" + drawn: "sha256:" + drawn, "api_key: sha512-" + base64Of(44): "sha512-" + base64Of(44), "token: h1:" + base64Of(44)[:30]: "h1:" + base64Of(44)[:30], "ACME_API_KEY=" + hexOf(40): hexOf(40), "ACME_API_KEY=" + hexOf(64): hexOf(64),
		"SECRET_KEY=md5:" + hexOf(30):            "md5:" + hexOf(30),
		"do_not_commit_secret_commit = " + drawn: drawn,
		// An identifier under a secret's name.
		"api_token: " + uuid: uuid, `"client_secret": "` + uuid + `"`: uuid,
		// Quoted, what looks like an expression is a value.
		`password: "&Tr0ub4dor"`: "&Tr0ub4dor", "ALARM_PASSWORD=&Tr0ub4dor3": "&Tr0ub4dor3",
		" mail_pwd | tG4^vbn2Qx | 2024": "tG4^vbn2Qx", "| mail_pwd | `tG4vbn2Qx8`": "tG4vbn2Qx8",
		// Names that only look like Margay's.
		"mail jane.margay-cat@db.example.org now": "jane.margay-cat@db.example.org", "MAIL_PASSWORD=1234567.8x9": "1234567.8x9",
	} {
		found := s.Find([]byte(text))
		if !slices.ContainsFunc(found, func(m Match) bool { return m.Rule.ID != "uuid" && text[m.Start:m.End] == secret }) {
			t.Errorf("%q: %q is not found, only %v", text, secret, spans(found))
		}
	}
}
