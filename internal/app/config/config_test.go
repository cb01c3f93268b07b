package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
)

// Parse reads a configuration from text alone.
func Parse(name string, b []byte) (*Config, error) {
	c := Default()
	if err := c.parse(name, b); err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, locate(err, nil, name, b)
	}
	return c, nil
}

// normal makes empty maps and lists equal to missing ones.
func normal(c *Config) *Config {
	for _, m := range []*map[string]string{&c.Policy.Prompt, &c.Policy.Generate} {
		if len(*m) == 0 {
			*m = nil
		}
	}
	if len(c.Upstreams) == 0 {
		c.Upstreams = nil
	}
	if len(c.MCP.Servers) == 0 {
		c.MCP.Servers = nil
	}
	if t := &c.Taint; len(t.Packs)+len(t.Workspaces)+len(t.Servers)+len(t.Lists) == 0 {
		t.Packs, t.Workspaces, t.Servers, t.Lists = nil, nil, nil, nil
	}
	if len(c.Declassify.Tools) == 0 {
		c.Declassify.Tools = nil
	}
	if s := &c.Secrets; len(s.Patterns)+len(s.StopWords) == 0 {
		s.Patterns, s.StopWords = nil, nil
	}
	if len(c.Access.Hosts)+len(c.Access.Origins) == 0 {
		c.Access.Hosts, c.Access.Origins = nil, nil
	}
	if p := &c.Console; len(p.Users)+len(p.Proxies)+len(p.Operators) == 0 {
		p.Users, p.Proxies, p.Operators = nil, nil, nil
	}
	return c
}

func TestExampleIsTheDefault(t *testing.T) {
	c, err := Parse("example", []byte(Example))
	if err != nil {
		t.Fatal(err)
	}
	if d := Default(); !reflect.DeepEqual(normal(c), normal(d)) {
		t.Errorf("the example says %+v, the defaults are %+v", c, d)
	}
}

