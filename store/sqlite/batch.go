package sqlite

import (
	"context"
	"errors"
)

// Bounds of one transaction of several callers.
const (
	maxCallers = 256
	maxEntries = 4096
)

// batches writes what callers hand in at the same time in one transaction, so
// that they share one wait for the disk. One goroutine runs it.
type batches[T interface{ entries() int }] struct {
	write func([]T) error // all of them in one transaction, or none
	in    chan waiting[T]
	quit  <-chan struct{} // closed when the store is
	done  chan struct{}   // closed when the goroutine has ended
}

// waiting is a caller whose change is to be durable.
type waiting[T any] struct {
	ctx  context.Context // of the call
	what T
	err  chan error // of capacity 1
}

func newBatches[T interface{ entries() int }](quit <-chan struct{}, write func([]T) error) *batches[T] {
	return &batches[T]{write: write, in: make(chan waiting[T]), quit: quit, done: make(chan struct{})}
}

// put returns when the change is durable, or never will be. Until its
// transaction starts, the call ends with ctx; from then on it waits for the
// outcome.
func (b *batches[T]) put(ctx context.Context, what T) error {
	w := waiting[T]{ctx, what, make(chan error, 1)}
	select {
	case b.in <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.quit:
		return ErrClosed
	}
	// What was taken is always answered, also by a store that is closing.
	return <-w.err
}

// run ends when quit is closed.
func (b *batches[T]) run() {
	defer close(b.done)
	var batch []waiting[T]
	for {
		select {
		case w := <-b.in:
			batch = append(batch[:0], w)
		case <-b.quit:
			return
		}
		n := batch[0].what.entries()
	more:
		for len(batch) < maxCallers && n < maxEntries {
			select {
			case w := <-b.in:
				batch, n = append(batch, w), n+w.what.entries()
			default:
				break more
			}
		}
		b.flush(batch)
		clear(batch)
	}
}

// flush writes a batch and answers all of its callers. One caller's entries
// can't fail another's: if they can't be written together, each is tried alone.
func (b *batches[T]) flush(batch []waiting[T]) {
	live := batch[:0]
	var all []T
	for _, w := range batch {
		if err := w.ctx.Err(); err != nil {
			w.err <- err
			continue
		}
		live, all = append(live, w), append(all, w.what)
	}
	if len(live) == 0 {
		return
	}
	err := b.write(all)
	for i, w := range live {
		if err != nil && len(live) > 1 && !errors.Is(err, ErrLocked) {
			w.err <- b.write(all[i : i+1])
			continue
		}
		w.err <- err
	}
}
