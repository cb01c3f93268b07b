// Package saliency is a screener by attention (RTBAS, sections 3.3 and 7.2). A
// local model says, by attention times gradient, which tokens of a
// conversation a proposed answer draws on; a small recurrent network reads six
// features of each region and says which regions matter.
//
// The model need not be the agent's. Where there is no proposed answer, it
// writes one itself, which a small model does badly. Regions without a letter
// or a digit, and what stands between the values of a result, count as
// irrelevant. Every failure is an error, and then everything is relevant.
package saliency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/screen"
)

// Count is how many features a region has: the share of the prompt's scores,
// the mean in units of the prompt's mean, and the 20th, 50th, 80th and 99th
// percentile in units of the greatest score.
const Count = 6

// Features are those of a region; nil where no token is the region's.
type Features *[Count]float64

// Source computes features.
type Source interface {
	// Features returns one element a region.
	Features(ctx context.Context, q *screen.Question) ([]Features, error)
}

// Screener implements screen.Adviser.
type Screener struct {
	Source Source
	Model  *Model
}

// Relevant implements screen.Adviser.
func (s *Screener) Relevant(ctx context.Context, q *screen.Question) ([]bool, error) {
	out := make([]bool, len(q.Regions))
	if len(out) == 0 {
		return out, nil
	}
	fs, err := s.Source.Features(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("saliency: %w", err)
	}
	if len(fs) != len(out) {
		return nil, errors.New("saliency: features of other regions")
	}
	var at []int
	var sequence [][Count]float64
	for i, weighs := range Weighed(q) {
		switch {
		case !weighs:
		case fs[i] == nil:
			out[i] = true // nothing is known of it
		default:
			at, sequence = append(at, i), append(sequence, *fs[i])
		}
	}
	for k, score := range s.Model.Scores(sequence) {
		out[at[k]] = score >= s.Model.Threshold
	}
	return out, nil
}

// Weighed reports which regions the network reads: those with a letter or a
// digit, other than what stands between the named values of a result.
func Weighed(q *screen.Question) []bool {
	named := map[int]bool{}
	for i := range q.Regions {
		named[q.Regions[i].Message] = named[q.Regions[i].Message] || q.Regions[i].Field != ""
	}
	out := make([]bool, len(q.Regions))
	for i := range q.Regions {
		r := &q.Regions[i]
		out[i] = (r.Field != "" || !named[r.Message]) && strings.ContainsFunc(r.Text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
	}
	return out
}

// Prompt is a question as the local model gets it.
type Prompt struct {
	Messages []Message `json:"messages"`
	Regions  []Span    `json:"regions"`
	Output   string    `json:"output"` // empty: the model writes one
}

// Message of a prompt.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Span is a region, in the characters of its message.
type Span struct {
	Message int `json:"message"`
	Start   int `json:"start"`
	End     int `json:"end"`
}

const system = "You help the user with their accounts. Use the tools that you have."

// Write writes a question: what was read, message by message, then what the
// user asks for. A proposed call is put in words, as the paper does.
func Write(q *screen.Question) *Prompt {
	p := &Prompt{Messages: []Message{{"system", system}}, Regions: make([]Span, 0, len(q.Regions)), Output: output(q)}
	var text strings.Builder
	last, length := -1, 0
	add := func(s string) {
		text.WriteString(s)
		length += utf8.RuneCountInString(s)
	}
	finish := func() {
		if last >= 0 {
			p.Messages[len(p.Messages)-1].Content = text.String()
			text.Reset()
			length = 0
		}
	}
	for i := range q.Regions {
		r := &q.Regions[i]
		if i == 0 || r.Message != q.Regions[i-1].Message {
			finish()
			last = i
			role := "user"
			if r.Tool != "" {
				role = "tool"
				add(words(r.Tool) + ":\n")
			}
			p.Messages = append(p.Messages, Message{Role: role})
		} else if r.Field != "" && q.Regions[i-1].Field != "" {
			add("\n")
		}
		// Values that follow each other directly have their names written.
		if r.Field != "" && (last == i || q.Regions[i-1].Field != "") {
			add(words(r.Field) + ": ")
		}
		start := length
		add(r.Text)
		p.Regions = append(p.Regions, Span{len(p.Messages) - 1, start, length})
	}
	finish()
	p.Messages = append(p.Messages, Message{"user", strings.Join(q.Requests, "\n")})
	return p
}

// words writes a name as words.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// output is the preliminary answer in words.
func output(q *screen.Question) string {
	var out []string
	for _, c := range q.Calls {
		said := words(c.Name)
		var args map[string]json.RawMessage
		if json.Unmarshal([]byte(c.Arguments), &args) != nil {
			said += " " + c.Arguments
		}
		for _, k := range slices.Sorted(maps.Keys(args)) {
			value := string(args[k])
			var s string
			if json.Unmarshal(args[k], &s) == nil {
				value = s
			}
			said += ", " + words(k) + ": " + value
		}
		out = append(out, said)
	}
	if len(out) == 0 {
		return q.Answer
	}
	return strings.Join(out, "; ")
}
