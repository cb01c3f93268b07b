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

// inert reports whether what begins like an escape is none for sure, nor one once
// what follows is unescaped. It looks so many times at what follows and begins like
// one, too.
func inert(p []byte, times int) bool {
	p = p[:min(len(p), maxEscape)]
	for i := 1; i < len(p); i++ {
		if special[p[i]] && p[i] < utf8.RuneSelf && (times == 0 || !inert(p[i:], times-1)) {
			p = p[:i]
		}
	}
	var out [2 * utf8.UTFMax]byte
	_, _, v := parseEscape(p, out[:], len(p) == maxEscape)
	return v == no
}
