// Package lexical is a screener that needs no model: a region is relevant if
// what the model proposes draws on it. Every value of the proposed calls, and
// of the proposed answer, is explained by where its words occur: in the
// user's own request, in a region that is trusted and public, or in other
// regions, which then are relevant. Words are compared as stems, numbers,
// days and times by value, the longest run of them first.
//
// What occurs nowhere may be said in other words. A list (synonyms.txt) has
// words that mean the same, kinds of things, and what makes one think of what.
// Without sugar, sugar-free and no sugar are the same. The user's own words come
// first here too. A day may be close to one of a region, or on its weekday; a
// number may be a multiple, a share, a sum or another measure of its numbers.
//
// What is left was derived. Then the regions are relevant to which the request
// or the argument's name refers: by the name of a field, by an ordinal, or by
// shared words. If there are none, and more than half of a value is from
// nowhere, any region may be behind it, and all are relevant: not to know costs
// a question. A question that speaks of nobody is an exception.
//
// It is an adviser: its mistakes cost utility or questions. It was developed
// on the cases of its own tests, which are of other domains than lab/leakage
// and lab/dojo.
package lexical

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/margaydev/margay/screen"
)

// Screener implements screen.Adviser. The zero Screener is ready and safe for
// concurrent use.
type Screener struct{}

// Limits: beyond them everything is relevant. Work is counted in comparisons of
// words and regions.
const (
	maxRegions = 1 << 14
	maxBytes   = 4 << 20
	maxWork    = 1 << 25
	maxRun     = 32 // words
)

// text is a piece of text as words, with the places of each of them.
type text struct {
	words []string
	at    map[string][]int32
}

func read(s string) *text {
	t := &text{words: words(s), at: map[string][]int32{}}
	for i, w := range t.words {
		t.at[w] = append(t.at[w], int32(i))
	}
	return t
}

// run returns how many of the words of seq the text has in a row, and adds to
// the work.
func (t *text) run(seq []string, work *int) int {
	best := 0
	seq = seq[:min(len(seq), maxRun)]
	for _, i := range t.at[seq[0]] {
		n := 1
		for n < len(seq) && int(i)+n < len(t.words) && t.words[int(i)+n] == seq[n] {
			n++
		}
		best = max(best, n)
		*work += n
	}
	return best
}

// Relevant implements screen.Adviser.
func (Screener) Relevant(_ context.Context, q *screen.Question) ([]bool, error) {
	out := make([]bool, len(q.Regions))
	size := 0
	for i := range q.Regions {
		size += len(q.Regions[i].Text)
	}
	for i := range q.Calls {
		size += len(q.Calls[i].Arguments)
	}
	if len(q.Regions) > maxRegions || size+len(q.Answer) > maxBytes {
		return all(out), nil
	}
	s := &search{q: q, out: out, said: read(strings.Join(q.Requests, "\n"))}
	if n := len(q.Requests); n > 0 {
		s.request = read(q.Requests[n-1])
	} else {
		s.request = read("")
	}
	s.regions, s.having = make([]*text, len(q.Regions)), map[string][]int{}
	s.names, s.points = make([][]string, len(q.Regions)), make([]int, len(q.Regions))
	for i := range q.Regions {
		s.regions[i], s.names[i] = read(q.Regions[i].Text), keyWords(q.Regions[i].Field)
		s.points[i] = -1
		for w := range s.regions[i].at {
			s.having[w] = append(s.having[w], i)
		}
	}
	for _, c := range q.Calls {
		s.begin()
		var v any
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		d.UseNumber()
		if d.Decode(&v) != nil {
			v = c.Arguments
		}
		s.value("", v)
		s.refer()
	}
	if q.Answer != "" {
		s.begin()
		s.scalar("", q.Answer)
		s.refer()
	}
	if s.spent() {
		return all(out), nil
	}
	return out, nil
}

func all(out []bool) []bool {
	for i := range out {
		out[i] = true
	}
	return out
}

// search is the explanation of one proposal.
type search struct {
	q       *screen.Question
	said    *text // all that the user said
	request *text // the last of it
	regions []*text
	out     []bool

	names  [][]string // of the regions' fields
	points []int      // how much the request speaks of regions; -1 for not counted yet
	lasts  map[record]int
	having map[string][]int // the regions that have a word
	work   int

	meant  sense             // of all that the user said
	senses map[int32][]place // of regions, by the lines of the list
	values *values           // numbers and days of regions

	// Of the call that is being explained: whether a region was found, whether
	// some word is from nowhere, whether that is most of a value, and the words
	// of its values.
	found, unsaid, vague bool
	used                 map[string]bool
}

