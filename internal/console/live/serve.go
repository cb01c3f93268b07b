package live

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/margaydev/margay/mediator"
)

// Stream says how a viewer is served.
type Stream struct {
	After   int64         // the last event that it has seen; 0: it wants new ones alone
	For     time.Duration // the longest that it may look
	Allowed func() bool   // asked now and then; false ends the stream
}

// Serve sends a viewer what changes until it goes away or may not look any
// more, and takes it away.
func (v *Viewer) Serve(ctx context.Context, w http.ResponseWriter, s Stream) {
	defer v.h.leave(v)
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
	first := bytes.NewBufferString("retry: 1000\n\n")
	if v.missed(ctx, s.After, first) != nil || !write(first.Bytes()) || to.Flush() != nil {
		return
	}
	end := time.NewTimer(s.For)
	defer end.Stop()
	beat := time.NewTicker(alive)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.h.ctx.Done():
			return
		case <-v.slow:
			return
		case <-end.C:
			return
		case b := <-v.out:
			if !write(b) {
				return
			}
		case <-beat.C:
			if !s.Allowed() || !write([]byte(": here\n\n")) {
				return
			}
		}
	}
}

// missed writes what a page has missed. Where that is too much, it is told to
// load itself again.
func (v *Viewer) missed(ctx context.Context, after int64, to *bytes.Buffer) error {
	if after == 0 || v.g.topic != Trajectory {
		return nil
	}
	rows, err := v.h.cfg.Rows(ctx, mediator.EventQuery{Trajectory: v.g.id, After: after, Limit: maxReplay + 1})
	if len(rows) > maxReplay {
		frame(to, 0, "reset", struct{}{})
		return err
	}
	for i := range rows {
		frame(to, rows[i].Seq, "row", rows[i].Data)
	}
	return err
}
