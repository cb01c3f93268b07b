package app

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/environ"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/store/sqlite"
)

// checkup is the outcome of one check.
type checkup struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn or fail
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// checkups gathers outcomes.
type checkups struct{ all []checkup }

func (c *checkups) add(name, status, hint, format string, args ...any) {
	c.all = append(c.all, checkup{name, status, oneLine(fmt.Sprintf(format, args...)), hint})
}

func (c *checkups) ok(name, format string, args ...any) { c.add(name, "ok", "", format, args...) }

func (a *app) doctorCommand() *cobra.Command {
	var offline bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check configuration, keys, database and upstreams",
		Long: "Check the configuration, the key files and their permissions, the database, proxies and certificates, and whether the upstreams answer. It changes nothing. The exit code is 1 where a check fails.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var cs checkups
			c, err := a.load(nil)
			if err != nil {
				hint := "margay config example shows every key"
				var ce *config.Error
				if errors.As(err, &ce) && ce.Hint != "" {
					hint = ce.Hint
				}
				cs.add("configuration", "fail", hint, "%v", err)
				c = config.Default()
				c.StateDir = a.stateDir
			} else {
				checkConfig(c, &cs)
			}
			checkKeys(c, &cs)
			checkStore(cmd.Context(), c, &cs)
			checkNetwork(cmd.Context(), c, offline, &cs)
			if r, err := rulesOf(c); err != nil {
				cs.add("rules", "fail", "install margay again", "%v", err)
			} else if r != nil {
				cs.ok("rules", "%d recognisers", len(r.Rules()))
			}
			checkWork(&cs)
			v := version()
			cs.ok("version", "margay %s, %s, %s/%s", v["version"], v["go"], v["os"], v["arch"])
			if slices.ContainsFunc(cs.all, func(c checkup) bool { return c.Status == "fail" }) {
				a.code = exitFailed
			}
			return a.print(cs.all, func(w io.Writer) {
				for _, ch := range cs.all {
					fmt.Fprintf(w, "%-4s  %-14s %s\n", ch.Status, ch.Name, ch.Detail)
					if ch.Hint != "" {
						fmt.Fprintf(w, "      %-14s hint: %s\n", "", ch.Hint)
					}
				}
			})
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "do not ask the upstreams")
	return c
}

func checkConfig(c *config.Config, cs *checkups) {
	if c.File == "" {
		cs.ok("configuration", "no file at %s: defaults and environment", config.Path())
	} else {
		cs.ok("configuration", "%s", c.File)
	}
	if len(c.Unknown) > 0 {
		cs.add("environment", "warn", "margay config example shows every key", "no keys of the configuration: %s", strings.Join(c.Unknown, " "))
	}
	if c.Access.Token != "" && c.File != "" {
		if st, err := os.Stat(c.File); err == nil && st.Mode().Perm()&0o077 != 0 {
			cs.add("configuration", "warn", "chmod 600 "+c.File, "it holds access.token, and others may read it")
		}
	}
	_, main, err := c.Named("")
	if err != nil {
		cs.add("upstream", "fail", "see upstream in margay config example", "%v", err)
		return
	}
	if open := opensOnError(c, &main); len(open) > 0 {
		cs.add("on_error", "warn", "set on_error: deny", "what Margay fails to decide goes out as it is, to %s", strings.Join(open, " "))
	}
	if c.Observe {
		cs.add("observe", "warn", "set observe: false to protect", "findings are reported and nothing is changed")
	}
	if !c.Discover {
		cs.add("discover", "warn", "set discover: true", "only registered secrets are protected")
	}
}

func checkKeys(c *config.Config, cs *checkups) {
	if text, ok := os.LookupEnv(config.EnvKeys); ok {
		if _, err := keys.FromText(text); err != nil {
			cs.add("keys", "fail", "unset "+config.EnvKeys+" to use key files", "%s: %v", config.EnvKeys, err)
			return
		}
		cs.ok("keys", "from %s", config.EnvKeys)
		return
	}
	checkMode("key folder", c.Keys(), cs)
	for _, p := range keys.Paths(c.Keys()) {
		var k [32]byte
		err := keys.Read(p, &k)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			cs.ok("key", "%s will be made when it is first needed", p)
		case errors.Is(err, keys.ErrOpen):
			cs.add("key", "fail", "chmod 600 "+p, "%s may be read by other users", p)
		case err != nil:
			cs.add("key", "fail", "restore it from a backup", "%v", err)
		default:
			cs.ok("key", "%s", p)
		}
	}
}

