package invocation

import (
	"testing"
	"time"

	"github.com/margaydev/margay/mediator/session"
	"github.com/margaydev/margay/secret"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "-1d": 0, "-5m": 0, "": 0, "d": 0, "5": 0, "99999999d": 0, "soon": 0,
	} {
		if got, err := ParseDuration(s); got != want && err == nil || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// An allowance that was made for a while ends by itself; one list shows when.
func TestExpiry(t *testing.T) {
	now := time.Now()
	until, err := Expiry("1h", now)
	if err != nil {
		t.Fatal(err)
	}
	fp := secret.Fingerprint{1}
	allows := []secret.Allow{{ID: "x", Fingerprint: fp, Expires: until}}
	if !session.Allowed(allows, fp, "r", "", now) || session.Allowed(allows, fp, "r", "", now.Add(2*time.Hour)) {
		t.Error("the expiry does not count")
	}
}
