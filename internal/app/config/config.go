// Package config reads the configuration: a YAML file, MARGAY_… environment
// variables that override it, and flags that override both.
//
// Every mistake is an *Error that names the place: the file with line and
// column, or the variable. Reading never writes.
package config

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise/own"
)

// Example is a commented configuration with the defaults.
//
//go:embed example.yaml
var Example string

// Version is the format version that this program reads.
const Version = 1

// Defaults that commands name, too.
const (
	DefaultListen    = "127.0.0.1:7878"
	DefaultUpstream  = "https://api.openai.com/v1"
	DefaultAnthropic = "https://api.anthropic.com"
)

// Config is the whole configuration. Load returns it checked.
type Config struct {
	Version int    `yaml:"version"`
	Listen  string `yaml:"listen"`
	// Upstream is the name of one of Upstreams, or a URL: where requests
	// below /v1 go. Empty means the only one of Upstreams that is not
	// Anthropic's API or, without any, OPENAI_BASE_URL or else
	// DefaultUpstream.
	Upstream string `yaml:"upstream"`
	// Anthropic is the same for the requests of Anthropic's API. Empty means
	// the only one of Upstreams that is, ANTHROPIC_BASE_URL or else
	// DefaultAnthropic.
	Anthropic  string              `yaml:"anthropic"`
	Upstreams  map[string]Upstream `yaml:"upstreams"`
	Policy     Policy              `yaml:"policy"`
	Monitor    Monitor             `yaml:"monitor"`
	MCP        MCP                 `yaml:"mcp"`
	Taint      Taint               `yaml:"taint"`
	Declassify Declassify          `yaml:"declassify"`
	OnError    string              `yaml:"on_error" is:"one deny pass"` // "deny" or "pass"
	Observe    bool                `yaml:"observe"`
	Discover   bool                `yaml:"discover"` // recognise unregistered credentials
	Personal   bool                `yaml:"personal"` // recognise personal data
	Secrets    Secrets             `yaml:"secrets"`
	Limits     Limits              `yaml:"limits"`
	Access     Access              `yaml:"access"`
	Console    Console             `yaml:"console"`
	StateDir   string              `yaml:"state_dir"`
	Store      string              `yaml:"store"`   // a file, or "memory"
	KeyDir     string              `yaml:"key_dir"` // where the key files are
	Log        Log                 `yaml:"log"`

	// Unknown lists variables that start with MARGAY_ and are not keys.
	Unknown []string `yaml:"-"`
	// NewState accepts that the database of an earlier start is gone.
	NewState bool `yaml:"-"`
	// Dir is the folder where the agent was started, whose tools work there; empty
	// where that is not known.
	Dir string `yaml:"-"`
	// File is the file that was read; empty if there is none.
	File string `yaml:"-"`
}

// Upstream is a model API.
type Upstream struct {
	URL       string   `yaml:"url"`
	API       string   `yaml:"api" is:"one openai anthropic"` // "openai" or "anthropic"; empty: as the URL's use says
	CAFile    string   `yaml:"ca_file"`
	OnError   string   `yaml:"on_error" is:"one deny pass"` // empty: as at the top
	PassPaths []string `yaml:"pass_paths"`
	// Policy overrides the top-level one, kind by kind.
	Policy Policy `yaml:"policy"`
	// Monitor overrides the top-level one, key by key. It has no model.
	Monitor Monitor `yaml:"monitor"`
}

// Monitor says what the risk model does, which judges answers token by token.
type Monitor struct {
	Mode       string `yaml:"mode" is:"one off report red enforce"`            // "off", "report", "red" or "enforce"
	Logprobs   string `yaml:"logprobs" is:"one ask client"`                    // "ask", or "client": only what the client asks for
	Vocabulary int    `yaml:"vocabulary" is:"between 256 and 10000000" or:"0"` // tokens of the model; 0: 128,000
	Model      string `yaml:"model"`                                           // a file by margay-lab train monitor; empty: the built-in one
}

// Policy says what to do with findings, by direction and kind.
type Policy struct {
	Prompt   map[string]string `yaml:"prompt"`
	Generate map[string]string `yaml:"generate"`
	OnRed    string            `yaml:"on_red" is:"one redact halt"` // "redact" or "halt"
}

