package signed_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/margaydev/margay/internal/yamldoc"
	"github.com/margaydev/margay/rubric/signed"
)

const canonical = `{"a":"two\nlines","b":[1,2]}`

func newKey(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	k := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, 32))
	pub, _ := k.Public().(ed25519.PublicKey)
	return pub, k
}

func TestOpen(t *testing.T) {
	pub, key := newKey(1)
	other, stranger := newKey(2)
	good := signed.Seal([]byte(canonical), key)
	bare := fmt.Appendf(nil, "margay-rubric-v1\nkey %s\nsignature %s\n\n%s\n", signed.KeyID(pub), base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(canonical))), canonical)
	for _, c := range []struct {
		name string
		b    []byte
		want error
	}{
		{"good", good, nil},
		{"empty", nil, signed.ErrUnsigned},
		{"not signed", []byte(canonical), signed.ErrUnsigned},
		{"no signature", bytes.Replace(good, []byte("signature"), []byte("sig"), 1), signed.ErrUnsigned},
		{"no key", bytes.Replace(good, []byte("key "), []byte("keys "), 1), signed.ErrUnsigned},
		{"a stranger's", signed.Seal([]byte(canonical), stranger), signed.ErrUnknownKey},
		{"altered", bytes.Replace(good, []byte("[1,2]"), []byte("[1,3]"), 1), signed.ErrAltered},
		{"cut", good[:len(good)-1], signed.ErrAltered},
		{"longer", append(bytes.Clone(good), '\n'), signed.ErrAltered},
		{"signed for something else", bare, signed.ErrAltered},
		{"a signature with a carriage return", bytes.Replace(good, []byte("signature "), []byte("signature \r"), 1), signed.ErrAltered},
		{"future", bytes.Replace(good, []byte("rubric-v1"), []byte("rubric-v2"), 1), yamldoc.ErrVersion},
	} {
		got, err := signed.Open(c.b, []ed25519.PublicKey{nil, pub}, 1000)
		if !errors.Is(err, c.want) || c.want == nil && string(got) != canonical {
			t.Errorf("%s: %q, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := signed.Open(good, []ed25519.PublicKey{other}, 1000); !errors.Is(err, signed.ErrUnknownKey) {
		t.Errorf("a key that is not trusted: %v", err)
	}
	if _, err := signed.Open(signed.Seal(bytes.Repeat([]byte("a"), 2000), key), []ed25519.PublicKey{pub}, 1000); err == nil {
		t.Error("what is too large was opened")
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 1
		if _, err := signed.Open(b, []ed25519.PublicKey{pub}, 1000); err == nil {
			t.Errorf("a flipped bit in byte %d was not found", i)
		}
	}
}

func TestKeys(t *testing.T) {
	pub, _ := newKey(1)
	got, err := signed.ParseKey(signed.FormatKey(pub))
	if err != nil || !got.Equal(pub) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "margay-rubric-key-v1\n", "margay-rubric-key-v1\nAAAA\n", "something\nelse"} {
		if _, err := signed.ParseKey([]byte(bad)); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
	if _, err := signed.ParseKey([]byte("margay-rubric-key-v2\nx\n")); !errors.Is(err, yamldoc.ErrVersion) {
		t.Error(err)
	}
}

// FuzzOpen: nothing but what was signed is returned.
func FuzzOpen(f *testing.F) {
	pub, key := newKey(1)
	good := signed.Seal([]byte(canonical), key)
	f.Add(good)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := signed.Open(b, []ed25519.PublicKey{pub}, 1000); err == nil && (!bytes.Equal(b, good) || string(got) != canonical) {
			t.Fatalf("%q was opened", got)
		}
	})
}
