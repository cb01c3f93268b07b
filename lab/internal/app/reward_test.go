package app

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/reward"
	"github.com/margaydev/margay/lab/traj/defence"
)

// The endpoint says where it is, answers there, and ends with its context.
func TestServeReward(t *testing.T) {
	mine, err := newOurs(&options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := mine.rubrics.Config(defence.MargayConfig{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := reward.New(reward.Options{Seed: 161, N: 3, Margay: cfg})
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	a := &app{cli.Command{Out: in}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.serveReward(ctx, "127.0.0.1:0", j) }()
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(string(line[:n]))+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK || !strings.Contains(string(body), `"tasks":3`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
