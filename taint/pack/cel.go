package pack

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/taint"
)

// Conditions were CEL expressions once. Nothing runs them any more: a pack that
// has one is refused, with the form of conditions.

// conditions is the form of what replaced CEL.
const conditions = "{arg: PATH, matches: RE2 | prefix: [TEXT] | one-of: [TEXT, true] | present: true, any: true, not: true} (docs/format/pack.md)"

// celOf finds the first condition of a document that is a CEL expression, as an
// error that says what to write instead; nil where there is none.
func celOf(doc *yamldoc.Document) error {
	var v any
	if err := doc.Decode(&v); err != nil {
		return nil //nolint:nilerr // the caller has that error
	}
	at := findCEL(v)
	if at == nil {
		return nil
	}
	return doc.Place(yamldoc.Where(fmt.Errorf("%w: packs have no CEL any more; instead write %s", taint.ErrCond, conditions), at...))
}

// findCEL returns the place of a text with the key cel.
func findCEL(v any) []string {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["cel"].(string); ok {
			return []string{"cel"}
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if at := findCEL(v[k]); at != nil {
				return append([]string{k}, at...)
			}
		}
	case []any:
		for i := range v {
			if at := findCEL(v[i]); at != nil {
				return append([]string{strconv.Itoa(i)}, at...)
			}
		}
	}
	return nil
}
