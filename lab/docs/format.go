package docs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/margaydev/margay/lab/results"
)

// value writes one metric of a row.
func value(r *results.Row, metric, format string) (string, error) {
	v, ok := r.Metrics[metric]
	if !ok {
		return "", fmt.Errorf("the row has no %s", metric)
	}
	if rest, ok := strings.CutPrefix(format, "["); ok {
		ci, ok := r.CI[metric]
		if !ok {
			return "", fmt.Errorf("%s has no interval", metric)
		}
		lo, err := number(ci[0], rest)
		if err != nil {
			return "", err
		}
		hi, err := number(ci[1], rest)
		return lo + " to " + hi, err
	}
	return number(v, format)
}

func number(v float64, format string) (string, error) {
	for op, holds := range map[string]func(a, b float64) bool{
		">=": func(a, b float64) bool { return a >= b },
		"<=": func(a, b float64) bool { return a <= b },
	} {
		if goal, ok := strings.CutPrefix(format, op); ok {
			g, err := strconv.ParseFloat(goal, 64)
			switch {
			case err != nil:
				return "", fmt.Errorf("%q is not a goal", format)
			case holds(v, g):
				return "yes", nil
			}
			return "**no**", nil
		}
	}
	if format == "," {
		return thousands(strconv.FormatFloat(math.Round(v), 'f', 0, 64)), nil
	}
	unit, scale := "", 1.0
	digits, ok := strings.CutPrefix(format, "%")
	if ok {
		unit, scale = " %", 100
	} else if digits, ok = strings.CutPrefix(format, "."); !ok {
		return "", fmt.Errorf("%q is not a format", format)
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > 9 {
		return "", fmt.Errorf("%q is not a format", format)
	}
	return strconv.FormatFloat(v*scale, 'f', n, 64) + unit, nil
}

// thousands sets the digits of a whole number apart.
func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
