package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/address"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
)

// Kinds returns the kinds that a policy may name, in the order of the docs.
func Kinds() []string {
	return words(
		secret.KindAPIKey, secret.KindToken, secret.KindPassword, secret.KindPrivateKey, secret.KindConnectionString, secret.KindWebhook,
		secret.KindSecret, secret.KindEmail, secret.KindPhone, secret.KindCard, secret.KindIBAN, secret.KindNationalID, secret.KindIP, secret.KindUUID,
	)
}

// actions are those that a policy may name.
var actions = words(flow.ActAllow, flow.ActReport, flow.ActPseudonym, flow.ActRedact, flow.ActBlock)

func words[T ~string](of ...T) []string {
	out := make([]string, len(of))
	for i, w := range of {
		out[i] = string(w)
	}
	return out
}

// isPort reports whether s is a port's number or a service's name.
func isPort(s string) bool {
	_, err := net.LookupPort("tcp", s)
	return err == nil && s != ""
}

var upstreamName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// mistake is something that may be wrong with a key.
type mistake struct {
	made              bool
	key, detail, hint string
}

// first returns the first mistake that was made, as an *Error.
func first(all ...mistake) error {
	for _, m := range all {
		if m.made {
			return &Error{key: m.key, Detail: m.detail, Hint: m.hint}
		}
	}
	return nil
}

// Check checks the values. Its errors are of type *Error.
func (c *Config) Check() error {
	host, port, listen := net.SplitHostPort(c.Listen)
	err := first(
		mistake{c.Version != Version, "version", fmt.Sprintf("version %d is unknown: this program reads version %d", c.Version, Version), "upgrade margay, or see margay config example"},
		mistake{listen != nil || !isPort(port), "listen", "listen must be HOST:PORT", "the default is " + DefaultListen},
		mistake{host != "" && address.Odd(host), "listen", "listen has a host that programs read differently", plainHost},
	)
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u := c.Upstreams[name]
		err = cmp.Or(err, u.check(name))
	}
	_, _, openai := c.Named("")
	_, _, anthropic := c.Messages()
	// The tags come last: their errors repeat the names of entries, and by then a
	// secret that is there by mistake has been found.
	err = cmp.Or(err, openai, anthropic, c.Policy.check("policy"), c.Taint.check(), c.Declassify.check(), c.MCP.check(), c.Console.check(),
		checkTags(reflect.ValueOf(c).Elem(), "", false))
	if err != nil {
		return err
	}
	return c.Secrets.check(c.Limits.Held)
}

