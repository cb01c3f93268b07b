package fallback_test

import (
	"crypto/sha256"
	"strings"
	"testing"

	"github.com/margaydev/margay/rubric/fallback"
	"github.com/margaydev/margay/rubric/predicate"
)

func TestFind(t *testing.T) {
	var got []string
	looked := fallback.Find("q", "to m.silva@post.example", func(start, end int, clause string) {
		got = append(got, clause+" "+"to m.silva@post.example"[start:end])
	})
	if !looked || len(got) != 1 || got[0] != "email m.silva@post.example" {
		t.Error(looked, got)
	}
	if fallback.Find("q", strings.Repeat("a", predicate.MaxText+1), func(int, int, string) {}) {
		t.Error("what is too long was looked at")
	}
}

// The bytes that entries name say what holds, and are named by their hash.
func TestText(t *testing.T) {
	b := fallback.Text()
	if fallback.Hash() != sha256.Sum256(b) || !fallback.IsText(b) {
		t.Error("the fallback is not what it says")
	}
	for _, clause := range []string{"card", "private-key", "birth", "passport", "ghp"} {
		if !strings.Contains(string(b), clause) {
			t.Errorf("the bytes don't have %s", clause)
		}
	}
	for _, other := range []string{"", string(b[1:]), string(b) + "\n", "{}"} {
		if fallback.IsText([]byte(other)) {
			t.Errorf("%.20q is a fallback", other)
		}
	}
	if !fallback.IsText([]byte("margay fallback rubric v1: redact, drop; 1 bit\n")) {
		t.Error("what older ledgers name is none")
	}
}
