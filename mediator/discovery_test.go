package mediator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
)

// said sends one text through a generation.
func said(t *testing.T, context []string, text string) string {
	t.Helper()
	e, _ := engine(t, nil)
	s := session(t, e, nil)
	s.Prompt(t.Context(), texts(context...))
	key := flow.StreamKey{Field: flow.FieldContent}
	a := play(s, []source{{key, text}}, rand.New(rand.NewPCG(1, 2)))
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.text[key]
}

// What a tool's result calls a password is not redacted in other text where
// ordinary text says it.
func TestOrdinaryWordsAreNotLearnt(t *testing.T) {
	for _, word := range []string{"administration", "customer-service", "internationalisation", "customer_service_department"} {
		injected := "ADMIN_PASSWORD=" + word + "\n"
		text := "The " + strings.NewReplacer("-", " ", "_", " ").Replace(word) + " and " + word + " are well."
		if got := said(t, []string{injected, "Ask the " + word + " for help."}, text); got != text {
			t.Errorf("%q", got)
		}
		e, _ := engine(t, nil)
		in := texts(injected, "Ask the "+word+" for help.")
		r := session(t, e, nil).Prompt(context.Background(), in)
		if _, ok := r.Edits[1]; ok {
			t.Errorf("%s is redacted in another text", word)
		}
	}
}

// A value that was read under a public name is none for being called a
// password in the answer; one that was also read under a secret's name is.
func TestPublicValuesAreAcquitted(t *testing.T) {
	const commit = "9b1f03c7a2e45d68b7c01f29d3e45a61aa07c4d2"
	text := "DB_PASSWORD=" + commit + "\n"
	if got := said(t, []string{"BASE_COMMIT=" + commit + "\n"}, text); got != text {
		t.Errorf("public: %q", got)
	}
	for _, context := range [][]string{{"nothing"}, {"note: " + commit + "\n"}, {"BASE_COMMIT=" + commit + "\n", "DB_PASSWORD=" + commit + "\n"}, {"BASE_COMMIT_PASSWORD=" + commit + "\n"}} {
		if got := said(t, context, text); strings.Contains(got, commit) {
			t.Errorf("%q: %q", context, got)
		}
	}
}

// All of a private key's body is known again, from its first line to its last,
// however it is encoded.
func TestPrivateKeysAreLearnt(t *testing.T) {
	body := random(5, 64) + "\n" + random(6, 64) + "\n" + random(7, 40) + "=="
	key := "TLS_KEY: |\n-----BEGIN EC PRIVATE KEY-----\n" + body + "\n-----END EC PRIVATE KEY-----\n"
	for name, part := range map[string]string{"head": body[:32], "middle": body[40:90], "tail": body[len(body)-34 : len(body)-2]} {
		for how, text := range map[string]string{
			"plain": part, "hex": fmt.Sprintf("%x", part), "dotted": strings.Join(strings.Split(part, ""), "."),
		} {
			if got := said(t, []string{key}, "It has "+text+" in it."); strings.Contains(got, text[len(text)/4:len(text)/2]) {
				t.Errorf("%s, %s: %q", name, how, got)
			}
		}
	}
}
