package recognise

import "math"

// Lag says where the gates of another scanner close that has read the same words as a
// scanner, but not the same bytes behind them. The zero Lag is none.
type Lag struct {
	own   []int64 // where they close for the scanner
	other []int64 // where they do for the other one, from here on the same bytes
	any   bool    // for one of them, that is not the same
}

// LagOf makes l the lag of o, which reads on as s does.
func (s *Scanner) LagOf(o *Scanner, l *Lag) {
	l.own, l.other, l.any = append(l.own[:0], s.gates...), l.other[:0], false
	from := s.undecided()
	for i, own := range s.gates {
		at := s.pos + o.gates[i] - o.pos
		if own <= from && at <= from {
			at = own // both are closed for all that is under way
		}
		l.other, l.any = append(l.other, at), l.any || at != own
	}
}

// undecided returns where the first match that is under way may start: a gate that
// closes before it is closed.
func (s *Scanner) undecided() int64 {
	from := s.pos - int64(s.set.words.held[s.wordAt])
	for i := range s.crowds {
		from = min(from, s.crowds[i].start)
	}
	return from
}

// Apart returns how many bytes s can read before a gate is open for one of the two
// alone. Gates that have opened anew since are the same.
func (s *Scanner) Apart(l *Lag) int64 {
	n := int64(math.MaxInt64)
	if !l.any {
		return n
	}
	from := s.undecided()
	for i, own := range s.gates {
		if other := l.other[i]; own == l.own[i] && own != other && max(own, other) > from {
			n = min(n, max(min(own, other)-s.pos, 0))
		}
	}
	return n
}

// Catch gives s, a copy of the scanner, the gates of the other one.
func (s *Scanner) Catch(l *Lag) {
	for i := range l.other {
		if s.gates[i] == l.own[i] {
			s.gates[i] = l.other[i]
		}
	}
}
