package saliency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/screen"
)

// Config names the local model's endpoint (lab/local/runner). It reads the whole
// conversation: one that is not Remote is reached at addresses of this machine
// alone.
type Config = completion.Config

// Limits. Beyond those of one question everything is relevant.
const (
	maxRegions = 4096
	maxAsked   = 512 << 10
	maxAtOnce  = 4 // questions to the endpoint; others wait, within their time
)

// Client is a Source that asks an endpoint. It is safe for concurrent use.
type Client struct {
	model *completion.Client
	wait  time.Duration
	slots chan struct{}
}

// NewClient returns a client. It makes no connection yet.
func NewClient(cfg Config) (*Client, error) {
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	model, err := completion.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("saliency: %w", err)
	}
	return &Client{model, cfg.Timeout, make(chan struct{}, maxAtOnce)}, nil
}

// Answer is what the endpoint says of a prompt.
type Answer struct {
	Version      int      `json:"version"`
	PromptTokens int      `json:"prompt_tokens"`
	OutputTokens int      `json:"output_tokens"`
	OutputCut    int      `json:"output_cut"` // tokens of the output that were not attributed
	Loss         float64  `json:"loss"`
	Regions      []Region `json:"regions"`
}

// Region is what the endpoint says of a region.
type Region struct {
	Tokens   int       `json:"tokens"`
	Cut      int       `json:"cut"` // of its tokens, from its middle, to make room
	Features []float64 `json:"features"`
}

// Features implements Source.
func (c *Client) Features(ctx context.Context, q *screen.Question) ([]Features, error) {
	a, err := c.Ask(ctx, Write(q))
	if err != nil {
		return nil, err
	}
	out := make([]Features, len(a.Regions))
	for i := range a.Regions {
		// Of a region that did not fit, too little is known.
		if f := a.Regions[i].Features; f != nil && a.Regions[i].Cut == 0 {
			out[i] = (*[Count]float64)(f)
		}
	}
	if a.OutputCut > 0 {
		return nil, errCut
	}
	return out, nil
}

var errCut = errors.New("the proposed answer is longer than the endpoint reads")

// errAnswer says that an answer is not what was asked for. It holds nothing of it.
var errAnswer = errors.New("the endpoint's answer is not about these regions")

// Ask asks the endpoint and holds its answer to what it can be. Errors hold
// nothing of the conversation.
func (c *Client) Ask(ctx context.Context, p *Prompt) (*Answer, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if len(p.Regions) > maxRegions || len(body) > maxAsked {
		return nil, fmt.Errorf("more than %d regions or %d bytes", maxRegions, maxAsked)
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var a Answer
	if err := c.model.Post(ctx, "saliency", body, &a); err != nil {
		return nil, err
	}
	if a.Version != 1 || len(a.Regions) != len(p.Regions) {
		return nil, errAnswer
	}
	for i := range a.Regions {
		f := a.Regions[i].Features
		if f == nil {
			continue
		}
		if len(f) != Count {
			return nil, errAnswer
		}
		for _, v := range f {
			if !(v >= 0 && v <= math.MaxInt32) {
				return nil, errAnswer
			}
		}
	}
	return &a, nil
}
