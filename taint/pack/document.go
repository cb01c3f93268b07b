package pack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/label"
	"github.com/margaydev/margay/taint"
	"github.com/margaydev/margay/taint/act"
	"github.com/margaydev/margay/taint/document"
	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/observe"
)

// packFile is a pack's file, which the schema has checked.
type packFile struct {
	Pack    string                `json:"pack"`
	Title   string                `json:"title"`
	Harness string                `json:"harness"`
	Server  string                `json:"server"`
	Suite   string                `json:"suite"`
	Schemas string                `json:"schemas"`
	Lattice *lattice              `json:"lattice"`
	Types   map[string]typeDef    `json:"types"`
	Results map[string]annotation `json:"results"`
	Rules   map[string][]rule     `json:"policies"`
	Tools   []tool                `json:"tools"`
}

type lattice struct {
	Integrity       map[string][]string `json:"integrity"`
	Confidentiality map[string][]string `json:"confidentiality"`
	Untrusted       string              `json:"untrusted"`
	Private         string              `json:"private"`
}

type typeDef struct {
	Enum    []string `json:"enum"`
	Pattern string   `json:"pattern"`
}

type annotation struct {
	Formats   []document.Format       `json:"formats"`
	Lines     []string                `json:"lines"`
	Default   string                  `json:"default"`
	Structure string                  `json:"structure"`
	Records   []record                `json:"records"`
	Fields    map[string]named[field] `json:"fields"`
	Cases     []acase                 `json:"cases"`
}

type acase struct {
	When      []cond `json:"when"`
	Default   string `json:"default"`
	Structure string `json:"structure"`
}

type record struct {
	At      string   `json:"at"`
	Sources []string `json:"sources"`
	Readers []string `json:"readers"`
	Type    string   `json:"type"`
	Public  []public `json:"public"`
}

type public struct {
	At     string   `json:"at"`
	Values []string `json:"values"`
}

// field is what is known of a value besides its place; its name is a type's.
type field struct {
	Is   string `json:"is"`
	Mark string `json:"mark"`
	Keys string `json:"keys"`
}

// named is a value or the name of one.
type named[T any] struct {
	name string
	of   T
}

// UnmarshalJSON takes both forms.
func (n *named[T]) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &n.name)
	}
	return json.Unmarshal(b, &n.of)
}

type tool struct {
	Name         string             `json:"name"`
	Worst        string             `json:"worst"`
	Why          string             `json:"why"`
	Args         []string           `json:"args"`
	Destinations []string           `json:"destinations"`
	Free         []string           `json:"free"`
	Continues    bool               `json:"continues"`
	Relays       bool               `json:"relays"`
	Result       *named[annotation] `json:"result"`
	Policy       named[[]rule]      `json:"policy"`
	Samples      []Sample           `json:"samples"`
}

type rule struct {
	When    []cond   `json:"when"`
	Admit   string   `json:"admit"`
	Readers []string `json:"readers"`
	Ask     bool     `json:"ask"`
	Deny    bool     `json:"deny"`
	Why     string   `json:"why"`

	// What a call does, instead of Admit.
	Effect string   `json:"effect"`
	To     []string `json:"to"`
	// Foreign: strangers' words may come back.
	Foreign bool     `json:"foreign"`
	Shell   string   `json:"shell"`
	Runs    []string `json:"runs"`
	With    []string `json:"with"`
	Dir     string   `json:"dir"`
	Edits   []string `json:"edits"`
	Reads   []string `json:"reads"`
	Patch   string   `json:"patch"`
	Program string   `json:"program"`
	// Tools are those that a program may call, and what they do.
	Tools map[string]called `json:"tools"`
}

type called struct {
	Args  []string `json:"args"`
	Shell string   `json:"shell"`
	Dir   string   `json:"dir"`
	Edits []string `json:"edits"`
	Reads []string `json:"reads"`
	Patch string   `json:"patch"`
}

type cond struct {
	Arg       string   `json:"arg"`
	Equals    []string `json:"equals"`
	In        []string `json:"in"`
	DomainIn  []string `json:"domain-in"`
	PathUnder []string `json:"path-under"`
	CommandIn []string `json:"command-in"`
	List      string   `json:"list"`
	AtMost    *float64 `json:"at-most"`
	AtLeast   *float64 `json:"at-least"`
	FromUser  bool     `json:"from-user"`
	Type      string   `json:"type"`
	Present   bool     `json:"present"`
	Absent    bool     `json:"absent"`
	Matches   string   `json:"matches"`
	Prefix    []string `json:"prefix"`
	OneOf     []scalar `json:"one-of"`
	Local     bool     `json:"local"`
	Any       bool     `json:"any"`
	Not       bool     `json:"not"`
	Optional  bool     `json:"optional"`
	Says      string   `json:"says"` // what it asks, in words of the pack's own
}

