package wire

import (
	"slices"
	"testing"
)

func TestTags(t *testing.T) {
	const id = "0199f0c2-7c1d-7d42-9a61-2f6c8d1b7e11"
	for in, want := range map[string][]string{
		`{"session_id":"` + id + `","turn":{"api_key":"abc","n":1}}`: {"", "session_id", id, "turn", "api_key: abc", "n: 1"},
		`{}`:                      {""},
		`{"session_id":"secret"}`: {"", "session_id: secret"},
		`[]`:                      nil,
		`text`:                    nil,
		`{"a":1,"a":2}`:           nil, // not strict: it is looked at as it is written
	} {
		if got, ok := Tags([]byte(in)); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
}
