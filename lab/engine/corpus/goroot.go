package corpus

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

var goroot = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", errors.New("it needs a Go distribution, and go env GOROOT fails")
	}
	return strings.TrimSpace(string(out)), nil
})

// Source calls each with the Go files of the distribution, in the order of
// their paths, without tests and what others wrote.
func Source(each func(path string)) error {
	root, err := goroot()
	if err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(root, "src"), func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == "vendor"):
			return fs.SkipDir
		case !e.IsDir() && strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") && !made(p):
			each(p)
		}
		return nil
	})
}

// made reports whether a file is a table that a program wrote.
func made(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "z") || strings.Contains(name, "tables") || strings.HasPrefix(name, "rewrite") || name == "opGen.go"
}

// next reads the next of the distribution's Go files, in an order of the seed's.
func (d *draw) next() ([]byte, error) {
	if d.list == nil {
		if err := Source(func(p string) { d.list = append(d.list, p) }); err != nil {
			return nil, err
		}
		d.Shuffle(len(d.list), func(i, j int) { d.list[i], d.list[j] = d.list[j], d.list[i] })
	}
	if d.turn >= len(d.list) {
		return nil, errors.New("the distribution has no more files")
	}
	d.turn++
	return os.ReadFile(d.list[d.turn-1])
}

func source(d *draw) error {
	b, err := d.next()
	d.b = append(d.b, b...)
	return err
}

// prose takes half of Newton's book where it is there, and then comments.
func prose(d *draw) error {
	root, err := goroot()
	if err != nil {
		return err
	}
	if len(d.b) == 0 {
		book, err := os.ReadFile(filepath.Join(root, "src", "testdata", "Isaac.Newton-Opticks.txt"))
		if err == nil && len(book) > 0 {
			d.b = append(d.b, book[:min(len(book), d.want/2+1)]...)
			return nil
		}
	}
	for was := len(d.b); len(d.b) == was; {
		b, err := d.next()
		if err != nil {
			return err
		}
		d.comments(b)
	}
	return nil
}

// comments appends the comments of a source file that are sentences.
func (d *draw) comments(b []byte) {
	var group [][]byte
	take := func() {
		text := bytes.Join(group, []byte("\n"))
		if len(text) > 120 && bytes.Contains(text, []byte(". ")) && !bytes.Contains(text, []byte("Copyright")) {
			d.b = append(append(d.b, text...), "\n\n"...)
		}
		group = group[:0]
	}
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("// ")); ok {
			group = append(group, rest)
		} else if len(group) > 0 {
			take()
		}
	}
	take()
}

// javascript takes the distribution's minified file, a third of the text at
// most, and generates the rest.
func javascript(d *draw) error {
	if len(d.b) == 0 {
		if root, err := goroot(); err == nil {
			b, err := os.ReadFile(filepath.Join(root, "src", "internal", "trace", "traceviewer", "static", "webcomponents.min.js"))
			if err == nil && len(b) > 0 {
				d.b = append(d.b, b[:min(len(b), d.want/3+1)]...)
				return nil
			}
		}
	}
	d.script()
	return nil
}
