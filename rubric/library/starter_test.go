package library_test

import (
	"testing"

	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/lint"
)

// TestStarters: what authors begin with is in order, alone and together.
func TestStarters(t *testing.T) {
	all := library.StarterFields()
	if len(all) != 15 {
		t.Errorf("%d fields: %v", len(all), all)
	}
	for _, f := range all {
		lintStarter(t, f)
	}
	lintStarter(t, all...)
	if _, err := library.Starter("x", []string{"shoe-size"}, day); err == nil {
		t.Error("an unknown field has a starter")
	}
}

func lintStarter(t *testing.T, fields ...string) {
	t.Helper()
	text, err := library.Starter("my-tasks", fields, day)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rubric.Parse("starter.yaml", []byte(text))
	if err != nil {
		t.Errorf("%v: %v", fields, err)
		return
	}
	for _, f := range lint.Check(r, day) {
		t.Errorf("%v: %s", fields, f.String())
	}
}
