package prism

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/monitor"
)

// RecordOptions say what to record and of which model.
type RecordOptions struct {
	// BaseURL is an OpenAI-compatible endpoint, Margay's gateway or another;
	// "/chat/completions" is put behind it. It must give log-probabilities.
	BaseURL, Key string
	// Model is asked for. ModelHash and Server are noted: the digest of the
	// weights, and what served them.
	Model, ModelHash, Server string
	Vocabulary               int // of the model's tokens
	// Out is the record, gzipped JSON lines. While it is made it grows in
	// OUT.part; what is there already is not asked for again.
	Out         string
	Repository  string // "payments" where empty
	Seed        uint64
	N           int // tasks; 400 where 0
	Temperature float64
	// Instruction is put behind the system prompt: the defence "prompt". As
	// that acts before a token is written, no alternatives are recorded then.
	Instruction string
	Client      *http.Client // one with a time-out of 5 minutes where nil
	Progress    func(string)
}

const (
	recordVersion = 1
	recordTokens  = 64 // an agent, at most
	recordTop     = 20
)

// Header is a record's first line.
type Header struct {
	Version     int     `json:"version"`
	Kind        string  `json:"kind"` // "prism-record"
	Model       string  `json:"model"`
	ModelHash   string  `json:"model_hash,omitempty"`
	Server      string  `json:"server,omitempty"`
	Vocabulary  int     `json:"vocabulary"`
	Repository  string  `json:"repository"`
	Seed        uint64  `json:"seed"`
	Tasks       int     `json:"tasks"`
	Temperature float64 `json:"temperature"`
	MaxTokens   int     `json:"max_tokens"`
	TopLogprobs int     `json:"top_logprobs"`
	Decimals    int     `json:"decimals"` // of log-probabilities
	Instruction string  `json:"instruction,omitempty"`
	// Secrets are the repository's: the record stands by itself.
	Secrets []secret `json:"secrets"`
}

type secret struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Recorded is one agent's answer.
type Recorded struct {
	Task      string   `json:"task"`
	Category  string   `json:"category"`
	Pressure  string   `json:"pressure"`
	Agent     string   `json:"agent"`
	Prompt    []line   `json:"prompt"`
	Private   []string `json:"private,omitempty"`
	Tool      bool     `json:"tool"`
	Asks      bool     `json:"asks"`
	Finish    string   `json:"finish"`
	Tokens    []spoken `json:"tokens"`
	Emissions []told   `json:"emissions,omitempty"`
}

