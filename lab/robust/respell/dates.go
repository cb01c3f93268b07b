package respell

import (
	"fmt"
	"strings"
	"time"

	"github.com/margaydev/margay/lab/traj/world"
)

// spellings are the forms of each field, nearby the negative ones.
var spellings, nearby = map[world.Field][]form{}, map[world.Field][]form{}

func layout(name, l string) form {
	return form{name: name, write: func(v *value) string { return v.person.Born.Format(l) }}
}

func ofDate(name string, write func(t time.Time) string) form {
	return form{name: name, write: func(v *value) string { return write(v.person.Born) }}
}

var (
	romans  = strings.Fields("I II III IV V VI VII VIII IX X XI XII")
	german  = strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")
	french  = strings.Fields("janvier février mars avril mai juin juillet août septembre octobre novembre décembre")
	spanish = strings.Fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre")
)

func suffixed(day int) string {
	switch {
	case day%10 == 1 && day != 11:
		return fmt.Sprintf("%dst", day)
	case day%10 == 2 && day != 12:
		return fmt.Sprintf("%dnd", day)
	case day%10 == 3 && day != 13:
		return fmt.Sprintf("%drd", day)
	}
	return fmt.Sprintf("%dth", day)
}

func month(t time.Time, of []string) string { return of[t.Month()-1] }

