// Package findings runs the benchmark findings: recorded sessions of agents,
// replayed through the mediator in its default configuration, and what it finds
// in them that is no secret.
//
// Every message is decided as a connector would: texts of users and tools on
// their way to the model, texts of the assistant on their way from it, calls on
// their way to a tool. A value that became a pseudonym stands as that pseudonym
// in what the model writes later, since the model was never shown the value. So
// a false finding in a tool's result shows as the calls that it refuses.
//
// A person judges findings: judged.txt says of the keyed hash of a value and a
// rule whether the finding is true. It holds no values. What nobody has judged
// counts as false.
package findings

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed" // the judgements
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/results"
	"github.com/margaydev/margay/mediator"
	"github.com/margaydev/margay/mediator/audit"
	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/recognise"
	"github.com/margaydev/margay/store/memory"
	"github.com/margaydev/margay/stream"
)

// Files are the sets of recorded sessions.
var Files = []string{"coding-dev.jsonl.gz", "toolemu-dev.jsonl.gz"}

// Options of a run.
type Options struct {
	Data     string   // folder with the sets
	Sets     []string // of Files; empty for all
	N        int      // sessions of each set; 0 for all
	Progress func(string)
	Found    func(*Finding) // gets each finding; nil for nobody
}

// Finding is one finding, or one that was found again.
type Finding struct {
	Set     string      `json:"set"`
	Session string      `json:"session"`
	Message int         `json:"message"`
	Place   string      `json:"place"` // user, system, tool, assistant or call, with the tool's name
	Rule    string      `json:"rule"`
	Action  flow.Action `json:"action"`
	Value   string      `json:"value"` // redacted: its first characters and its shape
	Before  string      `json:"before"`
	Judged  string      `json:"judged"` // true, false or empty
	Key     string      `json:"key"`    // of the judgement
}

