// Package sse frames server-sent events (WHATWG HTML, section 9.2) without
// losing a byte: every event carries the raw bytes it came in.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge says that an event exceeded the reader's limit.
var ErrTooLarge = errors.New("server-sent event too large")

// Event is one block of lines up to and including the empty line that ends
// it. Its slices are valid until the next call of Next.
type Event struct {
	// Raw are the bytes of the event as they came, the empty line included.
	Raw []byte
	// Type is the last "event" field; empty means "message".
	Type []byte
	// ID is the last "id" field.
	ID []byte
	// Data are the "data" fields, joined by line feeds. It is nil if there
	// was none: a block of comments, or of other fields alone.
	Data []byte
	// Incomplete: the stream ended before the empty line. A client does
	// not dispatch such an event.
	Incomplete bool
}

// Reader reads events incrementally. It is not safe for concurrent use.
type Reader struct {
	r     *bufio.Reader
	max   int
	raw   []byte
	data  []byte
	start bool
	cr    bool // the last line ended with CR: a LF right behind it belongs to it
}

// NewReader returns a reader of events of at most maxEvent bytes each.
func NewReader(r io.Reader, maxEvent int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 16<<10), max: maxEvent, start: true}
}

// Reset makes r read from another stream.
func (r *Reader) Reset(rd io.Reader) {
	r.r.Reset(rd)
	r.start, r.cr = true, false
}

// Buffered reports whether a whole further event has been read already, so
// that Next will not wait.
func (r *Reader) Buffered() bool {
	b, _ := r.r.Peek(r.r.Buffered())
	return bytes.Contains(b, []byte("\n\n")) || bytes.Contains(b, []byte("\r\n\r\n")) || bytes.Contains(b, []byte("\r\r"))
}

// Next returns the next event. At the end of the stream it returns io.EOF;
// bytes behind the last empty line come as an Incomplete event before that.
func (r *Reader) Next() (Event, error) {
	r.raw, r.data = r.raw[:0], r.data[:0]
	var ev Event
	var hasData bool
	var typ, id [2]int // spans in raw: it may move while it grows
	for {
		from, to, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && len(r.raw) > 0 {
				r.field(from, to, &hasData, &typ, &id)
				ev.Incomplete = true
				break
			}
			return Event{}, err
		}
		if from == to {
			break
		}
		r.field(from, to, &hasData, &typ, &id)
	}
	ev.Raw, ev.Type, ev.ID = r.raw, r.raw[typ[0]:typ[1]], r.raw[id[0]:id[1]]
	if hasData {
		ev.Data = r.data
	}
	return ev, nil
}

// line appends one line with its end to raw and returns where its content
// lies. A byte order mark at the start is kept in raw and left out of it.
func (r *Reader) line() (from, to int, err error) {
	from = len(r.raw)
	if !r.cr {
		// The common case: a whole line is there and ends with LF.
		b, _ := r.r.Peek(r.r.Buffered())
		if i := bytes.IndexByte(b, '\n'); i >= 0 && bytes.IndexByte(b[:i], '\r') < 0 && len(r.raw)+i < r.max {
			r.raw = append(r.raw, b[:i+1]...)
			_, _ = r.r.Discard(i + 1)
			to = len(r.raw) - 1
			return r.mark(from, to), to, nil
		}
	}
	for {
		b, err := r.r.ReadByte()
		if err != nil {
			return from, len(r.raw), err
		}
		if r.cr {
			r.cr = false
			if b == '\n' {
				// The second half of a CRLF that ended the line before.
				r.raw = append(r.raw, b)
				from++
				continue
			}
		}
		if len(r.raw) >= r.max {
			return 0, 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.max)
		}
		r.raw = append(r.raw, b)
		if b != '\n' && b != '\r' {
			continue
		}
		to = len(r.raw) - 1
		if b == '\r' {
			// Take a LF that is there already, so that an event's raw bytes
			// end with its own line end; otherwise it comes with the next.
			if next, err := r.peek(); err == nil && next == '\n' {
				_, _ = r.r.Discard(1)
				r.raw = append(r.raw, '\n')
			} else {
				r.cr = true
			}
		}
		return r.mark(from, to), to, nil
	}
}

// mark skips the byte order mark of the first line.
func (r *Reader) mark(from, to int) int {
	if r.start {
		r.start = false
		if bytes.HasPrefix(r.raw[from:to], []byte("\xef\xbb\xbf")) {
			from += 3
		}
	}
	return from
}

// peek looks at a byte that has been read already, or waits for it where the
// line before ended with CR inside an event: a client waits there, too.
func (r *Reader) peek() (byte, error) {
	if r.r.Buffered() == 0 {
		return 0, io.ErrNoProgress
	}
	b, err := r.r.Peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (r *Reader) field(from, to int, hasData *bool, typ, id *[2]int) {
	line := r.raw[from:to]
	name, value := line, line[len(line):]
	at := to
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, value = line[:i], line[i+1:]
		at = from + i + 1
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
			at++
		}
	}
	switch string(name) {
	case "data":
		if *hasData {
			r.data = append(r.data, '\n')
		}
		*hasData = true
		r.data = append(r.data, value...)
	case "event":
		*typ = [2]int{at, to}
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			*id = [2]int{at, to}
		}
	}
}

// Append writes an event with new data: the lines of raw other than data stay
// as they are, in their order; the data goes where the first data line was.
// The line ends are those of raw. With an empty raw it writes a plain event.
func Append(dst, raw, data []byte) []byte {
	eol := []byte("\n")
	if bytes.Contains(raw, []byte("\r\n")) {
		eol = []byte("\r\n")
	}
	done := false
	put := func() {
		if done {
			return
		}
		done = true
		for _, l := range bytes.Split(data, []byte("\n")) {
			dst = append(dst, "data: "...)
			dst = append(dst, l...)
			dst = append(dst, eol...)
		}
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	for len(raw) > 0 {
		i := bytes.IndexAny(raw, "\r\n")
		if i < 0 {
			i = len(raw)
		}
		line := raw[:i]
		raw = raw[i:]
		if bytes.HasPrefix(raw, []byte("\r\n")) {
			raw = raw[2:]
		} else if len(raw) > 0 {
			raw = raw[1:]
		}
		switch {
		case len(line) == 0:
		case bytes.Equal(line, []byte("data")), bytes.HasPrefix(line, []byte("data:")):
			put()
		default:
			dst = append(dst, line...)
			dst = append(dst, eol...)
		}
	}
	put()
	return append(dst, eol...)
}
