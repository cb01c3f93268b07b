package population

import (
	"fmt"
	"regexp"
	"time"

	"github.com/margaydev/margay/rubric/domain"
	"github.com/margaydev/margay/secret/spoken"
)

// Mention returns the range of the value that a text mentions, as [domain.Part] does. A
// product, and a field that reads a part of another one's values, have none.
func (c *Chain) Mention(text string, today time.Time) (t spoken.Range[string], ok bool) {
	if len(c.pop.parts) != 1 || c.reads != nil || len(text) > maxMention {
		return t, false
	}
	return c.pop.parts[0].Mention(text, today)
}

// maxMention bounds the bytes of a text that mentions a value.
const maxMention = 256

// plainDate matches a date that holds nothing besides.
var plainDate = regexp.MustCompile(`^\d{1,4}(?:/\d{1,2}/|\.\d{1,2}\.|-\d{1,2}-)\d{1,4}$`)

// LabelOf is the name of the value that a text mentions, at a level that does not
// distinguish the ends of its range. At level 0 it is the text, but for nothing other than
// a date in numbers: words could carry something else. It wraps ErrOutside.
func (c *Chain) LabelOf(level int, text string, today time.Time) (string, error) {
	t, ok := c.Mention(text, today)
	if !ok || level == 0 && !plainDate.MatchString(text) {
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
// are written or mentioned, and that have the same names at all levels. A value outside of the
// population is folded.
func (c *Chain) Normal(value string, today time.Time) string {
	if len(value) > MaxValue {
		return value
	}
	if atoms, normal, err := c.find(value); err == nil {
		return fmt.Sprint(normal, " ", atoms)
	}
	switch t, ok := c.Mention(value, today); {
	case ok && t.From != t.To:
		return "from " + t.From + " to " + t.To
	case ok:
		if atoms, normal, err := c.find(t.From); err == nil {
			return fmt.Sprint(normal, " ", atoms)
		}
	}
	return domain.Fold(value)
}
