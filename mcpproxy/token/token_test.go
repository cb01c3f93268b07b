package token_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/margaydev/margay/mcpproxy/token"
)

// A state opens for its call, at its server, until it expires, and not where a
// single bit of it was changed.
func TestState(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	k := token.Key{Key: [32]byte{1}, Server: "bank"}
	digest := [32]byte{2}
	s := k.New("q1", digest, now.Add(time.Minute), "the server's own")
	if id, ok := k.Open(s, digest, now); !ok || id != "q1" || !token.Ours(s) || token.Carried(s) != "the server's own" {
		t.Fatalf("%q, %v, carries %q", id, ok, token.Carried(s))
	}
	other := token.Key{Key: k.Key, Server: "files"}
	for name, open := range map[string]func() (string, bool){
		"expired":        func() (string, bool) { return k.Open(s, digest, now.Add(time.Minute)) },
		"another call":   func() (string, bool) { return k.Open(s, [32]byte{3}, now) },
		"another server": func() (string, bool) { return other.Open(s, digest, now) },
		"another key":    func() (string, bool) { return (&token.Key{Server: "bank"}).Open(s, digest, now) },
		"empty":          func() (string, bool) { return k.Open(token.Mark, digest, now) },
		"none":           func() (string, bool) { return k.Open("cursor", digest, now) },
	} {
		if id, ok := open(); ok || id != "" {
			t.Errorf("%s: opened as %q", name, id)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s, token.Mark))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		raw[i] ^= 1
		if id, ok := k.Open(token.Mark+base64.RawURLEncoding.EncodeToString(raw), digest, now); ok {
			t.Errorf("with byte %d changed it opens as %q", i, id)
		}
		raw[i] ^= 1
	}
}

// Whatever a client brings back is read without a panic.
func FuzzState(f *testing.F) {
	k := token.Key{Server: "bank"}
	f.Add(k.New("q", [32]byte{}, time.UnixMilli(1), "x"))
	f.Add(token.Mark)
	f.Fuzz(func(t *testing.T, s string) {
		_ = token.Carried(s)
		if _, ok := (&token.Key{Key: [32]byte{9}}).Open(s, [32]byte{}, time.UnixMilli(0)); ok {
			t.Error("a state of nobody's opens")
		}
	})
}
