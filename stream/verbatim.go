package stream

import (
	"github.com/margaydev/margay/secret/canon"
	"github.com/margaydev/margay/secret/match"
	"github.com/margaydev/margay/secret/recognise"
)

// Verbatim looks at identifiers of a protocol as they are written: in no view
// but the canonical one, without undoing escapes and encodings. Every random
// identifier reads as an encoding of something, and to undo them all would cost
// more than the rest of a short answer does.
//
// It edits nothing and releases nothing. It is not safe for concurrent use.
type Verbatim struct {
	rules *recognise.Scanner // nil for none
	match []*match.Matcher
	fold  canon.Fold
	len   int64

	units, folded []canon.Unit
	hits          []match.Hit
	matches       []recognise.Match
}

// NewVerbatim returns a reader for identifiers with the rules and vaults of the
// configuration.
func (c *Config) NewVerbatim() *Verbatim {
	v := &Verbatim{}
	for _, ix := range c.Vaults {
		if ix != nil && ix.Len() > 0 {
			v.match = append(v.match, ix.NewMatcher(c.nowMilli(), c.maxHeld()))
		}
	}
	if c.Rules != nil {
		v.rules = newRules(c)
	}
	return v
}

// apart is read behind each text, and after behind all, so that they are decided.
var (
	apart = []byte{'\n'}
	after = []byte("\n is it? \n")
)

// Clean reports whether nothing at all is found in texts that are read together,
// in any view. It says no where what it found may be allowed, too. The text that a
// scanner reads must be made of nothing else.
func (s *Scanner) Clean(texts [][]byte) bool {
	for _, text := range texts {
		s.Write(text)
		s.Write(apart)
	}
	end := s.Len()
	s.Write(after)
	return s.Cut() >= end && len(s.Findings()) == 0
}

// Clean reports whether no known secret and no credential is in texts that are
// read together. If it says no, what it found may lie across two of them, and
// the reader is of no more use.
func (v *Verbatim) Clean(texts [][]byte) bool {
	clean := true
	for _, text := range texts {
		clean = v.read(text) && v.read(apart) && clean
	}
	end := v.len
	return v.read(after) && clean && v.hold() >= end
}

// read reads a part of the text and reports whether nothing was found.
func (v *Verbatim) read(p []byte) bool {
	clean := true
	for ; len(p) > 0; p = p[min(len(p), batch):] {
		b := p[:min(len(p), batch)]
		off, ascii := v.len, v.fold.Idle() && canon.IsASCII(b)
		if !ascii {
			v.units = canon.Units(v.units[:0], b, off)
			v.folded = v.fold.Write(v.folded[:0], v.units)
		}
		v.len += int64(len(b))
		v.hits = v.hits[:0]
		for _, m := range v.match {
			if ascii {
				v.hits = m.Read(v.hits, b, off)
			} else {
				v.hits = m.Write(v.hits, v.folded)
			}
			v.hits = m.Expire(v.hits, min(v.len, v.fold.Hold()))
		}
		clean = clean && len(v.hits) == 0
		if v.rules == nil {
			continue
		}
		v.rules.Write(b)
		v.matches = v.rules.Take(v.matches[:0])
		for i := range v.matches {
			// Identifiers are random, so that entropy says nothing about them.
			clean = clean && v.matches[i].Rule.Class != recognise.ClassCredential
		}
	}
	return clean
}

func (v *Verbatim) hold() int64 {
	h := v.fold.Hold()
	for _, m := range v.match {
		h = min(h, m.Hold())
	}
	if v.rules != nil {
		h = min(h, v.rules.Hold())
	}
	return h
}
