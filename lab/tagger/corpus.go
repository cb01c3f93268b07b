package tagger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// The slices of the corpus. The first four hold something private.
const (
	Nominal   = "nominal"
	Omission  = "omission"
	Injection = "injection"
	Shift     = "shift"
	Benign    = "benign" // templates with nothing private
	Decoy     = "decoy"  // of these, beside what an injection says
	Source    = "source" // Go's standard library
	Prose     = "prose"  // its comments
	Tables    = "tables" // of Unicode
)

// weights of slices: the paper's (SFT data) of what is private, and as much again of
// what is not.
var weights = []struct {
	slice string
	per   int // of 10,000
}{{Nominal, 1100}, {Omission, 1750}, {Injection, 1000}, {Shift, 900}, {Benign, 2400}, {Decoy, 350}, {Source, 900}, {Prose, 500}, {Tables, 200}, {World, 900}}

// Corpus makes texts from seeds.
type Corpus struct {
	*Grammar
	byKey map[string][]*Template // by part, category and slice
	cats  [parts][]string        // one for each private template
	code  [parts][]string        // contents of source files
	table [parts][]string
	world []Text
	Left  int    // templates that the fold leaves out
	Hash  string // of the templates, lists and sources, and what the fold leaves out
	Go    string
}

const maxSource = 60_000 // bytes of a source file that are read

// NewCorpus reads templates and sources.
func NewCorpus(fold string) (*Corpus, error) {
	g, err := NewGrammar(fold)
	if err != nil {
		return nil, err
	}
	c := &Corpus{Grammar: g, byKey: map[string][]*Template{}, Go: runtime.Version()}
	for i := range g.templates {
		t := &g.templates[i]
		for _, slice := range []string{t.Slice, "*" + t.Slice} {
			key := key(t.Part, t.Category, slice)
			if slice[0] == '*' { // of any category
				key = c.any(t.Part, t.Slice)
			}
			c.byKey[key] = append(c.byKey[key], t)
		}
		if t.Slice != Benign { // a category is drawn as often as it has templates
			c.cats[t.Part] = append(c.cats[t.Part], t.Category)
		}
		if t.Left { // measured as if it were one category
			c.byKey[key(Test, leftOut, t.Slice)] = append(c.byKey[key(Test, leftOut, t.Slice)], t)
		}
	}
	h := sha256.New()
	c.left(h)
	if err := c.sources(filepath.Join(build.Default.GOROOT, "src"), func(path string, b []byte) {
		fmt.Fprintf(h, "%s %x\n", path, sha256.Sum256(b))
	}); err != nil {
		return nil, err
	}
	c.world = worldTexts(c.without)
	for i := range c.world {
		fmt.Fprintln(h, c.world[i].Text)
	}
	if err := fs.WalkDir(data, "data", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := data.ReadFile(path)
		_, _ = h.Write(b)
		return err
	}); err != nil {
		return nil, err
	}
	c.Hash = hex.EncodeToString(h.Sum(nil))
	return c, nil
}

// leftOut is the category of all that a fold leaves out.
const leftOut = "left out"

// left makes what a fold leaves out part of the hash.
func (c *Corpus) left(h io.Writer) {
	for i := range c.templates {
		if t := &c.templates[i]; t.Left {
			fmt.Fprintln(h, t.Category, t.Slice, t.Text)
			c.Left++
		}
	}
	if c.without != nil {
		for _, name := range slices.Sorted(maps.Keys(c.lists)) {
			fmt.Fprintln(h, name, c.lists[name])
		}
	}
}

func key(p Part, category, slice string) string { return fmt.Sprint(p, " ", category, " ", slice) }

func (c *Corpus) any(p Part, slice string) string { return key(p, "", slice) }

// sources reads the Go files under a folder, split by package folder.
func (c *Corpus) sources(dir string, each func(string, []byte)) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b = b[:min(len(b), maxSource)]
		if !utf8.Valid(b) {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		each(rel, b)
		p := partOf(filepath.ToSlash(filepath.Dir(rel)))
		if strings.HasSuffix(path, "tables.go") || bytes.Count(b, []byte("0x")) > len(b)/40 {
			c.table[p] = append(c.table[p], string(b))
		} else {
			c.code[p] = append(c.code[p], string(b))
		}
		return nil
	})
	if err == nil && slices.ContainsFunc(append(c.code[:], c.table[:]...), func(s []string) bool { return len(s) == 0 }) {
		return fmt.Errorf("%s: too few Go files", dir)
	}
	return err
}

// Draw makes the text of a part with a number, always the same.
func (c *Corpus) Draw(part Part, seed, number uint64) (Text, error) {
	r := rand.New(rand.NewPCG(seed<<8|uint64(part), number))
	x := r.IntN(10_000)
	for _, w := range weights {
		if x -= w.per; x < 0 {
			return c.draw(part, w.slice, "", r)
		}
	}
	return c.draw(part, Benign, "", r)
}