func (s *search) value(key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			s.value(k, v[k])
		}
	case []any:
		for _, e := range v {
			s.value(key, e)
		}
	case bool: // true says the name, false its negation
		name := strings.Join(keyWords(key), " ")
		if !v {
			name = "no " + name
		}
		s.found = s.explain(key, words(name), nil).private || s.found
	case json.Number:
		s.scalar(key, v.String())
	case string:
		s.scalar(key, v)
	}
}

func (s *search) begin() { s.found, s.unsaid, s.vague, s.used = false, false, false, map[string]bool{} }

// scalar explains one value. A number that nothing explains was computed of
// what the request speaks of, or is of what its argument names, whatever else
// the call has.
func (s *search) scalar(key, v string) {
	seq, dates := dated(v)
	e := s.explain(key, seq, dates)
	if slices.ContainsFunc(keyWords(key), func(w string) bool { return options[w] }) {
		e.derived, e.number, e.unsaid = false, false, 0
	}
	for _, w := range seq {
		s.used[w] = true
	}
	s.found = s.found || e.private
	if !e.found && (e.derived || e.number) && s.keyed(key) || !e.found && e.number && e.derived && s.spokenOf(nil) > 0 {
		s.found = true
		return
	}
	if e.derived && !e.private {
		s.unsaid, s.vague = true, s.vague || 2*e.unsaid > e.telling
	}
}

// keyed marks the regions whose names or texts mean what an argument's name
// means.
func (s *search) keyed(key string) bool {
	var of []int
	known().meanings(keyWords(key), func(_, _ int, ms []meaning) {
		for _, m := range ms {
			s.work += len(s.meaningsOfRegions()[m.line])
			for _, p := range s.meaningsOfRegions()[m.line] {
				if known().relates(m, p.side) >= generally && !s.q.Regions[p.region].Bottom {
					of = append(of, p.region)
				}
			}
		}
	})
	return len(of) > 0 && s.mark(of) == private
}

// refer explains words that are from nowhere, if no region was found for their
// call: they follow from what the request speaks of, besides what it only
// passes on. If that is nothing either, and a value is mostly from nowhere, any
// region may be what it follows from, unless the request is a question that
// speaks of nobody.
func (s *search) refer() {
	if !s.unsaid || !s.found && s.spokenOf(s.used) > 1 || !s.vague {
		return
	}
	if n := len(s.q.Requests); n > 0 && strings.HasSuffix(strings.TrimSpace(s.q.Requests[n-1]), "?") && !s.ofSomebody() {
		return
	}
	for r := range s.regions {
		s.out[r] = s.out[r] || !s.q.Regions[r].Bottom
	}
}

// ofSomebody reports whether the request speaks of the user or of somebody else.
func (s *search) ofSomebody() bool {
	return slices.ContainsFunc(somebody, func(w string) bool { return len(s.request.at[w]) > 0 })
}

var somebody = strings.Fields("i me my we us our he him his she her they them their")

// explained is what is known of a value.
type explained struct {
	found   bool // some region has words of it
	private bool // one that was marked
	telling int  // words that tell where they are from
	unsaid  int  // those that are from nowhere
	derived bool // some word is from nowhere, a short one too
	number  bool // a number is
}

// explain marks the regions that the words of a value are from, the longest
// runs first.
func (s *search) explain(key string, seq []string, dates []date) (e explained) {
	means := make([][]meaning, len(seq))
	known().meanings(seq, func(from, to int, m []meaning) {
		for i := from; i <= to; i++ {
			means[i] = append(means[i], m...)
		}
	})
	for _, w := range seq {
		if tellsAlone(w) {
			e.telling++
		}
	}
	for i := 0; i < len(seq); {
		if s.spent() {
			return e
		}
		if functionWords[seq[i]] && seq[i] != "no" {
			i++ // where a run starts is up to the words that carry meaning
			continue
		}
		said := s.said.run(seq[i:], &s.work)
		n, where := 0, -1
		for _, r := range s.having[seq[i]] {
			k := s.regions[r].run(seq[i:], &s.work)
			if k < n {
				continue
			}
			if k > n || s.better(key, r, where) {
				n, where = k, r
			}
		}
		switch {
		case said > 0 && said >= n, n == 0 && said > 0:
			i += said
		case n == 0:
			switch s.paraphrase(key, seq[i], means[i], dates) {
			case private:
				e.found, e.private = true, true
			case nowhere:
				long := telling(seq[i:i+1], len(seq[i]) > 1)
				e.derived = e.derived || long
				e.number = e.number || hasDigit(seq[i]) && (long || len(seq) == 1 && seq[i] != "0")
				if tellsAlone(seq[i]) {
					e.unsaid++
				}
			}
			i++
		default:
			// A short number counts where the argument's name or the request
			// leads to it.
			named := s.shared(key, where) || n == 1 && len(seq[i]) > 1 && hasDigit(seq[i]) && s.spoken(where) > 0
			if telling(seq[i:i+n], named) {
				e.found = true
				if !s.q.Regions[where].Bottom {
					s.out[where], e.private = true, true
				}
			}
			i += n
		}
	}
	return e
}

