package effects

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/margaydev/margay/taint/effect"
	"github.com/margaydev/margay/taint/suggest"
)

//go:embed testdata/tools.labels*.jsonl testdata/split.txt
var data embed.FS

// named is a file that was read.
type named struct {
	name string
	text []byte
}

// open reads a file of the user's or, without a path, one of this repository's.
func open(path, own string) (*named, error) {
	if path == "" {
		b, err := data.ReadFile("testdata/" + own)
		return &named{own, b}, err
	}
	b, err := os.ReadFile(path)
	return &named{filepath.Base(path), b}, err
}

// hash is that of the file.
func (f *named) hash() string {
	sum := sha256.Sum256(f.text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Parts of the split, by server.
const (
	Train = "train"
	Dev   = "dev"
	Test  = "test"
)

// toolLabel is a line of tools.labels.jsonl.
type toolLabel struct {
	Server     string `json:"server"`
	Tool       string `json:"tool"`
	Definition string `json:"definition"`
	Effect     string `json:"effect"`
	Source     string `json:"source"`
	Open       bool   `json:"open"`
	Why        string `json:"why"`
	Labeller   string `json:"labeller"`
	Read       string `json:"read"` // what it rests on: source or description
}

func (l *toolLabel) key() string { return l.Server + "/" + l.Tool }

// classes are the classes that a label stands for.
func (l *toolLabel) classes() (classes, error) {
	e, err := effect.Parse(l.Effect)
	if err != nil || int(e) >= suggest.Effects {
		return classes{}, fmt.Errorf("%s: effect %q is none of a tool", l.key(), l.Effect)
	}
	c := classes{effect: e, open: l.Open}
	switch l.Source {
	case "machine", "user":
		c.source = suggest.Own
	case "workspace":
		c.source = suggest.Workspace
	case "world":
		c.source = suggest.World
	default:
		return classes{}, fmt.Errorf("%s: unknown source %q", l.key(), l.Source)
	}
	return c, nil
}

// classes are what a labeller or the classifier says of a tool.
type classes struct {
	effect effect.Effect
	source suggest.Source
	open   bool
}

// labelledTool is a tool with its label.
type labelledTool struct {
	server, key, part string
	classes
	label toolLabel
	raw   json.RawMessage
	tool  suggest.Tool
}

// readLabels reads the labels of one labeller.
func readLabels(f *named) ([]toolLabel, error) {
	var out []toolLabel
	seen := map[string]bool{}
	s := bufio.NewScanner(bytes.NewReader(f.text))
	s.Buffer(nil, 1<<20)
	for line := 1; s.Scan(); line++ {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var l toolLabel
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.DisallowUnknownFields()
		err := d.Decode(&l)
		if err == nil {
			_, err = l.classes()
		}
		if err == nil && seen[l.key()] {
			err = fmt.Errorf("%s comes twice", l.key())
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.name, line, err)
		}
		seen[l.key()] = true
		out = append(out, l)
	}
	return out, s.Err()
}

// splitFile says which part each server is in.
type splitFile struct {
	parts  map[string]string
	frozen string // hash of the test servers' labels
}

// readSplit reads the split. A server's name alone decides its part, so that nobody
// can have moved one.
func readSplit(f *named) (*splitFile, error) {
	out := &splitFile{parts: map[string]string{}}
	salt := ""
	for line := range strings.Lines(string(f.text)) {
		line = strings.TrimSpace(line)
		kind, name, ok := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"), line == "":
		case kind == "salt" && ok:
			salt = name
		case kind == "frozen" && ok:
			out.frozen = name
		case ok && out.parts[name] == "" && kind == share(salt, name):
			out.parts[name] = kind
		default:
			return nil, fmt.Errorf("%s: the salt says otherwise than %q", f.name, line)
		}
	}
	return out, nil
}

// share is the part of a server.
func share(salt, server string) string {
	h := sha256.Sum256([]byte(salt + server))
	switch n := binary.BigEndian.Uint64(h[:8]) % 100; {
	case n < 60:
		return Train
	case n < 75:
		return Dev
	}
	return Test
}

// check reports an error if the test servers' labels in a file, which is of the
// first labeller, are not those that were frozen.
func (s *splitFile) check(f *named) error {
	h := sha256.New()
	for line := range strings.Lines(string(f.text)) {
		var l toolLabel
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if s.parts[l.Server] == Test {
			_, _ = h.Write([]byte(line)) // a hash takes it
		}
	}
	if got := "sha256:" + hex.EncodeToString(h.Sum(nil)); got != s.frozen {
		return fmt.Errorf("%s: the test servers' labels hash to %s, and were frozen as %s", f.name, got, s.frozen)
	}
	return nil
}

// readTools joins labels, definitions and split. Labels whose definition is not
// there, or is another, are left out and counted.
func readTools(labels []toolLabel, split *splitFile, dir string) (out []labelledTool, missing int, err error) {
	raw := map[string]map[string]json.RawMessage{}
	for i := range labels {
		l := &labels[i]
		if _, ok := raw[l.Server]; !ok {
			if raw[l.Server], err = readDefinitions(filepath.Join(dir, l.Server+".jsonl")); err != nil {
				return nil, 0, err
			}
		}
		d, ok := raw[l.Server][l.Tool+" "+l.Definition]
		if !ok {
			missing++
			continue
		}
		c, err := l.classes()
		if err != nil {
			return nil, 0, err
		}
		part := split.parts[l.Server]
		if part == "" {
			return nil, 0, fmt.Errorf("server %s is in no part of the split", l.Server)
		}
		out = append(out, labelledTool{server: l.Server, key: l.key(), part: part, classes: c, label: *l, raw: d, tool: suggest.Definition(l.Tool, d)})
	}
	if len(out) == 0 {
		return nil, missing, fmt.Errorf("%s: %w", dir, ErrNoDefinitions)
	}
	return out, missing, nil
}

// readDefinitions reads a server's tools, by name and hash. A missing file has none.
func readDefinitions(path string) (map[string]json.RawMessage, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]json.RawMessage{}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for line := 1; s.Scan(); line++ {
		var d struct{ Name, Definition string }
		if err := json.Unmarshal(s.Bytes(), &d); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Base(path), line, err)
		}
		out[d.Name+" "+d.Definition] = json.RawMessage(strings.Clone(s.Text()))
	}
	return out, s.Err()
}

// connectorTexts are the strings of a definition as a gateway sees them: all names
// and strings of the tool's JSON, the description first.
func connectorTexts(raw json.RawMessage) []string {
	var d struct {
		Description string
		InputSchema json.RawMessage
	}
	if json.Unmarshal(raw, &d) != nil {
		return nil
	}
	out := []string{d.Description}
	dec := json.NewDecoder(bytes.NewReader(d.InputSchema))
	for {
		v, err := dec.Token()
		if err != nil {
			return out
		}
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
}
