package prism

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/lab/prism/world"
)

// RecordOptions say what to record and of which model.
type RecordOptions struct {
	// BaseURL is an OpenAI-compatible endpoint, Margay's gateway or another;
	// "/chat/completions" is put behind it. It must give log-probabilities.
	BaseURL, Key string
	// Model is asked for. ModelHash and Server are noted: the digest of the
	// weights, and what served them.
	Model, ModelHash, Server string
	Vocabulary               int // of the model's tokens
	// Out is the record, gzipped JSON lines. While it is made it grows in
	// OUT.part; what is there already is not asked for again.
	Out         string
	Repository  string // "payments" where empty
	Seed        uint64
	N           int // tasks; 400 where 0
	Temperature float64
	// Varied recordings put each task in a style and at a temperature of its
	// own (world.Task.Manner), and keep telemetry where the server gives it.
	Varied  bool
	Workers int // tasks at once; 1 where 0. The record does not depend on it
	// Instruction is put behind the system prompt: the defence "prompt". As
	// that acts before a token is written, no alternatives are recorded then.
	Instruction string
	Client      *http.Client // one with a time-out of half an hour where nil
	Progress    func(string)
}

// Record plays the first tasks with a real model in the agents' place and
// keeps what it said, token by token, with the log-probabilities that the
// server gave. The tasks are the simulation's, in short prompts fit for a small
// model: in a leaking task it is asked for secrets, in a clean one for decoys.
// What it then tells is the truth, found by comparing with the repository's
// secrets (world.Finder). An interrupted recording goes on where it stopped, and
// a record of fewer tasks grows.
func Record(ctx context.Context, o RecordOptions) error {
	h, err := o.header()
	if err != nil {
		return err
	}
	r, err := repository(h.Repository, h.Seed)
	if err != nil {
		return err
	}
	for _, s := range r.Secrets {
		h.Secrets = append(h.Secrets, secret(s))
	}
	tasks, err := r.Tasks(h.Tasks)
	if err != nil {
		return err
	}
	if err := reopen(o.Out, h); err != nil {
		return err
	}
	part, have, err := resume(o.Out+".part", h)
	if err != nil {
		return err
	}
	defer part.Close()
	if err := o.play(ctx, h, tasks, r.Finder(), part, have); err != nil {
		return err
	}
	order := make([]string, len(tasks))
	for i := range tasks {
		order[i] = tasks[i].ID
	}
	return finish(o.Out, order)
}

// play asks for the tasks that part does not have yet, Workers at a time, and
// writes each when it is complete. The first error ends it.
func (o *RecordOptions) play(ctx context.Context, h *Header, tasks []world.Task, find *world.Finder, part io.Writer, have map[string]bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var writing sync.Mutex
	done := len(have)
	one := func(t *world.Task) error {
		taken, err := o.task(ctx, h, t, find)
		if err != nil {
			return fmt.Errorf("record: %s, %w", t.ID, err)
		}
		writing.Lock()
		defer writing.Unlock()
		if done++; o.Progress != nil {
			o.Progress(fmt.Sprintf("%d of %d tasks", done, len(tasks)))
		}
		return appendLine(part, taken)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, o.Workers))
	for _, i := range inBlocks(tasks, h.Varied) {
		if have[tasks[i].ID] {
			continue
		}
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := one(&tasks[i]); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// block is how many tasks are complete before the next ones begin, about.
const block = 250

// inBlocks is the order in which tasks are played: of varied ones, those with
// long contexts together at the end of their block, since a server that
// evaluates several at once takes as long as the longest needs.
func inBlocks(tasks []world.Task, varied bool) []int {
	order := make([]int, len(tasks))
	for i := range order {
		order[i] = i
	}
	if varied {
		late := func(i int) int {
			if tasks[i].Manner().Long {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(a/block, b/block), cmp.Compare(late(a), late(b)))
		})
	}
	return order
}

// task asks all agents.
func (o *RecordOptions) task(ctx context.Context, h *Header, t *world.Task, find *world.Finder) (*taken, error) {
	var turns []*Recorded
	before := ""
	for agent, name := range world.Agents {
		r, err := o.ask(ctx, h, t, agent, before)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, e := range find.Find(r.Text()) {
			r.Emissions = append(r.Emissions, told(e))
		}
		turns = append(turns, r)
		before = r.Text()
	}
	b, err := plainJSON(turns)
	if err != nil {
		return nil, err
	}
	return &taken{t.ID, checksum(b), b}, nil
}

