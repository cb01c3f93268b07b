package spoken

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var today = date(2026, 3, 2)

// TestDays: dates, ages, years and decades in words bound the day of birth.
func TestDays(t *testing.T) {
	for text, want := range map[string]string{
		"1952-08-30": "1952-08-30 1952-08-30", "the thirtieth of August, nineteen fifty-two": "1952-08-30 1952-08-30", "August 30th, 1952": "1952-08-30 1952-08-30",
		"08/30/1952": "1952-08-30 1952-08-30", "03/04/1990": "1990-03-04 1990-04-03", "30 Aug 52": "1952-08-30 1952-08-30", "12 May 24": "",
		"I turned seventy-three last week": "1952-03-03 1953-03-02", "73 years old": "1952-03-03 1953-03-02", "seventy-three": "1952-03-03 1953-03-02", "73": "1952-03-03 1953-03-02", "101": "1924-03-03 1925-03-02",
		"aged thirty": "1995-03-03 1996-03-02", "seventy-four on my next birthday": "1952-03-03 1953-03-02", "nearly forty": "1984-03-03 1987-03-02",
		"1952": "1952-01-01 1952-12-31", "born in nineteen fifty-two": "1952-01-01 1952-12-31", "a child of the fifties": "1950-01-01 1959-12-31", "the 1950s": "1950-01-01 1959-12-31", "in her fifties": "1966-03-03 1976-03-02", "the '60s": "1960-01-01 1969-12-31",
		"sixteen when men first walked on the moon": "", "my birthday is in one hundred and eighty-one days": "", "finished school with the class of nineteen seventy": "", "order 48213": "", "born 3 May 1950, married 6 June 1975": "", "the build is green": "", "two cats and a dog": "", "": "", "31 February 1990": "",
	} {
		got := ""
		if d, ok := Days(text, today); ok {
			got = d.From.Format(time.DateOnly) + " " + d.To.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func ordinalOf(n int) string {
	w := InWords(n)
	last := w[len(w)-1]
	for k, v := range numbers {
		if (strings.HasSuffix(k, "th") || k == "first" || k == "second" || k == "third") && v == numbers[last] && numbers[last] > 0 {
			w[len(w)-1] = k
		}
	}
	if v := tens[last]; v > 0 {
		w[len(w)-1] = strings.TrimSuffix(last, "y") + "ieth"
	}
	return strings.Join(w, "-")
}

// TestDatesInWords: every day of two years reads as itself in words.
func TestDatesInWords(t *testing.T) {
	for d := date(1999, 1, 1); d.Year() < 2001; d = d.AddDate(0, 0, 1) {
		year := "nineteen ninety-nine"
		if d.Year() == 2000 {
			year = "two thousand"
		}
		for _, text := range []string{
			"the " + ordinalOf(d.Day()) + " of " + d.Month().String() + ", " + year,
			d.Month().String() + " " + ordinalOf(d.Day()) + " " + year,
			fmt.Sprintf("%d %s %d", d.Day(), d.Month(), d.Year()),
		} {
			if got, ok := Days(text, today); !ok || got.From != d || got.To != d {
				t.Fatalf("%q: %v %v", text, got, ok)
			}
		}
	}
}

// TestAges: who tells the age is born on a day of which that is true.
func TestAges(t *testing.T) {
	for age := 1; age < 100; age++ {
		for _, text := range []string{strings.Join(InWords(age), "-"), fmt.Sprintf("%d years old", age), "I am " + strings.Join(InWords(age), " ")} {
			got, ok := Days(text, today)
			if !ok || !got.From.AddDate(age, 0, 0).Before(today.AddDate(0, 0, 1)) || !got.From.AddDate(age+1, 0, 0).After(today) || got.To.AddDate(age, 0, 0).After(today) {
				t.Fatalf("%q: %v %v", text, got, ok)
			}
		}
	}
}

// TestAmounts: every amount reads as itself, in digits and in words.
func TestAmounts(t *testing.T) {
	for n := 1000; n < 1_000_000; n += 317 {
		words := strings.Join(InWords(n/1000), " ") + " thousand"
		if n%1000 > 0 {
			words += " " + strings.Join(InWords(n%1000), " ")
		}
		for _, text := range []string{words, strings.ReplaceAll(strings.ReplaceAll(words, "hundred ", "hundred and "), "and thousand", "thousand"), "about " + words + " dollars a year", fmt.Sprint("$", n), fmt.Sprintf("%d,%03d", n/1000, n%1000)} {
			if got, ok := Amounts(text); !ok || got.From != n || got.To != n {
				t.Fatalf("%q: %v %v, want %d", text, got, ok, n)
			}
		}
	}
	for text, want := range map[string]int{"one hundred and eleven grand": 111000, "$111k": 111000, "85.5k": 85500, "9,300 a month": 0, "nine thousand an hour": 0, "fourteen": 0, "order 12": 0} {
		if got, ok := Amounts(text); got.From != want && ok || ok != (want > 0) {
			t.Errorf("%q: %v %v, want %d", text, got, ok, want)
		}
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("the thirtieth of August, nineteen fifty-two")
	f.Add("in her fifties, 85.5k, 12/03/84 and 101")
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := Days(text, today); ok && (d.To.Before(d.From) || d.To.After(d.From.AddDate(maxYears, 0, 0))) {
			t.Fatal(d)
		}
		if a, ok := Amounts(text); ok && (a.From > a.To || a.From < leastAmount) {
			t.Fatal(a)
		}
	})
}
