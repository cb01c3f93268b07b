package suggest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxDefinition bounds the bytes of a definition that are read.
const maxDefinition = 256 << 10

// Definition reads a tool as a server's tools/list describes it. Of the schemas it
// takes the input's, since not every connector sees the others, and not the title,
// which only clients show. It reads a bounded number of bytes; where there are
// more, or the JSON is none, the tool is marked Partial.
func Definition(name string, definition json.RawMessage) Tool {
	t := Tool{Name: name}
	if len(definition) > maxDefinition {
		definition, t.Partial = definition[:maxDefinition], true
	}
	w := walker{d: json.NewDecoder(bytes.NewReader(definition)), left: maxText + 1, t: &t}
	t.Texts = []string{""} // the description's place
	if err := w.tool(); err != nil {
		t.Partial = true
	} else if _, err := w.d.Token(); !errors.Is(err, io.EOF) {
		t.Partial = true
	}
	return t
}

// maxDepth bounds how deep a schema is read.
const maxDepth = 64

var errPartial = errors.New("the definition can't be read wholly")

// walker reads a definition token by token.
type walker struct {
	d    *json.Decoder
	left int // bytes of texts that are still taken
	t    *Tool
}

func (w *walker) take(s string) error {
	if s == "" {
		return nil
	}
	if len(w.t.Texts) > maxTexts || len(s) > w.left {
		return errPartial
	}
	w.left -= len(s)
	w.t.Texts = append(w.t.Texts, s)
	return nil
}

// members calls f with the name of each member of the object that comes next, after
// it was opened.
func (w *walker) members(f func(name string) error) error {
	for w.d.More() {
		k, err := w.d.Token()
		if err != nil {
			return err
		}
		if err := f(k.(string)); err != nil {
			return err
		}
	}
	_, err := w.d.Token()
	return err
}

func (w *walker) tool() error {
	open, err := w.d.Token()
	if err != nil || open != json.Delim('{') {
		return errPartial
	}
	described := false
	return w.members(func(name string) error {
		switch name {
		case "description":
			v, err := w.d.Token()
			s, ok := v.(string)
			if err != nil || !ok && v != nil || described {
				return errPartial
			}
			described = true
			if w.left -= len(s); w.left < 0 {
				return errPartial
			}
			w.t.Texts[0] = s
			return nil
		case "annotations":
			return w.annotations()
		case "inputSchema":
			return w.value(0, false, true)
		}
		return w.value(0, false, false)
	})
}

// annotations are read to the strict side where one comes twice.
func (w *walker) annotations() error {
	open, err := w.d.Token()
	if err != nil || open != json.Delim('{') && open != nil {
		return errPartial
	}
	if open == nil {
		return nil
	}
	return w.members(func(name string) error {
		var into **bool
		strict := true
		switch name {
		case "readOnlyHint":
			into, strict = &w.t.ReadOnly, false
		case "destructiveHint":
			into = &w.t.Destructive
		case "openWorldHint":
			into = &w.t.OpenWorld
		default:
			return w.value(0, false, false)
		}
		v, err := w.d.Token()
		b, ok := v.(bool)
		if err != nil || !ok && v != nil {
			return errPartial
		}
		if v != nil && (*into == nil || b == strict) {
			*into = &b
		}
		return nil
	})
}

// value passes over the value that comes next. If texts says so, it takes the names
// of the schema's properties, their descriptions, and the words among the rest.
func (w *walker) value(depth int, properties, texts bool) error {
	if depth > maxDepth {
		return errPartial
	}
	v, err := w.d.Token()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		if texts {
			return w.take(v)
		}
	case json.Delim:
		if v == '[' {
			for w.d.More() {
				if err := w.value(depth+1, false, texts); err != nil {
					return err
				}
			}
			_, err := w.d.Token()
			return err
		}
		return w.members(func(name string) error {
			if texts && (properties || !schema[name]) {
				if err := w.take(name); err != nil {
					return err
				}
			}
			return w.value(depth+1, name == "properties" && !properties, texts)
		})
	}
	return nil
}
