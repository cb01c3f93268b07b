package world

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/margaydev/margay/flow"
)

// whole finds what would make a world's texts fail to be written, or its truth
// be false. Its findings are as bad as those of parsing.
func (r *reading) whole(s *Setting) {
	tools, sinks := map[string]bool{}, map[string]*tool{}
	names := map[string]bool{}
	r.slotWords(s.at.in("slots"), s.slots)
	for _, c := range s.categories {
		if names[c.name] {
			r.add(c.at.mistake("there are two files for %s", c.name))
		}
		names[c.name] = true
		for k, q := range c.requests {
			r.words(c.at.in("requests", strconv.Itoa(k)), q, c.slots)
		}
		r.slotWords(c.at.in("slots"), c.slots)
	}
	s.each(func(t *tool, slots map[string][]string, section string) {
		if tools[t.name] {
			r.add(t.at.in("tool").mistake("there is another tool %s; a tool stands in a world once", t.name))
		}
		tools[t.name] = true
		if had := sinks[t.sink]; had != nil && (had.class != t.class || had.channel != t.channel) {
			r.add(t.at.in("sink").mistake("sink %s has another class or channel in tool %s; a sink has one of each", t.sink, had.name))
		}
		sinks[t.sink] = t
		r.section(t, section)
		for _, a := range t.args {
			for _, of := range a.templates {
				r.template(t, a, of, slots)
			}
		}
	})
	if len(r.bad) == 0 {
		r.drawn(s)
	}
}

func (r *reading) add(m Mistake) { r.bad = append(r.bad, m) }

// section holds a tool to what its section may need.
func (r *reading) section(t *tool, section string) {
	var needs, keeps int
	for _, a := range t.args {
		for _, of := range a.templates {
			needs += len(of.needs)
			keeps += len(of.keeps)
		}
	}
	switch {
	case t.class == flow.Adversarial && needs+keeps > 0:
		r.add(t.at.mistake("tool %s: an adversarial sink is needed by no task; take need and keep away, or change the class", t.name))
	case section == "core" && needs+keeps == 0:
		r.add(t.at.mistake("core tool %s needs nothing; say what its service must be able to read (need, keep)", t.name))
	case section == "coarse" && (t.class != flow.SemiTrusted || needs == 0):
		r.add(t.at.mistake("coarse tool %s must go to a semi-trusted sink, and need a field at some level", t.name))
	case section != "core" && section != "coarse" && needs > 0:
		r.add(t.at.mistake("tool %s of %s has a need; only core and coarse tools do, others have keep", t.name, section))
	}
	if t.class != flow.SemiTrusted {
		return
	}
	for _, a := range t.args {
		for _, of := range a.templates {
			for _, n := range of.needs {
				if n.Level == Whole {
					r.add(of.at.mistake("a semi-trusted sink needs no whole %s; levels that it may need are %s", n.Field, joined(Levels(n.Field)[1:])))
				}
			}
		}
	}
}

func (r *reading) template(t *tool, a *argument, of *template, slots map[string][]string) {
	for _, say := range of.say {
		p, ok := r.words(of.at, say, slots)
		if !ok {
			continue
		}
		if a.field != "" && (len(p.forms) != 1 || p.forms[0].Field != a.field || p.words != "\x00") {
			r.add(of.at.mistake("%q: an argument that is a %s holds one form of it and nothing else; %s", say, a.field, formsOf(string(a.field))))
		}
		for _, n := range of.needs {
			if !slices.ContainsFunc(p.forms, func(f *Form) bool { return f.Field == n.Field }) {
				r.add(of.at.mistake("%q is said to tell the %s at level %s, and has no form of it", say, n.Field, n.Level))
			}
		}
		for _, k := range of.keeps {
			if !strings.Contains(say, k) {
				r.add(of.at.mistake("keep %q does not stand in %q; write it as it stands there", k, say))
			}
		}
	}
	for _, k := range of.keeps {
		if p, ok := r.words(of.at, k, slots); ok && (len(p.forms) > 0 || strings.Contains(k, "{~")) {
			r.add(of.at.mistake("keep %q has a form of a person; use need for those", k))
		}
	}
}

// words holds a text to what may stand in one.
func (r *reading) words(at place, say string, slots map[string][]string) (pieces, bool) {
	p, err := cut(say)
	if err != nil {
		r.add(at.mistake("%q: %v", say, err))
		return p, false
	}
	for _, name := range p.slots {
		if slots[name] == nil {
			r.add(at.mistake("%q: there is no slot %s here; slots of a category are for its own tools, slots of world.yaml for the tools there", say, name))
			return p, false
		}
	}
	if w := nameIn(p.words); w != "" {
		r.add(at.mistake("%q: %q belongs to the population: written out it would be a secret that nobody marked; use a form, or another word", say, w))
	}
	return p, true
}

func (r *reading) slotWords(at place, slots map[string][]string) {
	for name, values := range slots {
		for _, v := range values {
			if w := nameIn(v); w != "" {
				r.add(at.in(name).mistake("%q: %q belongs to the population; use another word", v, w))
			}
		}
	}
}

// nameIn finds a word of the population that stands for a value of somebody.
func nameIn(s string) string {
	if m := population().FindString(s); m != "" {
		return strings.TrimSpace(m)
	}
	return ""
}

// population are the words that stand for a value of somebody.
var population = sync.OnceValue(func() *regexp.Regexp {
	all := slices.Concat(pop.Givens, pop.Surnames, pop.States, Streets, Venues)
	for i := range pop.Cities {
		all = append(all, pop.Cities[i].Name)
	}
	for i := range pop.Ills {
		all = append(all, pop.Ills[i].Name, pop.Ills[i].Symptom)
		all = append(all, pop.Ills[i].Medicines...)
	}
	for i := range Banks {
		all = append(all, Banks[i].Name, Banks[i].Brand)
	}
	for i, w := range all {
		all[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(all, "|") + `)\b`)
})

// drawn writes every text for some people, and holds what is needed to what can
// be read.
func (r *reading) drawn(s *Setting) {
	const people = 24
	p := Joint()
	s.each(func(t *tool, slots map[string][]string, _ string) {
		for _, a := range t.args {
			for _, of := range a.templates {
				for _, say := range of.say {
					r.served(p, people, t, a, of, say, slots)
				}
			}
		}
	})
}

func (r *reading) served(p *Population, people int, t *tool, a *argument, of *template, say string, slots map[string][]string) {
	for i := range people {
		x := p.Person(lintSeed, i)
		words := map[string]string{}
		for name, all := range slots {
			words[name] = all[i%len(all)]
		}
		step := Step{Tool: t.name, Sink: Sink{t.sink, t.class, t.channel}}
		step.add(x, a, of, a.names[0], x.write(say, words), words)
		task := &Task{Person: x, Steps: []Step{step}}
		text := step.Parts[0].Text
		for _, n := range step.Needs {
			if !x.Meets(n, Disclosed(&step.Parts[0], text)) {
				r.add(of.at.mistake("%q does not tell the %s at level %s, for one as %q; use a finer form", say, n.Field, n.Level, text))
				return
			}
		}
		if least := task.Least(0); !task.Served(0, least) {
			r.add(of.at.mistake("%q: the least text that would serve, %q, can't be told from the rest; keep the form and the kept words apart", say, least[0]))
			return
		}
	}
}

// lintSeed is of people that no result is reported on.
const lintSeed = 9100
