// Package rubrics keeps a user's registry of rubrics in the state folder: the
// signed files, the public keys of others that are trusted, and publishing
// under the user's own key.
package rubrics

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/keys"
	"github.com/margaydev/margay/rubric"
)

// maxKeys bounds the public keys that are read.
const maxKeys = 64

// Folder is where a registry is: signed rubrics, and public keys beside them.
type Folder struct {
	dir, keys string
	named     bool // by the configuration: it must be there
}

// In returns the registry in a state folder, whose own key is in a folder of
// keys.
func In(state, keyDir string) Folder { return Folder{filepath.Join(state, "rubrics"), keyDir, false} }

// At returns the registry in a folder that somebody named, with the own key in
// a folder of keys.
func At(dir, keyDir string) Folder { return Folder{dir, keyDir, true} }

// Dir returns the folder.
func (f Folder) Dir() string { return f.dir }

// Key reads the user's own signing key, making it if it is missing.
func (f Folder) Key() (ed25519.PrivateKey, error) { return keys.Rubric(f.keys) }

// Public returns the user's own public key, making the key if it is missing.
func (f Folder) Public() (ed25519.PublicKey, error) {
	k, err := f.Key()
	if err != nil {
		return nil, err
	}
	pub, _ := k.Public().(ed25519.PublicKey)
	return pub, nil
}

// Trusted returns the public keys whose signatures count: the user's own,
// where there is one, and those in the folder.
func (f Folder) Trusted() ([]ed25519.PublicKey, error) {
	var out []ed25519.PublicKey
	if f.hasKey() {
		pub, err := f.Public()
		if err != nil {
			return nil, err
		}
		out = append(out, pub)
	}
	names, err := filepath.Glob(filepath.Join(f.dir, "*"+rubric.KeyExt))
	if err != nil {
		return nil, err
	}
	if len(names) > maxKeys {
		return nil, fmt.Errorf("rubrics: more than %d public keys in %s", maxKeys, f.dir)
	}
	for _, name := range names {
		b, err := readSome(name, 4096)
		if err != nil {
			return nil, err
		}
		k, err := rubric.ParseKey(b)
		if err != nil {
			return nil, fmt.Errorf("rubrics: %s: %w", name, err)
		}
		if !slices.ContainsFunc(out, func(o ed25519.PublicKey) bool { return o.Equal(k) }) {
			out = append(out, k)
		}
	}
	return out, nil
}

// hasKey reports whether the user has a signing key.
func (f Folder) hasKey() bool {
	_, err := os.Lstat(keys.RubricPath(f.keys))
	return err == nil
}

// readSome reads the beginning of a file. What is no file, such as a pipe that
// nobody writes to, is not opened.
func readSome(name string, most int64) ([]byte, error) {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return nil, cmp.Or(err, fmt.Errorf("rubrics: %s is no file", name))
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// ErrRefused says that something in the folder may not be relied on.
var ErrRefused = errors.New("a rubric is refused")

// Open reads the registry for releases to be held to it. What is refused may
// have been a later revision, or have narrowed another rubric: without it more
// would be let out, so it is an ErrRefused. Those that have expired are not:
// the registry remembers them, and refuses releases that they were for. They
// are returned. A folder that is not there is an empty one, but for one that
// was named.
func (f Folder) Open(now func() time.Time) (*rubric.Registry, []*rubric.Refusal, error) {
	if _, err := os.Stat(f.dir); f.named && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("rubrics: there is no folder %s", f.dir)
	}
	reg, refused, err := f.Look(now)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range refused {
		if !errors.Is(r, rubric.ErrExpired) {
			return nil, nil, fmt.Errorf("%w, and without it more might be let out: publish it again, or move it out of %s: %w", ErrRefused, f.dir, r)
		}
	}
	return reg, refused, nil
}

