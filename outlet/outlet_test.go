package outlet

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/stream/cut"
)

func TestSend(t *testing.T) {
	w := httptest.NewRecorder()
	if err := Send(w, cut.Own([]byte("refused"))); err != nil || w.Body.String() != "refused" || !w.Flushed {
		t.Errorf("%v, %q, flushed %t", err, w.Body, w.Flushed)
	}
}

// A stream writes itself, piece by piece, and ends as what it asks ends. Nothing of
// it is read.
func TestStream(t *testing.T) {
	parts, closed := []string{"a", "bcd", strings.Repeat("e", 50000)}, false
	all, ended := strings.Join(parts, ""), errors.New("cut off")
	w := httptest.NewRecorder()
	body := Stream(w, func() {}, func(out *cut.Released, _ int) error {
		if len(parts) == 0 {
			return ended
		}
		out.Own([]byte(parts[0]))
		parts = parts[1:]
		if len(parts) == 0 {
			return ended // after what it has
		}
		return nil
	}, func() error { closed = true; return nil })
	if read, err := io.ReadAll(body); !errors.Is(err, ended) || len(read) > 0 || w.Body.String() != all || !w.Flushed {
		t.Errorf("%d bytes are written, %d read, %v", w.Body.Len(), len(read), err)
	}
	if _ = body.Close(); !closed {
		t.Error("it is not closed")
	}
}

func TestWhole(t *testing.T) {
	w := httptest.NewRecorder()
	if read, err := io.ReadAll(Whole(w, cut.Own([]byte("all of it")))); err != nil || len(read) > 0 || w.Body.String() != "all of it" {
		t.Errorf("%q is written, %q read, %v", w.Body, read, err)
	}
}

// gone is a client that has disconnected.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A client that has gone ends a stream, and is not taken for an upstream that broke
// off.
func TestClientGone(t *testing.T) {
	body := Stream(gone{httptest.NewRecorder()}, func() {}, func(out *cut.Released, _ int) error { out.Own([]byte("x")); return nil }, func() error { return nil })
	if _, err := io.ReadAll(body); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// Whoever flushes beside the writes of a body does not race with them.
func TestClient(t *testing.T) {
	w := httptest.NewRecorder()
	c := To(w)
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 100 {
			_ = http.NewResponseController(c).Flush()
		}
	})
	for range 100 {
		_ = Send(c, cut.Own([]byte("x")))
	}
	wg.Wait()
	if w.Body.Len() != 100 || !w.Flushed {
		t.Errorf("%d bytes, flushed %t", w.Body.Len(), w.Flushed)
	}
}
