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
	"strings"
	"sync"
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
func Defences() []string { return []string{"none", "fallback", "rules", "tagger"} }

// call is one that the model makes.
type call struct {
	tool      string
	arguments []byte
}

// arrived is what the client has of a call.
type arrived struct {
	made      bool
	arguments []byte
	told      bool           // the agent is told that the call was altered or not made
	reasons   []string       // codes of what was decided
	atoms     map[string]int // operators and fields of the ledger's atoms
	bits      float64        // charged
}

// gateway is a running gateway, between a client and a model that is scripted.
type gateway struct {
	base  string
	state *state.State
	next  *call  // that the model makes; nil: it says that it is done
	body  []byte // of the last request that the model got
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

// shipped are the library's rubrics, compiled once.
var shipped = sync.OnceValues(func() (all []*rubric.Rubric, err error) {
	for _, f := range library.All() {
		r, err := library.Rubric(f.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
})

// publish puts the library's rubrics into force, as the user would.
func publish(c *config.Config) error {
	all, err := shipped()
	if err != nil {
		return err
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
	g.body, _ = io.ReadAll(r.Body)
	said, finish := message{Role: "assistant", Content: "done"}, "stop"
	if g.next != nil {
		said, finish = calling(g.next.tool, g.next.arguments), "tool_calls"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "recorded",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": said}},
	})
}

// message is one of the chat completions API.
type message struct {
	Role    string     `json:"role"`
	Content any        `json:"content"` // text or nil
	Calls   []toolCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

const callID = "call_1"

// calling is a message with one call.
func calling(tool string, arguments []byte) message {
	c := toolCall{ID: callID, Type: "function"}
	c.Function.Name, c.Function.Arguments = tool, string(arguments)
	return message{Role: "assistant", Calls: []toolCall{c}}
}

// opening is the same in all cases: what is measured is the call.
func opening() message {
	return message{Role: "user", Content: "Please do the next task of the list."}
}

// send makes a request that the model answers with a call, in a trajectory of
// its own. It is not safe for concurrent use.
func (g *gateway) send(ctx context.Context, c *call) (*arrived, error) {
	g.next = c
	family := flow.NewID()
	said, err := g.ask(ctx, family, opening())
	if err != nil {
		return nil, err
	}
	out := &arrived{atoms: map[string]int{}}
	if len(said.Calls) > 0 {
		f := &said.Calls[0].Function
		if len(said.Calls) > 1 || f.Name != c.tool {
			return nil, errors.New("the gateway's answer has a call that the model did not make")
		}
		out.made, out.arguments = true, []byte(f.Arguments)
	} else if text, ok := said.Content.(string); ok {
		out.told = strings.Contains(text, marked)
	}
	if err := g.why(ctx, flow.TrajectoryID(family), out); err != nil || !out.made || bytes.Equal(out.arguments, c.arguments) {
		return out, err
	}
	// The tool's result is what the agent reads next.
	g.next = nil
	if _, err := g.ask(ctx, family, opening(), calling(c.tool, out.arguments), message{Role: "tool", CallID: callID, Content: "done"}); err != nil {
		return nil, err
	}
	out.told = bytes.Contains(g.body, []byte(marked))
	return out, nil
}

// marked is how what Margay tells an agent begins.
const marked = "[margay"

// ask makes a request, and returns the answer; none if it is denied.
func (g *gateway) ask(ctx context.Context, family string, turns ...message) (said message, err error) {
	body, err := json.Marshal(map[string]any{"model": "recorded", "messages": turns})
	if err != nil {
		return said, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.base+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Margay-Trajectory", family)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return said, err
	}
	defer resp.Body.Close()
	if body, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		return said, err
	}
	var answer struct {
		Choices []struct {
			Message message `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Choices) != 1 {
		return said, errors.Join(errors.New("the gateway's answer has no choice"), err)
	}
	return answer.Choices[0].Message, nil
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
