package rubric

// Root names the field that a field is a view of, which is the one that the
// graph has; itself where it is none.
func (r *Resolved) Root(field string) string {
	if f := r.one(field); f != nil {
		return f.root.name
	}
	return field
}

// Limits are the rubric's own, which those of a trajectory are fixed by.
func (r *Rubric) Limits() Limits { return r.limits }
