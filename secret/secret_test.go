package secret

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/margaydev/margay/secret/canon"
)

var keys = Keys{Fingerprint: [32]byte{1}, Pseudonym: [32]byte{2}, Seal: [32]byte{3}}

func TestPseudonyms(t *testing.T) {
	p, q := NewPseudonymiser(&keys, "T1"), NewPseudonymiser(&keys, "T2")
	fp := keys.FingerprintOf([]byte("a value"))
	name := p.Name(KindAPIKey, fp)
	if name != p.Name(KindAPIKey, fp) || name == q.Name(KindAPIKey, fp) || name == p.Name(KindAPIKey, keys.FingerprintOf([]byte("another"))) {
		t.Error("a pseudonym stands for one value in one trajectory")
	}
	id := func(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
	if a, b := id(name), id(p.Name(KindToken, fp)); a[:pseudonymID] == b[:pseudonymID] {
		t.Error("a value of two kinds has one id")
	}
	if k, ok := p.Verify(name); !ok || k != KindAPIKey {
		t.Error("its own trajectory does not know it")
	}
	for i, bad := range []string{q.Name(KindAPIKey, fp), name[:len(name)-1], name + "a", strings.ToUpper(name), strings.Replace(name, "api-key", "token", 1), "margay-api-key-aaaaaaaaaaaaaa", ""} {
		if _, ok := p.Verify(bad); ok {
			t.Errorf("wrong pseudonym %d was taken", i)
		}
	}
	at := p.FindAll("use " + name + " and " + q.Name(KindToken, fp) + ".")
	if len(at) != 2 || !at[0].Valid || at[1].Valid || at[0].Name != name {
		t.Errorf("found %+v", at)
	}
	if !p.Covers([]byte(`"`+name+`"`), 2) || p.Covers([]byte(name+" and much more text"), 4) || p.Covers([]byte("no pseudonym"), 40) {
		t.Error("what covers a pseudonym")
	}
}

func TestSeal(t *testing.T) {
	s, err := keys.SealValue([]byte("value"), "T1")
	if err != nil || bytes.Contains(s, []byte("value")) {
		t.Fatal("not sealed")
	}
	if v, err := keys.OpenValue(s, "T1"); err != nil || string(v) != "value" {
		t.Error("does not open")
	}
	other := keys
	other.Seal[0]++
	for i := range s {
		bad := bytes.Clone(s)
		bad[i] ^= 1
		if _, err := keys.OpenValue(bad, "T1"); !errors.Is(err, ErrSealed) {
			t.Fatalf("byte %d was changed and it opens", i)
		}
	}
	if _, err := keys.OpenValue(s, "T2"); !errors.Is(err, ErrSealed) {
		t.Error("opens elsewhere")
	}
	if _, err := other.OpenValue(s, "T1"); !errors.Is(err, ErrSealed) {
		t.Error("opens under another key")
	}
	if _, err := keys.OpenValue(nil, ""); !errors.Is(err, ErrSealed) {
		t.Error("nothing opens")
	}
}

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
		rec, _, err := Prepare(&keys, "1", "N", KindToken, SourceRegistered, "o", []byte(value), time.Unix(1, 0))
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

func index(t testing.TB, now time.Time, recs ...Record) *Index {
	ix, err := NewIndex(&keys, func(yield func(Record, error) bool) {
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
	rec, _, err := Prepare(&keys, "1", "N", KindToken, SourceRegistered, "o", []byte("k4Qz7mfp9Lw2Xr"), time.Unix(1, 0))
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
	good, _, err := Prepare(&keys, "1", "N", KindToken, SourceRegistered, "o", []byte("k4Qz7mfp9Lw2Xr"), time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(good.Print) {
		if left := len(good.Print) - n; left%9 == 0 && left <= 45 {
			continue // fewer variants are a print, too
		}
		bad := good
		bad.Print = good.Print[:n]
		if _, err := NewIndex(&keys, func(yield func(Record, error) bool) { yield(bad, nil) }, time.Unix(1, 0)); !errors.Is(err, ErrPrint) {
			t.Fatalf("a print of %d bytes was taken: %v", n, err)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte{1, 2, 0, 12, 0})
	f.Fuzz(func(_ *testing.T, p []byte) {
		ix, err := NewIndex(&keys, func(yield func(Record, error) bool) { yield(Record{ID: "1", Print: p}, nil) }, time.Unix(1, 0))
		if err == nil {
			find(ix, 0, "some text that is long enough")
		}
	})
}

func TestTooManyCandidatesFailClosed(t *testing.T) {
	rec, _, err := Prepare(&keys, "1", "N", KindSecret, SourceRegistered, "o", []byte(strings.Repeat("a", 200)+"b1"), time.Unix(1, 0))
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
