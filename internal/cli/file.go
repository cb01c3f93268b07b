package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/margaydev/margay/internal/problem"
)

// output is where results go. It remembers the first error: the exit code must
// not be 0 if the result was not written. It is safe for concurrent use.
type output struct {
	io.Writer
	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// failed returns the first error.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Bare is the writer behind an output, for child programs.
func Bare(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}

// ReadFile reads up to most bytes of a file. Its errors name the file.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(filepath.Clean(name))
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, most)); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s can't be read: %w", name, Reason(err))
}

// ReadInput is ReadFile, but "-" stands for standard input.
func (c *Command) ReadInput(name string, most int64) ([]byte, error) {
	if name != "-" {
		return ReadFile(name, most)
	}
	b, err := io.ReadAll(io.LimitReader(c.In, most))
	if err != nil {
		err = fmt.Errorf("standard input can't be read: %w", err)
	}
	return b, err
}

// ReadHidden asks on the terminal for a value and does not show it. It reports
// false if standard input is not a terminal.
func (c *Command) ReadHidden(prompt string) (string, bool, error) {
	f, ok := c.In.(*os.File)
	if !ok || !IsTerminal(f) {
		return "", false, nil
	}
	fmt.Fprint(c.Err, prompt)
	b, err := term.ReadPassword(int(f.Fd())) //nolint:gosec // file descriptors are small
	fmt.Fprintln(c.Err)
	return string(b), true, err
}

// Ask asks a question on the terminal. It reports false where standard input is
// not a terminal, and takes no more of the input than the answer's line.
func (c *Command) Ask(question string) (yes, asked bool) {
	if c.JSON || !IsTerminal(c.In) {
		return false, false
	}
	fmt.Fprint(c.Err, question+" [y/N] ")
	var line []byte
	for one := make([]byte, 1); len(line) < 1024; line = append(line, one[0]) {
		if n, err := c.In.Read(one); n == 0 || err != nil || one[0] == '\n' {
			break
		}
	}
	answer := strings.ToLower(strings.TrimSpace(string(line)))
	return answer == "y" || answer == "yes", true
}

// Modes of files of results.
const (
	ForAll   fs.FileMode = 0o644 // nothing in the file is private
	ForOwner fs.FileMode = 0o600
)

// WriteFile writes a file of results, which anybody may read.
func WriteFile(path string, b []byte) error {
	return PlaceFile(path, ForAll, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// PlaceFile writes a file that appears whole and durable, or not at all: an older
// file stays until then. If path is a link, the file that it leads to is
// replaced. A device or a pipe is written to directly.
//
// Errors of write itself are returned as they are.
func PlaceFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	path = filepath.Clean(path)
	cant := func(err error) error {
		return problem.Failure("name a file that you may write to, in a folder that exists", "%s can't be written: %w", path, Reason(err))
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	name, final := path, ""
	flags := os.O_WRONLY
	if st, err := os.Stat(path); err != nil || st.Mode().IsRegular() {
		name, final = filepath.Join(filepath.Dir(path), ".margay-"+rand.Text()+".tmp"), path
		flags |= os.O_CREATE | os.O_EXCL
	} else if st.IsDir() {
		return cant(errors.New("it is a folder"))
	}
	f, err := os.OpenFile(name, flags, mode) //nolint:gosec // the user named it
	if err != nil {
		return cant(err)
	}
	if final != "" {
		defer func() { _ = os.Remove(name) }() // does nothing after the rename
	}
	w := &output{Writer: f}
	if err = write(w); err != nil && w.failed() == nil {
		_ = f.Close()
		return err
	}
	if err == nil && final != "" {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && final != "" {
		err = os.Rename(name, final)
	}
	if err != nil {
		return cant(err)
	}
	if d, err := os.Open(filepath.Dir(path)); err == nil { // makes the new name durable, too, if the system can
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
