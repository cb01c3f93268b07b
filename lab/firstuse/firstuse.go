// Package firstuse has what a user knows of tools that no pack describes, so that a
// simulated one can answer the question that is asked when such a tool is first
// used.
//
// Labels are given by hand, from what the tool does, by lab/effects/LABELS.md. A
// file has a JSON object a line: {tool, effect, source, open}.
package firstuse

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/margaydev/margay/taint/effect"
)

// ErrLabel says that a line is no label.
var ErrLabel = errors.New("not a label of a tool")

// Labels are what tools do, by their names.
type Labels map[string]effect.Profile

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
			return nil, err
		}
		return Read(bytes.NewReader(b))
	}
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, fmt.Errorf("%w; labels that come with the lab are %s", err, strings.Join(Names(), " "))
	}
	defer f.Close()
	return Read(f)
}

// Read reads labels. A tool has one.
func Read(r io.Reader) (Labels, error) {
	out := Labels{}
	s := bufio.NewScanner(r)
	for line := 1; s.Scan(); line++ {
		var l struct {
			Tool   string `json:"tool"`
			Effect string `json:"effect"`
			Source string `json:"source"`
			Open   bool   `json:"open"`
		}
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", line, ErrLabel, err)
		}
		e, err := effect.Parse(l.Effect)
		_, again := out[l.Tool]
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w: %w", line, ErrLabel, err)
		case l.Tool == "" || again:
			return nil, fmt.Errorf("line %d: %w: a tool has one name and one label", line, ErrLabel)
		case !slices.Contains([]string{"machine", "user", "workspace", "world"}, l.Source):
			return nil, fmt.Errorf("line %d: %w: unknown source %q", line, ErrLabel, l.Source)
		}
		out[l.Tool] = effect.Profile{Effect: e, Own: l.Source != "world", Open: l.Open}
	}
	return out, s.Err()
}

// Profile is what a person says of a tool, whatever it says of itself.
func (l Labels) Profile(tool, _ string) (effect.Profile, bool) {
	p, ok := l[tool]
	return p, ok
}
