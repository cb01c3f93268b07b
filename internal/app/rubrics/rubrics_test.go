package rubrics_test

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/signed"
)

// publish signs rubrics and puts them into a folder.
func publish(f rubrics.Folder, rs ...*rubric.Rubric) ([]string, error) {
	files, err := f.Sign(rs...)
	if err != nil {
		return nil, err
	}
	return f.Put(files...)
}

// folder is the registry in a state folder.
func folder(state, keyDir string) rubrics.Folder {
	return rubrics.Of(&config.Config{StateDir: state, KeyDir: keyDir})
}

func draw(t *testing.T, name, title string, revision string) *rubric.Rubric {
	t.Helper()
	text, err := library.Starter(name, []string{"dob"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text = strings.Replace(text, "revision: 1 ", "revision: "+revision+" ", 1)
	r, err := rubric.Parse(name, []byte(strings.Replace(text, "title: what", "title: "+title+" what", 1)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPublish: what is published is found, under the user's own key; a name is
// never taken back to an older revision, nor given another text as the same.
func TestPublish(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, filepath.Join(dir, "keys"))
	if reg, refused, err := f.Open(nil); err != nil || len(reg.All())+len(refused) != 0 {
		t.Fatal(reg, refused, err)
	}
	one := draw(t, "one", "a", "1")
	for range 2 { // again is not a mistake
		if _, err := publish(f, one, draw(t, "two", "a", "1")); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []*rubric.Rubric{draw(t, "one", "b", "1")} {
		if _, err := publish(f, draw(t, "three", "a", "1"), bad); !errors.Is(err, rubrics.ErrOlder) {
			t.Errorf("%v", err)
		}
	}
	later := draw(t, "one", "b", "2")
	if _, err := publish(f, later); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(f, one); !errors.Is(err, rubrics.ErrOlder) {
		t.Errorf("went back to an older revision: %v", err)
	}
	reg, refused, err := f.Open(nil)
	if err != nil || len(refused) != 0 || len(reg.All()) != 3 {
		t.Fatal(reg.All(), refused, err)
	}
	if reg.Active(one) || !reg.Active(later) {
		t.Error("the older revision is in force")
	}
	if st, err := os.Stat(filepath.Join(dir, "keys", "rubric.key")); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Error(st, err)
	}
}

// TestTrust: a stranger's rubric is refused until their key is in the folder.
func TestTrust(t *testing.T) {
	mine, theirs := t.TempDir(), t.TempDir()
	f, g := folder(mine, filepath.Join(mine, "keys")), folder(theirs, filepath.Join(theirs, "keys"))
	r := draw(t, "one", "a", "1")
	key, err := g.Key()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Put(rubrics.Signed{Rubric: r, File: rubric.Sign(r, key)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Open(nil); !errors.Is(err, rubrics.ErrRefused) || !errors.Is(err, signed.ErrUnknownKey) || !strings.Contains(err.Error(), f.Dir()) {
		t.Errorf("releases are held to a folder that has what is refused: %v", err)
	}
	reg, refused, err := f.Read(nil)
	if err != nil || len(reg.All()) != 0 || len(refused) != 1 || !errors.Is(refused[0], signed.ErrUnknownKey) {
		t.Fatal(reg.All(), refused, err)
	}
	pub, _ := key.Public().(ed25519.PublicKey)
	name := filepath.Join(f.Dir(), "them"+signed.KeyExt)
	if err := os.WriteFile(name, signed.FormatKey(pub), 0o600); err != nil {
		t.Fatal(err)
	}
	if reg, refused, err = f.Open(nil); err != nil || len(reg.All()) != 1 || len(refused) != 0 {
		t.Fatal(reg.All(), refused, err)
	}
	for _, bad := range []string{"", "margay-rubric-key-v2\nAAAA\n", "margay-rubric-key-v1\nAAAA\n"} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Open(nil); err == nil {
			t.Errorf("%q was taken for a key", bad)
		}
	}
}

// TestOpen: releases are held to a registry that is whole, or to none.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := rubrics.Of(&config.Config{KeyDir: dir, Declassify: config.Declassify{Rubrics: filepath.Join(dir, "nowhere")}}).Open(nil); err == nil {
		t.Error("a folder that was named is not there, and nobody said so")
	}
	f := folder(dir, filepath.Join(dir, "keys"))
	if _, err := publish(f, draw(t, "one", "a", "1")); err != nil {
		t.Fatal(err)
	}
	later, err := publish(f, draw(t, "one", "b", "2"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(later[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(later[0], []byte(strings.Replace(string(b), "title", "titel", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	// The earlier revision is not to hold again because the later one was altered.
	if _, _, err := f.Open(nil); !errors.Is(err, rubrics.ErrRefused) || !errors.Is(err, signed.ErrAltered) {
		t.Errorf("%v", err)
	}
	if reg, refused, err := f.Read(nil); err != nil || len(reg.All()) != 1 || len(refused) != 1 {
		t.Errorf("%v %v %v", reg.All(), refused, err)
	}
	if err := os.WriteFile(later[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	// One that has expired is remembered, and stops nothing else.
	reg, refused, err := f.Open(func() time.Time { return time.Now().AddDate(50, 0, 0) })
	if err != nil || len(refused) != 2 || len(reg.All()) != 2 {
		t.Errorf("%v %v", refused, err)
	}
}

// TestPutAll: rubrics are put into the folder together, or none of them.
func TestPutAll(t *testing.T) {
	dir := t.TempDir()
	f := folder(dir, filepath.Join(dir, "keys"))
	one, other, two := draw(t, "one", "a", "1"), draw(t, "one", "b", "1"), draw(t, "two", "a", "1")
	if _, err := publish(f, two, one, other); !errors.Is(err, rubrics.ErrOlder) {
		t.Errorf("two texts as one revision: %v", err)
	}
	// The second name is taken by a folder.
	names, err := publish(f, one)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(names[0]), os.Mkdir(names[0], 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(f, two, one); err == nil {
		t.Error("a file replaced a folder")
	}
	left, err := os.ReadDir(f.Dir())
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
