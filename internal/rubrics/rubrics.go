// Package rubrics keeps a user's registry of rubrics in the state folder: the
// signed files, the public keys of others that are trusted, and publishing
// under the user's own key.
package rubrics

import (
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
}

// In returns the registry in a state folder, whose own key is in a folder of
// keys.
func In(state, keyDir string) Folder { return Folder{filepath.Join(state, "rubrics"), keyDir} }

// At returns the registry in a folder, with the own key in a folder of keys.
func At(dir, keyDir string) Folder { return Folder{dir, keyDir} }

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

func readSome(name string, most int64) ([]byte, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// Open reads the registry. A folder that is not there is an empty one. What
// was refused is returned with the reason.
func (f Folder) Open(now func() time.Time) (*rubric.Registry, []*rubric.Refusal, error) {
	trusted, err := f.Trusted()
	if err != nil {
		return nil, nil, err
	}
	c := rubric.Config{Keys: trusted, Now: now}
	if _, err := os.Stat(f.dir); errors.Is(err, fs.ErrNotExist) {
		return rubric.NewRegistry(c), nil, nil
	}
	return rubric.Load(os.DirFS(f.dir), c)
}

// ErrOlder says that a later revision is published, or another rubric as the
// same one.
var ErrOlder = errors.New("a later revision is published, or another rubric as this one")

// Publish signs rubrics with the user's key and puts them into the folder. One
// that is there already is left as it is; one whose name is there with a later
// revision, or with another text as the same one, is ErrOlder, and none is
// published. It returns the names of the files.
func (f Folder) Publish(rs ...*rubric.Rubric) ([]string, error) {
	key, err := f.Key()
	if err != nil {
		return nil, err
	}
	reg, _, err := f.Open(nil)
	if err != nil {
		return nil, err
	}
	for _, r := range rs {
		for _, o := range reg.All() {
			if o.Name() == r.Name() && o.Hash() != r.Hash() && o.Revision() >= r.Revision() {
				return nil, fmt.Errorf("%w: %s", ErrOlder, o)
			}
		}
	}
	var out []string
	for _, r := range rs {
		name, err := f.Put(r, rubric.Sign(r, key))
		if err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// Put writes a signed rubric into the folder, whole or not at all.
func (f Folder) Put(r *rubric.Rubric, signed []byte) (string, error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", fmt.Errorf("rubrics: %w", err)
	}
	name := filepath.Join(f.dir, r.Name()+"-"+fmt.Sprint(r.Revision())+"-"+r.Hash().Short()+rubric.Ext)
	tmp, err := os.CreateTemp(f.dir, ".rubric-*")
	if err != nil {
		return "", fmt.Errorf("rubrics: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(signed)
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return "", fmt.Errorf("rubrics: %w", err)
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return "", fmt.Errorf("rubrics: %w", err)
	}
	return name, nil
}

// IsSigned reports whether a file's beginning is that of a signed rubric.
func IsSigned(b []byte) bool { return strings.HasPrefix(string(b), "margay-rubric-v") }
