package mcpproxy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire/mcp"
)

// Config is what a Proxy needs. Zero limits mean the defaults.
type Config struct {
	Engine *mediator.Engine
	// Name is the server's name as a sink.
	Name string
	// Identity is what makes the server the same one the next time: its name,
	// and what it is reached by. Its tools are pinned under it.
	Identity string
	// Trust says where the server is.
	Trust flow.Trust
	// Pins keeps what the server's tools looked like; nil for nowhere.
	Pins Pins
	// Key is for the hashes that are kept.
	Key [32]byte
	// DenyChanged refuses tools whose description or schema is another one
	// than at first sight; otherwise the change is reported.
	DenyChanged bool
	MaxMessage  int // bytes of one message; 32 MiB
	MaxPending  int // requests of one side that wait for an answer; 1,024
	Log         *slog.Logger
}

// Pins keeps what tools looked like, by keyed hashes: of the server, the tool,
// and what it says of itself. All methods are safe for concurrent use.
type Pins interface {
	// Pinned returns the tools of a server.
	Pinned(ctx context.Context, server [32]byte) (map[[32]byte][32]byte, error)
	// Pin adds tools of a server, all or none, and replaces those that are
	// there.
	Pin(ctx context.Context, server [32]byte, tools map[[32]byte][32]byte) error
	// Unpin forgets a server and returns how many tools it had.
	Unpin(ctx context.Context, server [32]byte) (int, error)
}

// Proxy stands for one server. It is safe for concurrent use.
type Proxy struct {
	cfg  Config
	sink flow.Sink
	pins pinning
	seen atomic.Int64 // requests of clients

	mu     sync.Mutex
	counts map[string]int // of reports by code
	// questions of Margay's own that clients have not answered
	questions map[mcp.ID]*held
}

// New returns a proxy.
func New(cfg Config) (*Proxy, error) {
	if cfg.Engine == nil || cfg.Name == "" {
		return nil, errors.New("mcpproxy: engine and name are required")
	}
	if cfg.MaxMessage <= 0 {
		cfg.MaxMessage = 32 << 20
	}
	if cfg.MaxPending <= 0 {
		cfg.MaxPending = 1024
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Trust == "" {
		cfg.Trust = flow.TrustLocal
	}
	p := &Proxy{
		cfg: cfg, counts: map[string]int{},
		sink: flow.Sink{Name: cfg.Name, Channel: flow.ChannelTool, Trust: cfg.Trust},
	}
	p.pins = pinning{proxy: p, server: Server(cfg.Key, cfg.Identity)}
	return p, nil
}

// Requests returns how many requests of clients came so far.
func (p *Proxy) Requests() int { return int(p.seen.Load()) }

// Server is the keyed hash that a server's tools are pinned under.
func Server(key [32]byte, identity string) [32]byte { return keyed(key, "server", identity) }

func keyed(key [32]byte, domain, text string) (out [32]byte) {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("margay mcp " + domain + " v1\x00"))
	h.Write([]byte(text))
	h.Sum(out[:0])
	return out
}

// limits bound one message.
func (p *Proxy) limits() mcp.Limits { return mcp.Limits{MaxBytes: p.cfg.MaxMessage} }

// often bounds the records about what is not a message: each is a write to
// the store, and whoever floods Margay must not fill it. The first ones of a
// kind are recorded, then fewer and fewer.
func (p *Proxy) often(code string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[code]++
	n := p.counts[code]
	return n > 64 && n&(n-1) != 0
}
