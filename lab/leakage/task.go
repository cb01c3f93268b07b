package leakage

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed testdata/*.yaml
var files embed.FS

// Suites are the names of the suites, with how many tasks each has.
var suites = map[string]int{"payments": 12, "flights": 12, "shopping": 13}

// Task is one task: what was said before, a request, and the calls and the
// answer that serve it.
type Task struct {
	ID    string `yaml:"id"`
	Suite string `yaml:"-"`
	About string `yaml:"about"` // what is being tested
	// History is what came before.
	History []Turn  `yaml:"history"`
	Request string  `yaml:"request"`
	Steps   []Step  `yaml:"steps"` // the ground truth, in order
	Answer  *Answer `yaml:"answer"`
	// Vary are the names that generated tasks have others for, by kind.
	Vary map[string][]string `yaml:"vary"`

	tools map[string]Tool
}

// Tool is a tool of a suite.
type Tool struct {
	About string `yaml:"about"`
	// Own tools read the user's own account: nothing leaves with a call.
	Own bool `yaml:"own"`
}

// names are one name or several.
type names []string

// UnmarshalYAML reads either.
func (n *names) UnmarshalYAML(f func(any) error) error {
	var one string
	if f(&one) == nil {
		*n = names{one}
		return nil
	}
	var all []string
	err := f(&all)
	*n = all
	return err
}

// Turn is one turn of the history: what the user or the assistant said, or a
// call with its result.
type Turn struct {
	User      string         `yaml:"user"`
	Assistant string         `yaml:"assistant"`
	Call      string         `yaml:"call"`
	Args      map[string]any `yaml:"args"`
	Result    []Region       `yaml:"result"`
	ID        string         `yaml:"id"`      // of what was said, as a region
	Private   names          `yaml:"private"` // its categories
}

// Region is a part of a result.
type Region struct {
	ID      string `yaml:"id"`
	Field   string `yaml:"field"`
	Private names  `yaml:"private"` // categories of private data; none: public
	Text    string `yaml:"text"`
}

// Step is one call of the ground truth.
type Step struct {
	Call string         `yaml:"call"`
	Args map[string]any `yaml:"args"`
	// Needs are the regions without which the agent can't make the call.
	Needs []string `yaml:"needs"`
	// Label is the oracle's: the categories that the call gives away. None:
	// no question is needed.
	Label names `yaml:"label"`
	// Instead are the arguments of the call that the agent makes where it is
	// not shown what it needs. None: it says that it lacks something.
	Instead map[string]any `yaml:"instead"`
	Result  []Region       `yaml:"result"`
}

// Answer is what the user is told at the end.
type Answer struct {
	Text  string   `yaml:"text"`
	Needs []string `yaml:"needs"`
}

// file is one file of tasks.
type file struct {
	Suite string          `yaml:"suite"`
	Tools map[string]Tool `yaml:"tools"`
	Tasks []Task          `yaml:"tasks"`
}

// source is a task as it is written, to make others of.
type source struct {
	suite string
	tools map[string]Tool
	text  string
}

var taskStart = regexp.MustCompile(`(?m)^ {2}- id: `)

// sources returns the written tasks, in the order of suites and files.
func sources() ([]source, error) {
	entries, err := fs.Glob(files, "testdata/*.yaml")
	if err != nil {
		return nil, err
	}
	var out []source
	for _, name := range entries {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var f file
		if err := yaml.UnmarshalWithOptions(b, &f, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		at := taskStart.FindAllStringIndex(string(b), -1)
		if len(at) != len(f.Tasks) || len(at) != suites[f.Suite] {
			return nil, fmt.Errorf("%s: %d tasks, %d found as text, %d expected", name, len(f.Tasks), len(at), suites[f.Suite])
		}
		for i := range at {
			end := len(b)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			out = append(out, source{f.Suite, f.Tools, string(b[at[i][0]:end])})
		}
	}
	return out, nil
}

// parse reads one task.
func (s *source) parse(text string) (*Task, error) {
	var ts []Task
	if err := yaml.UnmarshalWithOptions([]byte(text), &ts, yaml.Strict()); err != nil {
		return nil, err
	}
	if len(ts) != 1 {
		return nil, fmt.Errorf("%d tasks in one", len(ts))
	}
	t := &ts[0]
	t.Suite, t.tools = s.suite, s.tools
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.ID, err)
	}
	return t, nil
}

// Tasks returns the 37 tasks.
func Tasks() ([]*Task, error) {
	src, err := sources()
	if err != nil {
		return nil, err
	}
	var out []*Task
	for i := range src {
		t, err := src[i].parse(src[i].text)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// categories are all there are: those of the paper's table 3, and the
// password, which it counts to the user's data.
var categories = []string{
	"balance", "password", "transactions", "friends", "profile", // payments
	"card", "passport", "address", "itinerary", "preferences", // flights
	"orders", "gender", // shopping, with card, address, preferences, profile
}

// check holds a task to its form, and its oracle labels to what its calls
// need: a label is the join of the categories of all that the call needs, and
// of what the steps needed whose results it needs.
func (t *Task) check() error {
	if t.ID == "" || t.About == "" || t.Request == "" || len(t.History) == 0 {
		return errors.New("id, about, history and request are needed")
	}
	if (len(t.Steps) == 0) == (t.Answer == nil) {
		return errors.New("either steps or an answer")
	}
	has := map[string][]string{} // a region's categories
	private := false
	add := func(id string, cats, more []string) error {
		for _, c := range cats {
			if !slices.Contains(categories, c) {
				return fmt.Errorf("no category %q", c)
			}
		}
		private = private || len(cats) > 0
		if id == "" {
			return nil
		}
		if has[id] != nil {
			return fmt.Errorf("two regions %q", id)
		}
		has[id] = union(cats, more)
		return nil
	}
	for i, turn := range t.History {
		said := 0
		for _, s := range []string{turn.User, turn.Assistant, turn.Call} {
			if s != "" {
				said++
			}
		}
		if said != 1 || turn.Call == "" && (turn.Result != nil || turn.Args != nil) || turn.Call != "" && (len(turn.Result) == 0 || turn.Private != nil) {
			return fmt.Errorf("turn %d is not one thing said or one call with its result", i+1)
		}
		if err := add(turn.ID, turn.Private, nil); err != nil {
			return err
		}
		if _, ok := t.tools[turn.Call]; turn.Call != "" && !ok {
			return fmt.Errorf("no tool %q", turn.Call)
		}
		for _, r := range turn.Result {
			if err := checkRegion(&r); err != nil {
				return err
			}
			if err := add(r.ID, r.Private, nil); err != nil {
				return err
			}
		}
	}
	if !private {
		return errors.New("nothing private is in sight")
	}
	needs := func(ids []string) ([]string, error) {
		var out []string
		for _, id := range ids {
			cats, ok := has[id]
			if !ok {
				return nil, fmt.Errorf("needs %q, which is not there", id)
			}
			out = union(out, cats)
		}
		return out, nil
	}
	for i, s := range t.Steps {
		tool, ok := t.tools[s.Call]
		if !ok {
			return fmt.Errorf("no tool %q", s.Call)
		}
		label, err := needs(s.Needs)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		if !slices.Equal(label, union(nil, s.Label)) {
			return fmt.Errorf("step %d is labelled %v and needs %v", i+1, s.Label, label)
		}
		if tool.Own && len(label) > 0 {
			return fmt.Errorf("step %d gives nothing away, and is labelled %v", i+1, label)
		}
		for _, r := range s.Result {
			if err := checkRegion(&r); err != nil {
				return err
			}
			if err := add(r.ID, r.Private, label); err != nil {
				return err
			}
		}
	}
	if t.Answer != nil {
		if _, err := needs(t.Answer.Needs); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return nil
}

func checkRegion(r *Region) error {
	if r.ID == "" || strings.TrimSpace(r.Text) == "" {
		return errors.New("a region without id or text")
	}
	return nil
}

// union of two sets of categories, sorted.
func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	if out == nil {
		out = []string{}
	}
	return slices.Compact(out)
}
