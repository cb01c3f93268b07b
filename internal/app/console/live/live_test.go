package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what a hub is asked for, and how often.
type world struct {
	mu       sync.Mutex
	last     int64
	rows     int // calls
	rendered int
	parts    int
	open     int
	text     string // of the overview
	slow     time.Duration
	busy     time.Duration
	err      error
}

const one = flow.TrajectoryID("01ARZ3NDEKTSV4RRFFQ69G5FAV")

func (w *world) work() error {
	time.Sleep(w.slow)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy += w.slow
	return w.err
}

func (w *world) hub() *Hub {
	return New(Config{
		Last: func(context.Context) (int64, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.last, nil
		},
		Rows: func(_ context.Context, q audit.Query) ([]Row, error) {
			if err := w.work(); err != nil {
				return nil, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.rows++
			from, to := q.After+1, w.last
			if q.Before > 0 {
				to = min(to, q.Before-1)
			}
			if q.Last {
				from = max(from, to-int64(q.Limit)+1)
			} else {
				to = min(to, from+int64(q.Limit)-1)
			}
			var out []Row
			for i := from; i <= to; i++ {
				w.rendered++
				out = append(out, Row{i, map[string]int64{"seq": i}})
			}
			return out, nil
		},
		Overview: func(context.Context) ([]Part, error) {
			if err := w.work(); err != nil {
				return nil, err
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.parts++
			return []Part{{"still", "same"}, {"overview", w.text}}, nil
		},
		Queue: func(context.Context) ([]Part, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return []Part{{"queue", fmt.Sprint(w.open)}}, nil
		},
		Open: func(context.Context) int {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.open
		},
	})
}

// happen stores n events.
func (w *world) happen(h *Hub, n int) {
	w.mu.Lock()
	w.last += int64(n)
	w.mu.Unlock()
	h.Publish([]audit.Event{{Trajectory: one, Kind: audit.KindDecision}})
}

func join(t *testing.T, h *Hub, topic Topic) *Viewer {
	t.Helper()
	id := flow.TrajectoryID("")
	if topic == Trajectory {
		id = one
	}
	v, err := h.Join(t.Context(), topic, id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// got are the updates that wait for a viewer.
func (v *Viewer) got() (out []string) {
	for {
		select {
		case b := <-v.out:
			out = append(out, string(b))
		default:
			return out
		}
	}
}

// However many look on, what happened is asked for and made once, a few times a
// second at most, and each is sent it in one piece.
func TestOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		h := w.hub()
		defer h.Close()
		var viewers []*Viewer
		for range 200 {
			viewers = append(viewers, join(t, h, Trajectory))
		}
		const seconds, each = 10, 100 // of these many times
		for range seconds * each {
			w.happen(h, 1)
			time.Sleep(time.Second / each)
			if len(viewers[0].out) > viewerRoom/2 {
				for _, v := range viewers {
					v.got()
				}
			}
		}
		synctest.Wait()
		if most := int(seconds * time.Second / rest); w.rows > most+1 || w.rendered > seconds*each {
			t.Errorf("%d events were asked for %d times and made %d times, want %d at most", seconds*each, w.rows, w.rendered, most)
		}
		if w.rendered < seconds*each-maxRows {
			t.Errorf("%d of %d events were told", w.rendered, seconds*each)
		}
		for _, v := range viewers {
			select {
			case <-v.slow:
				t.Fatal("a viewer that reads was let go")
			default:
			}
			h.leave(v)
		}
	})
}

// Where it costs much to tell what happened, it is told less often.
func TestRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{slow: 20 * time.Millisecond}
		h := w.hub()
		defer h.Close()
		v := join(t, h, Trajectory)
		defer h.leave(v)
		began := time.Now()
		for range 1000 {
			w.happen(h, 1)
			time.Sleep(10 * time.Millisecond)
			v.got()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if took := time.Since(began); w.busy*leisure > took+2*pulse || w.rows < 5 {
			t.Errorf("it worked for %v of %v, %d times", w.busy, took, w.rows)
		}
	})
}

// Of many events at once the latest are told, and that there are more; what
// resumes behind them misses nothing.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{last: 7}
		h := w.hub()
		defer h.Close()
		v := join(t, h, Trajectory)
		defer h.leave(v)
		w.happen(h, maxRows)
		time.Sleep(rest)
		synctest.Wait()
		if all := strings.Join(v.got(), ""); strings.Contains(all, "event: gap") || strings.Count(all, "event: row") != maxRows || !strings.Contains(all, "id: 8\n") {
			t.Errorf("as many as may be: %s", all)
		}
		w.happen(h, maxRows+1)
		time.Sleep(rest)
		synctest.Wait()
		all := strings.Join(v.got(), "")
		if strings.Count(all, "event: gap") != 1 || strings.Count(all, "event: row") != maxRows || !strings.HasPrefix(all, "event: gap") || !strings.Contains(all, fmt.Sprintf("id: %d\n", w.last)) {
			t.Errorf("one more: %s", all)
		}
	})
}

