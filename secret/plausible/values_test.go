package plausible

import (
	"slices"
	"testing"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string][]string{
		"BASE_COMMIT=9b1f03c7a2e45d68b7c01f29\n":                {"9b1f03c7a2e45d68b7c01f29"},
		`{"harbor_etag": "a49d429dcd1032471a8740b9", "n": 1}`:   {"a49d429dcd1032471a8740b9"},
		" tracking_number | 15353389485367 | 2024-01-02\n":      {"15353389485367"},
		"The harbor checksum is 9b1f03c7a2e45d68b7c01f29.":      {"9b1f03c7a2e45d68b7c01f29"},
		"HARBOR_PASSWORD=9b1f03c7a2e45d68b7c01f29":              nil,
		"COMMIT_TOKEN=9b1f03c7a2e45d68b7c01f29":                 nil,
		"HARBOR_GATE=9b1f03c7a2e45d68b7c01f29":                  nil,
		"9b1f03c7a2e45d68b7c01f29":                              nil,
		"COMMIT=short1":                                         nil,
		"REQUEST_ID=123e4567-e89b-12d3-a456-426614174000 done.": {"123e4567-e89b-12d3-a456-426614174000"},
	} {
		var got []string
		Public([]byte(text), func(v []byte) { got = append(got, string(v)) })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
