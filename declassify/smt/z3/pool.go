// Package z3 asks Z3 to decide the problems of package smt. Z3 runs in a pool
// of long-lived processes (z3 -in) that are told a problem between push and
// pop; a process that misses a deadline, ends, or says what was not asked for
// is killed, and replaced at the next query.
package z3

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/margaydev/margay/declassify/smt"
)

// Errors of a Pool. Whoever asked does not know the answer, and refuses.
var (
	ErrMissing = errors.New("z3 is not installed (Debian and Ubuntu: apt-get install z3; macOS: brew install z3)")
	ErrVersion = errors.New("z3 is too old or not z3: 4.8.11 or later is needed")
	ErrTimeout = errors.New("z3 did not answer in time")
	ErrEnded   = errors.New("z3 ended while it was asked")
	ErrOutput  = errors.New("z3 wrote more than it may")
	ErrClosed  = errors.New("the pool of z3 is closed")
)

// Config of a Pool. The zero value has the defaults.
type Config struct {
	Path      string        // of the program; by default z3, looked for on the PATH
	Size      int           // processes at most; by default one a CPU
	Timeout   time.Duration // of a query, waiting for a process included; by default 2 s
	Memory    int           // of a process, in MiB; by default 512
	MaxOutput int           // of an answer, in bytes; by default 16 MiB
	Queries   int           // until a process is replaced, so that it does not grow; by default 10,000
}

// Pool is a Validator and a Solver. It is safe for concurrent use. Processes
// are started when they are first needed, and run until Close.
type Pool struct {
	cfg Config
	// slots hold the processes that nobody uses, nil for those that are not
	// started. Who has taken one from it, alone, may use it, and puts one back.
	slots chan *worker
	ctx   context.Context // ends with Close
	close context.CancelFunc
	once  sync.Once
	bufs  sync.Pool
}

var (
	_ smt.Validator = (*Pool)(nil)
	_ smt.Solver    = (*Pool)(nil)
)

// Open looks for Z3, starts one process, and checks its version. The caller
// must Close the pool.
func Open(ctx context.Context, c Config) (*Pool, error) {
	if c.Path == "" {
		c.Path = "z3"
	}
	path, err := exec.LookPath(c.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	c.Path = path
	c.Size = or(c.Size, runtime.GOMAXPROCS(0))
	c.Timeout = or(c.Timeout, 2*time.Second)
	c.Memory = or(c.Memory, 512)
	c.MaxOutput = or(c.MaxOutput, 16<<20)
	c.Queries = or(c.Queries, 10_000)
	p := &Pool{cfg: c, slots: make(chan *worker, c.Size)}
	p.ctx, p.close = context.WithCancel(context.WithoutCancel(ctx))
	for range c.Size {
		p.slots <- nil
	}
	if err := p.do(ctx, func(*worker) error { return nil }); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func or[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Close kills all processes, and waits until they have ended. Queries that
// are under way end with ErrClosed.
func (p *Pool) Close() error {
	p.once.Do(func() {
		p.close()
		for range p.cfg.Size {
			if w := <-p.slots; w != nil {
				w.kill()
			}
		}
	})
	return nil
}

// do runs f with a process that nobody else uses, within the deadline. What f
// does is done again, once, if the process has ended of itself: it may have
// been killed for the memory of others.
func (p *Pool) do(ctx context.Context, f func(*worker) error) error {
	limited, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	for again := false; ; again = true {
		err := p.try(limited, f)
		switch {
		case err == nil:
			return nil
		case p.ctx.Err() != nil:
			return ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			return fmt.Errorf("%w (%s)", ErrTimeout, p.cfg.Timeout)
		case !errors.Is(err, ErrEnded) || again:
			return err
		}
	}
}

func (p *Pool) try(ctx context.Context, f func(*worker) error) (err error) {
	if ctx.Err() != nil { // or else select may take a slot after Close
		return ctx.Err()
	}
	var w *worker
	select {
	case <-ctx.Done():
		return ctx.Err()
	case w = <-p.slots:
	}
	defer func() {
		if w != nil && (err != nil || w.asked >= p.cfg.Queries) {
			w.kill()
			w = nil
		}
		p.slots <- w
	}()
	if w == nil {
		if w, err = start(&p.cfg); err != nil {
			return err
		}
	}
	w.asked++
	// The watcher must have ended before anybody else gets the process.
	watcher := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(watcher)
		w.kill()
	})
	defer func() {
		if !stop() {
			<-watcher
			if err == nil {
				err = ctx.Err()
			}
		}
	}()
	if w.asked == 1 {
		if err := w.greet(); err != nil {
			return err
		}
	}
	return f(w)
}

// Validate decides a ground problem. If its clauses can't all hold, Z3 is asked
// for the truth of each, and to confirm by a core that those which fail can't.
func (p *Pool) Validate(ctx context.Context, problem *smt.Problem) (smt.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return smt.Verdict{}, err
	}
	if err := problem.Ground(); err != nil {
		return smt.Verdict{}, err
	}
	s, err := smt.NewScript(problem)
	if err != nil {
		return smt.Verdict{}, err
	}
	buf := p.buffer()
	defer p.bufs.Put(buf)
	b := s.AppendVocabulary((*buf)[:0])
	vocabulary := len(b)
	b = s.AppendTruths(s.AppendFacts(append(b, "(push)\n"...)))
	b = append(s.AppendClaim(append(b, "(push)\n"...)), "(check-sat)\n"...)
	*buf = b

	var failing []int
	err = p.do(ctx, func(w *worker) error {
		failing = nil
		if err := w.learn(b[:vocabulary]); err != nil {
			return err
		}
		status, err := w.check(b[vocabulary:])
		if err != nil {
			return err
		}
		if status == smt.Sat {
			return w.tell("(pop 2)\n")
		}
		failing, err = w.explain(s)
		return err
	})
	if err != nil {
		return smt.Verdict{}, err
	}
	return problem.Failed(failing...)
}

