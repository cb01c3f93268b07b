package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Line is one line of a stream of messages, valid until the next call of Next.
type Line struct {
	// Raw is the line as it came, with its end; empty if the line is too large.
	Raw []byte
	// TooLarge: the line was longer than the limit. It was read to its end
	// and not kept.
	TooLarge bool
	// Cut: the stream ended inside the line.
	Cut bool
	// About is what is known about the messages in a line that is too large.
	About []About
}

// Blank reports whether nothing but space is in the line.
func (l *Line) Blank() bool { return !l.TooLarge && len(bytes.TrimSpace(l.Raw)) == 0 }

// Reader cuts a stream of newline-delimited messages into lines, in bounded
// memory. It is not safe for concurrent use.
type Reader struct {
	in  *bufio.Reader
	max int
	buf []byte
}

// readBuffer is how much is read at a time. Most messages fit.
const readBuffer = 64 << 10

// NewReader returns a reader of lines of at most maxBytes, without their ends.
func NewReader(r io.Reader, maxBytes int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, readBuffer), max: maxBytes}
}

// Next returns the next line. At the end of the stream it returns io.EOF;
// bytes behind the last line end come as a line that is cut before that.
func (r *Reader) Next() (Line, error) {
	if cap(r.buf) > 16*readBuffer {
		r.buf = nil // one large message is no reason to keep its room
	}
	r.buf = r.buf[:0]
	var about *skimmer
	size := 0
	for {
		piece, err := r.in.ReadSlice('\n')
		ended := err == nil
		size += len(piece)
		body := size
		if ended {
			body--
		}
		switch {
		case about != nil:
			about.write(piece)
		case body > r.max:
			about = &skimmer{}
			about.write(r.buf)
			about.write(piece)
			r.buf = nil
		case ended && len(r.buf) == 0:
			return Line{Raw: piece}, nil
		default:
			r.buf = append(r.buf, piece...)
		}
		switch {
		case ended, errors.Is(err, io.EOF) && size > 0:
			l := Line{Raw: r.buf, Cut: !ended}
			if about != nil {
				l = Line{TooLarge: true, Cut: !ended, About: about.all()}
			}
			return l, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return Line{}, err
		}
	}
}
