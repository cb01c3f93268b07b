package match

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/secret"
)

func TestCanonGram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), gramLen, gramLen).Draw(t, "gram")
		want := bytes.Clone(text)
		for i, c := range want {
			switch {
			case c >= 'a' && c <= 'z':
				want[i] = 'a' + (c-'a'+13)%26
			case c >= 'A' && c <= 'Z':
				want[i] = 'A' + (c-'A'+13)%26
			}
		}
		if got := rot13(gramOf(text)); got != gramOf(want) {
			t.Fatalf("rot13(%x) = %x, want %x", text, got, want)
		}
		if ascii := bytes.IndexFunc(text, func(r rune) bool { return r >= 0x80 }) < 0; ascii {
			for _, v := range variants(text) {
				if canonGram(gramOf(v)) != canonGram(gramOf(text)) {
					t.Fatalf("%x: the form %x has a tag of its own", text, v)
				}
			}
		}
	})
}

const (
	alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	hexes = "0123456789abcdef"
)

func draw(r *rand.Rand, set string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = set[r.IntN(len(set))]
	}
	return string(b)
}

func many(t testing.TB, n int, value func(i int) string) *Index {
	recs := make([]secret.Record, n)
	for i := range recs {
		var err error
		recs[i], _, err = Prepare(&keys, fmt.Sprintf("%026d", i), "N", secret.KindToken, secret.SourceRegistered, "o", []byte(value(i)), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
	}
	return index(t, time.Unix(1, 0), recs...)
}

// A part of a secret that is rare enough is found to its last character,
// wherever it is cut out and in every form.
func TestFragments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	secret := draw(r, alnum, 40)
	ix := many(t, 1, func(int) string { return secret })
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(10, 39).Draw(t, "length")
		from := rapid.IntRange(0, 40-n).Draw(t, "from")
		part := string(variants([]byte(secret[from : from+n]))[rapid.IntRange(0, 3).Draw(t, "form")])
		at, end := int64(len("it is ")), int64(len("it is "))
		for _, h := range find(ix, 0, "it is "+part+", perhaps") {
			if !h.Fragment || h.Start > end || h.Start < at || h.Continues != (h.Start > at) {
				t.Fatalf("hit %+v", h)
			}
			end = h.End
		}
		if end != at+int64(n) {
			t.Fatalf("%d of %d characters from %d were found", end-at, n, from)
		}
	})
}

// A sign right before a fragment goes with it, an assignment's stays.
func TestFragmentsTakeTheSignBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	a, b := draw(r, alnum, 12), draw(r, alnum, 14)
	ix := many(t, 1, func(int) string { return a + "#" + b })
	for text, want := range map[string]string{
		"it ends in #" + b:   "#" + b,
		"it ends in (" + b:   b,
		"it ends in $_" + b:  "_" + b,
		"X=" + b:             b,
		"--" + b:             b,
		"it ends in # " + b:  b,
		"it ends in _\n" + b: b,
	} {
		got := ""
		for _, h := range find(ix, 0, text) {
			got += text[h.Start:h.End]
		}
		if got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// What everybody writes is no fragment, though it is a part of a secret.
func TestCommonPartsAreNoFragments(t *testing.T) {
	secrets := []string{
		"postgres://payments_admin:w8Kq2Zp4@db.internal.example.com:5432/payments?sslmode=require",
		"https://hooks.example.com/services/T024BE7LD/B0Q1XNTPL/x7Jq92mPzL4vWt8s",
		"correct-horse-battery-staple-1234567890",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.k4Qz7mfp9Lw2XrT8vB1nQz",
	}
	ix := many(t, len(secrets), func(i int) string { return secrets[i] })
	for _, text := range []string{
		"postgres://localhost", "use sslmode=require", "https://hooks.example.com/", "a battery", "1234567890", "the correct ", "/payments?", "db.internal.example.com:5432", "eyJhbGciOiJIUzI1NiJ9",
	} {
		if h := find(ix, 0, text); len(h) > 0 {
			t.Errorf("%q was taken for a part of a secret: %+v", text, h)
		}
	}
	for _, text := range []string{"w8Kq2Zp4@db", "T024BE7LD/B0Q1XNTPL", "the words: correct horse battery staple"} {
		if h := find(ix, 0, text); len(h) == 0 {
			t.Errorf("%q is a part of a secret and was not found", text)
		}
	}
}

// The false positives of fragments stay under the bound that Index states,
// in text that is as random as the secrets.
func TestFragmentBound(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	ix := many(t, 1000, func(int) string { return draw(r, hexes, 32) })
	const size = 1 << 20
	hits := 0
	for range size / 64 {
		for _, h := range find(ix, 0, draw(r, hexes, 64)) {
			if !h.Continues {
				hits++
			}
		}
	}
	// 2^-12 a position; three standard deviations above.
	if limit := size>>12 + 3*16; hits > limit {
		t.Errorf("%d false positives in a megabyte of hexadecimal digits, more than %d", hits, limit)
	}
	t.Logf("%d false positives in %d characters, %d grams, %.1f bits", hits, size, len(ix.grams.tags), ix.grams.bits)
}

// Above maxEntries grams are thinned out: longer parts are still found.
func TestThinnedFragments(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	values := make([]string, 2000)
	for i := range values {
		values[i] = draw(r, alnum, 32)
	}
	b := newBuilder(&keys)
	b.grams.thin = 8
	for i, v := range values {
		rec, _, err := Prepare(&keys, fmt.Sprintf("%026d", i), "N", secret.KindToken, secret.SourceRegistered, "o", []byte(v), time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.add(&rec); err != nil {
			t.Fatal(err)
		}
	}
	ix := b.done()
	if got := len(ix.grams.tags); got > 2000*7 {
		t.Fatalf("%d grams are kept", got)
	}
	missed := 0
	for _, v := range values {
		// 21 characters hold two grams of every eighth position.
		if hits := find(ix, 0, "x "+v[1:22]+" y"); len(hits) == 0 || !hits[0].Fragment {
			missed++
		}
		if hits := find(ix, 0, v); len(hits) == 0 || !strings.Contains(fmt.Sprint(hits), "false false false}") {
			t.Fatal("the whole is not found")
		}
	}
	if missed > len(values)/50 {
		t.Errorf("%d of %d parts were missed", missed, len(values))
	}
}
