package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator"
)

// Bounds of what viewers are sent.
const (
	maxViewers = 1024
	maxReplay  = 500 // events that a stream that resumes is sent
	viewerRoom = 64  // frames that may wait for one viewer
	pulse      = 2 * time.Second
	alive      = 15 * time.Second
	patience   = 10 * time.Second // with a viewer that does not read
)

// hub sends pages what changes. What is sent is made once, whoever looks on.
// One goroutine of its own runs while somebody does. It is safe for concurrent
// use.
type hub struct {
	c      *Console
	seed   maphash.Seed
	ended  chan struct{}
	once   sync.Once
	wake   chan struct{}
	n      atomic.Int64 // viewers
	mu     sync.Mutex
	all    map[*viewer]struct{}
	byID   map[flow.TrajectoryID]int   // viewers of a trajectory
	dirty  map[flow.TrajectoryID]bool  // something was stored of these since
	seq    int64                       // events up to here were sent
	sent   map[flow.TrajectoryID]int64 // the same of one, where it is more
	hashes map[string]uint64           // of parts as they were sent last
	going  sync.WaitGroup
	runs   bool
}

// viewer is one open stream.
type viewer struct {
	topic string // overview, questions or trajectory
	id    flow.TrajectoryID
	out   chan []byte
	slow  chan struct{} // closed where it does not keep up
	once  sync.Once
}

func newHub(c *Console) *hub {
	return &hub{c: c, seed: maphash.MakeSeed(), ended: make(chan struct{}), wake: make(chan struct{}, 1), all: map[*viewer]struct{}{}, byID: map[flow.TrajectoryID]int{}, dirty: map[flow.TrajectoryID]bool{}, sent: map[flow.TrajectoryID]int64{}, hashes: map[string]uint64{}}
}

func (h *hub) close() {
	h.once.Do(func() { close(h.ended) })
	h.going.Wait()
}