// DrawOf makes a text of one slice, with private sentences of one category or, if it
// is empty, of any.
func (c *Corpus) DrawOf(part Part, slice, category string, seed, number uint64) (Text, error) {
	return c.draw(part, slice, category, rand.New(rand.NewPCG(seed<<8|uint64(part)|1<<60, number)))
}

func (c *Corpus) draw(part Part, slice, category string, r *rand.Rand) (Text, error) {
	if slice == World && part != Train { // nothing is held to it
		slice = Benign
	}
	switch slice {
	case World:
		t := c.world[r.IntN(len(c.world))]
		if r.IntN(2) == 0 {
			t = t.masked(r)
		}
		return t, nil
	case Source:
		return Text{Text: window(c.code[part], r, 12, func(string) bool { return true }), Slice: slice}, nil
	case Prose:
		s := window(c.code[part], r, 40, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "// ") })
		return Text{Text: strings.ReplaceAll(strings.ReplaceAll(s, "\t", ""), "// ", ""), Slice: slice}, nil
	case Tables:
		return Text{Text: window(c.table[part], r, 6, func(string) bool { return true }), Slice: slice}, nil
	}
	w := &writer{Grammar: c.Grammar, r: r, part: part, female: r.IntN(2) == 0}
	w.compose(c, slice, category)
	t := Text{Text: w.b.String(), Slice: slice, spans: w.spans}
	if len(t.spans) > 0 && r.IntN(4) == 0 {
		t = t.masked(r)
	}
	x := r.IntN(100)
	if slice == Shift {
		x /= 3
	}
	switch {
	case x < 9:
		t = t.lower()
	case x < 14:
		t = t.mistyped(r)
	case x < 16:
		t = t.upper()
	case x < 19:
		t = t.lower().mistyped(r)
	}
	return t, w.err
}

// window is some lines of a file that keep keeps, without those that may hold
// an address, a name of a person or a number of one.
func window(files []string, r *rand.Rand, most int, keep func(string) bool) string {
	for range 20 {
		lines := strings.Split(files[r.IntN(len(files))], "\n")
		at := r.IntN(len(lines))
		var out []string
		for _, l := range lines[at:min(len(lines), at+1+r.IntN(most))] {
			if keep(l) && !named(l) && len(l) < 300 {
				out = append(out, l)
			}
		}
		if len(out) > 0 {
			return strings.Join(out, "\n")
		}
	}
	return "package main"
}

// named reports whether a line may have an address, or the name of an author.
func named(line string) bool {
	return strings.Contains(line, "@") || strings.Contains(line, "Copyright") || strings.Contains(line, "Portions")
}

// compose writes a text of a slice: private sentences, and benign ones around them.
func (w *writer) compose(c *Corpus, slice, category string) {
	r, often := w.r, 1<<20
	if category == "" {
		often, category = 4, c.cats[w.part][r.IntN(len(c.cats[w.part]))]
	}
	from := func(slice string) string { // a template, of the category if it has one
		if l := c.byKey[key(w.part, category, slice)]; len(l) > 0 && r.IntN(often) > 0 {
			return l[r.IntN(len(l))].Text
		}
		l := c.byKey[c.any(w.part, slice)]
		if x := r.IntN(20); slice == Benign && x < 4 {
			if more := c.byKey[key(w.part, []string{"lives", "stories", "generic", "frames-empty"}[x], slice)]; len(more) > 0 {
				l = more
			}
		}
		return l[r.IntN(len(l))].Text
	}
	var texts []string
	add := func(slice string, low, high int) {
		for range w.n(low, high) {
			texts = append(texts, from(slice))
		}
	}
	switch slice {
	case Nominal:
		add(Nominal, 1, 3)
	case Omission:
		add(Omission, 1, 2)
		if r.IntN(4) == 0 {
			add(Nominal, 1, 1)
		}
	case Injection:
		add(w.one(Nominal, Omission), 1, 2)
	case Shift:
		if r.IntN(2) == 0 {
			add(Shift, 1, 2)
		} else {
			add(w.one(Nominal, Omission), 1, 2)
		}
	}
	private := len(texts)
	if slice == Benign || slice == Decoy {
		add(Benign, 1, 5)
	} else if r.IntN(3) > 0 {
		add(Benign, 1, 3)
	}
	if slice == Injection || slice == Decoy {
		for range w.n(1, 2) {
			texts = append(texts, "<pass>")
		}
	}
	if private > 1 || r.IntN(2) == 0 {
		r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	}
	between := w.one(" ", " ", " ", "\n", "\n", "\n\n", "\n- ", " ")
	if between == "\n- " {
		w.b.WriteString("- ")
	}
	for i, t := range texts {
		if i > 0 {
			w.b.WriteString(between)
		}
		w.write(t)
	}
}
