package canon

import (
	"html"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscape is the longest escape that is waited for, in bytes; longer named
// entities do not exist for what a secret is written in.
const maxEscape = 34

// Unescape undoes one layer of escapes: \n \" \/ \xHH \uHHHH (with surrogate
// pairs) \u{H…} \UHHHHHHHH \ooo and a backslash before a line end; %HH and
// %uHHHH; &#DDD; &#xHH; (the semicolon may lack) and named entities. What only
// starts like an escape passes as it is. The zero value is ready.
type Unescape struct {
	pend [maxEscape]Unit
	n    int
}

// Idle reports whether e waits for nothing.
func (e *Unescape) Idle() bool { return e.n == 0 }

// Hold returns the offset from which raw text is still undecided.
func (e *Unescape) Hold() int64 {
	if e.n > 0 {
		return e.pend[0].Start
	}
	return NoHold
}

// Reset forgets the text read so far.
func (e *Unescape) Reset() { e.n = 0 }

// Write appends the unescaped units to dst.
func (e *Unescape) Write(dst, in []Unit) []Unit {
	for _, u := range in {
		if e.n == 0 {
			if u.B != '\\' && u.B != '%' && u.B != '&' || u.C == Break {
				dst = append(dst, u)
				continue
			}
			e.pend[0], e.n = u, 1
			continue
		}
		if u.C == Break {
			dst = append(e.Close(dst), u)
			continue
		}
		e.pend[e.n] = u
		e.n++
		dst = e.settle(dst, false)
	}
	return dst
}

// Close ends the text.
func (e *Unescape) Close(dst []Unit) []Unit { return e.settle(dst, true) }

// settle decides as much of the pending bytes as can be decided.
func (e *Unescape) settle(dst []Unit, end bool) []Unit {
	for e.n > 0 {
		var b [maxEscape]byte
		for i := range e.n {
			b[i] = e.pend[i].B
		}
		var out [2 * utf8.UTFMax]byte
		used, size, state := parseEscape(b[:e.n], out[:], end || e.n == maxEscape)
		switch state {
		case wait:
			return dst
		case no:
			dst = append(dst, e.pend[0])
			used = 1
		case yes:
			start, stop := e.pend[0].Start, e.pend[used-1].End
			for i := range size {
				dst = append(dst, Unit{Start: start, End: stop, B: out[i], C: classOf[out[i]]})
			}
		}
		copy(e.pend[:], e.pend[used:e.n])
		e.n -= used
		// What follows need not start an escape.
		for e.n > 0 && e.pend[0].B != '\\' && e.pend[0].B != '%' && e.pend[0].B != '&' {
			dst = append(dst, e.pend[0])
			copy(e.pend[:], e.pend[1:e.n])
			e.n--
		}
	}
	return dst
}

type verdict uint8

const (
	no   verdict = iota // not an escape: its first byte stands for itself
	yes                 // an escape of used bytes, giving size bytes
	wait                // could still be either
)

func parseEscape(b, out []byte, end bool) (used, size int, v verdict) {
	more := wait
	if end {
		more = no
	}
	if len(b) < 2 {
		return 0, 0, more
	}
	switch b[0] {
	case '%':
		if b[1] == 'u' {
			r, n, v := hexRun(b, 2, 4, more)
			return emitRune(r, n, v, out)
		}
		r, n, v := hexRun(b, 1, 2, more)
		return emitByte(r, n, v, out)
	case '&':
		return parseEntity(b, out, end)
	}
	switch c := b[1]; c {
	case 'n', 't', 'r', 'b', 'f', 'v', 'a':
		out[0] = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', 'v': '\v', 'a': '\a'}[c]
		return 2, 1, yes
	case '"', '\'', '\\', '/', '`':
		out[0] = c
		return 2, 1, yes
	case '\n', '\r':
		return 2, 0, yes
	case 'x':
		r, n, v := hexRun(b, 2, 2, more)
		return emitByte(r, n, v, out)
	case 'U':
		r, n, v := hexRun(b, 2, 8, more)
		return emitRune(r, n, v, out)
	case 'u':
		return parseU(b, out, more)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		r, n := 0, 1
		for n < len(b) && n < 4 && b[n] >= '0' && b[n] <= '7' {
			r = r*8 + int(b[n]-'0')
			n++
		}
		if n == len(b) && n < 4 && !end {
			return 0, 0, wait
		}
		out[0] = byte(r)
		return n, 1, yes
	}
	return 0, 0, no
}

// parseU reads \uHHHH, a surrogate pair of two of them, or \u{H…}.
func parseU(b, out []byte, more verdict) (used, size int, v verdict) {
	if len(b) > 2 && b[2] == '{' {
		r := rune(0)
		for i := 3; i < len(b); i++ {
			if b[i] == '}' && i > 3 {
				return emitRune(r, i+1, yes, out)
			}
			d, ok := hexDigit(b[i])
			if !ok || i > 8 {
				return 0, 0, no
			}
			r = r<<4 | d
		}
		return 0, 0, more
	}
	r, n, v := hexRun(b, 2, 4, more)
	if v != yes || !utf16.IsSurrogate(r) {
		return emitRune(r, n, v, out)
	}
	// A lone surrogate stands for the replacement character.
	if len(b) == n || b[n] == '\\' && len(b) == n+1 {
		if more == wait {
			return 0, 0, wait
		}
		return emitRune(utf8.RuneError, n, yes, out)
	}
	if b[n] != '\\' || b[n+1] != 'u' {
		return emitRune(utf8.RuneError, n, yes, out)
	}
	low, m, v := hexRun(b, n+2, 4, more)
	switch {
	case v == wait:
		return 0, 0, wait
	case v == yes && utf16.DecodeRune(r, low) != utf8.RuneError:
		return emitRune(utf16.DecodeRune(r, low), m, yes, out)
	}
	return emitRune(utf8.RuneError, n, yes, out)
}

// parseEntity reads a character reference of HTML.
func parseEntity(b, out []byte, end bool) (used, size int, v verdict) {
	if b[1] != '#' {
		for i := 1; i < len(b); i++ {
			c := b[i]
			if c == ';' && i > 1 {
				s := html.UnescapeString(string(b[:i+1]))
				if s[0] == '&' && i > 4 || len(s) > len(out) {
					return 0, 0, no
				}
				return i + 1, copy(out, s), yes
			}
			if classOf[c] != Alnum {
				return 0, 0, no
			}
		}
		if end {
			return 0, 0, no
		}
		return 0, 0, wait
	}
	i, base := 2, rune(10)
	if i < len(b) && (b[i] == 'x' || b[i] == 'X') {
		i, base = 3, 16
	}
	r, first := rune(0), i
	for ; i < len(b) && i < first+7; i++ {
		d, ok := hexDigit(b[i])
		if !ok || d >= base {
			break
		}
		r = r*base + d
	}
	switch {
	case i == len(b) && i < first+7 && !end:
		return 0, 0, wait
	case i == first:
		return 0, 0, no
	case i == len(b) && !end:
		return 0, 0, wait // a semicolon may follow
	case i < len(b) && b[i] == ';':
		i++
	}
	return emitRune(r, i, yes, out)
}

func emitByte(r rune, n int, v verdict, out []byte) (used, size int, _ verdict) {
	if v != yes {
		return 0, 0, v
	}
	out[0] = byte(r)
	return n, 1, yes
}

func emitRune(r rune, n int, v verdict, out []byte) (used, size int, _ verdict) {
	if v != yes {
		return 0, 0, v
	}
	if r > utf8.MaxRune || r < 0 {
		return 0, 0, no
	}
	return n, utf8.EncodeRune(out, r), yes
}

// hexRun reads exactly n hexadecimal digits from b[at:].
func hexRun(b []byte, at, n int, more verdict) (rune, int, verdict) {
	r := rune(0)
	for i := at; i < at+n; i++ {
		if i >= len(b) {
			return 0, 0, more
		}
		d, ok := hexDigit(b[i])
		if !ok {
			return 0, 0, no
		}
		r = r<<4 | d
	}
	return r, at + n, yes
}

func hexDigit(c byte) (rune, bool) {
	v := Base16.value[c]
	return rune(v), v >= 0
}
