package prism

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/internal/cli"
	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/prism/method"
)

// JudgeOptions say whom to ask about which outputs.
type JudgeOptions struct {
	Records   []string
	Judge     completion.Config
	ModelHash string
	Out       string // gzipped JSON lines; while they are made, OUT.part
	Workers   int    // questions at once; 1 where 0
	Progress  func(string)
}

// judgeHeader is the first line.
type judgeHeader struct {
	Version   int    `json:"version"`
	Kind      string `json:"kind"` // "prism-judge"
	Model     string `json:"model"`
	ModelHash string `json:"model_hash,omitempty"`
	Asked     string `json:"asked"` // SHA-256 of the judge's instruction
}

// judgedLine is an answer about an output, which is known by its digest.
type judgedLine struct {
	Output string `json:"output"`
	Answer string `json:"answer"`
}

// RecordJudge asks a model about the outputs of records and keeps its answers. An
// interrupted run goes on where it stopped, and what it has is not lost. A file of
// answers that is finished is not overwritten.
func RecordJudge(ctx context.Context, o JudgeOptions) error {
	h := judgeHeader{1, "prism-judge", o.Judge.Model, o.ModelHash, checksum([]byte(method.JudgeInstruction))}
	model, err := completion.New(o.Judge)
	if err != nil {
		return err
	}
	if _, err := os.Stat(o.Out); err == nil {
		return fmt.Errorf("judge: %s is there already", o.Out)
	}
	part := o.Out + ".part"
	have, err := readJudged(part, &h)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	texts := map[string]string{}
	for _, path := range o.Records {
		_, recorded, err := ReadRecord(path)
		if err != nil {
			return err
		}
		for i := range recorded {
			if text := recorded[i].Text(); strings.TrimSpace(text) != "" {
				texts[method.OutputKey(text)] = text
			}
		}
	}
	all := func(w io.Writer) error {
		err := appendLine(w, h)
		for _, k := range slices.Sorted(maps.Keys(have)) {
			err = errors.Join(err, appendLine(w, judgedLine{k, have[k]}))
		}
		return err
	}
	// A line that was not finished goes.
	if err := cli.PlaceFile(part, 0o600, all); err != nil {
		return err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	asked := maps.Clone(have)
	var writing sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(1, o.Workers))
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		if _, ok := asked[k]; ok {
			continue
		}
		if slots <- struct{}{}; ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			answer, err := model.Text(ctx, method.JudgeQuestion(texts[k]))
			writing.Lock()
			defer writing.Unlock()
			if err == nil {
				have[k] = answer
				err = appendLine(f, judgedLine{k, answer})
			}
			if err != nil {
				cancel(fmt.Errorf("judge: %w", err))
			} else if o.Progress != nil {
				o.Progress(fmt.Sprintf("%d of %d outputs", len(have), len(texts)))
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err = cli.PlaceFile(o.Out, 0o600, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		return errors.Join(all(z), z.Close())
	})
	if err != nil {
		return err
	}
	return os.Remove(part)
}

// ReadJudged reads what RecordJudge wrote: the judge's name, and its answers by
// method.OutputKey. Answers to another instruction are an error.
func ReadJudged(path string) (model string, answers map[string]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	var h judgeHeader
	answers, err = judgedFrom(z, path, &h, nil)
	return h.Model, answers, err
}

// readJudged reads what was asked so far.
func readJudged(path string, want *judgeHeader) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return map[string]string{}, err
	}
	defer f.Close()
	var h judgeHeader
	return judgedFrom(f, path, &h, want)
}

func judgedFrom(r io.Reader, path string, h, want *judgeHeader) (map[string]string, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	if !s.Scan() || json.Unmarshal(s.Bytes(), h) != nil || h.Kind != "prism-judge" || h.Asked != checksum([]byte(method.JudgeInstruction)) || want != nil && *h != *want {
		return nil, fmt.Errorf("%s: not answers of this judge to this version's question", path)
	}
	out := map[string]string{}
	for s.Scan() {
		var l judgedLine
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			if want != nil {
				break // a line that was not finished
			}
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out[l.Output] = l.Answer
	}
	return out, s.Err()
}
