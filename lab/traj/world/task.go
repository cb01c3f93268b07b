package world

import (
	"fmt"
	"strings"

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

// Categories are the twelve.
var Categories = []string{
	"travel-booking", "flight-search", "medical-records", "healthcare-intake", "financial-onboarding", "tax-filing", "e-commerce", "payments",
	"hr-payroll", "customer-support", "software-operations", "messaging-scheduling",
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

// spec says what a step is made of. Arguments are written
// "path field source: template", with * after the path of free text and - for
// no field; needs "path field level"; keeps "path template".
type spec struct {
	tool, sink string
	class      flow.Class
	channel    flow.Channel // tool where empty
	args       []string
	needs      []string
	keeps      []string
}

func (s *spec) step(x *Person, slots map[string]string, action string, essential bool) Step {
	out := Step{Tool: s.tool, Action: action, Sink: Sink{s.sink, s.class, s.channel}, Essential: essential}
	if out.Sink.Channel == "" {
		out.Sink.Channel = flow.ChannelTool
	}
	for _, a := range s.args {
		head, template, ok := strings.Cut(a, ": ")
		h := strings.Fields(head)
		if !ok || len(h) != 3 {
			panic("world: an argument that can't be read: " + a)
		}
		t := x.write(template, slots)
		p := Part{From: Source(h[2]), Text: t.string, Mentions: t.mentions}
		p.Path, p.Free = strings.CutSuffix(h[0], "*")
		if h[1] != "-" {
			p.Field = Field(h[1])
		}
		out.Parts = append(out.Parts, p)
	}
	for _, n := range s.needs {
		h := strings.Fields(n)
		if len(h) != 3 {
			panic("world: a need that can't be read: " + n)
		}
		out.Needs = append(out.Needs, Need{h[0], Field(h[1]), Level(h[2])})
	}
	for _, k := range s.keeps {
		path, template, _ := strings.Cut(k, " ")
		out.Keeps = append(out.Keeps, Keep{path, x.write(template, slots).string})
	}
	return out
}

// String names a step for people.
func (s *Step) String() string {
	return fmt.Sprintf("%s to %s (%v)", s.Tool, s.Sink.Name, s.Sink.Class)
}
