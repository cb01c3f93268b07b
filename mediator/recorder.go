package mediator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// RecorderConfig is what a Recorder needs.
type RecorderConfig struct {
	Events Events
	// Stored is told of events that are stored, and of those of kind
	// EventTokens, which never are; nil for nobody. It must not block.
	Stored func([]TraceEvent)
	// Failed is told once for each time that the store begins to fail; nil
	// for nobody.
	Failed func(error)
	// Every is the longest that events wait; 250 milliseconds by default.
	Every time.Duration
}

// Bounds of a recorder.
const (
	recorderQueue = 4096
	recorderBatch = 64 // of one transaction, for which decisions wait
)

// Recorder keeps what happened without making those wait to whom it happens.
// Where it comes too fast, or the store fails, events are lost, and counted:
// the log of decisions is not. It is safe for concurrent use. One goroutine of
// its own runs while there is something to write; Close ends it.
type Recorder struct {
	cfg     RecorderConfig
	in      chan TraceEvent
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
	return &Recorder{cfg: cfg, in: make(chan TraceEvent, recorderQueue), quit: make(chan struct{})}
}

// Happened takes an event. It does not block.
func (r *Recorder) Happened(e TraceEvent) {
	if e.Kind == EventTokens {
		if r.cfg.Stored != nil {
			r.cfg.Stored([]TraceEvent{e})
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
	batch := make([]TraceEvent, 0, recorderBatch)
	for {
		select {
		case <-tick.C:
		case <-r.quit:
		}
		for more := true; more; {
			batch = batch[:0]
		fill:
			for len(batch) < recorderBatch {
				select {
				case e := <-r.in:
					batch = append(batch, e)
				default:
					more = false
					break fill
				}
			}
			r.write(batch)
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

func (r *Recorder) write(batch []TraceEvent) {
	if len(batch) == 0 {
		return
	}
	if err := r.cfg.Events.AppendEvents(context.Background(), batch); err != nil {
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
