package suggest

import (
	"math"
	"math/bits"
	"strings"
)

// Size is the number of features, a power of two. Words are hashed into them.
const Size = 1 << 14

// Feature is one feature of a tool.
type Feature struct {
	At    uint16
	Value float32
}

// Input is a tool as the model sees it.
type Input struct {
	Names []Feature // of the tool's name and those of its arguments
	Prose []Feature // of what is written about them
	// Reads: the verb of the name is one of reading.
	Reads bool
	Signs
}

// Signs are what no wording outweighs: a tool with one of them is not taken for one
// that only reads.
type Signs struct {
	// Odd: the definition hides something, or could not be read wholly.
	Odd bool
	// Address: an argument names an address.
	Address bool
	// Saves: an argument names a file to write to, or is said to.
	Saves bool
	// Acts: the name has a verb that no reading tool needs.
	Acts bool
}

// reader gathers features. A feature that comes twice counts once.
type reader struct {
	seen map[uint16]bool
	out  []Feature
	lex  *lexicon
}

// hash is FNV-1a.
func hash(parts ...string) uint16 {
	h := uint32(2166136261)
	for _, p := range parts {
		for i := range len(p) {
			h = (h ^ uint32(p[i])) * 16777619
		}
		h = (h ^ 0xff) * 16777619
	}
	return uint16((h ^ h>>14) & (Size - 1))
}

func (r *reader) add(value float32, parts ...string) {
	at := hash(parts...)
	if !r.seen[at] {
		r.seen[at] = true
		r.out = append(r.out, Feature{at, value})
	}
}

// each calls f with the name of every list in a set.
func each(set uint32, names []string, f func(string)) {
	for ; set != 0; set &= set - 1 {
		f(names[bits.TrailingZeros32(set)])
	}
}

// Read reads a tool. Work and memory are bounded, whatever the definition is.
func Read(t *Tool) Input {
	in := Input{Signs: Signs{Odd: t.Partial}}
	r := &reader{seen: make(map[uint16]bool, 256), lex: words()}
	name := t.Name
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok { // as Claude Code names it
		if _, tool, ok := strings.Cut(rest, "__"); ok {
			name = tool
		}
	}
	if len(name) > maxName {
		name, in.Odd = name[:maxName], true
	}
	for i := range len(name) {
		in.Odd = in.Odd || name[i] <= ' ' || name[i] >= 0x7f
	}
	texts, left := t.Texts, maxText
	if len(texts) > maxTexts {
		texts, in.Odd = texts[:maxTexts], true
	}
	var args []string
	var prose []string
	for i, s := range texts {
		if len(s) > left {
			s, in.Odd = s[:left], true
		}
		left -= len(s)
		in.Odd = in.Odd || odd(s)
		switch {
		case i == 0:
			prose = append(prose, s)
		case schema[s]:
		case identifier(s):
			args = append(args, s)
		case s != "":
			prose = append(prose, s)
		}
	}
	in.signs(name, args, prose)
	verbs := r.name(name)
	in.Reads = verbs&r.lex.reads != 0
	r.args(verbs, args)
	in.Names = r.out
	r.out = nil
	r.prose(verbs, prose)
	r.domains(verbs, name, prose, args)
	in.Prose = r.out
	return in
}

// name reads the tool's name. It returns the lists that its verb is in.
func (r *reader) name(name string) uint32 {
	w := split(nil, name)
	at := r.verb(w)
	var main, all, nouns uint32
	for i, s := range w {
		r.add(1, "n", s)
		if i > 0 {
			r.add(0.7, "n2", w[i-1], s)
		}
		v := r.lex.verbs[s]
		if i == at {
			main = v
		} else {
			nouns |= r.lex.nouns[s]
			all |= v
		}
	}
	if len(w) > 0 {
		r.add(0.7, "n0", w[0])
		r.add(0.7, "n9", w[len(w)-1])
	}
	if at < 0 {
		r.add(1, "v1", "none")
	} else {
		r.add(1, "nv", w[at])
	}
	each(main, r.lex.verb, func(v string) {
		r.add(1, "v1", v)
		each(nouns, r.lex.noun, func(n string) { r.add(0.7, "vn", v, n) })
	})
	each(all, r.lex.verb, func(v string) { r.add(0.4, "va", v) })
	each(nouns, r.lex.noun, func(n string) { r.add(0.7, "no", n) })
	return main
}

