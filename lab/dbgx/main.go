package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/margaydev/margay/defend/tagger"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/lab/traj/world"
)

func main() {
	m, err := tagger.Default()
	if err != nil {
		panic(err)
	}
	mask := os.Args[1]
	tasks := world.Generate(160, 120).Tasks
	var clean, masked, raw []float64
	type ex struct {
		p float64
		s string
	}
	var exs, leaks []ex
	for _, t := range tasks {
		for _, s := range t.Steps {
			if s.Sink.Class != flow.SemiTrusted {
				continue
			}
			for _, p := range s.Parts {
				if !p.Free {
					continue
				}
				text := p.Text
				var b strings.Builder
				at := 0
				for _, mn := range p.Mentions {
					if mn.Start < at { continue }
					b.WriteString(text[at:mn.Start])
					b.WriteString(mask)
					at = mn.End
				}
				b.WriteString(text[at:])
				r, _ := m.Read(context.Background(), b.String())
				for _, x := range r.Sentences {
					str := b.String()[x.Start:x.End]
					if strings.Contains(str, mask) {
						masked = append(masked, x.Clear)
						exs = append(exs, ex{x.Clear, "M " + str})
					} else {
						clean = append(clean, x.Clear)
						exs = append(exs, ex{x.Clear, "C " + str})
					}
				}
				r, _ = m.Read(context.Background(), text)
				for _, x := range r.Sentences {
					for _, mn := range p.Mentions {
						if mn.Start < x.End && mn.End > x.Start {
							raw = append(raw, x.Clear)
							leaks = append(leaks, ex{x.Clear, fmt.Sprint(mn.Oblique, " ", text[x.Start:x.End])})
							break
						}
					}
				}
			}
		}
	}
	show := func(name string, v []float64) {
		sort.Float64s(v)
		fmt.Print(name, " n=", len(v))
		for _, th := range []float64{.5, .8, .9, .95, .97, .98, .99} {
			i := sort.SearchFloat64s(v, th)
			fmt.Printf("  >=%.2f: %.3f", th, float64(len(v)-i)/float64(len(v)))
		}
		fmt.Println()
	}
	show("clean", clean)
	show("masked", masked)
	show("raw", raw)
	sort.Slice(exs, func(i, j int) bool { return exs[i].p < exs[j].p })
	for i := 0; i < len(exs); i += len(exs)/60 + 1 {
		fmt.Printf("%.3f %s\n", exs[i].p, exs[i].s)
	}
	fmt.Println("LEAKS")
	sort.Slice(leaks, func(i, j int) bool { return leaks[i].p > leaks[j].p })
	seen := map[string]bool{}
	n := 0
	for _, l := range leaks {
		if seen[l.s] { continue }
		seen[l.s] = true
		if n++; n > 45 { break }
		fmt.Printf("%.3f %s\n", l.p, l.s)
	}
}
