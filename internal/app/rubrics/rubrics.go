// Package rubrics keeps a user's registry of rubrics in the state folder: the
// signed files, the trusted public keys of others, and publishing under the
// user's own key.
package rubrics

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/keys"
	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/include"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/signed"
)

// maxKeys bounds the public keys that are read.
const maxKeys = 64

// Folder is where a registry is: signed rubrics, and public keys beside them.
type Folder struct {
	dir, keys string
	named     bool // by the configuration: it must exist
}

// Of is the folder of rubrics that a configuration names, or else the one in the
// state folder.
func Of(c *config.Config) Folder {
	named := c.Declassify.Rubrics
	return Folder{cmp.Or(named, filepath.Join(c.State(), "rubrics")), c.Keys(), named != ""}
}

// InForce returns the rubrics of a registry that are in force.
func InForce(reg *rubric.Registry) []*rubric.Rubric {
	return slices.DeleteFunc(reg.All(), func(r *rubric.Rubric) bool { return !reg.Active(r) })
}

// Dir returns the folder.
func (f Folder) Dir() string { return f.dir }

// Key reads the user's own signing key, and makes it if it is missing.
func (f Folder) Key() (ed25519.PrivateKey, error) { return keys.Rubric(f.keys) }

// Public returns the user's own public key, and makes the key if it is missing.
func (f Folder) Public() (ed25519.PublicKey, error) {
	k, err := f.Key()
	if err != nil {
		return nil, err
	}
	return k.Public().(ed25519.PublicKey), nil
}

// own returns the user's own public key, or nothing if there is none yet.
func (f Folder) own() ([]ed25519.PublicKey, error) {
	if _, err := os.Lstat(keys.RubricPath(f.keys)); err != nil {
		return nil, nil
	}
	pub, err := f.Public()
	return []ed25519.PublicKey{pub}, err
}

// Trusted returns the public keys whose signatures count: the user's own, if
// there is one, and those in the folder.
func (f Folder) Trusted() ([]ed25519.PublicKey, error) {
	out, err := f.own()
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(f.dir, "*"+signed.KeyExt))
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
		k, err := signed.ParseKey(b)
		if err != nil {
			return nil, fmt.Errorf("rubrics: %s: %w", name, err)
		}
		if !slices.ContainsFunc(out, func(o ed25519.PublicKey) bool { return o.Equal(k) }) {
			out = append(out, k)
		}
	}
	return out, nil
}

// readSome reads the start of a file. It opens nothing else, such as a pipe to
// which nobody writes.
func readSome(name string, most int64) ([]byte, error) {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
		return nil, cmp.Or(err, fmt.Errorf("rubrics: %s is not a file", name))
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// ErrRefused says that a file in the folder can't be trusted.
var ErrRefused = errors.New("a rubric is refused")

// Open reads the registry to check releases by it. A refused rubric may be a later
// revision, or narrow another one: without it Margay might release more, so it is
// an ErrRefused. An expired rubric is not an error, and is returned: the registry
// remembers it and refuses the releases it was for. A missing folder is an empty
// one, unless the configuration names it.
func (f Folder) Open(now func() time.Time) (*rubric.Registry, []*rubric.Refusal, error) {
	if _, err := os.Stat(f.dir); f.named && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("rubrics: the folder %s does not exist", f.dir)
	}
	reg, refused, err := f.Read(now)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range refused {
		if !errors.Is(r, rubric.ErrExpired) {
			return nil, nil, fmt.Errorf("%w, and without it more might be released: publish it again, or move it out of %s: %w", ErrRefused, f.dir, r)
		}
	}
	return reg, refused, nil
}

