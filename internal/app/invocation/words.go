package invocation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/problem"
	"github.com/margaydev/margay/mediator/audit"
)

// AllowCommand is the command that allows a finding.
func AllowCommand(id string) string { return "margay allow add " + id }

// Undo is the command that allows what was changed for a finding; empty where
// nothing was.
func Undo(f *audit.Finding) string {
	if f.Action == flow.ActReport || f.Action == flow.ActAllow {
		return ""
	}
	return AllowCommand(f.ID)
}

// Count writes a number of things.
func Count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Disguise names the encodings that a view undoes; empty for plain text.
func Disguise(view string) string {
	if view == "raw" {
		return ""
	}
	return strings.TrimPrefix(view, "raw+")
}

// Describe describes a finding in a line, with the command that undoes what was
// changed for it.
func Describe(f *audit.Finding) string {
	what := string(f.Kind) + " by " + f.Rule
	if f.Name != "" {
		what = string(f.Kind) + " " + f.Name
	}
	if v := Disguise(f.View); v != "" {
		what += " in " + v
	}
	where := ""
	if f.Path != "" {
		where = " at " + f.Path
	}
	out := fmt.Sprintf("%s: %s%s", f.Action, what, where)
	if undo := Undo(f); undo != "" {
		out += "; undo: " + undo
	}
	return out
}

// Printable is a name that somebody else chose, quoted unless it is plain.
func Printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` || s == "" || strings.ContainsAny(s, " \t") {
		return q
	}
	return s
}

// Expiry returns when a duration such as 30d ends; never for an empty one.
func Expiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	d, err := ParseDuration(s)
	if err != nil {
		return time.Time{}, problem.Usage("a time looks like 12h or 30d", "--expires %s is not a duration", s)
	}
	return now.UTC().Truncate(time.Millisecond).Add(d), nil
}

// ParseDuration is time.ParseDuration with days. The duration is positive.
func ParseDuration(s string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		d, err := strconv.Atoi(n)
		if err != nil || d <= 0 || d > 36500 {
			return 0, errors.New("not a number of days")
		}
		return time.Duration(d) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d <= 0 {
		err = errors.New("not positive")
	}
	return d, err
}

// Since reads a time: how long ago it was, or the time itself in a layout.
func Since(s, hint string, layouts ...string) (time.Time, error) {
	if d, err := ParseDuration(s); err == nil {
		return time.Now().Add(-d), nil
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	return time.Time{}, problem.Usage(hint, "unknown time --since %s", Printable(s))
}
