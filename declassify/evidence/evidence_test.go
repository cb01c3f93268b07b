package evidence_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify/evidence"
	"github.com/margaydev/margay/rubric"
)

func sample() *evidence.Statement {
	return &evidence.Statement{
		Version: 1,
		Context: evidence.Context{Action: "D", Channel: "tool", Sink: "broker", Class: "semi-trusted", Rubrics: []string{strings.Repeat("ab", 32)}, Prev: strings.Repeat("00", 32)},
		Atoms: []evidence.Label{
			{Part: 0, Start: 0, End: 10, Role: "argument", Field: "dob", Relation: "explicit", Necessity: "useful", Provenance: "rubric"},
			{Part: 1, Start: 6, End: 16, Role: "text", Field: evidence.None, Relation: "none", Necessity: "unnecessary", Clause: "dob-pattern", Provenance: "model"},
		},
		Operators: []evidence.Proposal{evidence.Propose(0, rubric.Op{Kind: rubric.Generalize, Level: 2}), evidence.Propose(1, rubric.Op{Kind: rubric.Substitute, Template: "pseudonym"})},
		Variant:   strings.Repeat("cd", 32),
	}
}

func TestRoundTrip(t *testing.T) {
	raw, err := sample().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := evidence.Parse(raw)
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("%+v, %v", got, err)
	}
	empty, err := (&evidence.Statement{}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := evidence.Parse(empty); err != nil || len(got.Atoms) != 0 {
		t.Errorf("%s is read as %+v, %v", empty, got, err)
	}
}

