package prism

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/margaydev/margay/lab/prism/world"
	"github.com/margaydev/margay/monitor"
	"github.com/margaydev/margay/monitor/cue"
)

const (
	recordVersion = 2  // 1 had a line for each answer, and no telemetry
	recordTokens  = 64 // an agent, at most
	recordTop     = 20
	// Of the alternatives behind the first ones, those below this
	// log-probability are not kept: all of them together have less than a
	// thousandth of the mass.
	recordFloor = -11
	recordFirst = 5
	// Of those behind the first, this and more has two decimals, less has one.
	recordFine = -4
)

// columns are what a token's telemetry holds, in order. The last two are not
// part of docs/format/telemetry.md: the attention on what the model wrote itself,
// and the exact entropy, in nats. Those that a server does not give are -1.
var columns = []string{"hidden_norm", "hidden_variance", "hidden_size", "public", "private", "system", "own", "entropy"}

// Header is a record's first line.
type Header struct {
	Version    int    `json:"version"`
	Kind       string `json:"kind"` // "prism-record"
	Model      string `json:"model"`
	ModelHash  string `json:"model_hash,omitempty"`
	Server     string `json:"server,omitempty"`
	Vocabulary int    `json:"vocabulary"`
	Repository string `json:"repository"`
	Seed       uint64 `json:"seed"`
	Tasks      int    `json:"tasks"`
	// Varied: the temperature is each answer's own.
	Varied      bool    `json:"varied,omitempty"`
	Temperature float64 `json:"temperature"`
	MaxTokens   int     `json:"max_tokens"`
	TopLogprobs int     `json:"top_logprobs"`
	Decimals    int     `json:"decimals"` // of log-probabilities
	Floor       float64 `json:"floor,omitempty"`
	Instruction string  `json:"instruction,omitempty"`
	// Telemetry names what a token's telemetry holds, where there is any.
	Telemetry []string `json:"telemetry,omitempty"`
	// Secrets are the repository's: the record stands by itself.
	Secrets []secret `json:"secrets"`
}

type secret struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// taken is a line behind the header: a task. Sum is the SHA-256 of Turns.
type taken struct {
	Task  string          `json:"task"`
	Sum   string          `json:"sha256"`
	Turns json.RawMessage `json:"turns"`
}

// Recorded is one agent's answer.
type Recorded struct {
	Task      string   `json:"task"`
	Category  string   `json:"category"`
	Pressure  string   `json:"pressure"`
	Agent     string   `json:"agent"`
	Manner    *manner  `json:"manner,omitempty"` // of a varied recording
	Prompt    []line   `json:"prompt"`
	Private   []string `json:"private,omitempty"`
	Tool      bool     `json:"tool"`
	Asks      bool     `json:"asks"`
	Finish    string   `json:"finish"`
	Tokens    []spoken `json:"tokens"`
	Emissions []told   `json:"emissions,omitempty"`
}

// manner is how the task was put.
type manner struct {
	Style       string  `json:"style"`
	Temperature float64 `json:"temperature"`
	Long        bool    `json:"long,omitempty"`
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
	// Telemetry has the header's columns.
	Telemetry []float64 `json:"m,omitempty"`
}

// telemetry is the part of a token's telemetry that a monitor reads.
func (s *spoken) telemetry() *monitor.Telemetry {
	m := s.Telemetry
	if len(m) < 6 || m[0] < 0 {
		return nil
	}
	return &monitor.Telemetry{HiddenNorm: m[0], HiddenVariance: m[1], HiddenSize: int(m[2]), Public: m[3], Private: m[4], System: m[5]}
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
		out[i] = monitor.Token{Text: t.Text, Logprob: t.Logprob, Top: make([]monitor.Alternative, len(t.Texts)), Telemetry: t.telemetry()}
		for k := range t.Texts {
			out[i].Top[k] = monitor.Alternative{Text: t.Texts[k], Logprob: t.Logprobs[k]}
		}
	}
	return out
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// turns are the answers of a line of version 2.
func (t *taken) turns() ([]Recorded, error) {
	if checksum(t.Turns) != t.Sum {
		return nil, errors.New("the checksum is another one: the line was changed")
	}
	var out []Recorded
	err := json.Unmarshal(t.Turns, &out)
	return out, err
}

// reopen makes a finished record of fewer tasks one that is not finished.
func reopen(out string, h *Header) error {
	f, err := os.Open(out)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("record: %s: %w", out, err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		return fmt.Errorf("record: %s: %w", out, err)
	}
	first, _, _ := bytes.Cut(b, []byte("\n"))
	if had, err := h.extends(first); err != nil || had >= h.Tasks {
		return errors.Join(fmt.Errorf("record: %s is there already", out), err)
	}
	// What is in progress is not overwritten.
	part, err := os.OpenFile(out+".part", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record: %s is there, and so is what continues it; remove one of them: %w", out, err)
	}
	_, err = part.Write(b)
	if err := errors.Join(err, part.Close()); err != nil {
		return err
	}
	return os.Remove(out)
}

var errSettings = errors.New("it was begun with other settings; finish it with those, or remove it")

// extends reports of how many tasks a header is that differs in nothing else.
func (h *Header) extends(line []byte) (tasks int, err error) {
	var was Header
	if err := json.Unmarshal(line, &was); err != nil {
		return 0, err
	}
	tasks, was.Tasks = was.Tasks, h.Tasks
	want, err := json.Marshal(h)
	if err != nil {
		return 0, err
	}
	if got, err := json.Marshal(was); err != nil || !bytes.Equal(got, want) {
		return 0, errors.Join(errSettings, err)
	}
	return tasks, nil
}