// Secrets says what counts as a secret, and what does not, besides what Margay knows.
type Secrets struct {
	Patterns  []own.Pattern `yaml:"patterns"`
	StopWords []string      `yaml:"stop_words"` // values that contain one are not found by their names
}

func (s *Secrets) check(held int) error {
	err := own.Check(s.Patterns, s.StopWords, held)
	var e *own.Error
	if errors.As(err, &e) {
		return &Error{key: "secrets", Detail: "secrets: " + e.Detail, Hint: e.Hint}
	}
	return err
}

// Limits are bounds on what Margay reads and holds back.
type Limits struct {
	Body  int      `yaml:"body" is:"at least 1024 bytes"`  // bytes of a request or a whole answer
	Event int      `yaml:"event" is:"at least 1024 bytes"` // bytes of one event of a stream
	Held  int      `yaml:"held" is:"at least 64 bytes"`    // bytes of text that one stream holds back
	Idle  Duration `yaml:"idle" is:"duration 10m"`         // longest silence of an upstream
	// Trajectories bounds the memory for what is remembered of conversations.
	Trajectories int `yaml:"trajectories" is:"at least 1048576 bytes"`
}

// Access says who may send requests.
type Access struct {
	Token   string   `yaml:"token"` // expected in the header Margay-Token
	Hosts   []string `yaml:"hosts"`
	Origins []string `yaml:"origins"`
}

// Log says what to log, how, and where.
type Log struct {
	Level  string `yaml:"level" is:"one debug info warn error"`
	Format string `yaml:"format" is:"one text json"` // "text" or "json"
	File   string `yaml:"file"`                      // empty: standard error
}

// Error is a mistake in the configuration.
type Error struct {
	Where  string // FILE:LINE:COLUMN or a variable's name; may be empty
	Detail string // what is wrong
	Hint   string // what to do next; may be empty
	key    string // the dotted key, to find Where by
}

// Error returns where and what in one line.
func (e *Error) Error() string {
	if e.Where == "" {
		return e.Detail
	}
	return e.Where + ": " + e.Detail
}

// As makes the error a *problem.Error for those who look for one.
func (e *Error) As(target any) bool {
	p, ok := target.(**problem.Error)
	if ok {
		*p = &problem.Error{Code: problem.BadUsage, Err: e, Hint: cmp.Or(e.Hint, "margay config example shows every key")}
	}
	return ok
}

// Default returns the configuration without a file.
func Default() *Config {
	return &Config{
		Version: Version, Listen: DefaultListen, OnError: "deny", Discover: true, Personal: true,
		Policy: Policy{OnRed: "redact"}, Monitor: Monitor{Mode: "off", Logprobs: "ask"}, Taint: Taint{Mode: "off", Screen: "replay", Lattice: "machine", Judge: LLM{Wait: "20s"}, Saliency: LLM{Wait: "20s"}, Wait: "2m", GoOn: 1}, MCP: MCP{ChangedTools: "report"},
		Declassify: Declassify{Mode: "off", Defender: "tagger", Validator: "native", LLM: LLM{Wait: "20s"}},
		Limits:     Limits{Body: 32 << 20, Event: 4 << 20, Held: 4096, Idle: "10m", Trajectories: 256 << 20},
		Console:    Console{Enabled: true},
		Log:        Log{Level: "info", Format: "text"},
	}
}

// Path returns where the configuration file is by default.
func Path() string { return filepath.Join(xdg("XDG_CONFIG_HOME", ".config"), "margay", "config.yaml") }

// xdg returns a base folder. By the specification, relative ones are ignored.
func xdg(name string, fallback ...string) string {
	if dir := os.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(append([]string{home}, fallback...)...)
}

// State returns the folder for state and keys.
func (c *Config) State() string {
	return cmp.Or(c.StateDir, filepath.Join(xdg("XDG_DATA_HOME", ".local", "share"), "margay"))
}

// Keys returns the folder of the key files.
func (c *Config) Keys() string {
	return cmp.Or(c.KeyDir, filepath.Join(c.State(), "keys"))
}

// StorePath returns the file of the store, or "memory".
func (c *Config) StorePath() string {
	return cmp.Or(c.Store, filepath.Join(c.State(), "margay.db"))
}

// Named returns an upstream by its name or its URL, with its name. A URL that
// belongs to none is named after its host. Empty means the default.
func (c *Config) Named(which string) (string, Upstream, error) {
	return c.named("upstream", cmp.Or(which, c.Upstream), "openai", cmp.Or(os.Getenv("OPENAI_BASE_URL"), DefaultUpstream))
}

