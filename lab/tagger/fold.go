package tagger

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/margaydev/margay/defend/tagger"
)

//go:embed folds.txt
var folds string

// domainFold starts the names of folds that leave a domain out.
const domainFold = "domain-"

// subjectWords is how many different words of a subject make a text one of it.
const subjectWords = 2

// subject is what a fold leaves out: sections, and texts with enough of its words.
type subject struct {
	sections, worlds []string
	words            map[string]bool
}

// FoldCategories are the categories that a fold can leave out, and the domain of each.
func FoldCategories() (names []string, domain map[string]string) {
	domain = map[string]string{}
	for _, l := range foldLines() {
		names = append(names, l.name)
		domain[l.name] = domainFold + l.domain
	}
	return names, domain
}

type foldLine struct {
	name, domain    string
	sections, kinds []string
}

func foldLines() (out []foldLine) {
	for line := range strings.Lines(folds) {
		what, kinds, ok := strings.Cut(line, ":")
		f := strings.Fields(what)
		if !ok || line[0] == '#' || len(f) < 2 {
			continue
		}
		out = append(out, foldLine{f[0], f[1], f[2:], strings.Fields(kinds)})
	}
	return out
}

// newSubject is what the fold leaves out: one of a category, of a domain or, for any
// other section of the templates, this section alone. It is nil for no fold.
func newSubject(fold string) (*subject, error) {
	if fold == "" {
		return nil, nil
	}
	words := map[string][]string{}
	if err := kindsOf(func(kind string, of []string) { words[kind] = append(words[kind], of...) }); err != nil {
		return nil, err
	}
	s := &subject{words: map[string]bool{}}
	for _, l := range foldLines() {
		if l.name != fold && domainFold+l.domain != fold {
			continue
		}
		s.sections, s.worlds = append(s.sections, l.sections...), append(s.worlds, l.name)
		s.worlds = append(s.worlds, l.sections...)
		for _, k := range l.kinds {
			if len(words[k]) == 0 {
				return nil, fmt.Errorf("folds.txt: %s: there is no kind %q", l.name, k)
			}
			for _, w := range words[k] {
				s.words[strings.ToLower(w)] = true
			}
		}
	}
	if len(s.worlds) == 0 {
		s.sections = []string{fold}
	}
	return s, nil
}

// has reports whether a template or a text of worlds/dev is left out: by its section
// or category, or by its words.
func (s *subject) has(section, text string) bool {
	return s != nil && (slices.Contains(s.sections, section) || s.about(text))
}

var (
	places  = regexp.MustCompile(`\[[a-z-]+~?: `) // labels of templates
	escapes = regexp.MustCompile(`\\[nt]`)
	wordRE  = regexp.MustCompile(`[\pL]+`)
)

// about reports whether a text has enough words of the subject. The names of slots
// and lists count as words: what they are filled with is of their kind.
func (s *subject) about(text string) bool {
	had := map[string]bool{}
	text = strings.ToLower(escapes.ReplaceAllString(places.ReplaceAllString(text, ""), " "))
	for _, w := range wordRE.FindAllString(text, -1) {
		if base, ok := s.base(w); ok {
			had[base] = true
		}
	}
	return len(had) >= subjectWords
}

// base finds the word of the subject that a word is a form of.
func (s *subject) base(w string) (string, bool) {
	if s.words[w] {
		return w, true
	}
	for _, e := range [...][2]string{{"ies", "y"}, {"es", ""}, {"es", "e"}, {"s", ""}, {"ied", "y"}, {"ed", ""}, {"ed", "e"}, {"ing", ""}, {"ing", "e"}} {
		if stem, ok := strings.CutSuffix(w, e[0]); ok && len(stem) > 2 && s.words[stem+e[1]] {
			return stem + e[1], true
		}
	}
	return "", false
}

// FoldOptions are what the folds of a set have in common.
type FoldOptions struct {
	Seed         uint64
	Steps, Texts int
	Progress     func(string)
}

// FoldNone is the name of a training that leaves nothing out, with as many steps as
// the folds: what it differs by from the network that is shipped is not the folds'.
const FoldNone = "none"

// FoldFiles are where a fold's weights and card are.
func FoldFiles(dir, fold string) (weights, card string) {
	return filepath.Join(dir, fold+".bin"), filepath.Join(dir, fold+".json")
}

// TrainFold trains, calibrates and measures the network of one fold, and writes it to
// the folder. It does nothing if the folder has it already, from the same corpus and
// options, and goes on from a checkpoint that is there.
func TrainFold(ctx context.Context, dir, fold string, o FoldOptions) (*Card, error) {
	weights, card := FoldFiles(dir, fold)
	run := Options{Seed: o.Seed, Steps: o.Steps, Texts: o.Texts, Fold: fold, Checkpoint: weights + ".checkpoint", Resume: true, Brief: true, Progress: o.Progress}
	if fold == FoldNone {
		run.Fold = ""
	}
	c, err := NewCorpus(run.Fold)
	if err != nil {
		return nil, err
	}
	if _, had, err := ReadFold(dir, fold); err == nil && had.Corpus == c.Hash && had.Seed == o.Seed && had.Steps == o.Steps && had.Measured == o.Texts {
		o.Progress("it is there")
		return had, nil
	}
	file, made, err := run.on(ctx, c)
	if errors.Is(err, ErrCheckpoint) { // of other options
		run.Resume = false
		file, made, err = run.on(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	if err := writeFold(weights, card, file, made); err != nil {
		return nil, err
	}
	_ = os.Remove(run.Checkpoint)
	return made, nil
}

// writeFold writes weights and their card.
func writeFold(weights, card string, file []byte, c *Card) error {
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(weights, file, 0o600); err != nil {
		return err
	}
	return os.WriteFile(card, append(b, '\n'), 0o600)
}

// ReadFold reads what TrainFold wrote. The card has to be that of the weights.
func ReadFold(dir, fold string) (*tagger.Model, *Card, error) {
	weights, name := FoldFiles(dir, fold)
	file, err := os.ReadFile(weights)
	if err != nil {
		return nil, nil, err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	var c Card
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	m, err := tagger.Load(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", weights, err)
	}
	if of := cmp.Or(c.Fold, FoldNone); c.Weights != m.Hash() || of != fold {
		return nil, nil, fmt.Errorf("%s is the card of other weights", name)
	}
	return m, &c, nil
}
