package population

import (
	"time"

	"github.com/margaydev/margay/rubric/domain"
	"github.com/margaydev/margay/secret/spoken"
)

// Told returns bounds of the value that a text tells, as [domain.Part.Told] does. A
// product, and a field that reads a part of another one's values, have none.
func (c *Chain) Told(text string, today time.Time) (t spoken.Told[string], ok bool) {
	if len(c.pop.parts) != 1 || c.reads != nil || len(text) > MaxValue {
		return t, false
	}
	return c.pop.parts[0].Told(text, today)
}

// Spellings returns all that the population lists for a value, as
// [domain.Part.Spellings] does.
func (c *Chain) Spellings(value string) []string {
	if len(c.pop.parts) != 1 || c.reads != nil {
		return nil
	}
	return c.pop.parts[0].Spellings(value)
}

// LabelOf is the text for the value that a text tells at a level that does not
// distinguish its bounds; at level 0 the text, if it holds nothing besides. It wraps
// ErrOutside.
func (c *Chain) LabelOf(level int, text string, today time.Time) (string, error) {
	t, ok := c.Told(text, today)
	if !ok || level == 0 && !t.All {
		return "", ErrOutside
	}
	from, err := c.Label(level, t.From)
	to, other := c.Label(level, t.To)
	switch {
	case err != nil || other != nil || from != to:
		return "", ErrOutside
	case level == 0:
		return text, nil
	}
	return from, nil
}

// Normal returns a value's normal form: the same for values that differ only in how they
// are written or told. A value outside of the population is folded.
func (c *Chain) Normal(value string, today time.Time) string {
	if len(value) > MaxValue {
		return value
	}
	if _, normal, err := c.find(value); err == nil {
		return normal
	}
	switch t, ok := c.Told(value, today); {
	case ok && t.From != t.To:
		return "from " + t.From + " to " + t.To
	case ok:
		if _, normal, err := c.find(t.From); err == nil {
			return normal
		}
	}
	return domain.Fold(value)
}
