package document

import (
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
)

// Signature is a rubric's task signature: the releases that it is for. What is
// empty does not narrow it.
type Signature struct {
	Actions  []string       `json:"actions,omitempty"`
	Tools    []string       `json:"tools,omitempty"` // * matches anything
	Sinks    []string       `json:"sinks,omitempty"`
	Channels []flow.Channel `json:"channels,omitempty"`
	Classes  []string       `json:"classes,omitempty"`
	Fields   []string       `json:"fields,omitempty"` // all of which the tool's arguments have
}

// Release is the trusted metadata of one.
type Release struct {
	Action  string       `json:"action"`
	Tool    string       `json:"tool"`
	Sink    string       `json:"sink"`
	Channel flow.Channel `json:"channel"`
	Class   string       `json:"class"`
	Fields  []string     `json:"fields"`
}

// Matches reports whether the signature matches a release.
func (s *Signature) Matches(r *Release) bool {
	lacks := func(f string) bool { return !slices.Contains(r.Fields, f) }
	return (len(s.Actions) == 0 || slices.Contains(s.Actions, r.Action)) &&
		(len(s.Channels) == 0 || slices.Contains(s.Channels, r.Channel)) &&
		(len(s.Classes) == 0 || slices.Contains(s.Classes, r.Class)) &&
		globs(s.Tools, r.Tool) && globs(s.Sinks, r.Sink) && !slices.ContainsFunc(s.Fields, lacks)
}

// Overlaps reports whether a release may match both signatures. It errs by
// saying yes.
func (s *Signature) Overlaps(o *Signature) bool {
	return !disjoint(s.Actions, o.Actions) && !disjoint(s.Channels, o.Channels) && !disjoint(s.Classes, o.Classes) &&
		!disjointGlobs(s.Tools, o.Tools) && !disjointGlobs(s.Sinks, o.Sinks)
}

// disjoint reports whether no value is in both lists; an empty one has all.
func disjoint[T comparable](x, y []T) bool {
	return len(x) > 0 && len(y) > 0 && !slices.ContainsFunc(x, func(v T) bool { return slices.Contains(y, v) })
}

// disjointGlobs is disjoint for patterns. With a star in one it says no.
func disjointGlobs(x, y []string) bool {
	star := func(v string) bool { return strings.Contains(v, "*") }
	return !slices.ContainsFunc(x, star) && !slices.ContainsFunc(y, star) && disjoint(x, y)
}

// globs reports whether one of the patterns matches, or there is none.
func globs(patterns []string, s string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return glob(p, s) })
}

// glob matches a pattern in which * matches anything, in linear time per star.
func glob(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return s == pattern
	}
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, piece)
		}
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(piece):], after
	}
}
