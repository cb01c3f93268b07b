package origin

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
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

// What stands in no text is made up, and what is too short to tell is not.
func TestMadeUp(t *testing.T) {
	texts := []string{"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXdpdGgtbWFueS1ieXRlcw", "Please write a script that rotates the password of the database.", "DB_PASSWORD=Tr0ub4dor&3", ""}
	for value, want := range map[string]bool{
		"Xk9vQ4tR7w": false, "b7900853": false, "correct-h0rse-8": false, "9f86d081884c7d65": false,
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJxIjoieiJ9.Zm9yZ2VkIQ": false, "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.Zm9yZ2VkIQ": true,
		"Tr0ub4": true, "x-Tr0ub4-x": true, "xxxx-Tr0u-xxxx": false, "x1": true, "***": true, "database": true, "4821": false, "rotates-7Kq2": true, "rota-7Kq2-xyz": false,
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
