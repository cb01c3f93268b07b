package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/confirm"
)

func question(i int) confirm.Row {
	return confirm.Row{
		ID: fmt.Sprintf("%026d", i), Trajectory: "T", Digest: [32]byte{byte(i)}, Grant: [32]byte{9, byte(i)}, Sealed: []byte{1, byte(i)},
		Asked: at, Expires: at.Add(time.Minute),
	}
}

// questions: a question is answered once, in time; a yes is used once, for its
// own call; a grant is for its trajectory.
func (u *suite) questions(t *testing.T, s Store) {
	ctx := context.Background()
	kept, ok := s.(confirm.Store)
	if !ok {
		t.Fatal("the engine keeps no questions")
	}
	want := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	_, err := kept.Question(ctx, "nobody")
	want("an unknown question", err, confirm.ErrNotFound)
	want("an answer to it", kept.AnswerQuestion(ctx, "nobody", confirm.Once, "x", at), confirm.ErrNotFound)
	for i := 1; i <= 4; i++ {
		check(t, kept.PutQuestion(ctx, question(i)))
	}
	one, two, three, four := question(1), question(2), question(3), question(4)
	open, err := kept.Questions(ctx, at, false, 3)
	check(t, err)
	if len(open) != 3 || !same(open[0], one) || !same(open[2], three) {
		t.Errorf("open are %+v", open)
	}
	if used, err := kept.UseAnswer(ctx, one.ID, one.Digest, at); used || err != nil {
		t.Errorf("an answer was used that nobody gave, %v", err)
	}
	later := at.Add(time.Second)
	check(t, kept.AnswerQuestion(ctx, one.ID, confirm.Once, "terminal", later))
	want("a second answer", kept.AnswerQuestion(ctx, one.ID, confirm.Deny, "terminal", later), confirm.ErrAnswered)
	check(t, kept.AnswerQuestion(ctx, two.ID, confirm.Deny, "terminal", later))
	check(t, kept.AnswerQuestion(ctx, three.ID, confirm.Trajectory, "hook", later))
	want("an answer too late", kept.AnswerQuestion(ctx, four.ID, confirm.Once, "terminal", four.Expires), confirm.ErrExpired)
	if u.reopen != nil {
		s = u.reopen(t, s)
		kept = s.(confirm.Store)
	}
	one.Answer, one.By, one.Answered = confirm.Once, "terminal", later
	if got, err := kept.Question(ctx, one.ID); err != nil || !same(got, one) {
		t.Errorf("the answered question is %+v, %v", got, err)
	}
	if open, err := kept.Questions(ctx, later, false, 10); err != nil || len(open) != 1 || open[0].ID != four.ID {
		t.Errorf("still open are %+v, %v", open, err)
	}
	if open, err := kept.Questions(ctx, four.Expires, false, 10); err != nil || len(open) != 0 {
		t.Errorf("open when all have expired: %+v, %v", open, err)
	}
	if all, err := kept.Questions(ctx, later, true, 2); err != nil || len(all) != 2 || all[0].ID != three.ID || all[1].ID != four.ID {
		t.Errorf("the latest two are %+v, %v", all, err)
	}
	for _, c := range []struct {
		what string
		row  confirm.Row
		of   [32]byte
		when time.Time
	}{
		{"another call", one, two.Digest, later}, {"a no", two, two.Digest, later}, {"no answer", four, four.Digest, later}, {"too late", one, one.Digest, one.Expires},
	} {
		if used, err := kept.UseAnswer(ctx, c.row.ID, c.of, c.when); used || err != nil {
			t.Errorf("%s: a yes was used, %v", c.what, err)
		}
	}
	// Of many who use one yes, one has it.
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for range 8 {
		wg.Go(func() {
			if used, err := kept.UseAnswer(ctx, one.ID, one.Digest, later); used && err == nil {
				mu.Lock()
				n++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if n != 1 {
		t.Errorf("one yes was used %d times", n)
	}
	if got, err := kept.Grants(ctx, "T", 10); err != nil || len(got) != 1 || got[0].ID != three.ID || got[0].Grant != three.Grant {
		t.Errorf("the grants are %+v, %v", got, err)
	}
	if got, err := kept.Grants(ctx, "U", 10); err != nil || len(got) != 0 {
		t.Errorf("another trajectory has %d grants, %v", len(got), err)
	}
}
