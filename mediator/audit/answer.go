package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/stream"
)

// AnswerTracer gathers what observers see of an answer. Who mediates the answer
// owns it. Nil gathers nothing.
type AnswerTracer struct {
	of    *Tracer
	id    string
	began time.Time
	texts []*TextTracer
	kept  int // bytes of texts
	done  bool
}

// TextTracer gathers what observers see of one text.
type TextTracer struct {
	of     *AnswerTracer
	key    flow.StreamKey
	raw    []byte // what the model wrote, up to a bound; never told
	all    int64
	cut    int64 // decided
	edits  []stream.Edit
	found  []stream.Finding
	held   []stream.Edit // without texts
	most   int64
	series Series      // but for its zones
	box    monitor.Box // the most that a token was judged by
	zone   []byte
	sum    Text
	next   int // the next point to report
	told   time.Time
}

// Text begins a text; nil for one that nobody looks at.
func (a *AnswerTracer) Text(key flow.StreamKey) *TextTracer {
	if a == nil || key.Field == flow.FieldOther || key.Choice < 0 || len(a.texts) >= maxTexts {
		return nil
	}
	t := &TextTracer{of: a, key: key}
	t.series.Every = 1
	a.texts = append(a.texts, t)
	return t
}

// Write takes the next bytes that the model wrote.
func (t *TextTracer) Write(b []byte) {
	if t == nil {
		return
	}
	t.all += int64(len(b))
	// Tools' names are reported even if texts are not.
	if !t.of.of.Trace.Texts && t.key.Field != flow.FieldToolName {
		return
	}
	room := min(maxText-len(t.raw), maxAnswer-t.of.kept, len(b))
	if room > 0 && int64(len(t.raw)+len(b)) == t.all {
		t.raw = append(t.raw, b[:room]...)
		t.of.kept += room
	}
}

// Decided takes what was decided up to a place.
func (t *TextTracer) Decided(cut int64, edits []stream.Edit, found []stream.Finding) {
	if t == nil {
		return
	}
	t.cut = cut
	t.sum.Edits += len(edits)
	if n := maxSpans - len(t.edits); n > 0 {
		t.edits = append(t.edits, edits[:min(n, len(edits))]...)
	} else if len(edits) > 0 {
		t.clip(edits[0].Start)
	}
	for i := range found {
		if found[i].Action == flow.ActAllow {
			continue
		}
		if len(t.found) >= maxSpans {
			t.clip(found[i].Start)
			break
		}
		t.found = append(t.found, found[i])
	}
}

// clip keeps nothing of a text from a place on: what is replaced there is not
// known any more.
func (t *TextTracer) clip(at int64) {
	if at < int64(len(t.raw)) {
		t.raw = t.raw[:max(at, 0)]
	}
}

// Wait notes what waits for more to come.
func (t *TextTracer) Wait(from, to int64) {
	if t == nil {
		return
	}
	t.most = max(t.most, to-from)
	if n := len(t.held); n > 0 && t.held[n-1].End >= from {
		t.held[n-1].End = max(t.held[n-1].End, to)
	} else if n < maxSpans {
		t.held = append(t.held, stream.Edit{Start: from, End: to})
	}
}

// thousandths of a number in [0,1].
func thousandths(x float64) int { return int(min(max(x, 0), 1)*1000 + 0.5) }

// zoneLetters are the letters of zones, by monitor.Zone.
const zoneLetters = "gyr"

// Judged takes the verdict about a token that ends at a place. The entropy is
// known to lie between least and most where told says so.
func (t *TextTracer) Judged(end int64, v *monitor.Verdict, least, most float64, told bool) {
	if t == nil {
		return
	}
	s := &t.series
	t.box = max(t.box, v.Box)
	risk, low, high := thousandths(v.Risk), -1, -1
	if told {
		low, high = thousandths(least), thousandths(most)
	}
	switch v.Zone {
	case monitor.Yellow:
		t.sum.Yellow++
	case monitor.Red:
		t.sum.Red++
	case monitor.Green:
	}
	z := zoneLetters[v.Zone]
	t.sum.Risk = max(t.sum.Risk, risk)
	if s.N == 0 { // as many as most answers have, in one piece
		all := make([]int, 4*128)
		s.Risk, s.Least, s.Most, s.Ends = all[:0:128], all[128:128:256], all[256:256:384], all[384:384]
	}
	if s.N%s.Every == 0 && len(s.Risk) == maxPoints {
		t.halve()
	}
	if s.N%s.Every == 0 {
		s.Risk, s.Least, s.Most, s.Ends = append(s.Risk, risk), append(s.Least, low), append(s.Most, high), append(s.Ends, int(end))
		t.zone = append(t.zone, z)
	} else {
		t.merge(len(s.Risk)-1, risk, low, high, int(end), z)
	}
	s.N++
}

