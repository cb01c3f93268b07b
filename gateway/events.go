package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/wire"
)

// burst is how many bytes are gathered from events that have arrived already
// before they are handed on, and together how many are decided in one go: more
// would make that no cheaper, only larger.
const (
	burst    = 32 << 10
	together = 4 << 10
)

// events is the body of a mediated stream. Read waits for the upstream, and
// returns when at least one event is released. Events that have arrived
// together are decided together and go out together.
type events struct {
	ctx  context.Context //nolint:containedctx // a body has no other way to get it
	g    *Gateway
	c    *call
	body swapped
	*reading
	gen    *mediator.Generation
	held   *settling // nil where calls are not held
	quiet  time.Time // when the client was sent something last, while it is held
	judged bool      // it has told distributions
	silent bool      // it has told text without
	frame  []byte    // scratch: an event's lines besides its data
	framed []byte    // the last of them that were clean
	ev     mediator.Event
	id     string // of the answer, as told to the session
	idle   *time.Timer
	out    []byte // what goes out next
	rest   []byte // what did not fit into the last Read
	end    bool
	resp   *http.Response

	stats    StreamStats
	arrivals []time.Time // of events not yet released; kept only for Streamed
	arrived  time.Time
}

// reading is the memory that a stream leaves to the next one of its API.
type reading struct {
	in    *sse.Reader
	codec wire.Stream
	pool  *sync.Pool
}

func newReadings(api wire.API) *sync.Pool {
	p := &sync.Pool{}
	p.New = func() any { return &reading{in: sse.NewReader(nil, 0), codec: api.NewStream(), pool: p} }
	return p
}

func newEvents(g *Gateway, c *call, resp *http.Response) *events {
	e := &events{ctx: resp.Request.Context(), g: g, c: c, resp: resp}
	if c.step != nil && c.step.Holds(c.view) {
		e.held, e.quiet = &settling{view: c.view}, time.Now()
	}
	e.open(resp.Body)
	// A silent upstream ends the stream; closing the body wakes the read.
	e.idle = time.AfterFunc(g.cfg.Idle, func() { _ = e.body.Close() })
	return e
}

// open begins to read a stream.
func (e *events) open(body io.ReadCloser) {
	e.body.swap(body)
	e.reading = e.c.api.readings.Get().(*reading)
	e.codec.Reset(wire.Limits{MaxBytes: e.g.cfg.MaxEvent}, e.c.session.Judges())
	e.generate()
	e.in.Reset(body, e.g.cfg.MaxEvent)
}

func (e *events) generate() {
	e.gen = e.c.session.Generate(e.ctx)
	e.gen.Ends, e.gen.Repeats = e.c.api.shape.Ends, e.c.api.shape.Repeats
	switch {
	case e.held != nil:
		e.gen.Hold(e.g.cfg.MaxBody)
	case e.c.step != nil:
		e.gen.Gate(e.g.cfg.MaxBody, func(call flow.ToolCall) bool { return e.c.step.Passes(e.ctx, call, e.c.view) })
	}
}

// swapped is the body that is read at the moment. It is safe for concurrent
// use.
type swapped struct {
	mu     sync.Mutex
	body   io.ReadCloser
	closed bool
}

// swap closes the body and takes another one.
func (s *swapped) swap(body io.ReadCloser) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body != nil {
		_ = s.body.Close()
	}
	if s.body = body; s.closed {
		_ = body.Close()
	}
}

// Close implements io.Closer.
func (s *swapped) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.body.Close()
}

// Close implements io.Closer. It cancels the upstream.
func (e *events) Close() error {
	e.idle.Stop()
	e.end = true
	if e.reading != nil {
		e.in.Reset(nil, 0)
		e.pool.Put(e.reading)
		e.reading = nil
		e.gen.Free()
		if f := e.g.cfg.Streamed; f != nil {
			f(e.stats)
		}
	}
	return e.body.Close()
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	if len(e.rest) > 0 {
		n := copy(p, e.rest)
		e.rest = e.rest[n:]
		return n, nil
	}
	e.out = p[:0:len(p)]
	for len(e.out) == 0 {
		if e.end {
			e.g.trailer(e.ctx, e.c, e.resp)
			return 0, io.EOF
		}
		if e.asking() {
			e.waits()
			continue
		}
		e.batch()
	}
	for !e.end && e.held == nil && len(e.out)+2*together < len(p) && e.in.Buffered() {
		e.batch()
	}
	n := min(len(e.out), len(p))
	if len(e.out) > len(p) {
		copy(p, e.out) // it moved to a larger place
		e.rest = e.out[n:]
	}
	return n, nil
}

