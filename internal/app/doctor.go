package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/sqlite"
)

// checkup is the outcome of one check.
type checkup struct {
	Name   string `json:"name"`
	Status string `json:"status"` // ok, warn or fail
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check configuration, keys, database and upstream",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var out []checkup
			add := func(name, status, hint, format string, args ...any) {
				out = append(out, checkup{name, status, fmt.Sprintf(format, args...), hint})
			}
			c, err := a.load(nil)
			if err != nil {
				add("configuration", "fail", "margay config example", "%v", err)
				c = config.Default()
			} else {
				add("configuration", "ok", "", "%s", config.Path())
			}
			checkKeys(c, add)
			checkStore(cmd.Context(), c, add)
			checkReach(cmd.Context(), c, add)
			if r, err := recognise.Default(); err != nil {
				add("rules", "fail", "reinstall margay", "%v", err)
			} else {
				add("rules", "ok", "", "%d rules", len(r.Rules()))
			}
			if c.OnError == "pass" {
				add("on_error", "warn", "set on_error: deny", "what Margay fails to decide goes out as it is")
			}
			v := version()
			add("version", "ok", "", "margay %s, %s", v["version"], v["go"])
			for _, ch := range out {
				if ch.Status == "fail" {
					a.code = exitFailed
				}
			}
			return a.print(out, func(w io.Writer) {
				for _, ch := range out {
					fmt.Fprintf(w, "%-4s %-14s %s\n", ch.Status, ch.Name, ch.Detail)
					if ch.Hint != "" {
						fmt.Fprintf(w, "                    hint: %s\n", ch.Hint)
					}
				}
			})
		},
	}
}

type adder func(name, status, hint, format string, args ...any)

func checkKeys(c *config.Config, add adder) {
	for _, p := range keys.Paths(c.Keys()) {
		var k [32]byte
		err := keys.Read(p, &k)
		switch {
		case errors.Is(err, os.ErrNotExist):
			add("key", "ok", "", "%s will be made when first needed", p)
		case err != nil:
			add("key", "fail", "see SECURITY.md on keys", "%v", err)
		default:
			add("key", "ok", "", "%s", p)
		}
	}
}

func checkStore(ctx context.Context, c *config.Config, add adder) {
	path := c.StorePath()
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		add("database", "ok", "", "%s will be made when first needed", path)
		return
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		add("database", "fail", "", "%v", err)
		return
	}
	defer s.Close()
	n := 0
	for _, err := range s.Secrets(ctx) {
		if err != nil {
			add("database", "fail", "", "%v", err)
			return
		}
		n++
	}
	add("database", "ok", "", "%s, %d secrets registered", path, n)
}

func checkReach(ctx context.Context, c *config.Config, add adder) {
	_, up, err := c.Named("")
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(up.URL, "/")+"/models", nil)
	if err != nil {
		add("upstream", "fail", "see upstream.url", "%v", err)
		return
	}
	start := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		add("upstream", "fail", "is it running? a proxy is taken from HTTPS_PROXY, certificates from upstream.ca_file", "%s: %v", up.URL, err)
		return
	}
	_ = resp.Body.Close()
	add("upstream", "ok", "", "%s answers (%d) in %d ms", up.URL, resp.StatusCode, time.Since(start).Milliseconds())
}

// Version is set when a release is built.
var Version = ""

func version() map[string]string {
	v := Version
	rev := ""
	if bi, ok := debug.ReadBuildInfo(); ok {
		if v == "" {
			v = bi.Main.Version
		}
		for _, s := range bi.Settings {
			if s.Key == "vcs.revision" {
				rev = s.Value
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return map[string]string{"version": v, "revision": rev, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", RunE: func(*cobra.Command, []string) error {
		v := version()
		return a.print(v, func(w io.Writer) { fmt.Fprintf(w, "margay %s %s %s/%s\n", v["version"], v["go"], v["os"], v["arch"]) })
	}}
}
