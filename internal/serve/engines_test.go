package serve

import (
	"fmt"
	"testing"

	"github.com/margaydev/margay/internal/config"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// Upstreams of one policy share an engine; of others they do not.
func TestEngines(t *testing.T) {
	c, err := config.Parse("c.yaml", []byte("upstream: a\nupstreams:\n  a: {url: http://a.example/v1}\n  b: {url: http://b.example/v1}\n"+
		"  c: {url: http://c.example/v1, policy: {prompt: {email: block}}}\n  d: {url: http://d.example/v1, on_error: pass}\n"))
	if err != nil {
		t.Fatal(err)
	}
	es := &engines{base: mediator.Config{Store: memory.New(), Keys: secret.NewKeys()}}
	var got []string
	for _, name := range []string{"a", "b", "c", "d"} {
		u := c.Upstreams[name]
		e, err := es.get(c.Mediation(&u), c.OnErrorPass(&u))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%p", e))
	}
	if got[0] != got[1] || got[0] == got[2] || got[2] == got[3] || got[0] == got[3] {
		t.Errorf("engines: %v", got)
	}
}