// patience is how often a client is told that its answer is still held.
const patience = 10 * time.Second

// waits waits for a person's answer.
func (e *events) waits() {
	e.idle.Stop() // the upstream has said all
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case s := <-e.held.wait:
		e.answered(s)
	case <-t.C:
		e.out = append(e.out, still...)
	}
}

// asking reports whether a person is asked about the calls.
func (e *events) asking() bool { return e.held != nil && e.held.wait != nil }

// batch takes the next event, for which it waits, and those that have arrived
// with it, and writes what they release.
func (e *events) batch() {
	waits := !e.in.Buffered()
	size := e.next()
	if waits {
		e.idle.Reset(e.g.cfg.Idle)
	}
	for !e.end && size < together && !e.asking() && e.in.Buffered() {
		size += e.next()
	}
	if !e.end {
		e.release()
	}
	if e.held != nil && !e.asking() && time.Since(e.quiet) >= patience {
		e.out, e.quiet = append(e.out, still...), time.Now()
	}
}

// next takes one event from the upstream and returns its size.
func (e *events) next() int {
	waits := e.g.cfg.Streamed != nil && !e.in.Buffered()
	ev, err := e.in.Next()
	if waits {
		e.arrived = time.Now()
	}
	switch {
	case errors.Is(err, io.EOF):
		if e.codec.Open() {
			// The end of a connection is not the end of an answer.
			e.broken()
			break
		}
		if e.finish(); e.held == nil {
			e.end = true
		}
	case errors.Is(err, sse.ErrTooLarge):
		e.stop("too-large", "an event of the upstream is larger than margay decides")
	case err != nil:
		e.broken()
	case ev.Incomplete:
		// A client drops it; so it is no loss.
	case ev.Data == nil:
		if e.clean(ev.Raw) { // a comment with a secret is dropped: nobody misses it
			e.add(ev, &wire.Chunk{})
		}
	default:
		e.event(ev)
	}
	if err != nil {
		return 0
	}
	return len(ev.Raw)
}

// broken ends the stream where the upstream did not. What is held is not
// released: it was never decided.
func (e *events) broken() {
	e.g.cfg.Log.Warn("upstream broke off", "upstream", e.g.cfg.Name)
	e.stop("upstream-failed", "the upstream broke off in mid-stream")
}

// framing returns the lines of an event besides those of its data, and of its
// type where that is one of the API's own.
func (e *events) framing(ev *sse.Event, typed bool) []byte {
	e.frame = e.frame[:0]
	rest := len(ev.Raw) - len(ev.Data)
	if typed {
		rest -= len("event: \n") + len(ev.Type)
	}
	if rest <= len("data: \r\n\r\n") {
		return nil // there is no room for another line that says anything
	}
	for line := range bytes.FieldsFuncSeq(ev.Raw, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if !bytes.HasPrefix(line, []byte("data:")) {
			e.frame = append(append(e.frame, line...), '\n')
		}
	}
	return e.frame
}

// clean reports whether the lines of an event besides its data may pass. Most
// events of a stream have the same.
func (e *events) clean(raw []byte) bool {
	if len(raw) <= 2 || bytes.Equal(raw, e.framed) {
		return true
	}
	res := e.c.session.Answer(e.ctx, &mediator.Answer{Texts: []mediator.Text{{Text: string(raw), Path: func() string { return "event" }}}})
	if res.Denied() || len(res.Edits) > 0 {
		return false
	}
	e.framed = append(e.framed[:0], raw...)
	return true
}

func (e *events) event(ev *sse.Event) {
	chunk, err := e.codec.Parse(ev)
	if err != nil {
		e.stop("strict-json", "an event of the upstream is not strict JSON: "+err.Error())
		return
	}
	if !e.clean(e.framing(ev, chunk.Typed)) {
		e.stop("denied", "an event of the upstream holds a secret outside its data")
		return
	}
	if chunk.Stray {
		// Nobody has looked at these logprobs: the event goes on without.
		if ev = e.strip(ev, true, false); e.end {
			return
		}
		if chunk, err = e.codec.Parse(ev); err != nil {
			e.stop("internal-error", "an event could not be edited")
			return
		}
	}
	if e.c.asked || chunk.Telemetry {
		if ev = e.unasked(ev, chunk); e.end {
			return
		}
	}
	if len(chunk.ID) > 0 && string(chunk.ID) != e.id {
		e.id = string(chunk.ID)
		e.c.session.Named(e.c.caller, e.id)
		e.g.owed.forget(e.c.caller, e.id)
	}
	if chunk.Error && e.codec.Open() {
		e.failure(ev, chunk)
		return
	}
	if e.add(ev, chunk); chunk.Done && !e.end {
		e.finish()
		e.owe()
	}
}

