package match

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/dchest/siphash"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/match/memo"
	"github.com/margaydev/margay/secret/rarity"
)

// A print is what is kept of a value to find it again, or parts of it: keyed
// tags of the grams of its canonical text; and for each way in which that text
// may occur in a view (as it is, reversed, ROT13, both), tags of its prefixes
// at a few check points and of the whole. All tags are SipHash-2-4 under
// subkeys of Keys.Fingerprint; texts longer than a gram go through a polynomial
// over GF(2^61-1) at a secret point first (hash, then PRF). Without the key a
// tag says nothing but equality; whoever has both the prints and the key can
// search for a value gram by gram, which is why the two are kept apart.
const (
	gramLen   = 6 // canonical bytes of a gram
	leastText = 8 // canonical bytes of a value that is recognised by them
	prefixLen = 4 // canonical bytes after which text is first held
	maxCanon  = 4096
	maxGrams  = 512 // of one text; a longer one keeps every second, third, … gram

	printVersion = 2
	printWords   = 1 // kind of print: whole words of raw text
	printText    = 2 // kind of print: canonical text

	gramSize = 8           // bytes of a gram in a print: 48 bits of tag, position and headBit
	headBit  = 1 << 15     // the whole text may begin with this gram, in one of its forms
	headOnly = headBit - 1 // the position of a gram that is not evidence of a part
)

// checkAt are the lengths at which a candidate must still be a prefix of some
// secret. They end the hold on text that only starts like one.
var checkAt = [...]int{16, 32, 64, 128, 256}

// alphabet is the canonical text that a secret is recognised by.
type alphabet uint8

const (
	skeleton alphabet = iota // letters and digits
	exact                    // all printable but joiners
	alphabets
)

// hasher holds the subkeys of Keys.Fingerprint for matching.
type hasher struct {
	gram               [alphabets][2]uint64
	prefix             [alphabets][2]uint64
	check, whole, word [2]uint64
	point              uint64     // of the polynomial, in [2^32, p)
	tags               *memo.Tags // of skeleton's prefixes
}

const prime61 = 1<<61 - 1

func newHasher(k *secret.Keys) *hasher {
	sub := func(domain string) [2]uint64 {
		m := k.MatchKey(domain)
		return [2]uint64{binary.LittleEndian.Uint64(m[:8]), binary.LittleEndian.Uint64(m[8:16])}
	}
	h := &hasher{
		gram:   [alphabets][2]uint64{sub("margay gram v2"), sub("margay exact gram v2")},
		prefix: [alphabets][2]uint64{sub("margay prefix v2"), sub("margay exact prefix v2")},
		check:  sub("margay check v1"), whole: sub("margay whole v1"), word: sub("margay word v1"),
	}
	h.tags = memo.TagsOf(h.prefix[skeleton])
	h.point = sub("margay point v1")[0]%(prime61-1<<32) + 1<<32
	return h
}

// extend is one step of the polynomial: (acc·point + c + 1) mod 2^61-1.
func (h *hasher) extend(acc uint64, c byte) uint64 {
	hi, lo := bits.Mul64(acc, h.point)
	s := lo&prime61 + (lo>>61 | hi<<3) + uint64(c) + 1
	s = s&prime61 + s>>61
	if s >= prime61 {
		s -= prime61
	}
	return s
}

// gramTag is the same for all forms of a gram: as it is, ROT13, reversed, both.
func (h *hasher) gramTag(gram uint64, a alphabet) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], canonGram(gram))
	return siphash.Hash(h.gram[a][0], h.gram[a][1], b[:])
}

// prefixTag is truncated on purpose to the size of the filter it is used in.
func (h *hasher) prefixTag(gram4 uint32, a alphabet) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], canonPrefix(gram4))
	return uint32(siphash.Hash(h.prefix[a][0], h.prefix[a][1], b[:]) & (prefixBits - 1))
}

func (h *hasher) checkTag(acc uint64, i int, a alphabet) uint32 {
	var b [9]byte
	binary.LittleEndian.PutUint64(b[:], acc)
	b[8] = uint8(i)<<1 | uint8(a)
	return uint32(siphash.Hash(h.check[0], h.check[1], b[:]))
}

