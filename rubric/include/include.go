// Package include inserts the vocabularies that a rubric includes.
//
// A vocabulary is a YAML file that declares secret fields once for many
// rubrics: their populations and levels, the clauses that find them, tables
// of dependent fields, and samples. A rubric names each file and pins it by
// the SHA-256 of its bytes. [Expand] returns the rubric with all of this in
// place. The expanded rubric is compiled, hashed and signed: a signed rubric
// holds every byte that it relies on, and nobody needs the files to verify
// it.
//
// A vocabulary includes nothing itself. A file that is missing, has another
// hash, or does not fit the rubric is an error with a position; no part of a
// vocabulary is left out silently. The format is in docs/format/rubric.md.
package include

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/internal/yamldoc"
)

// Version is the only format version of vocabularies that this program reads.
const Version = 1

// Rest is the name for all vocabularies that a list does not place.
const Rest = "rest"

// Open returns the bytes of a file by the name that a rubric gives it: a
// slash-separated path that leads down from where the rubric is. It must bound
// what it reads.
type Open func(file string) ([]byte, error)

//go:embed schema.json
var schemaText []byte

var (
	head       = yamldoc.NewSchema(schemaText)
	vocabulary = yamldoc.NewSchema(bytes.Replace(schemaText, []byte("#/$defs/head"), []byte("#/$defs/vocabulary"), 1))
)

// inclusion is an item of a rubric's list of includes.
type inclusion struct {
	File   string   `json:"file"`
	SHA256 string   `json:"sha256"`
	Fields []string `json:"fields"` // those that are taken; all where it is empty
}

// file is a vocabulary that was read.
type file struct {
	*yamldoc.Document

	name  string
	doc   map[string]any
	takes map[string]bool // fields
}

// place is where a part of the expansion is from.
type place struct {
	doc *yamldoc.Document
	at  []string
}

// expansion is a rubric that is being put together.
type expansion struct {
	own   *yamldoc.Document
	doc   map[string]any
	files []*file
	from  map[string]place // by section, and key or index
}

// Expand returns the rubric with what it includes written out, or the rubric
// itself where it includes nothing. Mistakes in the result have the positions
// of the file that they are in. A rubric and its vocabularies have at most max
// bytes together. Errors are of type *yamldoc.Error.
func Expand(rubric *yamldoc.Document, max int, open Open) (*yamldoc.Document, error) {
	x := &expansion{own: rubric, from: map[string]place{}}
	if err := yamldoc.Unmarshal(rubric.JSON, &x.doc); err != nil || x.doc["include"] == nil {
		return rubric, nil //nolint:nilerr // the schema refuses what is not an object
	}
	if err := rubric.Check(head); err != nil {
		return nil, err
	}
	var list struct{ Include []inclusion }
	if err := rubric.Decode(&list); err != nil {
		return nil, err
	}
	left := max - len(rubric.JSON)
	for i, inc := range list.Include {
		f, size, err := read(inc, left, open)
		if err == nil && slices.ContainsFunc(x.files, func(o *file) bool { return o.name == f.name }) {
			err = fmt.Errorf("the vocabulary %s is included twice", f.name)
		}
		if err != nil {
			return nil, x.fail(fmt.Errorf("%s: %w", inc.File, err), "include", strconv.Itoa(i))
		}
		x.files = append(x.files, f)
		left -= size
	}
	delete(x.doc, "include")
	for _, step := range []func() error{x.fields, x.coverage, x.dependencies, x.samples} {
		if err := step(); err != nil {
			return nil, x.fail(err)
		}
	}
	b, err := json.Marshal(x.doc)
	if err != nil {
		return nil, rubric.Place(err)
	}
	return yamldoc.Composed(rubric.File, b, x.origin), nil
}

// fail places a mistake in the rubric, where it has no place in a vocabulary.
func (x *expansion) fail(err error, at ...string) error {
	var inside *yamldoc.Error
	if errors.As(err, &inside) {
		return inside
	}
	return x.own.Place(yamldoc.Where(err, at...))
}

