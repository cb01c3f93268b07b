package live

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/margaydev/margay/mediator/audit"
)

// Stream says how to serve a viewer.
type Stream struct {
	After   int64         // the last event that it has seen; 0: it wants only new ones
	For     time.Duration // how long the stream may last
	Allowed func() bool   // called now and then; false ends the stream
}

// Serve sends changes to a viewer until it disconnects or must stop, and removes
// it.
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

// missed writes what a page has missed. If that is too much, it makes the page
// reload.
func (v *Viewer) missed(ctx context.Context, after int64, to *bytes.Buffer) error {
	if after == 0 || v.g.topic != Trajectory {
		return nil
	}
	rows, err := v.h.cfg.Rows(ctx, audit.Query{Trajectory: v.g.id, After: after, Limit: maxReplay + 1})
	if len(rows) > maxReplay {
		frame(to, 0, "reset", struct{}{})
		return err
	}
	for i := range rows {
		frame(to, rows[i].Seq, "row", rows[i].Data)
	}
	return err
}
