package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// read returns the raw bytes of all events, and what a client would dispatch.
func read(r io.Reader, limit int) (raw string, got []string, err error) {
	in := NewReader(r, limit)
	for {
		ev, err := in.Next()
		if errors.Is(err, io.EOF) {
			return raw, got, nil
		}
		if err != nil {
			return raw, got, err
		}
		raw += string(ev.Raw)
		if ev.Data != nil && !ev.Incomplete {
			got = append(got, fmt.Sprintf("%s|%s|%s", ev.Type, ev.ID, ev.Data))
		}
	}
}

func TestFraming(t *testing.T) {
	for in, want := range map[string][]string{
		"data: a\n\n":                                    {"||a"},
		"data:a\n\ndata:  b\n\n":                         {"||a", "|| b"},
		"data: a\r\n\r\ndata: b\r\n\r\n":                 {"||a", "||b"},
		"data: a\r\rdata: b\r\r":                         {"||a", "||b"},
		"data: a\ndata: b\ndata\n\n":                     {"||a\nb\n"},
		": comment\n\ndata: a\n\n":                       {"||a"},
		"event: x\nid: 7\nretry: 5\ndata: a\n\n":         {"x|7|a"},
		"\xef\xbb\xbfdata: a\n\n":                        {"||a"},
		"data: a\n\ndata: cut off":                       {"||a"},
		"unknown: x\ndata: a\n\n":                        {"||a"},
		"id: a\x00b\ndata: a\n\n":                        {"||a"},
		"data: a\r\ndata: b\n\r\nevent: y\r\n\r\n\n\r\n": {"||a\nb"},
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
			raw, got, err := read(r, 1<<10)
			if err != nil || raw != in || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %q: %q, want %q; raw kept: %v, %v", name, in, got, want, raw == in, err)
			}
		}
	}
}

func TestLimit(t *testing.T) {
	for _, in := range []string{strings.Repeat("x", 200), "data: " + strings.Repeat("x", 200) + "\n\n", strings.Repeat("data: x\n", 40) + "\n"} {
		if _, _, err := read(strings.NewReader(in), 100); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: %v", len(in), err)
		}
	}
}

func TestBuffered(t *testing.T) {
	r := NewReader(strings.NewReader("data: a\n\ndata: b\n\ndata: c"), 100)
	if _, err := r.Next(); err != nil || !r.Buffered() {
		t.Error("the second event is there")
	}
	if _, err := r.Next(); err != nil || r.Buffered() {
		t.Error("the third event is not complete")
	}
}

// What was read together stays valid until the reader reads on; a reader that
// is reset knows nothing of the stream before.
func TestEventsOfOneReadStayValid(t *testing.T) {
	r := NewReader(strings.NewReader("data: never ended"), 10)
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	for range 3 {
		r.Reset(strings.NewReader("data: a\ndata: b\n\ndata: c\ndata: d\ndata: e\n\nid: 1\ndata: f\n\n"), 100)
		var got []Event
		for len(got) == 0 || r.Buffered() {
			ev, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, *ev)
		}
		if len(got) != 3 || string(got[0].Data) != "a\nb" || string(got[1].Data) != "c\nd\ne" || string(got[2].Raw) != "id: 1\ndata: f\n\n" || len(got[0].ID) > 0 {
			t.Errorf("%d events", len(got))
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestAppend(t *testing.T) {
	for _, c := range [][3]string{
		{"", "x", "data: x\n\n"},
		{"data: a\n\n", "x", "data: x\n\n"},
		{"event: e\ndata: a\ndata: b\nid: 3\n\n", "x\ny", "event: e\ndata: x\ndata: y\nid: 3\n\n"},
		{"id: 3\r\ndata: a\r\n\r\n", "x", "id: 3\r\ndata: x\r\n\r\n"},
	} {
		if got := Append(nil, []byte(c[0]), []byte(c[1])); string(got) != c[2] {
			t.Errorf("%q with %q: %q", c[0], c[1], got)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: a\r\n\r\n: c\n\ndata: b\rdata\r\r"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, n uint8) {
		raw, want, err := read(bytes.NewReader(in), 1<<16)
		if err != nil {
			return
		}
		if raw != string(in) {
			t.Fatal("raw bytes were lost")
		}
		raw, got, err := read(&pieces{in, int(n%7) + 1}, 1<<16)
		if err != nil || raw != string(in) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("pieces of %d: %d events, whole: %d; %v", n%7+1, len(got), len(want), err)
		}
	})
}

// pieces reads n bytes at a time.
type pieces struct {
	b []byte
	n int
}

func (p *pieces) Read(dst []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, p.b[:min(p.n, len(p.b))])
	p.b = p.b[n:]
	return n, nil
}

// A burst makes the buffer larger, and who waits for more does not keep it.
func TestBufferAfterABurst(t *testing.T) {
	burst := strings.Repeat("data: "+strings.Repeat("x", 100)+"\n\n", 200)
	r := NewReader(io.MultiReader(strings.NewReader(burst), strings.NewReader("data: y\n\n"), strings.NewReader("data: z\n\n")), 1<<16)
	most := 0
	for i := range 202 {
		ev, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if want := i < 200; want != (len(ev.Data) == 100) {
			t.Fatalf("event %d is %q", i, ev.Data)
		}
		most = max(most, len(r.buf))
	}
	if most <= smallRead || len(r.buf) != smallRead || r.wide != nil {
		t.Errorf("the buffer has %d bytes, at most %d", len(r.buf), most)
	}
}
