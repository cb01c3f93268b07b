package privacy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/strictjson"
	"github.com/margaydev/margay/rubric"
)

// MaxLine bounds a case.
const MaxLine = 4 << 20

// Item is what a recipient should not learn.
type Item struct {
	Field string `json:"field,omitempty"`
	Value string `json:"value"`
}

// Case is one line of a file.
type Case struct {
	ID        string            `json:"id"`
	Action    string            `json:"action"`
	Recipient string            `json:"recipient"`
	Class     string            `json:"class"`
	Text      string            `json:"text,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Types     map[string]string `json:"types,omitempty"`
	Sensitive []Item            `json:"sensitive"`
	Needed    []string          `json:"needed"`
}

// ReadFile reads cases from a file; one that ends in .gz is compressed.
func ReadFile(name string) ([]Case, error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
		r = z
	}
	return Read(r, filepath.Base(name))
}

// Read reads cases. Empty lines are passed over.
func Read(r io.Reader, name string) ([]Case, error) {
	var out []Case
	ids := map[string]int{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, MaxLine)
	line := 0
	for s.Scan() {
		line++
		raw := bytes.TrimSpace(s.Bytes())
		if len(raw) == 0 {
			continue
		}
		c, err := parse(raw)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, line, err)
		}
		if at, ok := ids[c.ID]; ok {
			return nil, fmt.Errorf("%s, line %d: the id %q is that of line %d", name, line, c.ID, at)
		}
		ids[c.ID] = line
		out = append(out, c)
	}
	if err := s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s, line %d: longer than %d bytes", name, line+1, MaxLine)
	} else if err != nil {
		return nil, fmt.Errorf("%s, after line %d: %w", name, line, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no cases", name)
	}
	return out, nil
}

func parse(raw []byte) (c Case, err error) {
	var doc strictjson.Doc
	if err := doc.ParseObject(raw, strictjson.Limits{}); err != nil {
		return c, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return c, c.check()
}

// check finds what is missing or contradicts itself.
func (c *Case) check() error {
	for _, m := range []struct {
		bad  bool
		what string
	}{
		{c.ID == "", "id is missing"},
		{c.Action == "", "action is missing"},
		{c.Recipient == "", "recipient is missing"},
		{(c.Text == "") == (len(c.Arguments) == 0), "give text or arguments"},
		{len(c.Types) > 0 && len(c.Arguments) == 0, "types are those of arguments"},
		{slices.ContainsFunc(c.Sensitive, func(i Item) bool { return normal(i.Value) == "" }), "an element of sensitive has no value"},
		{slices.ContainsFunc(c.Needed, func(v string) bool { return normal(v) == "" }), "an element of needed is empty"},
	} {
		if m.bad {
			return errors.New(m.what)
		}
	}
	if _, ok := rubric.ParseClass(c.Class); !ok {
		return fmt.Errorf("class %q is none of %s, %s and %s", c.Class, flow.RequiredService, flow.SemiTrusted, flow.Adversarial)
	}
	if len(c.Arguments) == 0 {
		return nil
	}
	all, err := leaves(c.Arguments)
	switch {
	case err != nil:
		return fmt.Errorf("arguments: %w", err)
	case len(all) == 0:
		return errors.New("arguments hold no text")
	}
	for path, typ := range c.Types {
		if path == "" || typ == "" {
			return errors.New("types has an empty path or type")
		}
	}
	return nil
}

// leaf is a string or number in a call's arguments.
type leaf struct{ path, text string }

// leaves are those of an object, in its order.
func leaves(raw []byte) ([]leaf, error) {
	var doc strictjson.Doc
	if err := doc.ParseObject(raw, strictjson.Limits{}); err != nil {
		return nil, err
	}
	var out []leaf
	var walk func(i int, path string)
	walk = func(i int, path string) {
		at := 0
		switch doc.Nodes[i].Kind {
		case strictjson.String:
			out = append(out, leaf{path, doc.Text(i)})
		case strictjson.Number:
			out = append(out, leaf{path, string(doc.Value(i))})
		case strictjson.Array:
			for k := range doc.All(i) {
				walk(k, join(path, strconv.Itoa(at)))
				at++
			}
		case strictjson.Object:
			for k := range doc.All(i) {
				walk(k, join(path, doc.Key(k)))
			}
		default:
		}
	}
	walk(0, "")
	return out, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
