package adversary

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj/world"
)

// TrainTagged makes a classifier of what a network reads in texts as they are
// disclosed: it counts, by the field of each span, the words that the span has and
// the pairs of words that stand side by side in it. Nobody tells it which facts
// are in a text, so it goes with Seen.Typed, not with Seen.Facts. It learns each text
// with pseudonyms for its values, too, or it would take the pseudonym of an illness
// for one. Both seeds must not be evaluated, as in Train.
func TrainTagged(s *world.Setting, p *world.Population, train, held uint64, n int, m *tagger.Model) *Lexical {
	r := &reader{model: m}
	l := &Lexical{features: r.features, texts: func(t *world.Task) View {
		return append(freeTexts(t, func(p *world.Part) string { return p.Text }), freeTexts(t, pseudonymous)...)
	}}
	l.train(s, p, train, held, n)
	return l
}

var pseudonyms = regexp.MustCompile(`margay-([a-z-]+)-[0-9a-f]{12}`)

// pseudonymous is a part's text with pseudonyms for its values, as a reader takes
// them.
func pseudonymous(p *world.Part) string {
	var b strings.Builder
	at := 0
	for i := range p.Mentions {
		if m := &p.Mentions[i]; m.Start >= at {
			b.WriteString(p.Text[at:m.Start] + "margay-" + string(m.Field))
			at = m.End
		}
	}
	b.WriteString(p.Text[at:])
	return b.String()
}

// reader keeps what it read: the atoms of a sequence show the same texts again.
type reader struct {
	model *tagger.Model
	read  sync.Map // features by text
}

func (r *reader) features(text string) []string {
	// The letters of a pseudonym are drawn at random: its field alone counts.
	text = pseudonyms.ReplaceAllString(text, "margay-$1")
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