func (h *hasher) wholeTag(acc uint64, n int, a alphabet) uint64 {
	var b [11]byte
	binary.LittleEndian.PutUint64(b[:], acc)
	binary.LittleEndian.PutUint16(b[8:], uint16(n))
	b[10] = byte(a)
	return siphash.Hash(h.whole[0], h.whole[1], b[:])
}

func (h *hasher) wordTag(word []byte) uint64 {
	return siphash.Hash(h.word[0], h.word[1], word)
}

// Strength says how well a secret can be protected by its content.
type Strength struct {
	// Bits is a rough lower estimate of the work to guess the value, in bits.
	Bits float64
	// Disguised: it is recognised in every canonical view. Otherwise it is
	// found only as a whole word of plain text.
	Disguised bool
	// Note is a line for the person who registered it; empty if all is well.
	Note string
}

// Limits on registered values, in bytes.
const (
	MinLength = 4
	MaxLength = 4096
	// shortLength is the length below which a value is taken as a word
	// unless it is hard to guess.
	shortLength = 12
	maxWord     = 64
	weakBits    = 30 // below it, whoever registers a value gets a warning
	// wordBits is below what a short value is only a word: eight digits are
	// looked for in disguise, a word and a number are not.
	wordBits = 26
)

// ErrTooShort says that a value can't be protected by its content at all.
var ErrTooShort = errors.New("too short to protect: anything that short occurs by chance")

// ErrTooLong says that a value is longer than MaxLength.
var ErrTooLong = errors.New("too long to register as one value")

// Print makes the matching fingerprints of a value. Values with fewer than
// eight letters and digits are recognised with their punctuation; values that
// are short and easy to guess, as whole words only.
func Print(keys *secret.Keys, value []byte) ([]byte, Strength, error) {
	switch {
	case len(value) < MinLength:
		return nil, Strength{}, fmt.Errorf("%w (%d bytes; at least %d)", ErrTooShort, len(value), MinLength)
	case len(value) > MaxLength:
		return nil, Strength{}, fmt.Errorf("%w (%d bytes; at most %d)", ErrTooLong, len(value), MaxLength)
	}
	h := newHasher(keys)
	st := Strength{Bits: rarity.ToGuess(value)}
	weak := st.Bits < wordBits && len(value) < shortLength
	if text, a := canonicalForm(value); !weak && len(text) >= leastText {
		st.Disguised = true
		if st.Bits < weakBits {
			st.Note = "easy to guess: whoever guesses it has it, and ordinary text may be taken for it"
		}
		from, to := private(value, a)
		return printCanonical(h, text, a, edges(value, a), from, to), st, nil
	}
	if len(value) > maxWord {
		return nil, st, fmt.Errorf("%w: %d bytes with hardly a letter or digit among them", ErrTooShort, len(value))
	}
	st.Note = "too short or too easy to guess to be recognised in disguise: taken as a whole word only"
	b := []byte{printVersion, printWords, byte(len(value))}
	return binary.LittleEndian.AppendUint64(b, h.wordTag(value)), st, nil
}

// canonicalForm returns the canonical text that a value is recognised by.
func canonicalForm(value []byte) ([]byte, alphabet) {
	if s := canon.Skeleton(value); len(s) >= leastText {
		return s, skeleton
	}
	return canon.Exact(value), exact
}

// maxEdge bounds the characters before the first and behind the last that
// the canonical text keeps; a match takes them in.
const maxEdge = 7

