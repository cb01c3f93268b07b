package document

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/margaydev/margay/internal/strictjson"
)

// Arguments parses a call's arguments, which are an object; an empty text is
// an empty one.
func Arguments(s string) *Tree {
	if strings.TrimSpace(s) == "" {
		s = "{}"
	}
	t, ok := readJSON(s, MaxArguments)
	if !ok || t.Nodes[0].Kind != Dict {
		return nil
	}
	return t
}

// Canonical writes a call's arguments without space, with sorted keys, without those of
// some names; false where they are not one strict JSON object.
func Canonical(args string, without []string) ([]byte, bool) {
	t := Arguments(args)
	if t == nil {
		return nil, false
	}
	return t.Canonical(nil, 0, without), true
}

// Canonical appends a value without space, with sorted keys, numbers as they
// are written. Names in without are left out of the object at the top.
func (t *Tree) Canonical(dst []byte, i int, without []string) []byte {
	n := &t.Nodes[i]
	switch n.Kind {
	case Text:
		return strictjson.AppendQuote(dst, []byte(n.Value))
	case Number, Boolean, Null:
		return append(dst, n.Value...)
	}
	var parts []int
	for c := i + 1; c < n.Next; c = t.Nodes[c].Next {
		if n.Kind == List || !slices.Contains(without, t.Nodes[c].Key) {
			parts = append(parts, c)
		}
	}
	open, end := byte('['), byte(']')
	if n.Kind == Dict {
		open, end = '{', '}'
		sort.Slice(parts, func(a, b int) bool { return t.Nodes[parts[a]].Key < t.Nodes[parts[b]].Key })
	}
	dst = append(dst, open)
	for j, c := range parts {
		if j > 0 {
			dst = append(dst, ',')
		}
		if n.Kind == Dict {
			dst = append(strictjson.AppendQuote(dst, []byte(t.Nodes[c].Key)), ':')
		}
		dst = t.Canonical(dst, c, nil)
	}
	return append(dst, end)
}

// Top returns the names of the root's values.
func (t *Tree) Top() []string {
	var out []string
	for c := 1; c < len(t.Nodes); c = t.Nodes[c].Next {
		out = append(out, t.Nodes[c].Key)
	}
	return out
}

// Written are the arguments of a call in one canonical form. Of texts that are no
// JSON object, those of tools that take a text, it makes one. What looks like
// an object and is not a strict one stays as it is: its call is never made.
func Written(texts ...string) string {
	if len(texts) == 0 {
		return "{}"
	}
	if len(texts) == 1 {
		if c, ok := Canonical(texts[0], nil); ok {
			return string(c)
		}
		if strings.HasPrefix(strings.TrimSpace(texts[0]), "{") {
			return texts[0] // ambiguous JSON is not read
		}
	}
	var input any = texts
	if len(texts) == 1 {
		input = texts[0]
	}
	out, err := json.Marshal(map[string]any{"input": input})
	if err != nil {
		return "{}"
	}
	return string(out)
}
