package audit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// RecorderConfig is what a Recorder needs.
type RecorderConfig struct {
	Events Events
	// Stored gets the events that are stored, and those of kind KindTokens,
	// which never are; nil for nobody. It must not block.
	Stored func([]Event)
	// Failed is called once each time that the store starts to fail; nil for
	// nobody.
	Failed func(error)
	// Every is the longest that events wait; 250 milliseconds by default.
	Every time.Duration
}

// Bounds of a recorder.
const (
	recorderQueue = 4096
	recorderBatch = 256 // of one transaction, for which decisions wait
	// recorderPatience bounds the write of a batch.
	recorderPatience = 30 * time.Second
)

// Recorder keeps what happened without making those wait to whom it happens.
// Where it comes too fast, or the store fails, events are lost, and counted:
// the log of decisions is not. It is safe for concurrent use. One goroutine of
// its own runs while there is something to write; Close ends it.
type Recorder struct {
	cfg     RecorderConfig
	in      chan Event
	quit    chan struct{} // closed by Close
	mu      sync.Mutex
	runs    bool
	closed  bool
	going   sync.WaitGroup
	lost    atomic.Int64
	failing atomic.Bool
}

// NewRecorder returns a recorder.
func NewRecorder(cfg RecorderConfig) *Recorder {
	if cfg.Every <= 0 {
		cfg.Every = 250 * time.Millisecond
	}
	return &Recorder{cfg: cfg, in: make(chan Event, recorderQueue), quit: make(chan struct{})}
}

// Happened takes an event. It does not block.
func (r *Recorder) Happened(e Event) {
	if e.Kind == KindTokens {
		if r.cfg.Stored != nil {
			r.cfg.Stored([]Event{e})
		}
		return
	}
	select {
	case r.in <- e:
	default:
		r.lost.Add(1)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.runs && !r.closed {
		r.runs = true
		r.going.Go(r.run)
	}
}

// Lost returns how many events were not kept, and whether the store fails at
// the moment.
func (r *Recorder) Lost() (n int64, failing bool) { return r.lost.Load(), r.failing.Load() }

// Close keeps what was taken and ends the recorder.
func (r *Recorder) Close() {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.quit)
	}
	r.mu.Unlock()
	r.going.Wait()
}

// run writes every now and then, until there is nothing to write.
func (r *Recorder) run() {
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	batch := make([]Event, 0, recorderBatch)
	for {
		select {
		case <-tick.C:
		case <-r.quit:
		}
		// What comes meanwhile waits for the next time, unless it is a batch.
		for full := true; full; full = len(batch) == recorderBatch {
			if batch = r.take(batch[:0]); len(batch) > 0 {
				r.write(batch)
			}
		}
		r.mu.Lock()
		if len(r.in) == 0 {
			r.runs = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
	}
}

// take appends the events that have come, up to a batch of them.
func (r *Recorder) take(batch []Event) []Event {
	for len(batch) < recorderBatch {
		select {
		case e := <-r.in:
			batch = append(batch, e)
		default:
			return batch
		}
	}
	return batch
}

func (r *Recorder) write(batch []Event) {
	// No request waits for this, and Close does: it must come to an end.
	ctx, cancel := context.WithTimeout(context.Background(), recorderPatience)
	defer cancel()
	if err := r.cfg.Events.AppendEvents(ctx, batch); err != nil {
		r.lost.Add(int64(len(batch)))
		if !r.failing.Swap(true) && r.cfg.Failed != nil {
			r.cfg.Failed(err)
		}
		return
	}
	r.failing.Store(false)
	if r.cfg.Stored != nil {
		r.cfg.Stored(batch)
	}
	clear(batch)
}
