package mcpproxy

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mcpproxy/pin"
	"github.com/margaydev/margay/mcpproxy/token"
	"github.com/margaydev/margay/mediator"
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
	Pins pin.Store
	// Key is for the hashes that are kept.
	Key [32]byte
	// DenyChanged refuses tools whose description or schema is another one
	// than at first sight; otherwise the change is reported.
	DenyChanged bool
	// Changed is called with a tool whose description or schema is another one than
	// before, by the name that agents have for it, before its list goes on; nil for
	// nobody.
	Changed    func(ctx context.Context, tool string) error
	MaxMessage int // bytes of one message; 32 MiB
	MaxPending int // requests of one side that wait for an answer; 1,024
	Log        *slog.Logger
}

// Proxy stands for one server. It is safe for concurrent use.
type Proxy struct {
	cfg   Config
	sink  flow.Sink
	pins  *pin.Tools
	token token.Key
	seen  atomic.Int64 // requests of clients

	// questions of Margay's own that clients have not answered: *held by mcp.ID
	questions sync.Map
}

// New returns a proxy.
func New(cfg Config) (*Proxy, error) {
	if cfg.Engine == nil || cfg.Name == "" {
		return nil, errors.New("mcpproxy: engine and name are required")
	}
	cfg.MaxMessage = cmp.Or(max(cfg.MaxMessage, 0), 32<<20)
	cfg.MaxPending = cmp.Or(max(cfg.MaxPending, 0), 1024)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &Proxy{
		cfg:  cfg,
		sink: flow.Sink{Name: cfg.Name, Channel: flow.ChannelTool, Trust: cmp.Or(cfg.Trust, flow.TrustLocal)},
		pins: pin.New(cfg.Pins, cfg.Key, cfg.Identity, cfg.DenyChanged), token: token.Key{Key: cfg.Key, Server: cfg.Name},
	}, nil
}

// Requests returns how many requests of clients came so far.
func (p *Proxy) Requests() int { return int(p.seen.Load()) }
