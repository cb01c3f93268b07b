package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output string }

// outcome of a test by package path and name: pass, fail or skip.
type outcome map[[2]string]string

// read takes the outcomes from the output of go test -json, and passes on what
// failing tests and packages print.
func (o outcome) read(r io.Reader, log io.Writer) error {
	printed := map[[2]string][]string{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if json.Unmarshal(in.Bytes(), &e) != nil {
			fmt.Fprintln(log, in.Text())
			continue
		}
		at := [2]string{e.Package, e.Test}
		switch e.Action {
		case "output", "build-output":
			printed[at] = append(printed[at], e.Output)
		case "pass", "skip", "fail":
			o[at] = e.Action
			if e.Action == "fail" {
				fmt.Fprint(log, strings.Join(printed[at], ""))
			}
			delete(printed, at)
		}
	}
	for _, lines := range printed { // of a build that failed
		fmt.Fprint(log, strings.Join(lines, ""))
	}
	return in.Err()
}

// judge says which of the tests did not run to a pass. A test of which a part
// is skipped is skipped.
func (o outcome) judge(path func(place) string, tests []named) (failed, skipped []string) {
	for _, t := range tests {
		name := t.test
		if t.sub != "" {
			name += "/" + t.sub
		}
		at := path(t.place)
		got := o[[2]string{at, name}]
		if got == "" {
			got = "not run"
		}
		for k, v := range o {
			if k[0] == at && strings.HasPrefix(k[1], name+"/") && v == "skip" && got == "pass" {
				got = "skip"
			}
		}
		line := fmt.Sprintf("%s of %s: %s", name, at, got)
		if got == "skip" {
			skipped = append(skipped, line)
		} else if got != "pass" {
			failed = append(failed, line)
		}
	}
	slices.Sort(failed)
	slices.Sort(skipped)
	return failed, skipped
}

// group are tests of a module that one go command runs.
type group struct {
	module   string
	pattern  string
	packages []string
}

// groups are the go commands that run the tests: one for a module, and one for
// each test of which only parts are named.
func groups(tests []named) (out []group) {
	whole, parts := map[string][]named{}, map[named][]named{}
	for _, t := range tests {
		if of := (named{t.place, t.test, ""}); t.sub == "" {
			whole[t.module] = append(whole[t.module], t)
		} else {
			parts[of] = append(parts[of], t)
		}
	}
	for module, of := range whole {
		out = append(out, group{module, "^" + oneOf(of, func(t named) string { return t.test }) + "$", packages(of)})
	}
	for t, of := range parts {
		if !slices.Contains(whole[t.module], t) {
			sub := oneOf(of, func(t named) string { first, _, _ := strings.Cut(t.sub, "/"); return first })
			out = append(out, group{t.module, "^" + t.test + "$/^" + sub + "$", packages(of)})
		}
	}
	slices.SortFunc(out, func(a, b group) int { return strings.Compare(a.module+a.pattern, b.module+b.pattern) })
	return out
}

func oneOf(tests []named, name func(named) string) string {
	var names []string
	for _, t := range tests {
		names = append(names, name(t))
	}
	slices.Sort(names)
	return "(" + strings.Join(slices.Compact(names), "|") + ")"
}

func packages(tests []named) (out []string) {
	for _, t := range tests {
		out = append(out, "./"+t.pkg)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// run runs the tests.
func run(ctx context.Context, root string, flags []string, tests []named, log io.Writer) (outcome, error) {
	out := outcome{}
	for _, g := range groups(tests) {
		args := append([]string{"test", "-json", "-run", g.pattern}, flags...)
		c := exec.CommandContext(ctx, "go", append(args, g.packages...)...)
		c.Dir, c.Stderr = filepath.Join(root, g.module), os.Stderr
		printed, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		if err := out.read(printed, log); err != nil {
			return nil, err
		}
		_ = c.Wait() // the events say what failed
	}
	return out, nil
}
