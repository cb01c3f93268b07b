package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that a file is not as it was read: somebody else wrote it.
var ErrChanged = errors.New("the file was changed meanwhile")

// Content is a file as it was read. A missing one has no bytes and does not
// exist.
type Content struct {
	Bytes  []byte
	Exists bool
	path   string // behind symbolic links
	mode   fs.FileMode
}

// Read reads the file. It is no error where there is none.
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
		return nil, fmt.Errorf("%s is no file", f.Path)
	}
	c.Exists, c.mode = true, st.Mode().Perm()
	c.Bytes, err = io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(c.Bytes) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", f.Path, maxFile)
	}
	return c, err
}

// Backups keeps files as they were, in one folder that is the user's alone:
// configuration may hold credentials.
type Backups struct{ Dir string }

// record says what a backup is of.
type record struct {
	Version int    `json:"version"`
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Folder  bool   `json:"folder"`  // its folder was there
	Written string `json:"written"` // SHA-256 of what stands in its place
	content []byte
}

func (k Backups) at(f *File) string {
	sum := sha256.Sum256([]byte(f.Path))
	return filepath.Join(k.Dir, string(f.Program)+"-"+hex.EncodeToString(sum[:8]))
}

// Of returns where the backup of a file is.
func (k Backups) Of(f *File) string { return k.at(f) + ".orig" }

// load returns the backup of a file; nil where there is none.
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
		return nil, fmt.Errorf("%s is no record of this version", k.at(f)+".json")
	}
	if r.Existed {
		r.content, err = os.ReadFile(k.Of(f))
	}
	return r, err
}

// Write replaces a file, which must still be as it was read, and keeps what
// original was before the first edit that is not taken back.
func (k Backups) Write(f *File, was *Content, original, after []byte) error {
	sum := sha256.Sum256(after)
	r := record{Version: 1, Path: f.Path, Existed: was.Exists, Written: hex.EncodeToString(sum[:])}
	_, err := os.Stat(filepath.Dir(was.path))
	r.Folder = err == nil
	old, err := k.load(f)
	if err != nil {
		return err
	}
	if old != nil {
		r.Existed, r.Folder = old.Existed, old.Folder
		if bytes.Equal(digest(was.Bytes), []byte(old.Written)) {
			original = old.content // nobody else wrote in between
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

// write replaces the file, where it is still as it was read.
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

// Undo takes edits of a file back. Where it is as they left it, the bytes from
// before come back, or the file goes; otherwise it becomes what take makes of
// it. exact says which.
func (k Backups) Undo(f *File, was *Content, take func([]byte) ([]byte, error)) (exact bool, err error) {
	r, err := k.load(f)
	if err != nil {
		return false, err
	}
	after := []byte(nil)
	exact = r != nil && bytes.Equal(digest(was.Bytes), []byte(r.Written))
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

// Exact reports whether Undo would bring back the bytes from before: missing
// ones, too.
func (k Backups) Exact(f *File, was *Content) bool {
	r, err := k.load(f)
	return err == nil && r != nil && bytes.Equal(digest(was.Bytes), []byte(r.Written))
}

func (k Backups) forget(f *File) error {
	for _, name := range []string{k.Of(f), k.at(f) + ".json"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func digest(b []byte) []byte {
	sum := sha256.Sum256(b)
	return []byte(hex.EncodeToString(sum[:]))
}

// replace writes a file whole or not at all.
func replace(path string, b []byte, mode fs.FileMode) (err error) {
	t, err := os.CreateTemp(filepath.Dir(path), ".margay-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(t.Name())
		}
	}()
	_, err = t.Write(b)
	for _, step := range []func() error{func() error { return t.Chmod(mode) }, t.Sync} {
		if err == nil {
			err = step()
		}
	}
	if cerr := t.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(t.Name(), path)
	}
	return err
}
