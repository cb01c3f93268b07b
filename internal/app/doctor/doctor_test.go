package doctor

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/keys"
)

// find returns the checks of a name.
func find(all []Check, name string) (out []Check) {
	for _, c := range all {
		if c.Name == name {
			out = append(out, c)
		}
	}
	return out
}

func base(t *testing.T) *config.Config {
	t.Helper()
	for _, v := range []string{"OPENAI_BASE_URL", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "SSL_CERT_FILE"} {
		t.Setenv(v, "")
	}
	c := config.Default()
	c.StateDir = filepath.Join(t.TempDir(), "state")
	return c
}

// Whatever is wrong has a next step, and looking changes nothing.
func TestFindings(t *testing.T) {
	status := http.StatusUnauthorized
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer up.Close()
	for name, one := range map[string]struct {
		set   func(*config.Config)
		err   error
		check string
		want  string
	}{
		"nothing":       {func(*config.Config) {}, nil, "upstream", OK},
		"configuration": {func(*config.Config) {}, &config.Error{Detail: "broken"}, "configuration", Fail},
		"on error":      {func(c *config.Config) { c.OnError = "pass" }, nil, "on_error", Warn},
		"observing":     {func(c *config.Config) { c.Observe = true }, nil, "observe", Warn},
		"no discovery":  {func(c *config.Config) { c.Discover = false }, nil, "discover", Warn},
		"memory":        {func(c *config.Config) { c.Store = "memory" }, nil, "database", Warn},
		"itself":        {func(c *config.Config) { c.Listen = strings.TrimPrefix(up.URL, "http://") }, nil, "upstream", Warn},
		"unknown":       {func(c *config.Config) { c.Unknown = []string{"MARGAY_X"} }, nil, "environment", Warn},
		"certificate": {func(c *config.Config) {
			c.Upstreams = map[string]config.Upstream{"a": {URL: up.URL, CAFile: "missing.pem"}}
		}, nil, "upstream", Fail},
	} {
		t.Run(name, func(t *testing.T) {
			c := base(t)
			c.Upstream = up.URL + "/v1"
			one.set(c)
			all := Run(context.Background(), c, one.err, Options{Dir: t.TempDir()})
			ok := false
			for _, ch := range find(all, one.check) {
				ok = ok || ch.Status == one.want
			}
			if !ok {
				t.Errorf("no %s of %s in %+v", one.want, one.check, all)
			}
			for _, ch := range all {
				if (ch.Status == OK) != (ch.Hint == "") || strings.Contains(ch.Detail, "\n") {
					t.Errorf("%+v", ch)
				}
			}
			if _, err := os.Stat(c.StateDir); !errors.Is(err, os.ErrNotExist) {
				t.Error("looking made the state folder")
			}
		})
	}
	status = http.StatusBadGateway
	c := base(t)
	c.Upstream = up.URL
	if got := find(Run(context.Background(), c, nil, Options{Dir: t.TempDir()}), "upstream"); got[0].Status != Warn {
		t.Errorf("an upstream that fails is %+v", got)
	}
}

func TestKeys(t *testing.T) {
	c := base(t)
	if _, err := keys.Load(c.Keys()); err != nil {
		t.Fatal(err)
	}
	look := func() []Check {
		return find(Run(context.Background(), c, nil, Options{Offline: true, Dir: t.TempDir()}), "key")
	}
	for _, ch := range look() {
		if ch.Status != OK {
			t.Errorf("%+v", ch)
		}
	}
	path := keys.Paths(c.Keys())[2]
	if err := os.WriteFile(path, []byte("margay-key-v1\nshort\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := look(); got[2].Status != Fail || got[2].Hint == "" || strings.Contains(got[2].Detail, "short") {
		t.Errorf("a broken key is %+v", got[2])
	}
}