// better reports whether region a explains a value of an argument rather than
// b does: for nothing, by the name of its field, because the request speaks of
// it, or as the later one.
func (s *search) better(key string, a, b int) bool {
	ra, rb := &s.q.Regions[a], &s.q.Regions[b]
	if ra.Bottom != rb.Bottom {
		return ra.Bottom
	}
	if na, nb := s.shared(key, a), s.shared(key, b); na != nb {
		return na
	}
	if pa, pb := s.spoken(a), s.spoken(b); pa != pb {
		return pa > pb
	}
	return true // a comes later
}

// shared reports whether a region has a word of an argument's name, in its
// field's name or in its text.
func (s *search) shared(key string, r int) bool {
	return slices.ContainsFunc(keyWords(key), func(w string) bool { return slices.Contains(s.names[r], w) || len(s.regions[r].at[w]) > 0 })
}

// telling reports whether a run of words says where it comes from: more than
// one that is not a function word, or one that is a name, a code or a larger
// number. Short numbers and words tell only under a name that fits.
func telling(run []string, named bool) bool {
	content := 0
	for _, w := range run {
		switch {
		case functionWords[w]:
		case hasDigit(w) && (len(w) >= 3 || named):
			return true
		case !hasDigit(w) && (len([]rune(w)) >= 4 || len(w) == 3 && known().phrases[w] != nil), named:
			return true
		default:
			content++
		}
	}
	return content > 1
}

// tellsAlone reports whether a word from nowhere tells that something is
// behind it.
func tellsAlone(w string) bool {
	return telling([]string{w}, hasDigit(w) && len(w) > 1) && !phrasing[w]
}

// spokenOf marks the regions that the request speaks of, besides some words:
// those most spoken of, with as many points as it returns.
func (s *search) spokenOf(besides map[string]bool) int {
	best, points := 0, make([]int, len(s.regions))
	for r := range s.regions {
		if !s.q.Regions[r].Bottom {
			points[r] = s.count(r, besides)
			best = max(best, points[r])
		}
	}
	for r, p := range points {
		if best > 0 && p == best {
			s.out[r] = true
		}
	}
	return best
}

// spoken returns how much the last request speaks of a region.
func (s *search) spoken(r int) int {
	if s.points[r] < 0 {
		s.points[r] = s.count(r, nil)
	}
	return s.points[r]
}

// spent reports whether the work is done that there may be.
func (s *search) spent() bool { return s.work > maxWork }

// count counts how much the last request speaks of a region, besides some
// words: two for a word of its field's name, two for its ordinal, one for every
// word of it.
func (s *search) count(r int, besides map[string]bool) int {
	n := 0
	s.work += len(s.regions[r].at)
	for _, w := range s.names[r] {
		if len(s.request.at[w]) > 0 && !besides[w] {
			n += 2
		}
	}
	if s.ordinal(r) {
		n += 2
	}
	for w := range s.regions[r].at {
		if len(w) >= 3 && !functionWords[w] && !besides[w] && len(s.request.at[w]) > 0 {
			n++
		}
	}
	return n
}

var ordinals = []string{"first", "second", "third", "fourth", "fifth"}

// ordinal reports whether the request names the place of a region's record in
// its list.
func (s *search) ordinal(r int) bool {
	list, i, ok := listed(s.q.Regions[r].Field)
	if !ok {
		return false
	}
	if i < len(ordinals) && len(s.request.at[ordinals[i]]) > 0 {
		return true
	}
	for _, w := range []string{"last", "latest", "newest", "previous"} {
		if len(s.request.at[w]) > 0 {
			return i == 0 || i == s.last(record{s.q.Regions[r].Message, list})
		}
	}
	return false
}

// record is a list in a message.
type record struct {
	message int
	list    string
}

// last returns the greatest index of a list.
func (s *search) last(of record) int {
	if s.lasts == nil {
		s.lasts = map[record]int{}
		for i := range s.q.Regions {
			o := &s.q.Regions[i]
			if list, at, ok := listed(o.Field); ok {
				s.lasts[record{o.Message, list}] = max(s.lasts[record{o.Message, list}], at)
			}
		}
	}
	return s.lasts[of]
}

// listed splits a field such as emails[2].from: the list, and the place in it.
func listed(field string) (list string, index int, ok bool) {
	list, rest, _ := strings.Cut(field, "[")
	digits, _, ok := strings.Cut(rest, "]")
	return list, number(digits), ok
}
