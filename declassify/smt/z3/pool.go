// Package z3 asks Z3 to decide the problems of package smt. Z3 runs in a pool
// of long-lived processes (z3 -in) that get a problem between push and pop. A
// process that misses a deadline, ends, or writes something unexpected is
// killed, and replaced at the next query.
package z3

import (
	"cmp"
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

// Errors of a Pool. The answer is not known then, and callers refuse.
var (
	ErrMissing = errors.New("z3 is not installed (Debian and Ubuntu: apt-get install z3; macOS: brew install z3)")
	ErrVersion = errors.New("z3 is too old or not z3: 4.8.11 or later is needed")
	ErrTimeout = errors.New("z3 did not answer in time")
	ErrEnded   = errors.New("z3 ended before it answered")
	ErrOutput  = errors.New("z3 wrote more than the limit")
	ErrClosed  = errors.New("the pool of z3 processes is closed")
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
	// slots hold the idle processes, nil for those that are not started. Only
	// the caller that took a process from it may use it, and puts one back.
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
	path, err := exec.LookPath(cmp.Or(c.Path, "z3"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	c.Path = path
	c.Size = cmp.Or(c.Size, runtime.GOMAXPROCS(0))
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Memory = cmp.Or(c.Memory, 512)
	c.MaxOutput = cmp.Or(c.MaxOutput, 16<<20)
	c.Queries = cmp.Or(c.Queries, 10_000)
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

// Close kills all processes, and waits until they have ended. Running queries
// end with ErrClosed.
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

// do runs f with a process of its own, within the deadline. It runs f again,
// once, if the process ended by itself: the system may have killed it to free
// memory.
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
	// The watcher must end before another caller gets the process.
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

// query asks for the satisfiability of a problem: its vocabulary and facts, and
// what the question adds. The answer is read in the scope of the query.
func (p *Pool) query(ctx context.Context, s *smt.Script, question func([]byte) []byte, answer func(*worker, smt.Status) error) error {
	buf := p.buffer()
	defer p.bufs.Put(buf)
	b := s.AppendVocabulary((*buf)[:0])
	vocabulary := len(b)
	b = append(question(s.AppendFacts(append(b, "(push)\n"...))), "(check-sat)\n"...)
	*buf = b
	return p.do(ctx, func(w *worker) error {
		if err := w.learn(b[:vocabulary]); err != nil {
			return err
		}
		status, err := w.check(b[vocabulary:])
		if err != nil {
			return err
		}
		if err := answer(w, status); err != nil {
			return err
		}
		return w.tell("(pop)\n")
	})
}

// Validate decides a ground problem. If its clauses can't all hold, Z3 is asked
// for the truth of each, and to confirm by a core that the failing ones can't
// hold.
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
	var failing []int
	err = p.query(ctx, s, func(b []byte) []byte {
		return s.AppendClaim(append(s.AppendTruths(b), "(push)\n"...))
	}, func(w *worker, status smt.Status) error {
		if failing = nil; status == smt.Sat {
			return w.tell("(pop)\n")
		}
		var err error
		failing, err = w.explain(s)
		return err
	})
	if err != nil {
		return smt.Verdict{}, err
	}
	return problem.Failed(failing...)
}

// explain asks, after an unsat, which clauses fail. If Z3 contradicts its first
// answer, the next question is an error to it, and it ends.
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
	core, err := s.ReadCore(out)
	if err != nil {
		return nil, err
	}
	if len(core) == 0 || slices.ContainsFunc(core, func(c int) bool { return !slices.Contains(failing, c) }) {
		return nil, fmt.Errorf("%w: z3 blames clauses that hold by its own answer", smt.ErrDisagree)
	}
	return failing, w.tell("(pop)\n")
}

// expect reads the status that must come first.
func expect(want smt.Status, out []byte) ([]byte, error) {
	status, rest, err := smt.ReadStatus(out)
	if err == nil && status != want {
		err = fmt.Errorf("%w: z3 contradicts its first answer", smt.ErrDisagree)
	}
	return rest, err
}

// Satisfiable searches for values of the free functions.
func (p *Pool) Satisfiable(ctx context.Context, problem *smt.Problem, assume ...smt.Formula) (smt.Answer, error) {
	if err := ctx.Err(); err != nil {
		return smt.Answer{}, err
	}
	s, err := smt.NewScript(problem, assume...)
	if err != nil {
		return smt.Answer{}, err
	}
	var a smt.Answer
	err = p.query(ctx, s, s.AppendAssertions, func(w *worker, status smt.Status) error {
		question := []byte("(get-unsat-core)\n")
		if status == smt.Sat {
			question = s.AppendModelQuestion(nil)
		}
		out, err := w.ask(question)
		if err != nil {
			return err
		}
		a = smt.Answer{Satisfiable: status == smt.Sat}
		if a.Satisfiable {
			a.Model, err = s.ReadModel(out)
		} else {
			a.Core, err = s.ReadCore(out)
		}
		return err
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
	if len(rest) > 0 {
		err = fmt.Errorf("%w: text follows the status", smt.ErrAnswer)
	}
	return status, err
}

func (p *Pool) buffer() *[]byte {
	if b, ok := p.bufs.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}
