package connectortest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// most is the number of problems of one field after which the suite turns to
// the next.
const most = 5

// longest is the length of a problem as it is shown.
const longest = 900

// cleanValue takes the place of a secret. It is ordinary text.
const (
	cleanValue = "the best of times, naïve ☕ x_y"
	cleanASCII = "the-best-of-times"
)

// matrix is all that is tried with one field.
type matrix struct {
	api      *API
	field    *Field
	link     Link
	valid    func(api *API, stream, partial bool, raw []byte) error
	thin     int
	known    string
	seed     uint64
	n        int               // exchanges
	stands   map[string]string // what stood for a secret, by mode and kind
	secrets  []string          // all that were used
	problems []string
	lenient  bool // about everything but leaks and validity
}

// one is one combination.
type one struct {
	stream bool
	at     Place
	kind   kind
	fate   Fate
	value  string
	text   string
	pieces []string
	cut    string // how it is cut, in words
	chunks delivery
	caller string
	sent   []sent
}

// sent is a frame as it was sent.
type sent struct {
	Frame
	marks marks
	bytes []byte
}

// delivery is how the far side's bytes arrive.
type delivery uint8

const (
	apart    delivery = iota // each frame alone
	together                 // all at once
	anyhow                   // cut without regard to frames
)

func (d delivery) String() string {
	return [...]string{"each frame apart", "all together", "cut anywhere"}[d]
}

func (m *matrix) run() {
	f := m.field
	type mode struct {
		stream bool
		script func(Place) Script
	}
	var modes []mode
	if f.Stream != nil {
		modes = append(modes, mode{true, f.Stream})
	}
	if f.Whole != nil {
		modes = append(modes, mode{false, f.Whole})
	}
	if len(modes) == 0 {
		modes = append(modes, mode{false, func(Place) Script { return m.api.Reply }})
	}
	for _, mo := range modes {
		for _, at := range places(f.Most) {
			for _, k := range []kind{clean, known, unknown, privateKey, pseudonym} {
				if k == pseudonym && (f.To || m.api.Ask.Body == "") {
					continue
				}
				if f.fate(k, mo.stream) == Untried {
					continue
				}
				for _, q := range m.requests() {
					if !m.cuts(mo.stream, at, k, q, mo.script(at)) {
						return
					}
				}
			}
		}
	}
	if !f.To {
		m.equal()
	}
}

// requests are those that are tried.
func (m *matrix) requests() []*Request {
	q := m.field.Request
	if q == nil {
		q = &m.api.Ask
	}
	return append([]*Request{q}, m.field.Also...)
}

// places are all choices of one, and all of most.
func places(most int) []Place {
	out := []Place{{1, 0}}
	for c := range most {
		if most > 1 {
			out = append(out, Place{most, c})
		}
	}
	return out
}

// equal compares what stood for secrets in streams and in whole answers.
func (m *matrix) equal() {
	for _, k := range []kind{known, unknown} {
		s, streamed := m.stands[fmt.Sprint(true, k)]
		w, whole := m.stands[fmt.Sprint(false, k)]
		if streamed && whole && s != w {
			m.report("%v: a stream says %q where the whole answer says %q", k, s, w)
		}
	}
}

// cuts tries a value cut in all ways. It reports false once there are problems
// enough.
func (m *matrix) cuts(stream bool, at Place, k kind, q *Request, script Script) bool {
	f := m.field
	before, behind := f.around()
	try := func(pieces func(value string) []string, cut string, d delivery) bool {
		m.n++
		o := &one{stream: stream, at: at, kind: k, fate: f.fate(k, stream), cut: cut, chunks: d, caller: fmt.Sprintf("%s-%x", m.api.Name, m.seed+uint64(m.n))}
		if err := m.value(o); err != nil {
			m.report("%v: %v", o, err)
			return len(m.problems) < most
		}
		o.text = before + o.value + behind
		o.pieces = pieces(o.value)
		m.exchange(o, q, &script)
		return len(m.problems) < most
	}
	if !script.cuts() {
		whole := func(string) []string { return []string{""} }
		return try(whole, "whole", apart) && try(whole, "whole", anyhow)
	}
	n := len([]rune(m.example(k)))
	step := max(m.thin, 1)
	if k == privateKey {
		step = max(m.thin, 149) // it is long, and most of its places are alike
	}
	for i := 0; i <= n; i += step {
		two := func(value string) []string {
			r := []rune(value)
			i := min(i, len(r))
			return []string{before + string(r[:i]), string(r[i:]) + behind}
		}
		d := []delivery{apart, together, anyhow}[i%3]
		if !try(two, fmt.Sprintf("split at %d", i), apart) || d != apart && !try(two, fmt.Sprintf("split at %d", i), d) {
			return false
		}
	}
	chars := func(value string) []string { return strings.Split(before+value+behind, "") }
	ways := []delivery{apart, together, anyhow}
	if k == privateKey {
		ways = ways[2:]
	}
	for _, d := range ways {
		if !try(chars, "one character an event", d) {
			return false
		}
	}
	if !try(func(value string) []string { return []string{before + value + behind} }, "in one event", apart) {
		return false
	}
	for seed := range uint64(4) {
		if !try(func(value string) []string { return pieces(before+value+behind, seed) }, fmt.Sprintf("cut by seed %d", seed), delivery(seed%3)) {
			return false
		}
	}
	return true
}

// cuts reports whether a stream sends the text of an answer in pieces.
func (s *Script) cuts() bool {
	return slices.ContainsFunc(s.Piece, func(f Frame) bool { return carries(f.Raw) })
}

