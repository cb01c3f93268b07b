package cut

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is a text byte by byte: the slow way to say what Text does.
type model struct {
	n, cut, region int64
	covered, clean map[int64]bool
	at             map[int64][]byte // what stands for the region that starts here
	hold           int64
	most           int64
	broken         bool
	leader         int64 // of the last Cut; -1 for none
}

const never = int64(1) << 40

func (m *model) least() int64 { return max(min(m.n, m.hold), m.cut) }

func (m *model) spanOut(start, end int64, goesOn bool) (leads, ok bool) {
	m.leader = -1
	joins := start < m.region || goesOn && start == m.region
	for i := start; i < m.cut; i++ {
		m.broken = m.broken || m.clean[i]
	}
	if m.broken = m.broken || !joins && start >= m.least(); m.broken {
		return false, false
	}
	if end <= start {
		return false, true
	}
	m.cover(start, end)
	if joins {
		m.region = max(m.region, end)
		return false, true
	}
	m.decide(start)
	m.region, m.leader = end, start
	m.decide(min(end, m.least()))
	return true, true
}

func (m *model) cover(start, end int64) {
	for i := start; i < end; i++ {
		m.covered[i] = true
	}
}

func (m *model) decide(to int64) {
	for ; m.cut < to; m.cut++ {
		m.clean[m.cut] = !m.covered[m.cut]
	}
}

func (m *model) advance() (capped int64, leads bool) {
	safe := m.least()
	m.hold, m.leader, capped = never, -1, -1
	switch {
	case m.broken:
		m.cover(m.cut, m.n)
		safe = m.n
	case m.most > 0 && m.n-safe > m.most:
		m.decide(safe)
		capped, safe = safe, m.n
		leads, _ = m.spanOut(capped, m.n, false)
	}
	m.decide(safe)
	return capped, leads
}

// output is what goes out of the bytes [from, to).
func (m *model) output(text []byte, from, to int64) (out []byte) {
	for i := from; i < to; i++ {
		out = append(out, m.at[i]...)
		if m.clean[i] {
			out = append(out, text[i])
		}
	}
	return out
}

// script is a feeder that does anything: each two bytes are one call.
func script(t interface {
	Helper()
	Fatalf(string, ...any)
}, ops []byte, most int64, keep bool,
) {
	t.Helper()
	text := make([]byte, 0, 512)
	k := NewText(most, keep)
	m := &model{covered: map[int64]bool{}, clean: map[int64]bool{}, at: map[int64][]byte{}, hold: never, most: most, leader: -1}
	var edits []Edit
	var spans [][2]int64
	out, released := int64(0), 0
	var got Released
	for ; len(ops) >= 2; ops = ops[2:] {
		a := int64(ops[1])
		switch ops[0] % 8 {
		case 0, 1:
			p := make([]byte, a%24)
			for i := range p {
				p[i] = byte((len(text) + i) % 128)
			}
			text = append(text, p...)
			k.Write(p)
			m.n += int64(len(p))
		case 2:
			at := max(0, m.n-a%32)
			k.Hold(at)
			m.hold = min(m.hold, at)
		case 3, 4:
			start := max(0, m.cut+a%16-4)
			end := start + int64(ops[0]>>3)%12 - 1
			goesOn := a&16 > 0
			if a&32 > 0 {
				start = m.region
			}
			wantLeads, ok := m.spanOut(start, end, goesOn)
			leads, err := k.Cut(start, end, goesOn)
			if leads != wantLeads || (err == nil) != ok || err != nil && !errors.Is(err, ErrOrder) {
				t.Fatalf("Cut(%d, %d, %t) leads: %t, want %t; error %v", start, end, goesOn, leads, wantLeads, err)
			}
			if ok {
				spans = append(spans, [2]int64{start, end})
			}
			if got := k.Raw(start, end); !keep && start >= m.cut && end <= m.n && end > start && !bytes.Equal(got, text[start:end]) {
				t.Fatalf("the raw bytes of a span are %v, want %v", got, text[start:end])
			}
		case 5:
			sub := bytes.Repeat([]byte{200}, int(a%4))
			k.Replace(sub)
			if m.leader >= 0 {
				m.at[m.leader], m.leader = sub, -1
			}
		case 6:
			before := m.cut
			wantCapped, wantLeads := m.advance()
			if capped, leads := k.Advance(); capped != wantCapped || leads != wantLeads {
				t.Fatalf("Advance = %d, %t, want %d, %t (cut %d)", capped, leads, wantCapped, wantLeads, before)
			}
		case 7:
			to := min(m.cut, out+a)
			want := m.output(text, out, to)
			if keep {
				got.Reset()
				k.Release(&got, out+a)
				if k.Release(&got, to-1); !bytes.Equal(got.Bytes(), want) {
					t.Fatalf("[%d, %d) goes out as %v, want %v", out, to, got.Bytes(), want)
				}
			} else {
				n := len(edits)
				edits = k.Edits(edits)
				for i := max(n, 1); i < len(edits); i++ {
					if edits[i].Start < edits[i-1].End {
						t.Fatalf("edits %v are out of order", edits)
					}
				}
				if b := Apply(nil, edits, out, text[out:to]); !bytes.Equal(b, want) {
					t.Fatalf("[%d, %d) with the edits %v is %v, want %v", out, to, edits, b, want)
				}
			}
			m.leader = -1
			if !keep || to > out {
				out = to
			}
			released += len(want)
		}
		if k.Decided() != m.cut || k.Len() != m.n || k.Broken() != m.broken || k.Least() != m.least() || !m.broken && k.Region() != m.region {
			t.Fatalf("cut %d of %d bytes, broken %t, least %d, region %d; want %d of %d, %t, %d, %d",
				k.Decided(), k.Len(), k.Broken(), k.Least(), k.Region(), m.cut, m.n, m.broken, m.least(), m.region)
		}
		if keep && slices.ContainsFunc(k.edits, func(e Edit) bool { return e.End <= out }) {
			t.Fatalf("edits %v are kept behind %d", k.edits, out)
		}
	}
	// The guarantee itself: no byte of an accepted span is clean.
	for _, s := range spans {
		for i := s[0]; i < s[1]; i++ {
			if m.clean[i] {
				t.Fatalf("byte %d of the span %v goes out", i, s)
			}
		}
	}
}

