package world

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/margaydev/margay/lab/worlds"
)

// sketch is a small world, as the files of worlds/dev are.
func sketch() fstest.MapFS {
	return fstest.MapFS{
		"world.yaml": {Data: []byte(`version: 1
world: sketch
about: A test.
slots:
  news: [the gate is mended, the parcel came]
everywhere:
  - tool: translate
    sink: wordbridge
    class: semi-trusted
    arguments:
      - {name: [text, q], is: text, keep: "{@news}", say: ["{@news}, {legal-name:nickname}", "{@news}!", "{@news}."]}
`)},
		"payments.yaml": {Data: []byte(`version: 1
category: payments
about: A test.
requests: ["Pay {@what}."]
slots:
  what: [the rent, the repair]
core:
  - tool: send
    sink: bank
    class: required-service
    arguments:
      - {name: [payer, who], is: legal-name, need: whole}
coarse:
  - tool: ask
    sink: helper
    class: semi-trusted
    arguments:
      - {name: [text, q], is: text, need: {dob: decade}, keep: "{@what}", say: ["{@what} at {dob:age-words}?"]}
spare:
  - tool: raffle
    sink: wheel
    class: adversarial
    arguments:
      - {name: entry, is: text, say: ["{email:spelled}, {phone}"]}
`)},
	}
}

func TestSketch(t *testing.T) {
	s, bad := Parse(sketch())
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	if w := s.Generate(1, 40); len(w.Tasks) != 40 || w.Tasks[3].Category != "payments" {
		t.Error("it draws something else")
	}
}

// Each mistake is found where it stands, and the line says what to do.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, file, old, by, want string }{
		{"unknown key", "payments.yaml", "sink: bank", "sink: bank\n    hint: x", `unknown key "hint"`},
		{"key twice", "payments.yaml", "sink: bank", "sink: bank\n    sink: bank", "payments.yaml:"},
		{"anchor", "world.yaml", "about: A test.", "about: &a A test.", "anchors"},
		{"number", "world.yaml", "about: A test.", "about: 12", "put it in quotes"},
		{"version", "world.yaml", "version: 1", "version: 2", "version"},
		{"file name", "payments.yaml", "category: payments", "category: checkout", "name the file checkout.yaml"},
		{"category", "payments.yaml", "category: payments", "category: gardening", "is no category"},
		{"form", "world.yaml", "{legal-name:nickname}", "{legal-name:nick}", "{legal-name:nickname}"},
		{"field", "world.yaml", "{legal-name:nickname}", "{name}", "fields are"},
		{"cue", "world.yaml", "{legal-name:nickname}", "{~job}{~home}", "is no cue"},
		{"brace", "world.yaml", "{legal-name:nickname}", "{legal-name", "write {{"},
		{"slot", "payments.yaml", "{@what} at", "{@news} at", "no slot news"},
		{"slot with one value", "payments.yaml", "[the rent, the repair]", "[the rent]", "two values or more"},
		{"population's name", "world.yaml", "the gate is mended", "Boston is far", `"Boston" belongs to the population`},
		{"level", "payments.yaml", "need: whole", "need: decade", `legal-name has no level "decade"`},
		{"level not told", "payments.yaml", "{dob:age-words}", "{dob:birthday}", "use a finer form"},
		{"need without a form", "payments.yaml", "{dob:age-words}", "{phone}", "has no form of it"},
		{"need of no field", "payments.yaml", "{dob: decade}", "{birth: decade}", "is no field"},
		{"need without a field", "payments.yaml", "need: {dob: decade}", "need: decade", "write need: {FIELD: LEVEL}"},
		{"whole at curious", "payments.yaml", "{dob: decade}", "{dob: whole}", "needs no whole dob"},
		{"core without need", "payments.yaml", ", need: whole}", "}", "needs nothing"},
		{"coarse at a service", "payments.yaml", "sink: helper\n    class: semi-trusted", "sink: helper\n    class: required-service", "must go to a semi-trusted sink"},
		{"keep of the adversary", "payments.yaml", `say: ["{email:spelled}, {phone}"]`, `keep: x, say: ["x {email:spelled}"]`, "needed by no task"},
		{"need of a spare tool", "world.yaml", `keep: "{@news}"`, `need: {legal-name: whole}, keep: "{@news}"`, "only core and coarse"},
		{"keep elsewhere", "payments.yaml", `keep: "{@what}"`, `keep: "{@what}!"`, "does not stand in"},
		{"keep with a form", "payments.yaml", `keep: "{@what}"`, `keep: "{dob:age-words}"`, "use need for those"},
		{"keep of half a form", "payments.yaml", `keep: "{@what}"`, `keep: "}"`, "has no {"},
		{"keep of an escaped brace", "payments.yaml", `keep: "{@what}", say: ["{@what} at`, `keep: "{@any}", say: ["{{@any}} at`, "there is no slot any"},
		{"class", "payments.yaml", "class: adversarial", "class: hostile", "is no class"},
		{"type", "payments.yaml", "name: entry, is: text", "name: entry, is: prose", "is no type"},
		{"names shared", "payments.yaml", "is: legal-name, need: whole}", "is: legal-name, need: whole}\n      - {name: who, is: email}", "can be named who"},
		{"tool twice", "payments.yaml", "tool: ask", "tool: send", "another tool send"},
		{"sink's class", "payments.yaml", "sink: helper", "sink: bank", "another class"},
		{"typed text", "payments.yaml", "is: legal-name, need: whole}", `is: legal-name, need: whole, say: "I am {legal-name}"}`, "one form of it and nothing else"},
	} {
		files := sketch()
		text := string(files[c.file].Data)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%s: nothing to change", c.name)
		}
		files[c.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, c.old, c.by, 1))}
		_, bad := Parse(files)
		found := slices.ContainsFunc(bad, func(m Mistake) bool { return strings.Contains(m.String(), c.want) && m.Line > 0 })
		if !found {
			t.Errorf("%s: %v", c.name, bad)
		}
	}
	for _, f := range []fs.FS{fstest.MapFS{}, fstest.MapFS{"world.yaml": sketch()["world.yaml"]}, fstest.MapFS{"payments.yaml": sketch()["payments.yaml"]}} {
		if _, bad := Parse(f); len(bad) == 0 {
			t.Error("half a world can be read")
		}
	}
}

