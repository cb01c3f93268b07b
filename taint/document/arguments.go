package document

import (
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