func TestAnyFeeder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := rapid.SliceOfN(rapid.Byte(), 0, 400).Draw(t, "ops")
		most := rapid.SampledFrom([]int64{0, 1, 9, 40}).Draw(t, "most")
		script(t, ops, most, rapid.Bool().Draw(t, "keep"))
	})
}

// TestManyFeeders is TestAnyFeeder, with more that begin with text.
func TestManyFeeders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		ops := make([]byte, 2*rng.IntN(60))
		for i := range ops {
			ops[i] = byte(rng.Uint32())
		}
		script(t, append([]byte{0, 23}, ops...), int64(rng.IntN(3))*12, rng.IntN(2) == 0)
	}
}

// TestMemory: what is decided, and released where that is asked for, is
// forgotten.
func TestMemory(t *testing.T) {
	for _, keep := range []bool{false, true} {
		k := NewText(0, keep)
		var out Released
		most := 0
		for i := range 5000 {
			k.Write([]byte("0123456789"))
			k.Hold(k.Len() - 25)
			k.Advance()
			most = max(most, len(k.raw))
			if keep && i%3 == 0 {
				k.Release(&out, k.Decided())
				out.Reset()
			}
			if got := string(k.Raw(k.Len()-25, k.Len())); i > 3 && got != "5678901234567890123456789" {
				t.Fatalf("%q is undecided", got)
			}
		}
		if most > 1024+100 || most < 500 {
			t.Errorf("keep %t: %d bytes of 50,000 were kept at a time", keep, most)
		}
	}
}

func FuzzFeeder(f *testing.F) {
	f.Add([]byte{0, 20, 2, 9, 3, 8, 5, 3, 6, 0, 7, 90, 0, 20, 3, 1, 6, 0, 7, 9}, true)
	f.Add([]byte{0, 20, 6, 0, 0, 20, 2, 255, 3, 40, 6, 0, 7, 200}, false)
	f.Add([]byte("01CA7\x00%170"), true) // nothing is released between a cut and what is to stand for it
	f.Fuzz(func(t *testing.T, ops []byte, keep bool) {
		if len(ops) > 2000 {
			return
		}
		script(t, ops, 30, keep)
	})
}

// span is what an honest detector will report once seen bytes were written.
type span struct {
	start, end, seen int64
	goesOn           bool
	text             []byte
}