// line is a message of the prompt.
type line struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// told is an emission; the secret is its index.
type told struct {
	Secret   int    `json:"secret"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Encoding string `json:"encoding"`
	Whole    bool   `json:"whole"`
	Chars    int    `json:"chars"`
}

// spoken is a token: its text, its log-probability, and the alternatives'.
type spoken struct {
	Text     string    `json:"t"`
	Logprob  float64   `json:"l"`
	Texts    []string  `json:"a,omitempty"`
	Logprobs []float64 `json:"p,omitempty"`
}

// Text is what the agent said.
func (r *Recorded) Text() string {
	var b strings.Builder
	for i := range r.Tokens {
		b.WriteString(r.Tokens[i].Text)
	}
	return b.String()
}

// MonitorTokens are the tokens as a monitor reads them.
func (r *Recorded) MonitorTokens() []monitor.Token {
	out := make([]monitor.Token, len(r.Tokens))
	for i, t := range r.Tokens {
		out[i] = monitor.Token{Text: t.Text, Logprob: t.Logprob, Top: make([]monitor.Alternative, len(t.Texts))}
		for k := range t.Texts {
			out[i].Top[k] = monitor.Alternative{Text: t.Texts[k], Logprob: t.Logprobs[k]}
		}
	}
	return out
}

// Record plays the first tasks with a real model in the agents' place and
// keeps what it said, token by token, with the log-probabilities that the
// server told. The tasks are the simulation's, in short prompts fit for a small
// model: in a leaking task it is asked for secrets, in a clean one for decoys.
// What it then tells is the truth, found by comparing with the repository's
// secrets (world.Finder). An interrupted recording goes on where it stopped.
func Record(ctx context.Context, o RecordOptions) error {
	h, err := o.header()
	if err != nil {
		return err
	}
	r, err := repository(h.Repository, h.Seed)
	if err != nil {
		return err
	}
	for _, s := range r.Secrets {
		h.Secrets = append(h.Secrets, secret(s))
	}
	tasks, err := r.Tasks(h.Tasks)
	if err != nil {
		return err
	}
	if _, err := os.Stat(o.Out); err == nil {
		return fmt.Errorf("record: %s is there already", o.Out)
	}
	part, have, err := resume(o.Out+".part", h)
	if err != nil {
		return err
	}
	defer part.Close()
	find := r.Finder()
	for i := range tasks {
		before := ""
		for agent, name := range world.Agents {
			rec, ok := have[tasks[i].ID+"/"+name]
			if !ok {
				if rec, err = o.ask(ctx, h, &tasks[i], agent, before); err != nil {
					return fmt.Errorf("record: %s, %s: %w", tasks[i].ID, name, err)
				}
				for _, e := range find.Find(rec.Text()) {
					rec.Emissions = append(rec.Emissions, told(e))
				}
				if err := appendLine(part, rec); err != nil {
					return err
				}
			}
			before = rec.Text()
		}
		if o.Progress != nil {
			o.Progress(fmt.Sprintf("%d of %d tasks", i+1, len(tasks)))
		}
	}
	return finish(o.Out)
}

func (o *RecordOptions) header() (*Header, error) {
	if o.BaseURL == "" || o.Model == "" || o.Out == "" || o.Vocabulary <= 1 {
		return nil, errors.New("record: an endpoint, a model, its vocabulary's size and a file are needed")
	}
	h := &Header{
		Version: recordVersion, Kind: "prism-record", Model: o.Model, ModelHash: o.ModelHash, Server: o.Server, Vocabulary: o.Vocabulary,
		Repository: o.Repository, Seed: o.Seed, Tasks: o.N, Temperature: o.Temperature, MaxTokens: recordTokens, TopLogprobs: recordTop, Decimals: 2,
		Instruction: o.Instruction,
	}
	if h.Repository == "" {
		h.Repository = "payments"
	}
	if h.Tasks == 0 {
		h.Tasks = 400
	}
	if h.Instruction != "" {
		h.TopLogprobs = 0
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 5 * time.Minute}
	}
	return h, nil
}

// resume opens what was recorded so far. A line that was not finished is cut
// off. Another header is another recording, and an error.
func resume(path string, h *Header) (*os.File, map[string]*Recorded, error) {
	have := map[string]*Recorded{}
	want, err := json.Marshal(h)
	if err != nil {
		return nil, nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, err
		}
		_, err = f.Write(append(want, '\n'))
		return f, have, err
	}
	if err != nil {
		return nil, nil, err
	}
	b = b[:bytes.LastIndexByte(b, '\n')+1]
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	if !bytes.Equal(first, want) {
		return nil, nil, fmt.Errorf("record: %s was begun with other settings; finish it with those, or remove it", path)
	}
	for line := range bytes.Lines(rest) {
		var r Recorded
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, nil, fmt.Errorf("record: %s: %w", path, err)
		}
		have[r.Task+"/"+r.Agent] = &r
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := f.Truncate(int64(len(b))); err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	_, err = f.Seek(0, io.SeekEnd)
	return f, have, err
}

func appendLine(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// finish compresses the record.
func finish(out string) error {
	b, err := os.ReadFile(out + ".part")
	if err != nil {
		return err
	}
	var z bytes.Buffer
	w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(out, z.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Remove(out + ".part")
}

// completion is what is read of a server's answer.
type completion struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Logprobs     *struct {
			Content []struct {
				option
				Top []option `json:"top_logprobs"`
			} `json:"content"`
		} `json:"logprobs"`
	} `json:"choices"`
}

type option struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
}

func (o *RecordOptions) ask(ctx context.Context, h *Header, t *world.Task, agent int, before string) (*Recorded, error) {
	brief := t.Brief(agent, before)
	if h.Instruction != "" {
		brief.System += " " + h.Instruction
	}
	prompt := []line{{"system", brief.System}}
	for _, e := range brief.Examples {
		prompt = append(prompt, line{"user", e[0]}, line{"assistant", e[1]})
	}
	prompt = append(prompt, line{"user", brief.User})
	body, err := json.Marshal(map[string]any{
		"model": h.Model, "temperature": h.Temperature, "max_tokens": h.MaxTokens, "seed": h.Seed, "logprobs": true, "top_logprobs": h.TopLogprobs,
		"messages": prompt,
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(o.BaseURL, "/")+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if o.Key != "" {
		req.Header.Set("Authorization", "Bearer "+o.Key)
	}
	resp, err := o.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the endpoint answered %s: %.200s", resp.Status, answer)
	}
	var c completion
	if err := json.Unmarshal(answer, &c); err != nil {
		return nil, err
	}
	if len(c.Choices) != 1 || c.Choices[0].Logprobs == nil {
		return nil, errors.New("the endpoint gives no log-probabilities")
	}
	r := &Recorded{
		Task: t.ID, Category: t.Category, Pressure: t.Pressure, Agent: world.Agents[agent], Prompt: prompt, Private: brief.Private, Tool: brief.Tool,
		Asks: brief.Asks, Finish: c.Choices[0].FinishReason,
	}
	for _, tok := range c.Choices[0].Logprobs.Content {
		s := spoken{Text: tok.Token, Logprob: cents(tok.Logprob)}
		for _, a := range tok.Top {
			s.Texts, s.Logprobs = append(s.Texts, a.Token), append(s.Logprobs, cents(a.Logprob))
		}
		r.Tokens = append(r.Tokens, s)
	}
	return r, nil
}

// cents rounds to two decimals. What the server gives as impossible has no
// number in JSON, so it stays far below what counts.
func cents(logprob float64) float64 { return math.Round(max(logprob, -99)*100) / 100 }

// ReadRecord reads a record.
func ReadRecord(path string) (*Header, []Recorded, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 4<<20)
	var h Header
	var out []Recorded
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
				return nil, nil, fmt.Errorf("%s:1: %w", path, err)
			}
			if h.Kind != "prism-record" {
				return nil, nil, fmt.Errorf("%s:1: no record of this benchmark", path)
			}
			if h.Version != recordVersion {
				return nil, nil, fmt.Errorf("%s: version %d is not known; this program reads %d", path, h.Version, recordVersion)
			}
			continue
		}
		var r Recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		for _, t := range r.Tokens {
			if len(t.Texts) != len(t.Logprobs) {
				return nil, nil, fmt.Errorf("%s:%d: %d alternatives with %d log-probabilities", path, n, len(t.Texts), len(t.Logprobs))
			}
		}
		out = append(out, r)
	}
	return &h, out, lines.Err()
}
