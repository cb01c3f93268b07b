package world

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/yamldoc"
)

// reading collects the mistakes of a world's files.
type reading struct{ bad []Mistake }

// node is a value of a document, and where it stands.
type node struct {
	r     *reading
	v     any
	place place
}

func (r *reading) document(name string, err error) {
	m := Mistake{File: name, Text: err.Error()}
	var e *yamldoc.Error
	if errors.As(err, &e) {
		m = Mistake{e.File, e.Line, e.Column, e.Detail}
		var y yaml.Error
		if errors.As(e.Err, &y) {
			m.Text += "; this is not YAML: quote texts with braces, @, ': ' or ' #'"
		}
	}
	r.bad = append(r.bad, m)
}

func (r *reading) sort() {
	slices.SortStableFunc(r.bad, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	r.bad = slices.Compact(r.bad)
}

func (r *reading) root(doc *yamldoc.Document) node {
	var v any
	if err := json.Unmarshal(doc.JSON, &v); err != nil {
		r.document(doc.File, err)
	}
	return node{r, v, place{doc, nil}}
}

func (n node) fail(format string, args ...any) {
	n.r.bad = append(n.r.bad, n.place.mistake(format, args...))
}

func (n node) none() bool { return n.v == nil }

// keys holds a mapping to the keys that are known, and to those that must be
// there.
func (n node) keys(must, may string) bool {
	m, ok := n.v.(map[string]any)
	if !ok {
		n.fail("this must be a mapping with the keys %s", strings.TrimSpace(must+" "+may))
		return false
	}
	known := strings.Fields(must + " " + may)
	for k := range m {
		if !slices.Contains(known, k) {
			n.r.bad = append(n.r.bad, n.place.in(k).mistake("unknown key %q; known keys are %s", k, strings.Join(known, ", ")))
		}
	}
	for _, k := range strings.Fields(must) {
		if m[k] == nil {
			n.fail("the key %s is missing", k)
			ok = false
		}
	}
	return ok
}

func (n node) get(key string) node {
	m, _ := n.v.(map[string]any)
	return node{n.r, m[key], n.place.in(key)}
}

// text is a string; what YAML reads as a number or as true must be quoted.
func (n node) text() string {
	switch v := n.v.(type) {
	case nil:
	case string:
		if strings.TrimSpace(v) == "" {
			n.fail("this is empty; write something, or leave the key out")
		}
		return v
	default:
		n.fail("this must be text; put it in quotes")
	}
	return ""
}

func (n node) list() []node {
	v, ok := n.v.([]any)
	if !ok && n.v != nil {
		n.fail("this must be a list")
	}
	if ok && len(v) == 0 {
		n.fail("this list is empty; leave the key out")
	}
	var out []node
	for i := range v {
		out = append(out, node{n.r, v[i], n.place.in(fmt.Sprint(i))})
	}
	return out
}

// texts is one text or a list of them.
func (n node) texts() []string {
	if _, ok := n.v.([]any); !ok {
		if n.none() {
			return nil
		}
		return []string{n.text()}
	}
	var out []string
	for _, one := range n.list() {
		s := one.text()
		if slices.Contains(out, s) {
			one.fail("%q is in this list twice", s)
		}
		out = append(out, s)
	}
	return out
}

func (r *reading) common(s *Setting, n node) {
	if !n.keys("version world about everywhere", "opening slots") {
		return
	}
	r.version(n)
	s.at = n.place
	s.Name, s.About = n.get("world").text(), n.get("about").text()
	if s.Name != "" && !nameRE.MatchString(s.Name) {
		n.get("world").fail("a world's name has small letters, digits and -")
	}
	s.slots = r.slots(n.get("slots"))
	s.opening, s.everywhere = r.tools(n.get("opening")), r.tools(n.get("everywhere"))
}

var (
	nameRE = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	argRE  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,39}$`)
)

func (r *reading) version(n node) {
	if v, ok := n.get("version").v.(float64); !ok || v != formatVersion {
		n.get("version").fail("write version: %d", formatVersion)
	}
}

func (r *reading) category(n node) *category {
	if !n.keys("version category about requests core spare", "slots coarse") {
		return nil
	}
	r.version(n)
	c := &category{name: n.get("category").text(), about: n.get("about").text(), at: n.place}
	if c.name != "" && !slices.Contains(Actions, c.name) {
		n.get("category").fail("%q is no category; categories are %s", c.name, strings.Join(Actions, ", "))
	}
	c.requests, c.slots = n.get("requests").texts(), r.slots(n.get("slots"))
	c.core, c.coarse, c.spare = r.tools(n.get("core")), r.tools(n.get("coarse")), r.tools(n.get("spare"))
	return c
}

func (r *reading) slots(n node) map[string][]string {
	out := map[string][]string{}
	m, ok := n.v.(map[string]any)
	if !ok && !n.none() {
		n.fail("slots are a mapping of names to lists of words")
	}
	for name := range m {
		one := n.get(name)
		if out[name] = one.texts(); len(out[name]) < 2 {
			one.fail("slot %s needs two values or more", name)
		}
		for _, v := range out[name] {
			if strings.ContainsAny(v, "{}") {
				one.fail("a slot's values have no braces")
			}
		}
		if !argRE.MatchString(name) {
			one.fail("a slot's name has letters, digits and _")
		}
	}
	return out
}

func (r *reading) tools(n node) []*tool {
	var out []*tool
	for _, one := range n.list() {
		if !one.keys("tool sink class arguments", "channel") {
			continue
		}
		t := &tool{name: one.get("tool").text(), sink: one.get("sink").text(), channel: flow.ChannelTool, at: one.place}
		if t.name != "" && !argRE.MatchString(t.name) {
			one.get("tool").fail("a tool's name has letters, digits and _")
		}
		if t.sink != "" && !nameRE.MatchString(t.sink) {
			one.get("sink").fail("a sink's name has small letters, digits and -")
		}
		switch c := one.get("class").text(); c {
		case flow.RequiredService.String():
			t.class = flow.RequiredService
		case flow.SemiTrusted.String():
			t.class = flow.SemiTrusted
		case flow.Adversarial.String():
			t.class = flow.Adversarial
		default:
			one.get("class").fail("%q is no class; classes are required-service, semi-trusted, adversarial", c)
		}
		if c := one.get("channel"); !c.none() {
			t.channel = flow.Channel(c.text())
			if !slices.Contains(channels, t.channel) {
				c.fail("%q is no channel; channels are tool, memory, agent, model", t.channel)
			}
		}
		used := map[string]bool{}
		for _, a := range one.get("arguments").list() {
			arg := r.argument(a)
			if arg == nil {
				continue
			}
			for _, name := range arg.names {
				if used[name] {
					a.get("name").fail("two arguments of %s can be named %s; give each names of its own", t.name, name)
				}
				used[name] = true
			}
			t.args = append(t.args, arg)
		}
		out = append(out, t)
	}
	return out
}

var channels = []flow.Channel{flow.ChannelTool, flow.ChannelMemory, flow.ChannelAgent, flow.ChannelModel}

func (r *reading) argument(n node) *argument {
	if !n.keys("name is", "source say need keep") {
		return nil
	}
	a := &argument{names: n.get("name").texts(), at: n.place, from: FromProfile}
	for _, name := range a.names {
		if !argRE.MatchString(name) {
			n.get("name").fail("%q: an argument's name has letters, digits and _", name)
		}
	}
	switch is := n.get("is").text(); {
	case is == "text":
		a.free, a.from = true, FromUser
	case is == "plain":
		a.from = FromTask
	case slices.Contains(Fields, Field(is)):
		a.field = Field(is)
	default:
		n.get("is").fail("%q is no type of an argument; write text, plain or a field: %s", is, formsOf(""))
	}
	if s := n.get("source"); !s.none() {
		a.from = Source(s.text())
		if !slices.Contains([]Source{FromTask, FromProfile, FromUser, FromTool}, a.from) {
			s.fail("%q is no source; sources are task, profile, user, tool", a.from)
		}
	}
	needs, keeps := r.needs(a, n.get("need")), n.get("keep").texts()
	say := n.get("say")
	var all []node
	switch {
	case say.none() && a.field != "":
		a.templates = []*template{{say: []string{"{" + string(a.field) + "}"}, at: n.place}}
	case say.none():
		n.fail("say what the argument holds: say: a text, or a list of texts")
	default:
		if _, ok := say.v.([]any); ok {
			all = say.list()
		} else {
			all = []node{say}
		}
	}
	for _, one := range all {
		if _, plain := one.v.(string); plain {
			a.templates = append(a.templates, &template{say: []string{one.text()}, at: one.place})
			continue
		}
		if one.keys("say", "need keep") {
			t := &template{say: one.get("say").texts(), at: one.place}
			t.needs, t.keeps = r.needs(a, one.get("need")), one.get("keep").texts()
			a.templates = append(a.templates, t)
		}
	}
	for _, t := range a.templates {
		t.needs, t.keeps = append(slices.Clone(needs), t.needs...), append(slices.Clone(keeps), t.keeps...)
	}
	return a
}

// levels are those of each field, the value itself first.
var levels = map[Field][]Level{
	DOB: {Whole, Year, Decade}, Address: {Whole, CityOf, StateOf, RegionOf, Country}, Location: {Whole, CityOf, StateOf, RegionOf, Country},
	Diagnosis: {Whole, Kindred}, Salary: {Whole, Band}, PaymentToken: {Whole, Brand}, Email: {Whole, Domain},
}

// Levels are those at which a service can need a field, the value itself first.
func Levels(f Field) []Level {
	if l := levels[f]; l != nil {
		return l
	}
	return []Level{Whole}
}

// needs are a level, of an argument with a field, or levels by field.
func (r *reading) needs(a *argument, n node) []Need {
	if n.none() {
		return nil
	}
	check := func(at node, f Field, l Level) {
		if !slices.Contains(Levels(f), l) {
			at.fail("%s has no level %q; its levels are %s", f, l, joined(Levels(f)))
		}
	}
	if l, ok := n.v.(string); ok {
		if a.field == "" {
			n.fail("write need: {FIELD: LEVEL}, since this argument has no field of its own")
			return nil
		}
		check(n, a.field, Level(l))
		return []Need{{Field: a.field, Level: Level(l)}}
	}
	m, ok := n.v.(map[string]any)
	if !ok {
		n.fail("write need: LEVEL for an argument that is a field, and need: {FIELD: LEVEL} for others")
		return nil
	}
	if a.field != "" {
		n.fail("write need: LEVEL, since this argument is a %s", a.field)
		return nil
	}
	var out []Need
	for _, f := range Fields {
		if m[string(f)] != nil {
			l := Level(n.get(string(f)).text())
			check(n.get(string(f)), f, l)
			out = append(out, Need{Field: f, Level: l})
		}
	}
	if len(out) != len(m) {
		for k := range m {
			if !slices.Contains(Fields, Field(k)) {
				n.get(k).fail("%q is no field; %s", k, formsOf(""))
			}
		}
	}
	return out
}

func joined[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
