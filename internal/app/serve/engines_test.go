package serve

import (
	"fmt"
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// Upstreams of one policy share an engine; of others they do not.
func TestEngines(t *testing.T) {
	c := config.Default()
	c.Upstreams = map[string]config.Upstream{
		"a": {URL: "http://a.example/v1"},
		"b": {URL: "http://b.example/v1"},
		"c": {URL: "http://c.example/v1", Policy: config.Policy{Prompt: map[string]string{"email": "block"}}},
		"d": {URL: "http://d.example/v1", OnError: "pass"},
	}
	es := &engines{base: mediator.Config{Config: session.Config{Store: memory.New(), Keys: secret.NewKeys()}}}
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
