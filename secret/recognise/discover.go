package recognise

import (
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/plausible"
)

const (
	// separator stands between a name and its value in .env files, JSON, YAML,
	// XML, shell, logs and tables.
	separator = `(?:["'\x60]?(?:[ \t]{0,3}(?::{1,2}=|=>|->|[:=])|[ \t]{0,30}\|)[ \t]{0,3}|["']?>|` + attribute + `|` + called + `)`
	// attribute is between a name and its value where both are attributes of XML.
	attribute = `["'][ \t]{1,3}value=["']`
	// called is between them where settings are calls, as in Gradle.
	called = `[ \t]?(?:\([ \t]?|[ \t])["']`
	// verb stands between them in a sentence.
	verb = `["'\x60]?(?:[ \t]changed[;,:] it)?[ \t](?:is|was|reads|equals|turned out to be)(?: now| set to| still)?:?[ \t]`
	// numbered ends names of which there are several.
	numbered = `(?:[ _-]?\d{1,3})?`
	// value is quoted or not, up to something that ends values. Of a longer one
	// its beginning decides.
	value = `["'\x60]?(?:([^\s"'\x60,;<>(){}\[\]|\\]{7,199}[^\s"'\x60,;<>(){}\[\]|\\.])` + valueEnd + `|([^\s"'\x60,;<>(){}\[\]|\\]{200}))`
	// valueEnd follows a value; a sentence's full stop does not belong to it.
	valueEnd = `\.?(?:["'\x60\s,;)\]}<|]|\\[nrt"']|$)`
	// assigned is what follows a key's name: more of the name, and the value.
	assigned = `[\w.-]{0,30}(?: \d{1,3})?(?:` + separator + `|` + verb + `)` + value
)