// edges returns how many characters of value precede and follow its
// canonical text, four bits each.
func edges(value []byte, a alphabet) byte {
	keep := canon.Alnum
	if a == exact {
		keep = canon.Punct
	}
	var f canon.Fold
	units := f.Close(f.Write(nil, canon.Units(nil, value, 0)))
	first, last := -1, 0
	for i := range units {
		if units[i].C >= keep {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	return byte(min(first, maxEdge)<<4 | min(len(units)-1-last, maxEdge))
}

func printCanonical(h *hasher, text []byte, a alphabet, edge byte, from, to int) []byte {
	b := []byte{printVersion, printText, byte(a)}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	b = appendGrams(b, h, text, a, from, to)
	seen := map[string]bool{}
	for i, v := range variants(text) {
		e := edge
		if i == 2 || i == 3 { // read backwards
			e = e>>4 | e<<4
		}
		if seen[string(v)] {
			continue
		}
		seen[string(v)] = true
		b = append(b, e)
		acc := uint64(0)
		for i, c := range v {
			acc = h.extend(acc, c)
			for j, at := range checkAt {
				if i+1 == at && at < len(v) {
					b = binary.LittleEndian.AppendUint32(b, h.checkTag(acc, j, a))
				}
			}
		}
		b = binary.LittleEndian.AppendUint64(b, h.wholeTag(acc, len(v), a))
	}
	return b
}

// private returns the part of a value's canonical text whose parts are secret:
// all of it but for a URL with a password, of which it is what precedes
// the host, and a JSON Web Token, whose header is everybody's.
func private(value []byte, a alphabet) (from, to int) {
	form := func(v []byte) int {
		if a == exact {
			return len(canon.Exact(v))
		}
		return len(canon.Skeleton(v))
	}
	if bytes.HasPrefix(value, []byte("eyJ")) && bytes.Count(value, []byte(".")) >= 2 {
		return form(value[:bytes.IndexByte(value, '.')]), form(value)
	}
	scheme := bytes.Index(value, []byte("://"))
	at := bytes.LastIndexByte(value, '@')
	if scheme <= 0 || scheme > 20 || at < scheme || bytes.IndexByte(value[scheme+3:at], ':') < 0 {
		return 0, form(value)
	}
	colon := scheme + 3 + bytes.IndexByte(value[scheme+3:at], ':')
	return form(value[:colon]), form(value[:at])
}

// appendGrams appends the step between grams, the grams of a part of the text,
// and the tags of their ends for the prefix filter.
func appendGrams(b []byte, h *hasher, text []byte, a alphabet, from, to int) []byte {
	step := (len(text)-gramLen)/maxGrams + 1
	grams := map[uint64]int{} // the canonical gram: its position and headBit
	var order []uint64
	prefixes := map[uint32]bool{}
	add := func(gram uint64, pos int) {
		c := canonGram(gram)
		if _, ok := grams[c]; !ok {
			grams[c] = pos
			order = append(order, c)
			prefixes[h.prefixTag(uint32(gram>>(8*(gramLen-prefixLen))), a)] = true
			prefixes[h.prefixTag(uint32(gram), a)] = true
		}
		if pos&headBit == 0 {
			grams[c] = grams[c]&headBit | pos
		} else {
			grams[c] |= headBit
		}
	}
	for i := min(from, len(text)); i+gramLen <= min(to, len(text)); i += step {
		add(gramOf(text[i:]), min(i/step, headOnly-1))
	}
	for _, v := range variants(text) {
		add(gramOf(v), headBit|headOnly)
	}
	b = append(b, byte(step))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(order)))
	for _, g := range order {
		b = binary.LittleEndian.AppendUint64(b, h.gramTag(g, a)&^0xffff|uint64(grams[g]))
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(prefixes)))
	for _, p := range slices.Sorted(maps.Keys(prefixes)) {
		b = append(b, byte(p), byte(p>>8), byte(p>>16))
	}
	return b
}

// gramOf packs the first bytes, the first in the highest place.
func gramOf(v []byte) (w uint64) {
	for _, c := range v[:gramLen] {
		w = w<<8 | uint64(c)
	}
	return w
}

// recased reports whether a text in another case is rare enough to stand for a
// secret. Words with a number behind them are not: ordinary text has them.
func recased(text []byte) bool {
	b := rarity.ToGuess(text)
	return b >= weakBits && (b >= 3*float64(len(text)) || b >= 64)
}

// variants returns the forms of a canonical text that are looked for in every
// view: itself, ROT13, both read backwards, and itself in one case.
func variants(text []byte) [][]byte {
	rot := make([]byte, len(text))
	for i, c := range text {
		rot[i] = byte(rot13(uint64(c)))
	}
	all := [][]byte{text, rot, reversed(text), reversed(rot)}
	for _, cased := range [][]byte{bytes.ToLower(text), bytes.ToUpper(text)} {
		if len(cased) == len(text) && recased(cased) {
			all = append(all, cased)
		}
	}
	return all
}

func reversed(text []byte) []byte {
	r := []rune(string(text))
	slices.Reverse(r)
	return []byte(string(r))
}
