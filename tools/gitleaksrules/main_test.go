package main

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// TestDrift: the rules that are checked in are those of the pinned version.
func TestDrift(t *testing.T) {
	rules, licence, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"gitleaks.json": rules, "gitleaks.LICENSE": licence} {
		got, err := os.ReadFile("../../secret/recognise/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("secret/recognise/%s is not what gitleaksrules writes\nhint: go generate ./secret/recognise", name)
		}
	}
}

func TestAdapted(t *testing.T) {
	const end, wide = `(?:[\x60'"\s;]|\\[nr]|$)`, `(?:[\x60'"\s;.,:!?)\]}<>]|\\[nr]|$)`
	if got := inProse(`\b(ghp_\w{36})` + end); got != `\b(ghp_\w{36})`+wide {
		t.Errorf("a known format: %s", got)
	}
	if by := `[\w.-]{0,50}?(?:key)(\w{8})` + end; inProse(by) != by {
		t.Errorf("by name: %s", inProse(by))
	}
	if got := gateOf(`sk_\w+`, []string{"SK_"}); got != nil {
		t.Errorf("a keyword in every match gates: %v", got)
	}
	if got := gateOf(`\w{32}`, []string{"Acme"}); !slices.Equal(got, []string{"acme"}) {
		t.Errorf("a keyword outside the expression: %v", got)
	}
	for id, want := range map[string]string{
		"private-key": "private-key", "slack-webhook-url": "webhook", "acme-password": "password", "curl-auth-user": "password",
		"acme-api-token": "api-key", "github-pat": "token", "age-secret-key": "api-key", "acme-id": "secret",
	} {
		if got := kindOf(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
