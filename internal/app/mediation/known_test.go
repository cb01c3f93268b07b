package mediation

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/declassify/known"
	"github.com/margaydev/margay/flow"
	"github.com/margaydev/margay/internal/app/config"
	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/store"
	"github.com/margaydev/margay/store/memory"
)

// TestRemembered: what is kept comes back to the family in order, and to no other; where
// the store has dropped the first of it, that shows.
func TestRemembered(t *testing.T) {
	keys := secret.NewKeys()
	rows := memory.New()
	r := &remembered{rows, &keys}
	ctx := context.Background()
	learn := func(family string, first bool, values ...known.Value) {
		t.Helper()
		if err := r.Learn(ctx, flow.TrajectoryID(family), values, first); err != nil {
			t.Fatal(err)
		}
	}
	name, born := known.Value{Field: "legal-name", Text: "Ada"}, known.Value{Field: "dob", Text: "1990-05-17"}
	learn("one", true, name)
	learn("two", true)
	learn("one", false, born)
	got, last, begun, err := r.Known(ctx, "one", 0)
	if err != nil || !begun || !slices.Equal(got, []known.Value{name, born}) {
		t.Errorf("%v %v %v", got, begun, err)
	}
	if got, _, _, err := r.Known(ctx, "one", last); err != nil || len(got) > 0 {
		t.Errorf("%v %v", got, err)
	}
	if got, _, begun, err := r.Known(ctx, "two", 0); err != nil || !begun || len(got) > 0 {
		t.Errorf("%v %v %v", got, begun, err)
	}
	for range store.MaxSaidOne {
		if err := r.Learn(ctx, "one", []known.Value{born}, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, begun, err := r.Known(ctx, "one", 0); err != nil || begun {
		t.Errorf("the first row is gone, and %v %v", begun, err)
	}
	other := secret.NewKeys()
	other.Fingerprint = keys.Fingerprint
	if _, _, _, err := (&remembered{rows, &other}).Known(ctx, "one", 0); err == nil || strings.Contains(err.Error(), "1990") {
		t.Errorf("another key: %v", err)
	}
}

// TestProfile: a profile is read strictly, and no error holds a value of it.
func TestProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.yaml")
	for text, n := range map[string]int{
		"legal-name: [Maria Silva, Ana Silva]\ndob: [\"1990-03-14\"]\n": 3, "": 0,
		"legal-name: Maria Silva\n": -1, "legal-name: [Maria Silva]\nlegal-name: [x]\n": -1, "dob: [" + strings.Repeat("a", known.MaxValue+1) + "]\n": -1,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := profileOf(file)
		if (err != nil) != (n < 0) || err == nil && len(got) != n || err != nil && strings.Contains(err.Error(), "Silva") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := profileOf(file + ".none"); err == nil {
		t.Error("a missing file")
	}
}

// TestResultsByName: how a tool's name is written does not choose whether its results
// are looked at.
func TestResultsByName(t *testing.T) {
	of := resultsOf(&config.Declassify{Tools: map[string]config.ReleaseTool{"get_user": {Results: map[string]string{"name": "legal-name", "id": "plain"}}}})
	if got := of("Get-User"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if of("other") != nil {
		t.Error("another tool has results")
	}
}

// TestRecipients: arguments that say who gets something are kept, by their usual names.
func TestRecipients(t *testing.T) {
	for path, keep := range map[string]bool{
		"to": true, "message.to": true, "recipients.*": true, "to_email": true, "channel_id": true, "cc": true, "attendees.*": true,
		"total": false, "token": false, "recipient_note": false, "text": false, "tools": false,
	} {
		if got := Argument(path, "plain").Keep; got != keep {
			t.Errorf("%s is kept: %v", path, got)
		}
	}
}
