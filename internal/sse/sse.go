// Package sse frames server-sent events (WHATWG HTML, section 9.2) without
// losing a byte: every event carries the raw bytes it came in.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge says that an event exceeded the reader's limit.
var ErrTooLarge = errors.New("server-sent event too large")

// Event is one block of lines up to and including the empty line that ends
// it. Its slices are valid until the reader reads on: until a call of Next
// before which Buffered said that there is no further event.
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

// span is a part of the open event, from its first byte on.
type span struct{ from, to int }

// Reader reads events incrementally. It is not safe for concurrent use.
type Reader struct {
	r   io.Reader
	max int
	err error // of the last read

	buf      []byte
	filled   bool   // the last read filled it
	from, to int    // what is in buf and in no event yet
	joined   []byte // data of several lines

	// The open event, as far as its lines are there.
	line    int // where its first line without an end begins
	looked  int // there is no line end before
	typ, id span
	data    span
	lines   int // of data
	several []byte

	ev    Event // the last one
	found bool  // by Buffered, and not yet returned
	start bool  // nothing was read yet
	cr    bool  // the last line ended with CR: a LF right behind it belongs to it
}

// The buffer begins small, for most streams are slow. It grows while reads
// fill it, and with the largest event.
const (
	firstRead = 4 << 10
	wideRead  = 32 << 10
)

// NewReader returns a reader of events of at most maxEvent bytes each.
func NewReader(r io.Reader, maxEvent int) *Reader {
	return &Reader{r: r, max: maxEvent, start: true}
}

// Reset makes r read another stream, in the memory that it has.
func (r *Reader) Reset(rd io.Reader, maxEvent int) {
	if len(r.buf) > wideRead {
		r.buf = nil
	}
	*r = Reader{r: rd, max: maxEvent, start: true, buf: r.buf, joined: r.joined[:0], several: r.several[:0]}
}

// Buffered reports whether a whole further event has been read already, so
// that Next will not wait.
func (r *Reader) Buffered() bool {
	if !r.found {
		r.found = r.take()
	}
	return r.found
}

// Next returns the next event, which is valid until the next call of a method.
// At the end of the stream it returns io.EOF; bytes behind the last empty line
// come as an Incomplete event before that.
func (r *Reader) Next() (*Event, error) {
	for {
		if r.Buffered() {
			r.found = false
			return &r.ev, nil
		}
		if r.to-r.from > r.max {
			r.err, r.from, r.to = fmt.Errorf("%w: more than %d bytes", ErrTooLarge, r.max), 0, 0
		}
		if r.err == nil {
			r.read()
			continue
		}
		if !errors.Is(r.err, io.EOF) || r.from == r.to {
			return nil, r.err
		}
		r.field(span{r.mark(r.line), r.to - r.from})
		r.event(r.to - r.from)
		r.ev.Incomplete = true
		return &r.ev, nil
	}
}

// read makes room and reads once.
func (r *Reader) read() {
	r.joined = r.joined[:0]
	switch {
	case r.from == r.to:
		r.from, r.to = 0, 0
	case r.from > 0:
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	}
	if r.to == len(r.buf) || r.filled && len(r.buf) < wideRead {
		grown := make([]byte, max(firstRead, 2*len(r.buf)))
		copy(grown, r.buf[:r.to])
		r.buf = grown
	}
	for range 100 {
		var n int
		n, r.err = r.r.Read(r.buf[r.to:])
		r.to += n
		r.filled = r.to == len(r.buf)
		if n > 0 || r.err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

var (
	dataField = []byte("data: ")
	typeField = []byte("event: ")
)

// usual makes the next event if it is what nearly every event of a model's
// stream is: one line of data, with or without one of its type before.
func (r *Reader) usual() bool {
	b := r.buf[r.from:r.to]
	var typ []byte
	at := 0
	if bytes.HasPrefix(b, typeField) {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return false
		}
		typ, at = b[len(typeField):i:i], i+1
	}
	if !bytes.HasPrefix(b[at:], dataField) {
		return false
	}
	i := bytes.IndexByte(b[at:], '\n') + at
	if i < at || i+1 >= len(b) || b[i+1] != '\n' || i+2 > r.max || bytes.IndexByte(b[:i], '\r') >= 0 {
		return false
	}
	r.from += i + 2
	r.ev.Raw, r.ev.Data = b[:i+2:i+2], b[at+len(dataField):i:i]
	r.ev.Type, r.ev.ID, r.ev.Incomplete = typ, nil, false
	return true
}

// take makes the next event if all of it is there.
func (r *Reader) take() bool {
	if r.looked == 0 && !r.cr && !r.start && r.usual() {
		return true
	}
	for {
		from, to, ok := r.nextLine()
		if !ok || r.line > r.max { // Next says so
			return false
		}
		if from == to {
			r.event(r.line)
			return true
		}
		r.field(span{from, to})
	}
}

// nextLine returns the content of the open event's next line, if its end is
// there.
func (r *Reader) nextLine() (from, to int, ok bool) {
	b := r.buf[r.from:r.to]
	if r.cr && r.line < len(b) {
		r.cr = false
		if b[r.line] == '\n' {
			// The second half of a CRLF that ended the line before.
			r.line++
			r.looked = max(r.looked, r.line)
		}
	}
	i := bytes.IndexAny(b[r.looked:], "\r\n")
	if i < 0 {
		r.looked = len(b)
		return 0, 0, false
	}
	from, to = r.line, r.looked+i
	r.line = to + 1
	if b[to] == '\r' {
		// Take a LF that is there already, so that an event's raw bytes end
		// with its own line end; otherwise it comes with the next.
		if r.line < len(b) && b[r.line] == '\n' {
			r.line++
		} else {
			r.cr = r.line == len(b)
		}
	}
	r.looked = r.line
	return r.mark(from), to, true
}

// mark skips the byte order mark of the first line.
func (r *Reader) mark(from int) int {
	if r.start {
		r.start = false
		if bytes.HasPrefix(r.buf[r.from+from:r.to], []byte("\xef\xbb\xbf")) {
			from += 3
		}
	}
	return from
}

// event ends the open event behind its first n bytes.
func (r *Reader) event(n int) {
	raw := r.buf[r.from : r.from+n : r.from+n]
	r.ev = Event{Raw: raw, Type: raw[r.typ.from:r.typ.to], ID: raw[r.id.from:r.id.to]}
	switch {
	case r.lines == 1:
		r.ev.Data = raw[r.data.from:r.data.to:r.data.to]
	case r.lines > 1:
		at := len(r.joined)
		r.joined = append(r.joined, r.several...)
		r.ev.Data = r.joined[at:len(r.joined):len(r.joined)]
	}
	r.from += n
	r.line, r.looked, r.lines = 0, 0, 0
	r.typ, r.id = span{}, span{}
}

func (r *Reader) field(s span) {
	b := r.buf[r.from:r.to]
	line := b[s.from:s.to]
	name, at := line, s.to
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, at = line[:i], s.from+i+1
		if at < s.to && b[at] == ' ' {
			at++
		}
	}
	value := span{at, s.to}
	switch string(name) {
	case "data":
		if r.lines++; r.lines == 1 {
			r.data = value
			return
		}
		if r.lines == 2 {
			r.several = append(r.several[:0], b[r.data.from:r.data.to]...)
		}
		r.several = append(r.several, '\n')
		r.several = append(r.several, b[value.from:value.to]...)
	case "event":
		r.typ = value
	case "id":
		if bytes.IndexByte(b[value.from:value.to], 0) < 0 {
			r.id = value
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
