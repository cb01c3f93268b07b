// Command ab compares the throughput of two revisions. It builds both in
// working trees of their own and lets them take turns at the gateway's
// benchmark, in which Margay is compared with a plain proxy within each run,
// so that other load on the machine affects all alike. Run it as scripts/ab
// OLD NEW.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// metric is the figure of a run: one for each number of streams at once.
const metric = "throughput_ratio_to_plain_proxy"

func main() {
	root := flag.String("root", ".", "a folder of the repository")
	runs := flag.Int("runs", 10, "runs of each revision")
	seconds := flag.Float64("seconds", 0.3, "length of each measurement in a run")
	floor := flag.Float64("floor", 0.97, "the least median of new over old that passes")
	ceiling := flag.Float64("ceiling", 1.03, "the greatest median of memory, new over old, that passes")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: scripts/ab [flags] OLD NEW")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 || *runs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	r, err := compare(*root, flag.Arg(0), flag.Arg(1), *runs, *seconds)
	if err == nil && *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(r)
	} else if err == nil {
		r.print()
	}
	if err == nil && r.All.Median < *floor {
		err = fmt.Errorf("the throughput is %.3f of before, less than %.2f", r.All.Median, *floor)
	}
	if err == nil && r.Memory.Median > *ceiling {
		err = fmt.Errorf("the memory is %.3f of before, more than %.2f", r.Memory.Median, *ceiling)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ab:", err)
		os.Exit(1)
	}
}

// A Report compares two revisions.
type Report struct {
	Old     string             `json:"old"`
	New     string             `json:"new"`
	Seconds float64            `json:"seconds"`
	Rounds  []Round            `json:"rounds"`
	Slices  map[string]Summary `json:"slices"`
	All     Summary            `json:"all"` // of the geometric means over the slices
	// Memory is of margay serve's peak; zero where the system does not tell it.
	Memory Summary `json:"memory"`
}

// A Round is one run of each revision. Its figures are throughput in parts of a
// plain proxy's, by slice.
type Round struct {
	Old map[string]float64 `json:"old"`
	New map[string]float64 `json:"new"`
	All float64            `json:"all"` // new over old, the geometric mean over the slices
	// Memory is margay serve's peak in bytes, of old and new.
	Memory [2]int64 `json:"memory"`
}

// A Summary is a median of new over old with its interval of order statistics:
// of ten rounds, the second to the ninth, which hold the median at 97.9 %.
type Summary struct {
	Median   float64    `json:"median"`
	Interval [2]float64 `json:"interval"`
}

func compare(root, older, newer string, runs int, seconds float64) (*Report, error) {
	dir, err := os.MkdirTemp("", "ab")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &Report{Seconds: seconds, Slices: map[string]Summary{}}
	var commands [2][]string
	for i, rev := range []string{older, newer} {
		commit, command, err := build(root, rev, filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "built %s (%.12s)\n", rev, commit)
		commands[i] = append(command, "--seconds", fmt.Sprint(seconds), "--json", "-")
		if i == 0 {
			r.Old = commit
		} else {
			r.New = commit
		}
	}
	for n := range runs {
		var results [2]map[string]float64
		var memory [2]int64
		for turn := range 2 {
			i := (turn + n) % 2 // each goes first every other time
			if results[i], err = run(commands[i]); err != nil {
				return nil, err
			}
			if memory[i], err = peak(filepath.Join(dir, strconv.Itoa(i), "margay")); err != nil {
				return nil, err
			}
		}
		round := Round{Old: results[0], New: results[1], Memory: memory}
		if round.All, err = meanOf(round); err != nil {
			return nil, err
		}
		r.Rounds = append(r.Rounds, round)
		fmt.Fprintf(os.Stderr, "round %d: %.3f\n", n+1, round.All)
	}
	r.summarise()
	return r, nil
}

