package gateway

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/strictjson"
)

// prompts measures how long a prompt of a megabyte of source waits, and the next
// turn of its conversation, which has all of that again. No two have the same text.
func (g *rig) prompts(ctx context.Context) error {
	const size, slice = 1 << 20, "prompt=1048576"
	if !g.wants(slice) {
		return nil
	}
	rng := rand.New(rand.NewPCG(g.o.Seed, 7)) //nolint:gosec // texts
	parties := []*party{g.plain, g.margay}
	first, second := make([][]time.Duration, len(parties)), make([][]time.Duration, len(parties))
	c := client(1)
	defer c.CloseIdleConnections()
	// The first rounds are not counted: buffers and automata grow.
	for round := range 2 + max(g.o.Rounds, 2) {
		for i, p := range parties {
			said := strictjson.AppendQuote(nil, []byte(source(rng, size)))
			opening := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%s}`, said)
			t1, err := timed(ctx, c, p.base+chat.path, opening+"]}")
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			t2, err := timed(ctx, c, p.base+chat.path, opening+`,{"role":"assistant","content":"It is there."},{"role":"user","content":"Where?"}]}`)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if round > 1 {
				first[i], second[i] = append(first[i], t1), append(second[i], t2)
			}
		}
	}
	g.prompted(slice+",turn=first", parties, first)
	g.prompted(slice+",turn=second", parties, second)
	return nil
}

// prompted adds the rows of a turn.
func (g *rig) prompted(slice string, parties []*party, took [][]time.Duration) {
	for i, p := range parties {
		row := g.row(p, slice, map[string]float64{"p50_ms": quantile(took[i], 0.5) / 1000})
		if p == g.margay {
			row.Metrics["added_p50_ms"] = (quantile(took[i], 0.5) - quantile(took[0], 0.5)) / 1000
		}
	}
}

// timed makes a request and returns the time to the end of its answer.
func timed(ctx context.Context, c *http.Client, url, body string) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	start := time.Now()
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", resp.StatusCode)
	}
	return time.Since(start), nil
}
