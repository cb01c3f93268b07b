package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/confirm"
)

// An answer lets the call go on that waits; a second one is told who was first.
func TestAnswer(t *testing.T) {
	r := newRig(t, nil)
	u, other := r.user(), r.user()
	q := r.ask(nil)
	got := make(chan confirm.Answer, 1)
	go func() {
		a, _ := r.desk.Wait(context.Background(), q)
		got <- a
	}()
	if status, body := u.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"once"}`); status != http.StatusOK || !strings.Contains(body, `"answer":"once"`) {
		t.Fatalf("%d %s", status, body)
	}
	if a := <-got; a != confirm.Once {
		t.Errorf("the call got %q", a)
	}
	if status, body := other.send("POST", "/api/questions/"+q.ID+"/answer", `{"answer":"deny"}`); status != http.StatusConflict || !strings.Contains(body, "once, by console") {
		t.Errorf("a second answer: %d %s", status, body)
	}
	if !slices.Equal(r.said, []confirm.Answer{confirm.Once}) {
		t.Errorf("told of %v", r.said)
	}
	// By the page's form.
	q = r.ask(func(q *confirm.Question) { q.Grant = [32]byte{} })
	form := func(answer string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", r.srv.URL+"/console/confirmations/"+q.ID, strings.NewReader(url.Values{"csrf": {u.csrf}, "answer": {answer}}.Encode()))
		must(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, body := u.do(req)
		return resp.StatusCode, body
	}
	if status, body := form("trajectory"); status != http.StatusBadRequest || !strings.Contains(body, "allow it once") {
		t.Errorf("a grant of what can't be granted: %d %s", status, body)
	}
	if status, _ := form("maybe"); status != http.StatusBadRequest {
		t.Errorf("no answer: %d", status)
	}
	if status, _ := form("deny"); status != http.StatusSeeOther {
		t.Errorf("deny: %d", status)
	}
	// Too late, and never there.
	if status, body := u.send("POST", "/api/questions/01ARZ3NDEKTSV4RRFFQ69G5FAZ/answer", `{"answer":"once"}`); status != http.StatusNotFound || !strings.Contains(body, "hint") {
		t.Errorf("an unknown question: %d %s", status, body)
	}
}

// A page offers to trust the folder of a question, after the usual answers, and what is
// told of the answer does not name it. An answer about another folder is none.
func TestAnswerTrusts(t *testing.T) {
	r := newRig(t, nil)
	u := r.user()
	const folder = `/home/me/a "b" <i>`
	q := r.ask(func(q *confirm.Question) { q.Folder = folder })
	_, page := u.get("/console/confirmations")
	const button = `value="trust:/home/me/a &#34;b&#34; &lt;i&gt;"`
	if at := strings.Index(page, button); at < strings.Index(page, `value="once"`) || at > strings.Index(page, `value="deny"`) || !strings.Contains(page, "count as yours") {
		t.Errorf("the page is %s", page)
	}
	answer := func(a confirm.Answer) (int, string) {
		body, err := json.Marshal(Answering{Answer: string(a)})
		must(t, err)
		return u.send("POST", "/api/questions/"+q.ID+"/answer", string(body))
	}
	for _, other := range []confirm.Answer{confirm.Trust("/home/me"), confirm.Trust(""), confirm.Trust(folder + "/")} {
		if status, body := answer(other); status != http.StatusBadRequest || !strings.Contains(body, "not-offered") {
			t.Errorf("%s: %d %s", other, status, body)
		}
	}
	if len(r.trusted) > 0 {
		t.Errorf("%q are trusted", r.trusted)
	}
	if status, body := answer(confirm.Trust(folder)); status != http.StatusOK || !strings.Contains(body, `"answer":"once"`) {
		t.Errorf("%d %s", status, body)
	}
	if !slices.Equal(r.trusted, []string{folder}) || !slices.Equal(r.said, []confirm.Answer{"trust"}) {
		t.Errorf("%q are trusted, and told is %q", r.trusted, r.said)
	}
}
