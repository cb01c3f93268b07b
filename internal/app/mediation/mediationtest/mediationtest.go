// Package mediationtest has configurations for tests.
package mediationtest

import (
	"testing"

	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/internal/app/rubrics"
	"github.com/margaydev/margay/rubric/library"
)

// Travel is a configuration whose registry has the library's rubric for
// bookings.
func Travel(t testing.TB) *config.Config {
	t.Helper()
	c := config.Default()
	c.StateDir, c.KeyDir = t.TempDir(), t.TempDir()
	r, err := library.Rubric("travel-booking")
	if err != nil {
		t.Fatal(err)
	}
	files, err := rubrics.Of(c).Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rubrics.Of(c).Put(files...); err != nil {
		t.Fatal(err)
	}
	c.Declassify.Mode, c.Declassify.Defender, c.Declassify.Challenges = "on", "rules", 2
	c.Declassify.Model = config.Sink{Action: "travel-booking", Class: "semi-trusted"}
	c.Declassify.Tools = map[string]config.ReleaseTool{
		"book":  {Action: "travel-booking", Sink: "airline", Class: "required-service", Args: map[string]string{"name": "legal-name", "dob": "dob", "seat": "plain"}},
		"quote": {Action: "travel-booking", Sink: "broker", Class: "semi-trusted", Args: map[string]string{"name": "legal-name", "dob": "dob", "seat": "plain"}},
	}
	return c
}
