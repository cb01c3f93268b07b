package world

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/margaydev/margay/flow"
)

// LeastCategories is how many categories a world has at least, unless a caller
// of Lint asks for another number.
const LeastCategories = 12

// What a world must have, as shares of what is drawn.
const (
	LeastNeeded  = .5 // of free texts at curious sinks: those that a task needs something of
	LeastOblique = .5 // of mentions in free text
	LeastPlain   = .1 // of free texts at curious sinks: those without personal data
)

// Share is a number of things among others.
type Share struct {
	Of    int     `json:"of"`
	Count int     `json:"count"`
	Share float64 `json:"share"`
}

func (s *Share) add(yes bool) {
	s.Of++
	if yes {
		s.Count++
	}
	s.Share = float64(s.Count) / float64(s.Of)
}

// Check is what Lint finds about a world. Shares are measured over the
// trajectories of a seed that no result is reported on.
type Check struct {
	World      string   `json:"world"`
	Hash       string   `json:"sha256"`
	Categories []string `json:"categories"`
	Tools      int      `json:"tools"`
	Texts      int      `json:"texts"`
	Forms      int      `json:"forms_used"`
	FormsKnown int      `json:"forms_known"`
	Drawn      int      `json:"trajectories"`

	// Needed: free-text arguments at semi-trusted sinks of which a task needs
	// words or a field.
	Needed Share `json:"needed_at_semi_trusted"`
	// Plain: free-text arguments at semi-trusted sinks without personal data.
	Plain Share `json:"without_personal_data"`
	// Oblique: mentions in free text that are oblique, and those on their way to
	// sinks that no task needs.
	Oblique       Share `json:"oblique"`
	ObliqueOthers Share `json:"oblique_beyond_required"`
	// All: mentions in all arguments that are oblique, for comparison.
	All Share `json:"oblique_in_all_arguments"`

	Mistakes []Mistake `json:"mistakes"`
}

// Lint reads a world and finds all that is wrong with it: what can't be read,
// and what makes it a poor world. Categories is the least number of them.
func Lint(files fs.FS, categories int) *Check {
	s, bad := Parse(files)
	if len(bad) > 0 {
		return &Check{Mistakes: bad}
	}
	c := &Check{World: s.Name, Hash: s.Hash, Categories: s.Categories(), FormsKnown: len(Forms)}
	r := &reading{}
	if n := len(s.categories); n < categories {
		r.add(Mistake{File: ".", Text: fmt.Sprintf("a world needs %d categories or more, and this one has %d", categories, n)})
	}
	c.composed(r, s)
	c.measure(s)
	c.shares(r, s)
	r.sort()
	c.Mistakes = r.bad
	return c
}

// composed holds the files to what makes a world worth measuring on.
func (c *Check) composed(r *reading, s *Setting) {
	forms, slots, said := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, of := range s.categories {
		for _, q := range of.requests {
			noteSlots(slots, of.name, q)
		}
		few := func(key string, n, least int) {
			if n < least {
				r.add(of.at.in(key).mistake("category %s needs %d of %s or more, and has %d", of.name, least, key, n))
			}
		}
		few("requests", len(of.requests), 3)
		few("core", len(of.core), 1)
		few("coarse", len(of.coarse), 2)
		few("spare", len(of.spare), 3)
		if !slices.ContainsFunc(of.spare, func(t *tool) bool { return t.class == flow.Adversarial }) {
			r.add(of.at.in("spare").mistake("category %s: no spare tool goes to an adversarial sink; write one", of.name))
		}
	}
	if len(s.everywhere) < 8 {
		r.add(s.at.in("everywhere").mistake("there are fewer than eight tools under everywhere; long trajectories need them"))
	}
	owner := s.owners()
	s.each(func(t *tool, _ map[string][]string, _ string) {
		c.Tools++
		for _, a := range t.args {
			wordings := 0
			for _, of := range a.templates {
				wordings += len(of.say)
				for _, say := range of.say {
					noteSlots(slots, owner[t], say)
					p, _ := cut(say)
					for _, f := range p.forms {
						forms[f.String()] = true
					}
					if a.free && said[say] {
						r.add(of.at.mistake("%q stands in this world twice; write it another way", say))
					}
					said[say] = said[say] || a.free
				}
			}
			if !a.free {
				continue
			}
			c.Texts += wordings
			if wordings < 3 {
				r.add(a.at.mistake("text argument %s needs 3 wordings or more, and has %d", a.names[0], wordings))
			}
			if len(a.names) < 2 {
				r.add(a.at.in("name").mistake("text argument %s has one name; list 2 or more that such a tool might use", a.names[0]))
			}
		}
	})
	c.Forms = len(forms)
	r.unused(s, slots)
	oblique := 0
	for i := range Forms {
		if Forms[i].Oblique {
			oblique++
		}
	}
	used := 0
	for i := range Forms {
		if Forms[i].Oblique && forms[Forms[i].String()] {
			used++
		}
	}
	if used*2 < oblique {
		r.add(Mistake{File: ".", Text: fmt.Sprintf("of %d oblique forms the world uses %d; use half or more", oblique, used)})
	}
}

