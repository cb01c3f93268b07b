package problem

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"unknown shorthand flag: 'p' in -pSECRET": "unknown shorthand flag: 'p'",
		"a\r\nb\n": "a; b",
		"a in -b":  "a in -b", // somebody else's words
		"":         "",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

func TestCodes(t *testing.T) {
	for want, err := range map[int]error{BadUsage: Usage("look", "no %s", "x"), Failed: Failure("look", "broke: %w", io.EOF)} {
		var p *Error
		if !errors.As(err, &p) || p.Code != want || p.Hint != "look" {
			t.Errorf("%v is %+v", err, p)
		}
	}
	if err := Failure("", "broke: %w", io.EOF); !errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), "broke") {
		t.Errorf("%v does not wrap", err)
	}
}
