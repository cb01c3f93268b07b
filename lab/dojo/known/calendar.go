package known

import (
	"regexp"
	"strconv"
	"strings"
)

// date is a day; its year is 0 where a text names none.
type date struct{ year, month, day int }

const (
	monthNames = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?`
	ordinal    = `(\d{1,2})(?:st|nd|rd|th)?`
)

var (
	isoDate   = regexp.MustCompile(`\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:\b|t)`)
	slashDate = regexp.MustCompile(`\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b`)
	dayMonth  = regexp.MustCompile(`\b` + ordinal + `(?: of)? ` + monthNames + `(?:,? (\d{4}))?\b`)
	monthDay  = regexp.MustCompile(`\b` + monthNames + ` ` + ordinal + `(?:,? (\d{4}))?\b`)
	clock     = regexp.MustCompile(`(?:\b|t)(\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?: ?([ap])\.?m\b)?`)
	hourOnly  = regexp.MustCompile(`\b(\d{1,2}) ?([ap])\.?m\b`)
	dayWord   = regexp.MustCompile(`\b(noon|midday|midnight)\b`)
	lasting   = regexp.MustCompile(`\b(\d+(?:\.\d+)?|an?|one|two|three|four|five|six|half an?)[ -]?(hours?|hrs?|h|minutes?|mins?)\b`)
	// An event that is shown with its end and its start lasts as long as it does.
	event = regexp.MustCompile(`(?s)\bend_time: ['"]?(\d{4}-\d{2}-\d{2})[ t](\d{1,2}):(\d{2}).{0,600}?\bstart_time: ['"]?(\d{4}-\d{2}-\d{2})[ t](\d{1,2}):(\d{2})`)
	// A value that is a time and nothing else.
	wholeTime = regexp.MustCompile(`^(?:(\d{4}-\d{2}-\d{2})(?:[ t](\d{1,2}:\d{2}(?::\d{2})?))?|(\d{1,2}:\d{2}(?::\d{2})?))$`)
)

var numerals = map[string]float64{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "half a": 0.5, "half an": 0.5}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // the patterns take digits alone
	return n
}

// month returns 1 to 12 for a month's name.
func month(name string) int {
	return strings.Index("jan feb mar apr may jun jul aug sep oct nov dec", name[:3])/4 + 1
}

// calendar finds the dates, times and durations of a text in lower case.
func calendar(s string) (dates map[date]bool, times, durations map[int]bool) {
	dates, times, durations = map[date]bool{}, map[int]bool{}, map[int]bool{}
	add := func(y, m, d int) {
		if m >= 1 && m <= 12 && d >= 1 && d <= 31 {
			dates[date{y, m, d}] = true
		}
	}
	for _, m := range isoDate.FindAllStringSubmatch(s, -1) {
		add(atoi(m[1]), atoi(m[2]), atoi(m[3]))
	}
	for _, m := range slashDate.FindAllStringSubmatch(s, -1) {
		add(atoi(m[3]), atoi(m[1]), atoi(m[2]))
		add(atoi(m[3]), atoi(m[2]), atoi(m[1]))
	}
	for _, m := range dayMonth.FindAllStringSubmatch(s, -1) {
		add(atoi(m[3]), month(m[2]), atoi(m[1]))
	}
	for _, m := range monthDay.FindAllStringSubmatch(s, -1) {
		add(atoi(m[3]), month(m[1]), atoi(m[2]))
	}
	addTime := func(h, m int, half string) {
		if half == "p" && h < 12 {
			h += 12
		} else if half == "a" && h == 12 {
			h = 0
		}
		if h < 24 && m < 60 {
			times[h*60+m] = true
		}
	}
	for _, m := range clock.FindAllStringSubmatch(s, -1) {
		addTime(atoi(m[1]), atoi(m[2]), m[3])
	}
	for _, m := range hourOnly.FindAllStringSubmatch(s, -1) {
		addTime(atoi(m[1]), 0, m[2])
	}
	for _, m := range dayWord.FindAllStringSubmatch(s, -1) {
		addTime(map[bool]int{true: 0, false: 12}[m[1] == "midnight"], 0, "")
	}
	for _, m := range lasting.FindAllStringSubmatch(s, -1) {
		n, ok := numerals[m[1]]
		if !ok {
			n, _ = strconv.ParseFloat(m[1], 64) // the pattern takes decimals alone
		}
		if m[2][0] == 'h' {
			n *= 60
		}
		durations[int(n)] = true
	}
	for _, m := range event.FindAllStringSubmatch(s, -1) {
		if n := (atoi(m[2])-atoi(m[5]))*60 + atoi(m[3]) - atoi(m[6]); m[1] == m[4] && n > 0 {
			durations[n] = true
		}
	}
	return dates, times, durations
}

// moment is a value that is a date, a time of day, or both.
type moment struct {
	date    date
	minutes int
	hasDate bool
	hasTime bool
}

func parseMoment(v string) (moment, bool) {
	m := wholeTime.FindStringSubmatch(strings.ToLower(strings.TrimSpace(v)))
	if m == nil {
		return moment{}, false
	}
	var out moment
	if m[1] != "" {
		p := strings.Split(m[1], "-")
		out.date, out.hasDate = date{atoi(p[0]), atoi(p[1]), atoi(p[2])}, true
	}
	if c := m[2] + m[3]; c != "" {
		p := strings.Split(c, ":")
		out.minutes, out.hasTime = atoi(p[0])*60+atoi(p[1]), true
	}
	return out, true
}
