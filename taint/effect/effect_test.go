package effect

import "testing"

func TestNames(t *testing.T) {
	for _, e := range All() {
		got, err := Parse(e.String())
		if err != nil || got != e {
			t.Errorf("%s is read as %s, %v", e, got, err)
		}
	}
	for _, bad := range []string{"", "Observe", "reach out", "unknown effect"} {
		if e, err := Parse(bad); err == nil {
			t.Errorf("%q is %s", bad, e)
		}
	}
}

// TestTable holds the table to what no revision of it may loosen.
func TestTable(t *testing.T) {
	for i, r := range Table {
		if r.Effect != Effect(i) || r.Why == "" {
			t.Errorf("row %d is of %s, %q", i, r.Effect, r.Why)
		}
		if r.Known < r.Most {
			t.Errorf("%s: a place that the user knows is held to more than one that he does not", r.Effect)
		}
	}
	// Text of the workspace alone suffices for none of these, and the world's
	// for none that acts but an edit.
	for _, e := range []Effect{Persist, Reach, Spend, Destroy, Administer} {
		if most, unasked := e.Most(false); unasked && most > User {
			t.Errorf("%s may follow from the workspace", e)
		}
	}
	for _, e := range All() {
		for _, known := range []bool{false, true} {
			if most, unasked := e.Most(known); unasked && most == World && e != Observe && e != Edit {
				t.Errorf("%s may follow from the world, known %v", e, known)
			}
		}
	}
	if _, unasked := Effect(200).Most(true); unasked {
		t.Error("an effect that nobody knows comes about unasked")
	}
}
