package stream

import (
	"slices"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/recognise"
)

// Scanner reads one text and says how far it is decided and which edits it
// needs. It is not safe for concurrent use.
type Scanner struct {
	cfg  *Config
	root *view
	// blind: there is nothing to look for but what others mark.
	blind bool
	urls  *urls // nil unless Config.HoldURLs

	win  []byte // raw bytes from base on
	base int64
	pos  int64 // everything before it is decided: the cut

	pend   []Finding // not yet passed by the cut, unordered
	region int64     // end of the region that the cut is in; ≤ pos: none
	edits  []Edit
	found  []Finding

	sc     *scratches
	closed bool
}

// scratches are the buffers of one call, by depth.
type scratches [maxDepth + 1]scratch

var scratchPool = sync.Pool{New: func() any { return new(scratches) }}

// NewScanner returns a scanner for one text.
func (c *Config) NewScanner() *Scanner {
	s := &Scanner{cfg: c, root: newView(c, "raw", 0)}
	s.blind = s.root.raw == nil && len(s.root.vaults) == 0
	if c.HoldURLs {
		s.urls = &urls{}
	}
	return s
}

func newRules(cfg *Config) *recognise.Scanner {
	return cfg.Rules.NewScanner(recognise.WithPath(cfg.Path), recognise.WithMaxHeld(int(cfg.maxHeld())))
}

func (s *Scanner) scratch(depth int) *scratch { return &s.sc[depth] }

// Write reads the next bytes of the text.
func (s *Scanner) Write(p []byte) {
	if s.blind {
		off := s.base + int64(len(s.win))
		s.win = append(s.win, p...)
		if s.urls != nil {
			s.urls.write(p, off)
		}
		s.advance(s.base + int64(len(s.win)))
		return
	}
	s.sc = scratchPool.Get().(*scratches)
	for len(p) > 0 {
		n := min(len(p), batch)
		s.write(p[:n])
		p = p[n:]
	}
	s.advance(s.hold())
	scratchPool.Put(s.sc)
	s.sc = nil
}

func (s *Scanner) write(p []byte) {
	off := s.base + int64(len(s.win))
	s.win = append(s.win, p...)
	if s.urls != nil {
		s.urls.write(p, off)
	}
	sc := s.scratch(0)
	sc.units = canon.Units(sc.units[:0], p, off)
	s.root.write(s, sc.units) // before the raw rules read p: forms fork off from their state
	if s.root.raw != nil {
		s.root.raw.Write(p)
		s.takeRaw()
	}
	s.root.join()
	if len(s.win) > 4*batch {
		// A large write decides as it goes, so that the window stays small.
		s.advance(s.hold())
	}
}

func (s *Scanner) takeRaw() {
	sc := s.scratch(0)
	sc.matches = s.root.raw.Take(sc.matches[:0])
	for i := range sc.matches {
		m := &sc.matches[i]
		s.addMatch(m, m.Start, m.End, "raw")
	}
}

// Close ends the text: everything is decided.
func (s *Scanner) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.sc = scratchPool.Get().(*scratches)
	if s.root.raw != nil {
		s.root.raw.Close()
		s.takeRaw()
	}
	if !s.blind {
		s.root.end(s)
	}
	if s.urls != nil {
		s.urls.close(s.base + int64(len(s.win)))
	}
	s.advance(s.base + int64(len(s.win)))
	scratchPool.Put(s.sc)
	s.sc = nil
}

// hold returns the least hold of all detectors.
func (s *Scanner) hold() int64 {
	s.root.expire(s, s.base+int64(len(s.win)))
	h := min(s.base+int64(len(s.win)), s.root.hold())
	if s.root.raw != nil {
		h = min(h, s.root.raw.Hold())
	}
	return h
}

// Cut returns the offset before which the text is decided: no byte before it
// can still become part of a finding, and all edits before it are known.
func (s *Scanner) Cut() int64 { return s.pos }

// Len returns the bytes read so far.
func (s *Scanner) Len() int64 { return s.base + int64(len(s.win)) }

// Edits appends the edits that came before the cut since the last call, in
// order. Their Text stays valid.
func (s *Scanner) Edits(dst []Edit) []Edit {
	dst = append(dst, s.edits...)
	s.edits = s.edits[:0]
	return dst
}

// Findings returns what was found before the cut, in order, with the action
// that was taken. The slice is valid until the next call of a method.
func (s *Scanner) Findings() []Finding { return s.found }

