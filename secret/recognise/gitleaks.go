package recognise

import (
	"fmt"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/margaydev/margay/secret"
)

// ruleFile is the part of gitleaks' rule format that concerns the content of
// a text.
type ruleFile struct {
	Allowlist *ruleAllow `toml:"allowlist"`
	Rules     []struct {
		ID          string      `toml:"id"`
		Regex       string      `toml:"regex"`
		Path        string      `toml:"path"`
		SecretGroup int         `toml:"secretGroup"`
		Entropy     float64     `toml:"entropy"`
		Keywords    []string    `toml:"keywords"`
		Allowlists  []ruleAllow `toml:"allowlists"`
	} `toml:"rules"`
}

type ruleAllow struct {
	Condition   string   `toml:"condition"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"`
	Paths       []string `toml:"paths"`
}

func (a *ruleAllow) allow() Allow {
	out := Allow{Target: a.RegexTarget, Regexes: a.Regexes, Paths: a.Paths, All: strings.EqualFold(a.Condition, "AND")}
	if out.Target == "secret" {
		out.Target = ""
	}
	for _, w := range a.StopWords {
		out.StopWords = append(out.StopWords, strings.ToLower(w))
	}
	return out
}

// Credentials returns the rules of the gitleaks library. Its allowances for
// paths of images and lock files do not apply to what an agent reads, and its
// comment that switches a finding off is ignored: injected text could hold it.
func Credentials() ([]Rule, error) {
	var f ruleFile
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &f); err != nil {
		return nil, fmt.Errorf("gitleaks rules: %w", err)
	}
	var out []Rule
	for _, r := range f.Rules {
		if r.Regex == "" {
			continue // about file names alone
		}
		rule := Rule{
			ID: r.ID, Kind: kindOf(r.ID), Class: ClassCredential, Regex: inProse(r.Regex), Group: r.SecretGroup,
			Entropy: r.Entropy, Path: r.Path, Gate: gateOf(r.Regex, r.Keywords),
		}
		if r.ID == "generic-api-key" {
			rule.Class, rule.Suits = ClassDiscovery, notPublic
		}
		for i := range r.Allowlists {
			rule.Allow = append(rule.Allow, r.Allowlists[i].allow())
		}
		if f.Allowlist != nil {
			a := f.Allowlist.allow()
			a.Paths = nil
			rule.Allow = append(rule.Allow, a)
		}
		out = append(out, rule)
	}
	return out, nil
}

// inProse lets a credential whose format is known end before punctuation, as
// it does in a sentence; the rules expect code. Rules that go by a key's name
// stay as they are.
func inProse(regex string) string {
	if strings.Contains(regex, `[\w.-]{0,50}?`) {
		return regex
	}
	return strings.ReplaceAll(regex, `(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[\x60'"\s;.,:!?)\]}<>]|\\[nr]|$)`)
}

// gateOf returns the keywords of a rule whose expression does without some of
// them: they must occur nearby.
func gateOf(regex string, keywords []string) []string {
	low := strings.ToLower(strings.ReplaceAll(regex, `\`, ""))
	for _, k := range keywords {
		if !strings.Contains(low, strings.ToLower(k)) {
			out := make([]string, len(keywords))
			for i, k := range keywords {
				out[i] = strings.ToLower(k)
			}
			return out
		}
	}
	return nil
}

func kindOf(id string) secret.Kind {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(id, p) {
				return true
			}
		}
		return false
	}
	switch {
	case id == PrivateKeyID:
		return secret.KindPrivateKey
	case has("webhook"):
		return secret.KindWebhook
	case has("password", "auth-user"):
		return secret.KindPassword
	case has("sensitive-url"):
		return secret.KindConnectionString
	case has("api-key", "api-token", "apikey", "access-key"):
		return secret.KindAPIKey
	case has("token", "pat", "jwt", "oauth", "cookie", "auth-header"):
		return secret.KindToken
	case has("key"):
		return secret.KindAPIKey
	}
	return secret.KindSecret
}

var defaultSet = sync.OnceValues(func() (*Set, error) {
	rules, err := Credentials()
	if err != nil {
		return nil, err
	}
	rules = append(rules, Discovery()...)
	rules = append(rules, Personal()...)
	return New(rules)
})

var sureIDs = sync.OnceValue(func() map[string]bool {
	ids := map[string]bool{}
	for _, r := range Discovery() {
		ids[r.ID] = r.Sure
	}
	return ids
})

// Sure reports whether the rule with this id finds secrets for sure, be they
// made of words or digits; see [Rule].
func Sure(id string) bool { return sureIDs()[id] }

// Default returns the set of all rules. It is built once in a process.
func Default() (*Set, error) { return defaultSet() }
