package session

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/observe"
)

// What a model said to one of 300 callers is known when that caller comes back,
// in the same process, in another that runs beside it and after a restart; no
// other caller's words are. The store learns none of the words.
func TestQuotesOfManyCallers(t *testing.T) {
	ctx := context.Background()
	store, keys := memory.New(), secret.NewKeys()
	start := func() *Registry {
		p, err := taint.New(taint.Config{Scheme: observe.FourPoint()})
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(Config{Store: store, Labels: NewLabelBook(p, 0), Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	open := func(r *Registry, caller int) *Session {
		s, err := r.Open(ctx, &Request{Caller: fmt.Sprint("caller ", caller), Messages: [][]byte{{1}}, Roles: []flow.Role{flow.RoleUser}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const callers = 300
	said := func(caller int) string {
		return strings.Repeat(fmt.Sprintf("the rent of %03d ", caller), 12)
	}
	untrusted := label.Label{Integrity: label.Untrusted}
	first, beside := start(), start()
	for i := range callers {
		open(beside, i)
		s := open(first, i)
		s.Quote([]string{said(i)}, untrusted, nil)
		if err := s.SaveQuotes(ctx); err != nil {
			t.Fatal(err)
		}
		rows, _, err := store.Said(ctx, s.caller, 0)
		if err != nil || len(rows) != 1 || bytes.Contains(rows[0], []byte("rent")) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
	}
	for name, r := range map[string]*Registry{"the same process": first, "beside it": beside, "after a restart": start()} {
		for i := range callers {
			found := open(r, i).Quotes.Find("We go on: " + said(i))
			if len(found) == 0 || found[0].Label != untrusted {
				t.Fatalf("%s: what was said to caller %d is not known: %v", name, i, found)
			}
			if found := open(r, (i+1)%callers).Quotes.Find(said(i)); len(found) > 0 {
				t.Fatalf("%s: caller %d knows what was said to another", name, i+1)
			}
		}
	}
}

// A row that was changed, or is another caller's, is an error: nothing is
// decided without what it says.
func TestQuotesOfAnother(t *testing.T) {
	ctx := context.Background()
	r := bounded(t, "")
	open := func(caller string) (*Session, error) {
		return r.Open(ctx, &Request{Caller: caller, Messages: [][]byte{{1}}, Roles: []flow.Role{flow.RoleUser}})
	}
	s, err := open("a")
	if err != nil {
		t.Fatal(err)
	}
	s.Quote([]string{strings.Repeat("somebody's words, ", 9)}, label.Label{Integrity: label.Untrusted}, nil)
	if err := s.SaveQuotes(ctx); err != nil {
		t.Fatal(err)
	}
	rows, _, err := r.cfg.Store.Said(ctx, s.caller, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cfg.Store.PutSaid(ctx, r.Keyed("margay caller v1", []byte("b")), rows); err != nil {
		t.Fatal(err)
	}
	if _, err := open("b"); err == nil {
		t.Error("another caller's row was read")
	}
}

// unread is a store that does not tell what models said.
type unread struct{ *memory.Store }

func (unread) Said(context.Context, [32]byte, int64) ([][]byte, int64, error) {
	return nil, 0, context.Canceled
}

// A refusal is recorded whether or not what models said can be read.
func TestRefusalsNeedNoQuotes(t *testing.T) {
	p, err := taint.New(taint.Config{Scheme: observe.FourPoint()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{Store: unread{memory.New()}, Labels: NewLabelBook(p, 0), Keys: secret.NewKeys()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Open(t.Context(), &Request{Refuses: true}); err != nil {
		t.Error(err)
	}
	if _, err := r.Open(t.Context(), &Request{Caller: "c", Messages: [][]byte{{1}}, Roles: []flow.Role{flow.RoleUser}}); err == nil {
		t.Error("a request was taken though what models said is not known")
	}
}
