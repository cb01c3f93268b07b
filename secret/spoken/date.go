package spoken

import (
	"strconv"
	"strings"
)

// Day is a day of a calendar. A short one has the last two digits of its year.
type Day struct {
	Y, M, D int
	Short   bool
}

var months = func() map[string]int {
	out := map[string]int{"sept": 9}
	for i, w := range strings.Fields("january february march april may june july august september october november december") {
		out[w], out[w[:3]] = i+1, i+1
	}
	for _, names := range []string{
		"januar februar marz april mai juni juli august september oktober november dezember",
		"janner feber maerz april mai juni juli august september oktober november dezember",
		"janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre", //nolint:misspell // French
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
		"januari februari maart april mei juni juli augustus september oktober november december",
		"i ii iii iv v vi vii viii ix x xi xii",
	} {
		for i, w := range strings.Fields(names) {
			out[w] = i + 1
		}
	}
	return out
}()

// linking are words that stand between the parts of a date.
var linking = map[string]bool{"of": true, "the": true, "in": true, "on": true, "and": true, "day": true, "month": true, "year": true, "de": true, "年": true, "月": true}

// closing are signs behind the day of a date.
var closing = map[string]bool{"日": true, "号": true}

// maxLinks bounds them between two parts.
const maxLinks = 3

// piece is a part of a date: what it may be, in n tokens.
type piece struct {
	d, m, y int // y: -1 for no year
	short   bool
	n       int
}

// DayAt are the days that a date which starts at a token may be, and how many tokens it
// takes; 0 if no date starts there. Days and months in numbers are read both ways.
func DayAt(tokens []Token, from int) (days []Day, n int) {
	if days := compact(&tokens[from]); days != nil {
		return days, 1
	}
	if t := &tokens[from]; !t.Number && !datish[t.Text] {
		return nil, 0
	}
	var parts [3]piece
	var walk func(at, k int)
	walk = func(at, k int) {
		if k == len(parts) {
			if at < len(tokens) && closing[tokens[at].Text] && Near(tokens, at) {
				at++
			}
			if got := at - from; got >= n {
				if got > n {
					n, days = got, nil
				}
				days = orders(days, &parts)
				if len(days) == 0 {
					n = 0
				}
			}
			return
		}
		for links := 0; k > 0 && links < maxLinks && at < len(tokens) && linking[tokens[at].Text] && Near(tokens, at); links++ {
			at++
		}
		if at >= len(tokens) || k > 0 && !Near(tokens, at) {
			return
		}
		for _, p := range piecesAt(tokens, at) {
			parts[k] = p
			walk(at+p.n, k+1)
		}
	}
	walk(from, 0)
	return days, n
}

// orders adds the days that three parts may be, in the orders that people use.
func orders(out []Day, p *[3]piece) []Day {
	add := func(y, m, d *piece) {
		if y.y >= 0 && m.m > 0 && d.d > 0 {
			out = append(out, Day{y.y, m.m, d.d, y.short})
		}
	}
	add(&p[2], &p[1], &p[0])
	add(&p[2], &p[0], &p[1])
	add(&p[0], &p[1], &p[2])
	add(&p[0], &p[2], &p[1])
	return out
}

// piecesAt are the parts of a date that may start at a token.
func piecesAt(tokens []Token, i int) []piece {
	t := &tokens[i]
	if m, ok := months[t.Text]; ok {
		return []piece{{m: m, y: -1, n: 1}}
	}
	if t.Number {
		v, err := strconv.Atoi(t.Text)
		switch {
		case err != nil || len(t.Text) > 4 || len(t.Text) == 3:
			return nil
		case len(t.Text) == 4:
			return []piece{{y: v, n: 1}}
		}
		return []piece{small(v, 1, len(t.Text) == 2)}
	}
	v, n := under100(tokens, i)
	if n == 0 {
		return nil
	}
	out := []piece{small(v, n, v >= 10)}
	next := i + n
	if next >= len(tokens) || !Near(tokens, next) {
		return out
	}
	year := func(v, n int) { out = append(out, piece{y: v, n: n}) }
	w, k := under100(tokens, next)
	switch text := tokens[next].Text; {
	case k > 0 && v >= 10 && w >= 10: // nineteen eighty-four
		year(100*v+w, n+k)
	case text == "thousand" || text == "hundred":
		unit := 1000
		if text == "hundred" {
			unit = 100
		}
		at := next + 1
		if at < len(tokens) && tokens[at].Text == "and" {
			at++
		}
		if w, k := under100(tokens, at); k > 0 {
			year(unit*v+w, at+k-i)
		} else {
			year(unit*v, next+1-i)
		}
	case (text == "oh" || text == "o") && v >= 10: // nineteen oh five
		if w, k := under100(tokens, next+1); k == 1 && w < 10 {
			year(100*v+w, n+2)
		}
	}
	return out
}

// small is what a number below a hundred may be.
func small(v, n int, year bool) piece {
	p := piece{y: -1, n: n}
	if year {
		p.y, p.short = v, true
	}
	if v >= 1 && v <= 31 {
		p.d = v
	}
	if v >= 1 && v <= 12 {
		p.m = v
	}
	return p
}

// compact are the days of a number such as 19840312 or 120384.
func compact(t *Token) []Day {
	if !t.Number || len(t.Text) != 8 && len(t.Text) != 6 {
		return nil
	}
	num := func(s string) int { v, _ := strconv.Atoi(s); return v }
	s, w := t.Text, len(t.Text)-4 // w: digits of the year
	var out []Day
	add := func(y, m, d int) {
		if m >= 1 && m <= 12 && d >= 1 && d <= 31 {
			out = append(out, Day{y, m, d, w == 2})
		}
	}
	add(num(s[:w]), num(s[w:w+2]), num(s[w+2:]))
	add(num(s[4:]), num(s[2:4]), num(s[:2]))
	add(num(s[4:]), num(s[:2]), num(s[2:4]))
	return out
}

// DayOf are the days of a value that is a date, maybe with a weekday before it and a time
// behind it; n is 0 for any other value.
func DayOf(tokens []Token) (days []Day, n int) {
	if len(tokens) > 1 && weekdays[tokens[0].Text] {
		tokens = tokens[1:]
	}
	days, n = DayAt(tokens, 0)
	for _, t := range tokens[n:] {
		if !t.Number && !clock[t.Text] {
			return nil, 0
		}
	}
	if len(tokens)-n > 8 {
		return nil, 0
	}
	return days, n
}

var (
	weekdays = map[string]bool{}
	clock    = map[string]bool{"t": true, "z": true, "utc": true, "gmt": true, "am": true, "pm": true, "at": true}
)

func init() {
	for _, w := range strings.Fields("monday tuesday wednesday thursday friday saturday sunday") {
		weekdays[w], weekdays[w[:3]] = true, true
	}
}

// Centuries adds to days with a short year those that they may be.
func Centuries(days []Day) []Day {
	out := days
	for _, d := range days {
		if d.Short {
			out = append(out, Day{1900 + d.Y, d.M, d.D, false}, Day{2000 + d.Y, d.M, d.D, false})
		}
	}
	return out
}