// scalar is a text or a truth.
type scalar taint.Scalar

// UnmarshalJSON takes both forms.
func (s *scalar) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.Text)
	}
	s.Text, s.Truth = string(b), true
	return nil
}

// results are what is known of a tool's results.
type results struct {
	observe.Annotation
	cases []taint.Case
}

// compiler reads a pack's file from its start to its end. It keeps the first
// mistake, and reads on.
type compiler struct {
	types   map[string]observe.Type
	results map[string]results
	rules   map[string][]rule

	at  []string // the place in the file
	err error    // the first mistake, with its place
}

// fail takes an error at a place below the current one.
func (c *compiler) fail(err error, at ...string) {
	if c.err == nil {
		c.err = yamldoc.Where(err, slices.Concat(c.at, at)...)
	}
}

// in reads what is at a place below the current one.
func (c *compiler) in(read func(), at ...string) {
	outer := c.at
	c.at = slices.Concat(outer, at)
	read()
	c.at = outer
}

// each reads the elements of the list under a key.
func each[D, T any](c *compiler, key string, list []D, read func(*D) T) []T {
	var out []T
	for i := range list {
		c.in(func() { out = append(out, read(&list[i])) }, key, strconv.Itoa(i))
	}
	return out
}

// value parses what is under a key.
func value[D, T any](c *compiler, key string, d D, parse func(D) (T, error)) T {
	v, err := parse(d)
	c.fail(err, key)
	return v
}

func (d *packFile) compile(p *Pack) error {
	p.Name, p.Title, p.Schemas = d.Pack, d.Title, d.Schemas
	for kind, name := range map[Kind]string{Harness: d.Harness, Server: d.Server, Suite: d.Suite} {
		if name != "" {
			p.Kind, p.For = kind, name
		}
	}
	c := &compiler{types: map[string]observe.Type{}, results: map[string]results{}, rules: d.Rules}
	if d.Lattice != nil {
		c.in(func() { p.Scheme = c.scheme(d.Lattice) }, "lattice")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Types)) {
		t, err := d.Types[name].compile()
		if err == nil && slices.Contains(append(observe.TypeNames(), "text"), name) {
			err = fmt.Errorf("%w: %s has a meaning already", observe.ErrType, name)
		}
		c.types[name] = t
		c.fail(err, "types", name)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Results)) {
		a := d.Results[name]
		c.in(func() { c.results[name] = c.annotation(&a) }, "results", name)
	}
	names := map[string]bool{}
	p.Tools = each(c, "tools", d.Tools, func(d *tool) Tool {
		t := c.tool(d)
		if names[t.Name] {
			c.fail(fmt.Errorf("%w: tool %q comes twice", taint.ErrContradiction, t.Name), "name")
		}
		names[t.Name] = true
		return t
	})
	return c.err
}

// scheme compiles a pack's own lattice.
func (c *compiler) scheme(l *lattice) *observe.Scheme {
	i := value(c, "integrity", l.Integrity, label.Custom)
	conf := value(c, "confidentiality", l.Confidentiality, label.Custom)
	if c.err != nil {
		return nil
	}
	s, err := observe.Custom(label.Lattice{Integrity: i, Confidentiality: conf}, l.Untrusted, l.Private)
	c.fail(err)
	return &s
}

func (d typeDef) compile() (observe.Type, error) {
	if d.Pattern != "" {
		return observe.Pattern(d.Pattern)
	}
	return observe.Enum(d.Enum...)
}