// Who comes is sent all parts once; then what has changed.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{text: "a"}
		h := w.hub()
		defer h.Close()
		first := join(t, h, Overview)
		time.Sleep(pulse + rest)
		synctest.Wait()
		if all := strings.Join(first.got(), ""); strings.Count(all, "event: part") != 2 || strings.Count(all, "event: count") != 1 {
			t.Errorf("who came first got %s", all)
		}
		second := join(t, h, Overview)
		time.Sleep(pulse + rest)
		synctest.Wait()
		if got := first.got(); len(got) != 0 {
			t.Errorf("nothing has changed, and it got %q", got)
		}
		if got := second.got(); len(got) != 1 || strings.Count(got[0], "event: part") != 2 || strings.Count(got[0], "event: count") != 1 {
			t.Errorf("who came second got %q", got)
		}
		w.mu.Lock()
		w.text, w.open = "b", 3
		w.mu.Unlock()
		h.Asked() // the queue at once, the overview at the pulse
		time.Sleep(pulse + rest)
		synctest.Wait()
		for _, v := range []*Viewer{first, second} {
			if all := strings.Join(v.got(), ""); strings.Count(all, "event: part") != 1 || !strings.Contains(all, `{"part":"overview","html":"b"}`) || !strings.Contains(all, `{"open":3}`) {
				t.Errorf("the change came as %s", all)
			}
			h.leave(v)
		}
	})
}

// A store that fails is told of, and that it does no more.
func TestProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		h := w.hub()
		defer h.Close()
		v := join(t, h, Overview)
		defer h.leave(v)
		next := func() string {
			time.Sleep(pulse + rest)
			synctest.Wait()
			return strings.Join(v.got(), "")
		}
		fail := func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.err = err
		}
		next()
		fail(errors.New("no disk"))
		if s := next(); !strings.Contains(s, "margay doctor") || strings.Contains(s, "no disk") {
			t.Errorf("while it fails: %s", s)
		}
		fail(nil)
		if s := next(); !strings.Contains(s, `{"part":"live-problem","html":""}`) {
			t.Errorf("afterwards: %s", s)
		}
		if s := next(); s != "" {
			t.Errorf("and then: %s", s)
		}
	})
}

// Who does not read is let go, and nobody waits for it.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		h := w.hub()
		defer h.Close()
		reads, sleeps := join(t, h, Trajectory), join(t, h, Trajectory)
		n := 0
		for range 3 * viewerRoom {
			w.happen(h, 1)
			time.Sleep(rest)
			synctest.Wait()
			n += len(reads.got())
		}
		if n < 2*viewerRoom {
			t.Errorf("who reads got %d updates", n)
		}
		select {
		case <-sleeps.slow:
		default:
			t.Error("who does not read was not let go")
		}
		h.leave(reads)
		h.leave(sleeps)
	})
}

// Nothing is done for what nobody looks at, nor when all have gone.
func TestNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		h := w.hub()
		defer h.Close()
		w.happen(h, 1)
		v := join(t, h, None)
		if h.Watches(one) {
			t.Error("nobody looks at it")
		}
		w.happen(h, 1)
		time.Sleep(2 * pulse)
		if w.rows+w.parts > 0 {
			t.Errorf("%d and %d were made", w.rows, w.parts)
		}
		h.leave(v)
		v = join(t, h, Trajectory)
		if !h.Watches(one) || h.Watches("other") {
			t.Error("one is looked at, and no other")
		}
		h.leave(v)
		time.Sleep(2 * pulse)
		synctest.Wait()
		if h.Watches(one) || h.runs || len(h.groups) > 0 {
			t.Error("something is left of who has gone")
		}
		for range maxViewers {
			join(t, h, None)
		}
		if _, err := h.Join(t.Context(), None, ""); !errors.Is(err, ErrFull) {
			t.Errorf("one too many: %v", err)
		}
	})
}

// page is what a browser keeps of the answers under way, as console.js does.
type page map[string]*audit.Series

func (p page) take(t *audit.Progress) {
	key := fmt.Sprint(t.Answer, t.Text)
	s := p[key]
	if s == nil {
		s = &audit.Series{}
		p[key] = s
	}
	cut := func(x, more []int) []int { return append(append([]int{}, x[:min(t.From, len(x))]...), more...) }
	s.Risk, s.Zone, s.N, s.Every = cut(s.Risk, t.Series.Risk), s.Zone[:min(t.From, len(s.Zone))]+t.Series.Zone, t.Series.N, t.Series.Every
}

