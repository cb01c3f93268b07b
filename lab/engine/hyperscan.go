package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"time"
)

const theirs = "hyperscan"

// peer is Hyperscan in a process of its own (scripts/peers.d/speed.py). It
// compiles our rules' expressions, and knows no secrets, entropies or
// allowlists: it is a floor, not a detector. Close ends it.
type peer struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	folder string
	jobs   []job
	took   [][]float64 // by job, of each round, in ns
	empty  [][]float64 // likewise, of a database that has nothing to find
	hello  struct {
		Version    string            `json:"version"`
		Compiled   int               `json:"compiled"`
		Simplified []string          `json:"simplified"`
		Failed     map[string]string `json:"failed"`
		Matches    []int             `json:"matches"`
	}
}

// job is one text in writes of a size.
type job struct {
	Text  string `json:"text"`
	Write int    `json:"write"`
	size  int
}

// expression is a rule's as the peer gets it.
type expression struct {
	ID      string `json:"id"`
	Regex   string `json:"regex"`
	Simpler string `json:"simpler"` // tried where Regex does not compile
}

// startPeer starts what scripts/peers installed below dir.
func startPeer(ctx context.Context, dir string, texts map[string][]byte, writes []int) (*peer, error) {
	python, script := filepath.Join(dir, "venv", "bin", "python"), filepath.Join(dir, "speed.py")
	for _, f := range []string{python, script} {
		if _, err := os.Stat(f); err != nil {
			return nil, fmt.Errorf("%w; run scripts/peers install", errUnavailable)
		}
	}
	if err := exec.CommandContext(ctx, python, "-I", "-c", "import hyperscan").Run(); err != nil {
		return nil, fmt.Errorf("%w: PyPI has none for this platform", errUnavailable)
	}
	folder, err := os.MkdirTemp("", "margay-engine-")
	if err != nil {
		return nil, err
	}
	p := &peer{folder: folder}
	if err := p.start(ctx, python, script, texts, writes); err != nil {
		p.Close()
		return nil, fmt.Errorf("%s: %w", theirs, err)
	}
	return p, nil
}

func (p *peer) start(ctx context.Context, python, script string, texts map[string][]byte, writes []int) error {
	for _, name := range Corpora() {
		if texts[name] == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(p.folder, name), texts[name], 0o600); err != nil {
			return err
		}
		for _, w := range writes {
			p.jobs = append(p.jobs, job{name, w, len(texts[name])})
		}
	}
	rules, err := portable()
	if err != nil {
		return err
	}
	for name, v := range map[string]any{"rules.json": rules, "plan.json": p.jobs} {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.folder, name), b, 0o600); err != nil {
			return err
		}
	}
	p.took, p.empty = make([][]float64, len(p.jobs)), make([][]float64, len(p.jobs))
	p.cmd = exec.CommandContext(ctx, python, "-I", script, p.folder)
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	return p.receive(&p.hello)
}

// portable are our rules' expressions, and how Go writes them when it has
// read them: without named groups, and with classes spelled out.
func portable() ([]expression, error) {
	rules, err := expressions()
	if err != nil {
		return nil, err
	}
	var out []expression
	for _, r := range rules {
		re, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.ID, err)
		}
		out = append(out, expression{r.ID, r.Regex, bounded(re).String()})
	}
	return out, nil
}

// bounded is an expression whose longest repetitions have no upper bound:
// Hyperscan refuses large ones.
func bounded(re *syntax.Regexp) *syntax.Regexp {
	for i, s := range re.Sub {
		re.Sub[i] = bounded(s)
	}
	if re.Op == syntax.OpRepeat && re.Max > 100 {
		re.Min, re.Max = min(re.Min, 100), -1
	}
	return re
}

// round measures everything once.
func (p *peer) round() error {
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		return err
	}
	var a struct {
		NS    []float64 `json:"ns"`
		Empty []float64 `json:"empty"`
	}
	if err := p.receive(&a); err != nil {
		return err
	}
	if len(a.NS) != len(p.jobs) || len(a.Empty) != len(p.jobs) {
		return fmt.Errorf("%s gives %d figures for %d texts", theirs, len(a.NS), len(p.jobs))
	}
	for i := range p.jobs {
		p.took[i], p.empty[i] = append(p.took[i], a.NS[i]), append(p.empty[i], a.Empty[i])
	}
	return nil
}

func (p *peer) receive(v any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it ended: %w", err)
	}
	return json.Unmarshal(line, v)
}

// Close ends the process.
func (p *peer) Close() {
	if p.cmd != nil {
		p.in.Close()
		killer := time.AfterFunc(10*time.Second, func() { _ = p.cmd.Process.Kill() })
		defer killer.Stop()
		_, _ = io.Copy(io.Discard, p.out)
		_ = p.cmd.Wait()
	}
	_ = os.RemoveAll(p.folder)
}

// report adds the peer's rows, and ours by them.
func (p *peer) report(s *suite) {
	for i, j := range p.jobs {
		if len(p.took[i]) == 0 {
			continue
		}
		ns := slices.Min(p.took[i])
		m := map[string]float64{"ns_per_byte": ns / float64(j.size), "spread": slices.Max(p.took[i]) / ns}
		if j.Write == whole {
			m["findings"] = float64(p.hello.Matches[i])
		} else {
			writes := float64((j.size + j.Write - 1) / j.Write)
			m["ns_per_write"], m["ns_per_write_empty"] = ns/writes, slices.Min(p.empty[i])/writes
		}
		s.r.Add(theirs, slice(j.Text, j.Write, 0), m)
		if row := s.r.Row(ours, slice(j.Text, j.Write, few)); row != nil {
			row.Metrics["ratio_to_hyperscan"] = row.Metrics["ns_per_byte"] / m["ns_per_byte"]
		}
	}
	rules := p.hello.Compiled + len(p.hello.Failed)
	s.r.Add(theirs, "compiled", map[string]float64{"rules": float64(rules), "compiled": float64(p.hello.Compiled), "simplified": float64(len(p.hello.Simplified))})
	s.r.Notes = append(s.r.Notes, fmt.Sprintf(
		"%s %s: %d of %d expressions compile, %d of them simplified; expressions alone, no secrets, entropy or allowlists; findings are ends of matches. Writes go through Python: _empty is a write with nothing to find",
		theirs, p.hello.Version, p.hello.Compiled, rules, len(p.hello.Simplified)))
	for _, id := range slices.Sorted(maps.Keys(p.hello.Failed)) {
		s.r.Notes = append(s.r.Notes, fmt.Sprintf("%s can't compile %s: %s", theirs, id, p.hello.Failed[id]))
	}
}
