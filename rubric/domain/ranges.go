package domain

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/secret/spoken"
)

// layouts of dates. Those that start with a number and a slash or a dash have
// the population's order.
var layouts = [...]string{
	"2006-01-02", "2006/01/02", "20060102", "2.1.2006", "2 January 2006", "2 Jan 2006", "January 2, 2006", "Jan 2, 2006", "January 2 2006",
	"Jan 2 2006", "2-Jan-2006",
}

func parseDate(s string, mdy bool) (time.Time, bool) {
	s = strings.Join(strings.Fields(s), " ")
	slashes := [...]string{"2/1/2006", "2-1-2006"}
	if mdy {
		slashes = [...]string{"1/2/2006", "1-2-2006"}
	}
	for _, l := range slices.Concat(layouts[:], slashes[:]) {
		if t, err := time.Parse(l, s); err == nil {
			return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), true
		}
	}
	return time.Time{}, false
}

// dateLabels name the cells that dates fall into.
var dateLabels = map[string]func(y, m int) string{
	"month":      func(y, m int) string { return fmt.Sprintf("%04d-%02d", y, m) },
	"quarter":    func(y, m int) string { return fmt.Sprintf("%04d Q%d", y, (m+2)/3) },
	"year":       func(y, _ int) string { return fmt.Sprintf("%04d", y) },
	"five-years": func(y, _ int) string { return fmt.Sprintf("%04d-%04d", y-y%5, y-y%5+4) },
	"decade":     func(y, _ int) string { return fmt.Sprintf("%04ds", y-y%10) },
	"generation": func(y, _ int) string { return fmt.Sprintf("%04d-%04d", y-y%20, y-y%20+19) },
	"century":    func(y, _ int) string { return fmt.Sprintf("%04d-%04d", y-y%100, y-y%100+99) },
}

// dates: every day from the first to the last, equally likely. Atoms are
// months, and what the range has of its first and last one.
func (p *Part) dates(s *Spec, columns []string) error {
	if len(s.Dates) != 2 {
		return errors.New("dates are the first and the last day")
	}
	from, err1 := time.Parse("2006-01-02", s.Dates[0])
	to, err2 := time.Parse("2006-01-02", s.Dates[1])
	if err := errors.Join(err1, err2); err != nil || to.Before(from) || from.Year() < 1000 {
		return errors.New("dates are the first and the last day, as 2006-01-02")
	}
	if s.Order != "" && s.Order != "dmy" && s.Order != "mdy" {
		return errors.New("order is dmy or mdy")
	}
	month := func(t time.Time) int { return t.Year()*12 + int(t.Month()) - 1 }
	first := month(from)
	if month(to)-first >= MaxAtoms {
		return fmt.Errorf("the population falls into more than %d cells", MaxAtoms)
	}
	for m := first; m <= month(to); m++ {
		start := time.Date(m/12, time.Month(m%12+1), 1, 0, 0, 0, 0, time.UTC)
		end := start.AddDate(0, 1, -1)
		if start.Before(from) {
			start = from
		}
		if end.After(to) {
			end = to
		}
		days := int64(end.Sub(start)/(24*time.Hour)) + 1
		p.Atoms = append(p.Atoms, Atom{Mass: uint64(days), Members: big.NewInt(days)}) //nolint:gosec // positive
	}
	for _, c := range columns {
		label, ok := dateLabels[c]
		if !ok {
			return fmt.Errorf("dates have the columns month, quarter, year, five-years, decade, generation and century, not %q", c)
		}
		p.add(c, func(i int) string { return label((first+i)/12, (first+i)%12+1) })
	}
	p.find = func(v string) (int, string, bool) {
		t, ok := parseDate(v, s.Order == "mdy")
		if !ok || t.Before(from) || t.After(to) {
			return 0, "", false
		}
		return month(t) - first, t.Format(time.DateOnly), true
	}
	p.Mention = func(text string, today time.Time) (spoken.Range[string], bool) {
		d, ok := spoken.Days(text, today)
		return spoken.Range[string]{From: d.From.Format(time.DateOnly), To: d.To.Format(time.DateOnly)}, ok
	}
	return nil
}

