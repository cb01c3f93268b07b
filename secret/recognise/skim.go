package recognise

import "github.com/margaydev/margay/internal/dfa"

// maxSkim is how many runs are moved together.
const maxSkim = 4

// skim reads what only moves runs of all wordly rules, ends them and starts
// them, as nearly every byte of a text does, and returns how many bytes that
// were. It does what step does.
func (s *Scanner) skim(p []byte) int {
	if s.set.dense == nil || len(s.tokens) > 0 || s.pem.on {
		return 0
	}
	total := 0
	for total < len(p) {
		n := 0
		if len(s.runs) <= 1 {
			n = s.skimOne(p[total:])
		}
		if n == 0 {
			n = s.skimMany(p[total:])
		}
		if n == 0 {
			break
		}
		total += n
	}
	return total
}

// skimOne is skim where at most one run is alive at a time.
func (s *Scanner) skimOne(p []byte) int {
	t, at := s.set.dense, &s.set.at
	var row uint32 // 0: no run
	var r run
	if len(s.runs) == 1 {
		if r = s.runs[0]; r.rule != crowdRun {
			return 0
		}
		if row = t.Row(r.state); row == 0 {
			return 0
		}
	}
	class, next := t.Table()
	wordClass, wordNext := s.set.words.class, s.set.words.next
	word, last := s.set.words.Row(s.wordAt), s.last
	n, most := 0, len(p)
	if row != 0 {
		most = int(min(int64(most), r.start+maxCrowd-1-s.pos))
	}
	for n < most {
		b := p[n]
		w := wordNext[word+uint32(wordClass[b])]
		if w&1 != 0 {
			break
		}
		var v dfa.Next
		if row != 0 {
			v = dfa.Next(next[row+uint32(class[b])].Load())
			if v == 0 {
				v = t.Fill(row, b)
			}
			if v == 0 || v.Matched() {
				break
			}
		}
		if starts := at[b]; starts&startsWord != 0 && (last != dfa.Word || starts&inWord == 0) {
			if row != 0 && !v.Dead() {
				break // there are two
			}
			first := t.Row(s.set.crowd.Start(last))
			if first == 0 {
				break
			}
			if v = t.Step(first, b); v == 0 || v.Matched() {
				break
			}
			r = run{rule: crowdRun, start: s.pos + int64(n), held: -1, before: last}
			most = min(len(p), n+maxCrowd-1)
		}
		switch {
		case v&(dfa.IsDead|dfa.IsEntered) == 0:
			row = v.Row()
		case v.Dead():
			row, most = 0, len(p)
		default:
			if row = v.Row(); r.held < 0 {
				r.held = s.pos + int64(n)
			}
		}
		word, last = w>>1, after[b]
		n++
	}
	if n == 0 {
		return 0
	}
	s.runs = s.runs[:0]
	if row != 0 {
		r.state = t.State(row)
		s.runs = append(s.runs, r)
	}
	s.pos, s.wordAt, s.last = s.pos+int64(n), s.set.words.State(word), last
	return n
}

// skimMany is skim where some runs are alive at a time.
func (s *Scanner) skimMany(p []byte) int {
	if len(s.runs) > maxSkim {
		return 0
	}
	t := s.set.dense
	var rows [maxSkim]uint32
	var moved [maxSkim + 1]dfa.Next
	live := len(s.runs)
	for i := range s.runs {
		if s.runs[i].rule != crowdRun {
			return 0
		}
		if rows[i] = t.Row(s.runs[i].state); rows[i] == 0 {
			return 0
		}
	}
	if cap(s.runs) < maxSkim {
		s.runs = append(make([]run, 0, 2*maxSkim), s.runs...)
	}
	runs := s.runs[:maxSkim]
	w, at := s.set.words, &s.set.at
	wordAt, last, n := s.wordAt, s.last, 0
skim:
	for ; n < len(p); n++ {
		if live <= 1 && n > 0 {
			break
		}
		b := p[n]
		word := w.Step(wordAt, b)
		if w.ends[word] {
			break
		}
		if live > 0 && s.pos+int64(n)+1-runs[0].start >= maxCrowd {
			break
		}
		for i := range live {
			v := t.Step(rows[i], b)
			if v == 0 || v.Matched() {
				break skim
			}
			for j := range i {
				if v == moved[j] && !v.Dead() {
					break skim
				}
			}
			moved[i] = v
		}
		var fresh dfa.Next
		if at[b]&startsWord != 0 && (last != dfa.Word || at[b]&inWord == 0) {
			if live == maxSkim {
				break
			}
			row := t.Row(s.set.crowd.Start(last))
			if row == 0 {
				break
			}
			if fresh = t.Step(row, b); fresh == 0 || fresh.Matched() {
				break
			}
			for j := range live {
				if fresh == moved[j] && !fresh.Dead() {
					break skim
				}
			}
		}
		kept := 0
		for i := range live {
			v := moved[i]
			if v.Dead() {
				continue
			}
			if kept < i {
				runs[kept] = runs[i]
			}
			rows[kept] = v.Row()
			if v.Entered() && runs[kept].held < 0 {
				runs[kept].held = s.pos + int64(n)
			}
			kept++
		}
		if live = kept; fresh != 0 && !fresh.Dead() {
			runs[live] = run{rule: crowdRun, start: s.pos + int64(n), held: -1, before: last}
			if fresh.Entered() {
				runs[live].held = runs[live].start
			}
			rows[live] = fresh.Row()
			live++
		}
		wordAt, last = word, after[b]
	}
	s.runs = runs[:live]
	for i := range s.runs {
		s.runs[i].state = t.State(rows[i])
	}
	s.pos, s.wordAt, s.last = s.pos+int64(n), wordAt, last
	return n
}
