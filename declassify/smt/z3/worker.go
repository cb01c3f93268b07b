package z3

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/margaydev/margay/declassify/smt"
)

// worker is a process of Z3. One caller at a time may ask it; kill may be called
// concurrently.
type worker struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	read  *bufio.Reader
	cfg   *Config
	mark  int // counts questions, so that each answer is matched to its own
	asked int // queries
	once  sync.Once
	// vocabulary is what the session holds below the scope of queries.
	vocabulary []byte
}

// start runs a process. It gets only the paths of programs and libraries from
// the environment: the rest may hold secrets.
func start(c *Config) (*worker, error) {
	cmd := exec.Command(c.Path, "-smt2", "-in", "-memory:"+strconv.Itoa(c.Memory))
	cmd.Env = []string{"LC_ALL=C"}
	for _, name := range []string{"PATH", "LD_LIBRARY_PATH", "SYSTEMROOT"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start z3: %w", err)
	}
	return &worker{cmd: cmd, in: in, out: out, read: bufio.NewReaderSize(out, 16<<10), cfg: c}, nil
}

// kill ends the process and waits for its end. Both pipes are closed first, so
// that readers and writers stop even if a child of the process holds the other
// ends.
func (w *worker) kill() {
	w.once.Do(func() {
		_ = w.cmd.Process.Kill() // it may have ended
		w.in.Close()
		w.out.Close()
		_ = w.cmd.Wait() // that it was killed is no news
	})
}

// greet sets the session up and checks the version.
func (w *worker) greet() error {
	// If this process dies and can't kill it, Z3 gives up by itself, after about
	// ten times the deadline's work: it does four million units a second. Its
	// own timeout would be simpler, but its thread may deadlock in versions
	// before 4.9.1 (Z3Prover/z3#5990).
	limit := min(40_000*max(w.cfg.Timeout.Milliseconds(), 1), math.MaxUint32)
	options := "(set-option :rlimit " + strconv.FormatInt(limit, 10) + ")\n"
	out, err := w.ask([]byte(options + smt.Prelude + "(get-info :version)\n"))
	if err != nil {
		return err
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(string(out)), `(:version "`)
	version, ok2 := strings.CutSuffix(version, `")`)
	if !ok || !ok2 || !enough(version) {
		return fmt.Errorf("%w: the program reports %.40q", ErrVersion, out)
	}
	return nil
}

// enough reports whether a version is 4.8.11 or later: the one before it can be
// wrong in later queries of a session (see vprover/vampire#244).
func enough(version string) bool {
	at := [3]int{}
	parts := strings.Split(version, ".")
	if len(parts) < 2 || len(parts) > 4 {
		return false
	}
	for i, part := range parts[:min(len(parts), len(at))] {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return false
		}
		at[i] = n
	}
	return slices.Compare(at[:], []int{4, 8, 11}) >= 0
}

// learn gives the session a vocabulary.
func (w *worker) learn(vocabulary []byte) error {
	if bytes.Equal(vocabulary, w.vocabulary) {
		return nil
	}
	script := "(push)\n" + string(vocabulary)
	if w.vocabulary != nil {
		script = "(pop)\n" + script
	}
	w.vocabulary = bytes.Clone(vocabulary)
	return w.tell(script)
}

// tell writes commands that have no answer.
func (w *worker) tell(script string) error {
	if _, err := io.WriteString(w.in, script); err != nil {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return nil
}

// ask writes a script and returns what Z3 writes until it echoes the mark. Only
// the end of the script may ask: all of it is written before anything is read.
func (w *worker) ask(script []byte) ([]byte, error) {
	w.mark++
	mark := "margay " + strconv.Itoa(w.mark)
	if _, err := w.in.Write(script); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	if err := w.tell("(echo \"" + mark + "\")\n"); err != nil {
		return nil, err
	}
	var out []byte
	start := 0 // of the line
	for {
		part, err := w.read.ReadSlice('\n')
		if out = append(out, part...); len(out) > w.cfg.MaxOutput {
			return nil, fmt.Errorf("%w: %d bytes", ErrOutput, w.cfg.MaxOutput)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case bytes.HasPrefix(out[start:], []byte("(error")):
			return nil, fmt.Errorf("%w: %.200q", smt.ErrAnswer, out[start:])
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrEnded, err)
		}
		if string(bytes.TrimRight(out[start:], "\r\n")) == mark {
			return out[:start], nil
		}
		start = len(out)
	}
}
