package places

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/workspace"
)

var keys = secret.Keys{Pseudonym: [32]byte{1}, Seal: [32]byte{2}}

func book(s Store) *Book {
	return New(Config{Store: s, Keys: &keys, Home: "/home/me", Dir: "/work", Roots: []string{"/fixed"}, State: []string{"/home/me/.config/margay"}})
}

// TestBook holds two books of one store, as two processes have them, to a model.
func TestBook(t *testing.T) {
	paths := []string{"/work", "/work/a", "/work/a/x.go", "/work/a/y.go", "/work/b", "/work/b/x.go", "/workshop", "/tmp/x"}
	rapid.Check(t, func(t *rapid.T) {
		ctx, s := context.Background(), memory.New()
		books := []*Book{book(s), book(s)}
		trusted, tainted := map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			b, p := rapid.SampledFrom(books).Draw(t, "book"), rapid.SampledFrom(paths).Draw(t, "path")
			var err error
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				err, trusted[p] = b.Trust(ctx, p), true
			case 1:
				var was bool
				if was, err = b.Distrust(ctx, p); was != trusted[p] {
					t.Fatalf("%s was trusted: %v", p, was)
				}
				delete(trusted, p)
			case 2:
				err, tainted[p] = b.Taint(ctx, []string{p}), true
			case 3:
				var want, got []string
				for f := range tainted {
					if Below(f, p) {
						want = append(want, f)
						delete(tainted, f)
					}
				}
				got, err = b.Endorse(ctx, p)
				if slices.Sort(want); !slices.Equal(got, want) {
					t.Fatalf("%s endorses %v, want %v", p, got, want)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			b = rapid.SampledFrom(books).Draw(t, "reader")
			m, err := b.Now(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range paths {
				root, in, holds := "", false, false
				for f := range trusted {
					if Below(p, f) && len(f) > len(root) {
						root = f
					}
				}
				for f := range tainted {
					in = in || Below(p, f)
					holds = holds || f != p && Below(f, p)
				}
				if got := m.Places.Root(p); got != root {
					t.Fatalf("%s is in %q, want %q", p, got, root)
				}
				if m.Tainted(p) != in || m.Holds(p) != holds {
					t.Fatalf("%s: tainted %v, holds %v; want %v, %v", p, m.Tainted(p), m.Holds(p), in, holds)
				}
			}
			if m.Holds("") != (len(tainted) > 0) {
				t.Fatalf("anywhere: %v, with %v", m.Holds(""), tainted)
			}
		}
		all, err := books[0].All(ctx)
		if err != nil || len(all) != len(trusted)+len(tainted) {
			t.Fatalf("%v, %v", all, err)
		}
	})
}

func TestMachine(t *testing.T) {
	ctx := context.Background()
	b := book(memory.New())
	m, err := b.Now(ctx, "")
	if err != nil || m.Dir != "/work" || m.Home != "/home/me" || !m.Follows() {
		t.Fatalf("%+v, %v", m, err)
	}
	if m, _ = b.Now(ctx, "/fixed/x"); m.Dir != "/fixed/x" || m.Places.Zone("/fixed/x/a") != workspace.Own || m.Places.Zone("/home/me/.config/margay/x") != workspace.Mediator {
		t.Errorf("%+v", m)
	}
	for _, bad := range []string{"", "a", "/", "/a/../b", "/a/", "/" + strings.Repeat("x", 4096)} {
		if err := b.Taint(ctx, []string{"/work/good", bad}); !errors.Is(err, ErrPath) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if b.Holds("") {
		t.Error("a part of what was refused was kept")
	}
	if err := b.Taint(ctx, []string{"/work/Sub/a.go"}); err != nil || !b.Tainted("/work/sub/A.go") || !b.Holds("/WORK") {
		t.Errorf("in another case: %v", err)
	}
}

// failing is a store that can't be read or takes no more.
type failing struct {
	Store

	err error
}

func (f *failing) Places(ctx context.Context, after int64) (map[[32]byte][]byte, bool, int64, error) {
	if f.err != nil {
		return nil, false, after, f.err
	}
	return f.Store.Places(ctx, after)
}

// A book fails where its store does, and where a row was moved or changed: it never
// takes less for tainted than there is.
func TestFails(t *testing.T) {
	ctx := context.Background()
	s := memory.New()
	f := &failing{Store: s}
	b := book(f)
	if err := b.Taint(ctx, []string{"/work/x"}); err != nil {
		t.Fatal(err)
	}
	f.err = errors.New("gone")
	if _, err := b.Now(ctx, ""); !errors.Is(err, f.err) {
		t.Errorf("the store is gone: %v", err)
	}
	if err := b.Taint(ctx, []string{"/work/y"}); !errors.Is(err, f.err) {
		t.Errorf("the store is gone: %v", err)
	}
	rows, _, _, err := s.Places(ctx, 0)
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	for id, sealed := range rows {
		if bytes.Contains(sealed, []byte("work")) {
			t.Error("the store can read a path")
		}
		other := memory.New()
		if err := other.PutPlaces(ctx, map[[32]byte][]byte{{1}: sealed}); err != nil {
			t.Fatal(err)
		}
		if _, err := book(other).Now(ctx, ""); !errors.Is(err, secret.ErrSealed) {
			t.Errorf("a row under another id: %v", err)
		}
		if err := s.DropPlaces(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	full := memory.New()
	many := make([]string, store.MaxPlaces)
	for i := range many {
		many[i] = fmt.Sprintf("/work/%d", i)
	}
	b = book(full)
	if err := b.Taint(ctx, many); err != nil {
		t.Fatal(err)
	}
	if err := b.Taint(ctx, []string{"/work/x"}); !errors.Is(err, store.ErrFull) || b.Tainted("/work/x") {
		t.Errorf("one more than the bound: %v", err)
	}
}

// TestScratch: scratch files of the agent's own are known until somebody else may
// have written to them.
func TestScratch(t *testing.T) {
	b := book(memory.New())
	known := func() (out string) {
		m, err := b.Now(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"/tmp/a", "/tmp/b"} {
			if m.Mine(p) {
				out += p
			}
			if m.Built(p) {
				out += "*"
			}
		}
		return out
	}
	for _, c := range []struct {
		wrote act.Scratch
		want  string
	}{
		{act.Scratch{}, ""},
		{act.Scratch{Whole: []string{"/tmp/a", "/tmp/b"}, Built: []string{"/tmp/b"}}, "/tmp/a/tmp/b*"},
		{act.Scratch{Lost: []string{"/tmp/a"}}, "/tmp/b*"},
		{act.Scratch{Whole: []string{"/tmp/a", "/tmp/b"}, Lost: []string{"/tmp/a"}}, "/tmp/b"},
		{act.Scratch{All: true, Whole: []string{"/tmp/a"}}, "/tmp/a"},
		{act.Scratch{All: true}, ""},
	} {
		if b.Wrote(c.wrote); known() != c.want {
			t.Errorf("after %+v: %s, want %s", c.wrote, known(), c.want)
		}
	}
}

// TestMayOffer: no folder may be offered in which strangers had a part in a file, as the
// store says in the end, or that is trusted already.
func TestMayOffer(t *testing.T) {
	ctx, s := t.Context(), memory.New()
	project := func(p string) string {
		if Below(p, "/home/me/src/a") {
			return "/home/me/src/a"
		}
		return ""
	}
	b := New(Config{Store: s, Keys: &keys, Home: "/home/me", Dir: "/work", Roots: []string{"/work"}, Project: project})
	offers := func(want string) {
		t.Helper()
		for b, want := range map[*Book]string{b: want, book(s): ""} { // one knows no projects
			m, err := b.Now(ctx, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Project("/home/me/src/a/b.go"); got != want {
				t.Errorf("it offers %q, want %q", got, want)
			}
			if got := m.Project("/home/me/other"); got != "" {
				t.Errorf("it offers %q", got)
			}
		}
	}
	offers("/home/me/src/a")
	for _, theirs := range []string{"/home/me/src/a/x.go", "/home/me/src/A/x.go", "/home/me/src/a", "/home/me/src"} {
		if err := book(s).Taint(ctx, []string{theirs}); err != nil { // another process
			t.Fatal(err)
		}
		offers("")
		if _, err := book(s).Endorse(ctx, theirs); err != nil {
			t.Fatal(err)
		}
		offers("/home/me/src/a")
	}
	if err := book(s).Trust(ctx, "/home/me/src/a"); err != nil {
		t.Fatal(err)
	}
	offers("")
}
