package prism

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/lab/train"
)

// TraceOptions says which traces to write.
type TraceOptions struct {
	Dir        string // created if need be
	Seed       uint64
	Repository string // "healthcare" where empty
	N          int    // tasks; 400 where 0
	Progress   func(string)
}

// ExportTraces plays tasks without a defence and writes a trace of every
// agent's output, in the order of the tasks, to DIR/REPOSITORY-SEED.jsonl.gz,
// whose name it returns.
func ExportTraces(ctx context.Context, o TraceOptions) (string, error) {
	if o.Repository == "" {
		o.Repository = "healthcare"
	}
	if o.N == 0 {
		o.N = 400
	}
	r, err := repository(o.Repository, o.Seed)
	if err != nil {
		return "", err
	}
	tasks, err := r.Tasks(o.N)
	if err != nil {
		return "", err
	}
	model, err := speaker()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return "", err
	}
	path := filepath.Join(o.Dir, fmt.Sprintf("%s-%d.jsonl.gz", o.Repository, o.Seed))
	out, err := train.Create(path)
	if err != nil {
		return "", err
	}
	digests := r.Digests()
	made := make([][]train.Trace, len(tasks))
	var failed error
	inParallel(ctx, len(tasks), func() func(int) {
		s := model.NewScorer()
		return func(i int) {
			shared := tasks[i].Opening()
			for agent := range world.Agents {
				turn := tasks[i].Play(agent, shared)
				shared = world.Append(shared, agent, turn.Text)
				t := train.Trace{
					ID: tasks[i].ID + "/" + turn.Agent, Task: tasks[i].ID, Agent: turn.Agent, Source: "sim", Vocabulary: model.Vocabulary(),
					Private: []string{turn.Context}, Tool: len(turn.Tools) > 0, Tokens: score(s, turn).tokens, Secrets: digests,
				}
				for _, e := range turn.Emissions {
					t.Spans = append(t.Spans, train.Span{Start: e.Start, End: e.End, Secret: digests[e.Secret], Encoding: e.Encoding, Whole: e.Whole})
				}
				made[i] = append(made[i], t)
			}
		}
	}, func(i int) {
		for k := range made[i] {
			if err := out.Write(&made[i][k]); err != nil && failed == nil {
				failed = err
			}
		}
		made[i] = nil
		if o.Progress != nil && (i+1)%50 == 0 {
			o.Progress(fmt.Sprintf("%d of %d tasks", i+1, len(tasks)))
		}
	})
	if err := out.Close(); err != nil && failed == nil {
		failed = err
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return path, failed
}

// inParallel does n pieces of work on all processors. Every worker gets a
// function of its own from begin; done is called for each piece in order, by
// one goroutine at a time. It returns early when ctx ends.
func inParallel(ctx context.Context, n int, begin func() func(int), done func(int)) {
	var wg sync.WaitGroup
	work := make(chan int)
	finished := make(chan int)
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			do := begin()
			for i := range work {
				do(i)
				finished <- i
			}
		}()
	}
	go func() {
		defer close(work)
		for i := range n {
			select {
			case work <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		wg.Wait()
		close(finished)
	}()
	ready, next := make([]bool, n), 0
	for i := range finished {
		ready[i] = true
		for next < n && ready[next] {
			done(next)
			next++
		}
	}
}