func (o *RecordOptions) header() (*Header, error) {
	if o.BaseURL == "" || o.Model == "" || o.Out == "" || o.Vocabulary <= 1 {
		return nil, errors.New("record: an endpoint, a model, its vocabulary's size and a file are needed")
	}
	h := &Header{
		Version: recordVersion, Kind: "prism-record", Model: o.Model, ModelHash: o.ModelHash, Server: o.Server, Vocabulary: o.Vocabulary,
		Repository: o.Repository, Seed: o.Seed, Tasks: o.N, Temperature: o.Temperature, MaxTokens: recordTokens, TopLogprobs: recordTop, Decimals: 2,
		Floor: recordFloor, Instruction: o.Instruction, Varied: o.Varied,
	}
	if o.Varied {
		h.Telemetry = columns
	}
	if h.Repository == "" {
		h.Repository = "payments"
	}
	if h.Tasks == 0 {
		h.Tasks = 400
	}
	if h.Instruction != "" {
		h.TopLogprobs, h.Floor = 0, 0
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 30 * time.Minute}
	}
	return h, nil
}

// spokenAnswer is what is read of a server's answer.
type spokenAnswer struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Logprobs     *struct {
			Content []struct {
				option
				Top []option `json:"top_logprobs"`
			} `json:"content"`
		} `json:"logprobs"`
		Telemetry *struct {
			Tokens []*inside `json:"tokens"`
		} `json:"margay_telemetry"`
	} `json:"choices"`
}

// inside is a token's telemetry (docs/format/telemetry.md), with what
// lab/local/runner adds to it.
type inside struct {
	HiddenNorm     *float64 `json:"hidden_norm"`
	HiddenVariance *float64 `json:"hidden_variance"`
	HiddenSize     *float64 `json:"hidden_size"`
	Attention      shares   `json:"attention"`
	Entropy        *float64 `json:"entropy"`
}

type shares struct {
	Public  *float64 `json:"public"`
	Private *float64 `json:"private"`
	System  *float64 `json:"system"`
	Own     *float64 `json:"own"`
}

// row is in the order of columns.
func (i *inside) row() []float64 {
	a := &i.Attention
	var out []float64
	for _, x := range []*float64{i.HiddenNorm, i.HiddenVariance, i.HiddenSize, a.Public, a.Private, a.System, a.Own, i.Entropy} {
		if x == nil {
			out = append(out, -1)
		} else {
			out = append(out, digits(*x))
		}
	}
	return out
}

func (o *RecordOptions) ask(ctx context.Context, h *Header, t *world.Task, agent int, before string) (*Recorded, error) {
	brief, temperature := t.Brief(agent, before), h.Temperature
	var how *manner
	if h.Varied {
		m := manner(t.Manner())
		brief, temperature, how = t.Varied(agent, before), m.Temperature, &m
	}
	if h.Instruction != "" {
		brief.System += " " + h.Instruction
	}
	prompt := []line{{"system", brief.System}}
	for _, e := range brief.Examples {
		prompt = append(prompt, line{"user", e[0]}, line{"assistant", e[1]})
	}
	prompt = append(prompt, line{"user", brief.User})
	request := map[string]any{
		"model": h.Model, "temperature": temperature, "max_tokens": h.MaxTokens, "seed": h.Seed, "logprobs": true, "top_logprobs": h.TopLogprobs,
		"messages": prompt,
	}
	if h.Varied {
		request["seed"] = drawSeed(h.Seed, t.ID, agent)
		request["margay_regions"] = regions(brief.Parts)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(o.BaseURL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+o.Key)
	}
	resp, err := o.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the endpoint answered %s: %.200s", resp.Status, answer)
	}
	var c spokenAnswer
	if err := json.Unmarshal(answer, &c); err != nil {
		return nil, err
	}
	if len(c.Choices) != 1 || c.Choices[0].Logprobs == nil {
		return nil, errors.New("the endpoint gives no log-probabilities")
	}
	r := &Recorded{
		Task: t.ID, Category: t.Category, Pressure: t.Pressure, Agent: world.Agents[agent], Prompt: prompt, Private: brief.Private, Tool: brief.Tool,
		Asks: brief.Asks, Finish: c.Choices[0].FinishReason, Manner: how,
	}
	var insides []*inside
	if m := c.Choices[0].Telemetry; m != nil && h.Telemetry != nil {
		insides = m.Tokens
	}
	for i, tok := range c.Choices[0].Logprobs.Content {
		s := spoken{Text: tok.Token, Logprob: cents(tok.Logprob)}
		for k, a := range tok.Top {
			if k >= recordFirst && a.Logprob < recordFloor {
				break
			}
			s.add(a)
		}
		if len(insides) == len(c.Choices[0].Logprobs.Content) && insides[i] != nil {
			s.Telemetry = insides[i].row()
		}
		r.Tokens = append(r.Tokens, s)
	}
	return r, nil
}

// drawSeed gives each answer a seed of its own, of 32 bits.
func drawSeed(seed uint64, task string, agent int) uint32 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d", seed, task, agent))
	return binary.BigEndian.Uint32(sum[:])
}

// regions are the parts of the first message as lab/local/runner is told them.
func regions(parts []world.Part) []map[string]any {
	var out []map[string]any
	for _, p := range parts {
		out = append(out, map[string]any{"message": 0, "start": p.Start, "end": p.End, "region": p.Region})
	}
	return out
}
