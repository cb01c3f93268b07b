package child

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/internal/problem"
)

func TestEnv(t *testing.T) {
	got := Env([]string{"A=1", "KEYS=k", "NO_PROXY=corp", "OPENAI_BASE_URL=https://old"}, "http://127.0.0.1:1/t/v1", "KEYS")
	// exec takes the last of several.
	last := map[string]string{}
	for _, kv := range got {
		n, v, _ := strings.Cut(kv, "=")
		last[n] = v
	}
	want := map[string]string{
		"A": "1", "OPENAI_BASE_URL": "http://127.0.0.1:1/t/v1", "OPENAI_API_BASE": "http://127.0.0.1:1/t/v1",
		"NO_PROXY": "corp,127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
	}
	for n, v := range want {
		if last[n] != v {
			t.Errorf("%s is %q, want %q", n, last[n], v)
		}
	}
	if len(last) != len(want) {
		t.Errorf("got %v", got)
	}
}

func TestBaseURLsIsACopy(t *testing.T) {
	BaseURLs()[0] = "x"
	if slices.Contains(BaseURLs(), "x") {
		t.Error("a caller changed the list")
	}
}

func TestFind(t *testing.T) {
	_, err := Find("no-such-program-here")
	var p *problem.Error
	if !errors.As(err, &p) || p.Code != problem.BadUsage || p.Hint == "" || strings.Count(err.Error(), "no-such-program-here") != 1 {
		t.Errorf("got %v", err)
	}
}

// What is found and is no program for this machine fails in words.
func TestNoProgram(t *testing.T) {
	path := t.TempDir() + "/x"
	if err := os.WriteFile(path, []byte("\x00\x01"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := Command{Path: path, Args: []string{path}}
	code, err := c.Run()
	var p *problem.Error
	if code != problem.Failed || !errors.As(err, &p) || p.Hint == "" {
		t.Errorf("%d, %v", code, err)
	}
}
