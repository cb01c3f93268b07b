package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

// Kinds returns the kinds that a policy may name, in the order of the docs.
func Kinds() []string {
	var out []string
	for _, k := range []secret.Kind{
		secret.KindAPIKey, secret.KindToken, secret.KindPassword, secret.KindPrivateKey, secret.KindConnectionString, secret.KindWebhook,
		secret.KindSecret, secret.KindEmail, secret.KindPhone, secret.KindCard, secret.KindIBAN, secret.KindNationalID, secret.KindIP, secret.KindUUID,
	} {
		out = append(out, string(k))
	}
	return out
}

// Actions returns the actions that a policy may name.
func Actions() []string {
	var out []string
	for _, a := range []flow.Action{flow.ActAllow, flow.ActReport, flow.ActPseudonym, flow.ActRedact, flow.ActBlock} {
		out = append(out, string(a))
	}
	return out
}

// isPort reports whether s is a port's number or a service's name.
func isPort(s string) bool {
	_, err := net.LookupPort("tcp", s)
	return err == nil && s != ""
}

var upstreamName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// Check holds the values to what they may be. Its errors are of type *Error.
func (c *Config) Check() error {
	if c.Version != Version {
		return &Error{key: "version", Detail: fmt.Sprintf("version %d is unknown: this program reads version %d", c.Version, Version), Hint: "upgrade margay, or see margay config example"}
	}
	if _, port, err := net.SplitHostPort(c.Listen); err != nil || !isPort(port) {
		return &Error{key: "listen", Detail: "listen must be HOST:PORT", Hint: "the default is " + DefaultListen}
	}
	for _, one := range [][3]string{
		{"on_error", c.OnError, "deny pass"},
		{"log.level", c.Log.Level, "debug info warn error"},
		{"log.format", c.Log.Format, "text json"},
		{"policy.on_red", c.Policy.OnRed, "redact halt"},
		{"monitor.mode", c.Monitor.Mode, "off report red enforce"},
		{"monitor.logprobs", c.Monitor.Logprobs, "ask client"},
	} {
		if err := oneOf(one[0], one[1], strings.Fields(one[2])); err != nil {
			return err
		}
	}
	if err := c.Policy.check("policy"); err != nil {
		return err
	}
	if err := c.Monitor.check("monitor"); err != nil {
		return err
	}
	if err := c.Taint.check(); err != nil {
		return err
	}
	if err := c.Declassify.check(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		if err := u.check(name); err != nil {
			return err
		}
	}
	if _, _, err := c.Named(""); err != nil {
		return err
	}
	if _, _, err := c.Messages(); err != nil {
		return err
	}
	if err := c.MCP.check(); err != nil {
		return err
	}
	if err := c.Console.check(); err != nil {
		return err
	}
	return c.Limits.check()
}

func (l *Limits) check() error {
	if d, err := time.ParseDuration(l.Idle); err != nil || d <= 0 {
		return &Error{key: "limits.idle", Detail: "limits.idle must be a duration such as 10m"}
	}
	for _, one := range []struct {
		key    string
		n, min int
	}{{"limits.body", l.Body, 1024}, {"limits.event", l.Event, 1024}, {"limits.held", l.Held, 64}} {
		if one.n < one.min {
			return &Error{key: one.key, Detail: fmt.Sprintf("%s must be at least %d bytes", one.key, one.min)}
		}
	}
	return nil
}

func (u *Upstream) check(name string) error {
	key := "upstreams." + name
	if !upstreamName.MatchString(name) || slices.Contains([]string{"v1", "mcp", "console", "api"}, name) {
		return &Error{key: key, Detail: shown(name) + " can't name an upstream", Hint: "use lower-case letters, digits and dashes"}
	}
	if u.URL == "" {
		return &Error{key: key, Detail: key + ".url is missing", Hint: "add the API's base URL, such as " + DefaultUpstream}
	}
	if err := checkURL(key+".url", u.URL); err != nil {
		return err
	}
	if u.API != "" {
		if err := oneOf(key+".api", u.API, []string{"openai", "anthropic"}); err != nil {
			return err
		}
	}
	if u.OnError != "" {
		if err := oneOf(key+".on_error", u.OnError, []string{"deny", "pass"}); err != nil {
			return err
		}
	}
	if u.Policy.OnRed != "" {
		if err := oneOf(key+".policy.on_red", u.Policy.OnRed, []string{"redact", "halt"}); err != nil {
			return err
		}
	}
	if u.Monitor.Mode != "" {
		if err := oneOf(key+".monitor.mode", u.Monitor.Mode, []string{"off", "report", "red", "enforce"}); err != nil {
			return err
		}
	}
	if u.Monitor.Logprobs != "" {
		if err := oneOf(key+".monitor.logprobs", u.Monitor.Logprobs, []string{"ask", "client"}); err != nil {
			return err
		}
	}
	if u.Monitor.Model != "" {
		return &Error{key: key + ".monitor.model", Detail: key + ".monitor.model can't be set: one model judges all upstreams", Hint: "set monitor.model at the top"}
	}
	if err := u.Monitor.check(key + ".monitor"); err != nil {
		return err
	}
	return u.Policy.check(key + ".policy")
}

func (m *Monitor) check(key string) error {
	if v := m.Vocabulary; v != 0 && (v < 256 || v > 10_000_000) {
		return &Error{key: key + ".vocabulary", Detail: key + ".vocabulary must be between 256 and 10000000, or 0"}
	}
	return nil
}

func checkURL(key, s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return &Error{key: key, Detail: key + " must be an http or https URL", Hint: "such as " + DefaultUpstream}
	}
	// The URL itself is not quoted: it may hold a password.
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return &Error{key: key, Detail: key + " must not hold credentials, a query or a fragment", Hint: "callers send their own credentials, which are forwarded to this upstream alone"}
	}
	return nil
}

func (p *Policy) check(key string) error {
	for _, d := range []struct {
		name string
		of   map[string]string
	}{{"prompt", p.Prompt}, {"generate", p.Generate}} {
		for _, k := range slices.Sorted(maps.Keys(d.of)) {
			at := key + "." + d.name + "." + k
			if !slices.Contains(Kinds(), k) {
				return &Error{key: at, Detail: shown(k) + " is no kind of finding", Hint: meant(k, Kinds(), "kinds are ")}
			}
			if err := oneOf(at, d.of[k], Actions()); err != nil {
				return err
			}
		}
	}
	return nil
}

func oneOf(key, v string, of []string) error {
	if slices.Contains(of, v) {
		return nil
	}
	return &Error{key: key, Detail: key + " must be one of: " + strings.Join(of, " "), Hint: meant(v, of, "")}
}

// meant suggests the nearest of the words, or else lists them.
func meant(v string, words []string, list string) string {
	best, at := 3, ""
	for _, w := range words {
		if d := distance(strings.ToLower(v), w); d < best {
			best, at = d, w
		}
	}
	switch {
	case at != "":
		return "did you mean " + at + "?"
	case list != "":
		return list + strings.Join(words, " ")
	}
	return ""
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
