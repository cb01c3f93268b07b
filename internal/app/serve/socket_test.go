//go:build unix

package serve

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/margaydev/margay/hook"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/localsock"
	"github.com/margaydev/margay/internal/app/state"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
)

// Many hooks at once, each with its own answer; and nothing is left when the
// listener closes.
func TestServeHooks(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir, err := os.MkdirTemp("", "sh") // short, for the socket's path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st := &state.State{Keys: secret.Keys{Pseudonym: [32]byte{1}}, Store: memory.New()}
	log := slog.New(slog.DiscardHandler)
	h, err := NewHooks(config.Default(), st, "", log)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, localsock.Name)
	ln, err := localsock.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveLocal(context.Background(), ln, &live{now: &Server{hooks: h}}, log)
	}()
	token := "gh" + "p_R4nd0mT0kenV4lu3Xq7ZpLw9sKd2fGh5jBv8"
	var all sync.WaitGroup
	for i := range 2 * maxHooks {
		all.Go(func() {
			conn, err := localsock.Dial(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			text := "ls"
			if i%2 == 0 {
				text = "echo " + token
			}
			a, err := hook.Ask(context.Background(), conn, "cursor", []byte(`{"hook_event_name":"beforeShellExecution","conversation_id":"c","command":"`+text+`"}`))
			if denied := strings.Contains(string(a.Out.Bytes()), `"permission":"deny"`); err != nil || denied != (i%2 == 0) {
				t.Errorf("%d: %v, %s", i, err, a.Out.Bytes())
			}
		})
	}
	all.Wait()
	_ = ln.Close()
	<-done
	if _, err := localsock.Dial(context.Background(), path); !errors.Is(err, localsock.ErrNotRunning) {
		t.Errorf("closed: %v", err)
	}
}
