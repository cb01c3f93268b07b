package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The load under which memory is measured: each worker has conversations of its
// own, with streamed answers.
const (
	workers  = 16
	requests = 48  // of each worker
	deltas   = 256 // of an answer
)

// peak is the most memory, in bytes, that margay serve takes under the load, as the
// system counts it; 0 where the system does not say.
func peak(bin string) (_ int64, err error) {
	dir, err := os.MkdirTemp("", "ab")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	up := httptest.NewServer(http.HandlerFunc(answer))
	defer up.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	serve := exec.CommandContext(ctx, bin, "serve", "--listen", "127.0.0.1:0", "--upstream", up.URL+"/v1", "--state-dir", filepath.Join(dir, "state"))
	serve.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	said, err := serve.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := serve.Start(); err != nil {
		return 0, err
	}
	defer func() {
		stop()
		_ = serve.Wait()
	}()
	base := ""
	for s := bufio.NewScanner(said); base == "" && s.Scan(); {
		for word := range strings.FieldsSeq(s.Text()) {
			if word = strings.Trim(word, `",;`); strings.HasPrefix(word, "http://127.0.0.1:") {
				base = strings.TrimSuffix(word, "/v1")
			}
		}
	}
	if base == "" {
		return 0, fmt.Errorf("%s serve did not say where it listens", bin)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	failed := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for r := range requests {
				if failed[w] = ask(base+"/v1/chat/completions", w, r); failed[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return 0, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", serve.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n << 10, err
		}
	}
	return 0, err
}

// ask makes the r-th request of a worker's: the r%8-th of a conversation.
func ask(url string, worker, r int) error {
	var b strings.Builder
	b.WriteString(`{"model":"m","stream":true,"messages":[`)
	for turn := range r%8 + 1 {
		if turn > 0 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":"answer %d"},`, turn)
		}
		fmt.Fprintf(&b, `{"role":"user","content":"worker %d, conversation %d, turn %d: %s"}`, worker, r/8, turn, strings.Repeat("an ordinary sentence of no secret at all; ", 100))
	}
	b.WriteString(`]}`)
	res, err := http.Post(url, "application/json", strings.NewReader(b.String())) //nolint:gosec // the gateway of this measurement
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("a request got %s, %w", res.Status, err)
	}
	return nil
}

// answer streams words, as a model does.
func answer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range deltas {
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d of an answer \"},\"finish_reason\":null}]}\n\n", i)
	}
	fmt.Fprint(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}
