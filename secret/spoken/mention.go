package spoken

import (
	"slices"
	"strings"
	"time"
)

// Range is the least and the greatest value that a text can mean.
type Range[T any] struct{ From, To T }

// maxYears bounds how far the days may be apart that a text may mean.
const maxYears = 11

// Days returns the first and the last day of birth of a person of whom a text
// has a date, the age on a day, or the year or decade of birth. It reports false if the
// text has none, or several that are far apart.
func Days(text string, today time.Time) (t Range[time.Time], ok bool) {
	tokens := Tokens(text)
	add := func(from, to time.Time) {
		if !ok || from.Before(t.From) {
			t.From = from
		}
		if !ok || to.After(t.To) {
			t.To = to
		}
		ok = true
	}
	dated := false
	for i := 0; i < len(tokens); {
		days, n := DayAt(tokens, i)
		dated = dated || n > 0
		for _, d := range days {
			if d.Short {
				if d.Y += 2000; d.Y > today.Year() {
					d.Y -= 100
				}
			}
			if at := date(d.Y, time.Month(d.M), d.D); at.Day() == d.D {
				add(at, at)
			}
		}
		i += max(n, 1)
	}
	if dated || slices.ContainsFunc(tokens, func(t Token) bool { return !birthish(t.Text) }) {
		return t, ok && t.To.Before(t.From.AddDate(maxYears, 0, 0))
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(tokens, func(t Token) bool { return slices.Contains(words, t.Text) })
	}
	slack := 0
	if has("about", "around", "nearly", "almost", "over", "under", "soon", "turning", "will") {
		slack = 1
	}
	for i := 0; i < len(tokens); {
		v, n, plural := yearsAt(tokens, i)
		first := date(v, 1, 1)
		switch {
		case n == 0:
		case plural && has("my", "his", "her", "their"): // in her fifties
			add(today.AddDate(-v%100-10, 0, 1), today.AddDate(-v%100, 0, 0))
		case plural:
			add(first, date(v+9, 12, 31))
		case v >= 1000:
			add(first, date(v, 12, 31))
		case v > 0 && v <= 120 && (has("turned") || !has("last", "was", "were", "been")):
			if has("next") {
				v--
			}
			add(today.AddDate(-v-1-slack, 0, 1), today.AddDate(-v+slack, 0, 0))
		}
		i += max(n, 1)
	}
	return t, ok && t.To.Before(t.From.AddDate(maxYears, 0, 0))
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// birthish reports whether a word may stand beside an age or a year of birth without
// making it another one.
func birthish(word string) bool {
	_, _, decade := decadeOf(word)
	return beside[word] || decade || datish[word] || word == "hundred" || word == "thousand" || word == "oh" || strings.Trim(word, "0123456789") == ""
}

var beside = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`i im am is was were be been turn turns turned turning will aged age ages years year old yo y o s of birth birthday born date dob in at the on a an and my me
		he she they his her their hes shes just last next this week month today now about around nearly almost over under soon child kid person man woman male female mid early late`) {
		out[w] = true
	}
	return out
}()

// decadeOf is the first year of the decade that a word such as fifties names.
func decadeOf(word string) (year, n int, ok bool) {
	stem, plural := strings.CutSuffix(word, "ies")
	if v := tens[stem+"y"]; plural && v > 0 {
		return 1900 + v, 1, true
	}
	return 0, 0, false
}

// yearsAt is an age, or a year or decade of birth, that tokens say from a place, and how
// many tokens that takes; 0 for none.
func yearsAt(tokens []Token, i int) (v, n int, decade bool) {
	if v, n, decade = decadeOf(tokens[i].Text); decade {
		return v, n, true
	}
	if _, month := months[tokens[i].Text]; month {
		return 0, 0, false
	}
	for _, p := range piecesAt(tokens, i) {
		if p.n > n || p.n == n && p.y >= 0 {
			if v, n = max(p.y, p.d, p.m), p.n; p.y >= 0 {
				v = p.y
			}
		}
	}
	if t := tokens[i]; t.Number && len(t.Text) == 3 { // an age above a hundred
		v, n = 100+int(t.Text[1]-'0')*10+int(t.Text[2]-'0'), 1
	}
	if v > 0 && v%10 == 0 && i+n < len(tokens) && tokens[i+n].Text == "s" && tokens[i+n].Start-tokens[i+n-1].End < 2 { // the 1950s
		if v < 100 {
			v += 1900
		}
		return v, n + 1, true
	}
	return v, n, false
}

// leastAmount is the least number that is read as an amount.
const leastAmount = 1000

// Amounts returns the least and the greatest amount in a text, in whole units. It
// reports false if there is none, or if it is for less than a year.
func Amounts(text string) (t Range[int], ok bool) {
	tokens := Tokens(text)
	for i := 0; i < len(tokens); {
		if spans[tokens[i].Text] {
			return t, false
		}
		v, n := AmountAt(tokens, i)
		if n > 0 && v >= leastAmount {
			if !ok {
				t = Range[int]{v, v}
			}
			t.From, t.To, ok = min(t.From, v), max(t.To, v), true
		}
		i += max(n, 1)
	}
	return t, ok
}

// spans are times shorter than a year.
var spans = map[string]bool{"month": true, "monthly": true, "week": true, "weekly": true, "day": true, "daily": true, "hour": true, "hourly": true, "quarter": true, "fortnight": true, "months": true, "hr": true, "mo": true, "pcm": true, "pm": true, "biweekly": true, "period": true, "x": true, "times": true}
