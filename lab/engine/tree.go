package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/sources"

	"github.com/margaydev/margay/lab/cputime"
	"github.com/margaydev/margay/lab/engine/corpus"
)

const (
	tree = "tree" // what --corpus calls it
	// trees is how much larger a tree is than a text.
	trees = 20
	// longestTree is what all scans of the tree by one program take at most, but
	// for the last of them.
	longestTree = 20 * time.Second
)

// tool is a program that scans a folder. It returns the processor time of that.
type tool struct {
	name string
	run  func(ctx context.Context, folder string) (time.Duration, error)
	took map[string][]time.Duration
}

// scans measures programs as they are started from a shell: over a tree of
// source, over one short file and over nothing.
func (s *suite) scans(ctx context.Context) error {
	if !slices.Contains(s.Corpora, tree) {
		return nil
	}
	s.Progress("a tree of source")
	dir, err := os.MkdirTemp("", "margay-engine-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	folders := map[string]string{}
	for _, name := range []string{"tree", "line", "nothing", "home"} {
		folders[name] = filepath.Join(dir, name)
		if err := os.Mkdir(folders[name], 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folders["line"], "main.go"), []byte("package main\n"), 0o600); err != nil {
		return err
	}
	size, err := plant(folders["tree"], trees*s.r.N)
	if err != nil {
		s.r.Notes = append(s.r.Notes, "scan=tree skipped: "+err.Error())
		return nil
	}
	tools := s.tools(folders["home"])
	for range s.Reps {
		for _, where := range []string{"tree", "line", "nothing"} {
			for _, t := range tools {
				var all time.Duration
				for _, took := range t.took[where] {
					all += took
				}
				if all > longestTree {
					continue
				}
				s.Progress(t.name + " scans " + where)
				took, err := t.run(ctx, folders[where])
				if err != nil {
					return fmt.Errorf("%s over %s: %w", t.name, where, err)
				}
				t.took[where] = append(t.took[where], took)
			}
		}
	}
	for _, where := range []string{"tree", "line", "nothing"} {
		for _, t := range tools {
			took := slices.Min(t.took[where])
			m := map[string]float64{"spread": float64(slices.Max(t.took[where])) / float64(max(took, 1))}
			if where == "tree" {
				m["cpu_seconds"], m["mb"] = took.Seconds(), float64(size)/1e6
				m["cpu_seconds_20mb"] = took.Seconds() * 20e6 / float64(size)
				m["ns_per_byte"] = float64(took.Nanoseconds()) / float64(size)
			} else {
				m["cpu_ms"] = took.Seconds() * 1000
			}
			s.r.Add(t.name, "scan="+where, m)
		}
	}
	return nil
}

// plant copies source into a folder until there are n bytes.
func plant(folder string, n int) (size int, err error) {
	return size, errors.Join(corpus.Source(func(path string) {
		if size >= n || err != nil {
			return
		}
		var b []byte
		if b, err = os.ReadFile(path); err == nil {
			into := filepath.Join(folder, fmt.Sprintf("%03d", size*100/n))
			err = errors.Join(os.MkdirAll(into, 0o700), os.WriteFile(filepath.Join(into, filepath.Base(path)), b, 0o600))
		}
		size += len(b)
	}), err)
}

// tools are the programs that are there.
func (s *suite) tools(home string) []*tool {
	var all []*tool
	add := func(name string, run func(context.Context, string) (time.Duration, error)) {
		all = append(all, &tool{name, run, map[string][]time.Duration{}})
	}
	if s.Margay == "" {
		s.r.Notes = append(s.r.Notes, "margay scan is skipped: the program margay was not found; --margay names it")
	} else {
		add(ours, func(ctx context.Context, folder string) (time.Duration, error) {
			return child(ctx, home, 3, s.Margay, "scan", folder)
		})
		s.r.Notes = append(s.r.Notes, "scan: processor time of child processes with GOMAXPROCS=1, from start to end; tree is "+fmt.Sprint(trees)+" times n bytes of Go files, line one short file. gitleaks runs as a library, whose start is not counted")
	}
	add("gitleaks", leaksTree)
	rg, err := exec.LookPath("rg")
	if err != nil {
		s.r.Notes = append(s.r.Notes, "ripgrep skipped: there is no rg on the path")
		return all
	}
	add("ripgrep", func(ctx context.Context, folder string) (time.Duration, error) {
		return child(ctx, home, 1, rg, "--no-config", "--threads=1", "--count", `AKIA[A-Z2-7]{16}|ghp_\w{36}|xox[bpars]-[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY|(?i)(password|token|secret)["']?\s*[:=]\s*["'][^"']{8,}`, folder)
	})
	return all
}

// child runs a program without the user's configuration and returns the
// processor time that it took. It may exit with the code fine, which tells of
// findings, or of none.
func child(ctx context.Context, home string, fine int, program string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home, "GOMAXPROCS=1", "PATH=" + os.Getenv("PATH")}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == fine) {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// leaksTree is what "gitleaks dir" does.
func leaksTree(ctx context.Context, folder string) (time.Duration, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled)
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return 0, err
	}
	start := cputime.Used()
	_, err = d.DetectSource(ctx, &sources.Files{Config: &d.Config, Path: folder, Sema: d.Sema})
	return cputime.Used() - start, err
}
