// Package live keeps open pages up to date by server-sent events.
//
// The hub makes each update once and sends it to all viewers of the same
// page. It updates pages at most a few times a second, and less often under
// load: after an update it rests forty times as long as the update took. It
// disconnects a page that reads too slowly; the page reconnects and gets what
// it missed.
package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
)

// Bounds of what viewers are sent.
const (
	maxViewers = 1024
	maxReplay  = 200 // events that a stream that resumes is sent
	maxRows    = 32  // events of a trajectory in one update
	maxAnswers = 16  // of a trajectory whose tokens are sent; a page plots no more
	viewerRoom = 16  // updates that may wait for one viewer
)

// Times of a hub.
const (
	pulse    = 2 * time.Second        // between updates that read the store
	rest     = 200 * time.Millisecond // between updates, at least
	leisure  = 40                     // a hub rests so many times as long as it works
	alive    = 15 * time.Second       // between signs of life to idle viewers
	patience = 10 * time.Second       // with a viewer that does not read
)

// Topic is what a page shows.
type Topic string

// Topics.
const (
	Overview   Topic = "overview"
	Questions  Topic = "questions"
	Trajectory Topic = "trajectory" // one
	None       Topic = "none"       // the count of questions alone
)

// Row is an event as its trajectory's page shows it.
type Row struct {
	Seq  int64
	Data any // goes out as JSON
}

// Part is a part of a page as it is now.
type Part struct {
	Name string `json:"part"`
	HTML string `json:"html"`
}

// Config is where a hub gets what it sends. All functions are required, are safe
// for concurrent use, and return masked values.
type Config struct {
	Last     func(context.Context) (int64, error) // the latest event's place
	Rows     func(context.Context, audit.Query) ([]Row, error)
	Overview func(context.Context) ([]Part, error)
	Queue    func(context.Context) ([]Part, error)
	Open     func(context.Context) int // questions that wait
}

// ErrFull says that too many pages are open.
var ErrFull = errors.New("too many pages are open")

// Hub sends changes to open pages. It has one goroutine, which runs while pages
// are open; Close ends it. It is safe for concurrent use.
type Hub struct {
	cfg     Config
	ctx     context.Context // ends with the hub
	stop    context.CancelFunc
	wake    chan struct{}
	going   sync.WaitGroup
	n       atomic.Int64 // viewers
	watched atomic.Pointer[map[flow.TrajectoryID]bool]

	mu     sync.Mutex
	groups map[target]*group
	count  []byte // of questions, as it was sent last
	asked  bool   // a question was asked or answered since
	runs   bool
}

// target is what a group of viewers sees.
type target struct {
	topic Topic
	id    flow.TrajectoryID
}

// group are the viewers of one target.
type group struct {
	target
	viewers map[*Viewer]bool
	dirty   bool // something was stored since
	tokens  []*audit.Progress
	parts   map[string][]byte // as they were sent last
	// For the hub's goroutine alone: events up to here were sent; parts can't be made.
	after   int64
	failing bool
}

// Viewer is one open page. It belongs to the goroutine that serves it.
type Viewer struct {
	h     *Hub
	g     *group
	fresh bool // it gets all parts at the next pulse
	out   chan []byte
	slow  chan struct{} // closed when it does not keep up
	once  sync.Once
}

// New returns a hub.
func New(cfg Config) *Hub {
	ctx, stop := context.WithCancel(context.Background())
	return &Hub{cfg: cfg, ctx: ctx, stop: stop, wake: make(chan struct{}, 1), groups: map[target]*group{}}
}

// Close ends all streams and the hub's goroutine.
func (h *Hub) Close() {
	h.mu.Lock()
	h.stop()
	h.mu.Unlock()
	h.going.Wait()
}

// Watches reports whether a page of a trajectory is open. It takes no lock:
// callers ask every few tokens of every answer.
func (h *Hub) Watches(id flow.TrajectoryID) bool {
	ids := h.watched.Load()
	return ids != nil && (*ids)[id]
}

// Publish passes stored events, and tokens, to the viewers. It does not block.
func (h *Hub) Publish(events []audit.Event) {
	if h.n.Load() == 0 {
		return
	}
	h.mu.Lock()
	due := false
	for i := range events {
		e := &events[i]
		if e.Kind == audit.KindQuestion {
			h.asked, due = true, true
		}
		g := h.groups[target{Trajectory, e.Trajectory}]
		switch {
		case g == nil:
			continue
		case e.Kind == audit.KindTokens:
			g.progress(e.Payload.Tokens)
		default:
			g.dirty = true
			if e.Kind == audit.KindAnswer {
				g.answered(e.ID)
			}
		}
		due = true
	}
	h.mu.Unlock()
	if due {
		h.poke()
	}
}

