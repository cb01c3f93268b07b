// Package firstuse has what a user knows of tools that no pack describes, and of
// folders outside his workspace, so that a simulated one can answer the questions that
// are asked when these are first used.
//
// Labels are given by hand. A file has a JSON object a line. That of a tool follows
// from what it does, by lab/effects/LABELS.md: {tool, effect, source, open}. That of a
// folder is about the root of a git working tree that a recorded session works in, and
// follows from the session: {folder, own, why}. It is the user's own where he or his
// organisation writes it, as the session shows: it names it so, or its commits are the
// user's. A clone of somebody else's project is not, and neither is a folder of which
// the session leaves a doubt.
package firstuse

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
)

// ErrLabel says that a line is no label.
var ErrLabel = errors.New("not a label of a tool or folder")

// Labels are what is known of tools and folders.
type Labels struct {
	Tools   map[string]effect.Profile // by their names
	Folders map[string]bool           // whether the user's own, by their paths
}

//go:embed testdata/*.labels.jsonl
var builtin embed.FS

// Names returns the names of the labels that come with the lab.
func Names() []string {
	files, _ := builtin.ReadDir("testdata")
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(f.Name(), ".labels.jsonl"))
	}
	return out
}

// Open reads the labels of a name that Names has, or of a file.
func Open(name string) (Labels, error) {
	if slices.Contains(Names(), name) {
		b, err := builtin.ReadFile("testdata/" + name + ".labels.jsonl")
		if err != nil {
			return Labels{}, err
		}
		return Read(bytes.NewReader(b))
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return Labels{}, fmt.Errorf("%w; labels that come with the lab are %s", err, strings.Join(Names(), " "))
	}
	defer f.Close()
	return Read(f)
}

// Read reads labels. A tool and a folder have one.
func Read(r io.Reader) (Labels, error) {
	out := Labels{map[string]effect.Profile{}, map[string]bool{}}
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		var l struct {
			Tool   string `json:"tool"`
			Effect string `json:"effect"`
			Source string `json:"source"`
			Open   bool   `json:"open"`
			Folder string `json:"folder"`
			Own    *bool  `json:"own"`
			Why    string `json:"why"`
		}
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		err := d.Decode(&l)
		if err == nil && l.Folder != "" {
			_, again := out.Folders[l.Folder]
			if again || !path.IsAbs(l.Folder) || path.Clean(l.Folder) != l.Folder || l.Own == nil || l.Why == "" || l.Tool+l.Effect+l.Source != "" || l.Open {
				return Labels{}, fmt.Errorf("line %d: %w: a folder has one absolute, clean path, own and why, and no more", line, ErrLabel)
			}
			out.Folders[l.Folder] = *l.Own
			continue
		}
		if err != nil || l.Own != nil || l.Why != "" {
			return Labels{}, fmt.Errorf("line %d: %w: %w", line, ErrLabel, cmp.Or(err, errors.New("own and why are of folders")))
		}
		e, err := effect.Parse(l.Effect)
		_, again := out.Tools[l.Tool]
		switch {
		case err != nil:
			return Labels{}, fmt.Errorf("line %d: %w: %w", line, ErrLabel, err)
		case l.Tool == "" || again:
			return Labels{}, fmt.Errorf("line %d: %w: a tool has one name and one label", line, ErrLabel)
		case !slices.Contains([]string{"machine", "user", "workspace", "world"}, l.Source):
			return Labels{}, fmt.Errorf("line %d: %w: unknown source %q", line, ErrLabel, l.Source)
		}
		out.Tools[l.Tool] = effect.Profile{Effect: e, Own: l.Source != "world", Open: l.Open}
	}
	return out, s.Err()
}

// Profile is what a person says of a tool, whatever it says of itself.
func (l Labels) Profile(tool, _ string) (effect.Profile, bool) {
	p, ok := l.Tools[tool]
	return p, ok
}

// Project is the labelled folder that a path is in; empty for none. It stands for the
// disk, which shows of a recorded path what is the root of a working tree.
func (l Labels) Project(full string) string {
	for dir := full; ; dir = path.Dir(dir) {
		if _, ok := l.Folders[dir]; ok {
			return dir
		}
		if dir == path.Dir(dir) {
			return ""
		}
	}
}