// verb returns which word of a name is its verb, or -1: the first word if it can be
// one, else the first that is no noun as well, else the first that can be.
func (r *reader) verb(w []string) int {
	at := -1
	for i, s := range w {
		switch {
		case r.lex.verbs[s] == 0:
		case i == 0 || r.lex.nouns[s] == 0:
			return i
		case at < 0:
			at = i
		}
	}
	return at
}

// args reads the names of arguments, and other single words of the schema.
func (r *reader) args(verbs uint32, args []string) {
	var w []string
	for _, a := range args {
		w = split(w[:0], a)
		if len(w) == 1 { // of an action among others, say
			each(r.lex.verbs[w[0]], r.lex.verb, func(v string) { r.add(0.4, "av", v) })
		}
		r.add(0.6, "a", strings.Join(w, "_"))
		var kinds uint32
		for _, s := range w {
			r.add(0.4, "aw", s)
			kinds |= r.lex.args[s]
		}
		each(kinds, r.lex.arg, func(k string) {
			r.add(0.7, "ak", k)
			each(verbs, r.lex.verb, func(v string) { r.add(0.5, "va", v, k) })
		})
		if kinds != 0 { // both of save and path, say
			each(kinds, r.lex.arg, func(k string) {
				each(kinds, r.lex.arg, func(l string) {
					if k < l {
						r.add(0.7, "kk", k, l)
					}
				})
			})
		}
	}
	if offers(args) {
		r.add(2, "offers", "removal")
	}
	n := "many"
	for i, most := range []int{0, 1, 2, 4, 8, 16} {
		if len(args) <= most {
			n = string(rune('0' + i))
			break
		}
	}
	r.add(0.5, "an", n)
}

var (
	choices  = set("action operation op mode method command type")
	removals = set("delete remove drop purge clear destroy cleanup prune delete_many bulk_delete")
)

// offers reports whether one argument chooses what to do, and removal is among it.
func offers(args []string) bool {
	choice, removal := false, false
	for _, a := range args {
		a = strings.ToLower(a)
		choice = choice || choices[a]
		removal = removal || removals[a]
	}
	return choice && removal
}

// prose reads the description and those of arguments. However long they are, they
// weigh the same.
func (r *reader) prose(verbs uint32, texts []string) {
	if len(texts) == 0 {
		return
	}
	description := texts[0]
	sentence := description
	for i := range len(description) {
		if c := description[i]; c == '\n' && i > 0 || c == '.' && (i+1 == len(description) || description[i+1] <= ' ') {
			sentence = description[:i]
			break
		}
	}
	first := dropClaims(split(nil, sentence))
	from := len(r.out)
	for i, s := range first {
		r.add(1, "d", s)
		if i > 0 {
			r.add(0.7, "d2", first[i-1], s)
		}
		each(r.lex.nouns[s], r.lex.noun, func(n string) { r.add(0.5, "dn", n) })
	}
	r.level(from, 2.5)
	from = len(r.out)
	if len(first) > 0 {
		r.add(1, "d0", first[0])
		v := r.lex.verbs[first[0]]
		each(v, r.lex.verb, func(v string) {
			r.add(1, "dv", v)
			each(verbs, r.lex.verb, func(n string) { r.add(0.4, "dvn", v, n) })
		})
	}
	r.level(from, 1.5)
	from = len(r.out)
	rest := dropClaims(split(nil, description[len(sentence):]))
	for _, s := range rest {
		r.add(1, "e", s)
	}
	r.level(from, 1.5)
	from = len(r.out)
	var about []string
	for _, t := range texts[1:] {
		about = append(dropClaims(split(about, t)), "") // phrases end with a text
	}
	for _, s := range about {
		r.add(1, "p", s)
	}
	r.level(from, 1)
	r.phrases(verbs, "d", first)
	r.phrases(verbs, "e", rest)
	r.phrases(verbs, "p", about)
	var nouns, does uint32
	for _, s := range first {
		nouns |= r.lex.nouns[s]
		does |= r.lex.verbs[s]
	}
	from = len(r.out)
	each(verbs, r.lex.verb, func(v string) {
		each(nouns, r.lex.noun, func(n string) { r.add(0.5, "vdn", v, n) })
	})
	each(does, r.lex.verb, func(v string) { r.add(0.5, "dva", v) })
	r.level(from, 1.5)
}

