package config

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/crypto/bcrypt"
)

// Console says what is kept for the web page, and who may use it.
type Console struct {
	Enabled   bool                   `yaml:"enabled"`   // what happens is kept, and margay serve has the page
	Texts     bool                   `yaml:"texts"`     // keep what answers say, after mediation
	Users     map[string]ConsoleUser `yaml:"users"`     // those who log in with a password
	Header    string                 `yaml:"header"`    // where a proxy tells who is asking
	Proxies   []string               `yaml:"proxies"`   // addresses of such proxies
	Operators []string               `yaml:"operators"` // of those whom it tells: they may answer
	Results   string                 `yaml:"results"`   // folder with results of benchmarks
}

// ConsoleUser is somebody who logs in with a password.
type ConsoleUser struct {
	Password string `yaml:"password"` // its bcrypt hash, by margay console password
	Role     string `yaml:"role"`     // "viewer" or "operator"
}

// Proxy reads an address or a range of them.
func Proxy(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err
}

func (c *Console) check() error {
	for _, name := range slices.Sorted(maps.Keys(c.Users)) {
		u := c.Users[name]
		key := "console.users." + name
		// What is no hash may be the password itself: it is not quoted.
		if _, err := bcrypt.Cost([]byte(u.Password)); err != nil {
			return &Error{key: key + ".password", Detail: key + ".password is no bcrypt hash", Hint: "margay console password makes one"}
		}
		if u.Role != "" {
			if err := oneOf(key+".role", u.Role, []string{"viewer", "operator"}); err != nil {
				return err
			}
		}
		if len(name) > 128 {
			return &Error{key: key, Detail: "a name under console.users is longer than 128 bytes"}
		}
	}
	for _, p := range c.Proxies {
		if _, err := Proxy(p); err != nil {
			return &Error{key: "console.proxies", Detail: fmt.Sprintf("console.proxies: %s is no address", shown(p)), Hint: "such as 10.0.0.2 or 10.0.0.0/8"}
		}
	}
	if c.Header != "" && len(c.Proxies) == 0 {
		return &Error{key: "console.header", Detail: "console.header is believed from console.proxies alone, and there are none", Hint: "list the addresses of the proxy that sets it"}
	}
	return nil
}
