package lm

import (
	"math"

	"github.com/margaydev/margay/monitor"
)

const (
	maxMatch = 12  // tokens of agreement that are told apart
	maxVotes = 256 // the latest occurrences that vote
	// TopK is how many alternatives a distribution tells, as servers do.
	TopK = 20
)

// prior is the context's share before anything was scored, by the longest
// agreement, as pseudo-counts of priorWeight observations.
var prior = [maxMatch + 1]float64{0.15, 0.4, 0.6, 0.75, 0.85, 0.9, 0.95, 0.95, 0.97, 0.97, 0.97, 0.97, 0.97}

const priorWeight = 20

// Scorer reads one context and gives the distribution of what comes next. It
// is for one goroutine; Reset makes it new.
type Scorer struct {
	m       *Model
	context []uint16
	before  []int32 // the earlier position of the same token, -1 where none
	last    []int32 // by token: its latest position, -1 where none
	seen    []int32 // by token: occurrences
	kinds   []uint16
	won     [maxMatch + 1]float64
	tried   [maxMatch + 1]float64

	// The distribution, valid between predict and the next append.
	votes   []float64 // by token, not yet times the context's share
	base    []float64 // by token, of the base's tables above the unigrams
	touched []uint16
	is      []bool
	match   []uint8 // by token: the longest agreement that votes for it
	back    float64 // the unigrams' share of the base model
	escape  float64 // what the votes leave
	share   float64 // the context's
	longest int
	buffer  []uint16
}

// NewScorer makes a scorer with an empty context.
func (m *Model) NewScorer() *Scorer {
	v := m.Vocabulary()
	s := &Scorer{
		m: m, last: make([]int32, v), seen: make([]int32, v), votes: make([]float64, v),
		base: make([]float64, v), is: make([]bool, v), match: make([]uint8, v),
	}
	for i := range s.last {
		s.last[i] = -1
	}
	s.Reset()
	return s
}

// Reset forgets the context and what was learned.
func (s *Scorer) Reset() {
	s.clear()
	for _, t := range s.kinds {
		s.last[t], s.seen[t] = -1, 0
	}
	s.kinds, s.context, s.before = s.kinds[:0], s.context[:0], s.before[:0]
	for i := range prior {
		s.won[i], s.tried[i] = prior[i]*priorWeight, priorWeight
	}
}

// Feed reads text that is not scored, a prompt.
func (s *Scorer) Feed(text string) {
	s.buffer = s.m.words.tokens(s.buffer[:0], text)
	for _, t := range s.buffer {
		s.append(t)
	}
}

func (s *Scorer) append(t uint16) {
	if s.seen[t] == 0 {
		s.kinds = append(s.kinds, t)
	}
	s.seen[t]++
	s.before = append(s.before, s.last[t])
	s.last[t] = int32(len(s.context))
	s.context = append(s.context, t)
}

func (s *Scorer) clear() {
	for _, t := range s.touched {
		s.votes[t], s.base[t], s.is[t], s.match[t] = 0, 0, false, 0
	}
	s.touched = s.touched[:0]
}

func (s *Scorer) touch(t uint16) {
	if !s.is[t] {
		s.is[t] = true
		s.touched = append(s.touched, t)
	}
}

// predict computes the distribution of the next token.
func (s *Scorer) predict() {
	s.clear()
	s.predictBase()
	s.predictContext()
	s.share = s.won[s.longest] / s.tried[s.longest]
}

func (s *Scorer) predictBase() {
	s.back = 1
	n := len(s.context)
	for h := min(n, maxHistory); h > 0; h-- {
		after, ok := s.m.after[key(s.context[n-h:])]
		if !ok {
			continue
		}
		for i, t := range after.next {
			s.touch(t)
			s.base[t] += s.back * after.share[i]
		}
		s.back *= after.rest
	}
}

func (s *Scorer) predictContext() {
	s.escape, s.longest = 1, 0
	n := len(s.context)
	if n == 0 {
		return
	}
	var at [maxVotes]int32
	var long [maxVotes]uint8
	var count, kinds [maxMatch + 2]float64 // by agreement of at least so many
	votes := 0
	for i := s.before[n-1]; i >= 0 && votes < maxVotes; i = s.before[i] {
		m := 1
		for m < maxMatch && int(i)-m >= 0 && s.context[int(i)-m] == s.context[n-1-m] {
			m++
		}
		at[votes], long[votes] = i, uint8(m)
		votes++
		count[m]++
		s.longest = max(s.longest, m)
		t := s.context[i+1]
		s.touch(t)
		if int(s.match[t]) < m {
			if s.match[t] > 0 {
				kinds[s.match[t]]--
			}
			kinds[m]++
			s.match[t] = uint8(m)
		}
	}
	var weight [maxMatch + 1]float64
	for m := maxMatch; m > 0; m-- {
		count[m] += count[m+1]
		kinds[m] += kinds[m+1]
		if count[m] > 0 {
			weight[m] = s.escape / (count[m] + kinds[m])
			s.escape *= kinds[m] / (count[m] + kinds[m])
		}
	}
	for m := 1; m <= maxMatch; m++ {
		weight[m] += weight[m-1]
	}
	for i := range votes {
		s.votes[s.context[at[i]+1]] += weight[long[i]]
	}
	total := float64(n + len(s.kinds))
	for _, t := range s.kinds {
		s.touch(t)
		s.votes[t] += s.escape * float64(s.seen[t]) / total
	}
	s.escape *= float64(len(s.kinds)) / total
}