func (s *Scanner) addMatch(m *recognise.Match, start, end int64, view string) {
	s.add(Finding{
		Start: start, End: end, Kind: m.Kind(), Rule: m.Rule.ID, Class: m.Rule.Class, View: view,
		Capped: m.Capped, continues: m.Continues,
	})
}

// Mark adds a finding of another detector's: one that judges text as it comes
// and holds nothing. Its bytes should not have been written yet; those that
// are decided already can't be taken back. It goes on where one of the same
// kind ended if continues says so.
func (s *Scanner) Mark(f Finding, continues bool) {
	f.continues = continues
	s.add(f)
}

func (s *Scanner) add(f Finding) {
	if f.Start < s.pos {
		// Only what goes on from a region that is being cut out may.
		f.Start, f.continues = s.pos, true
		if f.End <= s.pos {
			return
		}
	}
	s.pend = append(s.pend, f)
}

// advance moves the cut to safe, an offset before which no detector will
// start another finding.
func (s *Scanner) advance(safe int64) {
	if s.urls != nil {
		safe = s.holdURLs(safe)
	}
	if len(s.pend) > 0 {
		slices.SortFunc(s.pend, func(a, b Finding) int { return leads(&a, &b) })
	}
	i := 0
	for ; i < len(s.pend) && s.pend[i].Start < safe; i++ {
		s.take(&s.pend[i], safe)
	}
	s.pend = s.pend[:copy(s.pend, s.pend[i:])]
	if s.region > s.pos {
		s.drop(min(s.region, safe))
	}
	s.pos = max(s.pos, safe)
	s.trim()
}

// take decides about one finding that starts before safe. Findings come in
// the order of leads.
func (s *Scanner) take(f *Finding, safe int64) {
	// A finding is decided about and told as it was found, and cut out with the
	// URL that goes with it.
	out, grown := extent{f.Start, f.End}, f.own != (extent{})
	if grown {
		f.Start, f.End, f.own = f.own.start, f.own.end, extent{}
	}
	raw := s.raw(f.Start, f.End)
	part := false // of what is reported already
	if n := len(s.found); n > 0 {
		l := &s.found[n-1]
		same := l.Start == f.Start && l.End == f.End && l.Rule == f.Rule && l.ID == f.ID
		// The same thing seen in several views is one finding.
		if same && !grown {
			return
		}
		part = same || f.Fragment && l.ID == f.ID && l.Start <= f.Start && f.Start < l.End
	}
	f.Action = s.cfg.decide(f, raw)
	if f.continues && s.region >= f.Start {
		f.Action = flow.ActRedact
	} else if f.Action != flow.ActAllow && !f.continues && !part && !s.told(f) {
		s.found = append(s.found, *f)
	}
	f.Start, f.End = out.start, out.end
	switch f.Action {
	case flow.ActAllow, flow.ActReport:
		return
	default:
	}
	if s.region > f.Start || f.continues && s.region >= f.Start {
		s.region = max(s.region, f.End)
		return
	}
	// A new region, led by f. The one before it has ended.
	if s.region > s.pos {
		s.drop(s.region)
	}
	end := min(f.End, safe)
	s.edits = append(s.edits, Edit{Start: f.Start, End: end, Text: s.cfg.replace(nil, f, raw)})
	s.pos, s.region = end, f.End
}

// told reports whether a finding says nothing new: it lies in a region that is
// cut out, and is the same stretch again, a part of a secret, or a value that
// was only discovered.
func (s *Scanner) told(f *Finding) bool {
	if s.region <= f.Start || s.region < f.End || f.Action == flow.ActBlock {
		return false
	}
	n := len(s.found)
	again := n > 0 && s.found[n-1].Start == f.Start && s.found[n-1].End == f.End
	return again || f.Fragment || f.Rule == RuleVault && f.Source == secret.SourceDiscovered
}

// drop cuts out the bytes of the open region up to end.
func (s *Scanner) drop(end int64) {
	if end > s.pos {
		s.edits = append(s.edits, Edit{Start: s.pos, End: end})
		s.pos = end
	}
}

func (s *Scanner) raw(start, end int64) []byte {
	start = max(start, s.base)
	end = max(end, start)
	return s.win[start-s.base : end-s.base]
}

func (s *Scanner) trim() {
	n := s.pos - s.base
	if n > 0 && (n == int64(len(s.win)) || n >= 1024) {
		s.win = s.win[:copy(s.win, s.win[n:])]
		s.base += n
	}
}
