package known

import (
	"strconv"
	"strings"
)

// day is a day of a calendar. Of a year in two digits, the century is 0.
type day struct{ y, m, d int }

var months = func() map[string]int {
	out := map[string]int{"sept": 9}
	for i, w := range strings.Fields("january february march april may june july august september october november december") {
		out[w], out[w[:3]] = i+1, i+1
	}
	return out
}()

// linking are words that stand between the parts of a date.
var linking = map[string]bool{"of": true, "the": true, "in": true, "on": true, "and": true, "day": true, "year": true}

// piece is a part of a date: what it may be.
type piece struct {
	d, m, y int // 0: not that
	n       int // tokens
}

// dayAt are the days that a date which starts at a token may be, and how many tokens it
// takes; 0 where no date starts there. Days and months in numbers are read both ways.
func dayAt(tokens []token, from int) ([]day, int) {
	if from >= len(tokens) {
		return nil, 0
	}
	if days := compact(&tokens[from]); days != nil {
		return days, 1
	}
	var pieces [3][]piece
	var out []day
	best := 0
	var walk func(i, k int)
	walk = func(i, k int) {
		if k == 3 {
			for _, days := range orders(pieces[0][0], pieces[1][0], pieces[2][0]) {
				if i-from > best {
					best, out = i-from, out[:0]
				}
				if i-from == best {
					out = append(out, days)
				}
			}
			return
		}
		at := i
		for k > 0 && at < len(tokens) && linking[tokens[at].text] && at-i < 3 {
			at++
		}
		if at >= len(tokens) || at > from && !near(tokens, at) {
			return
		}
		for _, p := range piecesAt(tokens, at) {
			pieces[k] = []piece{p}
			walk(at+p.n, k+1)
		}
	}
	walk(from, 0)
	return out, best
}

// orders are the days that three parts may be, in the orders that people use.
func orders(a, b, c piece) []day {
	var out []day
	add := func(y, m, d int) {
		if y > 0 && m > 0 && d > 0 {
			out = append(out, day{y, m, d})
			if y >= 1000 {
				out = append(out, day{y % 100, m, d})
			}
		}
	}
	add(c.y, b.m, a.d)
	add(c.y, a.m, b.d)
	add(a.y, b.m, c.d)
	add(a.y, c.m, b.d)
	return out
}

// piecesAt are the parts of a date that may start at a token.
func piecesAt(tokens []token, i int) []piece {
	t := &tokens[i]
	if m, ok := months[t.text]; ok {
		return []piece{{m: m, n: 1}}
	}
	if t.number {
		v, err := strconv.Atoi(t.text)
		switch {
		case err != nil || len(t.text) > 4 || len(t.text) == 3:
			return nil
		case len(t.text) == 4:
			return []piece{{y: v, n: 1}}
		}
		p := piece{n: 1}
		if len(t.text) == 2 {
			p.y = two(v)
		}
		if v >= 1 && v <= 31 {
			p.d = v
		}
		if v >= 1 && v <= 12 {
			p.m = v
		}
		return []piece{p}
	}
	v, n := under100(tokens, i)
	if n == 0 {
		return nil
	}
	out := []piece{}
	if v >= 1 && v <= 31 {
		out = append(out, piece{d: v, n: n})
	}
	if next := i + n; next < len(tokens) && near(tokens, next) {
		switch w, k := under100(tokens, next); {
		case k > 0 && v >= 10: // nineteen eighty-four
			out = append(out, piece{y: 100*v + w, n: n + k})
		case k > 0 && v < 10 && w < 10: // it is no year
		case tokens[next].text == "thousand" || tokens[next].text == "hundred":
			unit := map[string]int{"thousand": 1000, "hundred": 100}[tokens[next].text]
			at := next + 1
			if at < len(tokens) && tokens[at].text == "and" {
				at++
			}
			w, k := under100(tokens, at)
			if k == 0 {
				at = next + 1
			}
			out = append(out, piece{y: unit*v + w, n: at + k - i})
		}
		if n == 1 && v >= 10 && next+1 < len(tokens) && (tokens[next].text == "oh" || tokens[next].text == "o") { // nineteen oh five
			if w, k := under100(tokens, next+1); k == 1 && w < 10 {
				out = append(out, piece{y: 100*v + w, n: 3})
			}
		}
	}
	return out
}

// two is a year of two digits; 100 for 00, so that it is one.
func two(v int) int {
	if v == 0 {
		return 100
	}
	return v
}

// compact are the days of a number such as 19840312 or 120384.
func compact(t *token) []day {
	if !t.number || len(t.text) != 8 && len(t.text) != 6 {
		return nil
	}
	num := func(s string) int { v, _ := strconv.Atoi(s); return v }
	w := len(t.text) - 4 // digits of the year
	var out []day
	add := func(y, m, d int) {
		if m >= 1 && m <= 12 && d >= 1 && d <= 31 {
			if w == 2 {
				y = two(y)
			}
			if out = append(out, day{y, m, d}); y >= 1000 {
				out = append(out, day{two(y % 100), m, d})
			}
		}
	}
	s := t.text
	add(num(s[:w]), num(s[w:w+2]), num(s[w+2:]))
	add(num(s[4:]), num(s[2:4]), num(s[:2]))
	add(num(s[4:]), num(s[:2]), num(s[2:4]))
	return out
}
