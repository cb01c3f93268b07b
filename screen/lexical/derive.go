package lexical

import (
	"strconv"
	"strings"
	"time"
)

// values are the numbers and days of the regions, by region.
type values struct {
	numbers [][]float64
	dates   [][]date
}

// near is how many days a derived day may be from the one that it is derived
// of.
const near = 7

// factors are what people multiply or divide amounts by: shares, months,
// weeks, units of measure.
var factors = []float64{2, 3, 4, 5, 6, 7, 12, 24, 30, 52, 60, 100, 1000, 0.45359237, 2.2046, 1.609344, 2.54, 30.48}

func (s *search) valuesOfRegions() *values {
	if s.values != nil {
		return s.values
	}
	s.values = &values{make([][]float64, len(s.regions)), make([][]date, len(s.regions))}
	for r, t := range s.regions {
		_, s.values.dates[r] = dated(s.q.Regions[r].Text)
		for _, w := range t.words {
			if v, ok := value(w); ok && hasDigit(w) {
				s.values.numbers[r] = append(s.values.numbers[r], v)
			}
		}
	}
	return s.values
}

// derive explains a day or a number that occurs nowhere: a day close to one of
// a region, or on a weekday that it names; a number that is a multiple, a
// share, a sum or another measure of its numbers; an age of somebody whose
// birth it has.
func (s *search) derive(key, word string, dates []date) origin {
	switch {
	case word[0] == 'd' && len(word) == 5:
		return s.day(dates, date{0, number(word[1:3]), number(word[3:])})
	case strings.Trim(word, "0123456789.") == "":
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nowhere
		}
		return s.number(key, v)
	case word[0] == 't' && strings.Trim(word[1:], "0123456789") == "":
		return s.hour(number(word[1:]))
	}
	return nowhere
}

// hour explains a time of day by the part of the day that the user named, or a
// full hour by a number behind a word of time: by seven.
func (s *search) hour(minutes int) origin {
	for w := range partsOfDay {
		if len(s.said.at[w]) > 0 {
			return open
		}
	}
	if minutes%60 != 0 {
		return nowhere
	}
	h := strconv.Itoa((minutes/60+11)%12 + 1)
	if len(s.said.at[h]) > 0 {
		return open
	}
	var of []int
	for _, r := range s.having[h] {
		t := s.regions[r]
		for _, i := range t.at[h] {
			if i > 0 && timeWords[t.words[i-1]] {
				of = append(of, r)
				break
			}
		}
	}
	if len(of) == 0 {
		return nowhere
	}
	return s.mark(of)
}

var partsOfDay = set(`morning afternoon evening night tonight lunch dinner breakfast`)

var timeWords = set(`at by until till from before after around`)

// relative are words by which the user says a day without its date.
var relative = set(`today tonight tomorrow yesterday week weekend month fortnight`)

func (s *search) day(dates []date, d date) origin {
	weekday := ""
	for _, c := range dates {
		if c.m == d.m && c.d == d.d && c.y > 0 {
			weekday = weekdays[4*int(at(c).Weekday()):][:3]
		}
	}
	onDay := func(w string) bool {
		return weekday != "" && strings.HasPrefix(w, weekday) && (len(w) == 3 || strings.HasSuffix(w, "day"))
	}
	for w := range s.said.at {
		if relative[w] || onDay(w) {
			return open
		}
	}
	var close, named []int
	for r := range s.regions {
		s.work += 1 + len(s.regions[r].at)
		for _, e := range s.valuesOfRegions().dates[r] {
			apart := at(date{2001, d.m, d.d}).YearDay() - at(date{2001, e.m, e.d}).YearDay()
			if apart = max(apart, -apart); min(apart, 365-apart) <= near {
				close = append(close, r)
				break
			}
		}
		for w := range s.regions[r].at {
			if onDay(w) {
				named = append(named, r)
			}
		}
	}
	switch {
	case len(close) > 0:
		return s.mark(close)
	case len(named) > 0:
		return s.mark(named)
	}
	return nowhere
}

func at(d date) time.Time { return time.Date(d.y, time.Month(d.m), d.d, 0, 0, 0, 0, time.UTC) }

func (s *search) number(key string, v float64) origin {
	s.work += len(s.said.at)
	for w := range s.said.at {
		if n, ok := value(w); ok && hasDigit(w) && multiple(v, n) {
			return open
		}
	}
	var of []int
	age := false
	for _, w := range keyWords(key) {
		age = age || w == "ag" || w == "year" || w == "adult" || w == "child"
	}
	for r, numbers := range s.valuesOfRegions().numbers {
		s.work += 1 + len(factors)*len(numbers)
		sum := 0.
		for i, n := range numbers {
			sum += n
			if measured(v, n) || i > 0 && alike(v, sum) && (significant(v) > 1 || s.spoken(r) > 0) {
				of = append(of, r)
				break
			}
		}
		if s.span(r, v) {
			of = append(of, r)
		}
		if age && v > 0 && v < 120 && s.born(r) {
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return nowhere
	}
	return s.mark(of)
}

// span reports whether a number is that of the days from the first to the last
// date of a region, or of its nights.
func (s *search) span(r int, v float64) bool {
	ds := s.valuesOfRegions().dates[r]
	if len(ds) < 2 || v < 1 {
		return false
	}
	from, to := ds[0], ds[len(ds)-1]
	from.y, to.y = max(from.y, to.y, 2001), max(from.y, to.y, 2001)
	days := at(to).Sub(at(from)).Hours() / 24
	return v == days || v == days+1
}

// born reports whether a region has a date or a year of birth.
func (s *search) born(r int) bool {
	t := s.regions[r]
	if len(t.at["born"])+len(t.at["birth"])+len(t.at["birthday"])+len(t.at["dob"]) > 0 {
		return true
	}
	for _, w := range s.names[r] {
		if w == "birth" || w == "birthday" || w == "dob" || w == "born" || w == "birthdat" {
			return true
		}
	}
	return false
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