func (c *compiler) tool(d *tool) Tool {
	t := Tool{Tool: taint.Tool{Name: d.Name, Args: d.Args, Destinations: d.Destinations, Free: d.Free, Continues: d.Continues, Relays: d.Relays}, Worst: d.Worst, Why: d.Why}
	if d.Result != nil {
		var a results
		c.in(func() { a = c.annotation(&d.Result.of) }, "result")
		if name := d.Result.name; name != "" {
			var ok bool
			if a, ok = c.results[name]; !ok {
				c.fail(fmt.Errorf("unknown result %q; results of the pack are %s", name, strings.Join(slices.Sorted(maps.Keys(c.results)), ", ")), "result")
			}
		}
		t.Result, t.Cases = a.Annotation, a.cases
	}
	policy := d.Policy.of
	if name := d.Policy.name; name != "" {
		var ok bool
		if policy, ok = c.rules[name]; !ok {
			c.fail(fmt.Errorf("unknown policy %q; policies of the pack are %s", name, strings.Join(slices.Sorted(maps.Keys(c.rules)), ", ")), "policy")
		}
	}
	t.Rules = each(c, "policy", policy, c.rule)
	for i := range policy {
		t.Policy = append(t.Policy, policy[i].words())
	}
	t.Samples = each(c, "samples", d.Samples, func(s *Sample) Sample {
		s.at = c.at
		return *s
	})
	// What taint holds a tool to, at its place in the file.
	_, err := taint.New(taint.Config{Scheme: observe.FourPoint(), Tools: []taint.Tool{t.Tool}})
	c.fail(err)
	return t
}

// mark reads words such as "untrusted private".
func mark(words string) (observe.Mark, error) {
	integrity, confidentiality, ok := strings.Cut(words, " ")
	m := observe.Mark{Trusted: integrity == "trusted", Workspace: integrity == "workspace", Public: confidentiality == "public"}
	if !ok || !m.Trusted && !m.Workspace && integrity != "untrusted" || !m.Public && confidentiality != "private" {
		return m, fmt.Errorf("unknown mark %q: a mark is trusted, workspace or untrusted, and public or private", words)
	}
	return m, nil
}

// mark reads the mark under a key; without one it is def.
func (c *compiler) mark(key, words string, def *observe.Mark) *observe.Mark {
	if words == "" {
		return def
	}
	m := value(c, key, words, mark)
	return &m
}

func (c *compiler) path(key, text string) document.Path {
	return value(c, key, text, document.ParsePath)
}

func (c *compiler) paths(key string, texts []string) []document.Path {
	return each(c, key, texts, func(s *string) document.Path {
		p, err := document.ParsePath(*s)
		c.fail(err)
		return p
	})
}

// typ finds the type under a key; text is none.
func (c *compiler) typ(key, name string) observe.Type {
	if t, ok := c.types[name]; ok || name == "" || name == "text" {
		return t
	}
	return value(c, key, name, observe.NewType)
}

func (c *compiler) annotation(d *annotation) (a results) {
	a.Formats = d.Formats
	a.Default = *c.mark("default", d.Default, &observe.Mark{})
	a.Structure = c.mark("structure", d.Structure, nil)
	a.Lines = each(c, "lines", d.Lines, func(s *string) document.Line {
		l, err := document.NewLine(*s)
		c.fail(err)
		return l
	})
	a.Records = each(c, "records", d.Records, c.record)
	for _, at := range slices.Sorted(maps.Keys(d.Fields)) {
		f := d.Fields[at]
		f.of.Is = cmp.Or(f.of.Is, f.name)
		c.in(func() { a.Fields = append(a.Fields, c.field(at, &f.of, a.Default)) }, "fields", at)
	}
	a.cases = each(c, "cases", d.Cases, func(k *acase) taint.Case {
		return taint.Case{
			When: each(c, "when", k.When, c.cond), Default: value(c, "default", k.Default, mark), Structure: c.mark("structure", k.Structure, nil),
		}
	})
	return a
}

func (c *compiler) record(d *record) observe.Record {
	return observe.Record{
		At: c.path("at", d.At), Sources: c.paths("sources", d.Sources), Readers: c.paths("readers", d.Readers), Type: c.typ("type", d.Type),
		Public: each(c, "public", d.Public, func(is *public) observe.Is { return observe.Is{At: c.path("at", is.At), Values: is.Values} }),
	}
}

// field reads a field: one with a type is trusted where it conforms, and as
// private as the rest, unless it says otherwise.
func (c *compiler) field(at string, d *field, def observe.Mark) observe.Field {
	p, err := document.ParsePath(at)
	c.fail(err)
	f := observe.Field{At: p, Type: c.typ("is", d.Is), Keys: c.typ("keys", d.Keys)}
	def.Trusted = def.Trusted || !f.Type.IsZero()
	f.Mark = *c.mark("mark", d.Mark, &def)
	return f
}