// merge makes a point stand for another one, too.
func (t *TextTracer) merge(i, risk, low, high, end int, z byte) {
	s := &t.series
	s.Risk[i], s.Ends[i] = max(s.Risk[i], risk), end
	switch {
	case s.Least[i] < 0:
		s.Least[i], s.Most[i] = low, high
	case low >= 0:
		s.Least[i], s.Most[i] = min(s.Least[i], low), max(s.Most[i], high)
	}
	if strings.IndexByte(zoneLetters, z) > strings.IndexByte(zoneLetters, t.zone[i]) {
		t.zone[i] = z
	}
}

// halve makes each point stand for two of those before.
func (t *TextTracer) halve() {
	s := &t.series
	n := len(s.Risk) / 2
	for i := range n {
		b := 2*i + 1
		s.Risk[i], s.Ends[i], s.Least[i], s.Most[i], t.zone[i] = s.Risk[b-1], s.Ends[b-1], s.Least[b-1], s.Most[b-1], t.zone[b-1]
		t.merge(i, s.Risk[b], s.Least[b], s.Most[b], s.Ends[b], t.zone[b])
	}
	s.Risk, s.Ends, s.Least, s.Most, t.zone = s.Risk[:n], s.Ends[:n], s.Least[:n], s.Most[:n], t.zone[:n]
	s.Every *= 2
	t.next = 0
}

// Progress reports the tokens that came since, if somebody observes.
func (a *AnswerTracer) Progress() {
	if a == nil || a.of.Trace.Live == nil {
		return
	}
	// Nobody sees more than a few pieces in a blink: of a stream that comes all
	// at once longer pieces are reported, which costs less.
	const few, many, blink = 8, 64, 20 * time.Millisecond
	for i, t := range a.texts {
		s := &t.series
		n := len(s.Risk) - t.next
		if n < few || !a.of.Trace.Live(a.of.Trajectory) {
			continue
		}
		now := a.of.Now()
		if n < many && now.Sub(t.told) < blink {
			continue
		}
		t.told = now
		p := &Progress{Answer: a.id, Text: i, Field: t.key.Field.String(), From: t.next, Series: Series{
			N: s.N, Every: s.Every, Risk: slices.Clone(s.Risk[t.next:]), Zone: string(t.zone[t.next:]), Least: slices.Clone(s.Least[t.next:]),
			Most: slices.Clone(s.Most[t.next:]), Ends: slices.Clone(s.Ends[t.next:]),
		}}
		a.of.thresholds(&p.Series, t.box)
		t.next = len(s.Risk)
		a.of.Happened(Event{Kind: KindTokens, Verb: flow.Generate, Payload: Payload{Tokens: p}})
	}
}

// thresholds sets what the points of a series are seen against.
func (t *Tracer) thresholds(out *Series, box monitor.Box) {
	yellow, red := t.Monitor.Thresholds(box)
	out.Yellow, out.Red = thousandths(yellow), thousandths(red)
	out.Vocabulary = cmp.Or(t.Vocabulary, monitor.DefaultVocabulary)
}

// End reports the answer, once.
func (a *AnswerTracer) End(out Answer) {
	if a == nil || a.done {
		return
	}
	a.done = true
	if len(a.texts) == 0 {
		return
	}
	out.Took = a.of.Now().Sub(a.began)
	detail := &Detail{Version: Version}
	some := false
	for _, t := range a.texts {
		sum := t.sum
		sum.Choice, sum.Item, sum.Field, sum.Bytes, sum.Held, sum.Tokens = t.key.Choice, t.key.Item, t.key.Field.String(), t.all, t.most, t.series.N
		d := t.detail()
		if t.key.Field == flow.FieldToolName {
			sum.Tool = a.of.Scrub(d.Text)
			out.Calls = append(out.Calls, sum.Tool)
		}
		if !a.of.Trace.Texts {
			d.Text, d.Cut = "", false
		}
		some = some || d.Text != "" || d.Tokens != nil || len(d.Spans) > 0
		out.Texts, detail.Texts = append(out.Texts, sum), append(detail.Texts, d)
	}
	if !some {
		detail = nil
	}
	a.of.Happened(Event{ID: a.id, Kind: KindAnswer, Verb: flow.Generate, Payload: Payload{Answer: &out}, Detail: detail})
}

