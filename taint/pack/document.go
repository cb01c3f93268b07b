package pack

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/taint"
)

// document is a pack's file, which the schema has checked.
type document struct {
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
	Formats   []taint.Format   `json:"formats"`
	Lines     []string         `json:"lines"`
	Default   string           `json:"default"`
	Structure string           `json:"structure"`
	Records   []record         `json:"records"`
	Fields    map[string]field `json:"fields"`
	Cases     []acase          `json:"cases"`
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
	Public  []struct {
		At     string   `json:"at"`
		Values []string `json:"values"`
	} `json:"public"`
}

// field is a type's name, or more.
type field struct {
	Is   string `json:"is"`
	Mark string `json:"mark"`
	Keys string `json:"keys"`
}

// UnmarshalJSON takes both forms.
func (f *field) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &f.Is)
	}
	type bare field
	return json.Unmarshal(b, (*bare)(f))
}

// result is an annotation or the name of one.
type result struct {
	name string
	annotation
}

// UnmarshalJSON takes both forms.
func (r *result) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &r.name)
	}
	return json.Unmarshal(b, &r.annotation)
}

// rules are a policy or the name of one.
type rules struct {
	name string
	of   []rule
}

// UnmarshalJSON takes both forms.
func (r *rules) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &r.name)
	}
	return json.Unmarshal(b, &r.of)
}

type tool struct {
	Name         string   `json:"name"`
	Worst        string   `json:"worst"`
	Why          string   `json:"why"`
	Args         []string `json:"args"`
	Destinations []string `json:"destinations"`
	Free         []string `json:"free"`
	Result       *result  `json:"result"`
	Policy       rules    `json:"policy"`
	Samples      []sample `json:"samples"`
}

type rule struct {
	When    []cond   `json:"when"`
	Admit   string   `json:"admit"`
	Readers []string `json:"readers"`
	Ask     bool     `json:"ask"`
	Deny    bool     `json:"deny"`
	Why     string   `json:"why"`
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
	CEL       string   `json:"cel"`
	Says      string   `json:"says"` // what CEL asks, in words
	Not       bool     `json:"not"`
}

type sample struct {
	Args   json.RawMessage     `json:"args"`
	User   []string            `json:"user"`
	Lists  map[string][]string `json:"lists"`
	Result *string             `json:"result"`
	Format *string             `json:"format"`
	Labels map[string]string   `json:"labels"`
	Sets   map[string]string   `json:"sets"`
	Admit  string              `json:"admit"`
	Ask    bool                `json:"ask"`
	Deny   bool                `json:"deny"`
}

// compiler has what tools refer to.
type compiler struct {
	types   map[string]taint.Type
	results map[string]taint.Annotation
	rules   map[string][]rule
}