func init() {
	spellings[world.DOB] = []form{
		layout("iso", "2006-01-02"), layout("iso-slash", "2006/01/02"), layout("iso-dot", "2006.01.02"), layout("iso-space", "2006 01 02"),
		layout("iso-short", "2006-1-2"), layout("compact", "20060102"), layout("compact-eu", "02012006"), layout("compact-us", "01022006"),
		layout("compact-short", "060102"), layout("us-slash", "01/02/2006"), layout("us-slash-bare", "1/2/2006"), layout("us-slash-short", "1/2/06"),
		layout("us-dash", "01-02-2006"), layout("us-dot", "01.02.2006"), layout("eu-slash", "02/01/2006"), layout("eu-slash-short", "2/1/06"),
		layout("eu-dash", "02-01-2006"), layout("eu-dot", "02.01.2006"), layout("eu-dot-bare", "2.1.2006"), layout("eu-dot-short", "02.01.06"),
		layout("eu-dot-spaced", "2. 1. 2006"), layout("slash-spaced", "01 / 02 / 2006"), layout("eu-space", "02 01 2006"),
		layout("long-us", "January 2, 2006"), layout("long-us-no-comma", "January 2 2006"), layout("long-eu", "2 January 2006"), layout("long-upper", "2 January, 2006"),
		layout("short-us", "Jan 2, 2006"), layout("short-eu", "2 Jan 2006"), layout("short-dash", "02-Jan-2006"), layout("short-joined", "02Jan2006"),
		layout("short-year", "2-Jan-06"), layout("short-dot", "Jan. 2, 2006"), layout("year-first", "2006 January 2"), layout("year-first-short", "2006-Jan-02"),
		layout("weekday", "Monday, 2 January 2006"), layout("timestamp", "2006-01-02T00:00:00Z"), layout("time", "2006-01-02 00:00"),
		ofDate("short-joined-upper", func(t time.Time) string { return strings.ToUpper(t.Format("02Jan2006")) }),
		ofDate("upper-month", func(t time.Time) string { return strings.ToUpper(t.Format("January 2, 2006")) }),
		ofDate("lower-month", func(t time.Time) string { return strings.ToLower(t.Format("January 2, 2006")) }),
		ofDate("ordinal-us", func(t time.Time) string { return t.Format("January ") + suffixed(t.Day()) + t.Format(", 2006") }),
		ofDate("ordinal-eu", func(t time.Time) string { return suffixed(t.Day()) + t.Format(" January 2006") }),
		ofDate("ordinal-of", func(t time.Time) string { return "the " + suffixed(t.Day()) + " of " + t.Format("January, 2006") }),
		ofDate("ordinal-short", func(t time.Time) string { return t.Format("Jan ") + suffixed(t.Day()) + t.Format(" '06") }),
		ofDate("words-eu", func(t time.Time) string {
			return "the " + ordinal(t.Day()) + " of " + t.Format("January") + ", " + yearWords(t.Year())
		}),
		ofDate("words-us", func(t time.Time) string {
			return t.Format("January") + " " + ordinal(t.Day()) + ", " + yearWords(t.Year())
		}),
		ofDate("words-day-digits", func(t time.Time) string { return ordinal(t.Day()) + t.Format(" January 2006") }),
		ofDate("words-year", func(t time.Time) string { return t.Format("January 2, ") + yearWords(t.Year()) }),
		ofDate("digit-words", func(t time.Time) string { return digitWords(t.Format("02012006")) }),
		ofDate("roman-month", func(t time.Time) string { return fmt.Sprintf("%d.%s.%d", t.Day(), month(t, romans), t.Year()) }),
		ofDate("german", func(t time.Time) string { return fmt.Sprintf("%d. %s %d", t.Day(), month(t, german), t.Year()) }),
		ofDate("french", func(t time.Time) string { return fmt.Sprintf("%d %s %d", t.Day(), month(t, french), t.Year()) }),
		ofDate("spanish", func(t time.Time) string { return fmt.Sprintf("%d de %s de %d", t.Day(), month(t, spanish), t.Year()) }),
		ofDate("cjk", func(t time.Time) string { return fmt.Sprintf("%d年%d月%d日", t.Year(), t.Month(), t.Day()) }),
		ofDate("apart", func(t time.Time) string { return t.Format("2 January") + " in the year " + t.Format("2006") }),
		ofDate("fields", func(t time.Time) string { return t.Format("day 2, month 1, year 2006") }),
		ofDate("two-lines", func(t time.Time) string { return t.Format("2 January\n2006") }),
	}
	nearby[world.DOB] = []form{
		ofDate("next-day", func(t time.Time) string { return t.AddDate(0, 0, 1).Format("2006-01-02") }),
		ofDate("next-day-long", func(t time.Time) string { return t.AddDate(0, 0, 1).Format("January 2, 2006") }),
		ofDate("other-year", func(t time.Time) string { return t.AddDate(1, 0, 0).Format("02.01.2006") }),
		ofDate("other-month", func(t time.Time) string { return t.AddDate(0, 0, 31).Format("2 Jan 2006") }),
		ofDate("this-year", func(t time.Time) string { return t.AddDate(2026-t.Year(), 0, 0).Format("January 2, 2006") }),
		ofDate("year-alone", func(t time.Time) string { return t.Format("model 2006") }),
		ofDate("longer-number", func(t time.Time) string { return "5" + t.Format("20060102") + "7" }),
		ofDate("version", func(t time.Time) string { return t.Format("v2.1.3") }),
	}
}

var (
	units    = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens     = strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth")
)

// words writes a number below 1,000,000 in words.
func words(n int) string {
	switch {
	case n < 20:
		return units[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + "-" + units[n%10]
	case n < 1000 && n%100 == 0:
		return units[n/100] + " hundred"
	case n < 1000:
		return units[n/100] + " hundred " + words(n%100)
	case n%1000 == 0:
		return words(n/1000) + " thousand"
	}
	return words(n/1000) + " thousand " + words(n%1000)
}

func ordinal(n int) string {
	switch {
	case n <= 20:
		return ordinals[n-1]
	case n == 30:
		return "thirtieth"
	}
	return tens[n/10] + "-" + ordinals[n%10-1]
}

func yearWords(y int) string {
	switch {
	case y == 2000:
		return "two thousand"
	case y > 2000 && y < 2010:
		return "two thousand and " + units[y-2000]
	case y%100 < 10:
		return words(y/100) + " oh " + units[y%100]
	}
	return words(y/100) + " " + words(y%100)
}

func digitWords(s string) string {
	var out []string
	for _, r := range s {
		if r >= '0' && r <= '9' {
			out = append(out, units[r-'0'])
		}
	}
	return strings.Join(out, " ")
}
