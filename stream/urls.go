package stream

import (
	"bytes"
	"strings"

	"github.com/margaydev/margay/flow"
)

// maxURL is how long a URL is held; no client would fetch a longer one.
const maxURL = 2048

// urls finds the URLs of a text from their host on. Whoever shows the text
// may fetch them, so a URL is a sink: it goes out whole or not at all.
type urls struct {
	slashes int   // progress through "://"
	start   int64 // of the open URL; valid if open
	open    bool
	done    []extent // closed, not yet decided
}

func (u *urls) write(p []byte, off int64) {
	for i := 0; i < len(p); i++ {
		if !u.open && u.slashes == 0 {
			colon := bytes.IndexByte(p[i:], ':')
			if colon < 0 {
				return
			}
			i += colon
		}
		b, at := p[i], off+int64(i)
		if u.open {
			if endsURL(b) || at-u.start >= maxURL {
				u.close(at)
			}
			continue
		}
		switch {
		case b == ':':
			u.slashes = 1
		case b == '/' && u.slashes > 0:
			u.slashes++
			if u.slashes == 3 {
				u.open, u.start, u.slashes = true, at+1, 0
			}
		default:
			u.slashes = 0
		}
	}
}

func endsURL(b byte) bool { return strings.IndexByte(" \t\n\r)><\"'`|\\^{}", b) >= 0 }

func (u *urls) close(at int64) {
	if u.open {
		u.open = false
		if at > u.start {
			u.done = append(u.done, extent{u.start, at})
		}
	}
}

// holdURLs decides the closed URLs before the cut to come, and holds the rest.
func (s *Scanner) holdURLs() {
	u := s.urls
	for len(u.done) > 0 && u.done[0].end <= s.text.Least() {
		s.decideURL(u.done[0])
		u.done = u.done[:copy(u.done, u.done[1:])]
	}
	if len(u.done) > 0 {
		s.text.Hold(u.done[0].start)
	}
	if u.open {
		s.text.Hold(u.start)
	}
}

// decideURL makes a finding in a URL cover the URL. All findings that start
// in it are known.
func (s *Scanner) decideURL(at extent) {
	if s.text.Region() > at.start {
		s.cut(at.start, at.end, true) // it goes on with the region
		return
	}
	var best *Finding
	for i := range s.pend {
		f := &s.pend[i]
		if f.Start >= at.end || f.End <= at.start || best != nil && leads(best, f) < 0 {
			continue
		}
		probe := *f
		switch s.cfg.decide(&probe, s.text.Raw(f.Start, f.End)) {
		case flow.ActAllow, flow.ActReport:
		default:
			best = f
		}
	}
	if best == nil {
		return
	}
	// It is reported as it was found, however much goes with it.
	best.own = extent{best.Start, best.End}
	best.Start, best.End = min(best.Start, at.start), max(best.End, at.end)
}
