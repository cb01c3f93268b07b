//go:build unix

package gateway

import (
	"io"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

// limitFiles makes every write to a file fail as a full disk does, until the
// function that it returns is called.
func limitFiles(t *testing.T) (restore func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	none := was
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &none); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
}

// The disk fills up while a stream runs: what was decided is there, the secret
// is not, for its finding could not be recorded; the client is told why, and
// the upstream's request ends. With room again, all goes on.
func TestDiskIsFullInMidStream(t *testing.T) {
	value := random(48, 24)
	r, _, _ := onDisk(t, value)
	full, gone := make(chan struct{}), make(chan struct{})
	r.up.answer = func(w http.ResponseWriter, req *http.Request) {
		stream(w, delta(0, "content", "so far so good, "), delta(0, "content", "and "))
		<-full
		stream(w, delta(0, "content", value), delta(0, "content", " and more "))
		<-req.Context().Done()
		close(gone)
	}
	req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	head := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, head); err != nil {
		t.Fatal(err)
	}
	restore := limitFiles(t)
	close(full)
	rest, err := io.ReadAll(resp.Body)
	restore()
	if err != nil {
		t.Error(err)
	}
	got := string(head) + string(rest)
	out := joined(t, got)
	if !strings.HasPrefix(out["0 content"], "so far so good, ") || longest(got, value) > 3 || longest(r.log.String(), value) > 3 {
		t.Errorf("content of %d bytes; the secret's characters in a row: %d", len(out["0 content"]), longest(got, value))
	}
	if out["error"] != "denied" || !strings.Contains(got, "free some disk space") || !strings.Contains(got, "margay doctor") {
		t.Errorf("the error does not say what to do: %s", got[strings.LastIndex(got, "data:"):])
	}
	<-gone // the upstream's request has ended
	r.up.answer = func(w http.ResponseWriter, _ *http.Request) {
		stream(w, delta(0, "content", "it is "+value+" indeed, and more"), finish(0, "stop"), "[DONE]")
	}
	if _, got := r.post(t, "/v1/chat/completions", ask); joined(t, got)["0 content"] != "it is [REDACTED:api-key] indeed, and more" {
		t.Error("it does not go on when there is room again")
	}
}
