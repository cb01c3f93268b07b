package world

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

//go:generate go test -run ^TestPageIsUpToDate$ . -update

var update = flag.Bool("update", false, "write the tables of docs/format/world.md")

const pageFile = "../../../docs/format/world.md"

// met are the levels of a form's field that it tells of everybody.
func met(f *Form) string {
	p := Joint()
	var out []string
	for _, l := range Levels(f.Field) {
		ok := true
		for i := range 400 {
			x := p.Person(lintSeed, i)
			_, facts := f.write(x)
			ok = ok && x.Meets(Need{Field: f.Field, Level: l}, facts)
		}
		if ok {
			out = append(out, "`"+string(l)+"`")
		}
	}
	return strings.Join(out, ", ")
}

// example shortens what looks like a key: scanners of repositories look for it.
func example(f *Form, x *Person) string {
	s := strings.ReplaceAll(f.Write(x), "\n", " ⏎ ")
	switch f.Field { //nolint:exhaustive // the others are shown
	case APIKey, PrivateKey:
		s = regexp.MustCompile(`[A-Za-z0-9]{10,}`).ReplaceAllStringFunc(s, func(v string) string { return v[:4] + "…" })
	}
	return strings.ReplaceAll(s, "PRIVATE KEY", "…")
}

func formTable() string {
	x := Joint().Person(lintSeed, 4)
	var b strings.Builder
	b.WriteString("| form | example | oblique | levels |\n|---|---|---|---|\n")
	for i := range Forms {
		f := &Forms[i]
		oblique := ""
		if f.Oblique {
			oblique = "yes"
		}
		fmt.Fprintf(&b, "| `%v` | %s | %s | %s |\n", f, example(f, x), oblique, met(f))
	}
	return b.String()
}

func levelTable() string {
	means := map[Level]string{
		Whole: "the value itself", Year: "the year of birth", Decade: "the decade of birth, or an age within ten years", CityOf: "the city", StateOf: "the state or province",
		RegionOf: "the part of the country", Country: "the country", Kindred: "the kind of illness, such as circulatory", Band: "an amount within 25,000 dollars",
		Brand: "the card's brand", Domain: "the mail's domain",
	}
	var b strings.Builder
	b.WriteString("| field | what it is | levels |\n|---|---|---|\n")
	about := map[Field]string{
		LegalName: "given name and surname", DOB: "day of birth", PaymentToken: "number of a card", Diagnosis: "an illness", Address: "home", Phone: "telephone", Email: "address of mail",
		AccountID: "number of an account", NationalID: "social security number", Passport: "passport's number", APIKey: "key of a service", Password: "a password", PrivateKey: "a signing key",
		Salary: "yearly pay in dollars", Location: "where the person is now",
	}
	for _, f := range Fields {
		var out []string
		for _, l := range Levels(f) {
			out = append(out, fmt.Sprintf("`%s` (%s)", l, means[l]))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f, about[f], strings.Join(out, ", "))
	}
	return b.String()
}

func fill(page, name, table string) string {
	begin, end := "<!-- "+name+":", "<!-- /"+name+" -->"
	before, rest, _ := strings.Cut(page, begin)
	mark, rest, _ := strings.Cut(rest, "\n")
	_, after, _ := strings.Cut(rest, end)
	return before + begin + mark + "\n" + table + end + after
}

func TestPageIsUpToDate(t *testing.T) {
	b, err := os.ReadFile(filepath.Clean(pageFile))
	if err != nil {
		t.Fatal(err)
	}
	want := fill(fill(string(b), "forms", formTable()), "levels", levelTable())
	if *update {
		if err := os.WriteFile(pageFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(b) != want {
		t.Error("docs/format/world.md has old tables: go generate ./traj/world")
	}
}

// The page's example is a world that can be read.
func TestExample(t *testing.T) {
	b, err := os.ReadFile(filepath.Clean(pageFile))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	_, rest, _ := strings.Cut(string(b), "## A small world")
	for _, name := range []string{"world.yaml", "customer-support.yaml"} {
		_, rest, _ = strings.Cut(rest, "`"+name+"`:")
		_, text, _ := strings.Cut(rest, "```yaml\n")
		text, rest, _ = strings.Cut(text, "```")
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, bad := Parse(files)
	for _, m := range bad {
		t.Error(m)
	}
	if len(bad) == 0 && len(s.Generate(1, 20).Tasks) != 20 {
		t.Error("it draws nothing")
	}
	// Lint asks for more of it for its size alone.
	for _, m := range Lint(files, 1).Mistakes {
		if !strings.Contains(m.Text, "fewer than eight tools") && !strings.Contains(m.Text, "oblique forms") {
			t.Error(m)
		}
	}
}
