// Package judging asks the product's judge (screen/judge) for benchmarks: an
// endpoint that somebody names, or a scripted one of known error rates.
//
// The scripted judge knows which regions an action needs, and errs in each of them
// independently: at one rate it names a region that is not needed, at another it
// leaves out one that is. It answers over loopback, so that all of the product's judge is
// between it and the benchmark. The same seed and question draw the same numbers
// at all rates: what a judge gets wrong, one of higher rates gets wrong, too.
//
// Each question is asked once in a run. What its answer took is counted each time
// that it comes up, as it would be taken where nothing is remembered.
package judging

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/judge"
)

// Errors are the rates at which a scripted judge errs, for each region.
type Errors struct {
	Extra  float64 // a region that is not needed counts as relevant
	Missed float64 // one that is needed does not
}

// Name is the name of a row: judge:5,10 takes 5 % too many and misses 10 %.
func (e Errors) Name() string {
	return fmt.Sprintf("judge:%.4g,%.4g", e.Extra*100, e.Missed*100)
}

// Pairs reads rates, of which all pairs are meant, and pairs as EXTRA:MISSED.
func Pairs(list []string) ([]Errors, error) {
	var rates []float64
	var out []Errors
	for _, s := range list {
		var both [2]float64
		extra, missed, pair := strings.Cut(s, ":")
		if !pair {
			missed = extra
		}
		for i, s := range []string{extra, missed} {
			r, err := strconv.ParseFloat(s, 64)
			if err != nil || !(r >= 0 && r <= 1) {
				return nil, fmt.Errorf("%q is not a rate from 0 to 1", s)
			}
			both[i] = r
		}
		if pair {
			out = append(out, Errors{both[0], both[1]})
		} else {
			rates = append(rates, both[0])
		}
	}
	for _, e := range rates {
		for _, m := range rates {
			out = append(out, Errors{e, m})
		}
	}
	return out, nil
}

// Meter adds up what answers took. It is safe for concurrent use.
type Meter struct {
	mu   sync.Mutex
	cost Cost
}

// Cost is what answers took.
type Cost struct {
	Questions int
	Usage     completion.Usage
	Time      time.Duration
}

// Cost returns the sum.
func (m *Meter) Cost() Cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

func (m *Meter) add(a *judge.Asked) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost = m.cost.Plus(Cost{1, a.Usage, a.Took})
}

// Plus is the sum of two costs.
func (c Cost) Plus(o Cost) Cost {
	return Cost{c.Questions + o.Questions, completion.Usage{Prompt: c.Usage.Prompt + o.Usage.Prompt, Answer: c.Usage.Answer + o.Usage.Answer}, c.Time + o.Time}
}

// Metrics adds the means over n tasks to those of a row. Their names begin with who
// answered: what the row's begins with.
func (c Cost) Metrics(m map[string]float64, row string, n int) {
	who := row
	if i := strings.IndexAny(row, ":-"); i >= 0 {
		who = row[:i]
	}
	m[who+"_questions_per_task"] = float64(c.Questions) / float64(n)
	m[who+"_prompt_tokens_per_task"] = float64(c.Usage.Prompt) / float64(n)
	m[who+"_answer_tokens_per_task"] = float64(c.Usage.Answer) / float64(n)
	m[who+"_ms_per_task"] = float64(c.Time.Milliseconds()) / float64(n)
}

type meterKey struct{}

// Into returns a context whose adviser's answers are counted by Count.
func Into(ctx context.Context, m *Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// Count adds what an answer took to the context's meter, if it has one.
func Count(ctx context.Context, c Cost) {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.cost = m.cost.Plus(c)
	}
}

// atOnce is how many questions are asked at once.
const atOnce = 4

// Judge is a judge of a benchmark. It is safe for concurrent use.
type Judge struct {
	Errors // of a scripted one

	scripted bool
	seed     uint64
	server   *http.Server
	serving  sync.WaitGroup
	askers   [atOnce]asker
	idle     chan *asker

	mu     sync.Mutex
	known  map[[sha256.Size]byte]*answer
	failed int
}

// asker asks one question at a time.
type asker struct {
	judge  *judge.Judge
	told   judge.Asked
	answer []bool // of the scripted endpoint
}