// checkMode looks at a folder's permissions.
func checkMode(name, path string, cs *checkups) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		cs.add(name, "fail", "is it yours?", "%v", err)
	case !st.IsDir():
		cs.add(name, "fail", "move it away", "%s is no folder", path)
	case st.Mode().Perm()&0o077 != 0:
		cs.add(name, "warn", "chmod 700 "+path, "others may look into %s", path)
	default:
		cs.ok(name, "%s", path)
	}
}

func checkStore(ctx context.Context, c *config.Config, cs *checkups) {
	path := c.StorePath()
	if path == "memory" {
		cs.add("database", "warn", "set store to a file to keep secrets and allowances", "nothing is kept: store is memory")
		return
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		cs.ok("database", "%s will be made when it is first needed", path)
		return
	}
	if err := lostKey(ctx, c); err != nil && os.Getenv(config.EnvKeys) == "" {
		cs.add("database", "fail", "restore the key from a backup", "%v", err)
		return
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		hint := "see the line above"
		if errors.Is(err, sqlite.ErrOpen) {
			hint = "chmod 600 " + path
		}
		cs.add("database", "fail", hint, "%v", err)
		return
	}
	defer s.Close()
	n := 0
	for _, err := range s.Secrets(ctx) {
		if err != nil {
			cs.add("database", "fail", "restore it from a backup", "%v", err)
			return
		}
		n++
	}
	allows, err := s.Allows(ctx)
	if err != nil {
		cs.add("database", "fail", "restore it from a backup", "%v", err)
		return
	}
	cs.ok("database", "%s: %d secrets registered, %d allowances", path, n, len(allows))
}

func checkNetwork(ctx context.Context, c *config.Config, offline bool, cs *checkups) {
	for _, v := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		if p := os.Getenv(v); p != "" {
			u, err := url.Parse(p)
			if err != nil || u.Host == "" {
				cs.add("proxy", "warn", "a proxy looks like http://host:port", "%s is no URL", v)
				continue
			}
			cs.ok("proxy", "%s is %s", v, u.Host)
		}
	}
	if f := os.Getenv("SSL_CERT_FILE"); f != "" {
		cs.ok("certificates", "SSL_CERT_FILE is %s", f)
	}
	ups := map[string]config.Upstream{}
	maps.Copy(ups, c.Upstreams)
	name, main, err := c.Named("")
	if err == nil {
		ups[name] = main
	}
	for _, name := range slices.Sorted(maps.Keys(ups)) {
		up := ups[name]
		if offline {
			cs.ok("upstream", "%s at %s (not asked)", name, up.URL)
			continue
		}
		checkReach(ctx, name, &up, cs)
	}
}

func checkReach(ctx context.Context, name string, up *config.Upstream, cs *checkups) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	defer t.CloseIdleConnections()
	if up.CAFile != "" {
		pem, err := os.ReadFile(filepath.Clean(up.CAFile))
		if err != nil {
			cs.add("upstream", "fail", "see ca_file of this upstream", "%s: %v", name, err)
			return
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			cs.add("upstream", "fail", "see ca_file of this upstream", "%s: %s holds no certificate", name, up.CAFile)
			return
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(up.URL, "/")+"/models", nil)
	if err != nil {
		cs.add("upstream", "fail", "see url of this upstream", "%s has no valid URL", name)
		return
	}
	start := time.Now()
	resp, err := t.RoundTrip(req)
	if err != nil {
		cs.add("upstream", "fail", "is it running? HTTPS_PROXY names a proxy, ca_file a certificate", "%s at %s can't be reached: %v", name, up.URL, err)
		return
	}
	defer resp.Body.Close()
	took := time.Since(start).Round(time.Millisecond)
	if resp.StatusCode >= 500 {
		cs.add("upstream", "warn", "try again", "%s at %s answers with status %d", name, up.URL, resp.StatusCode)
		return
	}
	cs.ok("upstream", "%s at %s answers in %s (status %d, asked without credentials)", name, up.URL, took, resp.StatusCode)
}

// checkWork tells which files of the working folder margay run protects.
func checkWork(cs *checkups) {
	files, skipped := environ.Files(".")
	if len(files) > 0 {
		cs.ok("working folder", "margay run protects what %s hold", strings.Join(files, ", "))
	}
	if len(skipped) > 0 {
		cs.add("working folder", "warn", "are they .env files?", "too large to read: %s", strings.Join(skipped, ", "))
	}
}
