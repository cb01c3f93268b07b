package tagger

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"testing"
)

// TestDisguised: what the network can't read is not clear, and names of programs, dates
// and numbers are no disguise.
func TestDisguised(t *testing.T) {
	for _, s := range []string{
		"Maria\u200b is ill", "see \U000e004d\U000e0061", "green%20Maria", hex.EncodeToString([]byte("Maria is ill")),
		base64.StdEncoding.EncodeToString([]byte("Maria is HIV positive")), "x\ufe01y",
	} {
		if !disguised(s) {
			t.Errorf("%q passes", s)
		}
	}
	for _, s := range []string{
		"The build is green.", "utf8.DecodeRuneInString(s)", "on 2027-03-14 at 15:00", "call 0800 123456789", "x509Certificate", "see github.com/a/b/issues/12345", "café it’s 100%", `fmt.Printf("%02x %4d", a, b)`,
		"if err := w.WriteHeaderNow(); err != nil {",
	} {
		if disguised(s) {
			t.Errorf("%q counts as disguised", s)
		}
	}
	got, err := NewScreener(model(t)).Clear(context.Background(), "The build is green. The build is green\u200b today.")
	if err != nil || len(got) > 1 {
		t.Errorf("%v %v", got, err)
	}
}
