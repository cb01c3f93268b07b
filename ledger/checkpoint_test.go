package ledger_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/margaydev/margay/ledger"
	"github.com/margaydev/margay/ledger/charge"
)

func FuzzCheckpoint(f *testing.F) {
	c := ledger.Checkpoint{Entries: 3, Families: 2, At: at, Root: charge.Hash{1}}
	c.Sign(key)
	f.Add(c.String())
	f.Add("margay-ledger-head:AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ledger.ParseCheckpoint(s)
		if err != nil {
			return
		}
		if c.String() != strings.TrimSpace(s) {
			t.Error("a checkpoint has two texts")
		}
	})
}

func FuzzVerify(f *testing.F) {
	text := export(f, sample(f, 6, 2))
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(text[:37])
	f.Fuzz(func(t *testing.T, b []byte) {
		// Signatures take long; what is found without them is found with them.
		if r := check(t, b, ledger.Check{Unsigned: true}); len(r.Findings) > 0 || bytes.Equal(b, text) {
			return
		}
		// Only what the key's owner made is sound, and no fuzzer is that.
		if r := check(t, b, ledger.Check{}); len(r.Findings) == 0 {
			t.Error("a forged export is sound")
		}
	})
}
