package recognise

import "strings"

// samples are those of each rule, by its id: in each positive one the rule finds
// the part between « and »; in a negative one it finds nothing.
var samples = map[string]struct{ positive, negative []string }{
	"named-password": {
		positive: []string{
			"DB_PASSWORD=«k4Qz!mfp9Lw»", `"password": "«Tr0ub4dor&3x»"`, "password: «s3cr3t-Pa55»\n", "export PGPASSWORD='«9fj2kL#mQp»'",
			"spring.datasource.password=«hG7_kk2Lp0z»", "09:12:44 INFO MAIL_PASSWORD -> «tangerine_harbor7»\n", " mail_pwd | «tG4^vbn2Qx» | 2024-01-02",
			"- the backup login pass: «C@lend@r-5561»", "The root password is «zW4!kd82Lm».", "PRINTER_LEGACY_LOGIN=«Harbor1987lantern»", "PRINTER_PASSWORD=«XkQvRt=Wz+LmBcPdYs»\n", "\nharbor_door_password = «velvetharbortangerine»\n",
			"<password>«k4Qz!mfp9Lw»</password>", `<entry key="db.password">«k4Qz!mfp9Lw»</entry>`, `<add key="DbPassword" value="«k4Qz!mfp9Lw»"/>`, `<property name='mail.password' value='«Harbor1987lantern»' />`,
			"\n    storePassword \"«Harbor1987lantern»\"\n", "    password(\"«k4Qz!mfp9Lw»\")", "\tpassword '«hG7_kk2Lp0z»'\n", "keyPassword( '«hG7_kk2Lp0z»' )", "password ::= «k4Qz!mfp9Lw»\n",
			"BACKUP_PASSWORD=«velvetharbortangerine»\n", `"door_password": "«velvetharbortangerine»"`, "  door_password: «velvetharbortangerine»\n",
		},
		negative: []string{
			"<password>${db.password}</password>", "<password></password>", "<label for=\"password\">Passphrase</label>", `<add key="PasswordLength" value="14characters"/>`, `<add key="PasswordPolicy" value="strong-rotation9"/>`,
			`getPassword("prod-db-2024")`, `password("settings")`, `password(prompt9("x"))`, `assertPassword("Harbor1987lantern")`, `log the password "forgotten" here`, "password ::= string-literal",
			"password: string", "password = getpass()", "PASSWORD=${DB_PASSWORD}", "password: changeme123", `"password": "<your-password1>"`,
			"the password=forgotten page", "password = os.environ['X1Y2Z3']", "passwordHash := computeHash64(p)", "password_min_length: 14characters",
			"the password is base64-encoded", "DB_PASSWORD = settings_password", "db_password=read_credential", "the compass: north-east5",
			"password: unforgettable experience", "PASSWORD_POLICY=strong-rotation9", "the password is required for all accounts", "admin_login: administrator1", "dbPassword: settingsProvider.getDbPassword",
		},
	},
	"named-passphrase": {
		positive: []string{
			"VAULT_PASSPHRASE=«velvet harbor tangerine cobalt lantern»\n", `"key_passphrase": "«velvet harbor tangerine cobalt»"`,
			"the wifi passphrase: «velvet-harbor-tangerine-cobalt»", "The recovery phrase is `«velvet harbor tangerine cobalt lantern plum»`",
			"The mail passphrase is «velvet harbor tangerine cobalt lantern» since Friday.", "the key passphrase changed; it is now «velvet harbor tangerine cobalt».",
		},
		negative: []string{
			"passphrase: enter the one that you chose", "the password is required for every new account", "password: ask someone from your team",
			"The passphrase is never stored anywhere persistent.", "the password is hashed salted peppered stretched",
		},
	},
	"named-code": {
		positive: []string{"VENDING_TERMINAL_PIN=«83920417»\n", " door_code_2 | «660194» | 2024", "the garage access code is «771830265».", `"card_pin": "«8041»"`},
		negative: []string{"LED_PIN=1300", "PIN code: 560034", "access_code_length: 16", "the door code is 4 digits", "UNLOCK_CODE=0000", "ACCESS_CODE=123456"},
	},
	"named-token": {
		positive: []string{
			"GITLAB_TOKEN=«q7wn2kfp0x3ma9dz»", `{"access_token":"«Zk3Lq9-fP2mX7vB1»"}`, `"access_token": "«` + strings.Repeat("Zk3Lq9-fP2mX7vB1", 20) + `»"`, "token: '«f81d4fae7dec11d0a765»'", "| deploy_token | «q7wn2kfp0x3ma9dz» |",
			`<add key="ApiToken" value="«q7wn2kfp0x3ma9dz»"/>`, "<token>«q7wn2kfp0x3ma9dz»</token>", `token("«q7wn2kfp0x3ma9dz»")`, "token ::= «q7wn2kfp0x3ma9dz»\n",
			"The deploy token reads `«Zk3Lq9fP2mX7vB1»`",
		},
		negative: []string{
			"<token>identifier</token>", "token ::= identifier_or_keyword", `<add key="NextPageToken" value="CAUQAA9xKz2Lq0pV"/>`, `get_token("service-account-2024")`, `revoke_token("q7wn2kfp0x3ma9dz")`,
			"token = strings.TrimSpace(x)", "token: abcdefghijkl", "tokenizer=GPT2TokenizerFast", "type fts5_tokenizer = fts5_tokenizer1", "max_tokens: 1024000000", "token=$TOKEN_1234567",
			"TOKEN=xxxxxxxxxxxx1234", "next_token: page-two-of-three", "next_page_token: CAUQAA9xKz2Lq0pV", "the token is base64-encoded",
		},
	},
	"named-key": {
		positive: []string{
			"ACME_API_KEY=«m2Xk9vQ4tR7wZ1pL»", `"clientSecret": "«a8f5f167f44f4964e6c998dee827110c»"`, "aws_secret_access_key = «kG7/h2Lw+Qz9pXv1mT4rBn8sYc3dFa6e»",
			"JWT_SECRET=«d0f3a9c2b7e1486f»", " hmac_key | «a8f5f167f44f4964e6c998dee827110c» | 2024-09-03", "CALENDAR_API_KEY -> «m2Xk9vQ4tR7wZ1pL»\n",
			"The calendar api key is «m2Xk9vQ4tR7wZ1pL».", "<apiKey>«m2Xk9vQ4tR7wZ1pL»</apiKey>", `<add key="ClientSecret" value="«m2Xk9vQ4tR7wZ1pL»"/>`, "apiKey \"«m2Xk9vQ4tR7wZ1pL»\"\n",
		},
		negative: []string{
			`get_secret_key("prod-db-2024-eu")`, "<secretKey>settings.value</secretKey>", `<add key="ApiKeyId" value="m2Xk9vQ4tR7wZ1pL"/>`, "api_key = config.get_api_key", "secret_key: mySecretKeyName", "API_KEY=your-api-key-1234", "client_secret=$CLIENT_SECRET_V2",
			"primary_key: customer_id_2", "SecretKeyRef: db-secret-name", "CALENDAR_API_KEY_ID=kid-m2Xk9vQ4tR7w", "api_key_fingerprint: m2Xk9vQ4tR7wZ1pL",
			"CALENDAR_API_KEY=pk_live_m2Xk9vQ4tR7wZ1pL", "the api key is sha256-hashed",
		},
	},
	"named-salt": {
		positive: []string{
			"SESSION_SALT=«9b1f03c7a2e45d68b7c01f29»\n", " cookie_salt | «9b1f03c7a2e45d68b7c01f29d3e45a61» | 2024", "CALENDAR_PARTNER_KEY -> «Xk9vQ4tR7wZ1pLm2»\n",
			"the session seed value is «vQ4tR7wZ1pLm2Xk9».",
		},
		negative: []string{
			"CALENDAR_CACHE_KEY=Xk9vQ4tR7wZ1pLm2", "primary_key: Xk9vQ4tR7wZ1pLm2", "IDEMPOTENCY_KEY='Xk9vQ4tR7wZ1pLm2'", "DEPLOY_PUBLIC_KEY=Xk9vQ4tR7wZ1pLm2",
			"salt: 16characters-or-more", "sort_key: customerName2024", "the cache key is Xk9vQ4tR7wZ1pLm2.", "publishable_key: Xk9vQ4tR7wZ1pLm2",
		},
	},
	"told-value": {
		positive: []string{
			"We use «kX4#rv92Lm» as the printer password in staging.", "Ana set it to «83920417», which is the vending terminal pin.", "they used `«Xk9vQ4tR7wZ1pLm2»` for the calendar api key 3.",
			"We use «velvetharbortangerine» as the harbor door password in staging.",
		},
		negative: []string{
			"We use 3600 as the token ttl in staging.", "use bcrypt12 for the password", "we use sessions-v2 as the token", "set it to 14, which is the password min length.",
			"we use Xk9vQ4tR7wZ1pLm2 as the calendar api key id.", "use environment variables for the api key",
		},
	},
	"prompted-password": {
		positive: []string{"If mail.example.org asks, type «Harbor1987lantern».", "when prompted for it, enter «H4rb@r-2210»\n"},
		negative: []string{"If mail.example.org asks, type 8443.", "when asked, use kid-Xk9vQ4tR7wZ1", "If it asks, type postgres://reader@db.example.org/harbor", "when prompted, enter harbor-1.2.9+ab12cd34", "if asked, give Xk9vQ4tR7wZ1pLm2"},
	},
	"url-password": {
		positive: []string{"postgres://app:«hunter2hunter2»@db.internal:5432/prod", "redis://:«p4ss-w0rd»@10.0.0.7:6379", "mongodb+srv://root:«Zx81kq»@cluster0.example.net"},
		negative: []string{"https://user:password@host/", "postgres://user:${PGPASS}@host/db", "http://localhost:8080/a@b", "https://example.com:443/x", "ftp://u:<pass>@h", "https://user:pass@sub.example.org/"},
	},
	"authorization-header": {
		positive: []string{"Authorization: Basic «dXNlcjpodW50ZXIyaHVudGVyMg==»", `-H "Authorization: Bearer «aK3nQ9xv7LpZ2mTy8w»"`, "bearer «v3ry0pAqueT0ken9182»"},
		negative: []string{"Authorization: Bearer <token>", "bearer token authentication", "Bearer authentication-scheme-name"},
	},
	"option-secret": {
		positive: []string{"mysql --password=«gT5#kLw9» -u root", "deploy --token «a81Kd03kfPq»"},
		negative: []string{"tool --password $PASS", "use --token VALUE here", "--secret <name>", "see --api-key option"},
	},
	"hook-url": {
		positive: []string{"post to https://hooks.printer.example.org/in/«Qz8vT2mKx91LrBn4Wd»", "https://ci.example.org/api/webhooks/7/«Qz8vT2mKx91LrBn4Wd»\n"},
		negative: []string{"https://hooks.example.org/documentation-of-hooks", "https://example.org/webhooks/getting-started-with-events", "https://example.org/a/Qz8vT2mKx91LrBn4Wd"},
	},
	"own-key": {
		positive: []string{"we use «acme_live_Xk9vQ4tR7wZ1pLm2» there"},
		negative: []string{"pk_live_Xk9vQ4tR7wZ1pLm2", "the unit_test_createsTwoCustomers passes", "run_test_integrationsuiteofall"},
	},
	"random-value": {
		positive: []string{
			"HARBOR_MAGIC=«Xk9vQ4tR7wZ1pLm2»\n", " harbor_pairing | «xK#9vQ4%tR7wZ1» | 2024-01-02", `"harbor_line": "«Xk9vQ4tR7wZ1pLm2Uc»"`,
			"HARBOR_MAGIC=«9b1f03c7a2e45d68b7c01f29d3e45a61»\n", "\n- the harbor magic: «Xk9vQ4tR7wZ1pLm2»",
		},
		negative: []string{
			"HARBOR_TRACE_ID=Xk9vQ4tR7wZ1pLm2", "etag: \"Xk9vQ4tR7wZ1pLm2\"", "HARBOR_COMMIT=9b1f03c7a2e45d68b7c01f29", "favicon_data=Xk9vQ4tR7wZ1pLm2Uc",
			`"image_src": "iVBORw0KGgoXk9vQ4tR7wZ1pLm2"`, `"integrity": "sha512-Xk9vQ4tR7wZ1pLm2+w=="`, "class=getHttp2ServerURLForTest", "x = Xk9vQ4tR7wZ1pLm2", `send_member="GetUserByPID"`,
			"note: Xk9vQ4tR7wZ1pLm2", "Base64, percent-encoded: Xk9vQ4tR7wZ1pLm2", "\n- part 2: Xk9vQ4tR7wZ1pLm2", "Here it is: Xk9vQ4tR7wZ1pLm2",
			"HARBOR_BASE_COMMIT=9b1f03c7a2e45d68b7c01f29d3e45a61", "const harborDigest = \"9b1f03c7a2e45d68b7c01f29d3e45a61\"", "the harbor magic: 9b1f03c7a2e45d68b7c01f29d3e45a61",
		},
	},
	"unnamed-password": {
		positive: []string{
			"HARBOR_LINE=«velvet harbor tangerine cobalt lantern»\n", " harbor_gate | «Velvet1987harbor» | 2024-01-02", `"harbor_line": "«V3lv3t@H4rbor-21»"`,
			"HARBOR_LINE -> «VelvetHarbor29?»\n",
		},
		negative: []string{
			"HARBOR_MODULES=gateway orders payments catalog users", "harbor_description: weekly report patient intake summary", "HARBOR_LINE=this needs better logic than using", `FAILED = "yield function called after range loop exit"`,
			"HARBOR_IMAGE=Windows2019Datacenter", "HARBOR_BASE=Windows2019Datacenter", "harbor_db = orders_staging2", "harbor_db: orders_staging2", "HARBOR_MODE=Http2server4all",
			"harbor_owner: Admin@db1", "HARBOR_LINE=velvet harbor tangerine",
		},
	},
	"email": {
		positive: []string{"write to «jane.doe+x@mail.example.org», please"},
		negative: []string{"user@localhost", "git@github", "a @ b.c"},
	},
	"uuid": {
		positive: []string{"id «f81d4fae-7dec-41d0-a765-00a0c91e6bf6»."},
		negative: []string{"f81d4fae-7dec-01d0-a765-00a0c91e6bf6"},
	},
	"ipv4": {
		positive: []string{"from «203.0.113.77» port 22"},
		negative: []string{"300.1.2.3", "127.0.0.1", "0.0.0.0"},
	},
	"ipv6": {
		positive: []string{"at «2001:db8:85a3::8a2e:370:7334» now"},
		negative: []string{"12:30:45:10", "de:ad:be:ef:00:01"},
	},
	"card": {
		positive: []string{"card «4242 4242 4242 4242» ok", "«5555555555554444»"},
		negative: []string{"4242 4242 4242 4241", "1234567890123456"},
	},
	"iban": {
		positive: []string{
			"pay «DE89 3704 0044 0532 0130 00» today", "«GB82WEST12345698765432»", "to «de89 3704 0044 0532 0130 00» today", "iban: «gb82west12345698765432».", "gb «gb82 west 1234 5698 7654 32» is mine",
			"be «be68 5390 0754 7034» is mine", "«De89370400440532013000»",
		},
		negative: []string{"de89370400440532013001", "zz68539007547034", "de89 3704 0044 0532 0130 01", "DE89370400440532013001"},
	},
	"phone": {
		positive: []string{"call «+49 30 901820» or", "call «(415) 555-2671» or", "«415-555-2671»"},
		negative: []string{"+1 2", "111-111-1111", "2024-05-06", "+999 123 45678", "a +2100 1234567 b"},
	},
	"phone-named": {
		positive: []string{"Tel. «030 901820»", `"phone_number": "«06 12 34 56 78»"`, "my mobile number is «0171-1234567».", "fax: «(020) 7946 0958»", "phone=«4516789»"},
		negative: []string{"030 901820", "phone: 2024-05-06", "tel 12", "telemetry 030 901820", "cell: 0000000"},
	},
	"us-ssn": {
		positive: []string{"ssn «536-90-4399»"},
		negative: []string{"000-12-3456", "666-12-3456", "900-12-3456", "123-00-4567"},
	},
	"uk-nino": {
		positive: []string{"NI «AB 12 34 56 C»"},
		negative: []string{"GB123456A", "QQ123456C"},
	},
	"uk-nhs": {
		positive: []string{"NHS «943 476 5919»"},
		negative: []string{"943 476 5918"},
	},
	"fr-nir": {
		positive: []string{"sécu «2 55 08 14 168 025 38»"},
		negative: []string{"2 55 08 14 168 025 39"},
	},
	"es-dni": {
		positive: []string{"DNI «12345678Z»", "NIE «X1234567L»"},
		negative: []string{"12345678A"},
	},
	"it-cf": {
		positive: []string{"CF «RSSMRA85T10A562S»"},
		negative: []string{"RSSMRA85T10A562T"},
	},
	"br-cpf": {
		positive: []string{"CPF «529.982.247-25»"},
		negative: []string{"529.982.247-24", "111.111.111-11"},
	},
	"in-aadhaar": {
		positive: []string{"aadhaar «2341 2341 2346»"},
		negative: []string{"2341 2341 2345"},
	},
	"nl-bsn": {
		positive: []string{"BSN: «111222333»"},
		negative: []string{"111222333", "bsn 111222334"},
	},
	"de-steuer-id": {
		positive: []string{"Steuer-ID «86095742719»"},
		negative: []string{"86095742719", "Steuer-ID 86095742718"},
	},
}