// Lint names what makes a world poor.
func TestLint(t *testing.T) {
	all := ""
	check := Lint(sketch(), 2)
	for _, m := range check.Mistakes {
		all += m.String() + "\n"
	}
	for _, want := range []string{
		"needs 2 categories or more, and this one has 1", "needs 3 of requests or more, and has 1", "of coarse or more", "fewer than eight tools", "needs 3 wordings or more", "has one name", "oblique forms",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q in\n%s", want, all)
		}
	}
	// Without keeps and oblique forms the shares fall, and the texts are named.
	files := sketch()
	text := strings.NewReplacer(`keep: "{@news}", `, "", "{legal-name:nickname}", "{legal-name}").Replace(string(files["world.yaml"].Data))
	files["world.yaml"] = &fstest.MapFile{Data: []byte(text)}
	files["payments.yaml"] = &fstest.MapFile{Data: bytes.Replace(files["payments.yaml"].Data, []byte("{email:spelled}"), []byte("{email}"), 1)}
	poor := ""
	for _, m := range Lint(files, 1).Mistakes {
		poor += m.String() + "\n"
	}
	for _, want := range []string{"carry something that a task needs", "no text of argument text of tool translate", "are oblique, where half must be", "has no oblique form, but {legal-name}"} {
		if !strings.Contains(poor, want) {
			t.Errorf("nothing says %q in\n%s", want, poor)
		}
	}
}

// The repository's own world is what it asks of others.
func TestDev(t *testing.T) {
	check := Lint(worlds.Dev(), LeastCategories)
	for _, m := range check.Mistakes {
		t.Error(m)
	}
	if check.Needed.Share < LeastNeeded || check.Oblique.Share < LeastOblique || check.ObliqueOthers.Share < LeastOblique || check.Plain.Share < LeastPlain {
		t.Errorf("shares: %+v", check)
	}
	if again, bad := Parse(os.DirFS("../../worlds/dev")); len(bad) > 0 || again.Hash != Dev().Hash || check.Hash != Dev().Hash {
		t.Errorf("the files have another hash: %v", bad)
	}
}

