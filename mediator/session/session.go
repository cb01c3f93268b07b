// Package session holds what is known: about all sessions of an engine (the
// secrets of one epoch of the store, the trajectories), and about one session
// in its trajectory (what it discovered, which texts were already mediated,
// the labels, the values of its pseudonyms).
//
// It decides no flow. The verbs are in the packages above, which read and
// write this state, scan texts with [Session.Scan], and turn findings into a
// [Result] that is committed.
package session

import (
	"cmp"
	"container/list"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"iter"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/recent"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/commit"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/origin"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream"
)

// Secrets are the registered secrets and allowances of a store. All methods are
// safe for concurrent use.
type Secrets interface {
	// Epoch is another one after each change.
	Epoch(ctx context.Context) (uint64, error)
	Secrets(ctx context.Context) iter.Seq2[secret.Record, error]
	Allows(ctx context.Context) ([]secret.Allow, error)
}

// Values keeps sealed values by their owner and the pseudonyms that stand for
// them. All methods are safe for concurrent use.
type Values interface {
	// PutValues keeps values, all or none; now is when they were used last.
	PutValues(ctx context.Context, owner [32]byte, values map[string][]byte, now time.Time) error
	// Value returns one, or secret.ErrNotFound.
	Value(ctx context.Context, owner [32]byte, name string) ([]byte, error)
}

// Store is what a Registry needs of the state: the registered secrets, the log
// of decisions, and what models said. All methods are safe for concurrent use.
type Store interface {
	Secrets
	commit.Log[audit.Entry]
	Said
	// Writable writes to where all of this is kept, durably, and changes
	// nothing.
	Writable(ctx context.Context) error
}

