package lexical

import (
	"strconv"
	"strings"
	"time"
)

// factors are what people multiply or divide amounts by: shares, months,
// weeks, units of measure.
var factors = []float64{2, 3, 4, 5, 6, 7, 12, 24, 30, 52, 60, 100, 1000, 0.45359237, 2.2046, 1.609344, 2.54, 30.48}

// derive explains a day, a time or a number that occurs nowhere: by a day or a
// part of the day that the user said, or as a multiple, a share, a sum, a
// difference, or another measure of numbers of the user's or a region's.
func (s *search) derive(word string, dates []date) origin {
	switch {
	case word[0] == 'd' && len(word) == 5:
		return s.day(dates, date{0, number(word[1:3]), number(word[3:])})
	case strings.Trim(word, "0123456789.") == "":
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nowhere
		}
		return s.number(v)
	case word[0] == 't' && strings.Trim(word[1:], "0123456789") == "":
		return s.hour(number(word[1:]))
	}
	return nowhere
}

// hour explains a time of day by the part of the day or the number that the
// user said.
func (s *search) hour(minutes int) origin {
	s.work += len(s.said.at)
	h := strconv.Itoa((minutes/60+11)%12 + 1)
	for w := range s.said.at {
		if lists()["day"][w] || w == h && minutes%60 == 0 {
			return open
		}
	}
	return nowhere
}

func (s *search) day(dates []date, d date) origin {
	s.work += len(s.said.at)
	weekday := "none"
	for _, c := range dates {
		if c.m == d.m && c.d == d.d && c.y > 0 {
			weekday = weekdays[4*int(at(c).Weekday()):][:3]
		}
	}
	for w := range s.said.at {
		if lists()["relative"][w] || strings.HasPrefix(w, weekday) && (len(w) == 3 || strings.HasSuffix(w, "day")) {
			return open
		}
	}
	return nowhere
}

func at(d date) time.Time { return time.Date(d.y, time.Month(d.m), d.d, 0, 0, 0, 0, time.UTC) }

func (s *search) number(v float64) origin {
	s.work += len(s.said.at)
	for w := range s.said.at {
		if n, ok := value(w); ok && n > 1 && multiple(v, n) || v > 2 && float64(dayNames[w]) == v {
			return open
		}
	}
	var of []int
	for r, t := range s.regions {
		var numbers []float64
		for _, w := range t.words {
			if n, ok := value(w); ok {
				numbers = append(numbers, n)
			}
			if v > 2 && float64(dayNames[w]) == v {
				of = append(of, r)
			}
		}
		s.work += len(t.words) + len(factors)*len(numbers)
		sum := 0.
		for i, n := range numbers {
			sum += n
			if measured(v, n) || i > 0 && (alike(v, sum) || alike(v, numbers[i-1]-n)) && (significant(v) > 1 || s.points[r] > 0) {
				of = append(of, r)
				break
			}
		}
	}
	return s.mark(of)
}

// measured reports whether a number is another by one of the factors. Round
// numbers are so by chance: both need two digits that count.
func measured(a, b float64) bool {
	return significant(a) > 1 && significant(b) > 1 && multiple(a, b)
}

func multiple(a, b float64) bool {
	for _, f := range factors {
		if alike(a, b*f) || alike(b, a*f) {
			return true
		}
	}
	return false
}

// alike allows for what people round.
func alike(a, b float64) bool {
	d := a - b
	return max(d, -d) <= 0.004*max(a, b) && b > 0
}

// significant counts the digits of a number between its first and last that is
// not zero.
func significant(v float64) int {
	return len(strings.Trim(strings.ReplaceAll(strconv.FormatFloat(v, 'f', -1, 64), ".", ""), "0"))
}
