package console

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
)

// A page that comes back gets what it has missed; one that missed too much is
// told to load itself again.
func TestStream(t *testing.T) {
	r := newRig(t, nil)
	u := r.user()
	events := r.full("x")
	s := u.stream("?topic=trajectory&id="+trajectoryOne, "")
	s.until("retry:")
	for !r.c.Watches(trajectoryOne) {
		runtime.Gosched() // until the stream has joined
	}
	r.c.Publish([]audit.Event{{Trajectory: trajectoryOne, Kind: audit.KindTokens, Payload: audit.Payload{Tokens: &audit.Progress{Answer: "A", Series: audit.Series{N: 8, Zone: "gggggggg"}}}}})
	s.until("event: tokens", `"answer":"A"`)
	more := r.full("y")
	r.c.Publish(more)
	text := s.until(fmt.Sprintf("id: %d\n", more[len(more)-1].Seq))
	if strings.Contains(text, fmt.Sprintf("id: %d\n", events[0].Seq)) {
		t.Error("the stream told of what was before it")
	}
	s.close()
	// It resumes behind the last that it has seen.
	s = u.stream("?topic=trajectory&id="+trajectoryOne, fmt.Sprint(more[2].Seq))
	text = s.until(fmt.Sprintf("id: %d\n", more[len(more)-1].Seq))
	if strings.Contains(text, fmt.Sprintf("id: %d\n", more[2].Seq)) || !strings.Contains(text, fmt.Sprintf("id: %d\n", more[3].Seq)) {
		t.Error("it did not resume where it was")
	}
	s.close()
	for range 20 {
		r.full("z")
	}
	s = u.stream("?topic=trajectory&after=1&id="+trajectoryOne, "")
	s.until("event: reset")
	s.close()
	// Another trajectory's viewers are not told.
	other := flow.NewID()
	s = u.stream("?topic=trajectory&id="+other, "")
	s.until("retry:")
	r.c.Publish(r.full("w"))
	s.until("event: count")
	if strings.Contains(s.seen.String(), "event: row") {
		t.Error("it was told of another trajectory")
	}
	s.close()
	// The queue and the overview tell what has changed.
	s = u.stream("?topic=questions", "")
	q := r.ask(nil)
	s.until(q.ID)
	s.close()
	s = u.stream("?topic=overview", "")
	s.until("overview-latest", "overview-facts")
	// The end of the console ends its streams.
	r.c.Close()
	b := make([]byte, 1<<16)
	for {
		if _, err := s.body.Read(b); err != nil {
			break
		}
	}
}

// stream is an open stream of events.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	seen bytes.Buffer
}

func (u *user) stream(query, last string) *stream {
	u.r.t.Helper()
	req, err := http.NewRequestWithContext(u.r.t.Context(), "GET", u.r.srv.URL+"/api/stream"+query, http.NoBody)
	must(u.r.t, err)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := u.http.Do(req)
	must(u.r.t, err)
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		u.r.t.Fatalf("stream: %d %s", resp.StatusCode, b)
	}
	return &stream{t: u.r.t, body: resp.Body}
}

// until reads until all words have come.
func (s *stream) until(words ...string) string {
	s.t.Helper()
	b := make([]byte, 1<<16)
	for {
		all := true
		for _, w := range words {
			all = all && strings.Contains(s.seen.String(), w)
		}
		if all {
			return s.seen.String()
		}
		n, err := s.body.Read(b)
		s.seen.Write(b[:n])
		if err != nil {
			s.t.Fatalf("the stream ended without %q: %v\n%s", words, err, s.seen.String())
		}
	}
}

func (s *stream) close() { _ = s.body.Close() }