// resume opens what was recorded so far, of these tasks or of fewer. A line that
// was not finished is cut off. Another header is another recording, and an error.
func resume(path string, h *Header) (*os.File, map[string]bool, error) {
	have := map[string]bool{}
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
	if tasks, err := h.extends(first); err != nil || tasks > h.Tasks {
		return nil, nil, fmt.Errorf("record: %s: %w", path, cmp.Or(err, errSettings))
	}
	for line := range bytes.Lines(rest) {
		var t taken
		err := json.Unmarshal(line, &t)
		if err == nil {
			_, err = t.turns()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("record: %s: %w", path, err)
		}
		have[t.Task] = true
	}
	// The new header, and all whole lines.
	whole := slices.Concat(want, []byte("\n"), rest)
	if err := os.WriteFile(path+".new", whole, 0o600); err != nil {
		return nil, nil, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return f, have, err
}

func appendLine(w io.Writer, v any) error {
	b, err := plainJSON(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// plainJSON is JSON in which <, > and & stand as they are.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// finish puts the tasks in their order and compresses the record.
func finish(out string, order []string) error {
	b, err := os.ReadFile(out + ".part")
	if err != nil {
		return err
	}
	if b, err = sorted(b, order); err != nil {
		return fmt.Errorf("record: %s.part: %w", out, err)
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
	if err := os.WriteFile(out+".new", z.Bytes(), 0o600); err != nil {
		return err
	}
	if err := os.Rename(out+".new", out); err != nil {
		return err
	}
	return os.Remove(out + ".part")
}

// sorted puts the lines behind the first in the order of their tasks.
func sorted(b []byte, order []string) ([]byte, error) {
	header, rest, _ := bytes.Cut(b, []byte("\n"))
	lines := map[string][]byte{}
	for line := range bytes.Lines(rest) {
		var t struct {
			Task string `json:"task"`
		}
		if err := json.Unmarshal(line, &t); err != nil {
			return nil, err
		}
		lines[t.Task] = line
	}
	out := append(bytes.Clone(header), '\n')
	for _, id := range order {
		out = append(out, lines[id]...)
	}
	return out, nil
}

// digits keeps three decimals, of large numbers three digits.
func digits(x float64) float64 {
	if x < 100 {
		return math.Round(x*1000) / 1000
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return math.Round(x/unit) * unit
}

// add puts an alternative behind those before. Behind the first ones, a text is
// kept where it is the token's own, or counts in unsafe_tokens.
func (s *spoken) add(a option) {
	if len(s.Texts) >= recordFirst {
		if a.Token != s.Text && !cue.CredentialLike(a.Token) {
			a.Token = ""
		}
		if a.Logprob < recordFine {
			a.Logprob = math.Round(a.Logprob*10) / 10
		}
	}
	s.Texts, s.Logprobs = append(s.Texts, a.Token), append(s.Logprobs, cents(a.Logprob))
}

type option struct {
	Token   string  `json:"token"`
	Logprob float64 `json:"logprob"`
}

// cents rounds to two decimals. What the server gives as impossible has no
// number in JSON, so it stays far below what counts.
func cents(logprob float64) float64 { return math.Round(max(logprob, -99)*100) / 100 }

// ReadRecord reads a record.
func ReadRecord(path string) (*Header, []Recorded, error) { return readRecord(path, true) }

// ReadHeader reads what a record is of.
func ReadHeader(path string) (*Header, error) {
	h, _, err := readRecord(path, false)
	return h, err
}

func readRecord(path string, whole bool) (*Header, []Recorded, error) {
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
			if h.Version < 1 || h.Version > recordVersion {
				return nil, nil, fmt.Errorf("%s: version %d is not known; this program reads up to %d", path, h.Version, recordVersion)
			}
			if !whole {
				break
			}
			continue
		}
		turns, err := h.turns(lines.Bytes())
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		out = append(out, turns...)
	}
	return &h, out, lines.Err()
}

// turns reads a line behind the header.
func (h *Header) turns(b []byte) ([]Recorded, error) {
	turns := make([]Recorded, 1)
	if h.Version == 1 {
		if err := json.Unmarshal(b, &turns[0]); err != nil {
			return nil, err
		}
	} else {
		var t taken
		if err := json.Unmarshal(b, &t); err != nil {
			return nil, err
		}
		var err error
		if turns, err = t.turns(); err != nil {
			return nil, err
		}
	}
	for i := range turns {
		r := &turns[i]
		// What has no text, such as a model's own marks, says nothing.
		r.Tokens = slices.DeleteFunc(r.Tokens, func(t spoken) bool { return t.Text == "" })
		for _, t := range r.Tokens {
			if len(t.Texts) != len(t.Logprobs) {
				return nil, fmt.Errorf("%d alternatives with %d log-probabilities", len(t.Texts), len(t.Logprobs))
			}
		}
	}
	return turns, nil
}

// heat is the header's temperature, or temperatures, in words.
func (h *Header) heat() string {
	if h.Varied {
		return "temperatures " + strings.Trim(fmt.Sprint(world.Temperatures), "[]")
	}
	return fmt.Sprintf("temperature %g", h.Temperature)
}
