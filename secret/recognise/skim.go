package recognise

import "github.com/margaydev/margay/internal/dfa"

// maxSkim is how many runs are moved together.
const maxSkim = 4

// skim reads what only moves runs of all wordly rules, ends them and starts
// them, as nearly every byte of a text does, and returns how many bytes that
// were. It does what step does.
func (s *Scanner) skim(p []byte) int {
	t := s.set.dense
	if t == nil || len(s.tokens) > 0 || s.pem.on || len(s.runs) > maxSkim {
		return 0
	}
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
		b := p[n]
		word := w.Step(wordAt, b)
		if w.ends[word] {
			break
		}
		if live > 0 && s.pos+int64(n)+1-runs[0].start >= maxCrowd {
			break
		}
		for i := range live {
			v := t.Known(rows[i], b)
			if v == 0 {
				v = t.Fill(rows[i], b)
			}
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
