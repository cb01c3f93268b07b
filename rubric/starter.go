package rubric

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	text "text/template"
	"time"
)

//go:embed starter/*.txt
var starters embed.FS

// Ontology returns the fields that starters are there for, sorted: the names
// that rubrics have for what most of them are about.
func Ontology() []string {
	entries, err := starters.ReadDir("starter")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".txt"); name != "head" {
			out = append(out, name)
		}
	}
	return out
}

type starterField struct {
	Name, Decl, Coverage, Samples string
}

// Starter writes a rubric to begin with: in order as it is, with the fields'
// populations, hierarchies and predicates to be made the author's own. Fields
// are of the Ontology; the rubric shows them to nobody but by pseudonym.
func Starter(name string, fields []string, now time.Time) (string, error) {
	if len(fields) == 0 {
		return "", errors.New("a rubric has at least one field")
	}
	var fs []starterField
	for _, f := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		b, err := starters.ReadFile("starter/" + f + ".txt")
		if err != nil || f == "head" {
			return "", fmt.Errorf("there is nothing to start the field %q with: there is %s", f, strings.Join(Ontology(), ", "))
		}
		decl, rest, _ := strings.Cut(string(b), "== coverage\n")
		coverage, samples, _ := strings.Cut(rest, "== samples\n")
		fs = append(fs, starterField{f, decl, coverage, samples})
	}
	outline, err := starters.ReadFile("starter/head.txt")
	if err != nil {
		return "", err
	}
	t, err := text.New("").Parse(string(outline))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, map[string]any{"Name": name, "Expires": now.AddDate(2, 0, 0).Format(time.DateOnly), "Fields": fs})
	return b.String(), err
}
