package method

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// PeersDir is where scripts/peers installs, below the repository's root.
const PeersDir = ".cache/peers"

// Peers are the external scanners.
var Peers = []string{"detect-secrets", "presidio"}

// Peer is an external scanner in its default configuration, as a child process
// that lives as long as the run: each output is one line of JSON to it and one
// back (scripts/peers.d/peer.py). Close ends it.
type Peer struct {
	name, version string

	mu  sync.Mutex // one question at a time
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err error // why it is of no more use
}

// startLimit bounds how long a peer takes to load its models.
const startLimit = 2 * time.Minute

// NewPeer starts a scanner that scripts/peers installed below dir, or returns
// ErrUnavailable.
func NewPeer(ctx context.Context, name, dir string) (*Peer, error) {
	python, script := filepath.Join(dir, "venv", "bin", "python"), filepath.Join(dir, "peer.py")
	for _, f := range []string{filepath.Join(dir, ".installed"), python, script} {
		if _, err := os.Stat(f); err != nil {
			return nil, unavailable(name, "not installed; run scripts/peers install")
		}
	}
	p := &Peer{name: name, cmd: exec.Command(python, "-I", script, name)}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "OMP_NUM_THREADS=1"}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var hello struct {
		Ready   bool   `json:"ready"`
		Version string `json:"version"`
	}
	err = p.guard(ctx, func() error { return p.receive(&hello) })
	if err == nil && !hello.Ready {
		err = errors.New("it does not say that it is ready")
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("%s does not start: %w", name, errors.Join(err, p.Close()))
	}
	p.version = hello.Version
	return p, nil
}

// Name implements Method.
func (p *Peer) Name() string { return p.name }

// Notes says which version ran.
func (p *Peer) Notes() []string {
	return []string{p.name + ": version " + p.version + ", as installed by scripts/peers"}
}

// Filter implements Method.
func (p *Peer) Filter(ctx context.Context, in *Input) (Output, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return Output{}, p.err
	}
	var answer struct {
		Spans [][2]int `json:"spans"`
		Error string   `json:"error"`
	}
	err := p.guard(ctx, func() error {
		if err := json.NewEncoder(p.in).Encode(map[string][]byte{"text": []byte(in.Text)}); err != nil {
			return err
		}
		return p.receive(&answer)
	})
	if err != nil {
		// What comes next may answer this question: it can't be asked again.
		p.err = fmt.Errorf("%s: %w", p.name, err)
		return Output{}, p.err
	}
	if answer.Error != "" {
		return Output{}, fmt.Errorf("%s: %s", p.name, answer.Error)
	}
	var spans []span
	for _, s := range answer.Spans {
		spans = append(spans, span{s[0], s[1]})
	}
	return removing(in, spans), nil
}

func (p *Peer) receive(v any) error {
	line, err := p.out.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return errors.New("it ended")
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// guard stops the process where ctx ends before f does, which ends f.
func (p *Peer) guard(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, p.stop)
	err := f()
	if !stop() {
		return ctx.Err()
	}
	return err
}

func (p *Peer) stop() { _ = p.cmd.Process.Kill() }

// Close ends the process.
func (p *Peer) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = errors.New(p.name + " was closed")
	}
	p.in.Close()
	killer := time.AfterFunc(10*time.Second, p.stop)
	defer killer.Stop()
	_, _ = io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return err
		}
	}
	return nil
}
