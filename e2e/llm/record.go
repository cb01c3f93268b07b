package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
)

// recorder asks the model and keeps what came of it.
type recorder struct {
	margay, url, context, received string
	seed                           uint64
}

// trial is everything that was tried with one secret.
type trial struct {
	planted
	Streamed map[way]map[defence]outcome
	Whole    map[way]map[defence]outcome // asked without streaming
}

type record struct {
	Versions string
	Seed     uint64
	Trials   []trial
}

func (r *recorder) record(ctx context.Context) (_ *record, err error) {
	all := secrets(r.seed)
	rec := &record{Seed: r.seed}
	for _, s := range all {
		t := trial{s, map[way]map[defence]outcome{}, map[way]map[defence]outcome{}}
		for _, w := range ways {
			t.Streamed[w], t.Whole[w] = map[defence]outcome{}, map[defence]outcome{}
		}
		rec.Trials = append(rec.Trials, t)
	}
	for _, d := range defences {
		base := r.url
		var g *gateway
		if d != direct {
			known := all
			if d == unregistered {
				known = nil
			}
			if g, err = r.serve(ctx, known); err != nil {
				return nil, err
			}
			base = g.base
		}
		err := r.round(ctx, rec, d, base)
		if g != nil {
			err = errors.Join(err, g.stop())
		}
		if err != nil {
			return nil, err
		}
	}
	return rec, nil
}

func (r *recorder) round(ctx context.Context, rec *record, d defence, base string) error {
	for i := range rec.Trials {
		t := &rec.Trials[i]
		for _, w := range ways {
			for _, stream := range []bool{true, false} {
				o, err := r.ask(ctx, base, w, t.Value, stream)
				if err != nil {
					return fmt.Errorf("%s, %s, %s: %w", t.Format, w, d, err)
				}
				if stream {
					t.Streamed[w][d] = o
				} else {
					t.Whole[w][d] = o
				}
			}
		}
		fmt.Printf("%-24s %2d/%d %s\n", d, i+1, len(rec.Trials), t.Format)
	}
	return nil
}

// both counts the answers, streamed and not, that pass.
func (r *record) both(w way, d defence, pass func(outcome) bool) int {
	n := r.count(w, d, pass)
	for i := range r.Trials {
		if pass(r.Trials[i].Whole[w][d]) {
			n++
		}
	}
	return n
}

// count counts the streamed answers that pass.
func (r *record) count(w way, d defence, pass func(outcome) bool) int {
	n := 0
	for i := range r.Trials {
		if pass(r.Trials[i].Streamed[w][d]) {
			n++
		}
	}
	return n
}

// Leaks is the number of questions at which 8 bytes or more of a registered
// secret reached the server, or came back.
func (r *record) Leaks() int {
	n := 0
	for _, w := range ways {
		n += r.both(w, registered, func(o outcome) bool { return o.Answer >= minRun || w != inAnswer && o.Received >= minRun })
	}
	return n
}

// Figures are the counts of the record's table.
func (r *record) Figures() []string {
	var rows []string
	for _, w := range ways {
		for _, d := range defences {
			reached := fmt.Sprint(r.both(w, d, func(o outcome) bool { return o.Received >= minRun }))
			if w == inAnswer {
				reached = "–"
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %d | %s | %d | %d |", w, d, r.Questions(), reached,
				r.both(w, d, func(o outcome) bool { return o.Whole }), r.both(w, d, func(o outcome) bool { return o.Answer >= minRun })))
		}
	}
	return rows
}

// Questions is how often each way was tried with each defence.
func (r *record) Questions() int { return 2 * len(r.Trials) }

// RegisteredQuestions is how often a registered secret was asked for.
func (r *record) RegisteredQuestions() int { return len(ways) * r.Questions() }

// MinRun is the number of bytes that count as a leak.
func (r *record) MinRun() int { return minRun }

func (r *record) summary(w io.Writer) {
	for _, row := range r.Figures() {
		fmt.Fprintln(w, row)
	}
}

// longest is the longest run that got out, in bytes: to the server where the
// secret is in the prompt, to the client where it is in the answer.
func (t *trial) longest(w way, d defence) int {
	n := 0
	for _, o := range []outcome{t.Streamed[w][d], t.Whole[w][d]} {
		if w == inAnswer {
			n = max(n, o.Answer)
		} else {
			n = max(n, o.Received)
		}
	}
	return n
}

// Formats are the rows of the table by format: the longest runs that got out.
func (r *record) Formats() []string {
	var rows []string
	for i := range r.Trials {
		t := &r.Trials[i]
		row := fmt.Sprintf("| %s | %d |", t.Format, len(t.Value))
		for _, d := range defences {
			for _, w := range ways {
				row += fmt.Sprintf(" %d |", t.longest(w, d))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// transcript is one exchange as it is shown.
type transcript struct {
	Title, Sent, Received, Answer string
	Server                        string // what the server's context says
	Chunks                        int
}

// shown are the formats whose transcripts are kept: none that a service uses,
// so that nobody takes them for a lost credential.
var shown = []string{"in-house prefix", "made-up words"}

// Transcripts are the exchanges that are shown.
func (r *record) Transcripts() []transcript {
	var out []transcript
	for i := range r.Trials {
		t := &r.Trials[i]
		if !slices.Contains(shown, t.Format) {
			continue
		}
		for _, w := range ways {
			for _, d := range []defence{direct, registered} {
				out = append(out, t.transcript(w, d))
			}
		}
	}
	return out
}

// Through are the exchanges, asked as a stream, at which a part of a
// registered secret got out, with what the model says without Margay.
func (r *record) Through() []transcript {
	var out []transcript
	for i := range r.Trials {
		t := &r.Trials[i]
		for _, w := range ways {
			if o := t.Streamed[w][registered]; o.Answer >= minRun || w != inAnswer && o.Received >= minRun {
				tr := t.transcript(w, registered)
				tr.Title = fmt.Sprintf("%s: %d of %d bytes", tr.Title, max(o.Answer, t.longest(w, registered)), len(t.Value))
				out = append(out, tr)
			}
		}
	}
	return out
}

func (t *trial) transcript(w way, d defence) transcript {
	o := t.Streamed[w][d]
	tr := transcript{Title: fmt.Sprintf("%s, %s, %s", t.Format, w, d), Answer: strings.ReplaceAll(strings.TrimSpace(o.Text), "\n", " ↵ "), Chunks: o.Chunks}
	switch w {
	case inPrompt:
		tr.Sent, tr.Received = keyLine(facts(t.Value)), keyLine(o.Prompt)
	case inFile:
		tr.Sent, tr.Received = keyLine(file(t.Value)), keyLine(o.Prompt)
	case inAnswer:
		tr.Server = keyLine(facts(t.Value))
	}
	return tr
}

// keyLine returns the line with the key.
func keyLine(text string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, "deployment key is") || strings.Contains(l, "ACME_API_KEY=") {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

//go:embed record.md.tmpl
var page string

func (r *record) render() ([]byte, error) {
	t, err := template.New("record").Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, r)
	return b.Bytes(), err
}
