// Package library has the rubrics that come with Margay: twelve categories of
// tasks, from booking travel to sending messages, as texts to read, change and
// publish. They are in force only once the user's own key has signed them.
//
// A field means the same in all of them, population and levels, so that what
// one rubric showed of a value is not charged again under another: each field
// is declared once, in a vocabulary that the rubrics include.
// docs/rubric-library.md is generated from them; the format is in
// docs/format/rubric.md, and docs/rubrics.md says how to write one.
package library

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	text "text/template"
	"time"

	"github.com/margaydev/margay/rubric"
)

//go:generate go test -run ^TestPageIsUpToDate$ . -update

//go:embed rubrics/*.yaml vocabularies/*.yaml
var files embed.FS

// Prefix starts the names of the library's vocabularies in rubrics.
const Prefix = "margay/"

// ErrUnknown says that no rubric of the library has a name.
var ErrUnknown = errors.New("no such rubric in the library")

// File is the text of a rubric, or of a vocabulary.
type File struct {
	Name string // the category, or the vocabulary's name
	Text string // YAML
}

// All returns the rubrics, sorted by name.
func All() []File { return in("rubrics") }

// Vocabularies returns what the rubrics include, sorted by name.
func Vocabularies() []File { return in("vocabularies") }

func in(folder string) []File {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil // embedded files can be read
	}
	out := make([]File, 0, len(entries))
	for _, e := range entries {
		b, err := files.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			return nil
		}
		out = append(out, File{strings.TrimSuffix(e.Name(), ".yaml"), string(b)})
	}
	return out
}

// Rubric compiles a rubric of the library. Its errors wrap ErrUnknown where
// there is none of the name.
func Rubric(name string) (*rubric.Rubric, error) {
	b, err := files.ReadFile(path.Join("rubrics", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("%w: %q is none of %s", ErrUnknown, name, strings.Join(Names(), ", "))
	}
	return Parse(name+".yaml", b)
}

// Parse reads a rubric that may include the library's vocabularies.
func Parse(file string, b []byte) (*rubric.Rubric, error) { return rubric.ParseWith(file, b, Open) }

// Open reads a vocabulary of the library, as include.Open says.
func Open(file string) ([]byte, error) {
	name, ok := strings.CutPrefix(file, Prefix)
	b, err := files.ReadFile(path.Join("vocabularies", name))
	if !ok || err != nil {
		var known []string
		for _, v := range Vocabularies() {
			known = append(known, Prefix+v.Name+".yaml")
		}
		return nil, fmt.Errorf("no such vocabulary in the library, which has %s", strings.Join(known, ", "))
	}
	return b, nil
}

// Names returns the names of the rubrics, sorted.
func Names() []string {
	all := All()
	out := make([]string, len(all))
	for i := range all {
		out[i] = all[i].Name
	}
	return out
}

//go:embed starter/*.txt
var starters embed.FS

// StarterFields returns the fields that have starters, sorted: the usual names for
// what most rubrics are about.
func StarterFields() []string {
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

// Starter writes a rubric to start from. It is valid as it is; its author adapts
// the fields' populations, hierarchies and predicates. Fields are of the
// StarterFields, and the rubric shows them only as pseudonyms.
func Starter(name string, fields []string, now time.Time) (string, error) {
	if len(fields) == 0 {
		return "", errors.New("a rubric has at least one field")
	}
	var fs []starterField
	for _, f := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		b, err := starters.ReadFile("starter/" + f + ".txt")
		if err != nil || f == "head" {
			return "", fmt.Errorf("unknown field %q; fields with a starter are %s", f, strings.Join(StarterFields(), ", "))
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