// The commented upstream of the example must be right, too.
func TestExampleUpstream(t *testing.T) {
	text := strings.Replace(Example, "upstreams: {}\n", "upstreams:\n", 1)
	text = strings.Replace(text, "  servers: {}\n", "  servers:\n", 1)
	text = strings.Replace(text, "  tools: {}", "  tools:", 1)
	text = strings.Replace(text, "  patterns: []", "  patterns:", 1)
	text = strings.ReplaceAll(text, "\n#  ", "\n  ")
	c, err := Parse("example", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	name, u, err := c.Named("")
	if err != nil || name != "openai" || u.URL != DefaultUpstream {
		t.Fatalf("the default upstream is %q %+v, %v", name, u, err)
	}
	p := c.Mediation(&u)
	if a := p.Action(flow.Prompt, secret.KindEmail); a != flow.ActPseudonym {
		t.Errorf("email is %s", a)
	}
	if a := p.Action(flow.Generate, secret.KindEmail); a != flow.ActReport {
		t.Errorf("email from the model is %s", a)
	}
	if x := c.Declassify.Tools["book_flight"]; x.Class != "required-service" || x.Args["note"] != "text" {
		t.Errorf("the tool is %+v", x)
	}
	if p := c.Secrets.Patterns; len(p) != 1 || p[0].ID != "acme-key" || len(p[0].Samples.NoMatch) != 1 {
		t.Errorf("the patterns are %+v", p)
	}
	if s := c.MCP.Servers["docs"]; s.URL == "" || !c.DenyChanged(&s) {
		t.Errorf("the MCP server is %+v", s)
	}
}

func TestEveryKeyIsInTheExample(t *testing.T) {
	for _, k := range keysOf(reflect.TypeFor[Config]()) {
		if !strings.Contains(Example, k+":") {
			t.Errorf("the example lacks the key %s", k)
		}
	}
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"listen: [":                                           "f.yaml:1:",
		"listen: 127.0.0.1:1\nlissten: x\n":                   `f.yaml:2:1: unknown key "lissten" | did you mean listen?`,
		"policy:\n  promt: {}\n":                              `f.yaml:2:3: unknown key "promt" | did you mean prompt?`,
		"limits:\n  body: many\n":                             "f.yaml:2:9: this must be a whole number",
		"observe: maybe":                                      "f.yaml:1:10: this must be true or false",
		"listen: [a]":                                         "f.yaml:1:9: this must be a text",
		"access: {hosts: a}":                                  "this must be a list",
		"upstreams: []":                                       "this must be keys with values",
		"limits: {body: 99999999999999999999}":                "this number is too large",
		"upstream: ftp://x":                                   "f.yaml:1:11: upstream must be",
		"upstreams:\n  a: {url: 'https://u:p@x/'}":            "f.yaml:2:12: upstreams.a.url must not hold credentials",
		"upstreams:\n  a: {}":                                 "f.yaml:2:3: upstreams.a.url is missing",
		"upstreams:\n  A: {url: 'https://x'}":                 "f.yaml:2:",
		"upstreams: {a: {url: http://x, api: opnai}}":         "did you mean openai?",
		"upstreams: {a: {url: http://x}, b: {url: http://y}}": "upstream must name one of: a b",
		"upstream: nowhere":                                   "neither a URL nor",
		"policy:\n  prompt:\n    apikey: redact":              "f.yaml:3:13: \"apikey\" is not a kind of finding | did you mean api-key?",
		"policy:\n  prompt:\n    api-key: redct":              "f.yaml:3:14: policy.prompt.api-key must be one of: allow report pseudonym redact block | did you mean redact?",
		"policy:\n  prompt:\n    api-key: pse":                "f.yaml:3:14:",
		"on_error: maybe":                                     "f.yaml:1:11: on_error must be one of: deny pass",
		"secrets: {patern: []}":                               `unknown key "patern" | did you mean pattern?`,
		"secrets:\n  patterns:\n  - {id: a, patern: x}":       `f.yaml:3:13: unknown key "patern" | did you mean pattern?`,
		"secrets:\n  patterns: [{id: a, pattern: 'abcdef'}]":  "f.yaml:1:1: secrets: pattern a has no sample to match",
		"secrets:\n  stop_words: [a]":                         "f.yaml:1:1: secrets: stop-word 1 must have",
		"limits: {held: 3}":                                   "limits.held must be at least 64",
		"limits: {idle: soon}":                                "limits.idle",
		"listen: nowhere":                                     "f.yaml:1:9: listen must be HOST:PORT",
		"listen: 127.0.0.1:99999":                             "f.yaml:1:9: listen must be HOST:PORT",
		"listen: a\nlisten: b\n":                              "f.yaml:2:1:",
		"upstreams:\n  a:\n    url: https://x\n   u: y\n":     "f.yaml:",
		"console: {users: {ann: {password: hunter2}}}":        "console.users.ann.password is not a bcrypt hash | margay console password makes one",
		"console: {header: X-User}":                           "console.header is read only from console.proxies",
		"console: {proxies: [nowhere]}":                       "console.proxies",
		"upstreams: {console: {url: http://x}}":               "can't name an upstream",
		"version: 2":                                          "f.yaml:1:10: version 2 is unknown",
		"policy: {prompt: {api-key":                           "f.yaml:1:",
		"log: text":                                           "f.yaml:1:",
		"\x00\x01\x02":                                        "f.yaml",
	} {
		_, err := Parse("f.yaml", []byte(text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v is no *Error", text, err)
			continue
		}
		got := e.Error() + " | " + e.Hint
		if !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What stands in the place of a key may be a secret, put there by mistake.
func TestMistakesDoNotRepeatSecrets(t *testing.T) {
	s := "sk_" + "live_Zq83hdk29sQpLmX7"
	for _, text := range []string{
		"API_KEY=" + s, s, s + ": x", "listen: " + s, "limits: " + s, "limits:\n  body: " + s, "access: {token: [" + s + "]}",
		"policy: {prompt: {" + s + ": block}}", "policy: {prompt: {api-key: " + s + "}}", "observe: " + s, "version: " + s, "access:\n token: \"" + s,
		"upstreams: {" + s + ": {url: http://x}}", "upstreams: {a: {url: " + s + "}}", "log: {level: " + s + "}", "a: b: " + s, "- " + s,
		"listen: &" + s + " a\nupstream: *x" + s, "access: {hosts: " + s + "}", "\"" + s, "limits: {idle: " + s + "}", "listen: x\n" + s + "\nupstream: y",
		"access:\n  token: " + s + "\n  token: " + s,
	} {
		_, err := Parse("f.yaml", []byte(text))
		var e *Error
		if !errors.As(err, &e) || strings.Contains(e.Error()+e.Hint, s) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A file that broke off anywhere is read as a configuration or refused in one
// line; nothing panics.
func TestHalfWritten(t *testing.T) {
	for n := range len(Example) {
		if _, err := Parse("f.yaml", []byte(Example[:n])); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("cut at %d: %q has several lines", n, err)
		}
	}
}

func TestEnvironmentOverFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	text := "listen: 127.0.0.1:1\nlimits: {held: 100}\nupstreams:\n  local-llm: {url: 'http://127.0.0.1:9/v1'}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, []string{
		"MARGAY_LIMITS_HELD=200", "MARGAY_OBSERVE=true", "MARGAY_ACCESS_HOSTS=a, b", "MARGAY_POLICY_PROMPT_API_KEY=block",
		"MARGAY_UPSTREAMS_LOCAL_LLM_CA_FILE=/ca.pem", "MARGAY_UPSTREAMS_LOCAL_LLM_POLICY_GENERATE_NATIONAL_ID=redact",
		"MARGAY_UPSTREAMS_OTHER_URL=https://other.example/v1", "MARGAY_UPSTREAM=other", "MARGAY_LISTTEN=x", "MARGAY_KEYS=k",
	}, func(c *Config) { c.Limits.Held = 300 })
	if err != nil {
		t.Fatal(err)
	}
	if c.Limits.Held != 300 || !c.Observe || c.Listen != "127.0.0.1:1" || len(c.Access.Hosts) != 2 || c.Policy.Prompt["api-key"] != "block" {
		t.Errorf("got %+v", c)
	}
	l := c.Upstreams["local-llm"]
	if l.URL != "http://127.0.0.1:9/v1" || l.CAFile != "/ca.pem" || l.Policy.Generate["national-id"] != "redact" {
		t.Errorf("local-llm is %+v", l)
	}
	if name, u, err := c.Named(""); err != nil || name != "other" || u.URL != "https://other.example/v1" {
		t.Errorf("the default is %s %+v %v", name, u, err)
	}
	if !reflect.DeepEqual(c.Unknown, []string{"MARGAY_LISTTEN"}) {
		t.Errorf("unknown: %v", c.Unknown)
	}
	for _, env := range []string{"MARGAY_LIMITS_HELD=x", "MARGAY_OBSERVE=perhaps", "MARGAY_ON_ERROR=maybe"} {
		_, err := Load(path, []string{env}, nil)
		name, _, _ := strings.Cut(env, "=")
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", env, err)
		}
	}
}