// unasked takes out of an event what the client did not ask for. What was read
// of it stays.
func (e *events) unasked(ev *sse.Event, chunk *wire.Chunk) *sse.Event {
	if e.c.asked && !chunk.Logprobs {
		e.silent = e.silent || len(chunk.Deltas) > 0
		if e.silent && !e.judged && len(chunk.Finished) > 0 {
			e.g.mute.add(e.c.model) // the whole answer came without
		}
	}
	e.judged = e.judged || chunk.Logprobs
	logprobs := e.c.asked && chunk.Logprobs
	if !logprobs && !chunk.Telemetry {
		return ev
	}
	return e.strip(ev, logprobs, chunk.Telemetry)
}

func (e *events) strip(ev *sse.Event, logprobs, telemetry bool) *sse.Event {
	out, err := e.codec.Strip(ev, logprobs, telemetry)
	if err != nil {
		e.stop("internal-error", "an event could not be edited")
		return ev
	}
	return out
}

// failure ends the stream with the upstream's own error. What is held is not
// released.
func (e *events) failure(ev *sse.Event, chunk *wire.Chunk) {
	for i := range chunk.Deltas {
		if chunk.Deltas[i].Key.Choice >= 0 && len(chunk.Deltas[i].Text) > 0 {
			e.broken() // it goes on with a text that was not decided
			return
		}
	}
	e.release()
	if e.end {
		return
	}
	e.generate()
	e.add(ev, chunk)
	if !e.end {
		e.finish()
	}
	if e.held == nil {
		e.end = true
		_ = e.body.Close()
	}
}

func (e *events) add(ev *sse.Event, chunk *wire.Chunk) {
	e.ev.Raw, e.ev.Data = ev.Raw, ev.Data
	e.ev.Deltas, e.ev.Names, e.ev.Choices = chunk.Deltas, chunk.Names, chunk.Choices
	e.ev.Ended, e.ev.Finished = chunk.Ended, e.ev.Finished[:0]
	for _, f := range chunk.Finished {
		e.ev.Finished = append(e.ev.Finished, f.Choice)
	}
	if e.g.cfg.Streamed != nil {
		e.stats.Events++
		e.arrivals = append(e.arrivals, e.arrived)
	}
	if err := e.gen.Add(&e.ev); err != nil {
		e.halt(err)
	}
}

// release writes what the events so far release.
func (e *events) release() {
	out, err := e.gen.Release()
	e.write(out)
	if e.g.cfg.Streamed != nil {
		e.stats.MaxHeld = max(e.stats.MaxHeld, e.gen.Held())
	}
	if err != nil && !e.end {
		e.halt(err)
	}
}

// finish releases what waits at a regular end.
func (e *events) finish() {
	e.release()
	if e.end {
		return
	}
	out, err := e.gen.Close()
	e.write(out)
	if err != nil && !e.end {
		e.halt(err)
	}
	switch {
	case e.end:
	case e.gen.Holds():
		e.settle()
	case e.c.step != nil:
		e.c.step.Stand(e.gen.Said(), nil, e.gen.Gone(), e.c.view)
	}
}

func (e *events) write(out []flow.Outgoing) {
	if n := min(len(out), len(e.arrivals)); n > 0 {
		e.stats.MaxDelay = max(e.stats.MaxDelay, time.Since(e.arrivals[0]))
		e.arrivals = e.arrivals[:copy(e.arrivals, e.arrivals[n:])]
	}
	for i := range out {
		var err error
		if e.out, err = e.codec.Append(e.out, &out[i]); err != nil {
			e.fail("internal-error", "an event could not be edited")
			return
		}
	}
}

// halt ends the client's stream in the API's own terms.
func (e *events) halt(err error) {
	if !errors.Is(err, mediator.ErrHalted) {
		e.fail("denied", "the answer was stopped: "+err.Error())
		return
	}
	e.out = e.codec.Halt(e.out)
	e.end = true
	_ = e.body.Close()
}

// stop releases what the events before allow and ends the stream with an error
// event.
func (e *events) stop(code, detail string) {
	if e.release(); !e.end {
		e.fail(code, detail)
	}
}

// fail ends the stream with an error event. Nothing that is held goes out.
func (e *events) fail(code, detail string) {
	e.out = e.codec.Fail(e.out, &wire.Problem{Message: "margay: " + detail, Code: code})
	e.end = true
	_ = e.body.Close()
}
