package cue

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCutsDoNotMatter: the patterns are those of the text, however it is cut
// into tokens; only how long they stay in the window follows from the tokens.
func TestCutsDoNotMatter(t *testing.T) {
	text := "token count: the DB_PASSWORD=Tr0ub4dor, mail ann@example.org, id 123e4567-e89b-12d3-a456-426614174000, http://u:p4ss@h/ AKIAQ3EGRP7NTKW2XA5B 20301177"
	read := func(cut func(i int) bool) (s Scanner) {
		s.Reset()
		from := 0
		for i := 1; i <= len(text); i++ {
			if i == len(text) || cut(i) {
				s.Token(text[from:i])
				from = i
			}
		}
		s.now, s.identifier, s.digits, s.credential, s.pendingIn, s.keywords = 0, 0, 0, 0, 0, 0
		return s
	}
	want := read(func(int) bool { return false })
	rapid.Check(t, func(t *rapid.T) {
		if got := read(func(int) bool { return rapid.Bool().Draw(t, "cut") }); got != want {
			t.Fatalf("%+v, not %+v", got, want)
		}
	})
}

// What is written like a credential is found, word for word, and what only looks
// like one is not.
func TestCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"the password is Tr0ub4dor, thanks":        "Tr0ub4dor",
		"DB_PASSWORD=Tr0ub4dor":                    "Tr0ub4dor",
		"see http://u:p4ss-w0rd@host/":             "p4ss-w0rd",
		"TOKEN_TTL=3600 and retries=3":             "",
		"the password policy asks for length":      "",
		"password: changeme":                       "",
		"commit 9f86d081884c7d659a2feaa0c55ad015a": "",
	} {
		var got []string
		Credentials(text, func(word string) { got = append(got, word) })
		if all := strings.Join(got, " "); want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The name of an algorithm excuses a random word only with its colon: a digest is
// written so. Another sign behind it is a sentence's.
func TestDigests(t *testing.T) {
	const random = "Xk9vQ4tR7wZ1pLm2Uc8sYb3Nf5Hd6Jg0"
	for _, algorithm := range []string{"sha256", "md5"} {
		for sign, want := range map[string]bool{":": false, ",": true, "!": true, "=": true, "/": true} {
			found := false
			Credentials("we use "+algorithm+sign+" "+random+" then", func(word string) { found = found || strings.Contains(random, word) })
			if found != want {
				t.Errorf("behind %s%s: found %v, want %v", algorithm, sign, found, want)
			}
		}
	}
}

// A cue counts for Window tokens.
func TestWindow(t *testing.T) {
	var s Scanner
	s.Reset()
	var seen []bool
	for _, token := range append([]string{"to ", "ann@example.org"}, slices.Repeat([]string{" and"}, Window)...) {
		seen = append(seen, s.Token(token).Identifier)
	}
	want := slices.Concat([]bool{false}, slices.Repeat([]bool{true}, Window), []bool{false})
	if !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
}