// probability is that of a token under the last prediction.
func (s *Scorer) probability(t uint16) float64 {
	base := s.base[t] + s.back*s.m.unigram[t]
	return s.share*s.votes[t] + s.baseShare()*base
}

func (s *Scorer) baseShare() float64 { return 1 - s.share*(1-s.escape) }

// learn adapts the share of the context to the token that came.
func (s *Scorer) learn(t uint16) {
	base := s.base[t] + s.back*s.m.unigram[t]
	context := s.votes[t] + s.escape*base
	s.won[s.longest] += s.share * context / (s.share*context + (1-s.share)*base)
	s.tried[s.longest]++
}

type ranked struct {
	t uint16
	p float64
}

// entropy is that of the last prediction, in nats, over the whole vocabulary;
// top has its likeliest tokens, the most probable first.
func (s *Scorer) entropy(top *[TopK]ranked) float64 {
	h, rest, restLog := 0.0, 1.0, s.m.plogp
	n := 0
	insert := func(t uint16, p float64) {
		if n == TopK && !before(t, p, top[n-1]) {
			return
		}
		n = min(n+1, TopK)
		i := n - 1
		for ; i > 0 && before(t, p, top[i-1]); i-- {
			top[i] = top[i-1]
		}
		top[i] = ranked{t, p}
	}
	for _, t := range s.touched {
		p := s.probability(t)
		h -= p * math.Log(p)
		u := s.m.unigram[t]
		rest -= u
		restLog -= u * math.Log(u)
		insert(t, p)
	}
	// The others have their unigram's probability, times one scale.
	scale := s.baseShare() * s.back
	for i, taken := 0, 0; i < len(s.m.ranked) && taken < TopK; i++ {
		if t := s.m.ranked[i]; !s.is[t] {
			insert(t, s.probability(t))
			taken++
		}
	}
	if rest > 0 {
		h -= scale * (rest*math.Log(scale) + restLog)
	}
	return max(h, 0)
}

func before(t uint16, p float64, than ranked) bool {
	return p > than.p || p == than.p && t < than.t
}

// Score reads text token by token and tells each as a server does, with the
// natural logarithms of probabilities that its place gave it. The entropies
// are exact, in nats, where the top alone would bound them. Tokens that make
// one character together are told as one, with the probability of all and the
// alternatives and entropy of the first.
func (s *Scorer) Score(text string) (tokens []monitor.Token, entropies []float64) {
	s.buffer = s.m.words.tokens(s.buffer[:0], text)
	tokens = make([]monitor.Token, 0, len(s.buffer))
	entropies = make([]float64, 0, len(s.buffer))
	slab := make([]monitor.Alternative, 0, len(s.buffer)*TopK)
	at, open := 0, false
	for _, t := range s.buffer {
		s.predict()
		p := math.Log(s.probability(t))
		if open {
			last := &tokens[len(tokens)-1]
			last.Logprob += p
			last.Text = text[at-len(last.Text) : at+len(s.m.words.text[t])]
		} else {
			var top [TopK]ranked
			entropies = append(entropies, s.entropy(&top))
			from := len(slab)
			for _, r := range top {
				slab = append(slab, monitor.Alternative{Text: s.m.words.shown(r.t), Logprob: math.Log(r.p)})
			}
			tokens = append(tokens, monitor.Token{Text: text[at : at+len(s.m.words.text[t])], Logprob: p, Top: slab[from:len(slab):len(slab)]})
		}
		at += len(s.m.words.text[t])
		open = opens(tokens[len(tokens)-1].Text)
		s.learn(t)
		s.append(t)
	}
	return tokens, entropies
}

// opens reports whether text begins a character and lacks its end.
func opens(text string) bool {
	c := text[0]
	switch {
	case c >= 0xf0:
		return len(text) < 4
	case c >= 0xe0:
		return len(text) < 3
	case c >= 0xc0:
		return len(text) < 2
	}
	return false
}
