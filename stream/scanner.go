package stream

import (
	"slices"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/stream/cut"
)

// Scanner reads one text and says how far it is decided and which edits it
// needs. It is not safe for concurrent use.
type Scanner struct {
	cfg  *Config
	root *view
	// blind: there is nothing to look for but what others mark.
	blind bool
	urls  *urls // nil unless Config.HoldURLs
	await int64 // another detector has not judged what starts here; -1: it has all

	text  cut.Text
	pend  []Finding // not yet passed by the cut, unordered
	found []Finding

	sc     *scratches
	closed bool
	gone   bool // nobody waits for the text
}

// scratches are the buffers of one call, by depth.
type scratches [maxDepth + 1]scratch

var scratchPool = sync.Pool{New: func() any { return new(scratches) }}

// NewScanner returns a scanner for one text.
func (c *Config) NewScanner() *Scanner { return c.newScanner(false) }

// newScanner returns a scanner; one that keeps the text can release it.
func (c *Config) newScanner(keep bool) *Scanner {
	s := &Scanner{cfg: c, await: -1, root: newView(c, "raw", 0), text: cut.NewText(slack*c.maxHeld(), keep)}
	s.blind = s.root.raw == nil && len(s.root.vaults) == 0
	if c.HoldURLs {
		s.urls = &urls{}
	}
	return s
}

func newRules(cfg *Config) *recognise.Scanner {
	return cfg.Rules.NewScanner(recognise.WithPath(cfg.Path), recognise.WithMaxHeld(int(cfg.maxHeld())))
}

// Write reads the next bytes of the text.
func (s *Scanner) Write(p []byte) {
	s.sc = scratchPool.Get().(*scratches)
	for ; len(p) > 0 && !s.quit(p); p = p[min(len(p), batch):] {
		s.write(p[:min(len(p), batch)])
	}
	s.advance()
	scratchPool.Put(s.sc)
	s.sc = nil
}

// quit reports whether nobody waits for the text, of which p has not been looked at:
// then it is cut out with all that is undecided.
func (s *Scanner) quit(p []byte) bool {
	if s.cfg.Gone == nil || !s.gone && !s.cfg.Gone() {
		return false
	}
	from := s.text.Decided()
	s.text.Write(p)
	s.pend = s.pend[:0]
	if first := !s.gone; s.cut(from, s.text.Len(), !first) || first {
		s.found = append(s.found, undecided(from, s.text.Len(), flow.ActBlock))
	}
	s.gone = true
	return true
}

func (s *Scanner) write(p []byte) {
	off := s.text.Len()
	s.text.Write(p)
	if s.urls != nil {
		s.urls.write(p, off)
	}
	if s.blind {
		return
	}
	for len(p) > 0 {
		// Before the raw rules read: forms fork off from their state.
		n := s.root.readRaw(s, p, off)
		if s.root.raw != nil {
			s.root.raw.Write(p[:n])
			s.takeRaw()
		}
		s.root.join()
		p, off = p[n:], off+int64(n)
	}
	if s.text.Len()-s.text.Decided() > 4*batch {
		// A large write decides as it goes, so that little stays undecided.
		s.advance()
	}
}

func (s *Scanner) takeRaw() {
	sc := &s.sc[0]
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
	if s.gone {
		return
	}
	s.sc = scratchPool.Get().(*scratches)
	if s.root.raw != nil {
		s.root.raw.Close()
		s.takeRaw()
	}
	if !s.blind {
		s.root.end(s)
	}
	if s.urls != nil {
		s.urls.close(s.text.Len())
	}
	s.advance()
	scratchPool.Put(s.sc)
	s.sc = nil
}

// Cut returns the offset before which the text is decided: no byte before it
// can still become part of a finding, and all edits before it are known.
func (s *Scanner) Cut() int64 { return s.text.Decided() }

// Len returns the bytes read so far.
func (s *Scanner) Len() int64 { return s.text.Len() }

// Edits appends the edits that came before the cut since the last call, in
// order. Their Text stays valid.
func (s *Scanner) Edits(dst []Edit) []Edit { return s.text.Edits(dst) }

