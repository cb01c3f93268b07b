package confirm_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/margaydev/margay/confirm"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/taint/effect"
)

func desk(cfg confirm.Config) (*confirm.Desk, *memory.Store) {
	keys := secret.NewKeys()
	s := memory.New()
	cfg.Store, cfg.Sealer = s, &keys
	return confirm.New(cfg), s
}

func question() *confirm.Question {
	return &confirm.Question{
		Trajectory: "T", Digest: [32]byte{1}, Grant: [32]byte{2}, Sink: "bank",
		Call:   flow.ToolCall{Name: "send_money", Arguments: `{"to":"DE00-PRIVATE"}`},
		Faults: []confirm.Fault{{Source: "read_file", Label: "(untrusted, public)", Excerpt: "pay me"}},
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		give confirm.Answer
		want confirm.Answer
	}{{confirm.Once, confirm.Once}, {confirm.Trajectory, confirm.Trajectory}, {confirm.Deny, confirm.Deny}} {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			d, store := desk(confirm.Config{})
			q := question()
			if err := d.Put(ctx, q); err != nil {
				t.Fatal(err)
			}
			// Another process has a desk of its own over the same store.
			go func() {
				time.Sleep(30 * time.Second)
				if err := store.AnswerQuestion(ctx, q.ID, c.give, "terminal", time.Now()); err != nil {
					t.Error(err)
				}
			}()
			start := time.Now()
			got, err := d.Wait(ctx, q)
			if got != c.want || err != nil {
				t.Errorf("%s: the answer is %s, %v", c.give, got, err)
			}
			if took := time.Since(start); took < 30*time.Second || took > 31*time.Second {
				t.Errorf("%s: it took %v", c.give, took)
			}
			if granted, err := d.Granted(ctx, q.Trajectory); (len(granted) == 1) != (c.give == confirm.Trajectory) || err != nil {
				t.Errorf("%s: %d grants, %v", c.give, len(granted), err)
			}
			// A yes is for one time.
			if again, _ := d.Wait(ctx, q); c.give != confirm.Deny && again != confirm.Deny {
				t.Errorf("%s: used twice", c.give)
			}
		})
	}
}

func TestNoAnswerDenies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := desk(confirm.Config{Limit: time.Minute})
		q := question()
		if err := d.Put(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Wait(t.Context(), q); got != confirm.Deny || !errors.Is(err, confirm.ErrExpired) {
			t.Errorf("the answer is %s, %v", got, err)
		}
		if err := d.Answer(t.Context(), q.ID, confirm.Once, "terminal"); !errors.Is(err, confirm.ErrExpired) {
			t.Errorf("an answer too late: %v", err)
		}
	})
}

func TestAnswerForAnotherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := desk(confirm.Config{})
		q := question()
		if err := d.Put(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if err := d.Answer(t.Context(), q.ID, confirm.Once, "terminal"); err != nil {
			t.Fatal(err)
		}
		other := *q
		other.Digest[5]++
		if got, _ := d.Wait(t.Context(), &other); got != confirm.Deny {
			t.Errorf("the yes for one call was %s for another", got)
		}
	})
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := desk(confirm.Config{})
		q := question()
		if err := d.Put(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if got, err := d.Wait(ctx, q); got != confirm.Deny || !errors.Is(err, context.Canceled) {
			t.Errorf("the answer is %s, %v", got, err)
		}
	})
}