// feed gives a text to the cut as honest detectors do: each holds the start of
// a span that it has not reported.
func feed(text []byte, spans []span, chunks []int) []byte {
	k := NewText(0, true)
	var out Released
	var queue []span
	step := func(p []byte, closed bool) {
		k.Write(p)
		n := k.Len()
		for i := range spans {
			s := &spans[i]
			switch {
			case s.seen > n && !closed:
				if s.start < n {
					k.Hold(s.start)
				}
			case s.seen > n-int64(len(p)) || closed && s.seen > n:
				queue = append(queue, *s)
			}
		}
		slices.SortStableFunc(queue, func(a, b span) int { return int(a.start - b.start) })
		for len(queue) > 0 && queue[0].start < k.Least() {
			if leads, err := k.Cut(queue[0].start, queue[0].end, queue[0].goesOn); err != nil {
				panic(err)
			} else if leads {
				k.Replace(queue[0].text)
			}
			queue = queue[1:]
		}
		k.Advance()
		k.Release(&out, k.Decided())
	}
	from := 0
	for _, c := range chunks {
		step(text[from:c], false)
		from = c
	}
	step(text[from:], false)
	step(nil, true)
	return out.Bytes()
}

// TestChunks: what goes out is a function of the text and its spans.
func TestChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := make([]byte, rapid.IntRange(0, 120).Draw(t, "n"))
		for i := range text {
			text[i] = byte(i)
		}
		var spans []span
		taken := map[int64]bool{}
		for i := range rapid.IntRange(0, 8).Draw(t, "spans") {
			if len(text) == 0 {
				break
			}
			start := rapid.Int64Range(0, int64(len(text))-1).Draw(t, "start")
			if taken[start] {
				continue
			}
			taken[start] = true
			end := rapid.Int64Range(start+1, int64(len(text))).Draw(t, "end")
			spans = append(spans, span{
				start: start, end: end, seen: rapid.Int64Range(start+1, int64(len(text))+9).Draw(t, "seen"),
				text: bytes.Repeat([]byte{byte(200 + i)}, rapid.IntRange(0, 3).Draw(t, "replacement")),
			})
		}
		chunks := rapid.SliceOf(rapid.IntRange(0, len(text))).Draw(t, "chunks")
		slices.Sort(chunks)
		got := feed(text, spans, chunks)
		if want := feed(text, spans, nil); !bytes.Equal(got, want) {
			t.Fatalf("in the chunks %v it is %v, whole %v", chunks, got, want)
		}
		for _, s := range spans {
			if slices.ContainsFunc(got, func(b byte) bool { return int64(b) >= s.start && int64(b) < s.end }) {
				t.Fatalf("a byte of the span [%d, %d) is in %v", s.start, s.end, got)
			}
		}
	})
}

// TestLate: a detector that does not hold what it reports later is not let off
// silently, and what it misses is the last that goes out.
func TestLate(t *testing.T) {
	k := NewText(0, true)
	var out Released
	k.Write([]byte("the key is sk-1234"))
	k.Advance()
	k.Release(&out, k.Decided())
	k.Write([]byte("5678 and more"))
	if _, err := k.Cut(11, 22, false); !errors.Is(err, ErrOrder) || !k.Broken() {
		t.Fatalf("a span whose head is out gives %v", err)
	}
	for range 3 {
		k.Write([]byte(" and more"))
		k.Advance()
		k.Release(&out, k.Decided())
	}
	if got := string(out.Bytes()); got != "the key is sk-1234" {
		t.Errorf("%q went out", got)
	}
	if k.Decided() != k.Len() || len(k.raw) != 0 {
		t.Error("a broken text holds what it is given")
	}
}

// TestAhead: a span behind a hold would let the text before it go.
func TestAhead(t *testing.T) {
	k := NewText(0, true)
	k.Write([]byte("0123456789"))
	k.Hold(4)
	if _, err := k.Cut(6, 8, false); !errors.Is(err, ErrOrder) {
		t.Fatalf("a span behind a hold gives %v", err)
	}
}

