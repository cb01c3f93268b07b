package app

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// output is where results go. It remembers the first error, since a result
// that nobody got must not end with 0. It is safe for concurrent use.
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

// bare is what an output writes to, for programs that get it as their own and
// for looking at what it is.
func bare(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.Writer
	}
	return w
}

// Modes of files of results.
const (
	forAll   fs.FileMode = 0o644 // what holds nothing private
	forOwner fs.FileMode = 0o600
)

// writeFile writes a file of results, which anybody may read.
func writeFile(path string, b []byte) error {
	return placeFile(path, forAll, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// placeFile writes a file that appears whole, on the disk, or not at all: what
// was there before stays until then. Where a link is named, the file that it
// leads to is replaced; a device or a pipe is written to as it is.
//
// Errors of write itself are returned as they are.
func placeFile(path string, mode fs.FileMode, write func(io.Writer) error) error {
	path = filepath.Clean(path)
	cant := func(err error) error {
		return failure("name a file, in a folder that is there, that you may write to", "%s can't be written: %w", path, reason(err))
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
		defer func() { _ = os.Remove(name) }() // gone once it is renamed
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
	if d, err := os.Open(filepath.Dir(path)); err == nil { // the new name, too, where the system can
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
