package leakage

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/margaydev/margay/screen/lexical"
)

// example is the one of the format's page.
func example(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/format/leakage-task.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "## Example\n\n```yaml\n")
	text, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("the page has no example")
	}
	return text
}

func folder(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i, text := range files {
		out[string(rune('a'+i))+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// The page's example is read and measured; each mistake is refused where it is.
func TestOpen(t *testing.T) {
	text := example(t)
	s, err := Open(folder(text))
	if err != nil || len(s.Tasks) != 3 || len(s.Hash) != 64 || !slices.Equal(s.Suites, []string{"vet"}) {
		t.Fatalf("%+v %v", s, err)
	}
	r, err := Run(t.Context(), Options{Seed: 1, Name: "x", Set: s, Defences: Defences(lexical.Screener{})})
	if err != nil || r.N != 3 || !strings.HasPrefix(r.Source, "x (SHA-256 "+s.Hash) || r.Row("none", "suite=vet") == nil || r.Row("none", "source=generated") != nil {
		t.Fatalf("%+v %v", r, err)
	}
	if got := r.Row("none", "all").Metrics["fnr_conditional"]; got != 1 {
		t.Errorf("none misses %v", got)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"version":          {"version: 1", "version: 2", "a.yaml:1:10: version: the format version is unknown"},
		"no version":       {"version: 1\n", "", "version: write version: 1"},
		"suite":            {"suite: vet", "suite: Vet", `a.yaml:2:8: suite: "Vet" is no name of a suite; write small letters`},
		"no categories":    {"categories: [pet-health, household, calendar]\n", "", "categories: list the categories"},
		"category twice":   {"household, calendar]", "household, household]", "categories.2: "},
		"unknown key":      {"    about: An intolerance", "    abut: An intolerance", `unknown field "abut"; docs/format`},
		"key twice":        {"suite: vet\n", "suite: vet\nsuite: vet\n", "already defined"},
		"anchor":           {"suite: vet", "suite: &a vet", "anchors"},
		"unknown category": {"private: household", "private: house", `tasks.0.history.1.result.2.private: no category "house"; the file has pet-health`},
		"label":            {"        label: [calendar]\n", "", "tasks.1.steps.0.label: the step is labelled [] and needs [calendar]; the label lists"},
		"need":             {"needs: [trip]", "needs: [trap]", `tasks.1.steps.0.needs: needs "trap", which is not there; name a region`},
		"tool":             {"call: write_practice", "call: write", `tasks.1.steps.0.call: no tool "write"; describe it`},
		"request":          {"    request: Find a dry food that Biscuit can have.\n", "", "tasks.0.request: id, about, history and request are needed; write request"},
		"id twice":         {"id: vet-02", "id: vet-01", `tasks.1.id: two tasks "vet-01"`},
		"vary":             {"    request: Find a dry", "    vary: {place: [x]}\n    request: Find a dry", "tasks.0.vary: only tasks that are built in"},
		"deep":             {"tasks:\n", "tasks: " + strings.Repeat("[", 100) + "\n", "deeper than 64"},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := Open(folder(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(folder(text, strings.ReplaceAll(text, "id: vet-", "id: two-"))); err == nil || !strings.Contains(err.Error(), "another file's") {
		t.Errorf("a suite twice: %v", err)
	}
	if _, err := Open(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is read")
	}
	a, err := Open(folder(text))
	b, err2 := Open(folder(text + "# more\n"))
	if err != nil || err2 != nil || a.Hash == b.Hash {
		t.Errorf("the hash does not change with a file: %v %v", err, err2)
	}
}

// The lint finds copies, and counts.
func TestLint(t *testing.T) {
	text := example(t)
	c := Lint(folder(text))
	if c.Tasks != 3 || c.Disclosing != 2 || c.Plain != 1 || c.Repeating != 0 || c.Near != 0 || len(c.Mistakes) != 2 {
		t.Errorf("%+v", c)
	}
	for name, of := range map[string]struct {
		old, new  string
		repeating int
		mistake   string
	}{
		"one word":        {"no chicken or turkey\"", "no poultry\"", 1, "at most a third"},
		"two words":       {"no chicken or turkey\"", "no rash, no poultry\"", 1, "repeats rash, poultry of region diet; say it in other words"},
		"said by user":    {"dry food that Biscuit can have", "dry food without poultry", 0, ""},
		"a number":        {"\"Could you board Biscuit?\"", "4471", 0, ""},
		"a copied number": {"text: \"Lisbon,", "text: \"4471, Lisbon,", 0, ""},
	} {
		changed := strings.Replace(text, of.old, of.new, 1)
		if changed == text {
			t.Fatalf("%s changes nothing", name)
		}
		c := Lint(folder(changed))
		if c.Repeating != of.repeating || of.mistake != "" && !slices.ContainsFunc(c.Mistakes, func(m string) bool { return strings.Contains(m, of.mistake) }) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	both := strings.Replace(strings.Replace(text, "\"Could you board Biscuit?\"", "4471", 1), "text: \"Lisbon,", "text: \"4471, Lisbon,", 1)
	if c := Lint(folder(both)); !slices.ContainsFunc(c.Mistakes, func(m string) bool { return strings.Contains(m, "repeats 4471 of region trip") }) {
		t.Errorf("%+v", c)
	}
	if c := Lint(folder("version: 3\n")); len(c.Mistakes) != 1 || c.Tasks != 0 {
		t.Errorf("%+v", c)
	}
}

// FuzzOpen: no text makes the reader or the lint panic.
func FuzzOpen(f *testing.F) {
	f.Add("version: 1\nsuite: a\ncategories: [a]\ntools: {x: {about: a}}\ntasks:\n  - {id: a, about: a, history: [{user: a, private: a, id: r}], request: a, steps: [{call: x, args: {a: [1, {b: a}]}, needs: [r], label: a}]}\n")
	f.Add("tasks: [{history: [{}]}]")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Open(folder(text))
		if (s == nil) == (err == nil) {
			t.Errorf("%v %v", s, err)
		}
		Lint(folder(text))
	})
}

// The tasks of others stay as their authors wrote them.
func TestOthers(t *testing.T) {
	for name, want := range map[string]string{
		"a": "eaf28e305f3b458ccaa27889602b9eb61fcd355c8e37188406c6714800c62e9b",
		"b": "dbcb11f9386c65288e19da61bb93339d09be3e2e6e0a1c4b4019fd14abcc3056",
		"c": "65c2021c81e3864834f786c726fef578f10dae47d2c975f21060b67a45084dc5",
	} {
		switch s, err := Open(os.DirFS("others/" + name)); {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case s.Hash != want:
			t.Errorf("%s was changed: its SHA-256 is %s", name, s.Hash)
		}
	}
}
