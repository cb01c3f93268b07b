package origin

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What stands in a text is a copy in every disguise, and the other way round.
func TestCopied(t *testing.T) {
	around := func(s string) string { return "the log says: " + s + " and so on" }
	disguises := map[string]func(string) string{
		"plain":    func(s string) string { return s },
		"capitals": strings.ToUpper,
		"spread":   func(s string) string { return strings.Join(strings.Split(s, ""), "-") },
		"reversed": reversed,
		"rot13":    func(s string) string { return rot13(strings.ToLower(s)) },
		"hex":      func(s string) string { return hex.EncodeToString([]byte(s)) },
		"base64":   func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"base64-1": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("{" + s + "}")) },
		"base64-2": func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte("k=" + s)) },
		"base32":   func(s string) string { return base32.StdEncoding.EncodeToString([]byte(s)) },
		"base32-3": func(s string) string { return base32.StdEncoding.EncodeToString([]byte("pw=" + s)) },
		"escaped":  func(s string) string { return fmt.Sprintf(`\u%04x%s`, s[0], s[1:]) },
		"percent":  func(s string) string { return fmt.Sprintf("%%%02x%s", s[0], s[1:]) },
		"entities": func(s string) string { return fmt.Sprintf("%s&#%d;", s[:len(s)-1], s[len(s)-1]) },
		"dotted":   func(s string) string { return strings.Join(strings.Split(s, ""), "·") },
		"no width": func(s string) string { return strings.Join(strings.Split(s, ""), "\u200b") },
		"prefixed": func(s string) string { return "tok_" + hex.EncodeToString([]byte(s)) },
		"a part":   func(s string) string { return s[1 : len(s)-1] },
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9]{11,40}`).Draw(t, "value")
		for name, disguise := range disguises {
			if !Copied(value, "", around(disguise(value))) {
				t.Errorf("%s: %q in %q is made up", name, value, around(disguise(value)))
			}
			if !Copied(disguise(value), around(value)) {
				t.Errorf("%s of %q is made up", name, value)
			}
		}
	})
}

// Both sides of a comparison may be escaped, and letters beyond ASCII are letters.
func TestEscapes(t *testing.T) {
	for _, c := range []struct {
		text, value string
		want        bool
	}{
		{`{"note": "p\u00e4\u00dfw\u00f6r7!X"}`, "päßwör7!X", true},
		{"/x?d=P%40s5%21x%239k", "P@s5!x#9k", true},
		{"log in as admin with hunter2", base64.StdEncoding.EncodeToString([]byte("administrator:hunter2")), true},
		{"the note says p@$$w0rd!", "cEAkJHcwcmQh", true},
		{"note: hunter2", "administrator:hunter2", true},
		{"päßwör7 is theirs", "öäüßÄÖÜx9", false},
	} {
		if got := Copied(c.value, c.text); got != c.want {
			t.Errorf("%q in %q: copied %v, want %v", c.value, c.text, got, c.want)
		}
	}
}

// What a session traces is bounded, a value is traced once, and what is beyond the
// bound is a copy.
func TestBounds(t *testing.T) {
	var s Shown
	s.Add("nothing")
	if s.MadeUp([]byte("Xk9vQ4tR7w")) {
		t.Error("made up before it is known that all was shown")
	}
	s.Whole(func() bool { return true })
	for i := range maxTraced + 10 {
		v := []byte(fmt.Sprintf("Xk9vQ4tR7w%03d", i))
		for range 3 {
			if s.MadeUp(v) != (i < maxTraced) {
				t.Fatalf("value %d", i)
			}
		}
	}
	long := Shown{}
	long.Add(strings.Repeat("x ", maxRead/4))
	long.Whole(func() bool { return true })
	if !long.MadeUp([]byte("Xk9vQ4tR7w")) || !long.MadeUp([]byte("Yk9vQ4tR7w")) || long.MadeUp([]byte("Zk9vQ4tR7w")) || !long.MadeUp([]byte("Xk9vQ4tR7w")) {
		t.Error("what is read is not bounded, or a value is traced twice")
	}
}

// What stands in no text is made up, and what is too short to tell is not.
func TestMadeUp(t *testing.T) {
	texts := []string{"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXdpdGgtbWFueS1ieXRlcw", "Please write a script that rotates the password of the database.", "DB_PASSWORD=Tr0ub4dor&3", ""}
	for value, want := range map[string]bool{
		"Xk9vQ4tR7w": false, "b7900853": false, "correct-h0rse-8": false, "9f86d081884c7d65": false,
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJxIjoieiJ9.Zm9yZ2VkIQ": false, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.Zm9yZ2VkIQ": true,
		"Tr0ub4": true, "x-Tr0ub4-x": true, "wwww-Tr0u-wwww": false, "x1": true, "***": true, "database": true, "4821": false, "rotates-7Kq2": true, "rota-7Kq2-xyz": false,
	} {
		if got := Copied(value, texts...); got != want {
			t.Errorf("%q: copied %v, want %v", value, got, want)
		}
	}
	if Copied("Xk9vQ4tR7w") {
		t.Error("a copy of nothing")
	}
}

func FuzzCopied(f *testing.F) {
	f.Add("Tr0ub4dor&3", "DB_PASSWORD=Tr0ub4dor&3", uint8(0))
	f.Add("aGVsbG8gd29ybGQ", "hello world", uint8(3))
	f.Fuzz(func(t *testing.T, value, text string, at uint8) {
		Copied(value, text)
		i := min(int(at), len(text))
		if !Copied(value, text[:i]+value+text[i:]) && len(fold(value)) <= longest {
			t.Errorf("%q was copied into %q", value, text)
		}
	})
}

func BenchmarkCopied(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over 13 lazy dogs; id 9f86d081884c7d65.\n", 16000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if Copied("Xk9vQ4tR7wZ1pLm2Uc8s", text) {
			b.Fatal("copied")
		}
	}
}
