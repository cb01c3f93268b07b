package canon

import "unicode/utf8"

// special has the bytes that begin escapes, or characters beyond ASCII.
var special = func() (t [256]bool) {
	for b := range t {
		t[b] = b >= utf8.RuneSelf || b == '\\' || b == '%' || b == '&'
	}
	return t
}()

// asciiAfter is how many bytes of ASCII end a stretch with other characters.
const asciiAfter = 32

// Plain returns how many bytes at the front of p are read as they are: [Fold] and
// [Unescape], which wait for nothing, write what they read, whatever follows. A
// stretch is of ASCII, or has other characters.
func Plain(p []byte) (n int, ascii bool) {
	ascii = true
	last := 0 // behind the last character beyond ASCII
	for n < len(p) {
		b := p[n]
		switch {
		case !special[b]:
			n++
		case b < utf8.RuneSelf:
			if !inert(p[n:], 2) {
				return n, ascii
			}
			n++
		default:
			if n > 0 && ascii {
				return n, true
			}
			r, size := utf8.DecodeRune(p[n:])
			if size == 1 || r >= 1<<16 || foldTable()[r] != 0 {
				return n, ascii
			}
			n += size
			last, ascii = n, false
		}
		if !ascii && n-last >= asciiAfter {
			break
		}
	}
	return n, ascii
}

// IsASCII reports whether p is of ASCII alone.
func IsASCII(p []byte) bool {
	for _, b := range p {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// inert reports whether what begins like an escape is certainly none, even after the
// text behind it is unescaped. If that text begins like an escape too, inert looks at
// it first, at most so many levels deep.
func inert(p []byte, levels int) bool {
	p = p[:min(len(p), maxEscape)]
	var out [2 * utf8.UTFMax]byte
	for n := 1; ; n++ {
		for n < len(p) && (!special[p[n]] || p[n] >= utf8.RuneSelf) {
			n++
		}
		// Up to n, bytes stand for themselves.
		if _, _, v := parseEscape(p[:n], out[:], n == maxEscape); v != wait {
			return v == no
		}
		if n == len(p) || levels == 0 || !inert(p[n:], levels-1) {
			return false
		}
	}
}
