package connectortest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	redaction   = regexp.MustCompile(`^\[REDACTED:[a-z]+(-[a-z]+)*\]$`)
	keyStand    = regexp.MustCompile(`^((\[REDACTED:private-key\])+|(margay-private-key-[a-z2-7]{14})+)$`)
	pseudonymIn = regexp.MustCompile(`margay-[a-z]+(-[a-z]+)*-[a-z2-7]{14}`)
)

// judge holds what arrived to the oracles.
func (m *matrix) judge(o *one, q *Request, x *Exchange, s *Script, res *Result) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	frames := m.split(o, res.Body)
	if o.kind != clean && o.kind != pseudonym && o.fate != Passes {
		p := newPrints(secretParts(o.value)...)
		if at := p.leaks(res.Body, frames); at != "" && !m.field.Echo {
			bad("a part of the secret reached the client, %s", at)
		}
		if at := p.leaks(headers(res.Header), nil); at != "" {
			bad("a part of the secret is in the answer's headers, %s", at)
		}
		if far := res.Far; far != nil && m.field.To && o.fate != Reported {
			if at := p.leaks([]byte(far.Path+"\n"+string(headers(far.Header))+string(far.Body)), nil); at != "" {
				bad("a part of the secret reached the far side, %s", at)
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if m.lenient {
		if m.api.Check(o.stream, false, res.Body) == nil || m.api.Check(o.stream, true, res.Body) == nil || m.api.Refusal(res) == nil {
			return nil
		}
		return m.reads(o, false, res)
	}
	if m.field.To {
		return append(m.judgeRequest(o, q, x, res), m.replied(o, x, s, res)...)
	}
	if res.Far == nil {
		return []string{fmt.Sprintf("the request did not reach the far side: status %d, %s", res.Status, res.Body)}
	}
	if !bytes.Equal(res.Far.Body, x.Body) && o.kind != pseudonym {
		bad("the request changed: %s", res.Far.Body)
	}
	return append(problems, m.judgeAnswer(o, x, s, res, frames)...)
}

func isPseudonym(s string) bool { return s != "" && pseudonymIn.FindString(s) == s }

func headers(hs []Header) []byte {
	var b []byte
	for _, h := range hs {
		b = fmt.Appendf(b, "%s: %s\n", h.Name, h.Value)
	}
	return b
}

func (m *matrix) split(o *one, raw []byte) [][]byte {
	switch {
	case !o.stream:
		return [][]byte{raw}
	case m.api.Split != nil:
		return m.api.Split(raw)
	}
	return events(raw)
}

// order puts the frames that arrived into the order in which they were sent,
// where their lanes allow it; else it returns them as they are.
func (m *matrix) order(o *one, frames [][]byte) [][]byte {
	if m.api.Lane == nil || o.at.N < 2 || len(frames) != len(o.sent) {
		return frames
	}
	out := make([][]byte, len(frames))
	lanes := make([]string, len(o.sent))
	for i := range o.sent {
		lanes[i] = m.api.Lane(o.sent[i].bytes)
	}
	first := 0 // before it, all are there
	for n, f := range frames {
		lane := m.api.Lane(f)
		i := first
		for i < len(out) && (out[i] != nil || lanes[i] != lane) {
			if out[i] == nil && lanes[i] == "" {
				return frames // it overtook one of no lane
			}
			i++
		}
		if i == len(out) || lane == "" && i != n {
			return frames
		}
		out[i] = f
		for first < len(out) && out[first] != nil {
			first++
		}
	}
	return out
}

// judgeRequest judges how a request with the value arrived.
func (m *matrix) judgeRequest(o *one, q *Request, x *Exchange, res *Result) []string {
	if o.fate == Refused {
		if res.Far != nil {
			return []string{"a request that must be refused reached the far side"}
		}
		if err := m.api.Refusal(res); err != nil {
			return []string{"the refusal is not in the API's terms: " + err.Error()}
		}
		return nil
	}
	if res.Far == nil {
		return []string{fmt.Sprintf("the request did not reach the far side: status %d, %s", res.Status, res.Body)}
	}
	if o.fate == Passes || o.fate == Reported {
		if !bytes.Equal(res.Far.Body, x.Body) || res.Far.Path != x.Path {
			return []string{fmt.Sprintf("the request changed: %s %s", res.Far.Path, res.Far.Body)}
		}
		for _, h := range x.Header {
			if !has(res.Far.Header, h) {
				return []string{"the request's header " + h.Name + " changed"}
			}
		}
		return nil
	}
	if res.Far.Path != x.Path {
		return []string{"the request's path changed: " + res.Far.Path}
	}
	mk := &marks{text: o.text, say: m.api.Say, stream: o.stream, choices: o.at.N}
	if o.fate == LeftOut {
		if !bytes.Equal(res.Far.Body, write(q.Without, mk)) {
			return []string{fmt.Sprintf("the request changed: %s", res.Far.Body)}
		}
		return nil
	}
	_, text, ok := read(q.Body, mk, res.Far.Body)
	if !ok || text == nil {
		return []string{fmt.Sprintf("the request changed in another place: %s", res.Far.Body)}
	}
	if x := m.stand(*text); !isPseudonym(x) && (o.kind != privateKey || !keyStand.MatchString(x)) && (!m.api.Either || !redaction.MatchString(x)) {
		return []string{fmt.Sprintf("the text became %q", *text)}
	}
	return nil
}

// replied judges the answer to a request with the value: it must be as sent,
// unless the request was refused.
func (m *matrix) replied(o *one, x *Exchange, s *Script, res *Result) []string {
	switch o.fate {
	case Refused:
		return nil
	case Reported:
		if err := m.api.Reported(res); err != nil {
			return []string{"the user gets no report: " + err.Error()}
		}
		return m.reads(o, s.Partial, res)
	}
	if got, want := res.Body, bytes.Join(x.Answer.Chunks, nil); !bytes.Equal(got, want) {
		return []string{fmt.Sprintf("the answer changed: %s", got)}
	}
	return m.reads(o, s.Partial, res)
}

func has(hs []Header, h Header) bool {
	for _, g := range hs {
		if strings.EqualFold(g.Name, h.Name) && g.Value == h.Value {
			return true
		}
	}
	return false
}

// stand returns what stands in a text where the value stood, empty if the text
// around it changed.
func (m *matrix) stand(text string) string {
	before, behind := m.field.around()
	rest, ok := strings.CutPrefix(text, before)
	if !ok {
		return ""
	}
	if rest, ok = strings.CutSuffix(rest, behind); !ok {
		return ""
	}
	return rest
}

// reads holds an answer to the strict reader and to the client library.
func (m *matrix) reads(o *one, partial bool, res *Result) []string {
	if err := m.api.Check(o.stream, partial, res.Body); err != nil {
		return []string{"the answer is not valid: " + err.Error()}
	}
	if m.valid != nil && !m.field.Broken {
		if err := m.valid(m.api, o.stream, partial, res.Body); err != nil {
			return []string{"the client library does not read the answer: " + err.Error()}
		}
	}
	return nil
}

// judgeAnswer judges how an answer with the value arrived.
func (m *matrix) judgeAnswer(o *one, x *Exchange, s *Script, res *Result, frames [][]byte) (problems []string) {
	if o.fate == Refused {
		if err := m.api.Refusal(res); err != nil {
			return []string{"the refusal is not in the API's terms: " + err.Error()}
		}
		return nil
	}
	if want := max(s.Status, 200); res.Status != want {
		return []string{fmt.Sprintf("status %d, not %d: %s", res.Status, want, res.Body)}
	}
	for i, h := range x.Answer.Header {
		out := o.fate == LeftOut && carries(s.Header[i].Value)
		if has(res.Header, h) == out {
			problems = append(problems, fmt.Sprintf("the answer's header %s changed, or should have", h.Name))
		}
	}
	if s.Partial && len(frames) < len(o.sent) {
		o.sent = slices.DeleteFunc(o.sent, func(s sent) bool { return s.May })
	}
	switch o.fate {
	case Passes:
		problems = append(problems, same(o, m.order(o, frames))...)
	case LeftOut:
		problems = append(problems, leftOut(o, frames)...)
	case Stopped:
		problems = append(problems, stopped(o, frames)...)
		return append(problems, m.reads(o, true, res)...)
	case Withheld:
		problems = append(problems, withheld(o, frames, res.Body)...)
	default:
		problems = append(problems, m.replaced(o, m.order(o, frames))...)
	}
	return append(problems, m.reads(o, s.Partial, res)...)
}

// same: every frame is as it was sent.
func same(o *one, frames [][]byte) []string {
	for i, f := range frames {
		if i >= len(o.sent) {
			return []string{fmt.Sprintf("%d frames too many", len(frames)-i)}
		}
		if !bytes.Equal(f, o.sent[i].bytes) {
			return []string{fmt.Sprintf("frame %d changed from %s to %s", i, o.sent[i].bytes, f)}
		}
	}
	if len(frames) < len(o.sent) {
		return []string{fmt.Sprintf("%d of %d frames arrived", len(frames), len(o.sent))}
	}
	return nil
}

// leftOut: every frame that does not hold the value is as it was sent.
func leftOut(o *one, frames [][]byte) []string {
	rest := &one{}
	for _, s := range o.sent {
		if !carries(s.Raw) {
			rest.sent = append(rest.sent, s)
		}
	}
	return same(rest, frames)
}

// stopped: the frames are those that were sent, up to some, and then those
// that end the stream.
func stopped(o *one, frames [][]byte) []string {
	if !o.stream {
		return nil
	}
	n := 0
	for n < len(frames) && n < len(o.sent) && bytes.Equal(frames[n], o.sent[n].bytes) {
		n++
	}
	if n == len(o.sent) {
		return []string{"the stream was not stopped"}
	}
	return nil
}

// numbers are those of events, which move up where some are left out.
var numbers = regexp.MustCompile(`"sequence_number":[0-9]+`)

// withheld: nothing is left of the call, and what does not belong to it is as
// it was sent.
func withheld(o *one, frames [][]byte, raw []byte) []string {
	if bytes.Contains(raw, []byte(OwnID)) {
		return []string{fmt.Sprintf("something of the call is left: %s", raw)}
	}
	if !bytes.Contains(raw, []byte("was not made")) {
		return []string{fmt.Sprintf("the answer does not say that the call was not made: %s", raw)}
	}
	if !bytes.Contains(raw, []byte("margay allow add")) {
		return []string{fmt.Sprintf("the answer does not say how the call is allowed: %s", raw)}
	}
	if !o.stream {
		return nil
	}
	i := 0
	for _, s := range o.sent {
		if s.Own || carries(s.Raw) {
			continue
		}
		for i < len(frames) && !bytes.Equal(numbers.ReplaceAll(frames[i], nil), numbers.ReplaceAll(s.bytes, nil)) {
			i++
		}
		if i == len(frames) {
			return []string{fmt.Sprintf("lost: %s", s.bytes)}
		}
		i++
	}
	return nil
}

// replaced: every frame is as it was sent but for the text, in which one
// redaction stands for the value.
func (m *matrix) replaced(o *one, frames [][]byte) []string {
	if len(frames) != len(o.sent) {
		return []string{fmt.Sprintf("%d frames arrived of %d: %s", len(frames), len(o.sent), bytes.Join(frames, nil))}
	}
	var streamed strings.Builder
	var whole *string
	pieces := false
	for i, f := range frames {
		s := &o.sent[i]
		piece, text, ok := read(s.Raw, &s.marks, f)
		if !ok {
			return []string{fmt.Sprintf("frame %d changed elsewhere, from %s to %s", i, s.bytes, f)}
		}
		if piece != nil {
			pieces = true
			streamed.WriteString(*piece)
		}
		if text != nil {
			if whole != nil && *whole != *text {
				return []string{fmt.Sprintf("two copies of the text differ: %q and %q", *whole, *text)}
			}
			whole = text
		}
	}
	text := streamed.String()
	if whole != nil {
		if pieces && *whole != text {
			return []string{fmt.Sprintf("the pieces make %q and the whole text is %q", text, *whole)}
		}
		text = *whole
	}
	stand := m.stand(text)
	if o.kind == privateKey && keyStand.MatchString(stand) {
		return nil // as many as it has lines
	}
	if !redaction.MatchString(stand) {
		if !m.api.Either || !isPseudonym(stand) {
			return []string{fmt.Sprintf("the text became %q", text)}
		}
		stand = stand[:len(stand)-len("abcdefghij2345")] // the rest is another in each conversation
	}
	k := fmt.Sprint(o.stream, o.kind)
	if was, ok := m.stands[k]; ok && was != stand {
		return []string{fmt.Sprintf("the secret became %q, before %q", stand, was)}
	}
	m.stands[k] = stand
	return nil
}
