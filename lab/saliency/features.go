// Package saliency records what a local model says of the regions of labelled
// questions, trains the network of screen/saliency on it, and measures it on
// suites that it was not trained on.
//
// Questions are those about the steps of AgentDojo's user tasks, everything
// being shown, and those of lab/leakage's tasks. A region is needed if the
// next action draws on it: in AgentDojo by lab/dojo/known.Draws, in lab/leakage
// by what the task says. Where an argument is computed, regions that nothing
// was found of have no label. Only regions that the network reads count.
//
// A record holds numbers and hashes, no text.
package saliency

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/judging"
	"github.com/margaydev/margay/screen"
	"github.com/margaydev/margay/screen/saliency"
)

// Head is the first line of a record.
type Head struct {
	Version int    `json:"version"`
	Model   string `json:"model"` // SHA-256 of its file
	Server  string `json:"server"`
}

// Line is one question, answered.
type Line struct {
	Key   string `json:"key"`
	Suite string `json:"suite"`
	Task  string `json:"task"`
	// Kind is call or answer; blind where the model wrote the output itself; obeys
	// or ignores for figure 3.
	Kind    string    `json:"kind"`
	Prompt  int       `json:"prompt"` // tokens
	Output  int       `json:"output"`
	Millis  int       `json:"ms"`
	Regions []*Region `json:"regions"` // nil for those that the network does not read
	// Any are places of regions of which one is needed.
	Any [][]int `json:"any,omitempty"`
}

// Region of a question.
type Region struct {
	// Needed is Yes, No, or Open where there is no label.
	Needed   int                      `json:"y"`
	Tokens   int                      `json:"t"`
	Cut      int                      `json:"c,omitempty"`
	Features *[saliency.Count]float64 `json:"f"`
}

// Labels of a region.
const (
	No   = 0
	Yes  = 1
	Open = -1
)

// Record is a file of answered questions. It is safe for concurrent use.
type Record struct {
	Head  Head
	Hash  string // of the lines
	Lines []*Line

	mu    sync.Mutex
	byKey map[string]*Line
	part  string // file of lines that are not yet in the record
}

// Key names a question: what the local model is asked.
func Key(q *screen.Question) (string, error) { return keyOf(saliency.Write(q)) }

func keyOf(p *saliency.Prompt) (string, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12]), nil
}

const maxRecord = 64 << 20