func TestUpstreamFromOpenAIBaseURL(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
	if name, u, err := Default().Named(""); err != nil || name != "proxy.example" || u.URL != "https://proxy.example/v1" {
		t.Errorf("got %s %+v %v", name, u, err)
	}
}

func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing.yaml")} {
		_, err := Load(path, nil, nil)
		var e *Error
		if !errors.As(err, &e) || e.Where != path || e.Hint == "" {
			t.Errorf("%v", err)
		}
	}
}

// Whatever the file holds: a configuration, or a mistake told in one line.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Example))
	f.Add([]byte("upstreams:\n  a: {url: http://x, policy: {prompt: {email: block}}}\nupstream: a\n"))
	f.Add([]byte("listen: [\n  - &a *a\n? x\n: |\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse("f.yaml", b)
		var e *Error
		if err != nil && (!errors.As(err, &e) || strings.Contains(e.Error(), "\n")) {
			t.Errorf("the mistake is %q", err)
		}
		if err == nil && c.Limits.Idle.Value() <= 0 {
			t.Error("a configuration without a limit")
		}
	})
}

// The credentials of one API must never go to the provider of the other.
func TestMessages(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "")
	t.Setenv("ANTHROPIC_BASE_URL", "")
	for text, want := range map[string][2]string{
		"version: 1":            {DefaultUpstream, DefaultAnthropic},
		"upstream: http://x/v1": {"http://x/v1", DefaultAnthropic},
		"anthropic: http://y":   {DefaultUpstream, "http://y"},
		"upstreams: {a: {url: http://x}, b: {url: http://y, api: anthropic}}":                 {"http://x", "http://y"},
		"upstreams: {b: {url: http://y, api: anthropic}}":                                     {DefaultUpstream, "http://y"},
		"{anthropic: c, upstreams: {b: {url: http://y, api: anthropic}, c: {url: http://z}}}": {"http://z", "http://z"},
	} {
		c, err := Parse("f", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, openai, err := c.Named("")
		_, claude, err2 := c.Messages()
		if err != nil || err2 != nil || openai.URL != want[0] || claude.URL != want[1] {
			t.Errorf("%s: %s and %s, %v, %v", text, openai.URL, claude.URL, err, err2)
		}
	}
}

