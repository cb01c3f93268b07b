// Command loc prints code lines by package and by kernel; with --arrows, the
// references inside each package that run back up; with --face, the functions
// of the mediator that the connectors call; with --binary FILE, the size,
// modules and memory of a built command. Run it as scripts/loc.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/margaydev/margay/tools/measure"
)

type report struct {
	Product     int               `json:"product"`
	Packages    []measure.Package `json:"packages"`
	TestsOnly   []measure.Package `json:"tests_only"`
	KernelLines int               `json:"kernel_lines"`
	Kernels     []measure.Kernel  `json:"kernels"`
	Arrows      []measure.Arrows  `json:"arrows,omitempty"`
	Face        []string          `json:"face,omitempty"`
	Binary      *measure.Binary   `json:"binary,omitempty"`
}

func main() {
	root := flag.String("root", ".", "the folder of the module")
	arrows := flag.Bool("arrows", false, "count the references that run back up in each package named, or in all")
	face := flag.Bool("face", false, "list what the connectors call of mediator/...")
	binary := flag.String("binary", "", "measure this built command, and nothing else")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	r, err := measured(*root, *binary, *arrows, *face, flag.Args())
	if err == nil && *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else if err == nil {
		r.print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loc:", err)
		os.Exit(1)
	}
}

func measured(root, binary string, arrows, face bool, only []string) (*report, error) {
	r := &report{}
	if binary != "" {
		b, err := measure.BinaryOf(binary)
		r.Binary = &b
		return r, err
	}
	table, err := measure.ReadTable(root)
	if err != nil {
		return nil, err
	}
	all, err := measure.Packages(root)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if slices.Contains(table.TestsOnly, p.Path) {
			r.TestsOnly = append(r.TestsOnly, p)
			continue
		}
		r.Packages = append(r.Packages, p)
		r.Product += p.Lines
	}
	if r.Kernels, r.KernelLines, err = measure.Kernels(root, table, all); err != nil {
		return nil, err
	}
	if !arrows && !face {
		return r, nil
	}
	patterns := []string{"./..."}
	if !arrows {
		patterns = measure.Patterns(table.Connectors...)
	} else if len(only) > 0 {
		patterns = measure.Patterns(only...)
		if face {
			patterns = append(patterns, measure.Patterns(table.Connectors...)...)
		}
	}
	l, err := measure.NewLoader(root, patterns...)
	if err != nil {
		return nil, err
	}
	if arrows {
		if err := r.countArrows(l, only); err != nil {
			return nil, err
		}
	}
	if face {
		if r.Face, err = l.Face("mediator", table.Connectors...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *report) countArrows(l *measure.Loader, only []string) error {
	for _, path := range l.Paths() {
		if len(only) > 0 && !slices.ContainsFunc(only, func(o string) bool { return matches(o, path) }) {
			continue
		}
		c, err := l.Check(path)
		if err != nil {
			return err
		}
		r.Arrows = append(r.Arrows, l.ArrowsOf(c))
	}
	if len(r.Arrows) == 0 {
		return errors.New("no such package")
	}
	return nil
}

// matches: pattern is path, or ends in /... and path is at or below it.
func matches(pattern, path string) bool {
	above, all := strings.CutSuffix(pattern, "/...")
	return path == above || all && strings.HasPrefix(path, above+"/")
}

func (r *report) print() {
	switch {
	case r.Binary != nil:
		fmt.Printf("%d modules, %.1f MB, version at a peak of %.1f MB of memory\n", r.Binary.Modules, float64(r.Binary.Bytes)/1e6, r.Binary.PeakMemory)
		return
	case r.Arrows != nil || r.Face != nil:
		for _, a := range r.Arrows {
			how := ""
			if !a.Exact {
				how = " at most (by search)"
			}
			fmt.Printf("%5.1f %% back%s, %4d of %5d  %s\n", a.Share(), how, a.Back, a.Total, a.Path)
		}
		for _, name := range r.Face {
			fmt.Println(name)
		}
		if r.Face != nil {
			fmt.Printf("the connectors call %d functions and methods of mediator/...\n", len(r.Face))
		}
		return
	}
	for _, p := range r.Packages {
		fmt.Printf("%6d %3d files  %s\n", p.Lines, p.Files, p.Path)
	}
	for _, p := range r.TestsOnly {
		fmt.Printf("%6d %3d files  %s (tests only, not counted)\n", p.Lines, p.Files, p.Path)
	}
	fmt.Println()
	for _, k := range r.Kernels {
		fmt.Printf("%6d in the kernel of: %s\n", k.Lines, k.Guarantee)
		for _, p := range k.Closure {
			fmt.Printf("       %6d %s\n", p.Lines, p.Path)
		}
		for _, p := range k.Missing {
			fmt.Printf("       no package %s\n", p)
		}
	}
	fmt.Printf("%6d in all kernels together\n%6d in the product\n", r.KernelLines, r.Product)
}