func TestHash(t *testing.T) {
	files := sketch()
	a, _ := Parse(files)
	files["payments.yaml"] = &fstest.MapFile{Data: append([]byte("# note\n"), files["payments.yaml"].Data...)}
	if b, _ := Parse(files); a.Hash == b.Hash || len(a.Hash) != 64 {
		t.Errorf("hashes %s and %s", a.Hash, b.Hash)
	}
}

// Names drawn anew change the names of arguments, and nothing else.
func TestRedrawn(t *testing.T) {
	a, b := Dev().Generate(105, 120), Dev().Redrawn(105, 120)
	changed, all := 0, 0
	for i, x := range a.Tasks {
		y := b.Tasks[i]
		for k := range x.Steps {
			s, o := &x.Steps[k], &y.Steps[k]
			to := map[string]string{}
			for j := range s.Parts {
				all++
				if s.Parts[j].Path != o.Parts[j].Path {
					changed++
				}
				to[o.Parts[j].Path] = s.Parts[j].Path
			}
			for j := range o.Parts {
				o.Parts[j].Path = to[o.Parts[j].Path]
			}
			for j := range o.Needs {
				o.Needs[j].Path = to[o.Needs[j].Path]
			}
			for j := range o.Keeps {
				o.Keeps[j].Path = to[o.Keeps[j].Path]
			}
		}
	}
	m, err1 := json.Marshal(a.Tasks)
	n, err2 := json.Marshal(b.Tasks)
	if err1 != nil || err2 != nil || !bytes.Equal(m, n) {
		t.Error("more than names changed")
	}
	if changed*3 < all {
		t.Errorf("%d of %d names changed", changed, all)
	}
}

// What a form is said to tell holds of everybody, and no two people who differ
// in it share a nickname.
func TestForms(t *testing.T) {
	p := Joint()
	for i := range Forms {
		f := &Forms[i]
		for k := range 600 {
			x := p.Person(lintSeed+1, k)
			s, facts := f.write(x)
			if s == "" || len(facts) == 0 {
				t.Fatalf("%v writes %q, which tells %v", f, s, facts)
			}
			for _, fact := range facts {
				if !x.Holds(fact) {
					t.Fatalf("%v writes %q for one born on %s: %v is false", f, s, x.Born.Format(day), fact)
				}
			}
			if f.Oblique {
				continue
			}
			got := Implied(Read(f.Field, s))
			for _, fact := range facts {
				if !slices.Contains(got, fact) {
					t.Fatalf("%v writes %q, which tells %v, and %v is read", f, s, fact, got)
				}
			}
		}
	}
	taken := map[string]bool{}
	for _, n := range slices.Concat(p.Givens, p.Surnames) {
		taken[n] = true
	}
	for _, g := range p.Givens {
		n := nicknames[g]
		if n == "" || taken[n] {
			t.Errorf("%s is called %q, as others are", g, n)
		}
		taken[n] = true
	}
	for _, s := range p.States {
		if stateNick[s] == "" {
			t.Errorf("%s has no other name", s)
		}
	}
}

// What is owed is no escape; more than that is.
func TestOwed(t *testing.T) {
	x := Joint().Person(lintSeed, 1)
	for _, c := range []struct {
		form string
		owed bool
	}{{"{dob:decade}", true}, {"{dob:age-words}", false}, {"{dob}", false}} {
		p := x.Part("a", "", true, FromUser, "I am "+c.form+", hello")
		task := &Task{Person: x, Steps: []Step{{Parts: []Part{p}, Needs: []Need{{"a", DOB, Decade}}}}}
		if got := task.Owed(0, 0, 0); got != c.owed {
			t.Errorf("%s is owed: %v", c.form, got)
		}
	}
}
