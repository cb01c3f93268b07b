package monitor

import "github.com/margaydev/margay/monitor/cue"

// The pieces: a tokenizer without a vocabulary. Like the pre-tokenizers of
// byte-pair encoders it keeps letters, digits and punctuation apart and joins
// one space to what follows it. What such an encoder has no single token for
// it cuts small: digits by three, long words by four bytes, capitals and
// letters without a vowel by three.
const (
	wholeWord  = 7 // bytes of a word that stays one piece
	wordPart   = 4 // bytes of a long word's parts
	randomPart = 3 // bytes of the parts of digits, capitals and random letters
	spaceRun   = 8 // spaces in one piece
	sameRun    = 4 // equal punctuation marks in one piece
)

// NextPiece returns the length of the first piece of text: how many bytes one
// token of an unknown tokenizer would take. It is 0 for the empty text alone;
// the pieces of a text, concatenated, are the text. A character of UTF-8 is
// never cut, provided that text does not end within one.
func NextPiece(text string) int {
	n, _ := piece(text)
	return n
}

// piece returns the first piece's length and whether it is the same whatever
// text may follow. Who receives a text in chunks takes pieces while it says so
// and the rest with NextPiece at the end; the pieces do then not depend on the
// chunks. It is always true of ten bytes and more.
func piece[T string | []byte](text T) (n int, complete bool) {
	if len(text) == 0 {
		return 0, false
	}
	i := 0
	switch cue.ClassOf(text[0]) {
	case cue.Newline:
		i = run(text, 0, 2)
		return i, i == 2 || i < len(text)
	case cue.Space:
		i = run(text, 0, spaceRun+1)
		switch {
		case i > spaceRun:
			return spaceRun, true
		case i == len(text):
			return i, false
		case cue.ClassOf(text[i]) == cue.Newline || text[i-1] != ' ':
			return i, true
		case i > 1:
			return i - 1, true // the last space belongs to what follows
		}
	}
	// i is 1 if a space joins.
	switch cue.ClassOf(text[i]) {
	case cue.Digit:
		n = run(text, i, randomPart)
		return n, n == i+randomPart || n < len(text)
	case cue.Other:
		n = i + 1
		for n < len(text) && n < i+sameRun && text[n] == text[i] {
			n++
		}
		return n, n == i+sameRun || n < len(text)
	}
	return word(text, i)
}

// word finds the piece of the letters at i. A capital after a small letter
// starts a new word; capitals before a small letter stand alone but for the
// last.
func word[T string | []byte](text T, i int) (n int, complete bool) {
	end := i + wholeWord + 1
	n = i
	for n < len(text) && n < end && cue.ClassOf(text[n]) == cue.Upper {
		n++
	}
	if n > i+1 { // capitals
		switch {
		case n > i+wordPart:
			return i + randomPart, true
		case n == len(text):
			return n, false
		case cue.ClassOf(text[n]) == cue.Lower:
			return n - 1, true
		}
		return n, true
	}
	consonants, mute := 0, true
	for n < len(text) && n < end && (cue.ClassOf(text[n]) == cue.Lower || cue.ClassOf(text[n]) == cue.Wide) {
		switch text[n] {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			mute = false
		default:
			if text[n] >= 0x80 {
				mute = false
			}
			if mute {
				consonants++
			}
		}
		n++
	}
	switch {
	case n == end && consonants > wordPart:
		return i + randomPart, true
	case n == end:
		n = i + wordPart
		for n > i+1 && text[n]&0xc0 == 0x80 {
			n--
		}
		if text[n]&0xc0 == 0x80 { // not UTF-8
			n = i + wordPart
		}
		return n, true
	}
	return n, n < len(text)
}

// run returns the end of the characters from i on that are of the class of
// the first, at most most of them.
func run[T string | []byte](text T, i, most int) int {
	end, of := i+most, cue.ClassOf(text[i])
	for i < len(text) && i < end && cue.ClassOf(text[i]) == of {
		i++
	}
	return i
}