func TestTooMany(t *testing.T) {
	d, _ := desk(confirm.Config{MaxOpen: 3})
	for range 3 {
		if err := d.Put(t.Context(), question()); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Put(t.Context(), question()); !errors.Is(err, confirm.ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
}

func TestUngrantable(t *testing.T) {
	d, _ := desk(confirm.Config{})
	q := question()
	q.Grant = [32]byte{}
	if err := d.Put(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if err := d.Answer(t.Context(), q.ID, confirm.Trajectory, "terminal"); err == nil {
		t.Error("what has no grant was granted")
	}
	if got, err := d.Granted(t.Context(), q.Trajectory); len(got) > 0 || err != nil {
		t.Errorf("%d grants, %v", len(got), err)
	}
}

// What is kept of a question does not show its arguments, and opens again.
func TestSealed(t *testing.T) {
	d, _ := desk(confirm.Config{})
	q := question()
	if err := d.Put(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	rows, err := d.Rows(t.Context(), false, 10)
	if err != nil || len(rows) != 1 || bytes.Contains(rows[0].Sealed, []byte("PRIVATE")) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	got, err := d.Open(&rows[0])
	if err != nil || got.Call != q.Call || got.Digest != q.Digest || len(got.Faults) != 1 || got.Sink != "bank" {
		t.Errorf("it opens as %+v, %v", got, err)
	}
	rows[0].ID = "another"
	if _, err := d.Open(&rows[0]); err == nil {
		t.Error("it opens as another question")
	}
}

// TestFirst: an answer to a question about a tool that nothing is known of says what
// the tool does, where it is the answer that counts. It is refused elsewhere.
func TestFirst(t *testing.T) {
	ctx := t.Context()
	gone := errors.New("gone")
	type said struct {
		tool string
		does effect.Profile
	}
	var got []said
	say := func(_ context.Context, q *confirm.Question, p effect.Profile) error {
		got = append(got, said{q.Call.Name, p})
		return nil
	}
	seems := &confirm.First{Profile: effect.Profile{Effect: effect.Edit, Own: true, Open: true}}
	for _, c := range []struct {
		answer confirm.Answer
		first  *confirm.First
		say    func(context.Context, *confirm.Question, effect.Profile) error
		want   effect.Profile
		fails  error
	}{
		{confirm.Reads, seems, say, effect.Profile{Open: true}, nil},
		{confirm.Changes, seems, say, effect.Profile{Effect: effect.Edit, Open: true}, nil},
		{confirm.Changes, &confirm.First{}, say, effect.Profile{Effect: effect.Reach}, nil},
		{confirm.Asks, seems, say, effect.Profile{Ask: true}, nil},
		{confirm.Reads, nil, say, effect.Profile{}, confirm.ErrFirst},
		{confirm.Reads, seems, nil, effect.Profile{}, confirm.ErrFirst},
		{confirm.Reads, seems, func(context.Context, *confirm.Question, effect.Profile) error { return gone }, effect.Profile{}, gone},
	} {
		got = nil
		d, store := desk(confirm.Config{Say: c.say})
		q := question()
		q.First = c.first
		if err := d.Put(ctx, q); err != nil {
			t.Fatal(err)
		}
		err := d.Answer(ctx, q.ID, c.answer, "terminal")
		if !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
			t.Fatalf("%s: %v", c.answer, err)
		}
		row, _ := store.Question(ctx, q.ID)
		if c.fails != nil {
			if row.Answer != "" && !errors.Is(c.fails, gone) {
				t.Errorf("%s is kept as %s", c.answer, row.Answer)
			}
			continue
		}
		if len(got) != 1 || got[0] != (said{"send_money", c.want}) || row.Answer != confirm.Once {
			t.Errorf("%s: said %+v, kept as %s", c.answer, got, row.Answer)
		}
		if d.Answer(ctx, q.ID, c.answer, "terminal") == nil || len(got) != 1 { // another was first
			t.Errorf("%s: a second answer says something, too", c.answer)
		}
	}
}

// TestTrust: an answer trusts the folder that its question offers, where it is the
// answer that counts. One that names another folder is refused, and leaves the question
// open.
func TestTrust(t *testing.T) {
	ctx := t.Context()
	gone := errors.New("gone")
	var got []string
	trust := func(_ context.Context, q *confirm.Question) error {
		got = append(got, q.Folder)
		return nil
	}
	for _, c := range []struct {
		folder string
		answer confirm.Answer
		trust  func(context.Context, *confirm.Question) error
		fails  error
	}{
		{"/home/me/x", confirm.Trust("/home/me/x"), trust, nil},
		{"/home/me/x", confirm.Trust("/home/me"), trust, confirm.ErrFolder},
		{"/home/me/x", confirm.Trust("/home/me/x/"), trust, confirm.ErrFolder},
		{"/home/me/x", confirm.Trust(""), trust, confirm.ErrFolder},
		{"", confirm.Trust(""), trust, confirm.ErrFolder},
		{"", confirm.Trust("/home/me/x"), trust, confirm.ErrFolder},
		{"/home/me/x", confirm.Trust("/home/me/x"), nil, confirm.ErrFolder},
		{"/home/me/x", confirm.Reads, trust, confirm.ErrFirst},
		{"/home/me/x", confirm.Trust("/home/me/x"), func(context.Context, *confirm.Question) error { return gone }, gone},
	} {
		got = nil
		d, store := desk(confirm.Config{Trust: c.trust})
		q := question()
		q.Folder = c.folder
		if err := d.Put(ctx, q); err != nil {
			t.Fatal(err)
		}
		if !c.answer.Yes() {
			t.Errorf("%s does not allow the call", c.answer)
		}
		err := d.Answer(ctx, q.ID, c.answer, "terminal")
		if !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
			t.Fatalf("%s: %v", c.answer, err)
		}
		row, _ := store.Question(ctx, q.ID)
		if c.fails != nil {
			if len(got) > 0 || row.Answer != "" && !errors.Is(c.fails, gone) {
				t.Errorf("%s of %q trusts %q, and is kept as %q", c.answer, c.folder, got, row.Answer)
			}
			continue
		}
		if len(got) != 1 || got[0] != c.folder || row.Answer != confirm.Once {
			t.Errorf("%s trusts %q, and is kept as %s", c.answer, got, row.Answer)
		}
		if d.Answer(ctx, q.ID, c.answer, "terminal") == nil || len(got) != 1 { // another was first
			t.Errorf("%s: a second answer trusts, too", c.answer)
		}
	}
	// The question says what it means, and shows a name escaped.
	q := question()
	if strings.Contains(q.Text(), "if you trust") || strings.Contains(q.Text(), "margay trust") {
		t.Errorf("a question that offers nothing: %s", q.Text())
	}
	q.Folder = "/home/me/a\u202eb"
	for _, want := range []string{`margay trust add "/home/me/a\u202eb"`, `if you trust "/home/me/a\u202eb", its files, and what commands print that read, build or test in it, count as yours`} {
		if !strings.Contains(q.Text(), want) {
			t.Errorf("the question lacks %s: %s", want, q.Text())
		}
	}
}