// detail is what observers see of a text at its end. It leaves out what was never
// decided, and what was found and only reported is replaced as if it had not been.
func (t *TextTracer) detail() TextDetail {
	var d TextDetail
	raw := t.raw
	if int64(len(raw)) > t.cut {
		raw = raw[:t.cut]
	}
	marks := t.marks()
	limit := int64(len(raw))
	d.Cut = limit < t.all
	raw = legible(raw)
	var b strings.Builder
	at := int64(0)
	place := func(to int64) { // copies what is not replaced
		if to = min(to, limit); to > at {
			b.Write(raw[at:to])
			at = to
		}
	}
	kept := len(t.raw) > 0
	held := t.held
	for i := range marks {
		m := &marks[i]
		held = t.holds(&d, held, m.start, place, &b)
		sp := Span{Start: m.start, End: m.end, Action: m.action, Kind: m.kind}
		if kept && m.start < limit {
			place(m.start)
			sp.At = b.Len()
			b.WriteString(m.text)
			sp.To = b.Len()
			at = max(at, min(m.end, limit))
		}
		d.Spans = append(d.Spans, sp)
	}
	t.holds(&d, held, t.all+1, place, &b)
	place(limit)
	d.Text = b.String()
	if t.series.N > 0 {
		s := t.series
		s.Zone = string(t.zone)
		t.of.of.thresholds(&s, t.box)
		d.Tokens = &s
	}
	return d
}

// legible is a text in which each byte that is not UTF-8 is a question mark,
// so that places in it stay what they are.
func legible(raw []byte) []byte {
	if utf8.Valid(raw) {
		return raw
	}
	out := slices.Clone(raw)
	for i := 0; i < len(out); {
		r, n := utf8.DecodeRune(out[i:])
		if r == utf8.RuneError && n == 1 {
			out[i] = '?'
		}
		i += n
	}
	return out
}

// holds reports what was held before a place.
func (t *TextTracer) holds(d *TextDetail, held []stream.Edit, before int64, place func(int64), b *strings.Builder) []stream.Edit {
	for len(held) > 0 && held[0].Start < before {
		h := held[0]
		sp := Span{Start: h.Start, End: h.End}
		place(h.Start)
		sp.At = b.Len()
		place(min(h.End, before))
		sp.To = b.Len()
		d.Held = append(d.Held, sp)
		held = held[1:]
	}
	return held
}

// mark is a place that stands as something else.
type mark struct {
	start, end   int64
	text         string
	action, kind string
}

// marks are the places where a text was edited or would have been, in order
// and apart from each other.
func (t *TextTracer) marks() []mark {
	var all []mark
	for i := range t.edits {
		e := &t.edits[i]
		if n := len(all); len(e.Text) == 0 && n > 0 && all[n-1].end >= e.Start {
			all[n-1].end = max(all[n-1].end, e.End)
			continue
		}
		all = append(all, mark{e.Start, e.End, string(e.Text), string(flow.ActRedact), ""})
	}
	edits := len(all)
	for i := range t.found {
		f := &t.found[i]
		known := false
		for k := range all[:edits] {
			if m := &all[k]; f.Start < m.end && f.End > m.start {
				known = true
				m.kind, m.action = string(f.Kind), string(f.Action)
				if f.Rule == stream.RuleRisk && f.Name == monitor.Yellow.String() {
					m.action = "mask"
				}
				m.start, m.end = min(m.start, f.Start), max(m.end, f.End)
			}
		}
		if !known {
			all = append(all, mark{f.Start, f.End, string(stream.AppendRedaction(nil, f.Kind)), string(f.Action), string(f.Kind)})
		}
	}
	slices.SortFunc(all, func(a, b mark) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	out := all[:0]
	for _, m := range all {
		if n := len(out); n > 0 && m.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, m.end)
			continue
		}
		out = append(out, m)
	}
	return out[:min(len(out), maxSpans)]
}

// Whole takes a text of an answer that came as a whole.
func (a *AnswerTracer) Whole(field flow.Field, text string, place int) *TextTracer {
	out := a.Text(flow.StreamKey{Field: field, Item: place})
	out.Write([]byte(text))
	return out
}
