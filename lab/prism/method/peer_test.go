package method

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/testkit"
)

// TestMain is a peer, too: the tests' own scanner takes out the word "secret",
// fails at "fail", stays silent at "silent", and ends at "end".
func TestMain(m *testing.M) {
	if os.Getenv("HOME") != fakeHome {
		os.Exit(m.Run())
	}
	fmt.Println(`{"ready": true, "version": "0"}`)
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var q struct{ Text []byte }
		if err := json.Unmarshal(line, &q); err != nil {
			fmt.Printf("{\"error\": %q}\n", err)
			continue
		}
		text := string(q.Text)
		switch {
		case strings.Contains(text, "fail"):
			fmt.Println(`{"error": "it can't"}`)
			continue
		case strings.Contains(text, "silent"):
			select {}
		case strings.Contains(text, "end"):
			return
		}
		spans := [][2]int{}
		for at := 0; ; at += len("secret") {
			i := strings.Index(text[at:], "secret")
			if i < 0 {
				break
			}
			at += i
			spans = append(spans, [2]int{at, at + len("secret")})
		}
		b, _ := json.Marshal(map[string]any{"spans": spans})
		fmt.Println(string(b))
	}
}

const fakeHome = "/the/tests/own/peer"

// fakePeer starts the test binary as a peer.
func fakePeer(t *testing.T) *Peer {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is a shell script: run this elsewhere")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"venv/bin/python": "#!/bin/sh\nHOME=" + fakeHome + " exec '" + self + "'\n", "peer.py": "", ".installed": ""} {
		f := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(f), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p, err := NewPeer(context.Background(), "fake", dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestSuitePeer(t *testing.T) { suite(t, &plainPeer{fakePeer(t)}) }

// plainPeer keeps the words at which the stand-in misbehaves from it.
type plainPeer struct{ *Peer }

func (p *plainPeer) Filter(ctx context.Context, in *Input) (Output, error) {
	for _, w := range []string{"fail", "silent", "end"} {
		if strings.Contains(in.Text, w) {
			return pass(in), nil
		}
	}
	return p.Peer.Filter(ctx, in)
}

func TestPeer(t *testing.T) {
	p := fakePeer(t)
	if got := removed(t, p, "a secret, a \xffsecret"); len(got) != 2 {
		t.Errorf("%q", got)
	}
	ctx := context.Background()
	if _, err := p.Filter(ctx, input("fail")); err == nil || p.err != nil {
		t.Error("an answer that is an error", err, p.err)
	}
	if got := removed(t, p, "secret"); len(got) != 1 {
		t.Error("after an error", got)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		_, err := p.Filter(ctx, input("silent"))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := p.Filter(context.Background(), input("secret")); err == nil {
		t.Error("a stopped peer answered")
	}
	if _, err := fakePeer(t).Filter(context.Background(), input("end")); err == nil {
		t.Error("a peer that ended answered")
	}
	if _, err := NewPeer(context.Background(), "presidio", t.TempDir()); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}

// The real ones, where they are installed.
func TestInstalledPeers(t *testing.T) {
	for name, want := range map[string]string{
		"detect-secrets": "AKIAQ3EGRWXP5TZ6NB7M", "presidio": "jane.doe@example.org",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := NewPeer(context.Background(), name, filepath.Join("..", "..", "..", PeersDir))
			if errors.Is(err, ErrUnavailable) {
				testkit.Missing(t, "peers", "run scripts/peers install")
			}
			if err != nil {
				t.Fatal(err)
			}
			got := removed(t, p, "é deploy with AKIAQ3EGRWXP5TZ6NB7M and write \xff to jane.doe@example.org soon")
			if !strings.Contains(strings.Join(got, "|"), want) {
				t.Errorf("%s takes out %q", name, got)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