// checkTags checks the fields of a struct, and everything below it, by their
// tags: is has the accepted values (see checkValue), and with or an empty value
// is accepted, too. In the entries of a map it always is: it means the value at
// the top.
func checkTags(v reflect.Value, path string, entry bool) error {
	for i := range v.NumField() {
		tag, f := v.Type().Field(i).Tag, v.Field(i)
		at := strings.TrimPrefix(path+"."+tag.Get("yaml"), ".")
		or, optional := tag.Lookup("or")
		var err error
		switch {
		case f.Kind() == reflect.Struct:
			err = checkTags(f, at, entry)
		case f.Kind() == reflect.Map && f.Type().Elem().Kind() == reflect.Struct:
			byName := func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }
			for _, k := range slices.SortedFunc(slices.Values(f.MapKeys()), byName) {
				err = cmp.Or(err, checkTags(f.MapIndex(k), at+"."+k.String(), true))
			}
		case !f.IsZero() || !optional && !entry:
			err = checkValue(f, at, tag.Get("is"), or)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkValue checks a value by one of these:
//
//	one a b           one of these words
//	duration 2m       a positive duration; 2m is an example
//	between 0 and 8   a whole number
//	at least 64 bytes a whole number
func checkValue(f reflect.Value, key, is, or string) error {
	kind, rest, _ := strings.Cut(is, " ")
	var from, to int64
	switch kind {
	case "one":
		return oneOf(key, f.String(), strings.Fields(rest))
	case "duration":
		if Duration(f.String()).Value() > 0 {
			return nil
		}
		is = "a duration such as " + rest
	case "between":
		if n, _ := fmt.Sscanf(rest, "%d and %d", &from, &to); n == 2 && f.Int() >= from && f.Int() <= to {
			return nil
		}
	case "at":
		if n, _ := fmt.Sscanf(rest, "least %d", &from); n == 1 && f.Int() >= from {
			return nil
		}
	default:
		return nil
	}
	if or != "" {
		is += ", or " + or
	}
	return &Error{key: key, Detail: key + " must be " + is}
}

// Duration is a time such as 10m.
type Duration string

// Value returns the time; 0 if d is empty or not a time.
func (d Duration) Value() time.Duration {
	v, _ := time.ParseDuration(string(d))
	return v
}

func (u *Upstream) check(name string) error {
	key := "upstreams." + name
	reserved := slices.Contains([]string{"v1", "mcp", "console", "api"}, name)
	return cmp.Or(
		first(
			mistake{reserved || !upstreamName.MatchString(name), key, shown(name) + " can't name an upstream", "use lower-case letters, digits and dashes"},
			mistake{u.URL == "", key, key + ".url is missing", "add the API's base URL, such as " + DefaultUpstream},
		),
		checkURL(key+".url", u.URL),
		first(mistake{u.Monitor.Model != "", key + ".monitor.model", key + ".monitor.model can't be set: one model judges all upstreams", "set monitor.model at the top"}),
		u.Policy.check(key+".policy"),
	)
}

// plainHost is what to do about a host such as 0x7f.1.
const plainHost = "write a name, or a plain address such as 127.0.0.1 or [::1]"

func checkURL(key, s string) error {
	u, err := url.Parse(s)
	if err != nil {
		u = &url.URL{}
	}
	return first(
		mistake{u.Scheme != "http" && u.Scheme != "https" || u.Host == "", key, key + " must be an http or https URL", "such as " + DefaultUpstream},
		mistake{u.Host != "" && address.Odd(u.Hostname()), key, key + " has a host that programs read differently", plainHost},
		// The URL itself is not quoted: it may hold a password.
		mistake{
			u.User != nil || u.RawQuery != "" || u.Fragment != "", key, key + " must not hold credentials, a query or a fragment",
			"callers send their own credentials, which are forwarded to this upstream alone",
		},
	)
}

func (p *Policy) check(key string) error {
	for _, d := range []struct {
		name string
		of   map[string]string
	}{{"prompt", p.Prompt}, {"generate", p.Generate}} {
		for _, k := range slices.Sorted(maps.Keys(d.of)) {
			at := key + "." + d.name + "." + k
			unknown := mistake{!slices.Contains(Kinds(), k), at, shown(k) + " is not a kind of finding", meant(k, Kinds(), "kinds are ")}
			if err := cmp.Or(first(unknown), oneOf(at, d.of[k], actions)); err != nil {
				return err
			}
		}
	}
	return nil
}

func oneOf(key, v string, of []string) error {
	return first(mistake{!slices.Contains(of, v), key, key + " must be one of: " + strings.Join(of, " "), meant(v, of, "")})
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

// Console says what to keep for the web page, and who may use it.
type Console struct {
	Enabled   bool                   `yaml:"enabled"`   // keep events, and serve the page with margay serve
	Texts     bool                   `yaml:"texts"`     // keep the texts of answers, after mediation
	Users     map[string]ConsoleUser `yaml:"users"`     // those who log in with a password
	Header    string                 `yaml:"header"`    // the header in which a proxy names the user
	Proxies   []string               `yaml:"proxies"`   // addresses of such proxies
	Operators []string               `yaml:"operators"` // users from the header who may answer
}

// ConsoleUser is somebody who logs in with a password.
type ConsoleUser struct {
	Password string `yaml:"password"`                      // its bcrypt hash, by margay console password
	Role     string `yaml:"role" is:"one viewer operator"` // "viewer" or "operator"
}

// Proxy reads an address or a range of them.
func Proxy(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

func (c *Console) check() (err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Users)) {
		key := "console.users." + name
		_, bad := bcrypt.Cost([]byte(c.Users[name].Password))
		err = cmp.Or(err, first(
			// What is not a hash may be the password itself: it is not quoted.
			mistake{bad != nil, key + ".password", key + ".password is not a bcrypt hash", "margay console password makes one"},
			mistake{len(name) > 128, key, "a name under console.users is longer than 128 bytes", ""},
		))
	}
	for _, p := range c.Proxies {
		_, bad := Proxy(p)
		err = cmp.Or(err, first(mistake{bad != nil, "console.proxies", fmt.Sprintf("console.proxies: %s is not an address", shown(p)), "such as 10.0.0.2 or 10.0.0.0/8"}))
	}
	return cmp.Or(err, first(mistake{
		c.Header != "" && len(c.Proxies) == 0, "console.header", "console.header is read only from console.proxies, and there are none",
		"list the addresses of the proxy that sets it",
	}))
}

// Taint says how tool calls are checked by what may influence them.
type Taint struct {
	Mode string `yaml:"mode" is:"one off report on"` // "off", "report" or "on"
	// Packs are files of packs, and names of built-in packs of suites, besides the
	// built-in packs of harnesses and servers. One for a harness or a server takes
	// the place of the built-in pack for it.
	Packs []string `yaml:"packs"`
	// Workspaces are folders that the user trusts, besides those of margay trust.
	Workspaces []string `yaml:"workspaces"`
	// Servers are MCP servers to which the harness gives another name than their
	// pack: the pack's name by the harness's.
	Servers map[string]string `yaml:"servers"`
	Lattice string            `yaml:"lattice" is:"one machine four-point sets"` // "machine", "four-point" or "sets"
	Self    string            `yaml:"self"`                                     // the user's name, in sets
	// Lists are what the packs' conditions refer to by name.
	Lists  map[string][]string `yaml:"lists"`
	Screen string              `yaml:"screen" is:"one replay all none lexical judge saliency"` // "replay", "all", "none", "lexical", "judge" or "saliency"
	Judge  LLM                 `yaml:"judge"`                                                  // the endpoint of the screener judge
	// Saliency is the local model of the screener saliency (lab/local/runner).
	Saliency LLM      `yaml:"saliency"`
	Wait     Duration `yaml:"wait" is:"duration 2m"` // longest wait for a person's answer
	// GoOn is how often, in one turn, Margay reports to a model that all its calls
	// were refused, and lets it go on at once.
	GoOn int `yaml:"go_on" is:"between 0 and 8"`
}

func (t *Taint) check() (err error) {
	switch t.Screen {
	case "judge":
		err = t.Judge.check("taint.judge", "the judge reads what the model reads")
	case "saliency":
		l := t.Saliency
		l.Model = "local" // it has one model
		err = l.check("taint.saliency", "the local model reads what the model reads")
	}
	return cmp.Or(err, first(mistake{t.Lattice == "sets" && t.Self == "", "taint.self", "taint.self is missing", "in the lattice of sets, name the user: usually the mail address"}))
}

// MCP says what to do about MCP servers, and which ones to serve over HTTP.
type MCP struct {
	// ChangedTools says what to do about a tool whose description or schema has
	// changed since first sight: "report" or "deny".
	ChangedTools string               `yaml:"changed_tools" is:"one report deny"`
	Servers      map[string]MCPServer `yaml:"servers"`
}

// MCPServer is an MCP server behind /mcp/NAME.
type MCPServer struct {
	URL          string `yaml:"url"`
	CAFile       string `yaml:"ca_file"`
	OnError      string `yaml:"on_error" is:"one deny pass"`        // empty: as at the top
	ChangedTools string `yaml:"changed_tools" is:"one report deny"` // empty: as in mcp
	// Policy overrides the top-level one, kind by kind.
	Policy Policy `yaml:"policy"`
}

// upstream is what a server has in common with a model API.
func (s *MCPServer) upstream() *Upstream {
	return &Upstream{URL: s.URL, CAFile: s.CAFile, OnError: s.OnError, Policy: s.Policy}
}

func (m *MCP) check() (err error) {
	for _, name := range slices.Sorted(maps.Keys(m.Servers)) {
		s, key := m.Servers[name], "mcp.servers."+name
		err = cmp.Or(err,
			first(
				mistake{!upstreamName.MatchString(name), key, shown(name) + " can't name an MCP server", "use lower-case letters, digits and dashes"},
				mistake{s.URL == "", key, key + ".url is missing", "add the URL of its streamable HTTP endpoint"},
			),
			checkURL(key+".url", s.URL),
			first(mistake{s.Policy.OnRed != "", key + ".policy.on_red", key + ".policy.on_red can't be set: messages of tools do not stream", ""}),
			s.Policy.check(key+".policy"),
		)
	}
	return err
}

// MediationMCP returns the policy for a server's messages, and whether they
// pass if Margay fails.
func (c *Config) MediationMCP(s *MCPServer) (p mediator.Policy, pass bool) {
	return c.Mediation(s.upstream()), c.OnErrorPass(s.upstream())
}

// PassingServers names the MCP servers whose messages pass if Margay fails.
func (c *Config) PassingServers() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		if s := c.MCP.Servers[name]; c.OnErrorPass(s.upstream()) {
			out = append(out, "mcp/"+name)
		}
	}
	return out
}

// DenyChanged reports whether changed tools of a server are refused.
func (c *Config) DenyChanged(s *MCPServer) bool {
	return cmp.Or(s.ChangedTools, c.MCP.ChangedTools) == "deny"
}
