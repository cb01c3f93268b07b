package answer

import (
	"math"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/stream"
)

// judge returns what judges the texts of one field of an answer; nil for
// nothing. A call's arguments are not judged: they are decided when complete.
func judge(s *session.Session, key flow.StreamKey) *risk {
	f := key.Field
	if s.RiskMode() == session.RiskOff || f != flow.FieldContent && f != flow.FieldReasoning && f != flow.FieldRefusal {
		return nil
	}
	m := s.Judge()
	return &risk{judge: m.Next, phrase: m.Phrase, entropy: m.Entropy, key: key, watch: s.Watch.Judged, acts: s.RiskMode() != session.RiskReport}
}

// risk judges the tokens of one text and marks what they call for. It judges
// a token when it comes, so it stands outside the guarantee of package stream:
// the words before it may have been released. The word itself waits for its end
// where verdicts act, or for maxWord bytes.
//
//   - RED takes out the token and the rest of its word, and the head of the
//     word as far as it is still held: a credential is one word, and the risk
//     may rise late and fall before its end.
//   - YELLOW masks the same. The space before it stays.
//   - The words of a passphrase, behind its name, are one word.
type risk struct {
	judge   func(*monitor.Token) monitor.Verdict
	phrase  func() bool                           // whether the last token goes on with a value of several words
	entropy func() (least, most float64, ok bool) // of the last token
	trace   *audit.TextTracer
	key     flow.StreamKey
	watch   func(flow.StreamKey, int64, int64, monitor.Verdict)
	at      int64        // bytes judged
	word    int64        // where the current word starts
	cutting monitor.Zone // the rest of the word is taken out as one of it
	ends    [3]int64     // of what was taken out last, by zone; the next may go on there
	acts    bool         // verdicts change the text
}

// maxWord is how much of a word waits for its end, in bytes.
const maxWord = 256

// read judges the next bytes of a text: its tokens where the server tells
// them, else pieces like a tokenizer's. Bytes before released are out already.
func (r *risk) read(scan *stream.Scanner, released int64, d *flow.Delta) {
	told := 0
	for i := range d.Tokens {
		told += len(d.Tokens[i].Text)
	}
	if told != len(d.Text) || told == 0 {
		for text := string(d.Text); text != ""; {
			n := monitor.NextPiece(text)
			r.next(scan, released, &monitor.Token{Text: text[:n], Logprob: math.NaN()})
			text = text[n:]
		}
		return
	}
	var telemetry []*monitor.Telemetry
	if d.Telemetry != nil {
		// What is not understood is as if it were not there: the other
		// features judge.
		telemetry, _ = monitor.ParseTelemetry(d.Telemetry)
	}
	for i := range d.Tokens {
		t := &d.Tokens[i]
		m := monitor.Token{Text: t.Text, Logprob: t.Logprob, Top: t.Top}
		if i < len(telemetry) {
			m.Telemetry = telemetry[i]
		}
		r.next(scan, released, &m)
	}
}

func (r *risk) next(scan *stream.Scanner, released int64, t *monitor.Token) {
	v := r.judge(t)
	from := r.at
	r.at += int64(len(t.Text))
	if r.watch != nil {
		r.watch(r.key, from, r.at, v)
	}
	if r.trace != nil {
		least, most, ok := r.entropy()
		r.trace.Judged(r.at, &v, least, most, ok)
	}
	lead := 0
	for lead < len(t.Text) && boundary(t.Text[lead]) {
		lead++
	}
	body, start := t.Text[lead:], from+int64(lead)
	switch {
	case lead > 0 && r.phrase() && strings.Trim(t.Text[:lead], " ") == "":
		start -= int64(lead)
	case lead > 0:
		r.cutting = monitor.Green
		r.word = start
	}
	switch {
	case body != "":
		r.mark(scan, released, start, body, &v)
	case start < r.at && r.cutting != monitor.Green: // a space within a phrase
		r.cut(scan, start, r.at, r.cutting, &v)
	}
	if r.acts {
		scan.Await(max(r.word, r.at-maxWord))
	}
}

// mark marks what a verdict about a token calls for: its body, from start on, or
// from the space before it where that belongs to a phrase.
func (r *risk) mark(scan *stream.Scanner, released, start int64, body string, v *monitor.Verdict) {
	end, zone := r.at, v.Zone
	if zone > r.cutting || zone == monitor.Red {
		r.cutting = zone
		r.cut(scan, min(max(r.word, released), start), end, zone, v)
	} else if zone = r.cutting; zone != monitor.Green {
		// The token may hold the word's end.
		if i := strings.IndexFunc(body, bounds); i >= 0 {
			end -= int64(len(body) - i)
		}
		r.cut(scan, start, end, zone, v)
	}
	if last := strings.LastIndexFunc(body, bounds); last >= 0 {
		r.cutting = monitor.Green
		if last < len(body)-1 {
			r.cutting = v.Zone
		}
		r.word = r.at - int64(len(body)-last-1)
	}
}

// cut takes bytes out. What touches the last of the same zone goes on with it.
func (r *risk) cut(scan *stream.Scanner, from, to int64, zone monitor.Zone, v *monitor.Verdict) {
	if to <= from {
		return
	}
	end := &r.ends[zone]
	scan.Mark(stream.Finding{Start: from, End: to, Kind: session.KindRisk, Rule: stream.RuleRisk, Name: zone.String(), View: v.Box.String(), Risk: v.Risk}, *end > 0 && from <= *end)
	*end = to
}

// boundary reports whether a byte ends a word: space, and what stands around
// values in prose and code.
func boundary(b byte) bool {
	return b <= ' ' || strings.IndexByte("\"'`,;<>()[]{}|", b) >= 0
}

func bounds(r rune) bool { return r < 0x80 && boundary(byte(r)) }
