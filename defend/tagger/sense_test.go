package tagger

import (
	"fmt"
	"slices"
	"testing"
)

// Inflected words have the senses of their base forms. A word has two senses at most.
func TestSenses(t *testing.T) {
	s, err := NewSenses([][]string{{"stop", "carry", "bake", "glass", "Ärger"}, {"stop", "nurse"}, {"stop"}})
	if err != nil || !s.sound() {
		t.Fatal(err)
	}
	of := func(word string) (out []int) {
		var f Features
		f.read(word)
		for _, x := range s.of(f.form, nil) {
			out = append(out, int(x&maxKinds))
		}
		return out
	}
	for word, want := range map[string][]int{
		"stop": {0, 1}, "Stopped": {0, 1}, "STOPPING": {0, 1}, "stops": {0, 1}, "carries": {0}, "carried": {0}, "baking": {0}, "baker": {0}, "glasses": {0},
		"arger": {0}, "nurse's": {1}, "nurses": {1}, "nursing": {1}, "sto": nil, "carrot": nil, "": nil, "bakes2": nil,
	} {
		if got := of(word); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
	if _, err := NewSenses(make([][]string, maxKinds+1)); err == nil {
		t.Error("too many kinds are accepted")
	}
	many := make([]string, maxSenses+5000)
	for i := range many {
		many[i] = fmt.Sprintf("w%c%c%c%c", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26, 'a'+i/17576%26)
	}
	if _, err := NewSenses([][]string{many}); err == nil {
		t.Error("too many words are accepted")
	}
}

// Unused entries match no word.
func TestNoSenses(t *testing.T) {
	s, err := NewSenses(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"word", "a", "houses"} {
		if got := s.of([]byte(w), nil); len(got) > 0 {
			t.Errorf("%s: %v", w, got)
		}
	}
}
