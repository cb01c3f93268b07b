package recognise

import "github.com/margaydev/margay/secret"

const (
	// separator stands between a name and its value in .env files, JSON, YAML,
	// shell, logs and tables.
	separator = `["'\x60]?(?:[ \t]{0,3}(?::=|=>|->|[:=])|[ \t]{0,30}\|)[ \t]{0,3}`
	// verb stands between them in a sentence.
	verb = `["'\x60]?(?:[ \t]changed[;,:] it)?[ \t](?:is|was|reads|equals|turned out to be)(?: now| set to| still)?:?[ \t]`
	// numbered ends names of which there are several.
	numbered = `(?:[ _-]?\d{1,3})?`
	// value is quoted or not, up to something that ends values.
	value = `["'\x60]?([^\s"'\x60,;<>(){}\[\]|\\]{7,199}[^\s"'\x60,;<>(){}\[\]|\\.])` + valueEnd
	// valueEnd follows a value; a sentence's full stop does not belong to it.
	valueEnd = `\.?(?:["'\x60\s,;)\]}<|]|\\[nrt"']|$)`
	// assigned is what follows a key's name: more of the name, and the value.
	assigned = `[\w.-]{0,30}(?: \d{1,3})?(?:` + separator + `|` + verb + `)` + value
)

// Discovery returns the rules that go by the name of a key and the look of
// its value.
func Discovery() []Rule {
	return []Rule{
		{
			ID: "named-password", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex: `(?i)(?:(?:passw(?:or)?d|passphrase|passwort|kennwort|passcode|db_pass)[\w.-]{0,30}(?: \d{1,3})?|(?:[_ .-]pass|pwd|[_-]login)` + numbered + `)` +
				`(?:` + separator + `|` + verb + `)` + value,
			Suits: suitsPassword, Sure: true,
			Positive: []string{
				"DB_PASSWORD=«k4Qz!mfp9Lw»", `"password": "«Tr0ub4dor&3x»"`, "password: «s3cr3t-Pa55»\n", "export PGPASSWORD='«9fj2kL#mQp»'",
				"spring.datasource.password=«hG7_kk2Lp0z»", "09:12:44 INFO MAIL_PASSWORD -> «tangerine_harbor7»\n", " mail_pwd | «tG4^vbn2Qx» | 2024-01-02",
				"- the backup login pass: «C@lend@r-5561»", "The root password is «zW4!kd82Lm».", "PRINTER_LEGACY_LOGIN=«Harbor1987lantern»", "PRINTER_PASSWORD=«XkQvRt=Wz+LmBcPdYs»\n", "\nharbor_door_password = «velvetharbortangerine»\n",
				"BACKUP_PASSWORD=«velvetharbortangerine»\n", `"door_password": "«velvetharbortangerine»"`, "  door_password: «velvetharbortangerine»\n",
			},
			Negative: []string{
				"password: string", "password = getpass()", "PASSWORD=${DB_PASSWORD}", "password: changeme123", `"password": "<your-password1>"`,
				"the password=forgotten page", "password = os.environ['X1Y2Z3']", "passwordHash := computeHash64(p)", "password_min_length: 14characters",
				"the password is base64-encoded", "DB_PASSWORD = settings_password", "db_password=read_credential", "the compass: north-east5",
				"password: unforgettable experience", "PASSWORD_POLICY=strong-rotation9", "the password is required for all accounts", "admin_login: administrator1", "dbPassword: settingsProvider.getDbPassword",
			},
		},
		{
			ID: "named-passphrase", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex: `(?i:pass[_ -]?phrase|passw(?:or)?d|mnemonic|(?:seed|recovery|backup|secret)[_ -](?:phrase|words))` + numbered + `(?:` + separator + `|` + verb + `)["'\x60]?` +
				`([a-z]{3,12}(?:[ _-][a-z]{3,12}){3,24}?)(?:["'\x60.,;:|\n]|\\[nrt"']|$| (?:since|until|for|and|in|on|at|as|is|to|which|that|the|it|[^a-z]))`,
			Suits: suitsPhrase, Sure: true,
			Positive: []string{
				"VAULT_PASSPHRASE=«velvet harbor tangerine cobalt lantern»\n", `"key_passphrase": "«velvet harbor tangerine cobalt»"`,
				"the wifi passphrase: «velvet-harbor-tangerine-cobalt»", "The recovery phrase is `«velvet harbor tangerine cobalt lantern plum»`",
				"The mail passphrase is «velvet harbor tangerine cobalt lantern» since Friday.", "the key passphrase changed; it is now «velvet harbor tangerine cobalt».",
			},
			Negative: []string{
				"passphrase: enter the one that you chose", "the password is required for every new account", "password: ask someone from your team",
				"The passphrase is never stored anywhere persistent.", "the password is hashed salted peppered stretched",
			},
		},
		{
			ID: "named-code", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex: `(?i)(?:[_ -]pin|(?:access|unlock|door|keypad|security|entry|alarm|gate|pass)[_ -]?code|pin[_ -]code)` + numbered + `(?:` + separator + `|` + verb + `)["'\x60]?` +
				`(\d{4,12})` + valueEnd,
			Suits: suitsCode, Sure: true,
			Positive: []string{"VENDING_TERMINAL_PIN=«83920417»\n", " door_code_2 | «660194» | 2024", "the garage access code is «771830265».", `"card_pin": "«8041»"`},
			Negative: []string{"LED_PIN=1300", "PIN code: 560034", "access_code_length: 16", "the door code is 4 digits", "UNLOCK_CODE=0000", "ACCESS_CODE=123456"},
		},
		{
			ID: "named-token", Kind: secret.KindToken, Class: ClassDiscovery,
			Regex: `(?i)(?:token|session[_-]?id|bearer)` + assigned,
			Suits: suitsRandom, Sure: true,
			Positive: []string{
				"GITLAB_TOKEN=«q7wn2kfp0x3ma9dz»", `{"access_token":"«Zk3Lq9-fP2mX7vB1»"}`, "token: '«f81d4fae7dec11d0a765»'", "| deploy_token | «q7wn2kfp0x3ma9dz» |",
				"The deploy token reads `«Zk3Lq9fP2mX7vB1»`",
			},
			Negative: []string{
				"token = strings.TrimSpace(x)", "token: abcdefghijkl", "tokenizer=GPT2TokenizerFast", "type fts5_tokenizer = fts5_tokenizer1", "max_tokens: 1024000000", "token=$TOKEN_1234567",
				"TOKEN=xxxxxxxxxxxx1234", "next_token: page-two-of-three", "next_page_token: CAUQAA9xKz2Lq0pV", "the token is base64-encoded",
			},
		},
		{
			ID: "named-key", Kind: secret.KindAPIKey, Class: ClassDiscovery,
			Regex: `(?i)(?:api[ _-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|client[ _-]?secret|app[_-]?secret` +
				`|_secret|secret_|credential|auth[_-]?key|account[_-]?key|master[_-]?key|license[_-]?key|hmac[_-]?key)` + assigned,
			Suits: suitsRandom, Sure: true,
			Positive: []string{
				"ACME_API_KEY=«m2Xk9vQ4tR7wZ1pL»", `"clientSecret": "«a8f5f167f44f4964e6c998dee827110c»"`, "aws_secret_access_key = «kG7/h2Lw+Qz9pXv1mT4rBn8sYc3dFa6e»",
				"JWT_SECRET=«d0f3a9c2b7e1486f»", " hmac_key | «a8f5f167f44f4964e6c998dee827110c» | 2024-09-03", "CALENDAR_API_KEY -> «m2Xk9vQ4tR7wZ1pL»\n",
				"The calendar api key is «m2Xk9vQ4tR7wZ1pL».",
			},
			Negative: []string{
				"api_key = config.get_api_key", "secret_key: mySecretKeyName", "API_KEY=your-api-key-1234", "client_secret=$CLIENT_SECRET_V2",
				"primary_key: customer_id_2", "SecretKeyRef: db-secret-name", "CALENDAR_API_KEY_ID=kid-m2Xk9vQ4tR7w", "api_key_fingerprint: m2Xk9vQ4tR7wZ1pL",
				"CALENDAR_API_KEY=pk_live_m2Xk9vQ4tR7wZ1pL", "the api key is sha256-hashed",
			},
		},
		{
			ID: "named-salt", Kind: secret.KindSecret, Class: ClassDiscovery,
			Regex: `(?i)(?:salt|pepper|[_ -]seed|[_ -]key)(?:[ _-]?value)?` + numbered + `(?:` + separator + `|` + verb + `)` + value,
			Suits: suitsKey,
			Positive: []string{
				"SESSION_SALT=«9b1f03c7a2e45d68b7c01f29»\n", " cookie_salt | «9b1f03c7a2e45d68b7c01f29d3e45a61» | 2024", "CALENDAR_PARTNER_KEY -> «Xk9vQ4tR7wZ1pLm2»\n",
				"the session seed value is «vQ4tR7wZ1pLm2Xk9».",
			},
			Negative: []string{
				"CALENDAR_CACHE_KEY=Xk9vQ4tR7wZ1pLm2", "primary_key: Xk9vQ4tR7wZ1pLm2", "IDEMPOTENCY_KEY='Xk9vQ4tR7wZ1pLm2'", "DEPLOY_PUBLIC_KEY=Xk9vQ4tR7wZ1pLm2",
				"salt: 16characters-or-more", "sort_key: customerName2024", "the cache key is Xk9vQ4tR7wZ1pLm2.", "publishable_key: Xk9vQ4tR7wZ1pLm2",
			},
		},
		{
			ID: "told-value", Kind: secret.KindSecret, Class: ClassDiscovery,
			Regex: `(?i)(?:\buse[sd]?|\bset(?: it)? to|\bchanged(?: it)? to|\btype|\benter) ["'\x60]?([^\s"'\x60,;<>(){}\[\]|\\]{5,99}[^\s"'\x60,;<>(){}\[\]|\\.])["'\x60]?,? ` +
				`(?:as|for|which is|it is) (?:the|our|its|their|a|an) (?:[\w-]{1,24} ){0,4}?(?:password|passphrase|passcode|pin|(?:access|door|security|unlock) code|` +
				`(?:api|secret|master|hmac|encryption|signing|partner|private) key|secret|token|salt|seed(?: value)?|[a-z]{2,8} (?:pass|login))` + numbered + `(?:["'\x60.,;:)\n]|$| (?:in|on|for|of|at|and|since|from|until)[ \n])`,
			Validate: suitsTold, Sure: true,
			Positive: []string{
				"We use «kX4#rv92Lm» as the printer password in staging.", "Ana set it to «83920417», which is the vending terminal pin.", "they used `«Xk9vQ4tR7wZ1pLm2»` for the calendar api key 3.",
				"We use «velvetharbortangerine» as the harbor door password in staging.",
			},
			Negative: []string{
				"We use 3600 as the token ttl in staging.", "use bcrypt12 for the password", "we use sessions-v2 as the token", "set it to 14, which is the password min length.",
				"we use Xk9vQ4tR7wZ1pLm2 as the calendar api key id.", "use environment variables for the api key",
			},
		},
		{
			ID: "prompted-password", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex:    `(?i)(?:asks?|asked|prompts?|prompted)(?: you)?(?: for [\w ]{1,30})?,? (?:then )?(?:type|enter|give|use|answer) ` + value,
			Validate: suitsPrompted, Sure: true,
			Positive: []string{"If mail.example.org asks, type «Harbor1987lantern».", "when prompted for it, enter «H4rb@r-2210»\n"},
			Negative: []string{"If mail.example.org asks, type 8443.", "when asked, use kid-Xk9vQ4tR7wZ1", "If it asks, type postgres://reader@db.example.org/harbor", "when prompted, enter harbor-1.2.9+ab12cd34", "if asked, give Xk9vQ4tR7wZ1pLm2"},
		},
		{
			ID: "url-password", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex:    `://[^\s:/@"'<>\x60]{0,64}:([^\s/@"'<>\x60]{4,128})@[\w\[.-]`,
			Validate: notPlaceholder, Sure: true,
			Positive: []string{"postgres://app:«hunter2hunter2»@db.internal:5432/prod", "redis://:«p4ss-w0rd»@10.0.0.7:6379", "mongodb+srv://root:«Zx81kq»@cluster0.example.net"},
			Negative: []string{"https://user:password@host/", "postgres://user:${PGPASS}@host/db", "http://localhost:8080/a@b", "https://example.com:443/x", "ftp://u:<pass>@h", "https://user:pass@sub.example.org/"},
		},
		{
			ID: "authorization-header", Kind: secret.KindToken, Class: ClassDiscovery,
			Regex:    `(?i)(?:authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:bearer|basic|token|digest)[ \t]{1,3}|\bbearer[ \t]{1,3})([\w.~+/-]{16,}={0,2})(?:[\s"'\x60,;)\]}]|\\[nr"]|$)`,
			Validate: looksRandom, Sure: true,
			Positive: []string{"Authorization: Basic «dXNlcjpodW50ZXIyaHVudGVyMg==»", `-H "Authorization: Bearer «aK3nQ9xv7LpZ2mTy8w»"`, "bearer «v3ry0pAqueT0ken9182»"},
			Negative: []string{"Authorization: Bearer <token>", "bearer token authentication", "Bearer authentication-scheme-name"},
		},
		{
			ID: "option-secret", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex:    `(?i)--(?:password|passwd|token|secret|api-?key|access-token|client-secret|auth-token)[ =]["']?([^\s"'\x60<>(){}|;&]{6,200})(?:["'\s;&|)]|\\[nr"]|$)`,
			Validate: looksPassword, Sure: true,
			Positive: []string{"mysql --password=«gT5#kLw9» -u root", "deploy --token «a81Kd03kfPq»"},
			Negative: []string{"tool --password $PASS", "use --token VALUE here", "--secret <name>", "see --api-key option"},
		},
		{
			ID: "hook-url", Kind: secret.KindWebhook, Class: ClassDiscovery,
			Regex: `(?i)https?://(?:(?:web)?hooks?\.[\w.-]{1,80}(?::\d{1,5})?(?:/[\w.~-]{1,40}){0,4}` +
				`|[\w.-]{1,80}(?::\d{1,5})?(?:/[\w.~-]{1,40}){0,3}/(?:web)?hooks?(?:/[\w.~-]{1,40}){0,3})/([\w-]{16,100})` + valueEnd,
			Validate: drawn, Sure: true,
			Positive: []string{"post to https://hooks.printer.example.org/in/«Qz8vT2mKx91LrBn4Wd»", "https://ci.example.org/api/webhooks/7/«Qz8vT2mKx91LrBn4Wd»\n"},
			Negative: []string{"https://hooks.example.org/documentation-of-hooks", "https://example.org/webhooks/getting-started-with-events", "https://example.org/a/Qz8vT2mKx91LrBn4Wd"},
		},
		{
			ID: "own-key", Kind: secret.KindAPIKey, Class: ClassDiscovery,
			Regex:    `\b([a-z][a-z0-9]{1,15}_(?:live|prod|test|sandbox|secret)_[A-Za-z0-9]{16,64})\b`,
			Suits:    func(_, v []byte) bool { return !published.Match(v) && notPlaceholder(v) && drawn(v) },
			Sure:     true,
			Positive: []string{"we use «acme_live_Xk9vQ4tR7wZ1pLm2» there"},
			Negative: []string{"pk_live_Xk9vQ4tR7wZ1pLm2", "the unit_test_createsTwoCustomers passes", "run_test_integrationsuiteofall"},
		},
		{
			ID: "random-value", Kind: secret.KindSecret, Class: ClassDiscovery,
			Regex: `\b[A-Za-z][\w.-]{2,60}["']?(?:[ \t]{0,2}(?:=>|->|[:=])|[ \t]{0,30}\|)[ \t]{0,3}["'\x60]?([A-Za-z0-9_+/=.~@#%^&*!?$-]{11,99}[A-Za-z0-9_+/=~@#%^&*!?$-])` + valueEnd,
			Suits: suitsUnnamed,
			Positive: []string{
				"HARBOR_MAGIC=«Xk9vQ4tR7wZ1pLm2»\n", " harbor_pairing | «xK#9vQ4%tR7wZ1» | 2024-01-02", `"harbor_line": "«Xk9vQ4tR7wZ1pLm2Uc»"`,
				"HARBOR_MAGIC=«9b1f03c7a2e45d68b7c01f29d3e45a61»\n", "\n- the harbor magic: «Xk9vQ4tR7wZ1pLm2»",
			},
			Negative: []string{
				"HARBOR_TRACE_ID=Xk9vQ4tR7wZ1pLm2", "etag: \"Xk9vQ4tR7wZ1pLm2\"", "HARBOR_COMMIT=9b1f03c7a2e45d68b7c01f29", "favicon_data=Xk9vQ4tR7wZ1pLm2Uc",
				`"image_src": "iVBORw0KGgoXk9vQ4tR7wZ1pLm2"`, `"integrity": "sha512-Xk9vQ4tR7wZ1pLm2+w=="`, "class=getHttp2ServerURLForTest", "x = Xk9vQ4tR7wZ1pLm2", `send_member="GetUserByPID"`,
				"note: Xk9vQ4tR7wZ1pLm2", "Base64, percent-encoded: Xk9vQ4tR7wZ1pLm2", "\n- part 2: Xk9vQ4tR7wZ1pLm2", "Here it is: Xk9vQ4tR7wZ1pLm2",
				"HARBOR_BASE_COMMIT=9b1f03c7a2e45d68b7c01f29d3e45a61", "const harborDigest = \"9b1f03c7a2e45d68b7c01f29d3e45a61\"", "the harbor magic: 9b1f03c7a2e45d68b7c01f29d3e45a61",
			},
		},
		{
			ID: "unnamed-password", Kind: secret.KindPassword, Class: ClassDiscovery,
			Regex: `\b(?:[A-Z][A-Z0-9]*_[A-Z0-9_]{1,60}|[a-z][a-z0-9]*_[a-z0-9_]{1,60})["']?(?:[ \t]{0,2}(?:=>|->|[:=])|[ \t]{0,30}\|)[ \t]{0,3}["'\x60]?` +
				`(?:([a-z]{3,12}(?: [a-z]{3,12}){4,9})(?:["'\x60\n;,]| ?\||\\[nrt"']|$)|([A-Za-z0-9!@#$%^&*?_-]{10,32})(?:["'\x60\s;,|]|\\[nrt"']|$))`,
			Suits: suitsShaped, Sure: true,
			Positive: []string{
				"HARBOR_LINE=«velvet harbor tangerine cobalt lantern»\n", " harbor_gate | «Velvet1987harbor» | 2024-01-02", `"harbor_line": "«V3lv3t@H4rbor-21»"`,
				"HARBOR_LINE -> «VelvetHarbor29?»\n",
			},
			Negative: []string{
				"HARBOR_MODULES=gateway orders payments catalog users", "harbor_description: weekly report patient intake summary", "HARBOR_LINE=this needs better logic than using", `FAILED = "yield function called after range loop exit"`,
				"HARBOR_IMAGE=Windows2019Datacenter", "HARBOR_BASE=Windows2019Datacenter", "harbor_db = orders_staging2", "harbor_db: orders_staging2", "HARBOR_MODE=Http2server4all",
				"harbor_owner: Admin@db1", "HARBOR_LINE=velvet harbor tangerine",
			},
		},
	}
}