// owners are the categories of tools; of those in world.yaml, none.
func (s *Setting) owners() map[*tool]string {
	out := map[*tool]string{}
	for _, c := range s.categories {
		for _, t := range slices.Concat(c.core, c.coarse, c.spare) {
			out[t] = c.name
		}
	}
	return out
}

func noteSlots(used map[string]bool, owner, say string) {
	p, _ := cut(say)
	for _, name := range p.slots {
		used[owner+" "+name] = true
	}
}

func (r *reading) unused(s *Setting, used map[string]bool) {
	for _, c := range s.categories {
		for name := range c.slots {
			if !used[c.name+" "+name] {
				r.add(c.at.in("slots", name).mistake("slot %s is used nowhere; take it away", name))
			}
		}
	}
	for name := range s.slots {
		if !used[" "+name] {
			r.add(s.at.in("slots", name).mistake("slot %s is used nowhere; take it away", name))
		}
	}
}

// measure draws trajectories and counts.
func (c *Check) measure(s *Setting) {
	c.Drawn = 60 * len(s.categories)
	for _, task := range s.Generate(lintSeed, c.Drawn).Tasks {
		for i := range task.Steps {
			step := &task.Steps[i]
			for k := range step.Parts {
				c.count(step, &step.Parts[k])
			}
		}
	}
}

func (c *Check) count(s *Step, p *Part) {
	for _, m := range p.Mentions {
		c.All.add(m.Oblique)
		if p.Free {
			c.Oblique.add(m.Oblique)
		}
		if p.Free && s.Sink.Class != flow.RequiredService {
			c.ObliqueOthers.add(m.Oblique)
		}
	}
	if !p.Free || s.Sink.Class != flow.SemiTrusted {
		return
	}
	c.Needed.add(s.needed(p.Path))
	c.Plain.add(len(p.Mentions) == 0)
}

// shares holds the world to the shares, and names what lowers them.
func (c *Check) shares(r *reading, s *Setting) {
	if c.Needed.Share < LeastNeeded {
		r.add(Mistake{File: ".", Text: percent(c.Needed) + " of the free texts at semi-trusted sinks carry something that a task needs, where half must; add keep or need to the arguments listed here"})
		s.each(func(t *tool, _ map[string][]string, _ string) {
			for _, a := range t.args {
				if a.free && t.class == flow.SemiTrusted && !slices.ContainsFunc(a.templates, func(of *template) bool { return len(of.needs)+len(of.keeps) > 0 }) {
					r.add(a.at.mistake("no text of argument %s of tool %s has a need or a keep", a.names[0], t.name))
				}
			}
		})
	}
	if c.Plain.Share < LeastPlain {
		r.add(Mistake{File: ".", Text: percent(c.Plain) + " of the free texts at semi-trusted sinks are without personal data, where a tenth must be; add texts without a form"})
	}
	low := c.Oblique.Share < LeastOblique
	if low {
		r.add(Mistake{File: ".", Text: percent(c.Oblique) + " of the mentions in free text are oblique, where half must be; use oblique forms in the texts listed here"})
	}
	if c.ObliqueOthers.Share < LeastOblique {
		low = true
		r.add(Mistake{File: ".", Text: percent(c.ObliqueOthers) + " of the mentions in free text at semi-trusted and adversarial sinks are oblique, where half must be; use oblique forms in the texts listed here"})
	}
	if !low {
		return
	}
	s.each(func(t *tool, _ map[string][]string, _ string) {
		for _, a := range t.args {
			if a.free {
				r.plainForms(a)
			}
		}
	})
}

func (r *reading) plainForms(a *argument) {
	for _, of := range a.templates {
		for _, say := range of.say {
			p, _ := cut(say)
			var plain []string
			for _, f := range p.forms {
				if f.Oblique {
					plain = nil
					break
				}
				plain = append(plain, f.String())
			}
			if len(plain) > 0 {
				r.add(of.at.mistake("%q has no oblique form, but %s", say, strings.Join(plain, " ")))
			}
		}
	}
}

func percent(s Share) string { return fmt.Sprintf("%.1f %% (%d of %d)", 100*s.Share, s.Count, s.Of) }