// Discovery returns the rules that go by the name of a key and the look of
// its value.
func Discovery() []Rule {
	rules := []Rule{
		{
			ID: "named-password", Kind: secret.KindPassword,
			Regex: `(?i)(?:(?:passw(?:or)?d|passphrase|passwort|kennwort|passcode|db_pass)[\w.-]{0,30}(?: \d{1,3})?|(?:[_ .-]pass|pwd|[_-]login)` + numbered + `)` +
				`(?:` + separator + `|` + verb + `)` + value,
			Suits: plausible.Password, Sure: true,
		},
		{
			ID: "named-passphrase", Kind: secret.KindPassword,
			Regex: `(?i:pass[_ -]?phrase|passw(?:or)?d|mnemonic|(?:seed|recovery|backup|secret)[_ -](?:phrase|words))` + numbered + `(?:` + separator + `|` + verb + `)["'\x60]?` +
				`([a-z]{3,12}(?:[ _-][a-z]{3,12}){3,24}?)(?:["'\x60.,;:|\n]|\\[nrt"']|$| (?:since|until|for|and|in|on|at|as|is|to|which|that|the|it|[^a-z]))`,
			Suits: plausible.Phrase, Sure: true,
		},
		{
			ID: "named-code", Kind: secret.KindPassword,
			Regex: `(?i)(?:[_ -]pin|(?:access|unlock|door|keypad|security|entry|alarm|gate|pass)[_ -]?code|pin[_ -]code)` + numbered + `(?:` + separator + `|` + verb + `)["'\x60]?` +
				`(\d{4,12})` + valueEnd,
			Suits: plausible.Code, Sure: true,
		},
		{
			ID: "named-token", Kind: secret.KindToken,
			Regex: `(?i)(?:token|sess(?:ion)?[_-]?id|connect\.sid|bearer)` + assigned,
			Suits: plausible.Token, Sure: true,
		},
		{
			ID: "named-key", Kind: secret.KindAPIKey,
			Regex: `(?i)(?:api[ _-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|encryption[_-]?key|signing[_-]?key|client[ _-]?secret|app[_-]?secret` +
				`|_secret|secret_|credential|auth[_-]?key|account[_-]?key|master[_-]?key|license[_-]?key|hmac[_-]?key)` + assigned,
			Suits: plausible.Token, Sure: true,
		},
		{
			ID: "named-salt", Kind: secret.KindSecret,
			Regex: `(?i)(?:salt|pepper|[_ -]seed|[_ -]key)(?:[ _-]?value)?` + numbered + `(?:` + separator + `|` + verb + `)` + value,
			Suits: plausible.Key,
		},
		{
			ID: "told-value", Kind: secret.KindSecret,
			Regex: `(?i)(?:\buse[sd]?|\bset(?: it)? to|\bchanged(?: it)? to|\btype|\benter) ["'\x60]?([^\s"'\x60,;<>(){}\[\]|\\]{5,99}[^\s"'\x60,;<>(){}\[\]|\\.])["'\x60]?,? ` +
				`(?:as|for|which is|it is) (?:the|our|its|their|a|an) (?:[\w-]{1,24} ){0,4}?(?:password|passphrase|passcode|pin|(?:access|door|security|unlock) code|` +
				`(?:api|secret|master|hmac|encryption|signing|partner|private) key|secret|token|salt|seed(?: value)?|[a-z]{2,8} (?:pass|login))` + numbered + `(?:["'\x60.,;:)\n]|$| (?:in|on|for|of|at|and|since|from|until)[ \n])`,
			Validate: plausible.Stated, Sure: true,
		},
		{
			ID: "prompted-password", Kind: secret.KindPassword,
			Regex:    `(?i)(?:asks?|asked|prompts?|prompted)(?: you)?(?: for [\w ]{1,30})?,? (?:then )?(?:type|enter|give|use|answer) ` + value,
			Validate: plausible.Prompted, Sure: true,
		},
		{
			ID: "url-password", Kind: secret.KindPassword,
			Regex:    `://[^\s:/@"'<>\x60]{0,64}:([^\s/@"'<>\x60]{4,128})@[\w\[.-]`,
			Validate: plausible.FilledIn, Sure: true,
		},
		{
			ID: "authorization-header", Kind: secret.KindToken,
			Regex:    `(?i)(?:authorization["']?[ \t]{0,3}[:=][ \t]{0,3}["']?(?:bearer|basic|token|digest)[ \t]{1,3}|\bbearer[ \t]{1,3})([\w.~+/-]{16,}={0,2})(?:[\s"'\x60,;)\]}]|\\[nr"]|$)`,
			Validate: plausible.Random, Sure: true,
		},
		{
			ID: "option-secret", Kind: secret.KindPassword,
			Regex:    `(?i)--(?:password|passwd|token|secret|api-?key|access-token|client-secret|auth-token)[ =]["']?([^\s"'\x60<>(){}|;&]{6,200})(?:["'\s;&|)]|\\[nr"]|$)`,
			Validate: plausible.Typed, Sure: true,
		},
		{
			ID: "hook-url", Kind: secret.KindWebhook,
			Regex: `(?i)https?://(?:(?:web)?hooks?\.[\w.-]{1,80}(?::\d{1,5})?(?:/[\w.~-]{1,40}){0,4}` +
				`|[\w.-]{1,80}(?::\d{1,5})?(?:/[\w.~-]{1,40}){0,3}/(?:web)?hooks?(?:/[\w.~-]{1,40}){0,3})/([\w-]{16,100})` + valueEnd,
			Validate: plausible.Drawn, Sure: true,
		},
		{
			ID: "own-key", Kind: secret.KindAPIKey,
			Regex:    `\b([a-z][a-z0-9]{1,15}_(?:live|prod|test|sandbox|secret)_[A-Za-z0-9]{16,64})\b`,
			Validate: plausible.OwnKey, Sure: true,
		},
		{
			ID: "random-value", Kind: secret.KindSecret,
			Regex: `\b[A-Za-z][\w.-]{2,60}["']?(?:[ \t]{0,2}(?:=>|->|[:=])|[ \t]{0,30}\|)[ \t]{0,3}["'\x60]?([A-Za-z0-9_+/=.~@#%^&*!?$-]{11,99}[A-Za-z0-9_+/=~@#%^&*!?$-])` + valueEnd,
			Suits: plausible.Unnamed,
		},
		{
			ID: "unnamed-password", Kind: secret.KindPassword,
			Regex: `\b(?:[A-Z][A-Z0-9]*_[A-Z0-9_]{1,60}|[a-z][a-z0-9]*_[a-z0-9_]{1,60})["']?(?:[ \t]{0,2}(?:=>|->|[:=])|[ \t]{0,30}\|)[ \t]{0,3}["'\x60]?` +
				`(?:([a-z]{3,12}(?: [a-z]{3,12}){4,9})(?:["'\x60\n;,]| ?\||\\[nrt"']|$)|([A-Za-z0-9!@#$%^&*?_-]{10,32})(?:["'\x60\s;,|]|\\[nrt"']|$))`,
			Suits: plausible.Shaped, Sure: true,
		},
	}
	for i := range rules {
		rules[i].Class = ClassDiscovery
	}
	return rules
}