// Config is what a Registry needs.
type Config struct {
	Rules *recognise.Set
	Keys  secret.Keys
	// Store has the registered secrets, and keeps the log.
	Store  Store
	Policy Policy
	// Values keeps what pseudonyms stand for, sealed, so that a later boundary
	// can turn them back; nil keeps none.
	Values Values
	// Memories are the sinks that keep what they get beyond a trajectory,
	// and Kept is where the values of their names are; nil: in Values.
	Memories []string
	Kept     Values
	// Labels is what is known of labels; nil where they are not looked at.
	Labels *LabelBook
	// Monitor is the risk model that judges answers token by token, where the
	// policy says so; nil for none.
	Monitor *monitor.Model
	// Ephemeral are secrets of this process alone; they are not stored.
	Ephemeral []secret.Record
	// Decided is called with every decision that has findings or denies; nil for
	// nobody. It is called from many goroutines and must not block.
	Decided func(audit.Entry)
	// Trace is what observers get; nil for nothing.
	Trace *audit.Trace
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
	// TrajectoryBytes bounds what trajectories hold in memory, in the same way;
	// zero means DefaultTrajectoryBytes. What a request under way adds to one
	// that is forgotten meanwhile is not counted.
	TrajectoryBytes int
	// Family is the trajectory of all requests that name none. Empty means
	// that their conversations tell them apart.
	Family flow.TrajectoryID
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Registry is what all sessions of an engine share. It is safe for concurrent
// use.
type Registry struct {
	cfg       Config
	book      *commit.Book[audit.Entry]
	ephemeral *match.Index
	snap      struct {
		sync.Mutex
		current *snapshot
	}
	traj trajectories
	// Bare are texts in which nothing at all was found, in a trajectory that had
	// discovered nothing: headers, instructions and tools come with every
	// conversation. Keys have the text and the State.
	Bare    *recent.Map[[32]byte, struct{}]
	refused *audit.Refusals
	macs    sync.Pool // of *mac
	written struct {
		sync.Mutex
		at  time.Time // of the last try
		err error
	}
}

// snapshot is the store's content at one epoch.
type snapshot struct {
	epoch  uint64
	index  *match.Index
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

// New returns a registry.
func New(cfg Config) (r *Registry, err error) {
	switch {
	case cfg.Store == nil:
		return nil, errors.New("no store")
	case cfg.Now == nil:
		cfg.Now = time.Now
	}
	r = &Registry{cfg: cfg, book: commit.Open[audit.Entry](cfg.Store, cfg.OnErrorPass), refused: audit.NewRefusals(), Bare: recent.New[[32]byte, struct{}](1 << 13)}
	r.traj.max, r.traj.byKey, r.traj.keep = cmp.Or(max(cfg.MaxTrajectories, 0), 10000), map[[32]byte]*list.Element{}, cfg.Family
	r.traj.maxBytes = int64(cmp.Or(max(cfg.TrajectoryBytes, 0), DefaultTrajectoryBytes))
	r.macs.New = func() any { return newMAC(&r.cfg.Keys) }
	r.ephemeral, err = match.NewIndex(&r.cfg.Keys, each(cfg.Ephemeral), cfg.Now())
	return r, err
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

// writtenFor is how long a write that was tried answers for the next.
const writtenFor = time.Second

// Ready reports whether the store answers, and can be written to. It writes at
// most once in a second.
func (r *Registry) Ready(ctx context.Context) error {
	if _, err := r.snapshot(ctx); err != nil {
		return err
	}
	w := &r.written
	w.Lock()
	defer w.Unlock()
	if now := r.cfg.Now(); w.at.IsZero() || now.Sub(w.at) >= writtenFor || now.Before(w.at) {
		w.err = r.cfg.Store.Writable(context.WithoutCancel(ctx)) // it answers for others, too
		w.at = now
	}
	if w.err != nil {
		return fmt.Errorf("store: it can't be written to: %w", w.err)
	}
	return nil
}

// snapshot returns the store's secrets and allowances, read anew if they
// changed.
func (r *Registry) snapshot(ctx context.Context) (*snapshot, error) {
	epoch, err := r.cfg.Store.Epoch(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	r.snap.Lock()
	defer r.snap.Unlock()
	if s := r.snap.current; s != nil && s.epoch == epoch {
		return s, nil
	}
	ix, err := match.NewIndex(&r.cfg.Keys, r.cfg.Store.Secrets(ctx), r.cfg.Now())
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	allows, err := r.cfg.Store.Allows(ctx)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	r.snap.current = &snapshot{epoch: epoch, index: ix, allows: allows}
	return r.snap.current, nil
}

// Allowed reports whether an allowance covers a finding: of the value with a
// fingerprint, by a rule, at a path.
func Allowed(allows []secret.Allow, fp secret.Fingerprint, rule, at string, now time.Time) bool {
	return slices.ContainsFunc(allows, func(a secret.Allow) bool {
		switch {
		case !a.Expires.IsZero() && !a.Expires.After(now),
			a.Fingerprint.IsZero() && a.Rule == "",
			!a.Fingerprint.IsZero() && a.Fingerprint != fp,
			a.Rule != "" && a.Rule != rule:
			return false
		case a.Path == "" || a.Path == at:
			return true
		}
		ok, err := path.Match(a.Path, at)
		return ok && err == nil
	})
}

// Request says whose request it is and where it belongs.
type Request struct {
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
	// Watch gets what becomes of the text of answers; nil for nobody.
	Watch *Watch
	// Dir is the folder that the agent's tools work in; empty where it is not
	// known.
	Dir string
	// Start is what is known of the start of the trajectory.
	Start Start
	// Refuses: nothing but refusals is decided in the session. No trajectory is
	// remembered for it, so that refusals make none forgotten.
	Refuses bool
}

// Start is what a connector knows of the start of a trajectory.
type Start uint8

// Starts. The labels of what was told before one are not known, but for
// StartHere.
const (
	StartUnknown Start = iota // the connector sees whole conversations
	StartHere                 // nothing was told before
	StartUnseen               // things may have been told, unless the trajectory is known
	StartResumed              // the trajectory was left meanwhile
)

// Watch gets what becomes of the text of answers, as it is decided. Nil
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
	*Registry
	*Trajectory
	Sink   flow.Sink
	Policy *Policy
	Now    time.Time // when it was opened
	Watch  Watch
	Trace  audit.Tracer

	Shown origin.Shown // what the model is shown

	Quotes *Quotes  // of what models said to the caller; nil where labels are not looked at
	said   [][]byte // rows of quotes that are not yet in the store

	caller   [32]byte
	key      [32]byte // one that finds the trajectory
	snap     *snapshot
	replaced map[string][]byte // values that became pseudonyms in this call, by name
	source   *monitor.Source   // what the risk model knows of the context
	tool     bool              // the turn follows a tool's result
}

// Open finds or starts the trajectory of a request.
func (r *Registry) Open(ctx context.Context, q *Request) (*Session, error) {
	snap, err := r.snapshot(ctx)
	if err != nil && !q.Refuses { // a refusal needs no store
		return nil, err
	}
	s := &Session{Registry: r, Sink: q.Sink, Policy: cmp.Or(q.Policy, &r.cfg.Policy), Now: r.cfg.Now(), snap: snap, caller: r.Keyed("margay caller v1", []byte(q.Caller))}
	if err := s.find(q); err != nil {
		return nil, err
	}
	if !q.Refuses {
		if s.Quotes, err = r.quotes(ctx, s.caller); err != nil {
			return nil, err
		}
	}
	s.Trace = audit.Tracer{
		Trace: r.cfg.Trace, Trajectory: s.ID, Sink: q.Sink.Name, Now: r.cfg.Now, Scrub: s.scrubbed, Monitor: r.cfg.Monitor, Vocabulary: s.Policy.Vocabulary,
	}
	s.Watch = *cmp.Or(q.Watch, &Watch{})
	if n := len(q.Roles); n > 0 {
		s.tool = q.Roles[n-1] == flow.RoleTool
	}
	return s, nil
}

// Name makes the caller's later requests find this one's trajectory by a name,
// as Request.Previous.
func (s *Session) Name(name string) {
	s.traj.name(s.key, s.Keyed("margay previous v1", s.caller[:], []byte(name)), s.Trajectory)
}

// find finds a request's trajectory, and a key that finds it again.
func (s *Session) find(q *Request) error {
	id, keys := flow.TrajectoryID(""), [][32]byte(nil)
	if q.Refuses {
		id := s.refusedIn(q.Trajectory)
		s.Trajectory = &Trajectory{ID: id, Names: secret.NewPseudonymiser(&s.cfg.Keys, string(id)), Labels: &Labels{}}
		return nil
	}
	switch {
	case q.Trajectory != "":
		var err error
		if id, err = flow.ParseTrajectoryID(q.Trajectory); err != nil {
			return err
		}
		// The caller is part of the key: the same id under another
		// credential is another trajectory.
		keys = [][32]byte{s.Keyed("margay named v1", s.caller[:], []byte(id))}
	case s.cfg.Family != "":
		id = s.cfg.Family
		keys = [][32]byte{s.Keyed("margay family v1", []byte(id))}
	case q.Previous != "":
		keys = [][32]byte{s.Keyed("margay previous v1", s.caller[:], []byte(q.Previous))}
	default:
		keys = s.chain(q)
	}
	if id == "" {
		id = flow.TrajectoryID(flow.NewID())
	}
	if len(keys) == 0 {
		keys = [][32]byte{s.Keyed("margay lone v1", []byte(id))}
	}
	s.Trajectory = s.traj.byPrefix(keys, func() *Trajectory { return s.newTrajectory(id, s.caller) })
	s.key = keys[len(keys)-1]
	return nil
}

// chain returns the keyed hashes of the conversation's prefixes, from the one
// that first reaches past the opening: system text and the first message of
// somebody else. Shorter ones are shared by unrelated conversations.
func (s *Session) chain(q *Request) [][32]byte {
	var out [][32]byte
	h := s.Keyed("margay prefix v1", s.caller[:])
	opened := false
	for i, m := range q.Messages {
		role := flow.Role("")
		if i < len(q.Roles) {
			role = q.Roles[i]
		}
		h = s.Keyed("margay prefix v1", h[:], []byte(role), m)
		opened = opened || role != flow.RoleSystem && role != flow.RoleDeveloper
		if opened {
			out = append(out, h)
		}
	}
	return out
}

// Keyed is a hash of parts that only this engine's keys make, apart from those
// of other domains.
func (r *Registry) Keyed(domain string, parts ...[]byte) [32]byte {
	m := r.macs.Get().(*mac)
	defer r.macs.Put(m)
	return m.keyed(domain, parts)
}

// Keyed is a keyed hash for a domain, of parts in order.
func Keyed(k *secret.Keys, domain string, parts ...[]byte) [32]byte {
	return newMAC(k).keyed(domain, parts)
}

// mac makes keyed hashes, one after the other. To make one takes as long as a hash.
type mac struct {
	hash.Hash

	buf [64]byte
}

func newMAC(k *secret.Keys) *mac { return &mac{Hash: hmac.New(sha256.New, k.Pseudonym[:])} }

func (m *mac) keyed(domain string, parts [][]byte) [32]byte {
	m.Reset()
	m.Write(append(m.buf[:0], domain...))
	for _, p := range parts {
		m.Write(binary.BigEndian.AppendUint32(append(m.buf[:0], 0), uint32(len(p)))) //nolint:gosec // as it was first written
		m.Write(p)
	}
	return [32]byte(m.Sum(m.buf[:0]))
}

// Keys are the engine's keys.
func (r *Registry) Keys() *secret.Keys { return &r.cfg.Keys }

// Family is the trajectory of all requests that name none; empty for none.
func (r *Registry) Family() flow.TrajectoryID { return r.cfg.Family }

// Observes reports whether findings are reported and nothing is changed.
func (r *Registry) Observes() bool { return r.cfg.Observe }

// Policy says what is done with findings, by direction and kind. The zero
// Policy is the default one.
type Policy struct {
	Prompt   map[secret.Kind]flow.Action
	Generate map[secret.Kind]flow.Action
	// Halt ends a generation at its first redaction (on_red: halt).
	Halt bool
	// Risk says what the risk model's verdicts do.
	Risk RiskMode
	// Vocabulary is the size of the model's, for its entropies; 0 for
	// monitor.DefaultVocabulary.
	Vocabulary int
}

// Action returns what is done with a kind in the direction of a verb. Where
// the policy names none: credentials and registered secrets are replaced by
// pseudonyms on their way to a model or a tool and redacted on their way from
// it; personal data is reported, and a UUID, of which logs are full, is not even
// that, unless it is registered.
func (p *Policy) Action(verb flow.Verb, kind secret.Kind) flow.Action {
	by, otherwise := p.Generate, flow.ActRedact
	if verb == flow.Prompt || verb == flow.Observe {
		by, otherwise = p.Prompt, flow.ActPseudonym
	}
	if a, ok := by[kind]; ok {
		return a
	}
	if kind.Personal() {
		return flow.ActReport
	}
	return otherwise
}

// bare reports whether a finding is a UUID that stands for itself, and the policy
// does not say what is done with those.
func (p *Policy) bare(verb flow.Verb, f *stream.Finding) bool {
	if f.Kind != secret.KindUUID || f.Rule == stream.RuleVault || f.Capped {
		return false
	}
	by := p.Generate
	if verb == flow.Prompt || verb == flow.Observe {
		by = p.Prompt
	}
	_, named := by[f.Kind]
	return !named
}

// Halts reports whether a finding ends a generation. A masked token does not.
func (p *Policy) Halts(f *stream.Finding) bool {
	return p.Halt && f.Action == flow.ActRedact && (f.Rule != stream.RuleRisk || f.Name != monitor.Yellow.String())
}

// RiskMode says what the risk model's verdicts do to a model's text.
type RiskMode string

// Risk modes. The empty one is RiskOff.
const (
	RiskOff     RiskMode = "off"     // nothing is judged
	RiskReport  RiskMode = "report"  // verdicts are recorded, the text passes
	RiskRed     RiskMode = "red"     // RED is taken out, YELLOW recorded
	RiskEnforce RiskMode = "enforce" // YELLOW is masked, RED taken out
)

// KindRisk is the kind of what the risk model takes out: nobody knows what it
// is.
const KindRisk secret.Kind = "risk"

// Mask stands for one masked token.
const Mask = "[MASK]"
