package doctor

import (
	"context"
	"maps"
	"net/url"
	"os"
	"slices"
	"sync"

	"github.com/margaydev/margay/internal/app/config"
)

// atOnce bounds the upstreams that are asked at the same time.
const atOnce = 8

func checkNetwork(ctx context.Context, c *config.Config, offline bool, cs *checkups) {
	for _, v := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		if p := os.Getenv(v); p != "" {
			u, err := url.Parse(p)
			if err != nil || u.Host == "" {
				cs.add("proxy", Warn, "a proxy looks like http://host:port", "%s is not a URL", v)
				continue
			}
			cs.ok("proxy", "%s is %s", v, u.Host)
		}
	}
	if f := os.Getenv("SSL_CERT_FILE"); f != "" {
		cs.ok("certificates", "SSL_CERT_FILE is %s", f)
	}
	all := targets(c, cs)
	if offline {
		for i := range all {
			cs.ok(all[i].key, "%s at %s (not asked)", all[i].name, all[i].shown())
		}
		return
	}
	found := make([]Check, len(all))
	var group sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range all {
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			found[i] = all[i].reach(ctx)
		})
	}
	group.Wait()
	cs.all = append(cs.all, found...)
}

// targets are the upstreams that the configuration names, and the default one of
// OpenAI's API.
func targets(c *config.Config, cs *checkups) (all []target) {
	ups := map[string]config.Upstream{}
	maps.Copy(ups, c.Upstreams)
	if name, main, err := c.Named(""); err == nil {
		ups[name] = main
	}
	if name, claude, err := c.Messages(); err == nil {
		if _, named := ups[name]; !named && c.Anthropic == "" && os.Getenv("ANTHROPIC_BASE_URL") == "" {
			cs.ok("anthropic", "%s, which nothing configures (not asked)", claude.URL)
		} else if was, ok := ups[name]; !ok || was.URL == claude.URL {
			ups[name] = claude
		} else { // both are on one host
			all = append(all, target{"upstream", name, claude.URL, claude.CAFile})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ups)) {
		all = append(all, target{"upstream", name, ups[name].URL, ups[name].CAFile})
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		all = append(all, target{"mcp server", name, c.MCP.Servers[name].URL, c.MCP.Servers[name].CAFile})
	}
	return all
}
