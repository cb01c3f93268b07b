package privacy

import (
	"fmt"
	"testing"
)

func TestScratch(t *testing.T) {
	for _, f := range []string{"pl", "al"} {
		cs, err := ReadFile("/tmp/h/pl/" + f + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []string{"text", "body", "message", "content", "query"} {
			r, err := Run(t.Context(), Options{Cases: cs, Seed: 1, Argument: a, Defences: []string{"rules"}})
			if err != nil {
				t.Fatal(err)
			}
			m := r.Row("rules", "class=semi-trusted").Metrics
			fmt.Println(f, a, m)
		}
	}
}
