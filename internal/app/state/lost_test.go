package state

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/match"
)

// TestLostDatabase: whatever takes the database away from keys, nothing opens,
// nothing is changed, and --new-state is asked for once.
func TestLostDatabase(t *testing.T) {
	for _, byEnv := range []bool{false, true} {
		for name, lose := range map[string]func(t *testing.T, c *config.Config){
			"removed":   func(t *testing.T, c *config.Config) { remove(t, c.StorePath()) },
			"truncated": func(t *testing.T, c *config.Config) { remove(t, c.StorePath()); write(t, c.StorePath(), "") },
			"replaced":  func(t *testing.T, c *config.Config) { replace(t, c) },
			"replaced, and nothing counts": func(t *testing.T, c *config.Config) {
				remove(t, countPath(c))
				replace(t, c)
			},
			"what counts is damaged": func(t *testing.T, c *config.Config) { write(t, countPath(c), "margay-registered-v1 x\n") },
			"all but the keys": func(t *testing.T, c *config.Config) {
				remove(t, countPath(c))
				remove(t, c.StorePath())
			},
		} {
			t.Run(name, func(t *testing.T) {
				c := config.Default()
				c.StateDir = t.TempDir()
				if byEnv {
					t.Setenv(config.EnvKeys, base64.StdEncoding.EncodeToString(make([]byte, 96)))
					c.NewState = true // keys in the environment look like those of an earlier start
				}
				st := opened(t, c)
				c.NewState = false
				rec, _, err := match.Prepare(&st.Keys, strings.Repeat("0", 26), "THING", secret.KindAPIKey, secret.SourceRegistered, "test", []byte("k4Qz8mfp9LwX2vTn7RbY"), time.Unix(1, 0))
				if err == nil {
					err = st.Store.PutSecrets(t.Context(), []secret.Record{rec})
				}
				if err != nil {
					t.Fatal(err)
				}
				st.Close()
				opened(t, c).Close() // a second start is no loss
				lose(t, c)
				before := size(c.StorePath())
				_, err = Open(t.Context(), c)
				if err == nil || !strings.Contains(err.Error(), c.StorePath()) {
					t.Fatalf("opened: %v", err)
				}
				if lost := Lost(t.Context(), c); lost == nil || lost.Error() != err.Error() {
					t.Errorf("Lost says %v, and Open %v", lost, err)
				}
				if size(c.StorePath()) != before {
					t.Error("a refused start changed the database")
				}
				c.NewState = true
				opened(t, c).Close()
				c.NewState = false
				opened(t, c).Close()
			})
		}
	}
}

// TestCount: the number beside the database follows it.
func TestCount(t *testing.T) {
	c := config.Default()
	c.StateDir = t.TempDir()
	st := opened(t, c)
	defer st.Close()
	is := func(want int) {
		t.Helper()
		if n, known, err := Registered(c); n != want || !known || err != nil {
			t.Errorf("%d secrets, %v, %v; want %d", n, known, err, want)
		}
	}
	is(0)
	for i, v := range []string{"k4Qz8mfp9LwX2vTn7RbY", "Vn2mq7Xc4pLs9RtK3wZb8"} {
		rec, _, err := match.Prepare(&st.Keys, strings.Repeat("0", 25)+string(rune('1'+i)), "THING", secret.KindAPIKey, secret.SourceRegistered, "test", []byte(v), time.Unix(1, 0))
		if err == nil {
			err = st.Store.PutSecrets(t.Context(), []secret.Record{rec})
		}
		if err != nil {
			t.Fatal(err)
		}
		is(i + 1)
	}
	if err := st.Store.DeleteSecret(t.Context(), strings.Repeat("9", 26)); err == nil {
		t.Error("removed what is not there")
	}
	is(2)
	if err := st.Store.DeleteSecret(t.Context(), strings.Repeat("0", 25)+"1"); err != nil {
		t.Error(err)
	}
	is(1)
}

func opened(t *testing.T, c *config.Config) *State {
	t.Helper()
	st, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// replace puts a database in place that was made for nobody.
func replace(t *testing.T, c *config.Config) {
	t.Helper()
	other := config.Default()
	other.StateDir, other.NewState = t.TempDir(), true
	opened(t, other).Close()
	b, err := os.ReadFile(other.StorePath())
	if err != nil {
		t.Fatal(err)
	}
	remove(t, c.StorePath())
	write(t, c.StorePath(), string(b))
}

func remove(t *testing.T, path string) {
	t.Helper()
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + end); err != nil && end == "" {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func size(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return st.Size()
}