type recorded struct {
	ID       string `json:"id"`
	Messages []struct {
		Role  string `json:"role"`
		Text  string `json:"text"`
		Tool  string `json:"tool"`
		Calls []struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"calls"`
	} `json:"messages"`
}

// keys are the same in all runs, so that hashes of values are.
var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

//go:embed judged.txt
var judgedFile string

// judgements reads lines of a key, a rule, and true or false.
func judgements(file string) (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(file) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if len(f) != 3 || f[2] != "true" && f[2] != "false" {
			return nil, fmt.Errorf("judged.txt: want KEY RULE true|false, got %d words", len(f))
		}
		out[f[0]+" "+f[1]] = f[2]
	}
	return out, nil
}

// Run replays the sessions.
func Run(ctx context.Context, o Options) (*results.Result, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	judged, err := judgements(judgedFile)
	if err != nil {
		return nil, err
	}
	rules, err := recognise.Default()
	if err != nil {
		return nil, err
	}
	sets := o.Sets
	if len(sets) == 0 {
		sets = Files
	}
	res := &results.Result{
		Suite: "findings", Seed: 1, Environment: results.Here(), Source: strings.Join(sets, ", "),
		Notes: []string{
			"default configuration; a pseudonym stands in a later call where the recorded agent wrote the value",
			"false: judged false in lab/findings/judged.txt, or not judged. Findings are counted once for each session, value and rule; reported ones change nothing",
		},
	}
	for _, set := range sets {
		all, err := read(o.Data, set, o.N)
		if err != nil {
			return nil, err
		}
		res.N += len(all)
		c := counts{rules: map[string]*tally{}}
		for i, s := range all {
			p, err := newPlayer(ctx, rules, judged, set, s, o.Found)
			if err == nil {
				err = p.play(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("%s, session %d: %w", set, i+1, err)
			}
			c.add(p)
			o.Progress(fmt.Sprintf("%s: session %d of %d", set, i+1, len(all)))
		}
		c.rows(res, strings.TrimSuffix(set, ".jsonl.gz"))
	}
	return res, nil
}

func read(dir, name string, n int) ([]*recorded, error) {
	f, err := os.Open(filepath.Join(dir, filepath.Base(name)))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []*recorded
	for d := json.NewDecoder(bufio.NewReader(z)); n <= 0 || len(out) < n; {
		var s recorded
		switch err := d.Decode(&s); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("%s, session %d: %w", name, len(out)+1, err)
		}
		out = append(out, &s)
	}
	return out, nil
}

// player replays one session.
type player struct {
	s      *mediator.Session
	rules  *recognise.Set
	judged map[string]string
	set    string
	r      *recorded
	found  func(*Finding)

	values map[secret.Fingerprint]string // of what was found
	stands map[string]*stand             // by value: what the model was shown instead
	seen   map[string]bool               // findings that were counted: rule and key
	texts  int
	calls  int
	all    []*Finding // the first of each rule and value
	hit    []bool     // calls with a finding or a pseudonym: whether by a false one
	harmed []bool     // calls altered or denied
	denied int
}

type stand struct {
	name  string
	false bool
}

func newPlayer(ctx context.Context, rules *recognise.Set, judged map[string]string, set string, r *recorded, found func(*Finding)) (*player, error) {
	store := memory.New()
	store.MaxDecisions = 1
	e, err := mediator.New(mediator.Config{Config: session.Config{Rules: rules, Keys: keys, Store: store}})
	if err != nil {
		return nil, err
	}
	s, err := e.Session(ctx, &mediator.SessionRequest{Trajectory: trajectory, Sink: flow.Sink{Name: "findings"}})
	return &player{
		s: s, rules: rules, judged: judged, set: set, r: r, found: found,
		values: map[secret.Fingerprint]string{}, stands: map[string]*stand{}, seen: map[string]bool{},
	}, err
}

const trajectory = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

func (p *player) play(ctx context.Context) error {
	for i := range p.r.Messages {
		m := &p.r.Messages[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		verb := flow.Observe
		if m.Role == "assistant" {
			verb = flow.Generate
		}
		if m.Text != "" {
			p.text(ctx, i, verb, m.Role, m.Tool, m.Text)
		}
		for _, c := range m.Calls {
			p.call(ctx, i, c.Name, c.Args)
		}
	}
	return nil
}

// learn notes the values in a text, by their fingerprints.
func (p *player) learn(text string) {
	for _, m := range p.rules.Find([]byte(text)) {
		v := text[m.Start:m.End]
		p.values[keys.FingerprintOf([]byte(v))] = v
	}
}

func (p *player) text(ctx context.Context, at int, verb flow.Verb, role, tool, text string) {
	p.texts++
	p.learn(text)
	if verb == flow.Generate {
		text, _ = p.shown(text)
	}
	d := p.s.Decide(ctx, verb, &mediator.Message{Tool: tool, Texts: []flow.Text{{Text: text, Field: flow.FieldContent, Path: func() string { return role }}}, Arguments: -1})
	place := role
	if tool != "" {
		place += " " + tool
	}
	for i := range d.Findings {
		f := p.note(at, place, text, &d.Findings[i])
		if verb == flow.Observe && d.Findings[i].Action == flow.ActPseudonym {
			p.replace(&d.Findings[i], f.Judged != "true")
		}
	}
}

// replace notes that the model is shown a pseudonym.
func (p *player) replace(f *audit.Finding, wrong bool) {
	if v := p.values[f.Fingerprint]; v != "" && p.stands[v] == nil {
		p.stands[v] = &stand{secret.NewPseudonymiser(&keys, trajectory).Name(f.Kind, f.Fingerprint), wrong}
	}
}

// shown is what the model would have written, having been shown pseudonyms. It
// reports whether one of them stands for what is no secret.
func (p *player) shown(text string) (out string, wrong bool) {
	values := make([]string, 0, len(p.stands))
	for v := range p.stands {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for _, v := range values {
		if strings.Contains(text, v) {
			text, wrong = strings.ReplaceAll(text, v, p.stands[v].name), wrong || p.stands[v].false
		}
	}
	return text, wrong
}

func (p *player) call(ctx context.Context, at int, tool string, args json.RawMessage) {
	p.calls++
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	var v any
	if json.Unmarshal(args, &v) != nil || e.Encode(v) != nil {
		plain.Write(args)
	}
	raw := strings.TrimSpace(plain.String())
	p.learn(raw)
	text, wrong := p.shown(raw)
	d := p.s.Decide(ctx, flow.Call, &mediator.Message{Tool: tool, Texts: []flow.Text{{Text: text, Field: flow.FieldToolArguments, Tool: tool, Path: func() string { return "arguments" }}}})
	acted := text != raw
	for i := range d.Findings {
		f := p.note(at, "call "+tool, text, &d.Findings[i])
		if f.Action != flow.ActReport && f.Action != flow.ActAllow {
			acted, wrong = true, wrong || f.Judged != "true"
		}
	}
	if acted {
		p.hit = append(p.hit, wrong)
	}
	if d.Denied() || len(d.Edits) > 0 {
		p.harmed = append(p.harmed, wrong)
	}
	if d.Denied() {
		p.denied++
	}
}

// note counts a finding once for its session, value and rule.
func (p *player) note(at int, place, text string, f *audit.Finding) *Finding {
	key := hex.EncodeToString(f.Fingerprint[:])
	if f.Fingerprint.IsZero() {
		key = "-"
	}
	rule := f.Rule
	if rule == stream.RuleVault { // found again; it is named after the rule that found it first
		rule = f.Name
	}
	out := &Finding{
		Set: p.set, Session: p.r.ID, Message: at, Place: place, Rule: rule, Action: f.Action,
		Value: redacted(p.values[f.Fingerprint], f.Length), Before: p.before(text, p.values[f.Fingerprint]), Key: key,
		Judged: p.judged[key+" "+rule],
	}
	if p.found != nil {
		p.found(out)
	}
	if k := key + rule; !p.seen[k] {
		p.seen[k] = true
		p.all = append(p.all, out)
	}
	return out
}

// before is what precedes a value in its line, without other values.
func (p *player) before(text, value string) string {
	i := strings.Index(text, value)
	if value == "" || i < 0 {
		return ""
	}
	line := text[max(0, i-60):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	for _, v := range p.values {
		line = strings.ReplaceAll(line, v, "…")
	}
	return line
}

// redacted is the beginning of a value, and what kinds of characters follow.
func redacted(v string, length int) string {
	if v == "" {
		return fmt.Sprintf("(%d bytes)", length)
	}
	const plain = 3
	b := []byte(v[:min(len(v), 60)])
	for i := plain; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			b[i] = '0'
		case c >= 'a' && c <= 'z':
			b[i] = 'a'
		case c >= 'A' && c <= 'Z':
			b[i] = 'A'
		}
	}
	return string(b)
}

// counts are those of a set.
type counts struct {
	sessions, texts, calls     int
	found, foundFalse          int
	reported, reportedFalse    int
	hit, harmed, falsely, deny int
	rules                      map[string]*tally
}

type tally struct{ all, acted, wrong int }

func (c *counts) add(p *player) {
	c.sessions++
	c.texts += p.texts
	c.calls += p.calls
	c.hit += len(p.hit)
	c.harmed += len(p.harmed)
	c.deny += p.denied
	for _, wrong := range p.harmed {
		if wrong {
			c.falsely++
		}
	}
	for _, f := range p.all {
		t := c.rules[f.Rule]
		if t == nil {
			t = &tally{}
			c.rules[f.Rule] = t
		}
		wrong := 0
		if f.Judged != "true" {
			wrong = 1
		}
		t.all++
		t.wrong += wrong
		if f.Action == flow.ActReport {
			c.reported++
			c.reportedFalse += wrong
			continue
		}
		t.acted++
		c.found++
		c.foundFalse += wrong
	}
}

func (c *counts) rows(res *results.Result, set string) {
	n := float64(max(1, c.sessions))
	res.Add("margay", "set="+set, map[string]float64{
		"sessions": float64(c.sessions), "texts": float64(c.texts), "calls": float64(c.calls),
		"findings": float64(c.found), "findings_false": float64(c.foundFalse), "false_per_100_sessions": 100 * float64(c.foundFalse) / n,
		"reported": float64(c.reported), "reported_unjudged": float64(c.reportedFalse),
		"calls_with_finding": float64(c.hit), "calls_altered_or_denied": float64(c.harmed), "calls_denied": float64(c.deny), "calls_harmed_by_false": float64(c.falsely),
	})
	names := make([]string, 0, len(c.rules))
	for r := range c.rules {
		names = append(names, r)
	}
	slices.Sort(names)
	for _, r := range names {
		t := c.rules[r]
		res.Add("margay", "set="+set+",rule="+r, map[string]float64{"found": float64(t.all), "acted_on": float64(t.acted), "false": float64(t.wrong)})
	}
}