// explain asks, after an unsat, which clauses fail. Where Z3 does not answer as
// it must after what it has said, the questions that follow are errors to it,
// and it ends.
func (w *worker) explain(s *smt.Script) ([]int, error) {
	out, err := w.ask(s.AppendTruthsQuestion([]byte("(pop)\n(check-sat)\n")))
	if err != nil {
		return nil, err
	}
	if out, err = expect(smt.Sat, out); err != nil {
		return nil, err
	}
	failing, err := s.ReadTruths(out)
	if err != nil {
		return nil, err
	}
	b := append(s.AppendNamedClaim([]byte("(push)\n"), failing), "(check-sat)\n(get-unsat-core)\n"...)
	if out, err = w.ask(b); err != nil {
		return nil, err
	}
	if out, err = expect(smt.Unsat, out); err != nil {
		return nil, err
	}
	core, err := s.ReadCore(out, smt.Query{})
	if err != nil {
		return nil, err
	}
	if len(core.Clauses) == 0 || slices.ContainsFunc(core.Clauses, func(c int) bool { return !slices.Contains(failing, c) }) {
		return nil, fmt.Errorf("%w: z3 blames clauses that it says hold", smt.ErrDisagree)
	}
	return failing, w.tell("(pop 2)\n")
}

// expect reads the status that must come first.
func expect(want smt.Status, out []byte) ([]byte, error) {
	status, rest, err := smt.ReadStatus(out)
	switch {
	case err != nil:
		return nil, err
	case status == smt.Unknown:
		return nil, smt.ErrUnknown
	case status != want:
		return nil, fmt.Errorf("%w: z3 takes back what it said", smt.ErrDisagree)
	}
	return rest, nil
}

// Satisfiable searches for values of the free functions.
func (p *Pool) Satisfiable(ctx context.Context, problem *smt.Problem, q smt.Query) (smt.Answer, error) {
	if err := ctx.Err(); err != nil {
		return smt.Answer{}, err
	}
	s, err := smt.NewScript(problem)
	if err != nil {
		return smt.Answer{}, err
	}
	buf := p.buffer()
	defer p.bufs.Put(buf)
	b := s.AppendVocabulary((*buf)[:0])
	vocabulary := len(b)
	if b, err = s.AppendAssertions(s.AppendFacts(append(b, "(push)\n"...)), q); err != nil {
		return smt.Answer{}, err
	}
	b = append(b, "(check-sat)\n"...)
	*buf = b

	var a smt.Answer
	err = p.do(ctx, func(w *worker) error {
		a = smt.Answer{}
		if err := w.learn(b[:vocabulary]); err != nil {
			return err
		}
		status, err := w.check(b[vocabulary:])
		if err != nil {
			return err
		}
		a.Satisfiable = status == smt.Sat
		question := []byte("(get-unsat-core)\n")
		if a.Satisfiable {
			question = s.AppendModelQuestion(nil)
		}
		out, err := w.ask(question)
		if err != nil {
			return err
		}
		if a.Satisfiable {
			a.Model, err = s.ReadModel(out, q)
		} else {
			a.Core, err = s.ReadCore(out, q)
		}
		if err != nil {
			return err
		}
		return w.tell("(pop)\n")
	})
	if err != nil {
		return smt.Answer{}, err
	}
	return a, nil
}

// check asks a script that ends with check-sat.
func (w *worker) check(script []byte) (smt.Status, error) {
	out, err := w.ask(script)
	if err != nil {
		return 0, err
	}
	status, rest, err := smt.ReadStatus(out)
	switch {
	case err != nil:
		return 0, err
	case len(rest) > 0:
		return 0, fmt.Errorf("%w: more than a status", smt.ErrAnswer)
	case status == smt.Unknown:
		return 0, smt.ErrUnknown
	}
	return status, nil
}

func (p *Pool) buffer() *[]byte {
	if b, ok := p.bufs.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}
