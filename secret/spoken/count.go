package spoken

import (
	"strconv"
	"strings"
)

// numbers are numbers in words, cardinal and ordinal, below twenty.
var numbers = func() map[string]int {
	out := map[string]int{}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
		out[w] = i
	}
	for i, w := range strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth") {
		out[w] = i
	}
	return out
}()

var tens = func() map[string]int {
	out := map[string]int{}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		out[w] = 20 + 10*i
	}
	for i, w := range strings.Fields("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth") {
		out[w] = 20 + 10*i
	}
	return out
}()

// datish are the words that a date may start with.
var datish = func() map[string]bool {
	out := map[string]bool{}
	for w := range months {
		out[w] = len(w) > 4 || w == "may" || w == "june" || w == "july" || len(w) == 3 && w[0] != 'i' && w[0] != 'v' && w[0] != 'x'
	}
	for w := range numbers {
		out[w] = true
	}
	for w := range tens {
		out[w] = true
	}
	return out
}()

// under100 is the number below a hundred that tokens say from a place, and how many
// tokens that takes; 0 for none.
func under100(tokens []Token, i int) (v, n int) {
	if i >= len(tokens) {
		return 0, 0
	}
	if t, ok := tens[tokens[i].Text]; ok {
		if i+1 < len(tokens) && Near(tokens, i+1) && !strings.HasSuffix(tokens[i].Text, "th") {
			if u, ok := numbers[tokens[i+1].Text]; ok && u > 0 && u < 10 {
				return t + u, 2
			}
		}
		return t, 1
	}
	if u, ok := numbers[tokens[i].Text]; ok {
		return u, 1
	}
	return 0, 0
}

// under1000 is the same with hundreds.
func under1000(tokens []Token, i int) (v, n int) {
	v, n = under100(tokens, i)
	if n == 0 || i+n >= len(tokens) || tokens[i+n].Text != "hundred" || !Near(tokens, i+n) {
		return v, n
	}
	return joinedBy(tokens, i, 100*v, n+1, under100)
}

// joinedBy adds to a number of n tokens the smaller one behind it, if there is one, also
// after "and".
func joinedBy(tokens []Token, i, v, n int, smaller func([]Token, int) (int, int)) (sum, used int) {
	at := i + n
	if at < len(tokens) && tokens[at].Text == "and" {
		at++
	}
	if w, k := smaller(tokens, at); k > 0 && Near(tokens, at) {
		return v + w, at + k - i
	}
	return v, n
}

// InWords are the words of a number below a thousand.
func InWords(n int) []string {
	var out []string
	if n >= 100 {
		if out = append(out, unitOf(numbers, n/100), "hundred"); n%100 == 0 {
			return out
		}
	}
	if n %= 100; n >= 20 {
		if out = append(out, unitOf(tens, n/10*10)); n%10 == 0 {
			return out
		}
		n %= 10
	}
	return append(out, unitOf(numbers, n))
}

// unitOf is the cardinal of a number.
func unitOf(of map[string]int, n int) string {
	for w, v := range of {
		if v == n && !strings.HasSuffix(w, "th") && w != "first" && w != "second" && w != "third" {
			return w
		}
	}
	return ""
}

// maxDigits bounds the digits of an amount.
const maxDigits = 12

// AmountAt is the amount that tokens say from a place, in whole units, and how many
// tokens that takes; 0 for none: 85,000.00, 85 000, 85k, eighty-five thousand.
func AmountAt(tokens []Token, i int) (v, n int) {
	if !tokens[i].Number {
		return amountSaid(tokens, i)
	}
	run := tokens[i].Text
	next := func(k int) bool { // a group of digits close behind
		return k < len(tokens) && tokens[k].Number && tokens[k].Start-tokens[k-1].End <= 2 && tokens[k].Start > tokens[k-1].End
	}
	n = 1
	if len(run) <= 3 {
		for next(i+n) && len(tokens[i+n].Text) == 3 && len(run) < maxDigits {
			run += tokens[i+n].Text
			n++
		}
	}
	v, err := strconv.Atoi(run)
	if err != nil || len(run) > maxDigits {
		return 0, 0
	}
	cents := ""
	if next(i+n) && len(tokens[i+n].Text) <= 2 {
		cents = tokens[i+n].Text
		n++
	}
	if i+n < len(tokens) && Near(tokens, i+n) {
		switch tokens[i+n].Text {
		case "k", "thousand", "grand":
			part, _ := strconv.Atoi((cents + "000")[:3])
			return 1000*v + part, n + 1
		}
	}
	return v, n
}

// amountSaid is an amount in words.
func amountSaid(tokens []Token, i int) (v, n int) {
	v, n = under1000(tokens, i)
	if n == 0 || i+n >= len(tokens) || tokens[i+n].Text != "thousand" && tokens[i+n].Text != "grand" {
		return v, n
	}
	return joinedBy(tokens, i, 1000*v, n+1, under1000)
}
