package mediator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/margaydev/margay/flow"
)

// said sends one text through a generation.
func said(t *testing.T, context []string, text string) string {
	t.Helper()
	e, _ := engine(t, nil)
	s := session(t, e, nil)
	s.Texts(t.Context(), texts(context...))
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
		r := session(t, e, nil).Texts(context.Background(), in)
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

// A page with more credentials than a trajectory remembers is denied, and the
// decision says why: a credential that is not remembered would not be known
// again. No value of it passes afterwards, in whatever text.
func TestMoreCredentialsThanAreRemembered(t *testing.T) {
	if testing.Short() {
		t.Skip("one thing after the other, for long")
	}
	e, store := engine(t, nil)
	const n = 5000
	values := make([]string, n)
	var page strings.Builder
	for i := range values {
		values[i] = random(100+uint64(i), 24)
		fmt.Fprintf(&page, "SERVICE_%d_PASSWORD=%s\n", i, values[i])
	}
	check := func(what string, in ...string) {
		t.Helper()
		r := session(t, e, nil).Texts(t.Context(), texts(in...))
		if r.Denied() {
			if !slices.ContainsFunc(r.Decision.Reasons, func(r flow.Reason) bool { return r.Code == "too-many-secrets" }) {
				t.Errorf("%s: denied, and no reason says that there were too many: %+v", what, r.Decision.Reasons[:1])
			}
			return
		}
		for i, text := range in {
			out, edited := r.Edits[i]
			if !edited {
				out = text
			}
			for _, v := range values {
				if strings.Contains(out, v) {
					t.Fatalf("%s: a value passed in text %d", what, i)
				}
			}
		}
	}
	plain := "Now " + strings.Join(values, " and then ") + " are in plain text."
	check("at once", page.String(), plain)
	_, log := logged(t, store)
	if len(log) != 1 || log[0].Outcome != flow.Deny {
		t.Fatalf("%d decisions in the log", len(log))
	}
	check("again", page.String(), plain)
	check("one more", "ANOTHER_PASSWORD="+values[n-1]+"\n", values[n-1])
	for _, from := range []int{0, 2000, 4000} {
		check("those that were learnt", plain[strings.Index(plain, values[from]):strings.Index(plain, values[from+90])])
	}
}
