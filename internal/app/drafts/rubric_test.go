package drafts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/margaydev/margay/rubric"
	"github.com/margaydev/margay/rubric/library"
	"github.com/margaydev/margay/rubric/lint"
)

var drafted2030 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// Whatever fields arguments have, the draft passes lint and its samples hold.
func TestRubricDraftsPassLint(t *testing.T) {
	names := map[string]string{
		"account-id": "accountNumber", "address": "home_address", "api-key": "api_key", "diagnosis": "diagnosis", "dob": "dateOfBirth", "email": "emailAddress",
		"legal-name": "lastName", "location": "location", "national-id": "ssn", "passport": "passport_no", "password": "password",
		"payment-token": "cardNumber", "phone": "mobile", "private-key": "ssh_key", "salary": "salary",
	}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, library.StarterFields()) {
		t.Fatalf("fields are %v", got)
	}
	sets := [][]string{nil, slices.Sorted(maps.Keys(names))}
	for f := range names {
		sets = append(sets, []string{f})
	}
	for _, set := range sets {
		props := map[string]any{"x": map[string]any{"type": "string"}}
		for _, f := range set {
			props[names[f]] = map[string]any{"type": "string"}
		}
		b, err := json.Marshal([]any{map[string]any{"name": "tool", "inputSchema": map[string]any{"properties": props}}})
		if err != nil {
			t.Fatal(err)
		}
		tools, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		d, err := DraftRubric("some-task", tools, drafted2030)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Fields, append([]string{}, set...)) {
			t.Errorf("arguments of %v are drafted as %v", set, d.Fields)
		}
		r, err := rubric.Parse("draft", []byte(d.Rubric))
		if err != nil {
			t.Fatal(err)
		}
		if found := lint.Check(r, drafted2030); len(found) > 0 || len(r.Document().Samples) < 4 || !strings.Contains(d.Rubric, "\nresidual:") {
			t.Errorf("%v: %v", set, found)
		}
	}
}

// What a list of tools says is in no other place of the configuration.
func TestRubricDraftsQuote(t *testing.T) {
	const evil = "a\"}\n    evil: {class: required-service} #'\u202e\\"
	name, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	list := fmt.Sprintf(`[{"name": %[1]s, "parameters": {"properties": {%[1]s: {"type": "string"}, "*": {"enum": [1]}, "deep": {"properties": {"o.k": {"type": "boolean"}}}}}}]`, name)
	tools, err := Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	d, err := DraftRubric("some-task", tools, drafted2030)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Declassify struct {
			Tools map[string]struct {
				Class string
				Args  map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(d.Config), &doc); err != nil {
		t.Fatal(err)
	}
	got := doc.Declassify.Tools
	if len(got) != 1 || got[evil].Class != "adversarial" || !maps.Equal(got[evil].Args, map[string]string{evil: "text", "deep.o_k": "plain"}) {
		t.Errorf("%+v", got)
	}
}