// Findings returns what was found before the cut, in order, with the action
// that was taken. The slice is valid until the next call of a method.
func (s *Scanner) Findings() []Finding { return s.found }

func (s *Scanner) addMatch(m *recognise.Match, start, end int64, view string) {
	s.pend = append(s.pend, Finding{
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
	s.pend = append(s.pend, f)
}

// Await holds the text from an offset on until the next call, or its end: another
// detector has not judged all of what starts there. -1 holds nothing. It counts from
// the next Write on.
func (s *Scanner) Await(from int64) { s.await = from }

// advance moves the cut as far as the holds of all detectors let it.
func (s *Scanner) advance() {
	if !s.blind && !s.closed && !s.gone {
		s.root.expire(s, s.text.Len())
		s.root.hold(&s.text)
	}
	if s.urls != nil {
		s.holdURLs()
	}
	if s.await >= 0 && !s.closed {
		s.text.Hold(s.await)
	}
	if len(s.pend) > 0 {
		slices.SortFunc(s.pend, func(a, b Finding) int { return leads(&a, &b) })
	}
	i, safe := 0, s.text.Least()
	for ; i < len(s.pend) && s.pend[i].Start < safe; i++ {
		s.take(&s.pend[i])
	}
	s.pend = s.pend[:copy(s.pend, s.pend[i:])]
	if from, leads := s.text.Advance(); from >= 0 {
		f := undecided(from, s.text.Len(), flow.ActRedact)
		s.found = append(s.found, f)
		if leads {
			s.text.Replace(s.cfg.replace(nil, &f, s.text.Raw(f.Start, f.End)))
		}
	}
}

// lastFound is how many findings may be between two of the same thing: those of other
// rules with the same URL.
const lastFound = 16

// take decides about one finding that starts before the next cut. Findings come
// in the order of leads.
func (s *Scanner) take(f *Finding) {
	// A finding is decided about and told as it was found, and cut out with the
	// URL that goes with it.
	out, grown := extent{f.Start, f.End}, f.own != (extent{})
	if grown {
		f.Start, f.End, f.own = f.own.start, f.own.end, extent{}
	}
	raw := s.text.Raw(f.Start, f.End)
	part := false // of what is reported already
	if n := len(s.found); n > 0 {
		l, same := &s.found[n-1], false
		for i := max(0, n-lastFound); i < n && !same; i++ {
			o := &s.found[i]
			same = o.Start == f.Start && o.End == f.End && o.Rule == f.Rule && o.ID == f.ID
		}
		// The same thing seen in several views is one finding.
		if same && !grown {
			return
		}
		part = same || f.Fragment && l.ID == f.ID && l.Start <= f.Start && f.Start < l.End
	}
	f.Action = s.cfg.decide(f, raw)
	if f.continues && s.text.Region() >= f.Start {
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
	if s.cut(f.Start, f.End, f.continues) {
		s.text.Replace(s.cfg.replace(nil, f, raw))
	}
}

// cut cuts a span out and reports whether it leads a region. A span that a
// detector reports too late blocks the text.
func (s *Scanner) cut(start, end int64, goesOn bool) bool {
	was := s.text.Broken()
	leads, err := s.text.Cut(start, end, goesOn)
	if err != nil && !was {
		s.found = append(s.found, undecided(start, end, flow.ActBlock))
	}
	return leads
}

// undecided is a finding about text that is cut out since it can't be decided.
func undecided(start, end int64, a flow.Action) Finding {
	return Finding{Start: start, End: end, Kind: KindUndecided, Rule: RuleUndecided, View: "raw", Action: a, Capped: a != flow.ActBlock}
}

// told reports whether a finding says nothing new: it lies in a region that is
// cut out, and is the same stretch again, a part of a secret, or a value that
// was only discovered.
func (s *Scanner) told(f *Finding) bool {
	if region := s.text.Region(); region <= f.Start || region < f.End || f.Action == flow.ActBlock {
		return false
	}
	n := len(s.found)
	again := n > 0 && s.found[n-1].Start == f.Start && s.found[n-1].End == f.End
	return again || f.Fragment || f.Rule == RuleVault && f.Source == secret.SourceDiscovered
}