// phrase is a sign that a text speaks of doing something: a word of the first list,
// and not far behind it one of the second.
type phrase struct {
	name          string
	first, second map[string]bool
}

var phrases = []phrase{
	{"save", set("save saved saving write written writing download downloaded export output append store stored place dump"), set("file files disk path directory folder filename local locally workspace cache")},
	{"web", set("fetch crawl scrape open navigate visit load request download access retrieve extract browse goto url urls"), set("url urls website webpage link site web page http https internet address fetch crawl scrape visit navigate")},
	{"gone", set("permanently irreversible irreversibly undone undo delete deletes deleted purge destructive destroy lost unrecoverable recover"), set("permanently irreversible delete undone undo all data recovered lost cannot")},
	{"run", set("execute executes executed run runs executing running evaluate launch start"), set("code script command query sql statement javascript python shell program process test expression function workflow")},
	{"tell", set("send sends sent post posts publish notify notifies share email invite reply message comment"), set("message email mail comment notification user channel recipient public team reply invitation watcher follower subscriber")},
	{"later", set("schedule every recurring automatically when whenever trigger future persist permanent remember later subscribe"), set("run day hour event schedule later trigger execution automatically session future update change")},
	{"money", set("charge pay buy sell purchase order bill cost price transfer refund spend fund"), set("order payment amount money fund currency credit card account balance plan subscription")},
}

// near is how many words behind the first the second may be.
const near = 6

func (r *reader) phrases(verbs uint32, field string, w []string) {
	for i := range phrases {
		p := &phrases[i]
		last := -near - 1
		for at, s := range w {
			if s == "" {
				last = -near - 1
				continue
			}
			if at-last <= near && p.second[s] {
				r.add(0.7, "ph", p.name)
				r.add(0.5, "ph", field, p.name)
				each(verbs, r.lex.verb, func(v string) { r.add(0.4, "phv", p.name, v) })
				break
			}
			if p.first[s] {
				last = at
			}
		}
	}
}

// domains reads which services and matters all of the texts speak of.
func (r *reader) domains(verbs uint32, name string, prose, args []string) {
	var named, set uint32
	for _, s := range split(nil, name) {
		named |= r.lex.domains[s]
	}
	w := make([]string, 0, 64)
	for _, texts := range [][]string{args, prose[:min(1, len(prose))]} {
		for _, t := range texts {
			w = split(w[:0], t)
			for _, s := range w {
				set |= r.lex.domains[s]
			}
		}
	}
	from := len(r.out)
	for _, field := range []struct {
		name string
		set  uint32
	}{{"n", named}, {"t", set | named}} {
		each(field.set, r.lex.domain, func(d string) {
			r.add(1, "do", field.name, d)
			each(verbs, r.lex.verb, func(v string) { r.add(0.7, "dov", field.name, d, v) })
		})
	}
	r.level(from, 2)
}

// level scales the features from an index on to a length of norm.
func (r *reader) level(from int, norm float64) {
	var sum float64
	for _, f := range r.out[from:] {
		sum += float64(f.Value) * float64(f.Value)
	}
	if sum == 0 {
		return
	}
	k := float32(norm / math.Sqrt(max(sum, 1)))
	for i := from; i < len(r.out); i++ {
		r.out[i].Value *= k
	}
}

func dropClaims(w []string) []string {
	out := w[:0]
	for _, s := range w {
		if !claims[s] {
			out = append(out, s)
		}
	}
	return out
}
