package privacy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/internal/app/serve"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/ledger/charge"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
)

// Defences are the configurations that are measured, by their names: the gateway
// without declassification, with no rubric in force, so that the fallback holds,
// and with the library's rubrics and each defender.
func Defences() []string { return []string{"none", "fallback", "rules"} }

// call is one that the model makes.
type call struct {
	tool      string
	arguments []byte
}

// arrived is what the client has of a call.
type arrived struct {
	made      bool
	arguments []byte
	reasons   []string       // codes of what was decided
	atoms     map[string]int // operators and fields of the ledger's atoms
	bits      float64        // charged
}

// gateway is a running gateway, between a client and a model that is scripted.
type gateway struct {
	base  string
	state *state.State
	next  *call
	seen  string // id of the last decision that was read
	close []func()
}

// open starts a gateway with these tools, under a defence.
func open(ctx context.Context, defence string, tools map[string]config.ReleaseTool) (_ *gateway, err error) {
	if !slices.Contains(Defences(), defence) {
		return nil, fmt.Errorf("unknown defence %q", defence)
	}
	g := &gateway{}
	defer func() {
		if err != nil {
			g.Close()
		}
	}()
	dir, err := os.MkdirTemp("", "margay-privacy-")
	if err != nil {
		return nil, err
	}
	g.close = append(g.close, func() { _ = os.RemoveAll(dir) })
	far, err := g.listen(ctx, http.HandlerFunc(g.model))
	if err != nil {
		return nil, err
	}
	c := config.Default()
	c.StateDir, c.KeyDir, c.Store, c.Console.Enabled = dir, dir+"/keys", "memory", false
	c.Upstream, c.Upstreams = "model", map[string]config.Upstream{"model": {URL: "http://" + far + "/v1", API: "openai"}}
	c.Declassify.Tools = tools
	if defence != "none" {
		c.Declassify.Mode = "on"
	}
	if defence != "none" && defence != "fallback" {
		c.Declassify.Defender = defence
		if err := publish(c); err != nil {
			return nil, err
		}
	}
	if g.state, err = state.Open(ctx, c); err != nil {
		return nil, err
	}
	g.close = append(g.close, g.state.Close)
	ln, err := serve.Listen(c, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s, err := serve.New(c, g.state, serve.Options{Listener: ln, Log: slog.New(slog.DiscardHandler), Grace: time.Second})
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { // ends when Close cancels serving
		defer close(done)
		_ = s.Serve(serving)
	}()
	g.close = append(g.close, func() { stop(); <-done })
	g.base = s.Base()
	return g, nil
}

// publish puts the library's rubrics into force, as the user would.
func publish(c *config.Config) error {
	var all []*rubric.Rubric
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	folder := rubrics.Of(c)
	files, err := folder.Sign(all...)
	if err != nil {
		return err
	}
	_, err = folder.Put(files...)
	return err
}

func (g *gateway) listen(ctx context.Context, h http.Handler) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }() // ends with Close
	g.close = append(g.close, func() { _ = s.Close() })
	return ln.Addr().String(), nil
}

// Close ends it.
func (g *gateway) Close() {
	for _, f := range slices.Backward(g.close) {
		f()
	}
}

// model answers with the next call.
func (g *gateway) model(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "recorded",
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "tool_calls",
			"message": map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{
				map[string]any{"id": "call_1", "type": "function", "function": map[string]any{"name": g.next.tool, "arguments": string(g.next.arguments)}},
			}},
		}},
	})
}

// prompt is the same in all cases: what is measured is the call.
const prompt = `{"model":"recorded","messages":[{"role":"user","content":"Please do the next task of the list."}]}`

// send makes a request that the model answers with a call, in a trajectory of
// its own. It is not safe for concurrent use.
func (g *gateway) send(ctx context.Context, c *call) (*arrived, error) {
	g.next = c
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/v1/chat/completions", bytes.NewReader([]byte(prompt)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	family := flow.NewID()
	req.Header.Set("Margay-Trajectory", family)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	out := &arrived{atoms: map[string]int{}}
	if resp.StatusCode == http.StatusOK {
		var answer struct {
			Choices []struct {
				Message struct {
					Calls []struct {
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"message"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, fmt.Errorf("the gateway's answer: %w", err)
		}
		for _, ch := range answer.Choices {
			for _, call := range ch.Message.Calls {
				if call.Function.Name != c.tool || out.made {
					return nil, errors.New("the gateway's answer has a call that the model did not make")
				}
				out.made, out.arguments = true, []byte(call.Function.Arguments)
			}
		}
	}
	return out, g.why(ctx, flow.TrajectoryID(family), out)
}

// why reads what was decided since the last call, and charged to its family.
func (g *gateway) why(ctx context.Context, family flow.TrajectoryID, out *arrived) error {
	all, err := g.state.Store.Decisions(ctx, g.seen, 100)
	if err != nil {
		return err
	}
	for i := range all {
		g.seen = all[i].ID
		for _, r := range all[i].Reasons {
			if !slices.Contains(out.reasons, r.Code) {
				out.reasons = append(out.reasons, r.Code)
			}
		}
	}
	entries, err := g.state.Store.Entries(ctx, family, 0, 10)
	if err != nil {
		return err
	}
	for i := range entries {
		e, err := charge.Decode(entries[i].Bytes)
		if err != nil {
			return err
		}
		out.bits += float64(e.Charge) / float64(flow.Bit)
		for k := range e.Atoms {
			a := &e.Atoms[k]
			out.atoms[a.Op.String()+" "+a.Field]++
		}
	}
	return nil
}
