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

	"github.com/margaydev/margay/internal/yamldoc"
)

//go:embed testdata/*.yaml
var files embed.FS

// suites are the suites that are built in, with how many tasks each has.
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

	of *file
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

// file is one file of tasks, in the format of docs/format/leakage-task.md.
type file struct {
	Version    int             `yaml:"version"`
	Suite      string          `yaml:"suite"`
	About      string          `yaml:"about"`
	Categories []string        `yaml:"categories"` // all that its regions may have
	Tools      map[string]Tool `yaml:"tools"`
	Tasks      []Task          `yaml:"tasks"`
}

// source is a task as it is written, to make others of.
type source struct {
	of   *file
	text string
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
		starts := taskStart.FindAllStringIndex(string(b), -1)
		if len(starts) != len(f.Tasks) || len(starts) != suites[f.Suite] {
			return nil, fmt.Errorf("%s: %d tasks, %d found as text, %d expected", name, len(f.Tasks), len(starts), suites[f.Suite])
		}
		for i := range starts {
			end := len(b)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			out = append(out, source{&f, string(b[starts[i][0]:end])})
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
	t.Suite, t.of = s.of.Suite, s.of
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

// at puts a place of a task before an error.
func at(err error, keys ...any) error {
	path := make([]string, len(keys))
	for i, k := range keys {
		path[i] = fmt.Sprint(k)
	}
	return yamldoc.Where(err, path...)
}

// checking is a task being checked: the categories of each of its regions.
type checking struct {
	*Task
	has     map[string][]string
	private bool
}

// check holds a task to its form, and its oracle labels to what its calls
// need: a label is the join of the categories of all that the call needs, and
// of what the steps needed whose results it needs.
func (t *Task) check() error {
	for _, f := range []struct {
		key   string
		empty bool
	}{{"id", t.ID == ""}, {"about", t.About == ""}, {"request", t.Request == ""}, {"history", len(t.History) == 0}} {
		if f.empty {
			return at(fmt.Errorf("id, about, history and request are needed; write %s", f.key), f.key)
		}
	}
	if (len(t.Steps) == 0) == (t.Answer == nil) {
		return at(errors.New("either steps or an answer; write one of them"), "steps")
	}
	c := &checking{Task: t, has: map[string][]string{}}
	for i := range t.History {
		if err := c.turn(&t.History[i]); err != nil {
			return at(err, "history", i)
		}
	}
	if !c.private {
		return at(errors.New("nothing private is in sight; give a region of the history a category"), "history")
	}
	for i := range t.Steps {
		if err := c.step(&t.Steps[i]); err != nil {
			return at(err, "steps", i)
		}
	}
	if t.Answer != nil {
		if t.Answer.Text == "" {
			return at(errors.New("write what the user is told"), "answer", "text")
		}
		if _, err := c.needs(t.Answer.Needs); err != nil {
			return at(err, "answer", "needs")
		}
	}
	return nil
}

// add adds a region. More are categories that it has because of the step that
// it comes from.
func (c *checking) add(id string, cats, more []string) error {
	for _, cat := range cats {
		if !slices.Contains(c.of.Categories, cat) {
			return at(fmt.Errorf("no category %q; the file has %s", cat, strings.Join(c.of.Categories, ", ")), "private")
		}
	}
	c.private = c.private || len(cats) > 0
	if id == "" {
		return nil
	}
	if c.has[id] != nil {
		return at(fmt.Errorf("two regions %q; an id is used once in a task", id), "id")
	}
	c.has[id] = union(cats, more)
	return nil
}

func (c *checking) turn(turn *Turn) error {
	said := 0
	for _, s := range []string{turn.User, turn.Assistant, turn.Call} {
		if s != "" {
			said++
		}
	}
	if said != 1 || turn.Call == "" && (turn.Result != nil || turn.Args != nil) || turn.Call != "" && (len(turn.Result) == 0 || turn.Private != nil) {
		return errors.New("not one thing said or one call with its result; write user, assistant, or call with result")
	}
	if err := c.add(turn.ID, turn.Private, nil); err != nil {
		return err
	}
	if turn.Call == "" {
		return nil
	}
	if _, err := c.tool(turn.Call); err != nil {
		return err
	}
	return c.result(turn.Result, nil)
}

func (c *checking) tool(name string) (Tool, error) {
	t, ok := c.of.Tools[name]
	if !ok {
		return t, at(fmt.Errorf("no tool %q; describe it under tools", name), "call")
	}
	return t, nil
}

func (c *checking) result(regions []Region, label []string) error {
	for i := range regions {
		r := &regions[i]
		if r.ID == "" || strings.TrimSpace(r.Text) == "" {
			return at(errors.New("a region without id or text; write both"), "result", i)
		}
		if err := c.add(r.ID, r.Private, label); err != nil {
			return at(err, "result", i)
		}
	}
	return nil
}

func (c *checking) step(s *Step) error {
	tool, err := c.tool(s.Call)
	if err != nil {
		return err
	}
	label, err := c.needs(s.Needs)
	if err != nil {
		return at(err, "needs")
	}
	if !slices.Equal(label, union(nil, s.Label)) {
		return at(fmt.Errorf("the step is labelled %v and needs %v; the label lists the categories of all that it needs", s.Label, label), "label")
	}
	if tool.Own && len(label) > 0 {
		return at(fmt.Errorf("the step gives nothing away, since %s is the user's own, and is labelled %v", s.Call, label), "label")
	}
	return c.result(s.Result, label)
}

// needs are the categories of regions.
func (c *checking) needs(ids []string) ([]string, error) {
	out := []string{}
	for _, id := range ids {
		cats, ok := c.has[id]
		if !ok {
			return nil, fmt.Errorf("needs %q, which is not there; name a region that stands before", id)
		}
		out = union(out, cats)
	}
	return out, nil
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