// poke has the hub look now.
func (h *hub) poke() {
	if h.n.Load() == 0 {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// Watches reports whether somebody looks at a trajectory.
func (c *Console) Watches(id flow.TrajectoryID) bool {
	if c.live.n.Load() == 0 {
		return false
	}
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	return c.live.byID[id] > 0
}

// Happened tells those who look on of events that were stored, and of tokens.
// It does not block.
func (c *Console) Happened(events []mediator.TraceEvent) {
	if c.live.n.Load() == 0 {
		return
	}
	stored := false
	for i := range events {
		e := &events[i]
		if e.Kind != mediator.EventTokens {
			stored = c.live.touch(e.Trajectory) || stored || e.Kind == mediator.EventQuestion
			continue
		}
		if b, err := json.Marshal(e.Payload.Tokens); err == nil {
			c.live.send("trajectory", e.Trajectory, frame(0, "tokens", b))
		}
	}
	if stored {
		c.live.poke()
	}
}

// touch notes that something was stored, and reports whether somebody looks.
func (h *hub) touch(id flow.TrajectoryID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID[id] > 0 {
		h.dirty[id] = true
	}
	return h.byID[id] > 0
}

// touched are those of the watched trajectories of which something was stored
// by this process, and forgets them.
func (h *hub) touched() map[flow.TrajectoryID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.dirty
	h.dirty = map[flow.TrajectoryID]bool{}
	return out
}

// frame is one event of a stream.
func frame(id int64, event string, data []byte) []byte {
	var b bytes.Buffer
	if id > 0 {
		fmt.Fprintf(&b, "id: %d\n", id)
	}
	fmt.Fprintf(&b, "event: %s\n", event)
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: ")
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// send gives a frame to the viewers of a topic. One that does not keep up is
// let go: its page comes back and resumes.
func (h *hub) send(topic string, id flow.TrajectoryID, f []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range h.all {
		if topic != "" && v.topic != topic || v.id != id && id != "" {
			continue
		}
		select {
		case v.out <- f:
		default:
			v.once.Do(func() { close(v.slow) })
		}
	}
}

// join adds a viewer; nil where there are too many.
func (h *hub) join(topic string, id flow.TrajectoryID) *viewer {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.ended:
		return nil
	default:
	}
	if len(h.all) >= maxViewers {
		return nil
	}
	v := &viewer{topic: topic, id: id, out: make(chan []byte, viewerRoom), slow: make(chan struct{})}
	h.all[v] = struct{}{}
	h.n.Add(1)
	if id != "" {
		h.byID[id]++
	}
	clear(h.hashes) // a page that comes new is sent all parts once
	if !h.runs {
		// Before the page is sent what it has missed: it may get an event
		// twice, and never misses one.
		if seq, err := h.c.cfg.Events.LastEvent(context.Background()); err == nil {
			h.seq = seq
		}
		h.runs = true
		h.going.Add(1)
		go h.run()
	}
	return v
}

func (h *hub) leave(v *viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, v)
	h.n.Add(-1)
	if v.id != "" {
		if h.byID[v.id]--; h.byID[v.id] == 0 {
			delete(h.byID, v.id)
		}
	}
}

// topics are those that somebody looks at.
func (h *hub) topics() (topics map[string]bool, ids map[flow.TrajectoryID]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	topics, ids = map[string]bool{}, map[flow.TrajectoryID]bool{}
	for v := range h.all {
		topics[v.topic] = true
		if v.id != "" {
			ids[v.id] = true
		}
	}
	return topics, ids
}

// run looks for what changed, in this process and others, while somebody looks
// on.
func (h *hub) run() {
	defer h.going.Done()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for {
		beat := false
		select {
		case <-h.ended:
			return
		case <-tick.C:
			beat = true
		case <-h.wake:
		}
		h.mu.Lock()
		if len(h.all) == 0 {
			h.runs = false
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		topics, ids := h.topics()
		h.rows(ctx, ids, beat)
		if topics["questions"] {
			h.parts(ctx, "questions", h.queue)
		}
		// What costs more is made once a pulse.
		if beat {
			if topics["overview"] {
				h.parts(ctx, "overview", h.overview)
			}
			b, err := json.Marshal(map[string]int{"open": h.c.openQuestions(ctx)})
			if err == nil && h.changed("count", b) {
				h.send("", "", frame(0, "count", b))
			}
		}
	}
}

// rows sends new events to those who look at their trajectories: at once what
// this process stored, and with all others' at the next beat.
func (h *hub) rows(ctx context.Context, ids map[flow.TrajectoryID]bool, beat bool) {
	touched := h.touched()
	last, err := h.c.cfg.Events.LastEvent(ctx)
	if err != nil {
		return
	}
	for id := range ids {
		if !beat && !touched[id] {
			continue
		}
		after := max(h.sent[id], h.seq)
		if after == last {
			continue
		}
		events, err := h.c.cfg.Events.Events(ctx, mediator.EventQuery{Trajectory: id, After: after, Before: last + 1, Limit: maxReplay})
		if err != nil {
			return
		}
		for i := range events {
			if f, err := h.row(ctx, &events[i]); err == nil {
				h.send("trajectory", id, f)
			}
		}
		h.sent[id] = last
	}
	if beat {
		h.seq = last
		clear(h.sent)
	}
}

// row is an event as a line of its trajectory's page.
func (h *hub) row(ctx context.Context, e *mediator.TraceEvent) ([]byte, error) {
	v, err := h.c.masked(ctx, e)
	if err != nil {
		return nil, err
	}
	text, err := h.c.part("row", v)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(map[string]any{"seq": e.Seq, "id": e.ID, "kind": e.Kind, "html": text})
	return frame(e.Seq, "row", b), err
}

type part struct {
	name string
	html string
}

// parts sends those parts of a page that have changed.
func (h *hub) parts(ctx context.Context, topic string, of func(context.Context) ([]part, error)) {
	all, err := of(ctx)
	if err != nil {
		all = []part{{"live-problem", "Live updates have stopped: the store failed. Run margay doctor."}}
	}
	for _, p := range all {
		b, err := json.Marshal(map[string]string{"part": p.name, "html": p.html})
		if err == nil && h.changed(p.name, b) {
			h.send(topic, "", frame(0, "part", b))
		}
	}
}

func (h *hub) changed(name string, b []byte) bool {
	sum := maphash.Bytes(h.seed, b)
	h.mu.Lock()
	defer h.mu.Unlock()
	was, ok := h.hashes[name]
	h.hashes[name] = sum
	return !ok || was != sum
}

func (h *hub) render(ctx context.Context, model any, names ...string) ([]part, error) {
	v, err := h.c.masked(ctx, model)
	if err != nil {
		return nil, err
	}
	var out []part
	for _, name := range names {
		text, err := h.c.part(name, v)
		if err != nil {
			return nil, err
		}
		out = append(out, part{name, text})
	}
	return out, nil
}

func (h *hub) overview(ctx context.Context) ([]part, error) {
	o, err := h.c.overviewNow(ctx)
	if err != nil {
		return nil, err
	}
	return h.render(ctx, o, "overview-facts", "overview-chart", "overview-upstreams", "overview-latest")
}

// queue has no forms: they are for each who is asking. The page loads itself
// again where the list has changed.
func (h *hub) queue(ctx context.Context) ([]part, error) {
	q, err := h.c.queue(ctx, false)
	if err != nil {
		return nil, err
	}
	ids := ""
	for i := range q.Waiting {
		ids += q.Waiting[i].ID + " "
	}
	return []part{{"queue", ids}}, nil
}

// serve answers a request for a stream.
func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	topic, id := q.Get("topic"), flow.TrajectoryID("")
	after, err := number(r, "after")
	if last := r.Header.Get("Last-Event-ID"); err == nil && last != "" {
		after, err = strconv.ParseInt(last, 10, 64)
	}
	if err != nil || after < 0 {
		h.c.fail(w, r, &Problem{http.StatusBadRequest, "query", "the place to resume at must be a number", "load the page again"})
		return
	}
	switch topic {
	case "overview", "questions", "none":
	case "trajectory":
		if id, err = flow.ParseTrajectoryID(q.Get("id")); err == nil {
			break
		}
		fallthrough
	default:
		h.c.fail(w, r, &Problem{http.StatusBadRequest, "query", "topic is overview, questions, none, or trajectory with its id", "docs/api/openapi.json says how"})
		return
	}
	v := h.join(topic, id)
	if v == nil {
		h.c.fail(w, r, &Problem{http.StatusServiceUnavailable, "too-many", "too many pages are open", "close some, and load this one again"})
		return
	}
	defer h.leave(v)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	to := http.NewResponseController(w)
	defer func() { _ = to.SetWriteDeadline(time.Time{}) }()
	write := func(b []byte) bool {
		_ = to.SetWriteDeadline(time.Now().Add(patience))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return len(v.out) > 0 || to.Flush() == nil
	}
	if !write([]byte("retry: 1000\n\n")) || to.Flush() != nil || topic == "trajectory" && !h.replay(r.Context(), v, after, write) {
		return
	}
	expires := time.NewTimer(sessionTime)
	if who := whoOf(r); !who.expires.IsZero() {
		expires.Reset(who.expires.Sub(h.c.cfg.Now()))
	}
	defer expires.Stop()
	beat := time.NewTicker(alive)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-h.ended:
			return
		case <-v.slow:
			return
		case <-expires.C:
			return
		case f := <-v.out:
			if !write(f) {
				return
			}
		case <-beat.C:
			if !write([]byte(": here\n\n")) || h.c.sessions.of(r) == nil {
				return
			}
		}
	}
}

// replay sends what a page has missed. Where that is too much, the page loads
// itself again.
func (h *hub) replay(ctx context.Context, v *viewer, after int64, write func([]byte) bool) bool {
	if after == 0 {
		return true
	}
	events, err := h.c.cfg.Events.Events(ctx, mediator.EventQuery{Trajectory: v.id, After: after, Limit: maxReplay + 1})
	if err != nil {
		return false
	}
	if len(events) > maxReplay {
		return write(frame(0, "reset", []byte(`{}`)))
	}
	for i := range events {
		f, err := h.row(ctx, &events[i])
		if err != nil || !write(f) {
			return false
		}
	}
	return true
}