// Read reads a record; an empty one where there is no file. Lines that an
// interrupted run left beside it are read, too.
func Read(path string) (*Record, error) {
	r := &Record{byKey: map[string]*Line{}, part: path + ".part"}
	f, err := os.Open(filepath.Clean(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := r.read(io.LimitReader(z, maxRecord), true); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if b, err := os.ReadFile(r.part); err == nil {
		// The last line may be half a line.
		if err := r.read(bytes.NewReader(b[:bytes.LastIndexByte(b, '\n')+1]), false); err != nil {
			return nil, fmt.Errorf("%s: %w", r.part, err)
		}
	}
	return r, nil
}

func (r *Record) read(from io.Reader, head bool) error {
	s := bufio.NewScanner(from)
	s.Buffer(nil, 4<<20)
	h := sha256.New()
	for n := 0; s.Scan(); n++ {
		h.Write(append(s.Bytes(), '\n'))
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		if n == 0 && head {
			if err := d.Decode(&r.Head); err != nil || r.Head.Version != 1 {
				return errors.New("not a record of version 1")
			}
			continue
		}
		l := &Line{}
		if err := d.Decode(l); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		r.add(l)
	}
	if head {
		r.Hash = hex.EncodeToString(h.Sum(nil))
	}
	return s.Err()
}

func (r *Record) add(l *Line) {
	if r.byKey[l.Key] == nil {
		r.byKey[l.Key] = l
		r.Lines = append(r.Lines, l)
	}
}

// Line returns the line of a question, or nil.
func (r *Record) Line(key string) *Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[key]
}

// Add adds a line, on disk at once.
func (r *Record) Add(l *Line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[l.Key] != nil {
		return nil
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.part, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	r.add(l)
	return errors.Join(err, f.Close())
}

// Write writes the whole record and removes what stands beside it.
func (r *Record) Write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.Lines, func(a, b *Line) int { return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Key, b.Key)) })
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	e := json.NewEncoder(z)
	if err := e.Encode(r.Head); err != nil {
		return err
	}
	for _, l := range r.Lines {
		if err := e.Encode(l); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := cli.WriteFile(path, b.Bytes()); err != nil {
		return err
	}
	if err := os.Remove(r.part); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ErrNotRecorded says that a question is not in the record.
var ErrNotRecorded = errors.New("the question is not recorded")

// Source answers from a record, and asks the endpoint for what is not in it, if
// there is one. It implements saliency.Source.
type Source struct {
	Record *Record
	Client *saliency.Client // nil for none

	asked, failed atomic.Int64
}

// Note says how many questions had no answer, if any had none.
func (s *Source) Note() (note string, ok bool) {
	n := s.failed.Load()
	return fmt.Sprintf("saliency: %d of %d questions had no answer, and everything counted as relevant", n, s.asked.Load()), n > 0
}

// Features implements saliency.Source.
func (s *Source) Features(ctx context.Context, q *screen.Question) ([]saliency.Features, error) {
	s.asked.Add(1)
	l, err := s.Ask(ctx, q, nil)
	if err != nil {
		s.failed.Add(1)
		return nil, err
	}
	judging.Count(ctx, judging.Cost{Questions: 1, Usage: completion.Usage{Prompt: int64(l.Prompt), Answer: int64(l.Output)}, Time: time.Duration(l.Millis) * time.Millisecond})
	out := make([]saliency.Features, len(l.Regions))
	for i, r := range l.Regions {
		if r != nil && r.Features != nil {
			out[i] = r.Features
		}
	}
	return out, nil
}

// Ask returns the line of a question. about says what it is, for the record.
func (s *Source) Ask(ctx context.Context, q *screen.Question, about *Labelled) (*Line, error) {
	key, err := Key(q)
	if err != nil {
		return nil, err
	}
	if l := s.Record.Line(key); l != nil {
		return l, nil
	}
	if s.Client == nil {
		return nil, ErrNotRecorded
	}
	start := time.Now()
	a, err := s.Client.Ask(ctx, saliency.Write(q))
	if err != nil {
		return nil, err
	}
	l := &Line{Key: key, Prompt: a.PromptTokens, Output: a.OutputTokens, Millis: int(time.Since(start).Milliseconds()), Kind: "call"}
	switch {
	case len(q.Calls) == 0 && q.Answer == "":
		l.Kind = "blind"
	case len(q.Calls) == 0:
		l.Kind = "answer"
	}
	for i, weighed := range saliency.Weighed(q) {
		if !weighed {
			l.Regions = append(l.Regions, nil)
			continue
		}
		r := &Region{Needed: Open, Tokens: a.Regions[i].Tokens, Cut: a.Regions[i].Cut}
		if f := a.Regions[i].Features; f != nil {
			r.Features = (*[saliency.Count]float64)(f)
		}
		l.Regions = append(l.Regions, r)
	}
	if about != nil {
		l.label(about)
	}
	return l, s.Record.Add(l)
}

// label gives a line the labels of its question.
func (l *Line) label(about *Labelled) {
	l.Suite, l.Task, l.Any = about.Suite, about.Task, nil
	for i, r := range l.Regions {
		if r != nil {
			r.Needed = about.Needed[i]
		}
	}
	for _, any := range about.Any {
		any = slices.DeleteFunc(slices.Clone(any), func(i int) bool { return l.Regions[i] == nil || l.Regions[i].Features == nil })
		if !slices.ContainsFunc(any, func(i int) bool { return l.Regions[i].Needed == Yes }) && len(any) > 0 {
			l.Any = append(l.Any, any)
		}
	}
}
