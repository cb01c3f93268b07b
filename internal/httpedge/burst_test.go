package httpedge

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/iotest"
)

// sent is a connection that its peer has sent all at once.
type sent struct {
	net.Conn
	io.Reader
}

func (s sent) Read(p []byte) (int, error) { return s.Reader.Read(p) }

// What is read is what was sent, to the last byte and the error, whatever is read
// ahead; and what is ahead is there to be read.
func TestBurst(t *testing.T) {
	all := make([]byte, 300<<10)
	for i := range all {
		all[i] = byte(rand.Uint32())
	}
	broken := errors.New("broken")
	for name, in := range map[string]io.Reader{
		"whole":          bytes.NewReader(all),
		"halves":         iotest.HalfReader(bytes.NewReader(all)),
		"data and error": iotest.DataErrReader(io.MultiReader(bytes.NewReader(all), iotest.ErrReader(broken))),
	} {
		c := &burstConn{Conn: sent{Reader: in}}
		var got []byte
		ahead := 0
		var err error
		for err == nil {
			p := make([]byte, 1+rand.IntN(2*readBuffer))
			if rand.IntN(4) > 0 {
				p = make([]byte, readBuffer)
			}
			was := c.Ahead() > 0
			var n int
			if n, err = c.Read(p); was {
				if ahead++; n == 0 || err != nil {
					t.Fatalf("%s: nothing was ahead: %v", name, err)
				}
			}
			got = append(got, p[:n]...)
		}
		if !bytes.Equal(got, all) || name == "whole" && ahead < 10 {
			t.Errorf("%s: %d bytes of %d, read ahead %d times", name, len(got), len(all), ahead)
		}
		if name == "data and error" && !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A slow peer's connection has no memory of its own.
func TestSlow(t *testing.T) {
	c := &burstConn{Conn: sent{Reader: iotest.OneByteReader(bytes.NewReader(make([]byte, 1000)))}}
	for range 1000 {
		if _, err := c.Read(make([]byte, readBuffer)); err != nil || c.ahead != nil || c.Ahead() > 0 {
			t.Fatal("it reads ahead", err)
		}
	}
}

// A body is read whole, whatever its header says, up to the limit.
func TestReadAll(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 513, 5000, 100_000} {
		for _, says := range []int64{-1, 0, 1, int64(size), 1 << 40} {
			for _, limit := range []int{size, size + 1, 1 << 20} {
				got, err := ReadAll(iotest.HalfReader(bytes.NewReader(make([]byte, size))), says, limit)
				if err != nil || len(got) != size || cap(got) > 16*size+8<<10 {
					t.Errorf("%d bytes that are said to be %d, of at most %d: %d, %v", size, says, limit, len(got), err)
				}
			}
			if _, err := ReadAll(bytes.NewReader(make([]byte, size+1)), says, size); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%d bytes are read where %d may be: %v", size+1, size, err)
			}
		}
	}
	if _, err := ReadAll(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(make([]byte, 9)))), 9, 9); !errors.Is(err, iotest.ErrTimeout) {
		t.Error(err)
	}
}
