package adversary

import (
	"context"
	"sync"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj/world"
)

// TrainTagged makes a classifier of what a network reads in texts as they are
// disclosed: it counts, by the field of each span, the words that the span has and
// the pairs of words that stand side by side in it. Nobody tells it which facts
// are in a text, so it goes with Seen.Typed, not with Seen.Facts. Both seeds must
// not be evaluated, as in Train.
func TrainTagged(s *world.Setting, p *world.Population, train, held uint64, n int, m *tagger.Model) *Lexical {
	r := &reader{model: m}
	l := &Lexical{features: r.features, texts: func(t *world.Task) View {
		return freeTexts(t, func(p *world.Part) string { return p.Text })
	}}
	l.train(s, p, train, held, n)
	return l
}

// reader keeps what it read: the atoms of a sequence show the same texts again.
type reader struct {
	model *tagger.Model
	read  sync.Map // features by text
}

func (r *reader) features(text string) []string {
	if known, ok := r.read.Load(text); ok {
		return known.([]string)
	}
	var out []string
	// Reading fails only where the context is done, and this one never is.
	got, _ := r.model.Read(context.Background(), text)
	for _, s := range got.Spans {
		before := ""
		for _, w := range wordsOf(text[s.Start:s.End]) {
			out = append(out, s.Field+" "+w)
			if before != "" {
				out = append(out, s.Field+" "+before+" "+w)
			}
			before = w
		}
	}
	r.read.Store(text, out)
	return out
}
