package adversary

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/lab/traj/world"
)

// Lexical is a naive Bayes classifier over the ordinary words of texts: what
// people say in passing goes with where and when they live, what they do, and
// what they have. Words that Bayes reads itself (names, places, illnesses,
// numbers) are left out, so that nothing counts twice. One of TrainTagged counts
// what a network reads instead. It is safe for concurrent use; a nil one has no
// cues.
type Lexical struct {
	texts       func(t *world.Task) View // what it learns from
	features    func(text string) []string
	words       map[string]int // features that count
	tables      [4]classifier
	Temperature [4]float64 // as it was calibrated; 1 corrects nothing
}

// classifier has log likelihoods by class and word, and by class how many
// texts it was made from.
type classifier struct {
	n    int
	logs [][]float64
}

// View is what somebody was shown: released texts.
type View []string

const leastSeen = 8 // texts that a word must be in to count

// example is a text with the truth about its person.
type example struct {
	words map[int]bool
	class [4]int
}

// Train learns from a world's texts of one seed, without a defence, and
// calibrates on another: both seeds must not be evaluated.
func Train(s *world.Setting, p *world.Population, train, held uint64, n int) *Lexical {
	table := readable(p)
	l := &Lexical{texts: unmentioned, features: func(text string) []string {
		return slices.DeleteFunc(wordsOf(text), func(w string) bool { return table[w] })
	}}
	l.train(s, p, train, held, n)
	return l
}

func (l *Lexical) train(s *world.Setting, p *world.Population, train, held uint64, n int) {
	l.words = map[string]int{}
	count := map[string]int{}
	tasks := s.Generate(train, n).Tasks
	for _, t := range tasks {
		for w := range l.bag(l.texts(t)) {
			count[w]++
		}
	}
	var vocabulary []string
	for w, k := range count {
		if k >= leastSeen {
			vocabulary = append(vocabulary, w)
		}
	}
	slices.Sort(vocabulary)
	for i, w := range vocabulary {
		l.words[w] = i
	}
	sizes := [4]int{len(p.Region), len(p.Decade), len(world.Chapters), len(Sectors)}
	examples := l.examples(p, tasks)
	for k, size := range sizes {
		l.Temperature[k] = 1
		seen, all := make([][]float64, size), make([]float64, size)
		for c := range seen {
			seen[c] = make([]float64, len(vocabulary))
		}
		for _, e := range examples {
			all[e.class[k]]++
			for w := range e.words {
				seen[e.class[k]][w]++
			}
		}
		l.tables[k] = fit(seen, all)
	}
	l.calibrate(p, s.Generate(held, n).Tasks, sizes)
}

// fit makes a classifier of counts by class and word. Of most words the classes
// differ by chance alone: those tell nothing.
func fit(seen [][]float64, all []float64) classifier {
	total := 0.0
	for _, n := range all {
		total += n
	}
	for w := range seen[0] {
		sum, chi := 0.0, 0.0
		for c := range seen {
			sum += seen[c][w]
		}
		for c := range seen {
			if e := sum * all[c] / total; e > 0 {
				chi += (seen[c][w] - e) * (seen[c][w] - e) / e
			}
		}
		for c := range seen {
			if chi < significance*float64(len(seen)) {
				seen[c][w] = 0
			} else {
				seen[c][w] = math.Log((seen[c][w] + .5) / (all[c] + 1))
			}
		}
	}
	return classifier{len(seen), seen}
}

// significance is χ² by class from which a word counts.
const significance = 4

// calibrate takes the temperature of each class with the least loss.
func (l *Lexical) calibrate(p *world.Population, tasks []*world.Task, sizes [4]int) {
	examples := l.examples(p, tasks)
	class := make([]int, len(examples))
	logs := make([][]float64, len(examples))
	for k, size := range sizes {
		for i, e := range examples {
			class[i], logs[i] = e.class[k], l.logs(k, e.words)
		}
		l.Temperature[k] = temperature(logs, class, size)
	}
}