// Look reads the registry for somebody to see. What is refused is returned
// with the reason. A folder that is not there is an empty one.
func (f Folder) Look(now func() time.Time) (*rubric.Registry, []*rubric.Refusal, error) {
	trusted, err := f.Trusted()
	if err != nil {
		return nil, nil, err
	}
	c := rubric.Config{Keys: trusted, Now: now}
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return rubric.NewRegistry(c), nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("rubrics: %w", err)
	}
	for _, e := range entries {
		name := filepath.Join(f.dir, e.Name())
		if st, err := os.Stat(name); filepath.Ext(name) == rubric.Ext && err == nil && !st.IsDir() && !st.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("rubrics: %s is no file", name)
		}
	}
	reg, refused, err := rubric.Load(os.DirFS(f.dir), c)
	if err != nil {
		err = fmt.Errorf("%w (in %s)", err, f.dir)
	}
	return reg, refused, err
}

// ErrOlder says that a later revision is published, or another rubric as the
// same one.
var ErrOlder = errors.New("a later revision is published, or another rubric as this one")

// Signed is a rubric with the file that it was signed as.
type Signed struct {
	Rubric *rubric.Rubric
	File   []byte
}

// Publish signs rubrics with the user's key and puts them into the folder, as
// Put does.
func (f Folder) Publish(rs ...*rubric.Rubric) ([]string, error) {
	key, err := f.Key()
	if err != nil {
		return nil, err
	}
	signed := make([]Signed, len(rs))
	for i, r := range rs {
		signed[i] = Signed{r, rubric.Sign(r, key)}
	}
	return f.Put(signed...)
}

// Put puts signed rubrics into the folder, each whole, and returns the names of
// their files. One whose name is there, or among them, with a later revision, or with another text as the same
// one, is ErrOlder; then, and after any other error, none is there.
func (f Folder) Put(signed ...Signed) ([]string, error) {
	reg, _, err := f.Look(nil)
	if err != nil {
		return nil, err
	}
	for i, s := range signed {
		there := reg.All()
		for _, o := range signed[:i] {
			there = append(there, o.Rubric)
		}
		for _, o := range there {
			if o.Name() == s.Rubric.Name() && o.Hash() != s.Rubric.Hash() && o.Revision() >= s.Rubric.Revision() {
				return nil, fmt.Errorf("%w: %s", ErrOlder, o)
			}
		}
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return nil, fmt.Errorf("rubrics: %w", err)
	}
	var names, temps, added []string
	defer func() {
		for _, name := range append(temps, added...) { // none once all are there
			_ = os.Remove(name)
		}
	}()
	for _, s := range signed {
		temp, err := f.stage(s.File)
		if temp != "" {
			temps = append(temps, temp)
		}
		if err != nil {
			return nil, fmt.Errorf("rubrics: %w", err)
		}
		r := s.Rubric
		names = append(names, filepath.Join(f.dir, r.Name()+"-"+fmt.Sprint(r.Revision())+"-"+r.Hash().Short()+rubric.Ext))
	}
	for i, name := range names {
		_, err := os.Lstat(name)
		isNew := errors.Is(err, fs.ErrNotExist)
		if err := os.Rename(temps[i], name); err != nil {
			return nil, fmt.Errorf("rubrics: %w", err)
		}
		if isNew {
			added = append(added, name)
		}
	}
	temps, added = nil, nil
	d, err := os.Open(f.dir)
	if err != nil {
		return nil, fmt.Errorf("rubrics: %w", err)
	}
	_ = d.Sync() // Windows has no such thing
	return names, d.Close()
}

// stage writes a file that nobody looks for yet to the disk.
func (f Folder) stage(b []byte) (name string, err error) {
	tmp, err := os.CreateTemp(f.dir, ".rubric-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(b)
	return tmp.Name(), errors.Join(err, tmp.Sync(), tmp.Close())
}

// IsSigned reports whether a file's beginning is that of a signed rubric.
func IsSigned(b []byte) bool { return strings.HasPrefix(string(b), "margay-rubric-v") }
