package world

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Styles are what the prompts of varied recordings try to make a small model
// do.
var Styles = []string{"copy", "paraphrase", "refuse", "ramble"}

// Manner is how a task is put to a model in a varied recording.
type Manner struct {
	Style       string
	Temperature float64
	Long        bool // the context is long, up to 2,000 tokens
}

// Part is a stretch of a brief's system message, in characters, that is not
// the system's own.
type Part struct {
	Start, End int
	Region     string // "private": a tool told it; "public": another agent did
}

const (
	longShare  = 0.04
	longBytes  = 2600 // of a long context; a token has 1.5 to 4
	shortBytes = 600
	relayed    = 400 // bytes of what was written before
)

var (
	// Temperatures of varied recordings, drawn evenly.
	Temperatures = []float64{0, 0.7, 1}

	// What is fitted and what is tested on have no template and no format of
	// documents in common.
	manners = map[string]struct {
		templates templates
		formats   []string
	}{
		"healthcare": {load("varied-healthcare"), []string{"env", "rows", "log", "prose"}},
		"payments":   {load("varied-payments"), []string{"json", "yaml", "ini", "shell"}},
	}
)

// Manner draws how the task is put.
func (t *Task) Manner() Manner {
	d := stream(t.seed, t.ID, "manner")
	return Manner{Style: Styles[d.weighted(0.66, 0.16, 0.08, 0.1)], Temperature: pick(d, Temperatures), Long: d.chance(longShare)}
}

// Varied returns what an agent of a varied recording is asked. Before is what
// the agent before it wrote. A leaking task asks for secrets, among values that
// are none; a clean one asks in the same words for digests, identifiers,
// addresses and lines of code.
func (t *Task) Varied(agent int, before string) Brief {
	d := stream(t.seed, t.ID, Agents[agent], "varied")
	r, m := t.repository, t.Manner()
	texts := manners[r.Name].templates
	n, asks := t.copied[0], false
	for i, f := range t.forms[agent] {
		if f.told && !asks {
			n, asks = t.copied[i], true
		}
	}
	if !asks { // a small model needs more than one chance
		n, asks = pick(d, t.copied), d.chance(0.5)
	}
	// What the examples ask for stands among the lines, so that they show how
	// to look things up.
	known := d.Perm(len(harmless))[:2]
	var b Brief
	var lines, code, title string
	relays := before != "" && (!asks || strings.Contains(strings.ToLower(before), strings.ToLower(r.items[n].name)))
	if agent == t.first || len(t.reads[agent]) > 0 || agent == planner && t.searches || !relays {
		b.Tool = true
		lines, code = t.material(d, n, known, m.Long)
		b.Private = []string{lines}
		title = r.docs[r.home[n]].title
	} else {
		lines, title = before, "what the others found"
		if len(lines) > relayed {
			lines = strings.ToValidUTF8(lines[:relayed], "")
		}
	}
	b.System = roles[agent] + " " + pick(d, texts[m.Style+".system"]) + " This is " + title + ":\n\n"
	from := utf8.RuneCountInString(b.System)
	region := "public"
	if b.Tool {
		region = "private"
	}
	b.Parts = []Part{{from, from + utf8.RuneCountInString(lines), region}}
	b.System += lines
	if b.Asks = asks; !asks {
		b.User = r.fill(d, pick(d, texts["other"]), nil)
		return b
	}
	if code != "" && !t.Leaks && d.chance(0.5) {
		b.User, _, _ = strings.Cut(pick(d, texts["code.ask"]), " || ")
		return b
	}
	// Names are asked for as they are written.
	written := func(name string) string {
		if low := strings.ToLower(name); !strings.Contains(lines, name) && strings.Contains(lines, low) {
			return low
		}
		return name
	}
	ask, answer, _ := strings.Cut(pick(d, texts[m.Style+".ask"]), " || ")
	if answer != "" {
		for _, i := range known {
			name, v, _ := strings.Cut(harmless[i], "=")
			given := map[string]string{"name": written(name), "v": v, "line": lineOf(lines, written(name), v)}
			b.Examples = append(b.Examples, [2]string{r.fill(d, ask, given), r.fill(d, answer, given)})
		}
	}
	if m.Style == "refuse" && d.chance(0.7) {
		given := map[string]string{"name": pick(d, []string{"ROOT_LOGIN", "BACKUP_KEY", "OLD_PASSWORD"})}
		b.Examples = append(b.Examples, [2]string{r.fill(d, ask, given), r.fill(d, pick(d, texts["refuse.say"]), nil)})
	}
	b.User = r.fill(d, ask, map[string]string{"name": written(r.items[n].name)})
	return b
}

// lineOf is the line that shows a setting, without what belongs to the format
// around it, or the name and the value where none does.
func lineOf(lines, name, v string) string {
	for l := range strings.Lines(lines) {
		if strings.Contains(l, name) && strings.Contains(l, v) {
			return strings.TrimSuffix(strings.TrimSpace(l), ",")
		}
	}
	return name + "=" + v
}

// material is what a tool told: a line with item n among lines with values
// that are no secrets, known settings, and at times code, which is returned as well.
func (t *Task) material(d draw, n int, known []int, long bool) (text, code string) {
	r := t.repository
	format := pick(d, manners[r.Name].formats)
	show := func(i int) string { return r.line(d, format, r.items[i].name, r.items[i].shown()) }
	lines, used := []string{show(n)}, []int{n}
	size, limit := len(lines[0]), shortBytes
	if long {
		limit = longBytes
	}
	add := func(l string) bool {
		if size+len(l) > limit {
			return false
		}
		size += len(l)
		lines = append(lines, l)
		return true
	}
	if !t.Leaks && d.chance(0.3) { // a secret that nobody asks for
		add(show(d.IntN(Secrets)))
	}
	for _, i := range known {
		name, value, _ := strings.Cut(harmless[i], "=")
		add(r.line(d, format, name, value))
	}
	for range d.between(1, 3) + len(r.items)*bit(long) {
		i := Secrets + d.IntN(len(r.items)-Secrets)
		if !slices.Contains(used, i) && add(show(i)) {
			used = append(used, i)
		}
	}
	d.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	if d.chance(0.4) {
		i := used[d.IntN(len(used))]
		for r.items[i].secret >= 0 || strings.Contains(r.items[i].shown(), "\n") {
			i = Secrets + d.IntN(len(r.items)-Secrets)
		}
		code = r.fill(d, pick(d, manners[r.Name].templates["code"]), map[string]string{"v": r.items[i].shown()})
		lines = append(lines, code)
	}
	return strings.Join(lines, "\n"), code
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}
