// Package train fits the monitor's risk model to recorded generations, after
// PRISM (B.1 to B.5): l2-regularised logistic regression on standardised
// features, the strength of regularisation by stratified cross-validation,
// thresholds by grid, all on the training part of a 70/30 split. It works
// offline; nothing that runs imports it.
//
// A trace is one agent's output with the distribution of each of its tokens
// and the places of secrets in it, as the generator recorded them: the truth
// never comes from a detector. Traces are JSON lines (docs/format/trace.md),
// in .jsonl or .jsonl.gz files. A file with any mistake is refused as a
// whole, with the file, the line and the token.
package train

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/margaydev/margay/monitor"
)

// TraceVersion is the version of the format.
const TraceVersion = 1

// Trace is one agent's output.
type Trace struct {
	Version    int // TraceVersion; 0 is written as it
	ID         string
	Task       string // outputs of a task stay on one side of a split
	Agent      string
	Source     string   // "sim", or the model's name
	Vocabulary int      // the size of the model's
	Private    []string // what the agent had been shown
	Tool       bool     // the turn follows or proposes a tool call
	Tokens     []monitor.Token
	Spans      []Span
	Secrets    []string // digests of all secrets of the world
}

// Span is where a secret, or a part of one, stands in the concatenated text.
type Span struct {
	Start    int    `json:"start"` // bytes
	End      int    `json:"end"`
	Secret   string `json:"secret"`   // its digest
	Encoding string `json:"encoding"` // "raw", or how it is disguised
	Whole    bool   `json:"whole"`    // not just a part
}

// Text is the concatenated text of the tokens.
func (t *Trace) Text() string {
	var b strings.Builder
	for i := range t.Tokens {
		b.WriteString(t.Tokens[i].Text)
	}
	return b.String()
}

// line is a trace as it is written.
type line struct {
	Version    int      `json:"version"`
	ID         string   `json:"id"`
	Task       string   `json:"task,omitempty"`
	Agent      string   `json:"agent,omitempty"`
	Source     string   `json:"source"`
	Vocabulary int      `json:"vocabulary"`
	Private    []string `json:"private"`
	Tool       bool     `json:"tool"`
	Tokens     []token  `json:"tokens"`
	Spans      []Span   `json:"spans"`
	Secrets    []string `json:"secrets"`
}

type token struct {
	Text      *string    `json:"t,omitempty"`
	Bytes     []byte     `json:"b,omitempty"` // instead of Text, where that is not UTF-8
	Logprob   *logprob   `json:"l"`
	Texts     []string   `json:"a"`
	Logprobs  []logprob  `json:"p"`
	Telemetry *telemetry `json:"m,omitempty"`
}

type telemetry struct {
	HiddenNorm     float64 `json:"hidden_norm"`
	HiddenVariance float64 `json:"hidden_variance"`
	HiddenSize     int     `json:"hidden_size"`
	Public         float64 `json:"public"`
	Private        float64 `json:"private"`
	System         float64 `json:"system"`
}

// logprob is a number; NaN and absent ones are NaN, which no JSON number is.
type logprob float64

// UnmarshalJSON takes null for absent, and the words by which some writers
// spell what JSON has no number for, where they are quoted.
func (l *logprob) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*l = logprob(math.NaN())
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && strings.HasPrefix(string(b), `"`) {
		return errQuoted
	}
	*l = logprob(f)
	return err
}

// zeroLogprob stands for a probability of zero in a file.
const zeroLogprob = -9999

// MarshalJSON writes four decimals, half a ten-thousandth of a probability.
func (l logprob) MarshalJSON() ([]byte, error) {
	f := float64(l)
	if math.IsNaN(f) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(math.Max(f, zeroLogprob)*1e4)/1e4, 'g', -1, 64), nil
}

// Writer writes traces.
type Writer struct {
	e     *json.Encoder
	close func() error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &Writer{e: e, close: func() error { return nil }}
}

// Create returns a Writer to a new file, compressed where its name ends with
// .gz. The same traces make the same bytes.
func Create(path string) (*Writer, error) {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	buf := bufio.NewWriter(f)
	finish := func() error {
		err := buf.Flush()
		if e := f.Close(); err == nil {
			err = e
		}
		return err
	}
	if !strings.HasSuffix(path, ".gz") {
		w := NewWriter(buf)
		w.close = finish
		return w, nil
	}
	z := gzip.NewWriter(buf)
	w := NewWriter(z)
	w.close = func() error {
		err := z.Close()
		if e := finish(); err == nil {
			err = e
		}
		return err
	}
	return w, nil
}

// Close ends a file that Create made.
func (w *Writer) Close() error { return w.close() }

// Write writes a trace. It does not check it: reading does.
func (w *Writer) Write(t *Trace) error {
	l := line{
		Version: t.Version, ID: t.ID, Task: t.Task, Agent: t.Agent, Source: t.Source, Vocabulary: t.Vocabulary,
		Private: t.Private, Tool: t.Tool, Spans: t.Spans, Secrets: t.Secrets, Tokens: make([]token, len(t.Tokens)),
	}
	if l.Version == 0 {
		l.Version = TraceVersion
	}
	for _, list := range []*[]string{&l.Private, &l.Secrets} {
		if *list == nil {
			*list = []string{} // an empty list, not null
		}
	}
	if l.Spans == nil {
		l.Spans = []Span{}
	}
	for i := range t.Tokens {
		from, to := &t.Tokens[i], &l.Tokens[i]
		if to.Text = &from.Text; !utf8.ValidString(from.Text) {
			to.Text, to.Bytes = nil, []byte(from.Text)
		}
		own := logprob(from.Logprob)
		to.Logprob = &own
		to.Texts, to.Logprobs = make([]string, len(from.Top)), make([]logprob, len(from.Top))
		for j, a := range from.Top {
			to.Texts[j], to.Logprobs[j] = a.Text, logprob(a.Logprob)
		}
		if e := from.Telemetry; e != nil {
			to.Telemetry = &telemetry{e.HiddenNorm, e.HiddenVariance, e.HiddenSize, e.Public, e.Private, e.System}
		}
	}
	return w.e.Encode(&l)
}

// trace turns a line that was read into a trace.
func (l *line) trace() *Trace {
	t := &Trace{
		Version: l.Version, ID: l.ID, Task: l.Task, Agent: l.Agent, Source: l.Source, Vocabulary: l.Vocabulary,
		Private: l.Private, Tool: l.Tool, Spans: l.Spans, Secrets: l.Secrets, Tokens: make([]monitor.Token, len(l.Tokens)),
	}
	for i := range l.Tokens {
		from, to := &l.Tokens[i], &t.Tokens[i]
		if from.Text != nil {
			to.Text = *from.Text
		} else {
			to.Text = string(from.Bytes)
		}
		to.Logprob = math.NaN()
		if from.Logprob != nil {
			to.Logprob = float64(*from.Logprob)
		}
		to.Top = make([]monitor.Alternative, len(from.Texts))
		for j := range to.Top {
			to.Top[j] = monitor.Alternative{Text: from.Texts[j], Logprob: float64(from.Logprobs[j])}
		}
		if e := from.Telemetry; e != nil {
			to.Telemetry = &monitor.Telemetry{
				HiddenNorm: e.HiddenNorm, HiddenVariance: e.HiddenVariance, HiddenSize: e.HiddenSize,
				Public: e.Public, Private: e.Private, System: e.System,
			}
		}
	}
	return t
}
