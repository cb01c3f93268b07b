package adversary

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/margaydev/margay/lab/traj/world"
)

// Lexical is a naive Bayes classifier over the ordinary words of texts: what
// people say in passing goes with where and when they live, what they do, and
// what they have. Words that Bayes reads itself (names, places, illnesses,
// numbers) are left out, so that nothing counts twice.
type Lexical struct {
	words       map[string]int
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
	l := &Lexical{words: map[string]int{}}
	table := readable(p)
	count := map[string]int{}
	tasks := s.Generate(train, n).Tasks
	for _, t := range tasks {
		for w := range bag(unmentioned(t)) {
			if !table[w] {
				count[w]++
			}
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
	return l
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
	for k, size := range sizes {
		prior := make([]float64, size)
		for _, e := range examples {
			prior[e.class[k]] += 1 / float64(len(examples))
		}
		best := math.Inf(1)
		for step := range 21 {
			temperature := float64(step) / 20
			loss := 0.0
			for _, e := range examples {
				cue := l.likelihood(k, e.words, temperature)
				z := 0.0
				for c, v := range cue {
					z += v * prior[c]
				}
				loss -= math.Log(cue[e.class[k]] * prior[e.class[k]] / z)
			}
			if loss < best-1e-9 {
				best, l.Temperature[k] = loss, temperature
			}
		}
	}
}

func (l *Lexical) examples(p *world.Population, tasks []*world.Task) []example {
	var out []example
	for _, t := range tasks {
		x := t.Person
		out = append(out, example{l.index(unmentioned(t)), [4]int{x.Region, x.Decade, p.Ills[x.Ill].Chapter, sectorIndex(p.Jobs[x.Job].Sector)}})
	}
	return out
}

// unmentioned are the free texts of a task that go to sinks, without what Bayes
// knows of.
func unmentioned(t *world.Task) View {
	var out View
	for i := range t.Steps {
		for _, p := range t.Steps[i].Parts {
			if !p.Free {
				continue
			}
			b := []byte(p.Text)
			for _, m := range p.Mentions {
				for k := m.Start; k < m.End; k++ {
					b[k] = ' '
				}
			}
			out = append(out, string(b))
		}
	}
	return out
}

// readable are the words that Bayes reads.
func readable(p *world.Population) map[string]bool {
	out := map[string]bool{}
	add := func(texts ...string) {
		for w := range bag(texts) {
			out[w] = true
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

func bag(v View) map[string]bool {
	out := map[string]bool{}
	for _, s := range v {
		for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			out[w] = true
		}
	}
	return out
}

func (l *Lexical) index(v View) map[int]bool {
	out := map[int]bool{}
	for w := range bag(v) {
		if i, ok := l.words[w]; ok {
			out[i] = true
		}
	}
	return out
}

// likelihood of the words by class: of those that are there. That a word is not
// there tells little of a text that may have been cut.
func (l *Lexical) likelihood(k int, words map[int]bool, temperature float64) []float64 {
	t := &l.tables[k]
	logs := make([]float64, t.n)
	most := math.Inf(-1)
	order := make([]int, 0, len(words))
	for w := range words {
		order = append(order, w)
	}
	slices.Sort(order) // sums are the same on every run
	for c := range logs {
		for _, w := range order {
			logs[c] += t.logs[c][w]
		}
		most = max(most, logs[c])
	}
	for c := range logs {
		logs[c] = math.Exp((logs[c] - most) * temperature)
	}
	return logs
}

// Cues is what the words of a view say.
func (l *Lexical) Cues(v View) *Cues {
	words := l.index(v)
	if len(words) == 0 {
		return nil
	}
	return &Cues{
		Region: l.likelihood(0, words, l.Temperature[0]), Decade: l.likelihood(1, words, l.Temperature[1]),
		Chapter: l.likelihood(2, words, l.Temperature[2]), Sector: l.likelihood(3, words, l.Temperature[3]),
	}
}
