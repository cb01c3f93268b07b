// Package library has the rubrics that come with Margay: twelve categories of
// tasks, from booking travel to sending messages, as texts to read, change and
// publish. They are in force only once the user's own key has signed them.
//
// A field of the ontology is declared alike in all of them, population and
// levels, so that what was shown of a value under one can be set off under
// another. docs/rubric-library.md is written from them; the format is in
// docs/format/rubric.md, and docs/rubrics.md says how to write one.
package library

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/margaydev/margay/rubric"
)

//go:generate go test -run ^TestPageIsUpToDate$ . -update

//go:embed rubrics/*.yaml
var files embed.FS

// ErrUnknown says that no rubric of the library has a name.
var ErrUnknown = errors.New("no such rubric in the library")

// File is a rubric's text.
type File struct {
	Name string // the category
	Text string // YAML
}

// All returns the rubrics, sorted by name.
func All() []File {
	entries, err := files.ReadDir("rubrics")
	if err != nil {
		return nil // what is embedded can be read
	}
	out := make([]File, 0, len(entries))
	for _, e := range entries {
		b, err := files.ReadFile(path.Join("rubrics", e.Name()))
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
	return rubric.Parse(name+".yaml", b)
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
