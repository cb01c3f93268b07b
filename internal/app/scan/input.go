package scan

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/margaydev/margay/internal/problem"
)

// Input is an opened text to scan.
type Input struct {
	Name string // the file, or "stdin"
	r    io.Reader
	file *os.File // nil for standard input
}

// ErrBinary says that an input is not text.
var ErrBinary = errors.New("is binary")

// Files returns the regular files of a folder and of those in it, in lexical
// order, without .git. Links are not followed.
func Files(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Type().IsRegular():
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		return nil, problem.Failure("is it yours?", "%s can't be read: %w", dir, err)
	}
	return out, nil
}

// Open opens a file, or stdin if file is "-", and reads its start. It refuses
// folders and binary data. Errors are of type *problem.Error.
func Open(file string, stdin io.Reader) (*Input, error) {
	in := &Input{Name: "stdin", r: stdin}
	if file != "-" {
		f, err := os.Open(filepath.Clean(file))
		if err != nil {
			return nil, problem.Failure("give a file, or - for standard input", "%s can't be read: %w", file, errors.Unwrap(err))
		}
		if st, err := f.Stat(); err == nil && st.IsDir() {
			_ = f.Close()
			return nil, problem.Failure("give a file, or - for standard input", "%s is a folder", file)
		}
		in.Name, in.r, in.file = filepath.ToSlash(filepath.Clean(file)), f, f
	}
	head := make([]byte, 64<<10)
	n, err := in.r.Read(head)
	if err != nil && !errors.Is(err, io.EOF) {
		in.Close()
		return nil, problem.Failure("is it readable?", "%s can't be read: %w", in.Name, err)
	}
	if Binary(head[:n]) {
		in.Close()
		return nil, problem.Failure("margay scan reads text; unpack or decode it first", "%s %w", in.Name, ErrBinary)
	}
	in.r = io.MultiReader(bytes.NewReader(head[:n]), in.r)
	return in, nil
}

// Close closes the file; standard input stays open.
func (in *Input) Close() {
	if in.file != nil {
		_ = in.file.Close()
	}
}

// Binary reports whether the start of a text is not text: it has a zero byte, or
// much invalid UTF-8.
func Binary(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return true
	}
	bad := 0
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		i += n
	}
	return bad > 8 && bad*10 > len(b)
}