// What is not exactly of the format is refused, by a rule.
func TestParseRefuses(t *testing.T) {
	text := func(change func(*evidence.Statement)) string {
		s := sample()
		change(s)
		raw, err := s.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	sound := text(func(*evidence.Statement) {})
	for name, c := range map[string]struct {
		raw  string
		want evidence.Rule
	}{
		"no JSON":             {"{", evidence.Syntax},
		"a key twice":         {strings.Replace(sound, `"version":1`, `"version":1,"version":1`, 1), evidence.Syntax},
		"something behind":    {sound + "1", evidence.Syntax},
		"no UTF-8":            {strings.Replace(sound, "broker", "brok\xff", 1), evidence.UTF8},
		"too large":           {sound + strings.Repeat(" ", evidence.MaxSize), evidence.TooLarge},
		"no object":           {"[]", evidence.Schema},
		"another version":     {strings.Replace(sound, `"version":1`, `"version":2`, 1), evidence.Schema},
		"a text for a number": {strings.Replace(sound, `"start":0`, `"start":"0"`, 1), evidence.Schema},
		"a number for a text": {strings.Replace(sound, `"sink":"broker"`, `"sink":3`, 1), evidence.Schema},
		"no list":             {strings.Replace(sound, `"operators":[`, `"operators":3,"x":[`, 1), evidence.Schema},
		"a member missing":    {strings.Replace(sound, `"part":0,`, ``, 1), evidence.Schema},
		"a member more":       {strings.Replace(sound, `"part":0,`, `"part":0,"allow":1,`, 1), evidence.Schema},
		"a role":              {text(func(s *evidence.Statement) { s.Atoms[0].Role = "judge" }), evidence.Schema},
		"a relation":          {text(func(s *evidence.Statement) { s.Atoms[0].Relation = "" }), evidence.Schema},
		"a necessity":         {text(func(s *evidence.Statement) { s.Atoms[0].Necessity = "vital" }), evidence.Schema},
		"a provenance":        {text(func(s *evidence.Statement) { s.Atoms[0].Provenance = "me" }), evidence.Schema},
		"an operator":         {text(func(s *evidence.Statement) { s.Operators[0].Op = "publish" }), evidence.Schema},
		"a long name":         {text(func(s *evidence.Statement) { s.Atoms[0].Field = strings.Repeat("f", 257) }), evidence.Schema},
		"too many rubrics":    {text(func(s *evidence.Statement) { s.Context.Rubrics = slices.Repeat(s.Context.Rubrics, 65) }), evidence.Schema},
		"too many labels":     {text(func(s *evidence.Statement) { s.Atoms = slices.Repeat(s.Atoms[:1], evidence.MaxLabels+1) }), evidence.TooMany},
		"too many operators":  {text(func(s *evidence.Statement) { s.Operators = slices.Repeat(s.Operators[:1], evidence.MaxLabels+1) }), evidence.TooMany},
	} {
		if _, err := evidence.Parse([]byte(c.raw)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheck(t *testing.T) {
	texts := []string{"1990-05-17", "fünf 1990-05-18"}
	s := sample()
	slices.Reverse(s.Atoms)
	s.Operators[0].Atom, s.Operators[1].Atom = 1, 0
	if err := evidence.Check(texts, s.Atoms, s.Operators); err != nil || !reflect.DeepEqual(s.Atoms, sample().Atoms) || !reflect.DeepEqual(s.Operators, sample().Operators) {
		t.Errorf("not sorted by place: %+v %+v, %v", s.Atoms, s.Operators, err)
	}
	for name, c := range map[string]struct {
		change func(*evidence.Statement)
		want   evidence.Rule
	}{
		"no such part":       {func(s *evidence.Statement) { s.Atoms[0].Part = 2 }, evidence.Offset},
		"a part below zero":  {func(s *evidence.Statement) { s.Atoms[0].Part = -1 }, evidence.Offset},
		"below zero":         {func(s *evidence.Statement) { s.Atoms[0].Start = -1 }, evidence.Offset},
		"empty":              {func(s *evidence.Statement) { s.Atoms[0].End = 0 }, evidence.Offset},
		"behind the end":     {func(s *evidence.Statement) { s.Atoms[0].End = 11 }, evidence.Offset},
		"within a character": {func(s *evidence.Statement) { s.Atoms[1].Start = 2 }, evidence.Offset},
		"to within one":      {func(s *evidence.Statement) { s.Atoms[1].Start, s.Atoms[1].End = 0, 2 }, evidence.Offset},
		"overlap":            {func(s *evidence.Statement) { s.Atoms[0] = s.Atoms[1]; s.Atoms[0].Start = 7 }, evidence.Overlap},
		"an operator less":   {func(s *evidence.Statement) { s.Operators = s.Operators[:1] }, evidence.Operator},
		"an operator twice":  {func(s *evidence.Statement) { s.Operators[1].Atom = 0 }, evidence.Operator},
		"of no atom":         {func(s *evidence.Statement) { s.Operators[1].Atom = 2 }, evidence.Operator},
		"of an atom before":  {func(s *evidence.Statement) { s.Operators[1].Atom = -1 }, evidence.Operator},
		"no level":           {func(s *evidence.Statement) { s.Operators[0].Level = 0 }, evidence.Operator},
		"a level too high":   {func(s *evidence.Statement) { s.Operators[0].Level = 256 }, evidence.Operator},
		"no template":        {func(s *evidence.Statement) { s.Operators[1].Template = "" }, evidence.Operator},
		"unknown":            {func(s *evidence.Statement) { s.Operators[1].Op = "publish" }, evidence.Operator},
	} {
		s := sample()
		c.change(s)
		if err := evidence.Check(texts, s.Atoms, s.Operators); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBind(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*evidence.Context)
		want   error
	}{
		"the same":    {func(*evidence.Context) {}, nil},
		"the head":    {func(c *evidence.Context) { c.Prev = "" }, evidence.Previous},
		"the action":  {func(c *evidence.Context) { c.Action = "E" }, evidence.Other},
		"the channel": {func(c *evidence.Context) { c.Channel = "model" }, evidence.Other},
		"the sink":    {func(c *evidence.Context) { c.Sink = "airline" }, evidence.Other},
		"the class":   {func(c *evidence.Context) { c.Class = "required-service" }, evidence.Other},
		"the rubrics": {func(c *evidence.Context) { c.Rubrics = nil }, evidence.Other},
	} {
		bound := sample().Context
		c.change(&bound)
		if err := sample().Bind(&bound); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Challenges are about labels and about what has none, and ask of each what may be
// so and what may not.
func TestDraw(t *testing.T) {
	labels := sample().Atoms // of dob, and of none
	texts := []evidence.Text{{Text: "1990-05-17", Found: []evidence.Place{{Start: 0, End: 10}}}, {Text: strings.Repeat("é", 40)}}
	long := strings.Repeat("one two ", 40) + "1990-05-18 NAME"
	texts = append(texts,
		evidence.Text{Text: long, Free: true, Found: []evidence.Place{{Start: 320, End: 330}, {Start: 325, End: 400}}, Held: []evidence.Place{{Start: 331, End: 335}}},
		evidence.Text{Text: "it may not pass"})
	pool := evidence.Pool{Fields: []string{"dob", "legal-name"}, Key: []byte("key"), Bind: "D"}
	all := pool.Draw(4000, labels, texts)
	about := map[string]int{}
	for _, c := range all {
		if c.Atom >= 0 {
			l := &labels[c.Atom]
			if c.Part != l.Part || c.Start != l.Start || c.End != l.End || (c.Field == "") == (c.Necessity == "") {
				t.Fatalf("%+v", c)
			}
			about[fmt.Sprint("label ", l.Field, " ", c.Field == l.Field || c.Necessity == l.Necessity)]++
			continue
		}
		if c.Part != 2 || c.Field == "" || c.Necessity != "" || c.Start < 0 || c.End > 330 || c.Start >= c.End {
			t.Fatalf("%+v", c)
		}
		got := long[c.Start:c.End]
		if n := len(strings.Fields(got)); n > 12 || strings.TrimSpace(got) != got || c.Start > 0 && long[c.Start-1] != ' ' {
			t.Fatalf("%q", got)
		}
		about[fmt.Sprint("nothing ", got == "1990-05-18", " ", c.Field == evidence.None)]++
	}
	for kind, least := range map[string]int{"label dob true": 400, "label dob false": 250, "label none true": 400, "label none false": 250, "nothing true true": 80, "nothing true false": 80, "nothing false true": 500, "nothing false false": 500} {
		if about[kind] < least {
			t.Errorf("%s: %d, want %d: %v", kind, about[kind], least, about)
		}
	}
	// The draw depends on the key and on all that is drawn from.
	if !reflect.DeepEqual(pool.Draw(4000, labels, texts), all) {
		t.Error("another draw for the same")
	}
	key, bind, fewer := pool, pool, slices.Clone(texts)
	key.Key, bind.Bind, fewer[3].Text = []byte("another"), "E", "it may not"
	for what, got := range map[string][]evidence.Challenge{"key": key.Draw(9, labels, texts), "release": bind.Draw(9, labels, texts), "text": pool.Draw(9, labels, fewer), "labels": pool.Draw(9, labels[:1], texts)} {
		if reflect.DeepEqual(got, all[:9]) {
			t.Errorf("the same draw for another %s", what)
		}
	}
	if pool.Draw(0, labels, texts) != nil || pool.Draw(3, nil, texts[1:2]) != nil || (&evidence.Pool{}).Draw(3, labels, texts) != nil {
		t.Error("challenges about nothing")
	}
	if got := pool.Draw(3, nil, texts); len(got) != 3 || got[0].Atom >= 0 {
		t.Errorf("all was left out, and asked is %v", got)
	}
}

// A dispute is about what the first pass gave no field.
func TestDisputed(t *testing.T) {
	labels := sample().Atoms
	for _, c := range []struct {
		atom             int
		field, necessity string
		yes, want        bool
	}{
		{-1, "dob", "", true, true},
		{-1, "dob", "", false, false},
		{-1, "none", "", false, true},
		{-1, "none", "", true, false},
		{1, "dob", "", true, true},
		{1, "none", "", false, true},
		{1, "", "useful", true, false},
		{0, "none", "", true, false}, // a label of a field: its clause decides
		{0, "dob", "", false, false},
	} {
		one := evidence.Challenge{Atom: c.atom, Field: c.field, Necessity: c.necessity}
		if got := one.Disputed(labels, c.yes); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestAnswers(t *testing.T) {
	raw, err := evidence.MarshalAnswers([]bool{true, false})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := evidence.ParseAnswers(raw, 2); err != nil || !slices.Equal(got, []bool{true, false}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []string{"", "yes", "[true,false]", `{"version":1}`, `{"version":2,"answers":[true,true]}`, `{"version":1,"answers":[true]}`, `{"version":1,"answers":[true,true,true]}`, `{"version":1,"answers":[1,0]}`} {
		if _, err := evidence.ParseAnswers([]byte(c), 2); !errors.Is(err, evidence.Unanswered) {
			t.Errorf("%s: %v", c, err)
		}
	}
	for n := rubric.Unnecessary; n <= rubric.Required; n++ {
		if got, ok := evidence.Necessity(n.String()); !ok || got != n {
			t.Errorf("%v is read as %v", n, got)
		}
	}
	if _, ok := evidence.Necessity("vital"); ok {
		t.Error("a necessity that there is not")
	}
}

func FuzzParse(f *testing.F) {
	raw, err := sample().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"version":1,"context":{"action":"","channel":"","sink":"","class":"","rubrics":[],"prev":""},"atoms":[],"operators":[],"variant":""}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ev, err := evidence.Parse(raw)
		if err != nil {
			var rule evidence.Rule
			if !errors.As(err, &rule) {
				t.Fatalf("refused without a rule: %v", err)
			}
			return
		}
		again, err := ev.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		back, err := evidence.Parse(again)
		if err != nil {
			t.Fatalf("what was read can't be read again: %v", err)
		}
		twice, err := back.Marshal()
		if err != nil || string(twice) != string(again) {
			t.Fatalf("%s\n%s", again, twice)
		}
		_ = evidence.Check([]string{"1990-05-17", strings.Repeat("é", 40)}, ev.Atoms, ev.Operators)
	})
}