// Read reads the registry to show it, and returns refused rubrics with the reason.
// A missing folder is an empty one.
func (f Folder) Read(now func() time.Time) (*rubric.Registry, []*rubric.Refusal, error) {
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
		if st, err := os.Stat(name); filepath.Ext(name) == signed.Ext && err == nil && !st.IsDir() && !st.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("rubrics: %s is not a file", name)
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

// Sign signs rubrics with the user's key, and makes it if it is missing.
func (f Folder) Sign(rs ...*rubric.Rubric) ([]Signed, error) {
	key, err := f.Key()
	if err != nil {
		return nil, err
	}
	files := make([]Signed, len(rs))
	for i, r := range rs {
		files[i] = Signed{r, rubric.Sign(r, key)}
	}
	return files, nil
}

// Verify reads a signed rubric that a trusted key signed and that has not
// expired. A refusal is a *rubric.Refusal.
func (f Folder) Verify(name string, b []byte) (*rubric.Rubric, error) {
	trusted, err := f.Trusted()
	if err != nil {
		return nil, err
	}
	return rubric.NewRegistry(rubric.Config{Keys: trusted}).Add(name, b)
}

// Put puts signed rubrics into the folder, all or none, and returns the names of
// their files. It is ErrOlder if a rubric of the same name has a later revision,
// or the same revision and another text, in the folder or among files.
func (f Folder) Put(files ...Signed) ([]string, error) {
	reg, _, err := f.Read(nil)
	if err != nil {
		return nil, err
	}
	for i, s := range files {
		there := reg.All()
		for _, o := range files[:i] {
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
		for _, name := range append(temps, added...) { // empty after success
			_ = os.Remove(name)
		}
	}()
	for _, s := range files {
		temp, err := f.stage(s.File)
		if temp != "" {
			temps = append(temps, temp)
		}
		if err != nil {
			return nil, fmt.Errorf("rubrics: %w", err)
		}
		r := s.Rubric
		names = append(names, filepath.Join(f.dir, r.Name()+"-"+fmt.Sprint(r.Revision())+"-"+r.Hash().Short()+signed.Ext))
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
	_ = d.Sync() // not on Windows
	return names, d.Close()
}

// stage writes a file under a temporary name.
func (f Folder) stage(b []byte) (name string, err error) {
	tmp, err := os.CreateTemp(f.dir, ".rubric-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.Write(b)
	return tmp.Name(), errors.Join(err, tmp.Sync(), tmp.Close())
}

// Signer is the owner of the key that signed a rubric.
type Signer struct {
	Key string // its id, as signed.KeyID writes it
	Own bool   // it is the user's own
}

// Signers returns who signed the rubrics in the folder, by their hashes: also
// expired ones, but none without the signature of a trusted key.
func (f Folder) Signers() (map[rubric.Hash]Signer, error) {
	trusted, err := f.Trusted()
	if err != nil {
		return nil, err
	}
	own, err := f.own()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "*"+signed.Ext))
	if err != nil {
		return nil, err
	}
	out := map[rubric.Hash]Signer{}
	for _, name := range files {
		b, err := readSome(name, rubric.MaxBytes+1024)
		if err != nil {
			return nil, err
		}
		for _, k := range trusted {
			if canonical, err := signed.Open(b, []ed25519.PublicKey{k}, rubric.MaxBytes); err == nil {
				out[sha256.Sum256(canonical)] = Signer{signed.KeyID(k), len(own) > 0 && own[0].Equal(k)}
			}
		}
	}
	return out, nil
}

// Beside opens what a rubric's file includes: vocabularies of the library, by
// names that start with library.Prefix, and files in the rubric's own folder
// and below. No name and no link leads out of that folder.
func Beside(name string) include.Open {
	return func(file string) ([]byte, error) {
		if strings.HasPrefix(file, library.Prefix) {
			return library.Open(file)
		}
		folder, err := os.OpenRoot(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		st, err := folder.Stat(filepath.FromSlash(file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("the rubric's folder has no such file; names of the library start with %s", library.Prefix)
		case err != nil:
			return nil, err
		case !st.Mode().IsRegular(): // such as a pipe to which nobody writes
			return nil, errors.New("it is not a regular file")
		}
		f, err := folder.Open(filepath.FromSlash(file))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, rubric.MaxBytes+1))
	}
}
