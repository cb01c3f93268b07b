package adversary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/completion"
	"github.com/margaydev/margay/lab/traj/world"
)

// Likelihoods is an adversary by what a model takes for likely: after the texts of
// a person it puts each class that the person may be of, and takes the model's
// log-likelihood of these words, less that after a text that says nothing. By Bayes'
// rule that is the log-likelihood of the texts, up to a constant. Names, places,
// illnesses and numbers are left out: the exact adversary reads these itself. It is
// safe for concurrent use once it is calibrated.
type Likelihoods struct {
	client      *http.Client
	url         string
	cfg         completion.Config
	skip        map[string]bool // words that Bayes reads itself
	Temperature [4]float64      // as they were calibrated; 0: the model knows nothing of the class

	mu    sync.Mutex
	known map[string][4][]float64 // by what was asked
}

// The questions, in the order of Cues. Together they have candidates enough for
// one request.
var questions = [4]struct {
	ask  string
	tell []string
}{
	{"They live in", []string{" the Northeast", " the Midwest", " the South", " the West", " Canada"}},
	{"They were born in the", []string{" 1930s", " 1940s", " 1950s", " 1960s", " 1970s", " 1980s", " 1990s", " 2000s"}},
	{"Their doctor works in", clinics()},
	{"Their job is in", []string{" health care", " a school", " software", " law", " finance", " a trade", " transport", " a restaurant", " farming", " public service"}},
}

func clinics() []string {
	var out []string
	for i := range world.Chapters {
		out = append(out, " "+world.Chapters[i].Clinic)
	}
	return out
}

const (
	maxScored = 600     // bytes of texts that the model is shown: the latest
	maxScores = 8 << 20 // bytes of an answer
	blank     = "[REDACTED]"
)

