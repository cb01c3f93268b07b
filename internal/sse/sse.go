// Package sse frames server-sent events (WHATWG HTML, section 9.2) without
// losing a byte: every event carries the raw bytes it came in.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"
)

// ErrTooLarge says that an event exceeded the reader's limit.
var ErrTooLarge = errors.New("server-sent event too large")

// Event is one block of lines up to and including the empty line that ends
// it. Its slices are valid until the reader reads on: until a call of Fill, or of
// Next for which Buffered reported no further event.
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
	r   io.Reader
	max int
	err error // of the last read

	buf      []byte
	small    []byte  // the reader's own
	wide     *[]byte // that of all readers that buf is now; nil for none
	filled   bool    // the last read filled it
	got      int     // by the last read
	from, to int     // what is in buf and in no event yet
	joined   []byte  // data of several lines

	// Of the open event:
	line   int // where its first line without an end starts
	looked int // there is no line end before

	ev    Event // the last one
	found bool  // by Buffered, and not yet returned
	start bool  // there was no event yet
	cr    bool  // the last line ended with CR: a LF right behind it belongs to it
}

// A reader has little memory of its own, because most streams are slow. While reads
// fill it, it reads into memory that all readers share, and gives that back behind
// a burst. An event that is larger has memory of its own.
const (
	smallRead = 2 << 10
	wideRead  = 32 << 10
)

var wides = sync.Pool{New: func() any { b := make([]byte, wideRead); return &b }}

// NewReader returns a reader of events of at most maxEvent bytes each.
func NewReader(r io.Reader, maxEvent int) *Reader {
	return &Reader{r: r, max: maxEvent, start: true}
}

// Reset makes r read another stream, in the memory that it has.
func (r *Reader) Reset(rd io.Reader, maxEvent int) {
	r.narrow()
	*r = Reader{r: rd, max: maxEvent, start: true, buf: r.buf, small: r.small, joined: r.joined[:0]}
}

// Buffered reports whether a whole further event has been read already, so
// that Next will not wait.
func (r *Reader) Buffered() bool {
	if !r.found {
		r.found = r.take()
	}
	return r.found
}

// Fill reads once, at most so many bytes, and reports whether something came. Where
// that may wait, it is for a caller that has nothing else to do. Errors are for Next.
func (r *Reader) Fill(most int) bool {
	if r.err != nil || r.to-r.from > r.max {
		return false
	}
	r.read(most)
	return r.got > 0
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
			r.read(math.MaxInt)
			continue
		}
		if !errors.Is(r.err, io.EOF) || r.from == r.to {
			return nil, r.err
		}
		r.event(r.to - r.from)
		r.ev.Incomplete = true
		return &r.ev, nil
	}
}

// narrow moves what is in no event yet to the reader's own memory.
func (r *Reader) narrow() {
	if r.small == nil {
		r.small = make([]byte, smallRead)
	}
	r.to = copy(r.small, r.buf[r.from:r.to])
	r.buf, r.from = r.small, 0
	if r.wide != nil {
		wides.Put(r.wide)
		r.wide = nil
	}
}

// grow makes room behind what is in no event yet.
func (r *Reader) grow() {
	was, shared := r.buf[r.from:r.to], r.wide
	if len(r.buf) < wideRead {
		r.wide = wides.Get().(*[]byte)
		r.buf = *r.wide
	} else {
		r.buf, r.wide = make([]byte, 2*len(r.buf)), nil
	}
	r.to, r.from = copy(r.buf, was), 0
	if shared != nil {
		wides.Put(shared)
	}
}

// read makes room and reads once, at most so many bytes.
func (r *Reader) read(most int) {
	r.joined = r.joined[:0]
	switch left := r.to - r.from; {
	case !r.filled && left < smallRead: // who waits needs no more
		r.narrow()
	case left == len(r.buf), r.filled && len(r.buf) < wideRead:
		r.grow()
	case r.from > 0:
		r.to = copy(r.buf, r.buf[r.from:r.to])
		r.from = 0
	}
	room := r.buf[r.to:]
	room = room[:min(most, len(room))]
	for range 100 {
		r.got, r.err = r.r.Read(room)
		r.to += r.got
		r.filled = r.got == len(room)
		if r.got > 0 || r.err != nil {
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
		blank, ok := r.nextLine()
		if !ok || r.line > r.max { // Next says so
			return false
		}
		if blank {
			r.event(r.line)
			return true
		}
	}
}

// nextLine reads the open event's next line, if its end is there, and reports
// whether it is blank.
func (r *Reader) nextLine() (blank, ok bool) {
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
		return false, false
	}
	end := r.looked + i
	blank = end == r.line || r.line == 0 && len(r.text(b[:end])) == 0
	r.line = end + 1
	if b[end] == '\r' {
		// Take a LF that is there already, so that an event's raw bytes end
		// with its own line end; otherwise it comes with the next.
		if r.line < len(b) && b[r.line] == '\n' {
			r.line++
		} else {
			r.cr = r.line == len(b)
		}
	}
	r.looked = r.line
	return blank, true
}

// text returns the first bytes of the open event without the byte order mark
// that a stream may start with.
func (r *Reader) text(b []byte) []byte {
	if r.start {
		b = bytes.TrimPrefix(b, mark)
	}
	return b
}

var mark = []byte("\xef\xbb\xbf")

// event ends the open event behind its first n bytes.
func (r *Reader) event(n int) {
	raw := r.buf[r.from : r.from+n : r.from+n]
	r.ev = Event{Raw: raw}
	first := len(r.joined)
	for line := range lines(r.text(raw)) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			value = line[len(line):]
		}
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(name) == "data" && r.ev.Data == nil:
			r.ev.Data = slices.Clip(value)
		case string(name) == "data":
			if len(r.joined) == first {
				r.joined = append(r.joined, r.ev.Data...)
			}
			r.joined = append(append(r.joined, '\n'), value...)
			r.ev.Data = slices.Clip(r.joined[first:])
		case string(name) == "event":
			r.ev.Type = value
		case string(name) == "id" && bytes.IndexByte(value, 0) < 0:
			r.ev.ID = value
		}
	}
	r.from += n
	r.line, r.looked, r.start = 0, 0, false
}

// Framed reports whether a line is one of the format: a comment, or a field that
// it defines. Clients of other formats would read any other line.
func Framed(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	switch string(name) {
	case "data", "event", "id", "retry":
		return true
	}
	return ok && len(name) == 0
}

// FramedAll reports whether every line of an event is one of the format.
func FramedAll(raw []byte) bool {
	for line := range lines(bytes.TrimPrefix(raw, mark)) {
		if !Framed(line) {
			return false
		}
	}
	return true
}

// lines yields the lines of an event that are not blank.
func lines(raw []byte) iter.Seq[[]byte] {
	return bytes.FieldsFuncSeq(raw, func(c rune) bool { return c == '\r' || c == '\n' })
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
		for l := range bytes.SplitSeq(data, []byte("\n")) {
			dst = append(append(append(dst, "data: "...), l...), eol...)
		}
	}
	for line := range lines(bytes.TrimPrefix(raw, mark)) {
		if field, _, _ := bytes.Cut(line, []byte(":")); string(field) == "data" {
			put()
			continue
		}
		dst = append(append(dst, line...), eol...)
	}
	put()
	return append(dst, eol...)
}