// Asked updates the viewers of the queue.
func (h *Hub) Asked() {
	h.mu.Lock()
	h.asked = true
	h.mu.Unlock()
	h.poke()
}

// poke makes the hub update, once it has rested.
func (h *Hub) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// progress keeps the latest tokens of an answer for the next update, together
// with those that were not sent yet.
func (g *group) progress(p *audit.Progress) {
	for _, q := range g.tokens {
		if q.Answer != p.Answer || q.Text != p.Text {
			continue
		}
		s, more := &q.Series, &p.Series
		n := p.From - q.From
		if n < 0 || n > len(s.Risk) || s.Every != more.Every {
			*q = own(p) // points were joined: it has all of them
			return
		}
		q.Series = audit.Series{
			Risk: append(s.Risk[:n], more.Risk...), Least: append(s.Least[:n], more.Least...), Most: append(s.Most[:n], more.Most...), Ends: append(s.Ends[:n], more.Ends...),
			Zone: s.Zone[:n] + more.Zone, N: more.N, Every: more.Every, Yellow: more.Yellow, Red: more.Red, Vocabulary: more.Vocabulary,
		}
		return
	}
	if len(g.tokens) < maxAnswers {
		q := own(p)
		g.tokens = append(g.tokens, &q)
	}
}

// own is a copy that shares nothing.
func own(p *audit.Progress) audit.Progress {
	q := *p
	s := &q.Series
	s.Risk, s.Least, s.Most, s.Ends = slices.Clone(s.Risk), slices.Clone(s.Least), slices.Clone(s.Most), slices.Clone(s.Ends)
	return q
}

// answered forgets the tokens of an answer that has ended: its row shows them.
func (g *group) answered(id string) {
	g.tokens = slices.DeleteFunc(g.tokens, func(p *audit.Progress) bool { return p.Answer == id })
}

// Join adds a viewer of a topic; id is that of a trajectory, or empty. Serve
// removes the viewer. The error is ErrFull, or that of Config.Last.
func (h *Hub) Join(ctx context.Context, topic Topic, id flow.TrajectoryID) (*Viewer, error) {
	// This comes before the page gets what it has missed: it may get an event
	// twice, and never misses one.
	last, err := h.cfg.Last(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx.Err() != nil || h.n.Load() >= maxViewers {
		return nil, ErrFull
	}
	at := target{topic, id}
	g := h.groups[at]
	if g == nil {
		g = &group{target: at, viewers: map[*Viewer]bool{}, parts: map[string][]byte{}, after: last}
		h.groups[at] = g
		h.watch()
	}
	v := &Viewer{h: h, g: g, fresh: true, out: make(chan []byte, viewerRoom), slow: make(chan struct{})}
	g.viewers[v] = true
	h.n.Add(1)
	if !h.runs {
		h.runs = true
		h.going.Go(h.run)
	}
	return v, nil
}

func (h *Hub) leave(v *Viewer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(v.g.viewers, v)
	h.n.Add(-1)
	if len(v.g.viewers) == 0 {
		delete(h.groups, v.g.target)
		h.watch()
	}
}

// watch notes which trajectories have viewers.
func (h *Hub) watch() {
	ids := map[flow.TrajectoryID]bool{}
	for at := range h.groups {
		if at.topic == Trajectory {
			ids[at.id] = true
		}
	}
	h.watched.Store(&ids)
}

// run sends changes, of this process and others, while there are viewers.
func (h *Hub) run() {
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	breath := time.NewTimer(0)
	defer breath.Stop()
	for {
		beat := false
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
			beat = true
		case <-h.wake:
		}
		if h.idle() {
			return
		}
		start := time.Now()
		h.update(h.ctx, beat)
		breath.Reset(min(max(rest, leisure*time.Since(start)), pulse))
		select {
		case <-h.ctx.Done():
			return
		case <-breath.C:
		}
	}
}

// idle reports that there are no viewers, and that the goroutine ends.
func (h *Hub) idle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs = len(h.groups) > 0
	if !h.runs {
		h.count = nil
	}
	return !h.runs
}

