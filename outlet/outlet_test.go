package outlet

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/margaydev/margay/stream/cut"
)

func TestSend(t *testing.T) {
	w := httptest.NewRecorder()
	if err := Send(w, cut.Own([]byte("refused"))); err != nil || w.Body.String() != "refused" || !w.Flushed {
		t.Errorf("%v, %q, flushed %t", err, w.Body, w.Flushed)
	}
}

func TestStream(t *testing.T) {
	parts, closed := []string{"a", "bcd", strings.Repeat("e", 5000)}, false
	ended := errors.New("cut off")
	body := Stream(func(out *cut.Released, _ int) error {
		if len(parts) == 0 {
			return ended
		}
		out.Own([]byte(parts[0]))
		parts = parts[1:]
		return nil
	}, func() error { closed = true; return nil })
	got, err := io.ReadAll(iotest.OneByteReader(body))
	if !errors.Is(err, ended) || string(got) != "abcd"+strings.Repeat("e", 5000) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _ = body.Close(); !closed {
		t.Error("it is not closed")
	}
}

func TestWhole(t *testing.T) {
	if err := iotest.TestReader(Whole(cut.Own([]byte("all of it"))), []byte("all of it")); err != nil {
		t.Error(err)
	}
}
