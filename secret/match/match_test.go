package match

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/secret"
	"github.com/margaydev/margay/secret/canon"
)

var keys = secret.Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

func TestStrength(t *testing.T) {
	for value, want := range map[string]bool{
		"pass": false, "password": false, "hunter2": false, "changeme123": false, "aaaaaaaa": false,
		"k4Qz7mfp9Lw2": true, "correct-horse-battery-staple": true, "xkqzvbnmtrplkjhg": true, "!#%&/()=?+*~^": true,
	} {
		_, st, err := Print(&keys, []byte(value))
		if err != nil || st.Disguised != want {
			t.Errorf("%d characters: disguised %v, want %v (%.0f bits); %v", len(value), st.Disguised, want, st.Bits, err)
		}
		if !st.Disguised && st.Note == "" {
			t.Error("a weak value without a note")
		}
	}
	if _, _, err := Print(&keys, []byte("abc")); !errors.Is(err, ErrTooShort) {
		t.Error(err)
	}
	if _, _, err := Print(&keys, bytes.Repeat([]byte("x1"), MaxLength)); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

// TestNoValueInRecords: neither a value nor a piece of it is in what is kept.
func TestNoValueInRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-zA-Z0-9_!.-]{12,60}`).Draw(t, "value")
		rec, _, err := Prepare(&keys, "1", "N", secret.KindToken, secret.SourceRegistered, "o", []byte(value), time.Unix(1, 0))
		if err != nil {
			return
		}
		// In bytes, not in hexadecimal: four digits meet by chance.
		all := fmt.Sprintf("%s%s%s", rec.Fingerprint[:], rec.Print, rec.Sealed)
		for i := 0; i+5 <= len(value); i++ {
			if strings.Contains(all, value[i:i+5]) {
				t.Fatalf("5 bytes at %d are in the record", i)
			}
		}
	})
}

func index(t testing.TB, now time.Time, recs ...secret.Record) *Index {
	ix, err := NewIndex(&keys, func(yield func(secret.Record, error) bool) {
		for _, r := range recs {
			if !yield(r, nil) {
				return
			}
		}
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

func find(ix *Index, now int64, text string) []Hit {
	m := ix.NewMatcher(now, 4096)
	var f canon.Fold
	return m.Close(m.Write(nil, f.Close(f.Write(nil, canon.Units(nil, []byte(text), 0)))))
}

func TestExpiry(t *testing.T) {
	rec, _, err := Prepare(&keys, "1", "N", secret.KindToken, secret.SourceRegistered, "o", []byte("k4Qz7mfp9Lw2Xr"), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	rec.Expires = time.Unix(100, 0)
	ix := index(t, time.Unix(50, 0), rec)
	if len(find(ix, 99_000, "k4Qz7mfp9Lw2Xr")) == 0 || len(find(ix, 100_000, "k4Qz7mfp9Lw2Xr")) != 0 {
		t.Error("a secret counts until it expires")
	}
	if index(t, time.Unix(200, 0), rec).Len() != 0 {
		t.Error("an expired secret was indexed")
	}
}

func TestPrintsOfOtherVersions(t *testing.T) {
	good, _, err := Prepare(&keys, "1", "N", secret.KindToken, secret.SourceRegistered, "o", []byte("k4Qz7mfp9Lw2Xr"), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(good.Print) {
		if left := len(good.Print) - n; left%9 == 0 && left <= 45 {
			continue // fewer variants are a print, too
		}
		bad := good
		bad.Print = good.Print[:n]
		if _, err := NewIndex(&keys, func(yield func(secret.Record, error) bool) { yield(bad, nil) }, time.Unix(1, 0)); !errors.Is(err, ErrPrint) {
			t.Fatalf("a print of %d bytes was taken: %v", n, err)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte{1, 2, 0, 12, 0})
	f.Fuzz(func(_ *testing.T, p []byte) {
		ix, err := NewIndex(&keys, func(yield func(secret.Record, error) bool) { yield(secret.Record{ID: "1", Print: p}, nil) }, time.Unix(1, 0))
		if err == nil {
			find(ix, 0, "some text that is long enough")
		}
	})
}

func TestTooManyCandidatesFailClosed(t *testing.T) {
	rec, _, err := Prepare(&keys, "1", "N", secret.KindSecret, secret.SourceRegistered, "o", []byte(strings.Repeat("a", 200)+"b1"), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	hits := find(index(t, time.Unix(1, 0), rec), 0, strings.Repeat("a", 2000))
	if len(hits) == 0 {
		t.Error("text that keeps beginning like a secret went through")
	}
	for _, h := range hits {
		if !h.Capped && !h.Fragment {
			t.Error("a whole secret was found in what is only its beginning")
		}
	}
}
