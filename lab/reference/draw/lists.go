package draw

// words are ordinary, and some are of registered values.
var words = []string{
	"the", "review", "went", "on", "until", "evening,", "and", "nobody", "objected.", "harbor", "lantern", "velvet", "cobalt", "tangerine", "walnut", "is", "it",
	"changed", "token", "key", "password", "api", "secret", "for", "func", "return", "nil", "if", "err", "!=", "x", "that", "was", "we", "met", "again", "https", "of", "naïve",
	"Zürich", "日本語", "о́чень", "😀", "committee", "river", "2024-05-06", "1.2.3", "0x1f", "--token", "bearer", "phone", "bsn", "steuer",
}

// joints stand between pieces.
var joints = []string{" ", " ", " ", "\n", ", ", ". ", "\t", "", "\n\n", "\r\n", "\": \"", "=", "|", "/", "-", "://", " @", "\\n", "&amp;", "%20"}

// signs stand at the ends of values, or are parts of what is around them.
var signs = []string{"", "", " ", "_", "#", "!", "$", "*", "~", "^", "?", "@", "%", "&", "==", "-", "+", "/", "..", "=", "-_"}

// names of settings.
var names = []string{
	"DB_PASSWORD", "password", "the root password", "api_key", "apiKey", "API-KEY", "token", "session_id", "client secret", "vault_passphrase", "door_code", "card_pin",
	"session_salt", "HARBOR_MAGIC", "harbor_line", "cache_key", "commit", "sha256", "Authorization", "secret_key", "PRIVATE_KEY", "seed phrase", "phone_number", "Tel.", "iban",
	"x", "AWS_SECRET_ACCESS_KEY", "_authToken", "connect.sid", "AccountKey", "mail_pwd", "license-key",
}

var separators = []string{"=", ": ", " = ", "\": \"", " is ", " -> ", "\" value=\"", " | ", "('", " := ", "=>", ">", "=\"", ": Bearer ", " changed; it is now "}

var ends = []string{"", "\n", "\"", "'", ".", ",", " ", ";", ")", "|", "</", "\\n", " since Friday"}

// bits are bytes that detectors and views treat in a way of their own.
var bits = []string{
	" ", "-", ".", "_", "=", "==", "\\", "\\u00", "\\x4", "\\u{", "%", "%4", "%25", "&", "&#", "&#x", "&lt;", ":", "//", "://", "@", "\n", "\x00", "\u200b", "\u200d", "\ufe01", "\U000e0041",
	"\U000e0141", "é", "а", "Ａ", "ﬁ", "\xff", "\xc3", "\xe2\x80", "0", "65, ", "0x41 ", "101 ", "QUJD", "4142", "IFBEG", "a", "Z", "9", "-----", "-----BEGIN ", "sk-", "ghp_", "AKIA", "eyJ",
}

// samples are of kinds whose check digits are not drawn by chance. They are invented,
// or published as examples.
var samples = []string{
	"jane.doe+x@mail.example.org", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "203.0.113.77", "2001:db8:85a3::8a2e:370:7334", "4242 4242 4242 4242", "5555555555554444",
	"DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "de89 3704 0044 0532 0130 00", "be68 5390 0754 7034", "+49 30 901820", "(415) 555-2671", "Tel. 030 901820",
	"my mobile number is 0171-1234567.", "536-90-4399", "AB 12 34 56 C", "943 476 5919", "2 55 08 14 168 025 38", "12345678Z", "X1234567L", "RSSMRA85T10A562S", "529.982.247-25",
	"2341 2341 2346", "BSN: 111222333", "Steuer-ID 86095742719", "postgres://app:hunter2hunter2@db.internal:5432/prod", "redis://:p4ss-w0rd@10.0.0.7:6379",
	"https://hooks.printer.example.org/in/Qz8vT2mKx91LrBn4Wd", "acme_live_Xk9vQ4tR7wZ1pLm2", "Authorization: Basic dXNlcjpodW50ZXIyaHVudGVyMg==", "mysql --password=gT5#kLw9 -u root",
	"We use kX4#rv92Lm as the printer password in staging.", "If mail.example.org asks, type Harbor1987lantern.", "hbr_k4xq9mfp2lwz",
	"<add key=\"DbPassword\" value=\"k4Qz!mfp9Lw\"/>", "see https://host.example/a?token=Xk9vQ4tR7wZ1pLm2&b=c", "The recovery phrase is `velvet harbor tangerine cobalt lantern plum`",
}
