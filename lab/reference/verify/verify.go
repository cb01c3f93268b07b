// Package verify compares the product's detection engine with the reference over many
// texts: credential vectors in every encoding under every split in two, files of a
// folder, and drawn texts. A run can be stopped, and goes on where it was.
//
// What it says about a difference in a file or a vector are offsets, rules and kinds,
// never a byte of the text. Drawn texts are invented, so they are shown, shrunk.
package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/lab/reference/differ"
)

// Options of a run.
type Options struct {
	Seed     uint64
	State    string // file that the position is kept in; empty: it is not
	Workers  int
	Progress func(string)

	batch int // items that are compared before the position moves; 16 if it is 0
}

// Part is one kind of text that is compared.
type Part struct {
	Name  string
	Of    string                  // what tells it from other parts of the name
	Items int                     // 0: not known before it is read
	share func(*Progress) float64 // of the work that is done, from 0 to 1; nil: not known
	// each yields the items from a position on. It stops where the context ends.
	each func(ctx context.Context, from int, yield func(item) bool) error
}

// item is what is compared at once.
type item func(ctx context.Context, r *Result)

// Result is what was compared so far. It is not safe for concurrent use.
type Result struct {
	Texts       int                      `json:"texts"`
	Bytes       int64                    `json:"bytes"`    // of the texts
	Readings    int64                    `json:"readings"` // of a text by the product, under one split
	Findings    int64                    `json:"findings"` // of the reference
	Differences []Found                  `json:"differences,omitempty"`
	Holds       map[string]*differ.Holds `json:"holds,omitempty"` // by the mode
}

// Found is a difference.
type Found struct {
	Where string `json:"where"`
	Mode  string `json:"mode"`
	What  string `json:"what"`           // the difference, without a byte of the text
	Text  string `json:"text,omitempty"` // of a drawn text, quoted
	Cuts  []int  `json:"cuts,omitempty"` // of Text
}

// Most is after how many differences a part stops.
const Most = 20

func (r *Result) merge(o *Result) {
	r.Texts += o.Texts
	r.Bytes += o.Bytes
	r.Readings += o.Readings
	r.Findings += o.Findings
	r.Differences = append(r.Differences, o.Differences...)
	for mode, h := range o.Holds {
		r.holds(mode).Merge(h)
	}
}

func (r *Result) holds(mode string) *differ.Holds {
	if r.Holds == nil {
		r.Holds = map[string]*differ.Holds{}
	}
	if r.Holds[mode] == nil {
		r.Holds[mode] = &differ.Holds{}
	}
	return r.Holds[mode]
}

// Progress is how far a part is.
type Progress struct {
	Of     string `json:"of"`
	Next   int    `json:"next"` // the first item that was not compared
	Done   bool   `json:"done"`
	Result Result `json:"result"`
}

// State is how far a run is, by the name of the part.
type State struct {
	Seed  uint64               `json:"seed"`
	Parts map[string]*Progress `json:"parts"`
}

// Run compares the parts, one after another, from where the state is. If the context
// ends, it returns the state with the context's error.
func Run(ctx context.Context, o Options, parts []Part) (*State, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	if o.batch == 0 {
		o.batch = 16
	}
	s, err := open(&o)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		p := &parts[i]
		at := s.Parts[p.Name]
		if at == nil {
			s.Parts[p.Name] = &Progress{Of: p.Of}
		} else if at.Of != p.Of {
			return nil, fmt.Errorf("%w: %s of %s, not of %s", ErrState, p.Name, at.Of, p.Of)
		}
	}
	for i := range parts {
		p := &parts[i]
		at := s.Parts[p.Name]
		if at.Done {
			continue
		}
		err := o.part(ctx, p, at, func() error { return save(&o, s) })
		if err = errors.Join(err, save(&o, s)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// part compares one part.
func (o *Options) part(ctx context.Context, p *Part, at *Progress, save func() error) error {
	saved := time.Now()
	var items []item
	var failed error
	left := p.left(at)
	step := func() bool {
		failed = o.compare(ctx, items, at)
		items = items[:0]
		if failed == nil && time.Since(saved) > 10*time.Second {
			failed, saved = save(), time.Now()
		}
		of := ""
		if p.Items > 0 {
			of = fmt.Sprintf(" of %d", p.Items)
		}
		o.Progress(fmt.Sprintf("%s: %d%s, %d MB in %d readings, %d differences%s", p.Name, at.Next, of, at.Result.Bytes/1e6, at.Result.Readings, len(at.Result.Differences), left(at)))
		return failed == nil && len(at.Result.Differences) < Most
	}
	err := p.each(ctx, at.Next, func(i item) bool {
		items = append(items, i)
		return len(items) < o.batch || step()
	})
	if err == nil && failed == nil && len(items) > 0 && len(at.Result.Differences) < Most {
		step()
	}
	if err = errors.Join(err, failed); err == nil {
		at.Done = len(at.Result.Differences) < Most
		err = ctx.Err()
	}
	return err
}

// compare compares items side by side. If the context ends, none of them counts.
func (o *Options) compare(ctx context.Context, items []item, at *Progress) error {
	results := make([]Result, len(items))
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(o.Workers, 1) {
		wg.Go(func() {
			for i := range next {
				if ctx.Err() == nil {
					items[i](ctx, &results[i])
				}
			}
		})
	}
	for i := range items {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range results {
		at.Result.merge(&results[i])
	}
	at.Next += len(items)
	return nil
}

// ErrState says that a state is of another run.
var ErrState = errors.New("the state is of another run")

// mostState bounds a file with a state.
const mostState = 64 << 20

func open(o *Options) (*State, error) {
	s := &State{Seed: o.Seed, Parts: map[string]*Progress{}}
	if o.State == "" {
		return s, nil
	}
	f, err := os.Open(o.State)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostState))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s holds no state: %w", o.State, err)
	}
	if s.Seed != o.Seed {
		return nil, ErrState
	}
	if s.Parts == nil {
		s.Parts = map[string]*Progress{}
	}
	return s, nil
}

func save(o *Options, s *State) error {
	if o.State == "" {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return cli.WriteFile(o.State, b)
}