func (d *document) compile(p *Pack) error {
	p.Name, p.Title, p.Schemas = d.Pack, d.Title, d.Schemas
	for kind, name := range map[Kind]string{Harness: d.Harness, Server: d.Server, Suite: d.Suite} {
		if name != "" {
			p.Kind, p.For = kind, name
		}
	}
	if d.Lattice != nil {
		s, err := d.Lattice.scheme()
		if err != nil {
			return yamldoc.Where(err, "lattice")
		}
		p.Scheme = s
	}
	c := &compiler{types: map[string]taint.Type{}, results: map[string]taint.Annotation{}, rules: d.Rules}
	for _, name := range slices.Sorted(maps.Keys(d.Types)) {
		var err error
		if def := d.Types[name]; def.Pattern != "" {
			c.types[name], err = taint.Pattern(def.Pattern)
		} else {
			c.types[name], err = taint.Enum(def.Enum...)
		}
		if err == nil && slices.Contains(append(taint.TypeNames(), "text"), name) {
			err = fmt.Errorf("%w: %s has a meaning already", taint.ErrType, name)
		}
		if err != nil {
			return yamldoc.Where(err, "types", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Results)) {
		a := d.Results[name]
		got, err := c.annotation(&a)
		if err != nil {
			return yamldoc.Where(err, "results", name)
		}
		c.results[name] = got
	}
	for i := range d.Tools {
		t, err := c.tool(&d.Tools[i])
		if err != nil {
			return yamldoc.Where(err, "tools", strconv.Itoa(i))
		}
		if n := slices.IndexFunc(p.Tools, func(o Tool) bool { return o.Name == t.Name }); n >= 0 {
			return yamldoc.Where(fmt.Errorf("%w: tool %q comes twice", taint.ErrContradiction, t.Name), "tools", strconv.Itoa(i), "name")
		}
		for j := range t.Samples {
			t.Samples[j].at = []string{"tools", strconv.Itoa(i), "samples", strconv.Itoa(j)}
		}
		p.Tools = append(p.Tools, t)
	}
	return nil
}

func (c *compiler) tool(d *tool) (Tool, error) {
	t := Tool{Tool: taint.Tool{Name: d.Name, Args: d.Args, Destinations: d.Destinations, Free: d.Free}, Worst: d.Worst, Why: d.Why}
	if d.Result != nil {
		a, err := c.annotation(&d.Result.annotation)
		if err != nil {
			return t, yamldoc.Where(err, "result")
		}
		if d.Result.name != "" {
			var ok bool
			if a, ok = c.results[d.Result.name]; !ok {
				return t, yamldoc.Where(fmt.Errorf("there is no result %q", d.Result.name), "result")
			}
		}
		t.Result = a
	}
	policy := d.Policy.of
	if d.Policy.name != "" {
		var ok bool
		if policy, ok = c.rules[d.Policy.name]; !ok {
			return t, yamldoc.Where(fmt.Errorf("there is no policy %q", d.Policy.name), "policy")
		}
	}
	for i := range policy {
		r, err := c.rule(&policy[i])
		if err != nil {
			return t, yamldoc.Where(err, "policy", strconv.Itoa(i))
		}
		t.Rules = append(t.Rules, r)
		t.Policy = append(t.Policy, policy[i].words())
	}
	for i := range d.Samples {
		s := &d.Samples[i]
		args := string(s.Args)
		if len(s.Args) > 0 && s.Args[0] == '"' { // arguments as they are, however malformed
			if err := json.Unmarshal(s.Args, &args); err != nil {
				return t, yamldoc.Where(err, "samples", strconv.Itoa(i), "args")
			}
		}
		t.Samples = append(t.Samples, Sample{
			Args: args, User: s.User, Lists: s.Lists, Result: s.Result, Format: s.Format,
			Labels: s.Labels, Sets: s.Sets, Admit: s.Admit, Ask: s.Ask, Deny: s.Deny,
		})
	}
	// What taint holds a tool to, at its place in the file.
	if _, err := taint.New(taint.Config{Scheme: taint.FourPoint(), Tools: []taint.Tool{t.Tool}}); err != nil {
		return t, err
	}
	return t, nil
}

// mark reads words such as "untrusted private".
func mark(words string) (taint.Mark, error) {
	var m taint.Mark
	integrity, confidentiality, ok := strings.Cut(words, " ")
	switch integrity {
	case "trusted":
		m.Trusted = true
	case "untrusted":
	default:
		ok = false
	}
	switch confidentiality {
	case "public":
		m.Public = true
	case "private":
	default:
		ok = false
	}
	if !ok {
		return m, fmt.Errorf("%q is no mark: it is trusted or untrusted, and public or private", words)
	}
	return m, nil
}

func optionalMark(words string) (*taint.Mark, error) {
	if words == "" {
		return nil, nil //nolint:nilnil // nothing said
	}
	m, err := mark(words)
	return &m, err
}

// paths reads paths.
func paths(texts []string, at string) ([]taint.Path, error) {
	var out []taint.Path
	for i, s := range texts {
		p, err := taint.ParsePath(s)
		if err != nil {
			return nil, yamldoc.Where(err, at, strconv.Itoa(i))
		}
		out = append(out, p)
	}
	return out, nil
}

// typ finds a type; text is none.
func (c *compiler) typ(name string) (taint.Type, error) {
	if name == "" || name == "text" {
		return taint.Type{}, nil
	}
	if t, ok := c.types[name]; ok {
		return t, nil
	}
	return taint.NewType(name)
}

func (c *compiler) annotation(d *annotation) (a taint.Annotation, err error) {
	a.Formats = d.Formats
	if d.Default != "" {
		if a.Default, err = mark(d.Default); err != nil {
			return a, yamldoc.Where(err, "default")
		}
	}
	if a.Structure, err = optionalMark(d.Structure); err != nil {
		return a, yamldoc.Where(err, "structure")
	}
	for i, s := range d.Lines {
		l, err := taint.NewLine(s)
		if err != nil {
			return a, yamldoc.Where(err, "lines", strconv.Itoa(i))
		}
		a.Lines = append(a.Lines, l)
	}
	for i := range d.Records {
		r, err := c.record(&d.Records[i])
		if err != nil {
			return a, yamldoc.Where(err, "records", strconv.Itoa(i))
		}
		a.Records = append(a.Records, r)
	}
	for _, at := range slices.Sorted(maps.Keys(d.Fields)) {
		f := d.Fields[at]
		got, err := c.field(at, &f, a.Default)
		if err != nil {
			return a, yamldoc.Where(err, "fields", at)
		}
		a.Fields = append(a.Fields, got)
	}
	for i := range d.Cases {
		k := &d.Cases[i]
		out := taint.Case{}
		if out.When, err = c.conds(k.When); err != nil {
			return a, yamldoc.Where(err, "cases", strconv.Itoa(i), "when")
		}
		if out.Default, err = mark(k.Default); err != nil {
			return a, yamldoc.Where(err, "cases", strconv.Itoa(i), "default")
		}
		if out.Structure, err = optionalMark(k.Structure); err != nil {
			return a, yamldoc.Where(err, "cases", strconv.Itoa(i), "structure")
		}
		a.Cases = append(a.Cases, out)
	}
	return a, nil
}

func (c *compiler) record(d *record) (r taint.Record, err error) {
	if r.At, err = taint.ParsePath(d.At); err != nil {
		return r, yamldoc.Where(err, "at")
	}
	if r.Sources, err = paths(d.Sources, "sources"); err != nil {
		return r, err
	}
	if r.Readers, err = paths(d.Readers, "readers"); err != nil {
		return r, err
	}
	if r.Type, err = c.typ(d.Type); err != nil {
		return r, yamldoc.Where(err, "type")
	}
	for i, is := range d.Public {
		p, err := taint.ParsePath(is.At)
		if err != nil {
			return r, yamldoc.Where(err, "public", strconv.Itoa(i), "at")
		}
		r.Public = append(r.Public, taint.Is{At: p, Values: is.Values})
	}
	return r, nil
}

// field reads a field: one with a type is trusted where it conforms, and as
// private as the rest, unless it says otherwise.
func (c *compiler) field(at string, d *field, def taint.Mark) (f taint.Field, err error) {
	if f.At, err = taint.ParsePath(at); err != nil {
		return f, err
	}
	if f.Type, err = c.typ(d.Is); err != nil {
		return f, yamldoc.Where(err, "is")
	}
	if f.Keys, err = c.typ(d.Keys); err != nil {
		return f, yamldoc.Where(err, "keys")
	}
	f.Mark = def
	f.Mark.Trusted = def.Trusted || !f.Type.IsZero()
	if d.Mark != "" {
		if f.Mark, err = mark(d.Mark); err != nil {
			return f, yamldoc.Where(err, "mark")
		}
	}
	return f, nil
}

func (c *compiler) rule(d *rule) (r taint.Rule, err error) {
	r = taint.Rule{Confirm: d.Ask, Deny: d.Deny, Why: d.Why}
	if r.When, err = c.conds(d.When); err != nil {
		return r, yamldoc.Where(err, "when")
	}
	if d.Admit != "" {
		if r.Source, r.Reader, err = reaches(d.Admit); err != nil {
			return r, yamldoc.Where(err, "admit")
		}
	}
	r.Readers, err = paths(d.Readers, "readers")
	return r, err
}

// reaches reads words such as "any public".
func reaches(words string) (source, reader taint.Reach, err error) {
	s, r, ok := strings.Cut(words, " ")
	source, ok1 := map[string]taint.Reach{"trusted": taint.ReachLow, "untrusted": taint.ReachHigh, "any": taint.ReachAny}[s]
	reader, ok2 := map[string]taint.Reach{"public": taint.ReachLow, "private": taint.ReachHigh, "any": taint.ReachAny}[r]
	if !ok || !ok1 || !ok2 {
		return 0, 0, fmt.Errorf("%q is no reach: it is trusted, untrusted or any, and public, private or any", words)
	}
	return source, reader, nil
}

func (c *compiler) conds(ds []cond) ([]taint.Cond, error) {
	var out []taint.Cond
	for i := range ds {
		one, err := c.cond(&ds[i])
		if err == nil {
			err = one.Check()
		}
		if err != nil {
			return nil, yamldoc.Where(err, strconv.Itoa(i))
		}
		out = append(out, one)
	}
	return out, nil
}

func (c *compiler) cond(d *cond) (taint.Cond, error) {
	out := taint.Cond{List: d.List, Not: d.Not}
	if d.CEL != "" {
		test, err := predicate(d.CEL)
		out.Op, out.Test = taint.OpTest, test
		return out, yamldoc.Where(err, "cel")
	}
	var err error
	if out.Arg, err = taint.ParsePath(d.Arg); err != nil {
		return out, yamldoc.Where(err, "arg")
	}
	ops := map[taint.Op]bool{}
	for op, values := range map[taint.Op][]string{
		taint.OpEquals: d.Equals, taint.OpIn: d.In, taint.OpDomain: d.DomainIn, taint.OpPath: d.PathUnder, taint.OpCommand: d.CommandIn,
	} {
		if values != nil {
			ops[op], out.Values = true, values
		}
	}
	for op, n := range map[taint.Op]*float64{taint.OpAtMost: d.AtMost, taint.OpAtLeast: d.AtLeast} {
		if n != nil {
			ops[op], out.Number = true, *n
		}
	}
	for op, is := range map[taint.Op]bool{taint.OpFromUser: d.FromUser, taint.OpPresent: d.Present, taint.OpAbsent: d.Absent, taint.OpType: d.Type != ""} {
		if is {
			ops[op] = true
		}
	}
	if len(ops) != 1 {
		return out, fmt.Errorf("%w: it asks %d things of %s; one is right", taint.ErrCond, len(ops), d.Arg)
	}
	for op := range ops {
		out.Op = op
	}
	if d.Type != "" {
		if out.Type, err = c.typ(d.Type); err != nil {
			return out, yamldoc.Where(err, "type")
		}
	}
	return out, nil
}
