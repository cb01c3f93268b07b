package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
)

// failing is a store whose log can fail.
type failing struct {
	*memory.Store
	fails bool
}

func (f *failing) AppendDecisions(ctx context.Context, entries []audit.Entry) error {
	if f.fails {
		return errors.New("full")
	}
	return f.Store.AppendDecisions(ctx, entries)
}

// TestRefusalsAreBounded: however many refusals of a kind there are, the log has a
// bounded number of decisions of an hour, which count all of them, and each
// refusal gets the id of one.
func TestRefusalsAreBounded(t *testing.T) {
	rules, err := recognise.Default()
	if err != nil {
		t.Fatal(err)
	}
	store := &failing{Store: memory.New()}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	told, heard := map[string]int{}, 0
	var mu sync.Mutex
	r, err := New(Config{Rules: rules, Store: store, Now: func() time.Time { return now }, Decided: func(audit.Entry) {
		mu.Lock()
		heard++
		mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(sink, code string, n int) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range n / 4 {
					d, kept := r.Refuse(t.Context(), flow.Decision{
						ID: flow.NewID(), Verb: flow.Prompt, At: now, Trajectory: flow.TrajectoryID(flow.NewID()),
						Sink: flow.Sink{Name: sink}, Reasons: []flow.Reason{{Code: code, Detail: "why", Action: flow.ActBlock}},
					})
					mu.Lock()
					if told[d.ID]++; !kept || d.Outcome != flow.Deny {
						t.Errorf("kept %v as %s", kept, d.Outcome)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	logged := func() (rows int) {
		all, err := store.Decisions(t.Context(), "", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if told[all[i].ID] != all[i].N() {
				t.Errorf("%s was told %d times and counts %d", all[i].ID, told[all[i].ID], all[i].N())
			}
		}
		return len(all)
	}
	refuse("a", "x", 4000)
	if n := logged(); n != audit.MaxAlike+1 {
		t.Errorf("%d decisions of 4000 refusals", n)
	}
	now = now.Add(audit.AlikeTime)
	refuse("a", "x", 400)
	if n := logged(); n != 2*(audit.MaxAlike+1) {
		t.Errorf("%d decisions of two hours", n)
	}
	const kinds = 1024
	for i := range 2 * kinds {
		refuse(fmt.Sprint(i), "y", 4)
	}
	if n, want := logged(), 2*(audit.MaxAlike+1)+4*kinds+audit.MaxAlike+1; n > want || heard != 4400+8*kinds {
		t.Errorf("%d decisions, more than %d, or %d were heard of", n, want, heard)
	}
	before := r.traj.bytes.Load()
	for range 10 {
		s, err := r.Open(t.Context(), &Request{Refuses: true, Trajectory: flow.NewID()})
		if err != nil || len(s.CleanReasons([]flow.Reason{{Detail: "why"}})) != 1 {
			t.Fatal(err)
		}
	}
	if after := r.traj.bytes.Load(); after != before || r.traj.used.Len() > 0 {
		t.Errorf("sessions that only refuse take %d bytes and %d trajectories", after-before, r.traj.used.Len())
	}
	store.fails = true
	if _, kept := r.Refuse(t.Context(), flow.Decision{ID: "z", Verb: flow.Call, At: now, Reasons: []flow.Reason{{Code: "z"}}}); kept {
		t.Error("kept, though the log fails")
	}
}
