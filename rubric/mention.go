package rubric

import "errors"

// Mentions reports whether a text has a value of a field in words: a date or an age, an
// amount, a listed value. Values of other populations can't be found in a text.
func (r *Resolved) Mentions(field, text string) bool {
	f := r.one(field)
	if f == nil {
		return false
	}
	_, ok := f.Chain.Mention(text, r.now())
	return ok
}

// Generalize returns a value's name at a level; level 0 is the value itself, if it is in
// the population. A text that gives a range of values has a name at the levels that do not
// distinguish its ends. Errors wrap ErrOutside or ErrLevel.
func (r *Resolved) Generalize(field string, level int, value string) (string, error) {
	if level == 0 && !r.agree[field] {
		return r.inAll(field, value)
	}
	f := r.one(field)
	if f == nil {
		return "", ErrLevel
	}
	s, err := f.generalize(level, value)
	if errors.Is(err, ErrOutside) {
		if label, err := f.Chain.LabelOf(level, value, r.now()); err == nil {
			return label, nil
		}
	}
	return s, err
}