// NewLikelihoods returns an adversary behind an endpoint that scores prompts:
// /completions with echo, max_tokens 0 and logprobs 0.
func NewLikelihoods(cfg completion.Config, p *world.Population) (*Likelihoods, error) {
	if _, err := completion.New(cfg); err != nil {
		return nil, err
	}
	return &Likelihoods{
		client: &http.Client{Timeout: cfg.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		url:    strings.TrimSuffix(cfg.BaseURL, "/") + "/completions", cfg: cfg, skip: readable(p), known: map[string][4][]float64{},
	}, nil
}

// Calibrate finds the temperatures, on texts of a seed that must not be evaluated.
func (l *Likelihoods) Calibrate(ctx context.Context, s *world.Setting, p *world.Population, seed uint64, n int) error {
	var logs [4][][]float64
	var class [4][]int
	for _, t := range s.Generate(seed, n).Tasks {
		of, err := l.logs(ctx, unmentioned(t))
		if err != nil {
			return err
		}
		truth := classes(p, t.Person)
		for k := range of {
			if of[k] != nil {
				logs[k], class[k] = append(logs[k], of[k]), append(class[k], truth[k])
			}
		}
	}
	for k := range logs {
		l.Temperature[k] = temperature(logs[k], class[k], len(questions[k].tell))
	}
	return nil
}

// Cues is what the model takes a view to say; nil for nothing.
func (l *Likelihoods) Cues(ctx context.Context, v View) (*Cues, error) {
	logs, err := l.logs(ctx, v)
	if err != nil || logs[0] == nil {
		return nil, err
	}
	var of [4][]float64
	for k := range of {
		of[k] = soften(logs[k], l.Temperature[k])
	}
	return &Cues{of[0], of[1], of[2], of[3]}, nil
}

// logs are log-likelihoods of a view by class; nil where no text has a word left.
func (l *Likelihoods) logs(ctx context.Context, v View) (out [4][]float64, err error) {
	shown := l.shown(v)
	if shown == "" {
		return out, nil
	}
	out, err = l.told(ctx, shown)
	if err != nil {
		return out, err
	}
	before, err := l.told(ctx, blank)
	for k := range before {
		for c := range before[k] {
			out[k][c] -= before[k][c]
		}
	}
	return out, err
}

// shown are the latest texts, without what Bayes reads, each once.
func (l *Likelihoods) shown(v View) string {
	var out []string
	had := map[string]bool{}
	size := 0
	for i := len(v) - 1; i >= 0; i-- {
		text, words := l.mask(v[i])
		if words == 0 || had[text] || size+len(text) > maxScored {
			continue
		}
		had[text] = true
		size += len(text)
		out = append([]string{text}, out...)
	}
	return strings.Join(out, "\n")
}

// mask leaves out the words that Bayes reads, numbers and marks. Words of up to
// three letters stay, or sentences would lose their sense. It returns the words that
// are left, too.
func (l *Likelihoods) mask(text string) (masked string, words int) {
	var out []string
	for _, w := range strings.Fields(strings.ReplaceAll(text, blank, " ")) {
		core := strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		if len(core) > 3 && l.skip[core] || strings.ContainsFunc(core, unicode.IsDigit) {
			continue
		}
		if core != "" {
			words++
		}
		out = append(out, w)
	}
	return strings.Join(out, " "), words
}

// told are the log-likelihoods of all candidates after a text.
func (l *Likelihoods) told(ctx context.Context, shown string) (out [4][]float64, err error) {
	l.mu.Lock()
	of, ok := l.known[shown]
	l.mu.Unlock()
	if !ok {
		if of, err = l.ask(ctx, shown); err != nil {
			return out, err
		}
		l.mu.Lock()
		l.known[shown] = of
		l.mu.Unlock()
	}
	for k := range of { // the caller changes them
		out[k] = append([]float64(nil), of[k]...)
	}
	return out, nil
}

// ask asks for all candidates at once: what their prompts share is evaluated once
// by servers that keep it.
func (l *Likelihoods) ask(ctx context.Context, shown string) (out [4][]float64, err error) {
	head := "Messages of one person:\n" + shown + "\n\nAbout this person: "
	var prompts []string
	for _, q := range questions {
		for _, c := range q.tell {
			prompts = append(prompts, head+q.ask+c)
		}
	}
	scores, err := l.score(ctx, prompts, utf8.RuneCountInString(head))
	if err != nil {
		return out, err
	}
	for k, q := range questions {
		from := utf8.RuneCountInString(head + q.ask)
		for range q.tell {
			sum, n := scores[0].after(from)
			if n == 0 {
				return out, errNoScores
			}
			out[k], scores = append(out[k], sum), scores[1:]
		}
	}
	return out, nil
}

var errNoScores = errors.New("the endpoint does not score prompts: /completions must take echo with max_tokens 0 and logprobs 0")

// scored are the tokens of a prompt.
type scored struct {
	Tokens   []string   `json:"tokens"`
	Logprobs []*float64 `json:"token_logprobs"`
	Offsets  []int      `json:"text_offset"` // in characters
}

// after is the sum over the tokens that end behind a place.
func (s *scored) after(from int) (sum float64, n int) {
	if len(s.Logprobs) != len(s.Tokens) || len(s.Offsets) != len(s.Tokens) {
		return 0, 0
	}
	for i, at := range s.Offsets {
		if p := s.Logprobs[i]; p != nil && at+utf8.RuneCountInString(s.Tokens[i]) > from {
			sum, n = sum+*p, n+1
		}
	}
	return sum, n
}

// score asks for the log-likelihoods of prompts, which are not needed before a place.
func (l *Likelihoods) score(ctx context.Context, prompts []string, from int) ([]*scored, error) {
	ask := map[string]any{
		"model": l.cfg.Model, "prompt": prompts, "max_tokens": 0, "echo": true, "logprobs": 0, "temperature": 0,
		"score_from": from, // scripts/smollm2's own: others score all
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if l.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+l.cfg.Key)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest, http.StatusNotFound:
		return nil, errNoScores
	default:
		return nil, fmt.Errorf("the endpoint answered with status %d", resp.StatusCode)
	}
	var r struct {
		Choices []struct {
			Index    int     `json:"index"`
			Logprobs *scored `json:"logprobs"`
		} `json:"choices"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxScores)).Decode(&r); err != nil {
		return nil, fmt.Errorf("the endpoint's answer can't be read: %w", err)
	}
	out := make([]*scored, len(prompts))
	for _, c := range r.Choices {
		if c.Index >= 0 && c.Index < len(out) {
			out[c.Index] = c.Logprobs
		}
	}
	for _, s := range out {
		if s == nil {
			return nil, errNoScores
		}
	}
	return out, nil
}
