package world

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/lab/worlds"
)

// Setting is what the author of a world writes: categories of tasks, the tools
// that an agent uses in them, and the texts that it sends. It is read from
// files in the format of docs/format/world.md. It is not changed once it was
// read.
type Setting struct {
	Name, About string
	// Hash is the SHA-256 of all files of the world, with their names.
	Hash string

	categories []*category
	opening    []*tool
	everywhere []*tool
	slots      map[string][]string // of everywhere and opening
	at         place
}

// category is what trajectories of one category are made of: core tools are
// used each time, one of the coarse ones in four of five, spare ones besides.
type category struct {
	name, about         string
	requests            []string
	slots               map[string][]string
	core, coarse, spare []*tool
	at                  place
}

// tool is one tool with the sink that its calls go to.
type tool struct {
	name, sink string
	class      flow.Class
	channel    flow.Channel
	args       []*argument
	at         place
}

// argument is one argument of a tool. One of its names is drawn for each task.
type argument struct {
	names     []string
	field     Field // that the tool's schema gives it; empty for none
	free      bool
	from      Source
	templates []*template
	at        place
}

// template is one thing to say, in one or more wordings.
type template struct {
	say   []string
	needs []Need // without a path
	keeps []string
	at    place
}

// place is where something stands in a file.
type place struct {
	doc *yamldoc.Document
	at  []string
}

func (p place) in(keys ...string) place { return place{p.doc, append(slices.Clone(p.at), keys...)} }

// Mistake is what is wrong in a file, and what to do.
type Mistake struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   string `json:"text"`
}

func (m Mistake) String() string {
	if m.Line == 0 {
		return fmt.Sprintf("%s: %s", m.File, m.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", m.File, m.Line, m.Column, m.Text)
}

// mistake is one at a place.
func (p place) mistake(format string, args ...any) Mistake {
	file, line, column := p.doc.At(p.at...)
	return Mistake{file, line, column, fmt.Sprintf(format, args...)}
}

// Bounds of a world's files.
const (
	mostFiles = 64
	mostBytes = 256 << 10 // of one file
)

// ErrMistakes says that a world's files have mistakes.
var ErrMistakes = errors.New("the world has mistakes; margay-lab world lint lists them all")

var dev = sync.OnceValue(func() *Setting {
	s, bad := Parse(worlds.Dev())
	if len(bad) > 0 {
		panic("world: worlds/dev can't be read: " + bad[0].String())
	}
	return s
})

// Dev is the world that defences and adversaries are developed on.
func Dev() *Setting { return dev() }

// Open reads a world and holds it to all that makes a trajectory fail to be
// drawn. Lint says more.
func Open(files fs.FS) (*Setting, error) {
	s, bad := Parse(files)
	if len(bad) > 0 {
		return nil, fmt.Errorf("%w; the first: %v", ErrMistakes, bad[0])
	}
	return s, nil
}

// Parse reads the files of a folder that end in .yaml: world.yaml and one for
// each category. Where there are mistakes, the setting can't be used.
func Parse(files fs.FS) (*Setting, []Mistake) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil || len(names) == 0 {
		return nil, []Mistake{{File: ".", Text: "there are no .yaml files here; give the folder of a world"}}
	}
	if len(names) > mostFiles {
		return nil, []Mistake{{File: ".", Text: fmt.Sprintf("there are %d files; a world has at most %d", len(names), mostFiles)}}
	}
	slices.Sort(names)
	s, r := &Setting{}, &reading{}
	sum := sha256.New()
	common := false
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			r.bad = append(r.bad, Mistake{File: name, Text: "it can't be read: " + err.Error()})
			continue
		}
		fmt.Fprintf(sum, "%s\x00%d\x00", name, len(b))
		sum.Write(b)
		doc, err := yamldoc.Read(name, b, mostBytes, "a file of a world", formatVersion)
		if err != nil {
			r.document(name, err)
			continue
		}
		root := r.root(doc)
		if name == commonFile {
			common = true
			r.common(s, root)
		} else if c := r.category(root); c != nil {
			s.categories = append(s.categories, c)
			if c.name != "" && c.name+".yaml" != path.Base(name) {
				r.bad = append(r.bad, root.place.in("category").mistake("the category is %s: name the file %s.yaml", c.name, c.name))
			}
		}
	}
	s.Hash = hex.EncodeToString(sum.Sum(nil))
	if !common {
		r.bad = append(r.bad, Mistake{File: commonFile, Text: "it is missing; it holds the world's name and the tools of all categories"})
	}
	if len(s.categories) == 0 && len(r.bad) == 0 {
		r.bad = append(r.bad, Mistake{File: ".", Text: "there is no category; write one file for each"})
	}
	if len(r.bad) == 0 {
		r.whole(s)
	}
	r.sort()
	return s, r.bad
}

const (
	commonFile    = "world.yaml"
	formatVersion = 1
)

// Categories are the names of the categories, in order.
func (s *Setting) Categories() []string {
	var out []string
	for _, c := range s.categories {
		out = append(out, c.name)
	}
	return out
}

// String is the world's name and hash, as sources of results have them.
func (s *Setting) String() string { return fmt.Sprintf("world %s (SHA-256 %s)", s.Name, s.Hash) }

// each calls f with every tool, and the slots that its texts may use.
func (s *Setting) each(f func(t *tool, slots map[string][]string, section string)) {
	for _, t := range s.opening {
		f(t, s.slots, "opening")
	}
	for _, t := range s.everywhere {
		f(t, s.slots, "everywhere")
	}
	for _, c := range s.categories {
		for _, t := range c.core {
			f(t, c.slots, "core")
		}
		for _, t := range c.coarse {
			f(t, c.slots, "coarse")
		}
		for _, t := range c.spare {
			f(t, c.slots, "spare")
		}
	}
}

// pieces are the forms and slots of a template, in order, and the words
// between them.
type pieces struct {
	forms []*Form
	slots []string
	words string
}

// cut takes a template apart. It is an error where it can't be written.
func cut(template string) (pieces, error) {
	var out pieces
	var b strings.Builder
	err := scan(template, func(words string) { b.WriteString(words) }, func(name string) error {
		b.WriteByte(0)
		switch name[0] {
		case '@':
			out.slots = append(out.slots, name[1:])
		case '~':
			if !slices.ContainsFunc(cueNames, func(c [2]string) bool { return c[0] == name[1:] }) {
				return fmt.Errorf("{%s} is no cue; cues are {~job}, {~ill} and {~region}", name)
			}
		default:
			field, form, _ := strings.Cut(name, ":")
			f := formOf(Field(field), form)
			if f == nil {
				return fmt.Errorf("{%s} is no form; %s", name, formsOf(field))
			}
			out.forms = append(out.forms, f)
		}
		return nil
	})
	out.words = b.String()
	return out, err
}

// formsOf lists the forms of a field for people.
func formsOf(field string) string {
	if !slices.Contains(Fields, Field(field)) {
		var all []string
		for _, f := range Fields {
			all = append(all, string(f))
		}
		return "fields are " + strings.Join(all, ", ")
	}
	var out []string
	for i := range Forms {
		if Forms[i].Field == Field(field) {
			out = append(out, Forms[i].String())
		}
	}
	return "forms of this field are " + strings.Join(out, ", ")
}