// Tokens that are told together plot as those that are told one by one.
func TestTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, joined := page{}, page{}
		g := &group{}
		type state struct {
			risk  []int
			every int
			next  int
		}
		answers := []state{{every: 1}, {every: 1}, {every: 1}}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "update") {
				for _, p := range g.tokens {
					joined.take(p)
				}
				g.tokens = nil
				continue
			}
			k := rapid.IntRange(0, len(answers)-1).Draw(t, "answer")
			a := &answers[k]
			if rapid.IntRange(0, 9).Draw(t, "halve") == 0 { // points stand for two
				a.risk, a.every, a.next = a.risk[:len(a.risk)/2], a.every*2, 0
			}
			for range rapid.IntRange(1, 9).Draw(t, "tokens") {
				a.risk = append(a.risk, rapid.IntRange(0, 1000).Draw(t, "risk"))
			}
			more := append([]int{}, a.risk[a.next:]...)
			p := &audit.Progress{Answer: fmt.Sprint(k / 2), Text: k % 2, From: a.next, Series: audit.Series{
				N: len(a.risk) * a.every, Every: a.every, Risk: more, Least: more, Most: more, Ends: more, Zone: strings.Repeat(string("gyr"[k]), len(more)),
			}}
			a.next = len(a.risk)
			plain.take(p)
			g.progress(p)
			clear(more) // it is another's
		}
		for _, p := range g.tokens {
			joined.take(p)
		}
		for key, want := range plain {
			if len(want.Risk) != len(joined[key].Risk) || fmt.Sprint(want.N, want.Zone, want.Every) != fmt.Sprint(joined[key].N, joined[key].Zone, joined[key].Every) {
				t.Fatalf("%s: %+v, want %+v", key, joined[key], want)
			}
		}
		for k, a := range answers {
			if s := joined[fmt.Sprint(fmt.Sprint(k/2), k%2)]; s != nil && fmt.Sprint(s.Risk) != fmt.Sprint(a.risk) {
				t.Fatalf("answer %d: %v, want %v", k, s.Risk, a.risk)
			}
		}
	})
}

// Tokens of an answer that has ended are not told, and of few answers at once.
func TestTokensAreBounded(t *testing.T) {
	g := &group{}
	for i := range 3 * maxAnswers {
		g.progress(&audit.Progress{Answer: fmt.Sprint(i)})
	}
	if len(g.tokens) != maxAnswers {
		t.Errorf("%d answers are kept", len(g.tokens))
	}
	g.answered("3")
	for _, p := range g.tokens {
		if p.Answer == "3" || len(g.tokens) != maxAnswers-1 {
			t.Errorf("%d answers, among them %s", len(g.tokens), p.Answer)
		}
	}
}

// browser is a response that is read.
type browser struct {
	mu   sync.Mutex
	head http.Header
	b    bytes.Buffer
}

func (b *browser) Header() http.Header { return b.head }
func (b *browser) WriteHeader(int)     {}
func (b *browser) Flush()              {}
func (b *browser) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *browser) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// events are the names of what came, with ids.
func (b *browser) events(t *testing.T) (out []string) {
	t.Helper()
	id := ""
	for s := bufio.NewScanner(strings.NewReader(b.text())); s.Scan(); {
		switch name, value, _ := strings.Cut(s.Text(), ": "); name {
		case "id":
			id = value
		case "event":
			out, id = append(out, value+id), ""
		case "data":
			if !json.Valid([]byte(value)) {
				t.Errorf("no JSON: %s", value)
			}
		}
	}
	return out
}

// A page that comes back is sent what it has missed, or told to load itself
// again; a stream ends with its session.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{last: 500}
		h := w.hub()
		defer h.Close()
		var allowed atomic.Bool
		allowed.Store(true)
		serve := func(after int64) (*browser, func()) {
			b := &browser{head: http.Header{}}
			ctx, gone := context.WithCancel(t.Context())
			v := join(t, h, Trajectory)
			done := make(chan struct{})
			go func() {
				defer close(done)
				v.Serve(ctx, b, Stream{After: after, For: time.Hour, Allowed: allowed.Load})
			}()
			synctest.Wait()
			return b, func() { gone(); <-done }
		}
		b, gone := serve(498)
		w.happen(h, 1)
		time.Sleep(rest)
		synctest.Wait()
		if got := fmt.Sprint(b.events(t)); got != "[row499 row500 row501]" {
			t.Errorf("it resumed with %s", got)
		}
		gone()
		b, gone = serve(1)
		if got := fmt.Sprint(b.events(t)); got != "[reset]" {
			t.Errorf("too much was missed: %s", got)
		}
		gone()
		b, gone = serve(0)
		if got := b.events(t); len(got) != 0 || !strings.HasPrefix(b.text(), "retry: ") {
			t.Errorf("who wants new ones got %v", got)
		}
		allowed.Store(false)
		time.Sleep(alive)
		synctest.Wait()
		if h.n.Load() != 0 {
			t.Error("who may not look any more still does")
		}
		gone()
		_, gone = serve(0)
		time.Sleep(time.Hour)
		synctest.Wait()
		if h.n.Load() != 0 {
			t.Error("a stream outlasts its session")
		}
		gone()
		_, gone = serve(0)
		h.Close()
		gone()
		if _, err := h.Join(t.Context(), None, ""); err == nil {
			t.Error("a hub that is closed lets somebody in")
		}
	})
}
