package doctor

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/internal/httpedge"
)

func checkNetwork(ctx context.Context, c *config.Config, offline bool, cs *checkups) {
	for _, v := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		if p := os.Getenv(v); p != "" {
			u, err := url.Parse(p)
			if err != nil || u.Host == "" {
				cs.add("proxy", Warn, "a proxy looks like http://host:port", "%s is no URL", v)
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
	t, err := httpedge.Transport(up.CAFile, 0)
	if err != nil {
		cs.add("upstream", Fail, "see ca_file of this upstream", "%s: %v", name, err)
		return
	}
	defer t.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(up.URL, "/")+"/models", nil)
	if err != nil {
		cs.add("upstream", Fail, "see url of this upstream", "%s has no valid URL", name)
		return
	}
	start := time.Now()
	resp, err := t.RoundTrip(req)
	if err != nil {
		cs.add("upstream", Fail, "is it running? HTTPS_PROXY names a proxy, ca_file a certificate", "%s at %s can't be reached: %v", name, up.URL, err)
		return
	}
	defer resp.Body.Close()
	took := time.Since(start).Round(time.Millisecond)
	if resp.StatusCode >= 500 {
		cs.add("upstream", Warn, "try again", "%s at %s answers with status %d", name, up.URL, resp.StatusCode)
		return
	}
	cs.ok("upstream", "%s at %s answers in %s (status %d, asked without credentials)", name, up.URL, took, resp.StatusCode)
}
