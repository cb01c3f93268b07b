package tagger

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestDisguised: what the network can't read is not clear, and names of programs, dates
// and numbers are no disguise.
func TestDisguised(t *testing.T) {
	for _, s := range []string{
		"Maria\u200b is ill", "see \U000e004d\U000e0061", "green%20Maria", hex.EncodeToString([]byte("Maria is ill")),
		base64.StdEncoding.EncodeToString([]byte("Maria is HIV positive")), base64.StdEncoding.EncodeToString([]byte("?Maria is ill")), "x\ufe01y",
		base32.StdEncoding.EncodeToString([]byte("Maria is ill")), strings.ToLower(base32.StdEncoding.EncodeToString([]byte("Maria is ill"))),
		"7f3a99c0de41b8e2650d17a4", "Zm9vQ2c1bXk0bEhQd3J2",
		"004d0061007200690061", "4dff61ff72ff69ff61ff", // UTF-16, and between other bytes
	} {
		if !disguised(s) {
			t.Errorf("%q passes", s)
		}
	}
	for _, s := range []string{
		"The build is green.", "utf8.DecodeRuneInString(s)", "on 2027-03-14 at 15:00", "call 0800 123456789", "x509Certificate", "see github.com/a/b/issues/12345", "café it’s 100%", `fmt.Printf("%02x %4d", a, b)`,
		"if err := w.WriteHeaderNow(); err != nil {", "x25519PrivateKeySize", "func testUint8x16Ternary(t *testing.T)", "LoadInt64x2Slice(b)", "TestMetaDataDecodeLitFlagIssue57942",
		"immAddr(0x7FFFFFFF)", "internationalisation", "configurations", "StdEncoding",
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

// Clear neighbours make a doubtful sentence clearer; no neighbours make one less clear.
func TestAmong(t *testing.T) {
	of := func(clear ...float64) []float64 {
		all := make([]Sentence, len(clear))
		for i := range all {
			all[i].Clear = clear[i]
		}
		among(all)
		for i := range all {
			if all[i].Clear < clear[i]-1e-9 && clear[i] > 0.0001 || all[i].Clear > 1 {
				t.Errorf("%v became %v", clear[i], all[i].Clear)
			}
			clear[i] = all[i].Clear
		}
		return clear
	}
	alone := of(0.7)[0]
	file := of(append([]float64{0.7}, slices.Repeat([]float64{0.999}, 200)...)...)[0]
	letter := of(append([]float64{0.7}, slices.Repeat([]float64{0.2}, 200)...)...)[0]
	if math.Abs(alone-0.7) > 1e-9 || file < ClearFrom || math.Abs(letter-0.7) > 1e-9 {
		t.Errorf("alone %v, in a file %v, in a letter %v", alone, file, letter)
	}
	if got := of(0, 1, 0.3); got[0] > 0.01 {
		t.Errorf("what is surely private is clear: %v", got)
	}
}
