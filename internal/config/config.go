// Package config reads the configuration: a YAML file, over it MARGAY_…
// environment variables, and over both what the command line says.
//
// Every mistake is an *Error that names the place: the file with line and
// column, or the variable. Reading never writes.
package config

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// Example is a commented configuration with the defaults.
//
//go:embed example.yaml
var Example string

// Version is the only format version that this program reads.
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
	OnError    string              `yaml:"on_error"` // "deny" or "pass"
	Observe    bool                `yaml:"observe"`
	Discover   bool                `yaml:"discover"` // recognise what is not registered
	Personal   bool                `yaml:"personal"` // recognise personal data
	Limits     Limits              `yaml:"limits"`
	Access     Access              `yaml:"access"`
	Console    Console             `yaml:"console"`
	StateDir   string              `yaml:"state_dir"`
	Store      string              `yaml:"store"`   // a file, or "memory"
	KeyDir     string              `yaml:"key_dir"` // where the key files are
	Log        Log                 `yaml:"log"`

	// Unknown lists variables that begin with MARGAY_ and are no key.
	Unknown []string `yaml:"-"`
	// File is the file that was read; empty if there is none.
	File string `yaml:"-"`
}

// Upstream is a model API that requests go to.
type Upstream struct {
	URL       string   `yaml:"url"`
	API       string   `yaml:"api"` // "openai" or "anthropic"; empty: as the URL's use says
	CAFile    string   `yaml:"ca_file"`
	OnError   string   `yaml:"on_error"` // empty: as at the top
	PassPaths []string `yaml:"pass_paths"`
	// Policy overrides the top-level one, kind by kind.
	Policy Policy `yaml:"policy"`
	// Monitor overrides the top-level one, key by key. It has no model.
	Monitor Monitor `yaml:"monitor"`
}

// Monitor says what the risk model does that judges answers token by token.
type Monitor struct {
	Mode       string `yaml:"mode"`       // "off", "report", "red" or "enforce"
	Logprobs   string `yaml:"logprobs"`   // "ask", or "client": only what the client asks for
	Vocabulary int    `yaml:"vocabulary"` // tokens of the model; 0: 128,000
	Model      string `yaml:"model"`      // a file by margay train monitor; empty: the built-in one
}

// Policy says what is done with findings, by direction and kind.
type Policy struct {
	Prompt   map[string]string `yaml:"prompt"`
	Generate map[string]string `yaml:"generate"`
	OnRed    string            `yaml:"on_red"` // "redact" or "halt"
}

// Limits bound what is read and held.
type Limits struct {
	Body  int    `yaml:"body"`  // bytes of a request or a whole answer
	Event int    `yaml:"event"` // bytes of one event of a stream
	Held  int    `yaml:"held"`  // bytes of text that one stream holds back
	Idle  string `yaml:"idle"`  // longest silence of an upstream
}

// Access says who may send requests.
type Access struct {
	Token   string   `yaml:"token"` // asked for in the header Margay-Token
	Hosts   []string `yaml:"hosts"`
	Origins []string `yaml:"origins"`
}

// Log says what is logged, how, and where to.
type Log struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"` // "text" or "json"
	File   string `yaml:"file"`   // empty: standard error
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

// Default returns the configuration without a file.
func Default() *Config {
	return &Config{
		Version: Version, Listen: DefaultListen, OnError: "deny", Discover: true, Personal: true,
		Policy: Policy{OnRed: "redact"}, Monitor: Monitor{Mode: "off", Logprobs: "ask"}, Taint: Taint{Mode: "off", Screen: "replay", Lattice: "four-point", Wait: "2m", GoOn: 1}, MCP: MCP{ChangedTools: "report"},
		Declassify: Declassify{Mode: "off", Defender: "rules", Validator: "native", LLM: LLM{Wait: "20s"}},
		Limits:     Limits{Body: 32 << 20, Event: 4 << 20, Held: 4096, Idle: "10m"},
		Console:    Console{Enabled: true},
		Log:        Log{Level: "info", Format: "text"},
	}
}

// Path returns where the configuration file is looked for.
func Path() string { return filepath.Join(xdg("XDG_CONFIG_HOME", ".config"), "margay", "config.yaml") }

// xdg returns a base folder. The specification has relative ones ignored.
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
	if c.StateDir != "" {
		return c.StateDir
	}
	return filepath.Join(xdg("XDG_DATA_HOME", ".local", "share"), "margay")
}

// Keys returns the folder of the key files.
func (c *Config) Keys() string {
	if c.KeyDir != "" {
		return c.KeyDir
	}
	return filepath.Join(c.State(), "keys")
}

// StorePath returns the file of the store, or "memory".
func (c *Config) StorePath() string {
	if c.Store != "" {
		return c.Store
	}
	return filepath.Join(c.State(), "margay.db")
}

// Idle returns limits.idle.
func (c *Config) Idle() time.Duration {
	d, _ := time.ParseDuration(c.Limits.Idle) // checked by Check
	return d
}

// Named returns an upstream by its name or its URL, with its name. A URL that
// belongs to none is named after its host. Empty stands for the default.
func (c *Config) Named(which string) (string, Upstream, error) {
	return c.named("upstream", cmp.Or(which, c.Upstream), "openai", cmp.Or(os.Getenv("OPENAI_BASE_URL"), DefaultUpstream))
}

// Messages returns the upstream of Anthropic's API, as Named does.
func (c *Config) Messages() (string, Upstream, error) {
	return c.named("anthropic", c.Anthropic, "anthropic", cmp.Or(os.Getenv("ANTHROPIC_BASE_URL"), DefaultAnthropic))
}

// named is Named for a key, where upstreams of an API count.
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
	u, err := url.Parse(which)
	if err != nil {
		return "", Upstream{}, checkURL(key, which)
	}
	return u.Host, Upstream{URL: which, API: api}, nil
}

// OnErrorPass reports whether an upstream's traffic passes where Margay fails.
func (c *Config) OnErrorPass(u *Upstream) bool {
	if u.OnError != "" {
		return u.OnError == "pass"
	}
	return c.OnError == "pass"
}

// OpenOnError names the upstreams whose traffic passes where Margay fails: the
// main ones by their URLs, the others by their names.
func (c *Config) OpenOnError(main ...Upstream) []string {
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
	p := mediator.Policy{Prompt: actions(c.Policy.Prompt, u.Policy.Prompt), Generate: actions(c.Policy.Generate, u.Policy.Generate)}
	p.Halt = c.Policy.OnRed == "halt"
	if u.Policy.OnRed != "" {
		p.Halt = u.Policy.OnRed == "halt"
	}
	p.Risk = mediator.RiskMode(cmp.Or(u.Monitor.Mode, c.Monitor.Mode))
	p.Vocabulary = cmp.Or(u.Monitor.Vocabulary, c.Monitor.Vocabulary)
	return p
}

// AskLogprobs reports whether the gateway asks an upstream for the
// distributions that the risk model judges by.
func (c *Config) AskLogprobs(u *Upstream) bool {
	return cmp.Or(u.Monitor.Mode, c.Monitor.Mode) != "off" && cmp.Or(u.Monitor.Logprobs, c.Monitor.Logprobs) == "ask"
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

func actions(layers ...map[string]string) map[secret.Kind]flow.Action {
	out := map[secret.Kind]flow.Action{}
	for _, l := range layers {
		for k, a := range l {
			out[secret.Kind(k)] = flow.Action(a)
		}
	}
	return out
}
