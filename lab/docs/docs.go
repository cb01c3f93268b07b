// Package docs writes the figures of benchmark results into Markdown, so that
// none is typed by hand. The words stay in the document. A figure is between
// two comments; the first says where it comes from:
//
//	recall <!--= vectors margay encoding=raw,known=no recall .4 -->0.9992<!--/-->
//
// After the equals sign come the result's name (the file without .json), the
// defence, the slice, the metric and a format:
//
//	.4       decimals
//	%1       per cent with decimals
//	,        a whole number with thousands apart
//	>=0.97   "yes" or "**no**"; <= likewise
//	[.4      the interval, in decimals; [%1 in per cent
//
// or only the name and one of n, seed, source, revision, environment. A
// comment of its own line that begins with "table" is followed by a table,
// which ends at a comment <!--/-->:
//
//	<!--table vectors margay encoding=*,known=yes recall .3 leaked_bytes , -->
//
// It has a row for each row of the result that fits: a defence of "*" fits
// all, and so does a "*" that ends a part of the slice; what the stars match
// names the rows. A metric may be preceded by another slice and a colon, with
// the same stars: "encoding=*,known=no:recall". "|" starts a column's title,
// underscores standing for spaces: "recall|recall,_unknown".
//
// A result, row or metric that is missing is an error, never a blank, except
// for metrics that other rows of the same table have.
package docs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/margaydev/margay/lab/results"
)

var (
	inline = regexp.MustCompile(`<!--= ([^>]*?(?:>=[^>]*?)?) -->([^<]*)<!--/-->`)
	block  = regexp.MustCompile(`(?ms)^<!--table ([^\n]*?) -->\n(.*?)^<!--/-->$`)
	opens  = regexp.MustCompile(`<!--(=|table) `)
)

// Fill returns text with every figure written anew from results, by name. It
// is idempotent.
func Fill(text string, results map[string]*results.Result) (string, error) {
	if a, b := len(opens.FindAllString(text, -1)), len(inline.FindAllString(text, -1))+len(block.FindAllString(text, -1)); a != b {
		return "", fmt.Errorf("docs: of %d figures, %d end with <!--/-->", a, b)
	}
	var errs []error
	text = block.ReplaceAllStringFunc(text, func(s string) string {
		spec := block.FindStringSubmatch(s)[1]
		out, err := table(strings.Fields(spec), results)
		if err != nil {
			errs = append(errs, fmt.Errorf("docs: table %s: %w", spec, err))
		}
		return "<!--table " + spec + " -->\n" + out + "<!--/-->"
	})
	text = inline.ReplaceAllStringFunc(text, func(s string) string {
		spec := inline.FindStringSubmatch(s)[1]
		out, err := figure(strings.Fields(spec), results)
		if err != nil {
			errs = append(errs, fmt.Errorf("docs: %s: %w", spec, err))
		}
		return "<!--= " + spec + " -->" + out + "<!--/-->"
	})
	return text, errors.Join(errs...)
}

func figure(f []string, results map[string]*results.Result) (string, error) {
	if len(f) != 2 && len(f) != 5 {
		return "", errors.New("want RESULT FIELD, or RESULT DEFENCE SLICE METRIC FORMAT")
	}
	r := results[f[0]]
	if r == nil {
		return "", errors.New("unknown result")
	}
	if len(f) == 2 {
		return about(r, f[1])
	}
	row := r.Row(f[1], f[2])
	if row == nil {
		return "", errors.New("unknown row")
	}
	return value(row, f[3], f[4])
}

// about returns what holds of a whole result.
func about(r *results.Result, field string) (string, error) {
	switch field {
	case "n":
		return thousands(fmt.Sprint(r.N)), nil
	case "seed":
		return fmt.Sprint(r.Seed), nil
	case "source":
		return r.Source, nil
	case "revision":
		return r.Revision, nil
	case "environment":
		return fmt.Sprintf("%s, %d cores, %s", r.Environment.CPU, r.Environment.Cores, r.Environment.Go), nil
	}
	return "", fmt.Errorf("%q is not a field: n seed source revision environment", field)
}

type column struct{ slice, metric, title, format string }

// table returns a Markdown table.
func table(f []string, results map[string]*results.Result) (string, error) {
	if len(f) < 5 || len(f)%2 == 0 {
		return "", errors.New("want RESULT DEFENCE SLICE and METRIC FORMAT once or more")
	}
	r := results[f[0]]
	if r == nil {
		return "", errors.New("unknown result")
	}
	var cols []column
	var parts []string // that the slice's stars stand for
	for _, p := range strings.Split(f[2], ",") {
		if name, ok := strings.CutSuffix(p, "*"); ok {
			parts = append(parts, strings.TrimSuffix(name, "="))
		}
	}
	for i := 3; i < len(f); i += 2 {
		c := column{slice: f[2], metric: f[i], format: f[i+1]}
		var named bool
		c.metric, c.title, named = strings.Cut(c.metric, "|")
		if s, m, ok := strings.Cut(c.metric, ":"); ok {
			c.slice, c.metric = s, m
		}
		if !named {
			c.title = c.metric
		}
		c.title = strings.ReplaceAll(c.title, "_", " ")
		cols = append(cols, c)
	}
	var head []string
	if f[1] == "*" {
		head = append(head, "defence")
	}
	head = append(head, parts...)
	names := len(head)
	var b strings.Builder
	for _, c := range cols {
		head = append(head, c.title)
	}
	fmt.Fprintf(&b, "| %s |\n|%s%s\n", strings.Join(head, " | "), strings.Repeat("---|", names), strings.Repeat("---:|", len(cols)))
	rows, filled := 0, make([]bool, len(cols))
	for i := range r.Rows {
		row := &r.Rows[i]
		stars, ok := match(f[2], row.Slice)
		if !ok || f[1] != "*" && f[1] != row.Defence {
			continue
		}
		rows++
		var cells []string
		if f[1] == "*" {
			cells = append(cells, row.Defence)
		}
		cells = append(cells, stars...)
		for j, c := range cols {
			at := row
			if c.slice != f[2] {
				at = r.Row(row.Defence, fill(c.slice, stars))
			}
			if at == nil || !has(at, c.metric) {
				cells = append(cells, "")
				continue
			}
			v, err := value(at, c.metric, c.format)
			if err != nil {
				return "", err
			}
			filled[j], cells = true, append(cells, v)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	for j, ok := range filled {
		if !ok {
			return "", fmt.Errorf("no row has %s", cols[j].metric)
		}
	}
	if rows == 0 {
		return "", errors.New("no row fits")
	}
	return b.String(), nil
}

func has(r *results.Row, metric string) bool { _, ok := r.Metrics[metric]; return ok }

// match reports whether a slice fits a pattern, part by part, and what its
// stars stand for.
func match(pattern, slice string) (stars []string, ok bool) {
	ps, ss := strings.Split(pattern, ","), strings.Split(slice, ",")
	if len(ps) != len(ss) {
		return nil, false
	}
	for i, p := range ps {
		prefix, star := strings.CutSuffix(p, "*")
		if !star && p != ss[i] || star && !strings.HasPrefix(ss[i], prefix) {
			return nil, false
		}
		if star {
			stars = append(stars, ss[i][len(prefix):])
		}
	}
	return stars, true
}

// fill puts something in the place of stars.
func fill(pattern string, stars []string) string {
	for _, s := range stars {
		pattern = strings.Replace(pattern, "*", s, 1)
	}
	return pattern
}
