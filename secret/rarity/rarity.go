// Package rarity estimates, in bits, how hard a value is to guess and how rare a
// piece of one is in ordinary text and code.
//
// Both go by runs of characters of one class: random characters count by the
// size of their alphabet, pronounceable text counts less, and common words
// (words.txt) count once. They estimate a person's or a program's choice, not
// entropy: a password that looks random counts as random.
package rarity

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

// InText estimates how rare text is in a background of ordinary text and code, in
// bits: it starts at a given place there about once in 2^bits. apart[i] says that
// something stood between character i and the one before, which canonical text
// leaves out. It is stricter than [ToGuess] about what is common: words, those of
// addresses above all, and sequences. Characters of several classes in turn, on
// the other hand, are not words.
func InText(text []byte, apart []bool) float64 {
	var total float64
	turns, odd := 0, false
	for i := 0; i < len(text); {
		j := i + 1
		cls := caseless(text[i])
		for j < len(text) && caseless(text[j]) == cls && !(cls == 'l' && wordStart(text, apart, j)) {
			j++
		}
		run := text[i:j]
		if i > 0 && !apart[i] {
			total += perTurn
			turns++
		}
		switch {
		case cls == 'l':
			total += lettersBits(run, i == 0, j == len(text))
		case len(run) > 3 && 2*steps(run) > len(run):
			total += 4 + float64(len(run)-1)
		default:
			total += runBits(run, cls)
		}
		for _, c := range run {
			odd = odd || cls == 'p' || cls == 'l' && c|0x20 > 'f'
		}
		i = j
	}
	n := float64(len(text))
	if !odd { // it may be hexadecimal
		if turns*3 >= len(text)-1 {
			return 4 * n
		}
		return min(total, 4*n)
	}
	if turns*3 >= len(text)-1 {
		total = max(total, 5*n)
	}
	return min(total, 6*n)
}

const (
	perTurn   = 5   // letters, digits and capitals in one token
	perName   = 5   // a word of addresses and settings
	perWord   = 8   // a common word
	perSound  = 3.3 // a letter of a word that is not common
	perLetter = 4.7 // a letter of no word
)

func caseless(c byte) byte {
	if cls := Class(c); cls != 'u' {
		return cls
	}
	return 'l'
}

// wordStart reports whether a word may begin at character i of a run of
// letters: behind what was left out, and with a capital behind small letters.
func wordStart(text []byte, apart []bool, i int) bool {
	return apart[i] || text[i] < 'a' && text[i-1] >= 'a'
}

// steps counts the characters that follow the one before in their alphabet, or
// repeat it.
func steps(run []byte) int {
	n := 0
	for k := 1; k < len(run); k++ {
		if d := int(run[k]) - int(run[k-1]); d >= -1 && d <= 1 {
			n++
		}
	}
	return n
}

// lettersBits is the cost of a run of letters. The first and the last one may be
// the end and the beginning of a word.
func lettersBits(run []byte, first, last bool) float64 {
	if len(run) > 3 && 2*steps(run) > len(run) {
		return 4 + float64(len(run)-1)
	}
	low := strings.ToLower(string(run))
	var letters float64
	for i := range low {
		letters += letter(low, i)
	}
	v := words()
	if c, ok := v.cost[low]; ok {
		return min(letters, c)
	}
	if c, ok := v.cost[strings.TrimSuffix(low, "s")]; ok {
		return min(letters, c)
	}
	if len(low) >= 3 && (last && hasPrefix(v.sorted, low) || first && hasPrefix(v.backwards, backwards(low))) {
		return min(letters, perWord)
	}
	return letters
}

// letter is the cost of a letter outside the common words: less where it can
// be pronounced.
func letter(low string, i int) float64 {
	if !strings.ContainsAny(low, "aeiouy") {
		return perLetter
	}
	consonants := 0
	for j := i; j >= 0 && !vowel(low[j]); j-- {
		consonants++
	}
	for j := i + 1; j < len(low) && consonants > 0 && !vowel(low[j]); j++ {
		consonants++
	}
	if consonants > 3 {
		return perLetter
	}
	return perSound
}

func vowel(c byte) bool { return strings.IndexByte("aeiouy", c) >= 0 }

// common are the words that the files of Go 1.26's standard library and
// Newton's Opticks (public domain) use most, of four letters and more.
//
//go:embed words.txt
var common string

// names occur in the addresses and settings of every system, and so in many
// secrets and in everything else.
const names = `http https www com org net dev api app svc sql aws gcp cdn ssh tcp tls ssl ftp smtp imap amqp grpc json
	xml localhost postgres postgresql mysql mongodb redis rabbitmq kafka admin root user username password passwd
	token secret key apikey access private public internal external example test prod production staging
	service services server client cluster host port mode require disable sslmode apikey hostname hooks webhook endpoint
	begin end rsa certificate bearer basic auth oauth account config default database queue cache storage
	amazonaws google github gitlab slack stripe azure windows blob core`

// vocabulary has the cost of each common word.
type vocabulary struct {
	cost              map[string]float64
	sorted, backwards []string
}

var words = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{cost: map[string]float64{}}
	for w := range strings.FieldsSeq(common) {
		v.cost[w] = perWord
	}
	for w := range strings.FieldsSeq(names) {
		v.cost[w] = perName
	}
	v.sorted = slices.Sorted(maps.Keys(v.cost))
	for _, w := range v.sorted {
		v.backwards = append(v.backwards, backwards(w))
	}
	slices.Sort(v.backwards)
	return v
})

func backwards(word string) string {
	b := []byte(word)
	slices.Reverse(b)
	return string(b)
}

func hasPrefix(sorted []string, text string) bool {
	i, _ := slices.BinarySearch(sorted, text)
	return i < len(sorted) && strings.HasPrefix(sorted[i], text)
}

// ToGuess estimates how hard a value is to guess, in bits: random characters
// count by the size of their alphabet, digits 3.3 bits, pronounceable runs of
// letters two bits a letter (near the entropy rate of English), repetitions of
// one character nothing.
func ToGuess(value []byte) float64 {
	var total float64
	for i := 0; i < len(value); {
		j := i + 1
		cls := Class(value[i])
		for j < len(value) && Class(value[j]) == cls {
			j++
		}
		total += runBits(value[i:j], cls)
		i = j
	}
	return total
}

// Class is the class of a character: d for a digit, l for a small letter, u for
// a capital, p for any other.
func Class(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return 'd'
	case c >= 'a' && c <= 'z':
		return 'l'
	case c >= 'A' && c <= 'Z':
		return 'u'
	}
	return 'p'
}

func runBits(run []byte, cls byte) float64 {
	distinct := map[byte]bool{}
	for _, c := range run {
		distinct[c] = true
	}
	n := float64(len(run))
	if len(distinct) == 1 && len(run) > 2 {
		n = 2
	}
	switch cls {
	case 'd':
		return 3.3 * n
	case 'p':
		return 4 * n
	}
	if len(run) >= 3 && pronounceable(run) {
		return 2 * n
	}
	return 4.7 * n
}

// pronounceable reports whether a run of letters of one case has vowels about
// as English has them: a word, or easily taken for one.
func pronounceable(run []byte) bool {
	cluster, longest, vowels := 0, 0, 0
	for _, c := range run {
		if cluster++; vowel(c | 0x20) {
			vowels++
			cluster = 0
		}
		longest = max(longest, cluster)
	}
	return longest <= 4 && vowels*5 >= len(run)
}