// job is what one group shall be sent.
type job struct {
	g      *group
	tokens []*audit.Progress
	rows   bool
}

// update sends each group what is new.
func (h *Hub) update(ctx context.Context, beat bool) {
	h.mu.Lock()
	asked := h.asked || beat
	h.asked = false
	var jobs []job
	rows := false
	for _, g := range h.groups {
		j := job{g, g.tokens, g.topic == Trajectory && (g.dirty || beat)}
		g.tokens, g.dirty = nil, false
		rows = rows || j.rows
		jobs = append(jobs, j)
	}
	h.mu.Unlock()
	last, err := int64(0), error(nil)
	if rows {
		last, err = h.cfg.Last(ctx)
	}
	var counted []byte
	if asked {
		counted = h.counted(ctx)
	}
	for _, j := range jobs {
		var body bytes.Buffer
		for _, p := range j.tokens {
			frame(&body, 0, "tokens", p)
		}
		if j.rows && err == nil {
			h.rows(ctx, j.g, last, &body)
		}
		var parts []Part
		switch {
		case j.g.topic == Overview && beat:
			parts = j.g.made(h.cfg.Overview(ctx))
		case j.g.topic == Questions && asked:
			parts = j.g.made(h.cfg.Queue(ctx))
		}
		h.send(j.g, body.Bytes(), parts, counted, beat)
	}
}

// rows writes the new events of a trajectory. Of many at once it writes the
// latest, and a gap.
func (h *Hub) rows(ctx context.Context, g *group, last int64, to *bytes.Buffer) {
	if g.after >= last {
		return
	}
	rows, err := h.cfg.Rows(ctx, audit.Query{Trajectory: g.id, After: g.after, Before: last + 1, Limit: maxRows + 1, Last: true})
	if err != nil {
		return // at the next pulse
	}
	g.after = last
	if len(rows) > maxRows {
		rows = rows[len(rows)-maxRows:]
		frame(to, 0, "gap", struct{}{})
	}
	for i := range rows {
		frame(to, rows[i].Seq, "row", rows[i].Data)
	}
}

// made returns the parts of a page, or one that says why they are missing.
func (g *group) made(parts []Part, err error) []Part {
	const problem = "live-problem"
	switch {
	case err != nil:
		g.failing = true
		return []Part{{problem, "Live updates have stopped: the store failed. Run margay doctor."}}
	case g.failing:
		g.failing = false
		return append(parts, Part{problem, ""})
	}
	return parts
}

// counted returns how many questions wait, if that has changed.
func (h *Hub) counted(ctx context.Context) []byte {
	var b bytes.Buffer
	frame(&b, 0, "count", map[string]int{"open": h.cfg.Open(ctx)})
	h.mu.Lock()
	defer h.mu.Unlock()
	if bytes.Equal(b.Bytes(), h.count) {
		return nil
	}
	h.count = b.Bytes()
	return h.count
}

// send gives the viewers of a group what is new; at the pulse, new viewers get
// all parts. A viewer that does not keep up is dropped: its page reconnects and
// resumes.
func (h *Hub) send(g *group, body []byte, parts []Part, counted []byte, beat bool) {
	var changed bytes.Buffer
	changed.Write(body)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range parts {
		var f bytes.Buffer
		frame(&f, 0, "part", p)
		if !bytes.Equal(f.Bytes(), g.parts[p.Name]) {
			g.parts[p.Name] = f.Bytes()
			changed.Write(f.Bytes())
		}
	}
	changed.Write(counted)
	var all []byte // for new viewers
	for v := range g.viewers {
		b := changed.Bytes()
		if v.fresh && beat {
			if v.fresh = false; all == nil {
				all = append(all, body...)
				for _, f := range g.parts {
					all = append(all, f...)
				}
				all = append(all, h.count...)
			}
			b = all
		}
		if len(b) == 0 {
			continue
		}
		select {
		case v.out <- b:
		default:
			v.once.Do(func() { close(v.slow) })
		}
	}
}

// frame writes one event of a stream.
func frame(to *bytes.Buffer, id int64, event string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		return // all of our types can be written
	}
	if id > 0 {
		fmt.Fprintf(to, "id: %d\n", id)
	}
	fmt.Fprintf(to, "event: %s\ndata: %s\n\n", event, b) // JSON has no line ends
}
