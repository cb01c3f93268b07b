package recent_test

import (
	"testing"

	"github.com/margaydev/margay/internal/recent"
)

// What was put or used longest ago goes first; looking does not count.
func TestMap(t *testing.T) {
	m := recent.New[string, int](3)
	has := func(key string, want int) {
		t.Helper()
		if v, ok := m.Get(key); v != want || ok != (want > 0) {
			t.Errorf("%s has %d, %v; want %d", key, v, ok, want)
		}
	}
	m.Put("a", 1)
	m.Put("b", 2)
	m.Put("c", 3)
	if v := m.Use("a", 9); v != 1 {
		t.Errorf("a has %d", v)
	}
	has("b", 2)
	if v := m.Use("d", 4); v != 4 {
		t.Errorf("d has %d", v)
	}
	has("b", 0)
	has("a", 1)
	m.Put("c", 5) // it is the latest now
	m.Put("e", 6)
	has("a", 0)
	has("c", 5)
	m.Delete("c")
	m.Delete("none")
	has("c", 0)
	m.Put("f", 7)
	for key, want := range map[string]int{"d": 4, "e": 6, "f": 7} {
		has(key, want)
	}
}