// read reads a vocabulary, and returns its size. What is wrong inside of it is
// a *yamldoc.Error.
func read(inc inclusion, left int, open Open) (*file, int, error) {
	if open == nil {
		return nil, 0, errors.New("files can't be included here")
	}
	if !fs.ValidPath(inc.File) || inc.File == "." || strings.ContainsAny(inc.File, `\:`) {
		return nil, 0, errors.New("the name of an included file is a path down from the rubric's folder, with slashes, and never up")
	}
	b, err := open(inc.File)
	if err != nil {
		return nil, 0, err
	}
	if len(b) > left {
		return nil, 0, errors.New("the rubric and what it includes are too large together")
	}
	sum := sha256.Sum256(b)
	switch is := hex.EncodeToString(sum[:]); {
	case inc.SHA256 == "":
		return nil, 0, fmt.Errorf("its hash is missing: read the file, then write sha256: %s", is)
	case inc.SHA256 != is:
		return nil, 0, fmt.Errorf("the file is not the one that the rubric pins: read what changed, then write sha256: %s", is)
	}
	d, err := yamldoc.Read(inc.File, b, left, "a vocabulary", Version)
	if err != nil {
		return nil, 0, err
	}
	f := &file{Document: d, takes: map[string]bool{}}
	if err := yamldoc.Unmarshal(d.JSON, &f.doc); err == nil && f.doc["include"] != nil {
		return nil, 0, d.Place(yamldoc.Where(errors.New("a vocabulary includes nothing itself: let the rubric include both"), "include"))
	}
	if err := d.Check(vocabulary); err != nil {
		return nil, 0, err
	}
	f.name, _ = f.doc["vocabulary"].(string)
	if f.name == Rest {
		return nil, 0, d.Place(yamldoc.Where(fmt.Errorf("%s is reserved: give the vocabulary another name", Rest), "vocabulary"))
	}
	declared, _ := f.doc["fields"].(map[string]any)
	for _, name := range inc.Fields {
		if declared[name] == nil {
			return nil, 0, fmt.Errorf("it has no field %q", name)
		}
	}
	for name := range declared {
		f.takes[name] = len(inc.Fields) == 0 || slices.Contains(inc.Fields, name)
	}
	return f, len(b), nil
}

// fields puts the fields that are taken beside the rubric's own.
func (x *expansion) fields() error {
	all, ok := x.doc["fields"].(map[string]any)
	if x.doc["fields"] == nil {
		all = map[string]any{}
	} else if !ok {
		return nil // the schema refuses it
	}
	for _, f := range x.files {
		declared, _ := f.doc["fields"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(f.takes)) {
			if !f.takes[name] {
				continue
			}
			if all[name] != nil {
				return yamldoc.Where(fmt.Errorf("%s declares the field %s, and so does something else in the rubric: say in the include which fields to take", f.File, name), "include")
			}
			all[name] = declared[name]
			x.from["fields."+name] = place{f.Document, []string{"fields", name}}
		}
	}
	x.doc["fields"] = all
	return nil
}

// has reports whether the rubric has a field, after fields.
func (x *expansion) has(name string) bool {
	all, _ := x.doc["fields"].(map[string]any)
	return all[name] != nil
}

// coverage takes the clauses of fields that are taken.
func (x *expansion) coverage() error {
	for _, f := range x.files {
		for i, c := range list(f.doc["coverage"]) {
			if _, ok := f.takes[text(c, "field")]; !ok {
				return f.Place(yamldoc.Where(fmt.Errorf("the vocabulary declares no field %q", text(c, "field")), "coverage", strconv.Itoa(i), "field"))
			}
		}
	}
	return x.join("coverage", func(f *file, item any) bool { return f.takes[text(item, "field")] })
}

// dependencies takes the tables whose fields the rubric has, whichever file
// declares them: without one, what it declares would cost too little.
func (x *expansion) dependencies() error {
	return x.join("dependencies", func(_ *file, item any) bool {
		m, _ := item.(map[string]any)
		for _, b := range list(m["between"]) {
			s, _ := b.(string)
			if name, _, _ := strings.Cut(s, "@"); !x.has(name) {
				return false
			}
		}
		return true
	})
}