// example is a value as long as those that are tried.
func (m *matrix) example(k kind) string {
	switch k {
	case known:
		return m.known
	case unknown:
		return newUnknown(0)
	case privateKey:
		return m.newKey(0)
	case pseudonym:
		return strings.Repeat("x", len("margay-api-key-")+14)
	}
	if m.field.ASCII {
		return cleanASCII
	}
	return cleanValue
}

// newUnknown makes up a GitHub token, which nobody has registered.
func newUnknown(seed uint64) string { return newSecret("gh"+"p_", 36, seed) }

// newKey makes up a private key. In a text that is JSON its lines end as they
// do there.
func (m *matrix) newKey(seed uint64) string {
	end := "\n"
	if before, _ := m.field.around(); strings.HasPrefix(before, "{") {
		end = `\n`
	}
	lines := []string{"-----BEGIN " + "PRIVATE KEY-----"}
	body := newSecret("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", 600, seed)
	for ; body != ""; body = body[min(64, len(body)):] {
		lines = append(lines, body[:min(64, len(body))])
	}
	return strings.Join(append(lines, "-----END "+"PRIVATE KEY-----"), end)
}

// pieces cuts text into a few pieces.
func pieces(text string, seed uint64) (out []string) {
	rng := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // the cuts are the same in each run
	r := []rune(text)
	for len(r) > 0 {
		n := min(len(r), 1+rng.IntN(9))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

// value sets the value of a combination.
func (m *matrix) value(o *one) error {
	switch o.kind {
	case known:
		o.value = m.known
	case unknown:
		o.value = newUnknown(m.seed + uint64(m.n))
	case privateKey:
		o.value = m.newKey(m.seed + uint64(m.n))
	case pseudonym:
		x := m.request(&m.api.Ask, o, m.known)
		reply := m.api.Reply
		m.answer(x, &one{}, &reply)
		res, err := m.link.Do(x)
		if err != nil {
			return err
		}
		if res.Far == nil {
			return fmt.Errorf("the request with a secret did not get through: status %d", res.Status)
		}
		if o.value = pseudonymIn.FindString(string(res.Far.Body)); o.value == "" {
			return fmt.Errorf("no pseudonym reached the far side")
		}
		return nil
	default:
		o.value = m.example(clean)
		return nil
	}
	m.secrets = append(m.secrets, secretParts(o.value)[0])
	return nil
}

// request writes a request.
func (m *matrix) request(q *Request, o *one, say string) *Exchange {
	if say == "" {
		say = m.api.Say
	}
	mk := &marks{text: o.text, say: say, stream: o.stream, choices: o.at.N}
	x := &Exchange{Caller: o.caller, Method: q.Method, Path: string(write(q.Path, mk))}
	if q.Body != "" {
		x.Body = write(q.Body, mk)
	}
	if q.First != "" {
		x.First = write(q.First, mk)
	}
	for _, h := range q.Header {
		x.Header = append(x.Header, Header{h.Name, string(write(h.Value, mk))})
	}
	return x
}

// answer writes the far side's answer into an exchange.
func (m *matrix) answer(x *Exchange, o *one, s *Script) {
	mk := marks{text: o.text, stream: o.stream, choices: o.at.N}
	add := func(frames []Frame, piece string) {
		for _, f := range frames {
			mk.piece = piece
			o.sent = append(o.sent, sent{f, mk, write(f.Raw, &mk)})
			if strings.Contains(f.Raw, "«n»") {
				mk.number++
			}
		}
	}
	add(s.Head, "")
	for _, p := range o.pieces {
		add(s.Piece, p)
	}
	add(s.Tail, "")
	x.Answer = Answer{Status: s.Status, Type: "application/json"}
	if o.stream {
		if x.Answer.Type = m.api.Type; x.Answer.Type == "" {
			x.Answer.Type = "text/event-stream"
		}
	}
	for _, h := range s.Header {
		x.Answer.Header = append(x.Answer.Header, Header{h.Name, string(write(h.Value, &mk))})
	}
	var all []byte
	for _, f := range o.sent {
		all = append(all, f.bytes...)
		if o.chunks == apart {
			x.Answer.Chunks = append(x.Answer.Chunks, f.bytes)
		}
	}
	switch o.chunks {
	case together:
		x.Answer.Chunks = [][]byte{all}
	case anyhow:
		rng := rand.New(rand.NewPCG(m.seed+uint64(m.n), 4)) //nolint:gosec // the cuts are the same in each run
		for len(all) > 0 {
			n := min(len(all), 1+rng.IntN(90))
			x.Answer.Chunks = append(x.Answer.Chunks, all[:n])
			all = all[n:]
		}
	}
}

// exchange tries one combination.
func (m *matrix) exchange(o *one, q *Request, s *Script) {
	say := ""
	if o.kind == pseudonym {
		say = m.known // the conversation that the pseudonym comes from
	}
	x := m.request(q, o, say)
	m.answer(x, o, s)
	res, err := m.link.Do(x)
	if err != nil {
		m.report("%v: %v", o, err)
		return
	}
	for _, p := range m.judge(o, q, x, s, res) {
		m.report("%v: %s", o, veil(p, o.value, m.known))
	}
}

func (m *matrix) report(format string, args ...any) {
	if len(m.problems) < most {
		p := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
		if len(p) > longest {
			p = p[:longest] + "…"
		}
		m.problems = append(m.problems, p)
	}
}

// String names the combination.
func (o *one) String() string {
	how := "whole answer"
	if o.stream {
		how = "stream"
	}
	if o.at.N > 1 {
		how += fmt.Sprintf(", choice %d of %d", o.at.C, o.at.N)
	}
	return fmt.Sprintf("%s, %v, %s, %v", how, o.kind, o.cut, o.chunks)
}
