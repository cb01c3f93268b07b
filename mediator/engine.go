package mediator

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"path"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// Listener is told what happens. Nil functions are not called. The functions
// are called from many goroutines and must not block.
type Listener struct {
	// Decided is called with every decision that has findings or denies.
	Decided func(LogEntry)
}

// Config is what an Engine needs.
type Config struct {
	Rules  *recognise.Set
	Keys   secret.Keys
	Store  Store
	Policy Policy
	// Values keeps what pseudonyms stand for, sealed, so that a later boundary
	// can turn them back; nil keeps none.
	Values Values
	// Monitor is the risk model that judges answers token by token, where the
	// policy says so; nil for none.
	Monitor *monitor.Model
	// Taint is how tool calls are held to what they may follow from; nil where
	// they are not.
	Taint *Taint
	// Declassify is how releases are held to rubrics and charged; nil where
	// they are not.
	Declassify *Declassify
	// Ephemeral are secrets of this process alone; they are not stored.
	Ephemeral []secret.Record
	Listener  Listener
	// Trace is what those who look on are told; nil for nothing.
	Trace *Trace
	// Observe reports findings and changes nothing.
	Observe bool
	// OnErrorPass lets a flow through when Margay itself fails. It is for
	// those who would rather leak than stop; connectors name it at start-up.
	OnErrorPass bool
	// MaxHeld bounds the bytes that one text holds back.
	MaxHeld int
	// MaxTrajectories bounds the trajectories that are remembered; the one
	// used longest ago is forgotten first. Zero means 10,000.
	MaxTrajectories int
	// Family is the trajectory of all requests that name none. Empty means
	// that they are told apart by their conversations.
	Family flow.TrajectoryID
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Engine is the part of the mediator that all sessions share. It is safe for
// concurrent use.
type Engine struct {
	cfg       Config
	ephemeral *secret.Index
	snap      struct {
		sync.Mutex
		current *snapshot
	}
	traj trajectories
}

// snapshot is the store's content at one epoch.
type snapshot struct {
	epoch  uint64
	index  *secret.Index
	allows []secret.Allow
}

// live returns the number of allowances that have not expired.
func (s *snapshot) live(now time.Time) int {
	n := 0
	for i := range s.allows {
		if at := s.allows[i].Expires; at.IsZero() || at.After(now) {
			n++
		}
	}
	return n
}

// New returns an engine.
func New(cfg Config) (*Engine, error) {
	if cfg.Store == nil {
		return nil, errors.New("mediator: no store")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxTrajectories <= 0 {
		cfg.MaxTrajectories = 10000
	}
	e := &Engine{cfg: cfg}
	e.traj.max = cfg.MaxTrajectories
	ix, err := secret.NewIndex(&e.cfg.Keys, each(cfg.Ephemeral), cfg.Now())
	if err != nil {
		return nil, fmt.Errorf("mediator: %w", err)
	}
	e.ephemeral = ix
	if _, err := e.snapshot(context.Background()); err != nil {
		return nil, err
	}
	return e, nil
}

func each(recs []secret.Record) iter.Seq2[secret.Record, error] {
	return func(yield func(secret.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// snapshot returns the store's secrets and allowances, read anew if they
// changed.
func (e *Engine) snapshot(ctx context.Context) (*snapshot, error) {
	epoch, err := e.cfg.Store.Epoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	e.snap.Lock()
	defer e.snap.Unlock()
	if s := e.snap.current; s != nil && s.epoch == epoch {
		return s, nil
	}
	ix, err := secret.NewIndex(&e.cfg.Keys, e.cfg.Store.Secrets(ctx), e.cfg.Now())
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	allows, err := e.cfg.Store.Allows(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	e.snap.current = &snapshot{epoch: epoch, index: ix, allows: allows}
	return e.snap.current, nil
}

// Ready reports whether the engine can decide: its store answers.
func (e *Engine) Ready(ctx context.Context) error {
	_, err := e.snapshot(ctx)
	return err
}

// Allowed reports whether an allowance covers a finding: of the value with a
// fingerprint, by a rule, at a path.
func Allowed(allows []secret.Allow, fp secret.Fingerprint, rule, at string, now time.Time) bool {
	for i := range allows {
		a := &allows[i]
		switch {
		case !a.Expires.IsZero() && !a.Expires.After(now),
			a.Fingerprint.IsZero() && a.Rule == "",
			!a.Fingerprint.IsZero() && a.Fingerprint != fp,
			a.Rule != "" && a.Rule != rule:
			continue
		}
		if a.Path != "" && a.Path != at {
			if ok, err := path.Match(a.Path, at); err != nil || !ok {
				continue
			}
		}
		return true
	}
	return false
}

// SessionRequest says whose request it is and where it belongs.
type SessionRequest struct {
	// Caller is the credential that the request came with. It is hashed at
	// once; one caller can't join another's trajectory.
	Caller string
	// Trajectory is the id that the caller named, or empty.
	Trajectory string
	// Messages are the raw messages of the conversation, and Roles whose
	// they are. They find the trajectory where none is named.
	Messages [][]byte
	Roles    []flow.Role
	// Previous names what the request goes on with where the server keeps the
	// conversation: a name that Session.Named was told.
	Previous string
	// Sink is where the content goes.
	Sink flow.Sink
	// Policy overrides the engine's where it is not nil.
	Policy *Policy
	// Watch is told what becomes of the text of answers; nil for nobody.
	Watch *Watch
}

// Watch is told what becomes of the text of answers, as it is decided. Nil
// functions are not called. They are called by whoever mediates the answer and
// must not block.
type Watch struct {
	// Judged: the risk model has judged the bytes [from, to) of a text.
	Judged func(key flow.StreamKey, from, to int64, v monitor.Verdict)
	// Edited: bytes of a text were replaced.
	Edited func(key flow.StreamKey, e stream.Edit)
}

// Session is one request in its trajectory. It is not safe for concurrent
// use; sessions of one trajectory may run at the same time.
type Session struct {
	e      *Engine
	t      *trajectory
	key    [32]byte // one that finds the trajectory
	snap   *snapshot
	sink   flow.Sink
	policy *Policy
	now    time.Time

	watch    Watch
	size     *TraceSize        // of what is decided about; nil where nobody looks on
	replaced map[string][]byte // values that became pseudonyms in this call, by name

	// What the risk model knows of the context.
	source *monitor.Source
	tool   bool // the turn follows a tool's result
}

// Session finds or begins the trajectory of a request.
func (e *Engine) Session(ctx context.Context, r *SessionRequest) (*Session, error) {
	snap, err := e.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	t, key, err := e.trajectoryOf(r)
	if err != nil {
		return nil, err
	}
	s := &Session{e: e, t: t, key: key, snap: snap, sink: r.Sink, policy: r.Policy, now: e.cfg.Now()}
	if s.policy == nil {
		s.policy = &e.cfg.Policy
	}
	if r.Watch != nil {
		s.watch = *r.Watch
	}
	if n := len(r.Roles); n > 0 {
		s.tool = r.Roles[n-1] == flow.RoleTool
	}
	return s, nil
}

// Trajectory returns the id of the session's trajectory.
func (s *Session) Trajectory() flow.TrajectoryID { return s.t.id }

// Named tells by which name later requests of the caller's go on with this
// one, as SessionRequest.Previous.
func (s *Session) Named(caller, name string) {
	key := s.e.cfg.Keys.Pseudonym[:]
	owner := keyed(key, "margay caller v1", []byte(caller))
	s.e.traj.name(s.key, keyed(key, "margay previous v1", owner[:], []byte(name)), s.t)
}

// trajectoryOf returns a request's trajectory and a key that finds it.
func (e *Engine) trajectoryOf(r *SessionRequest) (*trajectory, [32]byte, error) {
	key := e.cfg.Keys.Pseudonym[:]
	caller := keyed(key, "margay caller v1", []byte(r.Caller))
	id, keys := flow.TrajectoryID(""), [][32]byte(nil)
	switch {
	case r.Trajectory != "":
		var err error
		if id, err = flow.ParseTrajectoryID(r.Trajectory); err != nil {
			return nil, caller, err
		}
		// The caller is part of the key: the same id under another
		// credential is another trajectory.
		keys = [][32]byte{keyed(key, "margay named v1", caller[:], []byte(id))}
	case e.cfg.Family != "":
		id = e.cfg.Family
		keys = [][32]byte{keyed(key, "margay family v1", []byte(id))}
	case r.Previous != "":
		keys = [][32]byte{keyed(key, "margay previous v1", caller[:], []byte(r.Previous))}
	default:
		keys = chain(key, caller, r)
	}
	if id == "" {
		id = flow.TrajectoryID(flow.NewID())
	}
	if len(keys) == 0 {
		keys = [][32]byte{keyed(key, "margay lone v1", []byte(id))}
	}
	return e.traj.byPrefix(keys, func() *trajectory { return e.newTrajectory(id, caller) }), keys[len(keys)-1], nil
}

// chain returns the keyed hashes of the conversation's prefixes, from the one
// that first reaches past the opening: system text and the first message of
// somebody else. Shorter ones are shared by unrelated conversations.
func chain(key []byte, caller [32]byte, r *SessionRequest) [][32]byte {
	var out [][32]byte
	h := keyed(key, "margay prefix v1", caller[:])
	opened := false
	for i, m := range r.Messages {
		role := flow.Role("")
		if i < len(r.Roles) {
			role = r.Roles[i]
		}
		h = keyed(key, "margay prefix v1", h[:], []byte(role), m)
		opened = opened || role != flow.RoleSystem && role != flow.RoleDeveloper
		if opened {
			out = append(out, h)
		}
	}
	return out
}

func keyed(key []byte, domain string, parts ...[]byte) (out [32]byte) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(domain))
	for _, p := range parts {
		n := len(p)
		h.Write([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write(p)
	}
	h.Sum(out[:0])
	return out
}