// samples takes those whose fields the rubric has, and texts in which nothing
// is found.
func (x *expansion) samples() error {
	return x.join("samples", func(_ *file, item any) bool {
		m, _ := item.(map[string]any)
		if name, ok := m["field"].(string); ok {
			return x.has(name)
		}
		find, _ := m["find"].(map[string]any)
		for name := range find {
			if !x.has(name) {
				return false
			}
		}
		return true
	})
}

// join puts the items of a list that are taken where the rubric's own list has
// {include: NAME}; what no such item places comes where {include: rest} is, or
// first.
func (x *expansion) join(section string, take func(f *file, item any) bool) error {
	own, ok := x.doc[section].([]any)
	if x.doc[section] != nil && !ok {
		return nil // the schema refuses it
	}
	marks := make([]*mark, len(own))
	placed := map[string]bool{}
	for i, item := range own {
		m, err := markOf(item, section)
		if err == nil && m != nil && placed[m.name] {
			err = fmt.Errorf("%s is placed twice", m.name)
		}
		if err == nil && m != nil && m.name != Rest && !slices.ContainsFunc(x.files, func(f *file) bool { return f.name == m.name }) {
			err = fmt.Errorf("no vocabulary %q is included", m.name)
		}
		if err != nil {
			return yamldoc.Where(err, section, strconv.Itoa(i))
		}
		if m != nil {
			marks[i], placed[m.name] = m, true
		}
	}
	out := []any{}
	put := func(item any, from *yamldoc.Document, i int) {
		x.from[section+"."+strconv.Itoa(len(out))] = place{from, []string{section, strconv.Itoa(i)}}
		out = append(out, item)
	}
	// The items of a vocabulary, or of all that no mark places, without those
	// that are left out.
	add := func(name string, except map[string]bool) {
		for _, f := range x.files {
			if f.name != name && (name != Rest || placed[f.name]) {
				continue
			}
			for i, item := range list(f.doc[section]) {
				switch id := text(item, "id"); {
				case !take(f, item):
				case except[id]:
					except[id] = false
				default:
					put(item, f.Document, i)
				}
			}
		}
	}
	if !placed[Rest] {
		add(Rest, nil)
	}
	for i, item := range own {
		if marks[i] == nil {
			put(item, x.own, i)
			continue
		}
		left := map[string]bool{}
		for _, id := range marks[i].except {
			left[id] = true
		}
		add(marks[i].name, left)
		for id, still := range left {
			if still {
				return yamldoc.Where(fmt.Errorf("there is no clause %q to leave out", id), section, strconv.Itoa(i), "except")
			}
		}
	}
	if len(out) > 0 {
		x.doc[section] = out
	}
	return nil
}

// mark is an item of a list that marks the place of a vocabulary's items.
type mark struct {
	name   string
	except []string // clauses that are left out
}

// markOf is nil for all other items.
func markOf(item any, section string) (*mark, error) {
	m, _ := item.(map[string]any)
	if m["include"] == nil {
		return nil, nil
	}
	out := &mark{name: text(m, "include")}
	for key, v := range m {
		switch {
		case key == "include" && out.name != "":
		case key == "except" && section == "coverage" && len(list(v)) > 0:
			for _, id := range list(v) {
				s, _ := id.(string)
				out.except = append(out.except, s)
			}
		default:
			return nil, errors.New("what is included is written {include: NAME}; in coverage, {include: NAME, except: [CLAUSE]}")
		}
	}
	return out, nil
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func text(v any, key string) string {
	m, _ := v.(map[string]any)
	s, _ := m[key].(string)
	return s
}

// origin is where a place of the expansion is from.
func (x *expansion) origin(at []string) (*yamldoc.Document, []string) {
	if len(at) < 2 {
		return x.own, at
	}
	if p, ok := x.from[at[0]+"."+at[1]]; ok {
		return p.doc, slices.Concat(p.at, at[2:])
	}
	return x.own, at
}
