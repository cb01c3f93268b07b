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
// first here too. A number may be a multiple, a share, a sum or a difference of
// a region's numbers, or another measure of one.
//
// What is public may have been chosen for a private reason. Where the request
// speaks of nothing in a public region, the regions that mean what is taken
// from it, or make one think of it, are relevant.
//
// What is left was derived. Then the regions are relevant of which the request
// speaks, by an ordinal or by words that it does not only pass on. If there are
// none, and more than half of a value is from nowhere, any region may be behind
// it, and all are relevant: not to know costs a question. A question that speaks
// of nobody is an exception.
//
// It is an adviser: its mistakes cost utility or questions. It was developed
// on the cases of its own tests, which are of other domains than lab/leakage
// and lab/dojo, and on the errors that it made in lab/leakage/others/a.
package lexical

import (
	"context"
	"encoding/json"
	"errors"
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
	t := &text{words(s), map[string][]int32{}}
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
	for _, r := range q.Requests {
		size += len(r)
	}
	if len(q.Calls) == 0 && q.Answer == "" {
		return nil, errNothing
	}
	if len(q.Regions) > maxRegions || size+len(q.Answer) > maxBytes {
		return all(out), nil
	}
	s := &search{
		q: q, out: out, said: read(strings.Join(q.Requests, "\n")), request: read(""),
		having: map[string][]int{}, senses: map[int32][]place{}, names: map[string][]string{},
	}
	if n := len(q.Requests); n > 0 {
		s.request = read(q.Requests[n-1])
	}
	s.meant = known().senseOf(s.said.words)
	for i := range q.Regions {
		field := q.Regions[i].Field
		t := read(strings.Join(append(keyWords(field[:min(len(field), maxName)]), q.Regions[i].Text), " "))
		s.regions = append(s.regions, t)
		for w := range t.at {
			s.having[w] = append(s.having[w], i)
		}
		for line, on := range known().senseOf(t.words) {
			s.senses[line] = append(s.senses[line], place{i, on})
		}
		s.points = append(s.points, s.spoken(i, nil))
	}
	for _, c := range q.Calls {
		var v any
		d := json.NewDecoder(strings.NewReader(c.Arguments))
		d.UseNumber()
		if d.Decode(&v) != nil {
			v = c.Arguments
		}
		s.proposal(v)
	}
	s.proposal(q.Answer)
	if s.spent() {
		return all(out), nil
	}
	return out, nil
}

// errNothing says that nothing was proposed, so that everything is relevant.
var errNothing = errors.New("lexical: nothing is proposed that could draw on a region")

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

	points []int            // how much the request speaks of them
	having map[string][]int // the regions that have a word
	work   int

	meant  sense             // of all that the user said
	senses map[int32][]place // of regions, by the lines of the list
	names  map[string][]string

	// Of the call that is being explained: whether a region was found, whether
	// some word is from nowhere, whether that is most of a value, and the words
	// of its values.
	found, unsaid, vague bool
	used                 map[string]bool
}

// proposal explains a call's arguments or an answer.
func (s *search) proposal(v any) {
	s.found, s.unsaid, s.vague, s.used = false, false, false, map[string]bool{}
	s.value("", v)
	s.refer()
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
		name := strings.Join(s.name(key), " ")
		if !v {
			name = "no " + name
		}
		marked, _, _ := s.explain(key, words(name), nil)
		s.found = s.found || marked
	case json.Number:
		s.scalar(key, v.String())
	case string:
		s.scalar(key, v)
	}
}

// maxName is how much of an argument's name is read, in bytes.
const maxName = 256

// name are the words of an argument's name.
func (s *search) name(key string) []string {
	key = key[:min(len(key), maxName)]
	out, ok := s.names[key]
	if !ok {
		out = keyWords(key)
		s.names[key] = out
	}
	return out
}

// scalar explains one value.
func (s *search) scalar(key, v string) {
	seq, dates := dated(v)
	marked, told, unsaid := s.explain(key, seq, dates)
	if slices.ContainsFunc(s.name(key), func(w string) bool { return lists()["options"][w] }) {
		unsaid = 0
	}
	for _, w := range seq {
		s.used[w] = true
	}
	s.found = s.found || marked
	s.unsaid = s.unsaid || !marked && unsaid > 0
	s.vague = s.vague || !marked && 2*unsaid > told
}

// refer explains words that are from nowhere. If no region was found for their
// call, they follow from what the request speaks of, besides what it only passes
// on. If that is nothing, and a value is mostly from nowhere, any region may be
// what it follows from, unless the request is a question that speaks of nobody.
func (s *search) refer() {
	if !s.unsaid || !s.found && s.spokenOf(s.used) > 0 || !s.vague {
		return
	}
	if n := len(s.q.Requests); n > 0 && strings.HasSuffix(strings.TrimSpace(s.q.Requests[n-1]), "?") &&
		!slices.ContainsFunc(s.request.words, func(w string) bool { return lists()["persons"][w] }) {
		return
	}
	for r := range s.regions {
		s.out[r] = s.out[r] || !s.q.Regions[r].Bottom
	}
}

