package tagger

import (
	"math/rand/v2"
	"slices"
	"strings"

	cut "github.com/margaydev/margay/declassify/span"
	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/lab/traj/world"
)

// World is the slice of texts of worlds/dev, which defences are worked on with. It is
// for training alone: worlds/test, by another author, has other templates.
const World = "world"

const (
	worldSeed  = 9000 // of people that no run of traj has
	worldTasks = 400
)

// worldTexts are the free texts of worlds/dev, each once, without those of a subject.
func worldTexts(without *subject) []Text {
	var out []Text
	seen := map[string]bool{}
	for _, t := range world.Dev().Generate(worldSeed, worldTasks).Tasks {
		if without != nil && slices.Contains(without.worlds, t.Category) {
			continue
		}
		for i := range t.Steps {
			for _, p := range t.Steps[i].Parts {
				if !p.Free || p.Text == "" || seen[p.Text] || without.has("", p.Text) {
					continue
				}
				seen[p.Text] = true
				x := Text{Text: p.Text, Slice: World}
				for _, m := range p.Mentions {
					class := uint8(slices.Index(tagger.Fields(), string(m.Field)) + 1)
					if class == 0 {
						class = uint8(len(tagger.Fields())) // everything else that is private
					}
					x.spans = append(x.spans, span{m.Start, m.End, class, m.Oblique})
				}
				out = append(out, x)
			}
		}
	}
	return out
}

// masked returns the text with most of what is private masked, as a screener reads it.
func (t Text) masked(r *rand.Rand) Text {
	out := Text{Slice: t.Slice}
	var b strings.Builder
	at := 0
	for _, s := range t.spans {
		if s.start < at {
			continue
		}
		b.WriteString(t.Text[at:s.start])
		if r.IntN(4) > 0 {
			b.WriteString(cut.Mask)
		} else {
			moved := s
			moved.start = b.Len()
			b.WriteString(t.Text[s.start:s.end])
			moved.end = b.Len()
			out.spans = append(out.spans, moved)
		}
		at = s.end
	}
	b.WriteString(t.Text[at:])
	out.Text = b.String()
	return out
}
