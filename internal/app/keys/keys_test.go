package keys

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/margaydev/margay/secret"
)

func TestLoadMakesAndKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "keys")
	k, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if k.Fingerprint == k.Pseudonym || k.Pseudonym == k.Seal || k.Seal == ([32]byte{}) {
		t.Error("the keys are not independent")
	}
	again, err := Load(dir)
	if err != nil || again != k {
		t.Errorf("the keys changed: %v", err)
	}
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", st.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("the folder has %d files, %v", len(left), err)
	}
	for _, p := range Paths(dir) {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// Whoever starts at the same time gets the same keys.
func TestLoadRace(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "keys")
		got := make([]secret.Keys, 8)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				<-start
				k, err := Load(dir)
				if err != nil {
					t.Error(err)
				}
				got[i] = k
			})
		}
		close(start)
		wg.Wait()
		for i := range got {
			if got[i] != got[0] {
				t.Fatal("two loads at once disagree")
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"open permissions": func(p string) error { return os.Chmod(p, 0o640) },
		"half written":     func(p string) error { return os.WriteFile(p, []byte(version+"\nAAAA"), 0o600) },
		"other version":    func(p string) error { return os.WriteFile(p, []byte("margay-key-v9\nAAAA\n"), 0o600) },
		"empty":            func(p string) error { return os.Truncate(p, 0) },
		"folder":           func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"link":             func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := Load(dir); err != nil {
				t.Fatal(err)
			}
			path := Paths(dir)[1]
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			_, err = Load(dir)
			if err == nil {
				t.Fatal("it was taken")
			}
			if name == "open permissions" && (!errors.Is(err, ErrExposed) || !strings.Contains(err.Error(), "chmod 600 "+path)) {
				t.Errorf("got %v", err)
			}
			if lines := strings.Fields(string(before)); strings.Contains(err.Error(), lines[1]) {
				t.Error("the error quotes the key")
			}
		})
	}
}

func TestText(t *testing.T) {
	k := secret.NewKeys()
	text := base64.StdEncoding.EncodeToString(slices.Concat(k.Fingerprint[:], k.Pseudonym[:], k.Seal[:]))
	got, err := FromText(text + "\n")
	if err != nil || got != k {
		t.Errorf("round trip failed: %v", err)
	}
	for _, bad := range []string{"", "AAAA", text[4:], "*" + text} {
		if _, err := FromText(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("got %v", err)
		}
	}
}
