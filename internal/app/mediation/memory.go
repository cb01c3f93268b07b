package mediation

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/margaydev/margay/internal/strictjson"
)

// maxPaths bounds the arguments that are searched for files.
const maxPaths = 16 << 20

// writes reports whether a call names one of the files for which its tool is
// checked. Every call does if there are no files, or if its arguments are
// ambiguous JSON.
func writes(files map[string][]string, args string) bool {
	if len(files) == 0 {
		return true
	}
	var d strictjson.Doc
	if err := d.Parse([]byte(args), strictjson.Limits{MaxBytes: maxPaths}); err != nil || d.Nodes[0].Kind != strictjson.Object {
		return true
	}
	for i := range d.All(0) {
		for arg, patterns := range files {
			// Agents may be lenient about how an argument is written, too.
			if d.Nodes[i].Kind != strictjson.String || plainName(arg) != plainName(d.Key(i)) {
				continue
			}
			if slices.ContainsFunc(patterns, func(p string) bool { return named(p, d.Text(i)) }) {
				return true
			}
		}
	}
	return false
}

// named reports whether a path matches a pattern, segment by segment as path.Match
// does; ** matches any segments. A pattern that does not start at the root
// matches in any folder. Case does not matter, as in many file systems.
func named(pattern, file string) bool {
	file = path.Clean(strings.ReplaceAll(norm.NFKC.String(strings.TrimSpace(file)), `\`, "/"))
	pattern = strings.TrimPrefix(pattern, "~/")
	if rest, rooted := strings.CutPrefix(pattern, "/"); rooted {
		pattern = rest
	} else {
		pattern = "**/" + pattern
	}
	split := func(s string) []string { return strings.Split(strings.ToLower(strings.TrimPrefix(s, "/")), "/") }
	return segments(split(pattern), split(file))
}

// segments backtracks only to the last **, so that no path takes long.
func segments(pattern, file []string) bool {
	p, f, star, from := 0, 0, -1, 0
	for f < len(file) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, from = p, f
			p++
		case p < len(pattern) && matches(pattern[p], file[f]):
			p, f = p+1, f+1
		case star >= 0:
			from++
			p, f = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