func (c *compiler) rule(d *rule) taint.Rule {
	r := taint.Rule{Confirm: d.Ask, Deny: d.Deny, Why: d.Why, When: each(c, "when", d.When, c.cond)}
	if d.Admit != "" {
		var err error
		r.Source, r.Reader, err = reaches(d.Admit)
		c.fail(err, "admit")
	}
	r.Readers = c.paths("readers", d.Readers)
	r.Spec = c.spec(d)
	return r
}

// spec reads what a rule says of what a call does; nil where it says nothing.
func (c *compiler) spec(d *rule) *act.Spec {
	at := func(key, text string) *document.Path {
		if text == "" {
			return nil
		}
		p := c.path(key, text)
		return &p
	}
	s := &act.Spec{Strangers: d.Foreign, Runs: d.Runs, With: c.paths("with", d.With), Shell: at("shell", d.Shell), Dir: at("dir", d.Dir), Edits: c.paths("edits", d.Edits), Reads: c.paths("reads", d.Reads), Patch: at("patch", d.Patch), Program: at("program", d.Program)}
	for name, t := range d.Tools {
		c.in(func() {
			inner := c.spec(&rule{Shell: t.Shell, Dir: t.Dir, Edits: t.Edits, Reads: t.Reads, Patch: t.Patch})
			if other, ok := inner.Within(t.Args); !ok {
				c.fail(fmt.Errorf("the tool has no argument %s", other))
			}
			if inner.Args = t.Args; s.Tools == nil {
				s.Tools = map[string]*act.Spec{}
			}
			s.Tools[name] = inner
		}, "tools", name)
	}
	if d.Effect != "" {
		e := value(c, "effect", d.Effect, effect.Parse)
		s.Effect, s.To = &e, c.paths("to", d.To)
	}
	if s.Effect == nil && s.Shell == nil && s.Runs == nil && s.Patch == nil && s.Program == nil && d.Edits == nil && d.Reads == nil {
		return nil
	}
	return s
}

// reaches reads words such as "any public".
func reaches(words string) (source, reader taint.Reach, err error) {
	s, r, ok := strings.Cut(words, " ")
	source, ok1 := map[string]taint.Reach{"trusted": taint.ReachLow, "workspace": taint.ReachWorkspace, "untrusted": taint.ReachHigh, "any": taint.ReachAny}[s]
	reader, ok2 := map[string]taint.Reach{"public": taint.ReachLow, "private": taint.ReachHigh, "any": taint.ReachAny}[r]
	if !ok || !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("unknown reach %q: a reach is trusted, workspace, untrusted or any, and public, private or any", words)
	}
	return source, reader, nil
}

func (c *compiler) cond(d *cond) taint.Cond {
	out := taint.Cond{Arg: c.path("arg", d.Arg), List: d.List, Any: d.Any, Not: d.Not, Optional: d.Optional}
	asked := 0
	ask := func(op taint.Op, is bool) bool {
		if is {
			out.Op = op
			asked++
		}
		return is
	}
	for _, o := range []struct {
		op     taint.Op
		values []string
	}{
		{taint.OpEquals, d.Equals}, {taint.OpIn, d.In}, {taint.OpDomain, d.DomainIn}, {taint.OpPath, d.PathUnder}, {taint.OpCommand, d.CommandIn}, {taint.OpPrefix, d.Prefix},
	} {
		if ask(o.op, o.values != nil) {
			out.Values = o.values
		}
	}
	if ask(taint.OpAtMost, d.AtMost != nil) {
		out.Number = *d.AtMost
	}
	if ask(taint.OpAtLeast, d.AtLeast != nil) {
		out.Number = *d.AtLeast
	}
	ask(taint.OpFromUser, d.FromUser)
	ask(taint.OpPresent, d.Present)
	ask(taint.OpAbsent, d.Absent)
	ask(taint.OpLocal, d.Local)
	if ask(taint.OpType, d.Type != "") {
		out.Type = c.typ("type", d.Type)
	}
	if ask(taint.OpMatches, d.Matches != "") {
		out.Expr = value(c, "matches", d.Matches, taint.Expression)
	}
	if ask(taint.OpOneOf, d.OneOf != nil) {
		for _, v := range d.OneOf {
			out.Scalars = append(out.Scalars, taint.Scalar(v))
		}
	}
	if asked != 1 {
		c.fail(fmt.Errorf("%w: a condition asks one thing of an argument, and this asks %d of %s", taint.ErrCond, asked, d.Arg))
	}
	c.fail(out.Check())
	return out
}