// Messages returns the upstream of Anthropic's API, as Named does.
func (c *Config) Messages() (string, Upstream, error) {
	return c.named("anthropic", c.Anthropic, "anthropic", cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), DefaultAnthropic))
}

// named is Named for a key and the upstreams of one API.
func (c *Config) named(key, which, api, fallback string) (string, Upstream, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		if cmp.Or(c.Upstreams[name].API, "openai") == api {
			names = append(names, name)
		}
	}
	if which == "" {
		switch len(names) {
		case 0:
			which = fallback
		case 1:
			which = names[0]
		default:
			return "", Upstream{}, &Error{
				Detail: key + " must name one of: " + strings.Join(names, " "), key: key,
				Hint: "add '" + key + ": NAME', or use --upstream NAME",
			}
		}
	}
	if u, ok := c.Upstreams[which]; ok {
		return which, u, nil
	}
	if !strings.Contains(which, "://") {
		return "", Upstream{}, &Error{
			Detail: fmt.Sprintf("%s %q is neither a URL nor a configured upstream", key, which), key: key,
			Hint: "use a base URL such as " + DefaultUpstream,
		}
	}
	base := strings.TrimSuffix(which, "/")
	for _, name := range names {
		if strings.TrimSuffix(c.Upstreams[name].URL, "/") == base {
			return name, c.Upstreams[name], nil
		}
	}
	if err := checkURL(key, which); err != nil {
		return "", Upstream{}, err
	}
	u, _ := url.Parse(which) // checkURL has read it
	return u.Host, Upstream{URL: which, API: api}, nil
}

// OnErrorPass reports whether an upstream's traffic passes if Margay fails.
func (c *Config) OnErrorPass(u *Upstream) bool {
	return cmp.Or(u.OnError, c.OnError) == "pass"
}

// PassingUpstreams names the upstreams whose traffic passes if Margay fails: the main
// ones by their URLs, the others by their names.
func (c *Config) PassingUpstreams(main ...Upstream) []string {
	var out, urls []string
	for i := range main {
		urls = append(urls, main[i].URL)
		if c.OnErrorPass(&main[i]) {
			out = append(out, main[i].URL)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		if !slices.Contains(urls, u.URL) && c.OnErrorPass(&u) {
			out = append(out, name)
		}
	}
	return out
}

// Mediation returns the policy for an upstream's traffic.
func (c *Config) Mediation(u *Upstream) mediator.Policy {
	p := mediator.Policy{Prompt: byKind(c.Policy.Prompt, u.Policy.Prompt), Generate: byKind(c.Policy.Generate, u.Policy.Generate)}
	p.Halt = cmp.Or(u.Policy.OnRed, c.Policy.OnRed) == "halt"
	p.Risk = mediator.RiskMode(cmp.Or(u.Monitor.Mode, c.Monitor.Mode))
	p.Vocabulary = cmp.Or(u.Monitor.Vocabulary, c.Monitor.Vocabulary)
	return p
}

// AskLogprobs reports whether the gateway asks an upstream for the token
// distributions that the risk model reads.
func (c *Config) AskLogprobs(u *Upstream) bool {
	return cmp.Or(u.Monitor.Mode, c.Monitor.Mode) != "off" && cmp.Or(u.Monitor.Logprobs, c.Monitor.Logprobs) == "ask"
}

// Routes are the addresses of margay serve for MCP servers, by their own.
func (c *Config) Routes() map[string]string {
	out := map[string]string{}
	for name, s := range c.MCP.Servers {
		out[s.URL] = "http://" + c.Listen + "/mcp/" + name
	}
	return out
}

// Monitors reports whether the risk model judges any traffic.
func (c *Config) Monitors() bool {
	for _, u := range c.Upstreams {
		if m := u.Monitor.Mode; m != "" && m != "off" {
			return true
		}
	}
	return c.Monitor.Mode != "off"
}

// byKind is a policy for one direction, the upstream's own over the general one.
func byKind(general, own map[string]string) map[secret.Kind]flow.Action {
	out := map[secret.Kind]flow.Action{}
	for _, layer := range []map[string]string{general, own} {
		for k, a := range layer {
			out[secret.Kind(k)] = flow.Action(a)
		}
	}
	return out
}
