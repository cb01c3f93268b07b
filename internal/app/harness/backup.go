package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that somebody else changed a file after it was read.
var ErrChanged = errors.New("the file was changed meanwhile")

// Content is a file as it was read. A missing file has no bytes, and Exists is
// false.
type Content struct {
	Bytes  []byte
	Exists bool
	path   string // behind symbolic links
	mode   fs.FileMode
}

// Read reads the file. A missing file is not an error.
func (f *File) Read() (*Content, error) {
	c := &Content{path: f.Path, mode: 0o600}
	target, err := filepath.EvalSymlinks(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(f.Path); err == nil {
			return nil, fmt.Errorf("%s is a link to nowhere", f.Path)
		}
		return c, nil
	case err != nil:
		return nil, err
	}
	c.path = target
	in, err := os.Open(filepath.Clean(target))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", f.Path)
	}
	c.Exists, c.mode = true, st.Mode().Perm()
	c.Bytes, err = io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(c.Bytes) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", f.Path, maxFile)
	}
	return c, err
}

// Backups keeps files as they were, in a folder that only the user can read:
// configuration may hold credentials.
type Backups struct{ Dir string }

// record says what a backup is of.
type record struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Folder  bool   `json:"folder"`  // its folder existed, too
	Written string `json:"written"` // SHA-256 of what Margay wrote
	content []byte
}

// wrote reports whether content is what Margay's last edit left. A nil record
// is of a file that Margay has not edited.
func (r *record) wrote(content []byte) bool { return r != nil && r.Written == digest(content) }

func (k Backups) at(f *File) string {
	return filepath.Join(k.Dir, string(f.Program)+"-"+digest([]byte(f.Path))[:16])
}

// Of returns where the backup of a file is.
func (k Backups) Of(f *File) string { return k.at(f) + ".orig" }

// load returns the backup of a file; nil for none.
func (k Backups) load(f *File) (*record, error) {
	b, err := os.ReadFile(k.at(f) + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(b, r); err != nil || r.Version != 1 || r.Path != f.Path {
		return nil, fmt.Errorf("%s is not a record of this version", k.at(f)+".json")
	}
	if r.Existed {
		r.content, err = os.ReadFile(k.Of(f))
	}
	return r, err
}

// Write replaces a file, which must still be as it was read. It keeps original,
// or what was original at the first edit that was not undone.
func (k Backups) Write(f *File, was *Content, original, after []byte) error {
	r := record{Version: 1, Path: f.Path, Existed: was.Exists, Written: digest(after)}
	_, err := os.Stat(filepath.Dir(was.path))
	r.Folder = err == nil
	old, err := k.load(f)
	if err != nil {
		return err
	}
	if old != nil {
		r.Existed, r.Folder = old.Existed, old.Folder
		if old.wrote(was.Bytes) {
			original = old.content // nobody else has written since
		} else {
			r.Existed = was.Exists
		}
	}
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return err
	}
	if r.Existed {
		if err := replace(k.Of(f), original, 0o600); err != nil {
			return err
		}
	}
	b, err := json.Marshal(&r)
	if err != nil {
		return err
	}
	if err := replace(k.at(f)+".json", b, 0o600); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(was.path), 0o700); err != nil {
		return err
	}
	return f.write(was, after)
}

// write replaces the file if it is still as it was read.
func (f *File) write(was *Content, after []byte) error {
	now, err := f.Read()
	if err != nil {
		return err
	}
	if now.Exists != was.Exists || !bytes.Equal(now.Bytes, was.Bytes) {
		return ErrChanged
	}
	return replace(was.path, after, was.mode)
}

// Undo undoes the edits of a file. If nobody has changed it since, Undo restores
// the old bytes, or removes a file that did not exist; exact is then true.
// Otherwise the file becomes what take makes of it.
func (k Backups) Undo(f *File, was *Content, take func([]byte) ([]byte, error)) (exact bool, err error) {
	r, err := k.load(f)
	if err != nil {
		return false, err
	}
	var after []byte
	exact = r.wrote(was.Bytes)
	switch {
	case exact && !r.Existed:
		if err := os.Remove(was.path); err != nil {
			return false, err
		}
		if !r.Folder {
			_ = os.Remove(filepath.Dir(was.path)) // unless somebody else uses it
		}
		return true, k.forget(f)
	case exact:
		after = r.content
	default:
		if after, err = take(was.Bytes); err != nil {
			return false, err
		}
	}
	if !bytes.Equal(after, was.Bytes) {
		if err := f.write(was, after); err != nil {
			return false, err
		}
	}
	return exact, k.forget(f)
}

// Exact reports whether Undo would restore a file exactly, also by removing it.
func (k Backups) Exact(f *File, was *Content) bool {
	r, err := k.load(f)
	return err == nil && r.wrote(was.Bytes)
}

func (k Backups) forget(f *File) error {
	for _, name := range []string{k.Of(f), k.at(f) + ".json"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func digest(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// replace writes a file whole or not at all.
func replace(path string, b []byte, mode fs.FileMode) error {
	t, err := os.CreateTemp(filepath.Dir(path), ".margay-*")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if err = errors.Join(err, t.Chmod(mode), t.Sync(), t.Close()); err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		_ = os.Remove(t.Name())
	}
	return err
}