// A file of comments, or of nothing, leaves the defaults.
func TestEmptyFile(t *testing.T) {
	want := Default()
	for _, text := range []string{"", "\n", "# all of it deleted\n", "---\n# nothing\n", "---\n"} {
		if c, err := Parse("x", []byte(text)); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Parse("x", []byte(strings.Repeat("[", 100_000))); err == nil || !strings.HasPrefix(err.Error(), "x:1:") {
		t.Errorf("deep: %v", err)
	}
}

// TestPlainHosts: no setting takes an address in a spelling that programs read
// differently, and whether an endpoint is on this machine does not depend on
// its spelling.
func TestPlainHosts(t *testing.T) {
	for _, host := range []string{"127.1", "0x7f000001", "0177.0.0.1", "2130706433", "0x7F.0.0.1", "127.0.0.01", "１27.0.0.1", "0251.0376.0251.0376"} {
		for key, text := range map[string]string{
			"listen":             "listen: '" + host + ":7878'",
			"upstream":           "upstream: http://" + host + "/v1",
			"anthropic":          "anthropic: http://" + host,
			"upstreams.a.url":    "upstreams: {a: {url: 'http://" + host + "/v1'}}",
			"mcp.servers.a.url":  "mcp: {servers: {a: {url: 'http://" + host + "/mcp'}}}",
			"declassify.llm.url": "declassify: {defender: llm, llm: {model: m, remote: true, url: 'http://" + host + "/v1'}}",
			"taint.judge.url":    "taint: {screen: judge, judge: {model: m, remote: true, url: 'http://" + host + "/v1'}}",
		} {
			if _, err := Parse("c.yaml", []byte("version: 1\n"+text+"\n")); err == nil || !strings.Contains(err.Error(), key+" has a host") {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for host, here := range map[string]bool{"LocalHost.": true, "[::1]": true, "127.9.9.9": true, "[::ffff:7f00:1]": true, "[::7f00:1]": false, "0.0.0.0": false, "localhost.example": false} {
		for _, text := range []string{"declassify: {defender: llm, llm: ", "taint: {screen: judge, judge: "} {
			if _, err := Parse("c.yaml", []byte(text+"{model: m, url: 'http://"+host+"/v1'}}\n")); (err == nil) != here {
				t.Errorf("%s: %v", host, err)
			}
		}
	}
}