func TestCapped(t *testing.T) {
	k := NewText(10, true)
	var out Released
	for _, p := range []string{"abc 0123456", "789", "0123456789", "01234567890", "x"} {
		k.Write([]byte(p))
		k.Hold(4)
		if from, leads := k.Advance(); from >= 0 {
			if !leads {
				t.Fatal("what is capped leads no region")
			}
			k.Replace([]byte("[held]"))
		}
		k.Release(&out, k.Decided())
		if n := k.Len() - k.Decided(); n > 10 {
			t.Fatalf("%d bytes are held", n)
		}
	}
	if got := string(out.Bytes()); got != "abc [held][held]" {
		t.Errorf("%q went out", got)
	}
}

type failing struct{}

func (failing) Write(p []byte) (int, error) { return len(p) / 2, errors.New("closed") }

type permit bool

func (p permit) Releases() bool { return bool(p) }

func TestReleased(t *testing.T) {
	k := NewText(0, true)
	k.Write([]byte("abcd"))
	k.Advance()
	var r Released
	if k.Release(&r, 3); r.Len() != 3 {
		t.Fatalf("%d bytes", r.Len())
	}
	if n, err := r.WriteTo(failing{}); err == nil || n != 1 || string(r.Bytes()) != "bc" {
		t.Errorf("a failing writer: %d bytes, %v, %q left", n, err, r.Bytes())
	}
	r.Own([]byte("!"))
	var all Released
	all.Append(r)
	all.Append(r)
	var b bytes.Buffer
	if n, err := r.WriteTo(&b); err != nil || n != 3 || b.String() != "bc!" || r.Len() != 0 {
		t.Errorf("%d bytes, %v, %q", n, err, b.String())
	}
	p := make([]byte, 4)
	if n, err := all.Read(p); n != 4 || err != nil || string(p) != "bc!b" || all.Len() != 2 {
		t.Errorf("read %d bytes, %v: %q", n, err, p)
	}
	if n, err := all.Read(p); n != 2 || err != nil || string(p[:2]) != "c!" || len(all.b) != 0 {
		t.Errorf("read %d bytes, %v: %q", n, err, p)
	}
	if n, err := all.Read(p); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read %d bytes of nothing, %v", n, err)
	}
	// A text that forgets what is decided has nothing to release.
	k = NewText(0, false)
	k.Write([]byte("abcd"))
	if k.Advance(); k.Decided() != 4 {
		t.Fatal("it is not decided")
	}
	if k.Release(&r, 4); r.Len() != 0 {
		t.Error("it was released")
	}
}

func TestEncode(t *testing.T) {
	var r Released
	r.Own([]byte("<"))
	add := func(err error) func([]byte) ([]byte, error) {
		return func(dst []byte) ([]byte, error) { return append(dst, "text"...), err }
	}
	if err := r.Encode(permit(false), add(nil)); !errors.Is(err, ErrNotReleased) || string(r.Bytes()) != "<" {
		t.Errorf("without a permit: %v, %q", err, r.Bytes())
	}
	if err := r.Encode(permit(true), add(io.ErrShortBuffer)); !errors.Is(err, io.ErrShortBuffer) || string(r.Bytes()) != "<" {
		t.Errorf("what can't be encoded: %v, %q", err, r.Bytes())
	}
	if err := r.Encode(permit(true), add(nil)); err != nil || string(r.Bytes()) != "<text" {
		t.Errorf("with a permit: %v, %q", err, r.Bytes())
	}
	if r.Reset(); r.Len() != 0 || cap(r.b) == 0 {
		t.Error("it is not empty, or keeps no memory")
	}
	for size, kept := range map[int]bool{65536: true, 65537: false} {
		r.b = make([]byte, size)
		if r.Reset(); cap(r.b) > 0 != kept {
			t.Errorf("of %d bytes it keeps %d", size, cap(r.b))
		}
	}
	if n, err := r.WriteTo(nil); n != 0 || err != nil {
		t.Errorf("nothing was written as %d bytes, %v", n, err)
	}
	words := []byte("no")
	own := Own(words)
	if copy(words, "ye"); string(own.Bytes()) != "no" {
		t.Errorf("who gave the words can change them: %q", own.Bytes())
	}
	if err := own.Encode(permit(true), func([]byte) ([]byte, error) { return nil, nil }); !errors.Is(err, ErrNotReleased) || string(own.Bytes()) != "no" {
		t.Errorf("what takes back bytes: %v, %q", err, own.Bytes())
	}
	if own.Own([]byte(".")); string(own.Bytes()) != "no." {
		t.Errorf("words of its own are %q", own.Bytes())
	}
}