// build checks out a revision below dir, and returns the command that
// benchmarks its gateway: the laboratory's where there is one.
func build(root, rev, dir string) (commit string, command []string, err error) {
	out, err := output(root, "git", "rev-parse", "--verify", rev+"^{commit}")
	if err != nil {
		return "", nil, err
	}
	commit = strings.TrimSpace(string(out))
	tree := filepath.Join(dir, "tree")
	if _, err := output(root, "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return "", nil, err
	}
	defer func() {
		_, e := output(root, "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, e)
	}()
	module, pkg, verbs := tree, "./cmd/margay", []string{"bench", "gateway"}
	if _, err := os.Stat(filepath.Join(tree, "lab", "cmd", "margay-lab")); err == nil {
		module, pkg, verbs = filepath.Join(tree, "lab"), "./cmd/margay-lab", []string{"gateway"}
	}
	bin := filepath.Join(dir, "bin")
	if _, err := output(module, "go", "build", "-buildvcs=false", "-trimpath", "-o", bin, pkg); err != nil {
		return "", nil, err
	}
	if _, err := output(tree, "go", "build", "-buildvcs=false", "-trimpath", "-o", filepath.Join(dir, "margay"), "./cmd/margay"); err != nil {
		return "", nil, err
	}
	command = append([]string{bin}, verbs...)
	help, err := output(dir, bin, append(verbs, "--help")...)
	if err != nil {
		return "", nil, err
	}
	if bytes.Contains(help, []byte("--throughput")) { // older ones measure the rest, too, after it
		command = append(command, "--throughput")
	}
	return commit, command, nil
}

func run(command []string) (map[string]float64, error) {
	out, err := output(".", command[0], command[1:]...)
	if err != nil {
		return nil, err
	}
	var result struct {
		Rows []struct {
			Defence, Slice string
			Metrics        map[string]float64
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return nil, err
	}
	found := map[string]float64{}
	for _, row := range result.Rows {
		if v, ok := row.Metrics[metric]; ok && strings.HasPrefix(row.Slice, "concurrency=") {
			found[row.Slice] = v
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no %s", strings.Join(command, " "), metric)
	}
	return found, nil
}

func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

func meanOf(r Round) (float64, error) {
	sum := 0.0
	for slice, was := range r.Old {
		is, ok := r.New[slice]
		if !ok || is <= 0 || was <= 0 || len(r.Old) != len(r.New) {
			return 0, fmt.Errorf("the revisions have not the same slices: %v, %v", r.Old, r.New)
		}
		sum += math.Log(is / was)
	}
	return math.Exp(sum / float64(len(r.Old))), nil
}

func (r *Report) summarise() {
	var all, memory []float64
	for _, round := range r.Rounds {
		all = append(all, round.All)
		if m := round.Memory; m[0] > 0 && m[1] > 0 {
			memory = append(memory, float64(m[1])/float64(m[0]))
		}
	}
	if r.All = summary(all); len(memory) > 0 {
		r.Memory = summary(memory)
	}
	for slice := range r.Rounds[0].Old {
		ratios := make([]float64, 0, len(r.Rounds))
		for _, round := range r.Rounds {
			ratios = append(ratios, round.New[slice]/round.Old[slice])
		}
		r.Slices[slice] = summary(ratios)
	}
}

func summary(v []float64) Summary {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	median := (v[(n-1)/2] + v[n/2]) / 2
	// The k-th from either end hold the median at 95 % or more: the largest k
	// with P(Binomial(n, 1/2) < k) <= 0.025, and the ends for want of one.
	k, tail, p := 0, 0.0, math.Pow(0.5, float64(n))
	for i := 0; tail+p <= 0.025; i++ {
		tail += p
		k = i
		p *= float64(n-i) / float64(i+1)
	}
	return Summary{median, [2]float64{v[k], v[n-1-k]}}
}

func (r *Report) print() {
	slicesOf := slices.SortedFunc(maps.Keys(r.Slices), func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for i, round := range r.Rounds {
		fmt.Printf("round %2d:", i+1)
		for _, s := range slicesOf {
			fmt.Printf("  %s %.3f/%.3f", s, round.New[s], round.Old[s])
		}
		fmt.Printf("  new over old %.3f, memory %.1f/%.1f MB\n", round.All, float64(round.Memory[1])/1e6, float64(round.Memory[0])/1e6)
	}
	for _, s := range slicesOf {
		fmt.Printf("%s: new over old %.3f (%.3f to %.3f)\n", s, r.Slices[s].Median, r.Slices[s].Interval[0], r.Slices[s].Interval[1])
	}
	fmt.Printf("all: new over old %.3f (%.3f to %.3f), the median of %d rounds\n", r.All.Median, r.All.Interval[0], r.All.Interval[1], len(r.Rounds))
	if r.Memory.Median > 0 {
		fmt.Printf("memory: new over old %.3f (%.3f to %.3f)\n", r.Memory.Median, r.Memory.Interval[0], r.Memory.Interval[1])
	}
}
