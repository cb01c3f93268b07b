package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// prepare makes the folder and an empty file where there are none, checks who
// may read the file, and returns its path without links.
//
// It never opens a file that is there: closing it again would drop the locks
// that another Store of this process holds on it.
func prepare(path string) (string, error) {
	if path == "" {
		return "", errors.New("sqlite store: the database needs a path")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("sqlite store: %w: choose a folder that you may write to", err)
	}
	link, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return path, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) { // else another process was faster
			return "", fmt.Errorf("sqlite store: %w: choose a folder that you may write to", err)
		}
		if link, err = os.Lstat(path); err != nil {
			return "", fmt.Errorf("sqlite store: %w", err)
		}
	case err != nil:
		return "", fmt.Errorf("sqlite store: %w", err)
	}
	file, target := link, path
	if link.Mode()&fs.ModeSymlink != 0 {
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return "", fmt.Errorf("sqlite store: %w: %s is a link to nothing; remove it, or make its target", err, path)
		}
		if file, err = os.Stat(target); err != nil {
			return "", fmt.Errorf("sqlite store: %w", err)
		}
		if !ours(link) || !ours(file) {
			return "", fmt.Errorf("%w: replace %s by a file of your own, or name another path", ErrOwner, path)
		}
	}
	if !file.Mode().IsRegular() {
		return "", fmt.Errorf("sqlite store: %s is not a file: name the path of a file", path)
	}
	if openToOthers(file) {
		return "", fmt.Errorf("%w: chmod 600 %s", ErrOpen, target)
	}
	return target, nil
}
