package dojo

import (
	"cmp"
	"slices"

	"github.com/margaydev/margay/lab/dojo/harness"
	"github.com/margaydev/margay/lab/dojo/known"
	"github.com/margaydev/margay/screen"
)

// needed says which regions the next action of the user's task needs: none of them
// can be left out. Of several that say the same, the short ones stay, and of all,
// those that are trusted and public. It is what a judge without errors answers.
// Where all regions together are not enough, none is needed.
func (p *play) needed(q *screen.Question, tools []harness.Tool) []bool {
	out := make([]bool, len(q.Regions))
	// Values may stand across the regions of one message: then it is taken whole.
	for _, whole := range []bool{false, true} {
		parts := partsOf(q, whole)
		keep := make([]bool, len(parts))
		for i := range keep {
			keep[i] = true
		}
		can := p.next(q, tools, parts)
		if !can(keep) {
			continue
		}
		order := make([]int, len(parts))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			x, y := &parts[a], &parts[b]
			if x.bottom != y.bottom {
				if x.bottom {
					return 1 // is left out last
				}
				return -1
			}
			return cmp.Compare(len(y.text), len(x.text))
		})
		leave(keep, order, can)
		for i, yes := range keep {
			for _, r := range parts[i].regions {
				out[r] = yes
			}
		}
		return out
	}
	return out
}

// part is a region, or all those of a message.
type part struct {
	text    string
	regions []int
	bottom  bool
	result  bool // of a tool
}

func partsOf(q *screen.Question, whole bool) []part {
	var out []part
	for i := range q.Regions {
		r := &q.Regions[i]
		if n := len(out); whole && n > 0 && q.Regions[i-1].Message == r.Message {
			out[n-1].text += r.Text
			out[n-1].regions = append(out[n-1].regions, i)
			out[n-1].bottom = out[n-1].bottom && r.Bottom
			continue
		}
		out = append(out, part{r.Text, []int{i}, r.Bottom, r.Tool != ""})
	}
	return out
}

// leave leaves out what can be left out, in an order, many at once where that
// can be.
func leave(keep []bool, order []int, can func([]bool) bool) {
	if len(order) == 0 {
		return
	}
	for _, i := range order {
		keep[i] = false
	}
	if can(keep) {
		return
	}
	for _, i := range order {
		keep[i] = true
	}
	if half := len(order) / 2; half > 0 {
		leave(keep, order[:half], can)
		leave(keep, order[half:], can)
	}
}

// next returns whether the agent can make its next call or give its answer where
// it is shown some parts.
func (p *play) next(q *screen.Question, tools []harness.Tool, parts []part) func(keep []bool) bool {
	texts := make([]*known.Text, len(parts))
	for i := range parts {
		texts[i] = p.cache.read(parts[i].text).text
	}
	base := []*known.Text{p.cache.read(p.ep.Prompt).text, p.cache.read(system).text}
	for _, s := range q.Requests {
		base = append(base, p.cache.read(s).text)
	}
	full := slices.Concat(base, texts)
	for i := range p.steps {
		if p.done[i] {
			full = append(full, p.cache.read(p.result(i)).text)
		}
	}
	at := 0
	for at < len(p.steps) && (p.owner[at] < 0 || p.done[at] || p.refused[at]) {
		at++
	}
	return func(keep []bool) bool {
		ctx := known.Context{Shown: slices.Clone(base), Full: full, Complete: true}
		for i, yes := range keep {
			if yes {
				ctx.Shown = append(ctx.Shown, texts[i])
			}
			ctx.Complete = ctx.Complete && (yes || !parts[i].result)
		}
		if at == len(p.steps) {
			return ctx.Answer(p.ep.Final)
		}
		call := &p.steps[at].Call
		if i := slices.IndexFunc(tools, func(t harness.Tool) bool { return t.Name == call.Function }); i >= 0 {
			ctx = p.offered(&ctx, &tools[i])
		}
		_, ok := ctx.Call(call.Args)
		return ok
	}
}
