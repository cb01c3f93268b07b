package firstuse

import (
	"errors"
	"strings"
	"testing"

	"github.com/margaydev/margay/taint/effect"
)

func TestRead(t *testing.T) {
	for _, name := range Names() {
		l, err := Open(name)
		if err != nil || len(l.Tools) < 5 {
			t.Errorf("%s: %d labels, %v", name, len(l.Tools), err)
		}
	}
	l, err := Read(strings.NewReader(`{"tool":"a","effect":"observe","source":"world"}` + "\n" + `{"tool":"b","effect":"reach","source":"user","open":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := l.Profile("b", "x"); !ok || p != (effect.Profile{Effect: effect.Reach, Own: true, Open: true}) {
		t.Errorf("b is %+v, %v", p, ok)
	}
	if p, ok := l.Profile("a", ""); !ok || p != (effect.Profile{}) {
		t.Errorf("a is %+v, %v", p, ok)
	}
	if _, ok := l.Profile("c", ""); ok {
		t.Error("c has a label")
	}
	l, err = Read(strings.NewReader(`{"folder":"/home/me/x","own":true,"why":"his"}` + "\n" + `{"folder":"/home/me/x/y","own":false,"why":"a clone"}`))
	if err != nil || !l.Folders["/home/me/x"] || l.Folders["/home/me/x/y"] || len(l.Tools) > 0 {
		t.Errorf("folders are %+v, %v", l.Folders, err)
	}
	for p, want := range map[string]string{"/home/me/x": "/home/me/x", "/home/me/x/a/b": "/home/me/x", "/home/me/x/y/z": "/home/me/x/y", "/home/me": "", "/home/me/xy": "", "/": "", "": ""} {
		if got := l.Project(p); got != want {
			t.Errorf("%q is in %q, want %q", p, got, want)
		}
	}
	for _, bad := range []string{
		`{"folder":"x","own":true,"why":"his"}`, `{"folder":"/x/","own":true,"why":"his"}`, `{"folder":"/x","why":"his"}`, `{"folder":"/x","own":true}`, `{"folder":"/x","own":true,"why":"his","tool":"a"}`,
		`{"folder":"/x","own":true,"why":"his"}` + "\n" + `{"folder":"/x","own":false,"why":"not his"}`, `{"tool":"a","effect":"observe","source":"user","own":true}`,
		`{"tool":"a","effect":"reads","source":"world"}`, `{"tool":"a","effect":"observe","source":"mine"}`, `{"effect":"observe","source":"user"}`,
		`{"tool":"a","effect":"observe","source":"world","why":"x"}`, "{", `{"tool":"a","effect":"observe","source":"user"}` + "\n" + `{"tool":"a","effect":"edit","source":"user"}`,
	} {
		if _, err := Read(strings.NewReader(bad)); !errors.Is(err, ErrLabel) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := Open("no such file"); err == nil || !strings.Contains(err.Error(), "toolemu") {
		t.Errorf("%v", err)
	}
}