// numbers: every step from the first to the last, equally likely. Atoms are
// what lies between the bounds of all bands.
func (p *Part) numbers(s *Spec, columns []string) error {
	if len(s.Numbers) != 3 {
		return errors.New("numbers are the first, the last, and the step between them")
	}
	const most = 1 << 50
	from, to, step := s.Numbers[0], s.Numbers[1], s.Numbers[2]
	if step < 1 || to <= from || from < -most || to > most || (to-from)%step != 0 {
		return errors.New("numbers go from the first to the last in whole steps, within 2^50")
	}
	starts := []int64{from}
	labels := map[string]func(int64) string{}
	for _, c := range columns {
		width, band := argument(c, "band")
		round := false
		if !band {
			if width, round = argument(c, "round"); !round {
				return fmt.Errorf("numbers have the columns band N and round N, not %q", c)
			}
		}
		if width%step != 0 || (to-from)/width > MaxAtoms {
			return fmt.Errorf("%s: a multiple of the step, and not too fine", c)
		}
		shift := int64(0)
		if round {
			shift = width / 2
		}
		low := func(n int64) int64 { return floorTo(n+shift, width) - shift }
		for b := low(from) + width; b <= to; b += width {
			starts = append(starts, b)
		}
		labels[c] = func(n int64) string {
			l := low(n)
			if round {
				return strconv.FormatInt(l+shift, 10)
			}
			return strconv.FormatInt(l, 10) + "-" + strconv.FormatInt(l+width-1, 10)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	if len(starts) > MaxAtoms {
		return fmt.Errorf("the population falls into more than %d cells", MaxAtoms)
	}
	kept := starts[:0]
	for i, b := range starts {
		end := to + step
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		// Values in [b, end), which are from + k·step.
		n := ceilDiv(end-from, step) - ceilDiv(b-from, step)
		if n == 0 {
			continue
		}
		kept = append(kept, b)
		p.Atoms = append(p.Atoms, Atom{Mass: uint64(n), Members: big.NewInt(n)}) //nolint:gosec // positive
	}
	for c, label := range labels {
		p.add(c, func(i int) string { return label(kept[i]) })
	}
	p.find = func(v string) (int, string, bool) {
		n, ok := parseNumber(v)
		at := from + floorTo(n-from, step)
		if !ok || at < from || at > to {
			return 0, "", false
		}
		i, exact := slices.BinarySearch(kept, at)
		if !exact {
			i--
		}
		return i, strconv.FormatInt(n, 10), i >= 0
	}
	p.Mention = func(text string, _ time.Time) (spoken.Range[string], bool) {
		a, ok := spoken.Amounts(text)
		return spoken.Range[string]{From: strconv.Itoa(a.From), To: strconv.Itoa(a.To)}, ok
	}
	return nil
}

func floorTo(n, width int64) int64 {
	m := n % width
	if m < 0 {
		m += width
	}
	return n - m
}

func ceilDiv(a, b int64) int64 { return floorTo(a+b-1, b) / b }

const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

const separators = ", '_"

// amount is a number with its sign and decimal places.
var amount = regexp.MustCompile(`^(-?)[, '_]*(\d+(?:[, '_]+\d{3})*)[, '_]*(\.\d+)?$`)

// parseNumber reads an amount as people write it: a currency before or after
// it, commas or spaces between thousands, k for a thousand. What is behind the
// point is left out.
func parseNumber(s string) (int64, bool) {
	s = strings.Trim(strings.TrimSpace(s), " $€£¥")
	if t := strings.TrimRight(s, upper); len(s)-len(t) == 3 {
		s = t
	} else if t := strings.TrimLeft(s, upper); len(s)-len(t) == 3 {
		s = t
	}
	s = strings.Trim(s, " $€£¥")
	scale := int64(1)
	if t := strings.TrimRight(s, "kK"); len(s)-len(t) == 1 {
		s, scale = strings.TrimSpace(t), 1000
	}
	m := amount.FindStringSubmatch(s)
	if m == nil || m[3] != "" && scale > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(strip(m[2], separators), 10, 64)
	if err != nil || n > 1<<50 {
		return 0, false
	}
	if m[1] != "" {
		n = -n
	}
	return n * scale, true
}