type answer struct {
	once     sync.Once
	relevant []bool
	told     judge.Asked
}

// New returns a judge behind an endpoint.
func New(cfg completion.Config) (*Judge, error) {
	j := &Judge{idle: make(chan *asker, atOnce), known: map[[sha256.Size]byte]*answer{}}
	return j, j.open(func(int) completion.Config { return cfg })
}

// Script returns a scripted judge, which Close ends.
func Script(e Errors, seed uint64) (*Judge, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	j := &Judge{Errors: e, scripted: true, seed: seed, idle: make(chan *asker, atOnce), known: map[[sha256.Size]byte]*answer{}}
	err = j.open(func(i int) completion.Config {
		return completion.Config{BaseURL: fmt.Sprintf("http://%s/%d", l.Addr(), i), Model: "scripted"}
	})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	mux := http.NewServeMux()
	for i := range j.askers {
		mux.HandleFunc(fmt.Sprintf("/%d/chat/completions", i), j.askers[i].serve)
	}
	j.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	j.serving.Go(func() { _ = j.server.Serve(l) })
	return j, nil
}

// open makes the askers, each with an endpoint.
func (j *Judge) open(endpoint func(i int) completion.Config) (err error) {
	for i := range j.askers {
		a := &j.askers[i]
		a.judge, err = judge.New(judge.Config{Config: endpoint(i), Asked: func(told judge.Asked) { a.told = told }})
		if err != nil {
			return err
		}
		j.idle <- a
	}
	return nil
}

// Close ends a scripted judge.
func (j *Judge) Close() error {
	if j.server == nil {
		return nil
	}
	err := j.server.Close()
	j.serving.Wait()
	return err
}

// serve is the scripted endpoint.
func (a *asker) serve(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Content string } `json:"messages"`
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		http.Error(w, "no question", http.StatusTeapot)
		return
	}
	prompt := 0
	for _, m := range asked.Messages {
		prompt += pieces(m.Content)
	}
	var numbers []string
	for i, yes := range a.answer {
		if yes {
			numbers = append(numbers, strconv.Itoa(i+1))
		}
	}
	text := `{"regions":[` + strings.Join(numbers, ",") + `]}`
	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]any{"content": text}}},
		"usage":   completion.Usage{Prompt: int64(prompt), Answer: int64(pieces(text))},
	})
}

// pieces counts pieces like those of a BPE tokenizer.
func pieces(s string) (n int) {
	for ; s != ""; n++ {
		s = s[monitor.NextPiece(s):]
	}
	return n
}

// Ask asks which regions matter. Needed is what a scripted judge knows: which do;
// others do not read it. A meter gets what the answer took, now or before.
func (j *Judge) Ask(ctx context.Context, q *screen.Question, needed func() []bool, m *Meter) ([]bool, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(raw)
	j.mu.Lock()
	a := j.known[key]
	if a == nil {
		a = &answer{}
		j.known[key] = a
	}
	j.mu.Unlock()
	a.once.Do(func() {
		by := <-j.idle
		defer func() { j.idle <- by }()
		if j.scripted {
			by.answer = j.err(needed(), key)
		}
		by.told = judge.Asked{}
		a.relevant, _ = by.judge.Relevant(ctx, q)
		a.told = by.told
		if a.told.Err != nil {
			j.mu.Lock()
			j.failed++
			j.mu.Unlock()
		}
	})
	m.add(&a.told)
	return a.relevant, a.told.Err
}

// err is an answer with errors.
func (j *Judge) err(needed []bool, key [sha256.Size]byte) []bool {
	rng := rand.New(rand.NewPCG(j.seed^binary.LittleEndian.Uint64(key[:]), binary.LittleEndian.Uint64(key[8:])))
	out := make([]bool, len(needed))
	for i, yes := range needed {
		u := rng.Float64()
		out[i] = yes && u >= j.Missed || !yes && u < j.Extra
	}
	return out
}

// Note says how many questions had no answer, if any had none.
func (j *Judge) Note() (note string, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == 0 {
		return "", false
	}
	return fmt.Sprintf("%d of %d questions had no answer that could be read, and everything counted as relevant", j.failed, len(j.known)), true
}