// temperature is the one of 0, 0.05 … 1 at which log likelihoods, by example and
// class, have the least loss. At 0 they say nothing.
func temperature(logs [][]float64, class []int, size int) float64 {
	prior := make([]float64, size)
	for _, c := range class {
		prior[c] += 1 / float64(len(class))
	}
	best, found := math.Inf(1), 0.0
	for step := range 21 {
		t := float64(step) / 20
		loss := 0.0
		for i, c := range class {
			cue := soften(logs[i], t)
			z := 0.0
			for k, v := range cue {
				z += v * prior[k]
			}
			loss -= math.Log(cue[c] * prior[c] / z)
		}
		if loss < best-1e-9 {
			best, found = loss, t
		}
	}
	return found
}

// soften are likelihoods at a temperature, the greatest of them 1.
func soften(logs []float64, temperature float64) []float64 {
	out, most := make([]float64, len(logs)), slices.Max(logs)
	for i, v := range logs {
		out[i] = math.Exp((v - most) * temperature)
	}
	return out
}

func (l *Lexical) examples(p *world.Population, tasks []*world.Task) []example {
	var out []example
	for _, t := range tasks {
		out = append(out, example{l.index(l.texts(t)), classes(p, t.Person)})
	}
	return out
}

// classes are those of a person, in the order of Cues.
func classes(p *world.Population, x *world.Person) [4]int {
	return [4]int{x.Region, x.Decade, p.Ills[x.Ill].Chapter, sectorIndex(p.Jobs[x.Job].Sector)}
}

// unmentioned are the free texts of a task that go to sinks, without what Bayes
// knows of.
func unmentioned(t *world.Task) View {
	return freeTexts(t, func(p *world.Part) string {
		b := []byte(p.Text)
		for _, m := range p.Mentions {
			for k := m.Start; k < m.End; k++ {
				b[k] = ' '
			}
		}
		return string(b)
	})
}

func freeTexts(t *world.Task, as func(p *world.Part) string) View {
	var out View
	for i := range t.Steps {
		for k := range t.Steps[i].Parts {
			if p := &t.Steps[i].Parts[k]; p.Free {
				out = append(out, as(p))
			}
		}
	}
	return out
}

// readable are the words that Bayes reads.
func readable(p *world.Population) map[string]bool {
	out := map[string]bool{}
	add := func(texts ...string) {
		for _, text := range texts {
			for _, w := range wordsOf(text) {
				out[w] = true
			}
		}
	}
	add(p.Givens...)
	add(p.Surnames...)
	add(p.States...)
	add(world.Streets...)
	add(world.Regions...)
	for _, c := range p.Cities {
		add(c.Name)
	}
	for i := range p.Ills {
		add(p.Ills[i].Name, p.Ills[i].Symptom)
		add(p.Ills[i].Medicines...)
	}
	for i := range world.Chapters {
		add(world.Chapters[i].Clinic)
	}
	// What is in many texts besides is kept.
	for _, w := range []string{"a", "and", "the", "that", "my", "in", "of", "to", "when", "at", "me", "on", "i"} {
		delete(out, w)
	}
	return out
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
}

func (l *Lexical) bag(v View) map[string]bool {
	out := map[string]bool{}
	for _, text := range v {
		for _, w := range l.features(text) {
			out[w] = true
		}
	}
	return out
}

func (l *Lexical) index(v View) map[int]bool {
	out := map[int]bool{}
	for w := range l.bag(v) {
		if i, ok := l.words[w]; ok {
			out[i] = true
		}
	}
	return out
}

// logs are log likelihoods of the features by class: of those that are there.
// That a word is not there tells little of a text that may have been cut.
func (l *Lexical) logs(k int, words map[int]bool) []float64 {
	t := &l.tables[k]
	logs := make([]float64, t.n)
	for _, w := range slices.Sorted(maps.Keys(words)) { // sums are the same on every run
		for c := range logs {
			logs[c] += t.logs[c][w]
		}
	}
	return logs
}

// Cues is what a view says.
func (l *Lexical) Cues(v View) *Cues {
	if l == nil {
		return nil
	}
	words := l.index(v)
	if len(words) == 0 {
		return nil
	}
	var of [4][]float64
	for k := range of {
		of[k] = soften(l.logs(k, words), l.Temperature[k])
	}
	return &Cues{of[0], of[1], of[2], of[3]}
}
