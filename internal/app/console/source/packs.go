package source

import (
	"slices"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/console"
	"github.com/margaydev/margay/internal/app/mediation"
	"github.com/margaydev/margay/taint/pack"
)

// Packs are the packs that a configuration names, and what lint finds.
func Packs(t *config.Taint) console.Packs {
	out := console.Packs{Mode: t.Mode, Packs: []console.Pack{}, Findings: []console.PackFinding{}}
	found := func(all ...pack.Finding) {
		for i := range all {
			f := &all[i]
			out.Findings = append(out.Findings, console.PackFinding{Pack: f.Pack, Line: f.Line, Code: f.Code, Detail: f.Detail})
		}
	}
	packs, failed := mediation.Packs(t.Packs)
	for _, f := range failed {
		found(pack.FindingOf(f.Name, f.Err))
	}
	for _, p := range packs {
		found(pack.Lint(p)...)
		one := console.Pack{Name: p.Name, Title: p.Title, Kind: string(p.Kind), For: p.For, File: p.File, Tools: []console.PackTool{}}
		if !slices.Contains(t.Packs, p.File) {
			one.File = ""
		}
		for i := range p.Tools {
			one.Tools = append(one.Tools, console.PackTool{Name: p.Tools[i].Name, Worst: p.Tools[i].Worst, Policy: append([]string{}, p.Tools[i].Policy...)})
		}
		out.Packs = append(out.Packs, one)
	}
	return out
}
