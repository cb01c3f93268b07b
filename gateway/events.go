package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/sse"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/answer"
	"github.com/margaydev/margay/outlet"
	"github.com/margaydev/margay/stream/cut"
	"github.com/margaydev/margay/wire"
)

// together is how many bytes of events that have arrived already are decided in
// one go: more would make that no cheaper, only larger.
const together = 4 << 10

// events is a mediated stream. Events that have arrived together are decided
// together and go out together.
type events struct {
	ctx  context.Context //nolint:containedctx // a body has no other way to get it
	g    *Gateway
	c    *call
	body swapped
	*reading
	readings []*reading // of all attempts
	answer   *mediator.Answer
	wait     <-chan func() (*mediator.Next, error) // what a person says to the calls; nil while nobody is asked
	quiet    time.Time                             // when the client was sent something last, while the answer is held
	judged   bool                                  // it has told distributions
	silent   bool                                  // it has told text without
	frame    []byte                                // scratch: an event's lines besides its data
	framed   []byte                                // the last of them that were clean
	ev       answer.Event
	id       string // of the answer, as told to the session
	idle     *time.Timer
	out      *cut.Released // what goes out next
	end      bool
	resp     *http.Response

	stats    StreamStats
	arrivals []time.Time // of events not yet released; kept only for Streamed
	came     time.Time
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

// newEvents returns the body of a mediated stream, whose events are in body.
func newEvents(g *Gateway, c *call, resp *http.Response, body io.ReadCloser) *outlet.Body {
	e := &events{ctx: resp.Request.Context(), g: g, c: c, resp: resp}
	e.answer = c.turn.Stream(e.ctx, answer.Options{Ends: c.api.shape.Ends, Repeats: c.api.shape.Repeats, MaxHeld: g.cfg.MaxBody}, c)
	e.quiet = time.Now()
	e.open(body)
	// A silent upstream ends the stream; closing the body wakes the read.
	e.idle = time.AfterFunc(g.cfg.Idle, func() { _ = e.body.Close() })
	return outlet.Stream(c.to, e.await, e.more, e.close)
}

// open begins to read a stream.
func (e *events) open(body io.ReadCloser) {
	e.body.swap(body)
	e.reading = e.c.api.readings.Get().(*reading)
	e.readings = append(e.readings, e.reading)
	e.codec.Reset(wire.Limits{MaxBytes: e.g.cfg.MaxEvent}, e.c.session.Judges)
	e.in.Reset(body, e.g.cfg.MaxEvent)
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

// close ends the stream and cancels the upstream.
func (e *events) close() error {
	e.idle.Stop()
	e.end = true
	if e.reading != nil {
		for _, r := range e.readings {
			r.in.Reset(nil, 0)
			r.pool.Put(r)
		}
		e.reading, e.readings = nil, nil
		e.answer.Free()
		if f := e.g.cfg.Streamed; f != nil {
			f(e.stats)
		}
	}
	return e.body.Close()
}

// await waits until something of the upstream has come, with what is decided sent
// and nothing in hand.
func (e *events) await() {
	if e.end || e.wait != nil || e.in.Buffered() {
		return
	}
	// A read within a chunk waits for its end, whatever it has already: what may wait
	// behind that is little. An error is for next.
	e.in.Fill(cmp.Or(e.ahead(), together))
	if e.idle.Reset(e.g.cfg.Idle); e.g.cfg.Streamed != nil {
		e.came = time.Now()
	}
}

// more waits for the upstream, and returns when at least one event is released.
func (e *events) more(out *cut.Released, room int) error {
	e.out = out
	for out.Len() == 0 {
		if e.end {
			e.g.trailer(e.ctx, e.c, e.resp)
			return io.EOF
		}
		if e.wait != nil {
			e.waits()
			continue
		}
		e.batch()
	}
	for !e.end && !e.answer.Holds && out.Len()+2*together < room && e.arrived() {
		e.batch()
	}
	return nil
}

// arrived reports whether a whole event has arrived, as far as that can be told
// without waiting: what is decided goes out first.
func (e *events) arrived() bool {
	for got := 0; !e.in.Buffered() && got < 4*together; {
		n := e.ahead()
		if n == 0 || !e.in.Fill(n) {
			break
		}
		got += n
	}
	return e.in.Buffered()
}

// ahead is how many bytes can be read without waiting, as far as that is known.
func (e *events) ahead() int {
	if e.c.ahead == nil {
		return 0
	}
	return e.c.ahead.Ahead()
}

// patience is how often a client reads that its answer is still held.
const patience = 10 * time.Second

// waits waits for a person's answer.
func (e *events) waits() {
	e.idle.Stop() // the upstream has said all
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case next := <-e.wait:
		e.wait = nil
		e.follow(next())
	case <-t.C:
		e.out.Own([]byte(still))
	}
}

// batch takes the next event, for which it waits, and those that have arrived
// with it, and writes what they release.
func (e *events) batch() {
	waits := !e.in.Buffered()
	size := e.next()
	if waits {
		e.idle.Reset(e.g.cfg.Idle)
	}
	for !e.end && size < together && e.wait == nil && e.in.Buffered() {
		size += e.next()
	}
	if !e.end {
		e.release()
	}
	if e.answer.Holds && e.wait == nil && time.Since(e.quiet) >= patience {
		e.out.Own([]byte(still))
		e.quiet = time.Now()
	}
}

// next takes one event from the upstream and returns its size.
func (e *events) next() int {
	waits := e.g.cfg.Streamed != nil && !e.in.Buffered()
	ev, err := e.in.Next()
	if waits {
		e.came = time.Now()
	}
	switch {
	case errors.Is(err, io.EOF):
		if e.codec.Open() {
			// The end of a connection is not the end of an answer.
			e.broken()
			break
		}
		if e.finish(); !e.answer.Holds {
			e.end = true
		}
	case errors.Is(err, sse.ErrTooLarge):
		e.stop("too-large", "an event of the upstream is larger than margay decides")
	case err != nil:
		e.broken()
	case ev.Incomplete:
		// A client drops it; so it is no loss.
	case ev.Data == nil && !sse.FramedAll(ev.Raw):
		e.stop("framing", unframed)
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
	if e.ctx.Err() != nil {
		e.release()
		e.gone()
		return
	}
	e.g.cfg.Log.Warn("upstream broke off", "upstream", e.g.cfg.Name)
	e.stop("upstream-failed", "the upstream broke off in mid-stream")
}

// gone ends the stream where the client has stopped the answer: nobody reads more,
// and nothing was refused.
func (e *events) gone() {
	if !e.end {
		e.g.cfg.Log.Info("client went away", "upstream", e.g.cfg.Name)
	}
	e.end = true
	_ = e.body.Close()
}

// unframed says that an event has a line that clients of another format might
// read, such as one of JSON.
const unframed = "an event of the upstream has a line that is not of the format"

// framing returns the lines of an event besides those of its data, and of its
// type where that is one of the API's own. What is too short for another line
// that says anything has none.
func (e *events) framing(ev *sse.Event, typed bool) []byte {
	e.frame = e.frame[:0]
	rest := len(ev.Raw) - len(ev.Data)
	if typed {
		rest -= len("event: \n") + len(ev.Type)
	}
	if rest <= len("data: \r\n\r\n") {
		return nil
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
	res := e.c.session.Decide(e.ctx, flow.Generate, &mediator.Message{Texts: []flow.Text{{Text: string(raw), Path: func() string { return "event" }}}})
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
	frame := e.framing(ev, chunk.Typed)
	if len(frame) > 0 && !sse.FramedAll(frame) {
		e.stop("framing", unframed)
		return
	}
	if !e.clean(frame) {
		e.stop("denied", "an event of the upstream holds a secret outside its data")
		return
	}
	if chunk.Stray {
		// Nobody has looked at these logprobs: the event goes on without. The model
		// tells some, all the same, and is asked again.
		e.judged = true
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
		e.c.named(e.id)
	}
	if chunk.Error && e.codec.Open() {
		e.failure(ev, chunk)
		return
	}
	if e.add(ev, chunk); chunk.Done && !e.end {
		e.finish()
		e.c.owe(e.codec)
	}
}

// unasked takes out of an event what the client did not ask for. What was read
// of it stays.
func (e *events) unasked(ev *sse.Event, chunk *wire.Chunk) *sse.Event {
	if e.c.asked && !chunk.Logprobs {
		e.silent = e.silent || len(chunk.Deltas) > 0
		if e.silent && !e.judged && len(chunk.Finished) > 0 {
			e.g.mute.Put(e.c.model, struct{}{}) // the whole answer came without
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
	e.ev.Failed = true
	e.add(ev, chunk)
	e.ev.Failed = false
	if !e.end {
		e.finish()
	}
	if !e.answer.Holds {
		e.end = true
		_ = e.body.Close()
	}
}

func (e *events) add(ev *sse.Event, chunk *wire.Chunk) {
	e.ev.Raw, e.ev.Data = ev.Raw, ev.Data
	e.ev.Deltas, e.ev.Names, e.ev.Choices = chunk.Deltas, chunk.Names, chunk.Choices
	e.ev.ID, e.ev.Ended, e.ev.Finished = chunk.ID, chunk.Ended, e.ev.Finished[:0]
	for _, f := range chunk.Finished {
		e.ev.Finished = append(e.ev.Finished, f.Choice)
	}
	if e.g.cfg.Streamed != nil {
		e.stats.Events++
		e.arrivals = append(e.arrivals, e.came)
	}
	if err := e.answer.Add(&e.ev); err != nil {
		e.halt(err)
	}
}

// release writes what the events so far release.
func (e *events) release() {
	out, err := e.answer.Release()
	e.write(out)
	if e.g.cfg.Streamed != nil {
		e.stats.MaxHeld = max(e.stats.MaxHeld, e.answer.Held)
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
	e.follow(e.answer.End(nil))
}

func (e *events) write(out []answer.Outgoing) {
	if n := min(len(out), len(e.arrivals)); n > 0 {
		e.stats.MaxDelay = max(e.stats.MaxDelay, time.Since(e.arrivals[0]))
		e.arrivals = e.arrivals[:copy(e.arrivals, e.arrivals[n:])]
	}
	for i := range out {
		if e.out.Encode(&out[i], func(dst []byte) ([]byte, error) { return e.codec.Append(dst, &out[i].Outgoing) }) != nil {
			e.fail("internal-error", "an event could not be edited")
			return
		}
	}
}

// halt ends the client's stream in the API's own terms.
func (e *events) halt(err error) {
	var by answer.Stop
	if stop := (*answer.Stop)(nil); errors.As(err, &stop) {
		by = *stop
	}
	d := unusable("denied", "the answer was stopped: "+err.Error())
	d.decision = by.Decision
	switch {
	case d.decision == "" && e.ctx.Err() != nil:
		e.gone()
		return
	case errors.Is(err, answer.ErrDenied):
		e.failed(d)
		return
	case !errors.Is(err, answer.ErrHalted):
		e.fail("store-failed", err.Error()+"; run margay doctor")
		return
	}
	e.g.record(e.ctx, flow.Generate, "", e.c.session, d)
	e.out.Own([]byte(": margay ended the answer" + d.explain() + "\n\n"))
	e.out.Own(e.codec.Halt(nil))
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
func (e *events) fail(code, detail string) { e.failed(unusable(code, detail)) }

func (e *events) failed(d *denied) {
	e.g.record(e.ctx, flow.Generate, "", e.c.session, d)
	e.out.Own(e.codec.Fail(nil, &wire.Problem{Message: "margay: " + d.told(), Code: d.code}))
	e.end = true
	_ = e.body.Close()
}
