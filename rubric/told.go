package rubric

import "errors"

// Told reports whether a text tells a value of a field in a way that only such values
// are told: a date or an age, an amount, a listed value. Texts of other populations could
// be anything.
func (r *Resolved) Told(field, text string) bool {
	f := r.one(field)
	if f == nil {
		return false
	}
	_, ok := f.Chain.Told(text, r.now())
	return ok
}

// Codes returns the codes of a field's listed values, if a value is one of them.
func (r *Resolved) Codes(field, value string) []string {
	for _, f := range r.having(field) {
		return f.Chain.Codes(value)
	}
	return nil
}

// Generalize returns a value's name at a level; level 0 is the value itself, if it is in
// the population. A text that tells bounds of a value has a name at the levels that do not
// distinguish them. Errors wrap ErrOutside or ErrLevel.
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
		if told, err := f.Chain.LabelOf(level, value, r.now()); err == nil {
			return told, nil
		}
	}
	return s, err
}