// explain marks the regions that the words of a value are from, the longest
// runs first. It returns whether it marked any, how many words tell where they
// are from, and how many of those are from nowhere.
func (s *search) explain(key string, seq []string, dates []date) (marked bool, told, unsaid int) {
	means := make([][]meaning, len(seq))
	known().meanings(seq, func(from, to int, m []meaning) {
		for i := from; i <= to; i++ {
			means[i] = append(means[i], m...)
		}
	})
	for _, w := range seq {
		if tellsAlone(w) {
			told++
		}
	}
	numbers := map[int]int{} // of the regions
	for i := 0; i < len(seq); {
		if s.spent() {
			return
		}
		if isFunction(seq[i]) && seq[i] != "no" {
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
			if k > n || s.better(r, where) {
				n, where = k, r
			}
		}
		switch {
		case said > 0 && said >= n:
			i += said
		case n > 0 && s.saidSo(seq[i:i+n], means[i:i+n]):
			i += n
		case n == 0:
			switch s.paraphrase(seq[i], means[i], dates) {
			case private:
				marked = true
			case nowhere:
				if tellsAlone(seq[i]) || len(seq) == 1 && number(seq[i]) > 2 {
					unsaid++
				}
			}
			i++
		default:
			// A short number counts where the argument's name, the request or
			// another number leads to it.
			named := s.shared(key, where) || n == 1 && len(seq[i]) > 1 && hasDigit(seq[i]) && s.points[where] > 0
			if slices.ContainsFunc(seq[i:i+n], func(w string) bool { return hasDigit(w) && len(w) > 1 }) {
				numbers[where]++
			}
			if telling(seq[i:i+n], named) || numbers[where] > 1 {
				if !s.q.Regions[where].Bottom {
					s.out[where], marked = true, true
				} else if s.points[where] == 0 && !s.mentioned(where) {
					marked = s.chosen(seq[i:i+n], means[i:i+n]) || marked
				}
			}
			i += n
		}
	}
	return
}

// saidSo reports whether the user said all words of a run in other words.
func (s *search) saidSo(run []string, means [][]meaning) bool {
	for i, w := range run {
		if (!isFunction(w) || hasDigit(w)) && known().closest(means[i], s.meant) < same {
			return false
		}
	}
	return true
}

// mentioned reports whether the user said a word of a region.
func (s *search) mentioned(r int) bool {
	s.work += len(s.regions[r].words)
	return slices.ContainsFunc(s.regions[r].words, func(w string) bool { return len(w) >= 4 && !isFunction(w) && len(s.said.at[w]) > 0 })
}

// chosen marks the regions that are why something public was chosen.
func (s *search) chosen(run []string, means [][]meaning) (yes bool) {
	for i, w := range run {
		if isFunction(w) || known().closest(means[i], s.meant) > unrelated {
			continue
		}
		_, of := s.closestRegions(means[i], false)
		for _, r := range of {
			if !s.q.Regions[r].Bottom {
				s.out[r], yes = true, true
			}
		}
	}
	return yes
}

// better reports whether region a explains a value rather than b does: for
// nothing, because the request speaks of it, or as the later one.
func (s *search) better(a, b int) bool {
	ra, rb := &s.q.Regions[a], &s.q.Regions[b]
	if ra.Bottom != rb.Bottom {
		return ra.Bottom
	}
	if pa, pb := s.points[a], s.points[b]; pa != pb {
		return pa > pb
	}
	return true // a comes later
}

// shared reports whether a region has a word of an argument's name, in its
// field's name or in its text, or says something of it.
func (s *search) shared(key string, r int) bool {
	name := s.name(key)
	s.work += len(name)
	if slices.ContainsFunc(name, func(w string) bool { return len(s.regions[r].at[w]) > 0 }) {
		return true
	}
	yes := false
	known().meanings(name, func(_, _ int, ms []meaning) {
		for _, m := range ms {
			for _, p := range s.senses[m.line] {
				s.work++
				yes = yes || p.region == r && known().relates(m, p.side) >= generally
			}
		}
	})
	return yes
}

// telling reports whether a run of words says where it comes from: more than
// one that is not a function word, or one that is a name, a code or a larger
// number. Short numbers and words tell only under a name that fits.
func telling(run []string, named bool) bool {
	content := 0
	for _, w := range run {
		switch {
		case isFunction(w):
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
	return telling([]string{w}, hasDigit(w) && len(w) > 1) && !lists()["phrasing"][w]
}

// spokenOf marks the regions that the request speaks of, besides some words:
// those most spoken of, with as many points as it returns.
func (s *search) spokenOf(besides map[string]bool) int {
	best, points := 0, make([]int, len(s.regions))
	for r := range s.regions {
		if !s.q.Regions[r].Bottom {
			points[r] = s.spoken(r, besides)
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

// spent reports whether the work is done that there may be.
func (s *search) spent() bool { return s.work > maxWork }

// spoken counts how much the last request speaks of a region, besides some
// words: two for its ordinal, one for every word of it or of its field's name.
func (s *search) spoken(r int, besides map[string]bool) int {
	n := 0
	s.work += len(s.regions[r].at)
	if s.ordinal(r) {
		n += 2
	}
	for w := range s.regions[r].at {
		if len(w) >= 3 && !isFunction(w) && !besides[w] && len(s.request.at[w]) > 0 {
			n++
		}
	}
	return n
}

var ordinals, latest = strings.Fields("first second third fourth fifth"), strings.Fields("last latest newest previous")

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
	if !slices.ContainsFunc(latest, func(w string) bool { return len(s.request.at[w]) > 0 }) {
		return false
	}
	s.work += len(s.regions)
	return i == 0 || !s.spent() && !slices.ContainsFunc(s.q.Regions, func(o screen.Region) bool {
		other, k, ok := listed(o.Field)
		return ok && o.Message == s.q.Regions[r].Message && other == list && k > i
	})
}

// listed splits a field such as emails[2].from: the list, and the place in it.
func listed(field string) (list string, index int, ok bool) {
	list, rest, _ := strings.Cut(field, "[")
	digits, _, ok := strings.Cut(rest, "]")
	return list, number(digits), ok
}
