package world

import (
	"fmt"
	"slices"

	"github.com/margaydev/margay/flow"
)

// Sink is where a release goes.
type Sink struct {
	Name    string       `json:"name"`
	Class   flow.Class   `json:"class"`
	Channel flow.Channel `json:"channel"`
}

// Source says where the agent has the content of an argument from.
type Source string

// Sources.
const (
	FromTask    Source = "task"    // words of the task itself: a destination, a date
	FromProfile Source = "profile" // the user's records
	FromUser    Source = "user"    // what the user wrote, in their own words
	FromTool    Source = "tool"    // what a tool outside answered
)

// Part is one argument of a candidate: what the agent would send. Mentions are
// the truth about it, which no defence is shown.
type Part struct {
	Path     string    `json:"path"`
	Field    Field     `json:"field,omitempty"` // the type that the tool's schema gives it
	Free     bool      `json:"free,omitempty"`
	From     Source    `json:"from"`
	Text     string    `json:"text"`
	Mentions []Mention `json:"mentions,omitempty"`
}

// Level is how fine a service needs a field.
type Level string

// Levels. At Whole the service needs the value itself; the others are named by
// what they tell.
const (
	Whole    Level = "whole"
	Year     Level = "year"
	Decade   Level = "decade"
	CityOf   Level = "city"
	StateOf  Level = "state"
	RegionOf Level = "region"
	Country  Level = "country"
	Kindred  Level = "chapter" // the chapter of an illness
	Band     Level = "band"    // a salary to 25,000 dollars
	Brand    Level = "brand"   // of a card
	Domain   Level = "domain"  // of an address of mail
)

// Need is what a service must be able to read in an argument. It is written by
// what such a service does, without a rubric.
type Need struct {
	Path  string `json:"path"`
	Field Field  `json:"field"`
	Level Level  `json:"level"`
}

// Keep are words of the task that an argument must still have.
type Keep struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Step is one candidate release.
type Step struct {
	Tool      string `json:"tool"`
	Action    string `json:"action"` // the category of the tool
	Sink      Sink   `json:"sink"`
	Essential bool   `json:"essential,omitempty"`
	Parts     []Part `json:"parts"`
	Needs     []Need `json:"needs,omitempty"`
	Keeps     []Keep `json:"keeps,omitempty"`
}

// Record is one of the user's records, which a vault may have been given.
type Record struct {
	Field Field  `json:"field"`
	Value string `json:"value"`
}

// Task is one trajectory.
type Task struct {
	ID       string   `json:"id"`
	Category string   `json:"category"`
	Request  string   `json:"request"`
	Long     bool     `json:"long,omitempty"`
	Records  []Record `json:"records"`
	// Background is public knowledge about the person.
	Background []Fact  `json:"background"`
	Steps      []Step  `json:"steps"`
	Person     *Person `json:"-"`
}

// Actions are the categories that a world can have: the actions that the
// rubrics of the library are for.
var Actions = []string{
	"travel-booking", "flight-search", "medical-records", "healthcare-intake", "financial-onboarding", "tax-filing", "e-commerce", "payments",
	"hr-payroll", "customer-support", "software-operations", "messaging-scheduling", "checkout", "patient-registration",
}

// Coarse reports whether some essential step needs a field at a sink that is
// only trusted to be honest: starving it fails the task.
func (t *Task) Coarse() bool {
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Essential && s.Sink.Class != flow.RequiredService && len(s.Needs) > 0 {
			return true
		}
	}
	return false
}

// Worded reports whether the task needs something of free text at a sink that is
// only trusted to be honest: to withhold such texts fails it.
func (t *Task) Worded() bool {
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Sink.Class != flow.SemiTrusted {
			continue
		}
		for k := range s.Parts {
			if s.Parts[k].Free && s.needed(s.Parts[k].Path) {
				return true
			}
		}
	}
	return false
}

// needed reports whether the task needs something of an argument.
func (s *Step) needed(path string) bool {
	return slices.ContainsFunc(s.Needs, func(n Need) bool { return n.Path == path }) ||
		slices.ContainsFunc(s.Keeps, func(k Keep) bool { return k.Path == path })
}

// step writes one call of a tool. Words are drawn from d, names of arguments
// by name. What a task needs of the call makes it essential.
func (t *tool) step(x *Person, d draw, slots map[string]string, action string, name func(t *tool, k int) string) Step {
	out := Step{Tool: t.name, Action: action, Sink: Sink{t.sink, t.class, t.channel}}
	for k, a := range t.args {
		of := pick(d, a.templates)
		path := name(t, k)
		out.add(x, a, of, path, x.write(pick(d, of.say), slots), slots)
	}
	out.Essential = len(out.Needs)+len(out.Keeps) > 0
	return out
}

// add adds an argument with what is needed of it.
func (s *Step) add(x *Person, a *argument, of *template, path string, t text, slots map[string]string) {
	s.Parts = append(s.Parts, Part{Path: path, Field: a.field, Free: a.free, From: a.from, Text: t.string, Mentions: t.mentions})
	for _, n := range of.needs {
		n.Path = path
		s.Needs = append(s.Needs, n)
	}
	for _, k := range of.keeps {
		s.Keeps = append(s.Keeps, Keep{path, x.write(k, slots).string})
	}
}

// String names a step for people.
func (s *Step) String() string {
	return fmt.Sprintf("%s to %s (%v)", s.Tool, s.Sink.Name, s.Sink.Class)
}
