package lexical

import (
	"slices"
	"strings"
)

// months and weekdays by their first three letters.
const (
	months   = "jan feb mar apr may jun jul aug sep oct nov dec"
	weekdays = "sun mon tue wed thu fri sat"
)

// date is a day in a text; y is 0 where it has no year.
type date struct{ y, m, d int }

// day is the date that starts at a token, and how many tokens it has; 0 for none.
func (r *reading) day(i int) (date, int) {
	t := r.text(i)
	if c := t[0]; !isDigit(c) {
		if m, n := r.lastOf(i); n > 0 {
			return r.year(i, i+n, date{0, m, at(date{2001, m + 1, 0}).Day()})
		}
		if m := month(t); m > 0 { // May the 3rd, 2026
			k := r.skip(i+1, "the")
			if d, n := r.dayOfMonth(k); n > 0 {
				return r.year(i, k+n, date{0, m, d})
			}
			return date{}, 0
		}
	} else if d, n := r.numeric(i); n > 0 {
		return d, n
	}
	d, n := r.dayOfMonth(i)
	if n == 0 {
		return date{}, 0
	}
	k := i + n
	if next := r.skip(k, "to", "until", "till", "and", "or", "through"); next > k || r.sep(i) == '-' { // 3 to 17 August
		next = r.skip(next, "the")
		if e, _ := r.dayOfMonth(next); e > d {
			if to, m := r.day(next); m > 1 {
				return valid(date{to.y, to.m, d}, n)
			}
		}
	}
	k = r.skip(r.skip(k, "day"), "of")
	if m := month(r.text(k)); m > 0 {
		return r.year(i, k+1, date{0, m, d})
	}
	return date{}, 0
}

// lastOf is the month of "last day of April" and "end of April", and how many
// tokens it has.
func (r *reading) lastOf(i int) (m, n int) {
	k := r.skip(i, "end")
	if r.text(i) == "last" {
		k = r.skip(i+1, "day")
	}
	if k <= i+1 && r.text(i) != "end" {
		return 0, 0
	}
	k = r.skip(k, "of", "in")
	if m = month(r.text(k)); m > 0 {
		return m, k + 1 - i
	}
	return 0, 0
}

// skip returns the place behind a token if that is one of some words.
func (r *reading) skip(i int, words ...string) int {
	if slices.Contains(words, r.text(i)) {
		return i + 1
	}
	return i
}

// year takes the year behind a date, if there is one.
func (r *reading) year(from, k int, d date) (date, int) {
	if y := r.text(k); len(y) == 4 && (y[0] == '1' || y[0] == '2') && number(y) > 0 && r.ts[k].start-r.ts[k-1].end <= 2 {
		d.y, k = number(y), k+1
	}
	return valid(d, k-from)
}

func valid(d date, n int) (date, int) {
	if d.m < 1 || d.m > 12 || d.d < 1 || d.d > 31 {
		return date{}, 0
	}
	return d, n
}

// numeric is a date in digits alone: 2026-05-03, 3.5.2026, 3/5/2026.
func (r *reading) numeric(i int) (date, int) {
	t := r.ts[i].text
	if len(t) == 4 && r.sep(i) == '-' && r.sep(i+1) == '-' {
		if m, d := r.text(i+1), r.text(i+2); len(m) == 2 && len(d) == 2 {
			return valid(date{number(t), number(m), number(d)}, 3)
		}
	}
	parts, n := strings.Split(t, "."), 1
	if len(parts) == 1 && r.sep(i) == '/' && r.sep(i+1) == '/' {
		parts, n = []string{t, r.text(i + 1), r.text(i + 2)}, 3
	}
	if len(parts) != 3 || len(parts[2]) != 4 {
		return date{}, 0
	}
	d, m := number(parts[0]), number(parts[1])
	if m > 12 {
		d, m = m, d
	}
	return valid(date{number(parts[2]), m, d}, n)
}

// dayOfMonth is 3, 3rd, third, or thirty-first.
func (r *reading) dayOfMonth(i int) (d, n int) {
	t := r.text(i)
	if t == "" {
		return 0, 0
	}
	if isDigit(t[0]) {
		for _, e := range []string{"st", "nd", "rd", "th"} {
			t = strings.TrimSuffix(t, e)
		}
		if len(t) > 2 {
			return 0, 0
		}
		return number(t), 1
	}
	if v := numerals[t]; v == 20 || v == 30 {
		if k := dayNames[r.text(i+1)]; k > 0 && k < 10 {
			return int(v) + k, 2
		}
	}
	return dayNames[t], min(dayNames[t], 1)
}

func month(t string) int {
	if len(t) < 3 {
		return 0
	}
	i := strings.Index(months, t[:3])
	if i < 0 || i%4 != 0 || len(t) > 3 && t != monthNames[i/4] && t != "sept" {
		return 0
	}
	return i/4 + 1
}

var monthNames = strings.Fields("january february march april may june july august september october november december")

var dayNames = func() map[string]int {
	out := map[string]int{"thirtieth": 30}
	for i, w := range strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth") {
		out[w] = i + 1
	}
	return out
}()

// time is the time of day that starts at a token, in minutes on a clock face,
// and how many tokens it has; 0 for none.
func (r *reading) time(i int) (minutes, n int) {
	t := r.text(i)
	face := func(h, m, n int) (int, int) {
		if h > 24 || m > 75 || m < -59 {
			return 0, 0
		}
		return (h%12*60 + m + 720) % 720, n
	}
	switch t {
	case "noon", "midday", "midnight":
		return face(0, 0, 1)
	case "half", "quarter", "five", "ten", "twenty":
		past := map[string]int{"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20}[t]
		if r.text(i+1) == "to" {
			past = -past
		} else if r.text(i+1) != "past" {
			break
		}
		if h := hour(r.text(i + 2)); h > 0 {
			return face(h, past, 3)
		}
	}
	if h := hour(t); h > 0 && r.text(i+1) == "o" && r.text(i+2) == "clock" {
		return face(h, 0, 3)
	}
	if !isDigit(t[0]) {
		return 0, 0
	}
	if m := strings.TrimRight(r.text(i+1), "apmz"); r.sep(i) == ':' && len(t) <= 2 && len(m) == 2 && isDigit(m[0]) {
		n := 2
		if s := strings.TrimRight(r.text(i+2), "z"); r.sep(i+1) == ':' && len(s) == 2 {
			n++
		}
		if k := r.text(i + n); k == "am" || k == "pm" {
			n++
		}
		return face(number(t), number(m), n)
	}
	clock, n := strings.TrimSuffix(strings.TrimSuffix(t, "am"), "pm"), 1
	if clock == t {
		if k := r.text(i + 1); k != "am" && k != "pm" {
			return 0, 0
		}
		n = 2
	}
	h, m, _ := strings.Cut(clock, ".")
	if len(h) > 2 || len(m) != 0 && len(m) != 2 || h == "" || strings.Trim(h+m, "0123456789") != "" {
		return 0, 0
	}
	return face(number(h), number(m), n)
}

// hour is an hour in digits or words; 0 for none.
func hour(t string) int {
	if n := numerals[t]; n > 0 && n <= 12 {
		return int(n)
	}
	if len(t) > 2 {
		return 0
	}
	return number(t)
}
