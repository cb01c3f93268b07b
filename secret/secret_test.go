package secret

import (
	"bytes"
	"errors"
	"strings"
	"testing"
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
